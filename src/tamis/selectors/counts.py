"""Sums, or numbers of samples with a feature, for each class and feature.

Both read `X` once and keep sparse data sparse. Rows are added in their order, so equal columns
give equal bits and their tie goes to the lower index.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from tamis._array import Matrix, is_sparse

# Entries of a dense block: 32 MiB as float64, for any size and type of X.
_BLOCK = 1 << 22


def class_totals(codes: NDArray, n_classes: int, weight: NDArray | None) -> NDArray:
    """Sum of the sample weights of each class, of shape (n_classes,)."""
    return np.bincount(codes, weights=weight, minlength=n_classes).astype(np.float64)


def class_sums(X: Matrix, codes: NDArray, n_classes: int, weight: NDArray | None) -> NDArray:
    """Weighted sum of each feature in each class.

    `X` (n_samples, n_features): float32 or float64; the sums are float64. `codes` (n_samples,):
    class index of each row, integers in 0..n_classes-1. `n_classes`: number of classes. `weight`
    (n_samples,) or None: sample weights; None is 1. Returns `sums` (n_classes, n_features).
    """
    n_samples, n_features = X.shape
    rows = np.arange(n_samples)
    weight = np.ones(n_samples) if weight is None else weight
    if is_sparse(X):
        members = np.zeros((n_samples, n_classes))
        members[rows, codes] = weight
        return np.ascontiguousarray((X.T @ members).T)
    members = sparse.csr_array((weight, (codes, rows)), shape=(n_classes, n_samples))
    sums = np.empty((n_classes, n_features))
    for block in _column_blocks(X):
        sums[:, block] = members @ X[:, block].astype(np.float64)
    return sums


def class_presence(
    X: Matrix,
    codes: NDArray,
    n_classes: int,
    weight: NDArray | None,
    threshold: float | NDArray = 0.0,
) -> NDArray:
    """Weight of the samples of each class where a feature exceeds its threshold.

    `threshold` (n_features,). Returns `presence` (n_classes, n_features).
    """
    of_column = np.broadcast_to(np.asarray(threshold, dtype=np.float64), X.shape[1])
    if not is_sparse(X):
        presence = np.empty((n_classes, X.shape[1]))
        for block in _column_blocks(X):
            present = X[:, block] > of_column[block]
            presence[:, block] = class_sums(present, codes, n_classes, weight)
        return presence
    # With a negative threshold, entries that are not stored are present: count the absent ones.
    # float64 against float64: a plain number would be rounded to the data's float32.
    of_entry = (
        np.float64(threshold) if np.ndim(threshold) == 0 else of_column[_columns_of_entries(X)]
    )
    marked = (X.data > of_entry) != (of_entry < 0)
    marked = type(X)((marked.astype(np.float64), X.indices, X.indptr), shape=X.shape)
    presence = class_sums(marked, codes, n_classes, weight)
    totals = class_totals(codes, n_classes, weight)
    presence[:, of_column < 0] = totals[:, None] - presence[:, of_column < 0]
    return presence


def thresholds_of(X: Matrix, rule: str, weight: NDArray | None) -> NDArray:
    """Mean or median of each column.

    `X` (n_samples, n_features). `weight` (n_samples,) or None: sample weights; None is 1. Returns
    `thresholds` (n_features,).
    """
    n_samples, n_features = X.shape
    weight = np.ones(n_samples) if weight is None else weight
    total = weight.sum()
    half_way = total * (1 - 1e-12)  # weights that are not whole tie within rounding
    if rule == "mean":
        return class_sums(X, np.zeros(n_samples, dtype=np.int64), 1, weight)[0] / total
    median = np.empty(n_features)
    if not is_sparse(X):
        for block in _column_blocks(X):
            values = X[:, block]
            order = np.argsort(values, axis=0, kind="stable")
            half = 2 * np.cumsum(weight[order], axis=0) >= half_way
            middle = np.take_along_axis(order, half.argmax(axis=0)[None], axis=0)
            median[block] = np.take_along_axis(values, middle, axis=0)[0]
        return median
    X = X.tocsc()
    for j in range(n_features):
        stored = slice(X.indptr[j], X.indptr[j + 1])
        values, heavy = X.data[stored], weight[X.indices[stored]]
        if values.size < n_samples:
            values, heavy = np.append(values, 0.0), np.append(heavy, total - heavy.sum())
        order = np.argsort(values, kind="stable")
        half = 2 * np.cumsum(heavy[order]) >= half_way
        median[j] = values[order[half.argmax()]]
    return median


def _column_blocks(X):
    return gen_batches(X.shape[1], max(16, _BLOCK // X.shape[0]))


def _columns_of_entries(X):
    if X.format == "csr":
        return X.indices
    return np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
