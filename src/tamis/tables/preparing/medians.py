"""Medians of columns with missing values and weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis._base import weighted_median


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
