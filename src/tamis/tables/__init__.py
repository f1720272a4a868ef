"""Tables: readers, kinds and roles of columns, their preparation, and classifiers of tables.

Public names are loaded on first use; extras such as pyarrow only where they are used.
"""

from typing import TYPE_CHECKING

from tamis._lazy import load_lazily

if TYPE_CHECKING:  # what type checkers see of the names below
    from tamis.tables.classifying.table_classifier import TableClassifier
    from tamis.tables.classifying.table_model import TableModel
    from tamis.tables.columns.missing import MissingWords
    from tamis.tables.columns.table import Columns, Table
    from tamis.tables.columns.values import match_labels
    from tamis.tables.errors import InputError
    from tamis.tables.preparing.layout import lay_out
    from tamis.tables.preparing.preparation import Preparation
    from tamis.tables.reading.chunks import Chunks, read_chunks
    from tamis.tables.reading.readers import read_table
    from tamis.tables.reading.rows import read_rows

_MODULE_OF_NAME = {
    "Chunks": "tamis.tables.reading.chunks",
    "Columns": "tamis.tables.columns.table",
    "InputError": "tamis.tables.errors",
    "MissingWords": "tamis.tables.columns.missing",
    "Preparation": "tamis.tables.preparing.preparation",
    "Table": "tamis.tables.columns.table",
    "TableClassifier": "tamis.tables.classifying.table_classifier",
    "TableModel": "tamis.tables.classifying.table_model",
    "lay_out": "tamis.tables.preparing.layout",
    "match_labels": "tamis.tables.columns.values",
    "read_chunks": "tamis.tables.reading.chunks",
    "read_rows": "tamis.tables.reading.rows",
    "read_table": "tamis.tables.reading.readers",
}

__all__ = [
    "Chunks",
    "Columns",
    "InputError",
    "MissingWords",
    "Preparation",
    "Table",
    "TableClassifier",
    "TableModel",
    "lay_out",
    "match_labels",
    "read_chunks",
    "read_rows",
    "read_table",
]

__getattr__, __dir__ = load_lazily(__name__, _MODULE_OF_NAME, __all__)
