"""Medians of columns with missing values and weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse

__all__ = ["medians", "weighted_median"]


def medians(part: Matrix, weights: NDArray | None = None) -> NDArray[np.float64]:
    """Weighted medians of the columns, NaN left out; 0 for a column without any value."""
    part = part.toarray() if is_sparse(part) else part
    missing = np.isnan(part)
    found = np.zeros(part.shape[1])
    if weights is not None:
        for j in range(part.shape[1]):
            known = ~missing[:, j] & (weights > 0)
            if known.any():
                found[j] = weighted_median(part[known, j], weights[known])
        return found
    if not missing.any():
        return np.median(part, axis=0)
    some = ~missing.all(axis=0)  # a column without any value in these rows gets 0
    found[some] = np.nanmedian(part[:, some], axis=0)
    return found


def weighted_median(values: NDArray, weights: NDArray) -> float:
    """Weighted median: each value counts as often as its weight says.

    Parameters
    ----------
    values, weights : ndarray of shape (n,)
        Weights are positive.

    Returns
    -------
    median : float
        The mean of the two middle values if the weights below and above are equal.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_median(np.array([1.0, 5.0, 9.0]), np.array([1.0, 1.0, 2.0]))
    7.0
    """
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(weights[order])
    half = below[-1] / 2
    i = int(np.searchsorted(below, half * (1 - 1e-12)))
    if abs(below[i] - half) <= 1e-12 * half and i + 1 < values.size:
        return float((values[i] + values[i + 1]) / 2)
    return float(values[i])
