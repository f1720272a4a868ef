"""Sparse centers: classifiers whose class centroids (centers) differ in few features.

Calafiore and Fracastoro, "Sparse l1 and l2 Center Classifiers", arXiv 1911.07320.

Public names are loaded on first use: a saved model needs only some of the modules.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers see of the names below
    from tamis.centers.classifier import SparseCenterClassifier
    from tamis.centers.classifier_cv import SparseCenterClassifierCV
    from tamis.centers.markers import rank_features_by_class

_MODULE_OF_NAME = {
    "SparseCenterClassifier": "tamis.centers.classifier",
    "SparseCenterClassifierCV": "tamis.centers.classifier_cv",
    "rank_features_by_class": "tamis.centers.markers",
}

__all__ = ["SparseCenterClassifier", "SparseCenterClassifierCV", "rank_features_by_class"]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module 'tamis.centers' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF_NAME[name]), name)


def __dir__() -> list[str]:
    return __all__
