"""The classes that a model file may contain."""

from importlib import import_module

from tamis.tables.errors import InputError

__all__ = ["ESTIMATORS", "RECORDS", "class_named", "is_estimator", "is_record"]

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
RECORDS = {
    "Forest": "tamis.datumwise.forest",
    "ForestPolicy": "tamis.datumwise.forest_policy",
    "LinearPolicy": "tamis.datumwise.linear",
    "MissingWords": "tamis.tables.missing",
    "Preparation": "tamis.tables.preparation",
    "Process": "tamis.datumwise.process",
    "Rule": "tamis.datumwise.induction",
    "SetForest": "tamis.datumwise.evidence",
    "Stage": "tamis.datumwise.forest_policy",
    "TableModel": "tamis.tables.table_model",
    "TextColumns": "tamis.tables.words",
}


def class_named(name, known):
    """Find the class that a file names; raises InputError unless it is one of `known`."""
    if not isinstance(name, str) or name not in known:
        raise InputError(f"it names {str(name)[:60]!r}, which is not a class of a tamis model")
    return getattr(import_module(known[name]), name)


def is_estimator(value):
    """Whether `value` is an estimator that can be written."""
    return _is_one_of(value, ESTIMATORS)


def is_record(value):
    """Whether `value` is a dataclass that can be written."""
    return _is_one_of(value, RECORDS)


def _is_one_of(value, known):
    kind = type(value)
    return known.get(kind.__name__) == kind.__module__
