"""Selection frequencies: how often half of the rows select each feature."""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, check_consistent_length, check_random_state, indexable

from tamis._base import check_weights, decided, encode_labels
from tamis.stability.halves import half_samples

__all__ = ["SelectionFrequencies", "selection_frequencies"]


class SelectionFrequencies(NamedTuple):
    """How often half-samples select each feature, at each level of a path.

    Attributes
    ----------
    levels : ndarray of shape (n_levels,)
        Levels of the path, sparsest first.
    frequencies : ndarray of shape (n_levels, n_features)
        Proportion of the half-samples that select a feature, between 0 and 1.
    """

    levels: NDArray
    frequencies: NDArray[np.float64]


def selection_frequencies(
    estimator: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    levels: ArrayLike | int | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    n_resamples: int = 50,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> SelectionFrequencies:
    """Proportion of stratified half-samples that select each feature, at each model size.

    A feature that only some half-samples select has substitutes, or is selected by chance. The
    halves come in complementary pairs [1]_.

    Parameters
    ----------
    estimator : estimator
        Any estimator with `fit_path`; it is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Labels.
    levels : array-like, int or None, default=None
        As in `fit_path` of the estimator. Levels that depend on the data are found from all rows.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, for estimators that use them. Rows of weight 0 are in no half-sample.
    n_resamples : int, default=50
        Number of half-samples.
    n_jobs : int or None, default=None
        Number of threads. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the half-samples.

    Returns
    -------
    result : SelectionFrequencies
        `levels`, and `frequencies` of shape (n_levels, n_features).

    References
    ----------
    .. [1] Shah and Samworth, "Variable selection with error control: another look at stability
       selection", Journal of the Royal Statistical Society B 75, 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import SparseCenterClassifier
    >>> from tamis.stability import selection_frequencies
    >>> X, y = load_iris(return_X_y=True)
    >>> result = selection_frequencies(SparseCenterClassifier(), X, y, [1, 2], random_state=0)
    >>> result.frequencies.round(2).tolist()
    [[0.0, 0.0, 0.8, 0.2], [0.0, 0.0, 1.0, 1.0]]
    """
    if not isinstance(n_resamples, Integral) or n_resamples < 1:
        raise ValueError(f"n_resamples must be an integer >= 1, got {n_resamples!r}.")
    X, y = indexable(X, y)
    _, codes = encode_labels(y)
    rows = np.arange(codes.size)
    fit_params = {}
    if sample_weight is not None:
        check_consistent_length(X, sample_weight)
        sample_weight = decided(check_weights(sample_weight, codes))
        rows = np.flatnonzero(sample_weight)
        fit_params["sample_weight"] = sample_weight
    levels = np.asarray(estimator.fit_path(X, y, levels, **fit_params).levels)
    halves = half_samples(codes[rows], n_resamples, check_random_state(random_state))

    def select(half):
        params = {name: values[half] for name, values in fit_params.items()}
        part = _safe_indexing(X, half), _safe_indexing(y, half)
        try:
            path = estimator.fit_path(*part, levels, **params)
        except ValueError as error:
            raise ValueError(
                f"Training on a half-sample of {half.size} rows failed: {error}"
            ) from error
        return [path.features(level) for level in range(len(path))]

    supports = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
        delayed(select)(rows[half]) for half in halves
    )
    counts = np.zeros((levels.size, X.shape[1]))
    for features in supports:
        for level, columns in enumerate(features):
            counts[level, columns] += 1
    return SelectionFrequencies(levels, counts / n_resamples)
