"""The loops of `tamis.centers._path_kernels` in numpy, for few rows: the same sums, to the bit.

Cumulative sums and `bincount` add in the order of the loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tamis.centers._path_kernels import (
    DifferenceTerms,
    PathLevels,
    StoredRows,
    ZeroTerms,
)

if TYPE_CHECKING:
    from tamis.centers.terms import PathTerms


def dense_sums(X: NDArray, terms: PathTerms, levels: PathLevels) -> NDArray:
    """Sums of the decisions at each level, (n_rows, n_levels, n_classes)."""
    last = levels.stops.max(initial=0)
    v = X[:, terms.columns[:last]].astype(np.float64)
    slope, shift = terms.slope[:last], terms.shift[:last]
    if terms.absolute:
        v = np.clip(v, *terms.bounds[:last].T)
        summands = -np.abs(v[:, :, None] - shift) * slope
    else:
        summands = slope * (v - terms.origin[:last])[:, :, None] - shift
    return _at_stops(summands, levels.stops)


def dense_difference_sums(X: NDArray, terms: DifferenceTerms, levels: PathLevels) -> NDArray:
    """Sums of the differences of two decisions at each level, (n_rows, n_levels)."""
    last = levels.stops.max(initial=0)
    v = X[:, terms.columns[:last]].astype(np.float64)
    factor, shift = terms.factor[:last], terms.shift[:last]
    if terms.absolute:
        v = np.clip(v, *terms.bounds[:last].T)
        summands = (np.abs(v - shift[:, 0]) - np.abs(v - shift[:, 1])) * factor
    else:
        summands = factor * (v - terms.origin[:last]) - shift[:, 0]
    return _at_stops(summands, levels.stops)


def _at_stops(summands, stops):
    shape = list(summands.shape)
    shape[1] += 1
    sums = np.zeros(shape)
    np.cumsum(summands, axis=1, out=sums[:, 1:])
    return sums[:, stops]


def csr_sums(rows: StoredRows, terms: PathTerms, zeros: ZeroTerms, levels: PathLevels) -> NDArray:
    """As `dense_sums`, and the parts of the stored values alone."""
    n_levels, n_classes = levels.stops.size, terms.log_prior.size
    level = zeros.level[rows.indices]
    used = level < n_levels
    row, level = _row_of_value(rows)[used], level[used]
    rank = zeros.rank[rows.indices[used]]
    v = rows.data[used].astype(np.float64)
    slope, shift = terms.slope[rank], terms.shift[rank]
    if terms.absolute:
        v = np.clip(v, *terms.bounds[rank].T)
        summands = -np.abs(v[:, None] - shift) * slope
    else:
        summands = slope * (v - terms.origin[rank])[:, None] - shift
    summands -= zeros.zero[rank]
    n_rows = rows.indptr.size - 1
    change = [_add_up(row * n_levels + level, s, (n_rows, n_levels)) for s in summands.T]
    return np.cumsum(np.stack(change, axis=2), axis=1).reshape(n_rows, n_levels, n_classes)


def csr_difference_sums(
    rows: StoredRows, columns: NDArray, levels: PathLevels, absolute: bool
) -> NDArray:
    """As `dense_difference_sums`, of the stored values alone."""
    n_levels, n_rows = levels.stops.size, rows.indptr.size - 1
    column = columns[rows.indices]
    v = rows.data.astype(np.float64)
    if absolute:
        v = np.clip(v, column[:, 4], column[:, 5])
        distance = np.abs(v - column[:, 2]) - np.abs(v - column[:, 3])
        summands = column[:, 1] * distance - column[:, 6]
    else:
        summands = column[:, 1] * v
    place = _row_of_value(rows) * (n_levels + 1) + column[:, 0].astype(np.int64)
    change = _add_up(place, summands, (n_rows, n_levels + 1))
    return np.cumsum(change[:, :n_levels], axis=1)


def _row_of_value(rows):
    return np.repeat(np.arange(rows.indptr.size - 1), np.diff(rows.indptr))


def _add_up(place, summands, shape):
    return np.bincount(place, summands, shape[0] * shape[1]).reshape(shape)


def write_two_labels(sums: NDArray, levels: PathLevels, labels: NDArray) -> None:
    """Fill in the labels of two classes; -1 in rows whose sums overflowed."""
    labels[:, levels.place] = sums > levels.threshold
    labels[~np.isfinite(sums[:, -1])] = -1


def write_labels(sums: NDArray, log_prior: NDArray, levels: PathLevels, labels: NDArray) -> None:
    """Fill in the first of the classes whose decisions are within rounding of the largest."""
    decisions = sums * levels.sharpness[:, None] + log_prior
    behind = decisions.max(axis=2, keepdims=True) - decisions
    labels[:, levels.place] = (~(behind >= levels.tolerance[:, None])).argmax(axis=2)


def write_decisions(sums: NDArray, log_prior: NDArray, levels: PathLevels, out: NDArray) -> None:
    """Fill in the decisions; those within rounding of the largest are made equal to it."""
    decisions = sums * levels.sharpness[:, None] + log_prior
    largest = decisions.max(axis=2, keepdims=True)
    near = largest - decisions < levels.tolerance[:, None]
    out[:, levels.place] = np.where(near, largest, decisions)
