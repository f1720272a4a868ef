"""Sparse centers: classifiers whose class centroids (centers) differ in few features.

Calafiore and Fracastoro, "Sparse l1 and l2 Center Classifiers", arXiv 1911.07320.
"""

from tamis.centers.classifier import SparseCenterClassifier
from tamis.centers.classifier_cv import SparseCenterClassifierCV
from tamis.centers.markers import rank_features_by_class

__all__ = ["SparseCenterClassifier", "SparseCenterClassifierCV", "rank_features_by_class"]
