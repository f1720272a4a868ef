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
from tamis.panel.forward import dense_columns

__all__ = ["measure_importances"]


def measure_importances(
    head: Head, X: Matrix, columns: NDArray, share: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means of the selected features, and how much the decisions depend on each.

    `X` (n_rows, n_columns); `columns` (n_selected,); `share` (n_rows,): weights of the rows, of
    sum one. Returns `means`, `importances` (n_selected,).
    """
    if isinstance(head, LinearHead):
        values = take_columns(X, columns)
        means = np.asarray(share @ values, dtype=np.float64)
        centered = np.abs(head.coef - head.coef.mean(axis=0)).mean(axis=0)
        return means, _mean_deviations(values, share, means) * centered
    values = dense_columns(X, columns)
    means = share @ values

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


def _mean_deviations(values, share, means):
    """Mean absolute deviation of each column from its mean."""
    if not is_sparse(values):
        return share @ np.abs(values - means)
    stored = values.tocsc()
    lengths = np.diff(stored.indptr)
    of_row = share[stored.indices]
    of_stored = sparse.csc_array(
        (of_row * np.abs(stored.data - np.repeat(means, lengths)), stored.indices, stored.indptr),
        shape=stored.shape,
    )
    seen = sparse.csc_array((of_row, stored.indices, stored.indptr), shape=stored.shape)
    absent = 1.0 - np.asarray(seen.sum(axis=0)).ravel()
    return np.asarray(of_stored.sum(axis=0)).ravel() + absent * np.abs(means)
