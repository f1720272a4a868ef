"""From raw columns to a matrix: imputing, encoding, vectorising, learned inside the folds."""

from tamis.preparation.missing import MissingWords
from tamis.preparation.preparation import Preparation, lay_out
from tamis.preparation.table import Dataset, Table
from tamis.preparation.table_classifier import Predicted, TableClassifier
from tamis.preparation.words import TextColumns

__all__ = [
    "Dataset",
    "MissingWords",
    "Predicted",
    "Preparation",
    "Table",
    "TableClassifier",
    "TextColumns",
    "lay_out",
]
