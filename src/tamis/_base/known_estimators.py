"""The estimators that a record may name."""

from importlib import import_module
from typing import Any

__all__ = ["ESTIMATORS", "find_estimator"]

# Name -> module. A record names a class; the class is looked up here and nowhere else.
ESTIMATORS = {
    "ConformalClassifier": "tamis.guarantees.conformal",
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


def find_estimator(name: Any) -> Any:
    """The class of this name; raises ValueError unless it is one of tamis."""
    if not isinstance(name, str) or name not in ESTIMATORS:
        raise ValueError(f"it names {str(name)[:60]!r}, which is not a class of a tamis model")
    return getattr(import_module(ESTIMATORS[name]), name)
