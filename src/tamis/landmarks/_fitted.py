"""What a fitted landmark classifier can do, be it one configuration or an ensemble."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tamis._base import DecisionMixin, TamisEstimator, encode_labels, require_two_classes, validate
from tamis.landmarks._parameters import as_rows
from tamis.landmarks.model import landmark_distances
from tamis.landmarks.space import SPARSE_SCALINGS

__all__ = ["FittedLandmarks", "NearestLandmarks", "find_nearest"]


@dataclass
class NearestLandmarks:
    """The landmarks nearest to every sample, nearest first.

    Attributes
    ----------
    rows : ndarray of int of shape (n_samples, n_nearest)
        Training rows: the landmark itself, or for a centroid the training row nearest to it.
    distances : ndarray of shape (n_samples, n_nearest)
        Distances to the landmarks.
    labels : ndarray of shape (n_samples, n_nearest)
        Labels of the training rows.
    landmarks : ndarray of int of shape (n_samples, n_nearest)
        Numbers of the landmarks.
    """

    rows: np.ndarray
    distances: np.ndarray
    labels: np.ndarray
    landmarks: np.ndarray


def find_nearest(record, X, labels, n_nearest):
    """`NearestLandmarks` of rows under one map; `labels` are those of its landmarks' rows."""
    n_landmarks = record["sigma"].size
    if not isinstance(n_nearest, Integral) or isinstance(n_nearest, bool) or n_nearest < 1:
        raise ValueError(f"n_nearest must be an integer >= 1, got {n_nearest!r}.")
    D = landmark_distances(record, X)
    found = np.argsort(D, axis=1, kind="stable")[:, : min(n_nearest, n_landmarks)]
    rows = record["rows"][found]
    return NearestLandmarks(rows, np.take_along_axis(D, found, axis=1), labels[found], found)


class FittedLandmarks(DecisionMixin, ClassifierMixin, TamisEstimator):
    """Base of the landmark classifiers: predictions that agree with each other."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = getattr(self, "scaling", None) in SPARSE_SCALINGS
        return tags

    def _validate(self, X, y):
        """Checked rows and class indices; sets `classes_`."""
        X, y = validate(
            self, X, y, accept_sparse="csr", dtype=np.float64, accept_large_sparse=True
        )
        self.classes_, codes = encode_labels(y)
        require_two_classes(self)
        return as_rows(X), codes

    def _check_X(self, X):
        check_is_fitted(self, self._fitted_attribute)
        X = validate(
            self, X, reset=False, accept_sparse="csr", dtype=np.float64, accept_large_sparse=True
        )
        return as_rows(X, is_new=True)

    def _decisions(self, X):
        return self._decide(self._check_X(X))

    def predict_proba(self, X):
        """Probabilities of the classes, in the order of `classes_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        return self._shares(self._check_X(X))
