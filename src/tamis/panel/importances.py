"""How much the decisions of a head depend on each feature.

The importance of a feature is the mean absolute change of the decisions, centered over the
classes, when it is set to its mean. Linear heads need one pass, and sparse features stay sparse.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import Matrix, is_sparse, take_columns
from tamis.heads import Head, LinearHead
from tamis.heads.head import row_blocks
from tamis.panel.forward import dense_columns

__all__ = ["measure_importances"]

# Rows on which a kernel decides once for each feature: evenly spaced ones, of more rows.
_KERNEL_ROWS = 20_000


def measure_importances(
    head: Head, X: Matrix, columns: NDArray, share: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means of the selected features, and how much the decisions depend on each.

    `X` (n_rows, n_columns); `columns` (n_selected,); `share` (n_rows,): weights of the rows, of
    sum one. Returns `means`, `importances` (n_selected,).
    """
    if isinstance(head, LinearHead):
        means, deviations = _mean_deviations(X, columns, share)
        return means, deviations * np.abs(head.coef - head.coef.mean(axis=0)).mean(axis=0)
    means = share @ dense_columns(X, columns)
    used = np.flatnonzero(share)
    if used.size > _KERNEL_ROWS:
        used = used[np.linspace(0, used.size - 1, _KERNEL_ROWS).astype(np.intp)]
        X, share = X[used], share[used] / share[used].sum()
    values = dense_columns(X, columns)

    def decide_centered(samples):
        decisions = head.decisions(samples)
        return decisions - decisions.mean(axis=1, keepdims=True)

    usual = decide_centered(values)
    importances = np.zeros(columns.size)
    for j in range(columns.size):
        changed = values.copy()
        changed[:, j] = means[j]
        importances[j] = share @ np.abs(usual - decide_centered(changed)).mean(axis=1)
    return means, importances


def _mean_deviations(X, columns, share):
    """Mean of some columns, and mean absolute deviation from it."""
    if not is_sparse(X):
        blocks = row_blocks(X.shape[0], columns.size)
        means = sum(share[b] @ take_columns(X[b], columns) for b in blocks)
        away = (np.abs(take_columns(X[b], columns) - means) for b in blocks)
        return means, sum(share[b] @ part for b, part in zip(blocks, away, strict=True))
    stored = take_columns(X, columns).tocsc()
    means = np.asarray(share @ stored, dtype=np.float64)
    lengths = np.diff(stored.indptr)
    of_row = share[stored.indices]
    of_stored = sparse.csc_array(
        (of_row * np.abs(stored.data - np.repeat(means, lengths)), stored.indices, stored.indptr),
        shape=stored.shape,
    )
    seen = sparse.csc_array((of_row, stored.indices, stored.indptr), shape=stored.shape)
    absent = 1.0 - np.asarray(seen.sum(axis=0)).ravel()
    return means, np.asarray(of_stored.sum(axis=0)).ravel() + absent * np.abs(means)
