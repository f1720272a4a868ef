r"""Columns in other units, if squares in the units of X would overflow or vanish.

A column i whose values are very large or very small is divided by a power of two :math:`u_i`,
which is exact; all others are unchanged, :math:`u_i = 1`. Scales in these units: see
`tamis.centers.ranking`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import assert_all_finite

from tamis._array import Matrix, is_sparse

# Numbers between 1 / LARGE and LARGE can be squared, and divided by a variance, twice.
LARGE = 2.0**250


def heavy_rows(
    X: Matrix, codes: NDArray, sample_weight: NDArray | None
) -> tuple[Matrix, NDArray, NDArray | None]:
    """The rows that have weight, with their classes and weights."""
    if sample_weight is None or sample_weight.all():
        return X, codes, sample_weight
    rows = np.flatnonzero(sample_weight)
    return X[rows], codes[rows], sample_weight[rows]


def units_of(X: Matrix) -> NDArray[np.float64]:
    """A power of two per column, as large as its largest absolute value; 1 for zeros."""
    if is_sparse(X):
        size = abs(X).max(axis=0).toarray().ravel()
    else:
        size = np.maximum(X.max(axis=0), -X.min(axis=0))
    _, exponent = np.frexp(size.astype(np.float64))
    # Not smaller than 2**-1000, so that there is an inverse.
    return np.where(size > 0, np.ldexp(1.0, np.maximum(exponent - 1, -1000)), 1.0)


def divide(X: Matrix, unit: NDArray | None) -> Matrix:
    """Columns of X divided by their units (None: all 1), in float64; sparse X stays sparse."""
    if unit is None:
        return X
    with np.errstate(over="ignore", under="ignore"):
        if not is_sparse(X):
            return X / unit
        columns = X.indices
        if X.format == "csc":
            columns = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
        return type(X)((X.data / unit[columns], X.indices, X.indptr), shape=X.shape)


def require_finite_entries(sums: NDArray, X: Matrix) -> None:
    """Raise if X has NaN or infinity; X is scanned only if a sum over it is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(sums.sum()):
            assert_all_finite(X.data if is_sparse(X) else X, input_name="X")
