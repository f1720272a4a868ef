"""What a fitted landmark classifier can do, be it one configuration or an ensemble."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tamis._base import TamisEstimator, encode_labels
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


class FittedLandmarks(ClassifierMixin, TamisEstimator):
    """Base of the landmark classifiers: predictions that agree with each other."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = getattr(self, "scaling", None) in SPARSE_SCALINGS
        return tags

    def _validate(self, X, y):
        """Checked rows and class indices; sets `classes_`."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, accept_large_sparse=True
        )
        self.classes_, codes = encode_labels(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes, got 1 class: "
                f"{self.classes_.tolist()[0]!r}."
            )
        return as_rows(X), codes

    def _check_X(self, X):
        check_is_fitted(self, self._fitted_attribute)
        X = validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=np.float64, accept_large_sparse=True
        )
        return as_rows(X)

    def decision_function(self, X):
        """Decisions of the classes; `predict` takes the largest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        decisions : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: positive for the second one. More: one column a class.
        """
        decisions = self._decisions(self._check_X(X))
        return decisions[:, 1] - decisions[:, 0] if decisions.shape[1] == 2 else decisions

    def predict(self, X):
        """Class with the largest decision; ties go to the first class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        decisions = self._decisions(self._check_X(X))
        return self.classes_[decisions.argmax(axis=1)]

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

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_reject(self, X, threshold):
        """Labels, and which samples are better referred to a person.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        threshold : float
            Smallest probability, between 0 and 1, with which a label may be given.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        rejected : ndarray of bool of shape (n_samples,)
            True where no class is as probable as `threshold`.
        """
        if not isinstance(threshold, Real) or not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be a probability, 0 to 1, got {threshold!r}.")
        probabilities = self.predict_proba(X)
        labels = self.classes_[probabilities.argmax(axis=1)]
        return labels, probabilities.max(axis=1) < threshold
