"""Shared by fitted landmark classifiers: one configuration or an ensemble."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tamis._array import Matrix
from tamis._base import (
    DecisionMixin,
    RecordMixin,
    TamisEstimator,
    encode_labels,
    order_by_score,
    require_two_classes,
    validate,
)
from tamis.landmarks._parameters import as_rows
from tamis.landmarks.model import landmark_distances
from tamis.landmarks.space import SPARSE_SCALINGS


@dataclass
class NearestLandmarks:
    """The nearest landmarks of each sample, nearest first."""

    values: NDArray[np.float64]  # (n_samples, n_nearest): distances to the landmarks
    base: float  # 0: the distance of a landmark to itself
    # (n_landmarks,): names of all landmarks: "row 47", or "near row 47" for a centroid.
    names: NDArray
    # (n_samples, n_nearest): training rows: the landmark itself, or for a centroid the training
    # row nearest to it.
    rows: NDArray[np.intp]
    labels: NDArray  # (n_samples, n_nearest): labels of the training rows
    landmarks: NDArray[np.intp]  # (n_samples, n_nearest): indices of the landmarks in `names`

    @property
    def distances(self) -> NDArray[np.float64]:
        """Distances to the landmarks: `values`."""
        return self.values


def find_nearest(record, X: Matrix, labels, n_nearest, kind) -> NearestLandmarks:
    """`NearestLandmarks` of rows under one map; `labels` are those of its landmarks' rows."""
    n_landmarks = record["sigma"].size
    if not isinstance(n_nearest, Integral) or isinstance(n_nearest, bool) or n_nearest < 1:
        raise ValueError(f"n_nearest must be an integer >= 1, got {n_nearest!r}.")
    D = landmark_distances(record, X)
    nearest = np.argsort(D, axis=1, kind="stable")[:, : min(n_nearest, n_landmarks)]
    near = "near row" if kind == "centroids" else "row"
    return NearestLandmarks(
        values=np.take_along_axis(D, nearest, axis=1),
        base=0.0,
        names=np.array([f"{near} {row}" for row in record["rows"]]),
        rows=record["rows"][nearest],
        labels=labels[nearest],
        landmarks=nearest,
    )


class FittedLandmarks(RecordMixin, DecisionMixin, ClassifierMixin, TamisEstimator):
    """Base of the landmark classifiers: predictions that agree with each other."""

    explanation_class = NearestLandmarks

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = getattr(self, "scaling", None) in SPARSE_SCALINGS
        return tags

    def _validate(self, X, y):
        """Check the rows and encode the labels; sets `classes_`."""
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

    @property
    def support_(self) -> NDArray[np.bool_]:
        """Mask of the features in use: all of them."""
        check_is_fitted(self, self._fitted_attribute)
        return np.ones(self.n_features_in_, dtype=bool)

    @property
    def feature_order_(self) -> NDArray[np.intp]:
        """Features in use first, by importance; equally important ones by index."""
        check_is_fitted(self, self._fitted_attribute)
        return order_by_score(np.where(self.support_, self.feature_importances_, -1.0))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
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
