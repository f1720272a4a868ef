"""The base of the selectors: reading the data, `support_`, `feature_importances_`."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tamis._array import is_sparse
from tamis._base import (
    FeatureSelectorMixin,
    RecordMixin,
    TamisEstimator,
    check_weights,
    encode_labels,
    resolve_n_features,
    steps,
    validate,
    with_callbacks,
)
from tamis.selectors.record import read_record, write_record


class ClassSelector(RecordMixin, FeatureSelectorMixin, TamisEstimator):
    """Base of the selectors: `fit` reads the data, `_select` scores the features and selects."""

    _write_record, _read_record = write_record, read_record

    @with_callbacks
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ClassSelector:
        """Score each feature and select the best.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data; CSR and CSC stay sparse.
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Counts if all are whole numbers (2 is the row twice, 0 an absent row), otherwise
            relative, scaled to sum to the number of rows with positive weight.

        Returns
        -------
        self : object
            The fitted selector.
        """
        self._check_parameters()
        X, y = validate(self, X, y, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        weight = check_weights(sample_weight, X)
        if weight is not None and not weight.all():
            if not weight.any():
                raise ValueError(
                    "sample_weight is zero for every sample. Give some samples weight."
                )
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        if is_sparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.classes_, codes = encode_labels(y)
        if self.classes_.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, got one class: "
                f"{self.classes_.tolist()[0]!r}. Add samples of another class, with positive "
                "weights."
            )
        n_selected = resolve_n_features(self.n_features_to_select, X.shape[1])
        for _ in steps(self, ["select"], X=X, y=y):
            self._select(X, codes, weight, n_selected)
        self.n_features_ = int(np.count_nonzero(self.support_))
        return self

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Scores of the selected features, 0 for the others and for negative scores."""
        if "support_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} is not fitted yet.")
        return np.where(self.support_, np.maximum(self.scores_, 0.0), 0.0)

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def _mask(self, features):
        """Mask of some features."""
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[features] = True
        return mask

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def check_smoothing(smoothing: float, *, zero_allowed: bool) -> None:
    """Raise unless `smoothing` is a finite number that is large enough."""
    number = isinstance(smoothing, Real) and not isinstance(smoothing, bool | np.bool_)
    if (
        number
        and math.isfinite(smoothing)
        and (smoothing > 0 or (zero_allowed and smoothing == 0))
    ):
        return
    sign = ">= 0" if zero_allowed else "> 0"
    raise ValueError(f"smoothing must be a finite number {sign}, got {smoothing!r}.")
