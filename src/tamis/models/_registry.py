"""The classes that a model file may contain."""

from importlib import import_module
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from tamis.tables.errors import InputError
from tamis.tables.table_classifier import TableClassifier
from tamis.tables.table_model import TableModel

__all__ = ["ESTIMATORS", "PARTS", "as_model", "find_class", "is_estimator"]

# Name -> module. A file names a class; the class is looked up here and nowhere else.
ESTIMATORS = {
    "DatumWiseClassifier": "tamis.datumwise.classifier",
    "DatumWiseClassifierCV": "tamis.datumwise.classifier_cv",
    "LandmarkClassifier": "tamis.landmarks.classifier",
    "LandmarkSearchCV": "tamis.landmarks.search",
    "LandmarkTransformer": "tamis.landmarks.transformer",
    "OddsRatioSelector": "tamis.selectors.odds_ratio",
    "PanelClassifier": "tamis.panel.classifier",
    "PanelClassifierCV": "tamis.panel.classifier_cv",
    "PrimalDualClassifier": "tamis.primal_dual.classifier",
    "PrimalDualClassifierCV": "tamis.primal_dual.classifier_cv",
    "SparseCenterClassifier": "tamis.centers.classifier",
    "SparseCenterClassifierCV": "tamis.centers.classifier_cv",
    "SparseNaiveBayesSelector": "tamis.selectors.sparse_naive_bayes",
}
# Other classes of tamis in a skops file.
PARTS = {
    "Forest": "tamis.datumwise.forest",
    "ForestPolicy": "tamis.datumwise.forest_policy",
    "LinearPolicy": "tamis.datumwise.linear",
    "MissingWords": "tamis.tables.missing",
    "Preparation": "tamis.tables.preparation",
    "Process": "tamis.datumwise.process",
    "Recalibration": "tamis.tables.table_model",
    "Rule": "tamis.datumwise.induction",
    "SetCalibration": "tamis.tables.prediction_sets",
    "SetForest": "tamis.datumwise.evidence",
    "Stage": "tamis.datumwise.forest_policy",
    "TableModel": "tamis.tables.table_model",
    "TextColumns": "tamis.tables.words",
}


def find_class(name: Any) -> Any:
    """Find the estimator that a file names; raises InputError unless it is one of tamis."""
    if not isinstance(name, str) or name not in ESTIMATORS:
        raise InputError(f"it names {str(name)[:60]!r}, which is not a class of a tamis model")
    return getattr(import_module(ESTIMATORS[name]), name)


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
    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise InputError(
            f"this {type(estimator).__name__} is not fitted yet: call fit first."
        ) from error
    return model
