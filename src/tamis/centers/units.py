r"""Columns in other units, if squares in the units of X would overflow or vanish.

A column i whose values are very large or very small is divided by a power of two :math:`u_i`,
which is exact; all others are unchanged, :math:`u_i = 1`. With the scales "spread" and "std", only
the units of the fitted attributes depend on :math:`u`. Without a scale, or with the variance as
scale, scaled columns must still be comparable with each other: :math:`x_i / u_i` is then divided
by :math:`s_i` times a ratio of units, so that the largest of the scaled columns is of ordinary
size. Multiplying by the `reference` gives values in the units of X.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import assert_all_finite

from tamis._array import Matrix, is_sparse

if TYPE_CHECKING:
    from tamis.centers.ranking import CenterStatistics

__all__ = [
    "LARGE",
    "divide",
    "heavy_rows",
    "in_common_units",
    "in_units_of_X",
    "require_finite_entries",
    "units_of",
]

# Numbers between 1 / LARGE and LARGE can be squared, and divided by a variance, twice.
LARGE = 2.0**250
# A column that is smaller than another by this factor is negligible.
_NOTHING = 2.0**1000


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


def in_common_units(
    scale: NDArray, scaling: str | None, power: int, statistics: CenterStatistics
) -> tuple[NDArray, float]:
    """Comparable scales of columns that have different units, and the reference.

    Parameters
    ----------
    scale : ndarray of shape (n_features,)
        Scales of the columns divided by their units.
    scaling : {"spread", "std", "variance"} or None
    power : {2, 1}
        The exponent of the metric.
    statistics : CenterStatistics

    Returns
    -------
    scale : ndarray of shape (n_features,)
        Divisors of ``x / unit``.
    reference : float
        Power of two: a scaled value times the reference is in the units of X.
    """
    unit, spread = statistics.unit, statistics.spread
    varies = spread > 0
    if unit is None or scaling in ("spread", "std") or not varies.any():
        return scale, 1.0
    with np.errstate(over="ignore", under="ignore"):
        if scaling == "variance":
            _require_numbers(scale * unit * unit, varies, statistics)
            reference = 1.0 / unit[varies].min()
            ratio = unit * reference
        else:
            reference = unit[varies].max()
            ratio = reference / unit
        scale = np.where(varies, scale * np.minimum(ratio, _NOTHING), 1.0)
        if scaling is None and power == 2:
            _require_squares(scale, reference, statistics)
    return scale, float(reference)


def in_units_of_X(scale: NDArray, reference: float, statistics: CenterStatistics) -> NDArray:
    """Scales for columns in the units of X: 1 for constant columns."""
    if statistics.unit is None:
        return scale
    varies = (statistics.spread > 0) & (scale < _NOTHING)
    return np.where(varies, scale * np.where(varies, statistics.unit / reference, 1.0), 1.0)


def require_finite_entries(sums: NDArray, X: Matrix) -> None:
    """Raise if X has NaN or infinity; X is scanned only if a sum over it is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(sums.sum()):
            assert_all_finite(X.data if is_sparse(X) else X, input_name="X")


def _require_numbers(variance, varies, statistics):
    fine = (variance >= np.finfo(np.float64).tiny) & np.isfinite(variance)
    wrong = np.flatnonzero(varies & ~fine)
    if wrong.size:
        raise ValueError(
            f"The variance of column {wrong[0]} of X is too small or too large for a number: the "
            f"centers of the classes are about {_size(statistics)[wrong[0]]:.3g}. Multiply the "
            "column by a constant, or use scaling='spread', which does not depend on units."
        )


def _require_squares(scale, reference, statistics):
    spread = (statistics.spread / scale / scale).max() * reference * reference
    gain = (statistics.gain / scale / scale).max() * reference * reference
    if np.isfinite(spread) and (gain >= np.finfo(np.float64).tiny or not statistics.gain.any()):
        return
    raise ValueError(
        f"X has class centers up to {_size(statistics).max():.3g}, and squares of such numbers "
        "overflow or vanish. Multiply X by a constant, or use scaling='spread', which does "
        "not depend on units."
    )


def _size(statistics):
    return np.abs(statistics.centers + statistics.offset).max(axis=0) * statistics.unit
