"""The classes that a model file may contain."""

from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from tamis._base.known_estimators import ESTIMATORS, find_estimator
from tamis.tables.classifying.table_classifier import TableClassifier
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.errors import InputError

# Other classes of tamis in a skops file.
PARTS = {
    "Forest": "tamis.datumwise.forest",
    "ForestPolicy": "tamis.datumwise.forest_policy",
    "LinearPolicy": "tamis.datumwise.linear",
    "MissingWords": "tamis.tables.columns.missing",
    "Pool": "tamis.tables.columns.rare",
    "Preparation": "tamis.tables.preparing.preparation",
    "Process": "tamis.datumwise.process",
    "Recalibration": "tamis.tables.classifying.table_model",
    "Rule": "tamis.datumwise.induction",
    "SetCalibration": "tamis.tables.classifying.prediction_sets",
    "SetForest": "tamis.datumwise.evidence",
    "Stage": "tamis.datumwise.forest_policy",
    "TableModel": "tamis.tables.classifying.table_model",
    "TextColumns": "tamis.tables.preparing.words",
}


def find_class(name: Any) -> Any:
    """Find the estimator that a file names; raises InputError unless it is one of tamis."""
    try:
        return find_estimator(name)
    except ValueError as error:
        raise InputError(error) from error


def is_estimator(value: Any) -> bool:
    """Whether `value` is an estimator that can be written."""
    kind = type(value)
    return ESTIMATORS.get(kind.__name__) == kind.__module__


def as_model(model: Any, done: str) -> Any:
    """The fitted estimator or TableModel of what was given, which is to be `done`."""
    if isinstance(model, TableClassifier):
        check_is_fitted(model)
        model = model.model_
    estimator = model.estimator if isinstance(model, TableModel) else model
    if not is_estimator(estimator):
        raise InputError(
            f"a {type(estimator).__name__} cannot be {done}; only models of tamis can."
        )
    if done != "saved" and type(estimator).__name__ == "ConformalClassifier":
        raise InputError(
            f"a ConformalClassifier cannot be {done}, because its prediction sets need tamis; "
            "export the classifier in it."
        )
    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise InputError(
            f"this {type(estimator).__name__} is not fitted yet: call fit first."
        ) from error
    return model
