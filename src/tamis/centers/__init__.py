"""Sparse centers: classifiers whose class centroids (centers) differ in few features.

Calafiore and Fracastoro, "Sparse l1 and l2 Center Classifiers", arXiv 1911.07320.

Public names are loaded on first use: a saved model needs only some of the modules.
"""

from typing import TYPE_CHECKING

from tamis._lazy import load_lazily

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

__getattr__, __dir__ = load_lazily(__name__, _MODULE_OF_NAME, __all__)
