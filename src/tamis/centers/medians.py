r"""Weighted medians and dispersions of each column: the l1 part of Proposition 3.

For each feature i and class c: the median :math:`\mu_{ci}` of eq. (16), the dispersion
:math:`d_{ci} = \sum_{j \in c} w_j |x_{ji} - \mu_{ci}| / W_c` of eq. (18), the median
:math:`\mu_i` of all samples with weights :math:`w_j / W_c`, and the gain
:math:`-e_i = d_i - \sum_c d_{ci}`. Shapes (C, m), (C, m), (m,), (m,).

The idea that makes it fast: sort each class separately, a block of columns at a time, and find the
common median by bisection in the C sorted lists. Long columns are only partitioned at their class
medians, because only values between these matter; the others are counted. For sparse data even
that is rare: one pass counts the positive and negative values of each class; if both are below
half of the class the median is 0, and on text that settles nearly all columns.

The idea that makes it exact: any point between its lower and its upper median serves a class
equally well, so dropping a feature costs class c

.. math:: \frac1{W_c} \int_{\mu_c}^{\mu} (2 W_c(t) - W_c) \, dt, \qquad
   W_c(t) = \sum_{j \in c,\, x_j \le t} w_j,

from the near end of that interval to the common median. The integrand is a step function that
never changes sign, with whole numbers as steps when the weights are whole: the sum has no
cancellation and is exactly 0 when the median intervals of the classes share a point.
Whether :math:`\sum_c W_c(t) / W_c` has reached C/2 is decided in whole numbers too (multiples of
1 / lcm(W_c)) if these are exact in float64, otherwise in Python integers for the columns that come
within rounding of a tie. Weights that are not whole numbers tie when they are within rounding.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis._base import count_classes
from tamis._compile import WORTH_COMPILING
from tamis.centers import _small_medians as small
from tamis.centers._median_kernels import (
    Segments,
    absolute_deviations,
    copy_windows,
    count_windows,
)
from tamis.centers.segments import ClassMedians, TieRule, fill_columns
from tamis.centers.sparse_medians import fill_sparse
from tamis.centers.units import divide, heavy_rows, units_of

# Distances between numbers of this size can be summed, and divided by each other.
_LARGEST = 2.0**900
# Number of values per block of columns (8 MiB).
_BLOCK_VALUES = 1 << 20
# Rows that are transposed together.
_TILE = 256
# Classes with more rows than this on average are only partly sorted.
_LONG_COLUMNS = 256


def class_medians(
    X: Matrix, codes: NDArray, n_classes: int, sample_weight: NDArray | None = None
) -> ClassMedians:
    """Medians, dispersions and gains of each column.

    `X` (n_samples, n_features). `codes` (n_samples,): class index of each row, integers in
    0..n_classes-1; every class has weight. `sample_weight` (n_samples,) or None: non-negative
    weights.
    """
    result = _medians_as_they_are(X, codes, n_classes, sample_weight)
    spread = result.dispersion.sum(axis=0) + result.gain
    safe = (spread == 0) | ((spread > 1 / _LARGEST) & (spread < _LARGEST))
    safe &= np.abs(result.median).max(axis=0, initial=0.0) < _LARGEST
    columns = np.flatnonzero(~safe)
    if columns.size:
        block, *rest = heavy_rows(X[:, columns], codes, sample_weight)
        unit = units_of(block)
        part = _medians_as_they_are(divide(block, unit), rest[0], n_classes, rest[1])
        result.unit = np.ones(X.shape[1])
        result.unit[columns] = unit
        for name in ("median", "common", "dispersion", "gain"):
            getattr(result, name)[..., columns] = getattr(part, name)
    return result


def _medians_as_they_are(X, codes, n_classes, sample_weight):
    """Medians, dispersions and gains in the units of X."""
    if sample_weight is None:
        weight = count_classes(codes, n_classes).astype(np.float64)
    else:
        weight = np.bincount(codes, weights=sample_weight, minlength=n_classes)
    n_features = X.shape[1]
    result = ClassMedians(
        weight,
        np.zeros((n_classes, n_features)),
        np.zeros(n_features),
        np.zeros((n_classes, n_features)),
        np.zeros(n_features),
    )
    rule = TieRule(X, codes, sample_weight, weight)
    fill = fill_sparse if is_sparse(X) else _fill_dense
    with np.errstate(over="ignore", invalid="ignore"):
        fill(X, codes, sample_weight, rule, result)
    return result


def _fill_dense(X, codes, sample_weight, rule, result):
    """Sort the classes of a block of columns, as far as needed, then compute their statistics."""
    rows = np.argsort(codes, kind="stable")
    if sample_weight is not None:
        rows = rows[sample_weight[rows] > 0]
    n_classes, n_features = result.median.shape
    bounds = np.searchsorted(codes[rows], np.arange(n_classes + 1))
    if sample_weight is not None:
        segments = _weighted_segments
    elif rows.size > _LONG_COLUMNS * n_classes:
        segments = _windows_of_segments
    else:
        segments = _unweighted_segments
    width = max(8, _BLOCK_VALUES // max(1, rows.size))
    for first in range(0, n_features, width):
        columns = np.arange(first, min(first + width, n_features))
        block = np.empty((columns.size, rows.size))
        if X.flags.c_contiguous:
            for start in range(0, rows.size, _TILE):  # tiles that stay in the cache
                some = rows[start : start + _TILE]
                block[:, start : start + _TILE] = X[some, first : first + width].T
        else:
            block[:] = X.T[first : first + columns.size][:, rows]
        fill_columns(columns, *segments(block, rows, bounds, sample_weight), rule, result)


def _unweighted_segments(block, rows, bounds, sample_weight):
    """Sort each class; its cumulated weights are 1, 2, ..."""
    for first, last in pairwise(bounds):
        block[:, first:last].sort(axis=1)
    starts = _regular_starts(block, bounds)
    if block.size < WORTH_COMPILING:
        sums = small.absolute_deviations(block, bounds)
    else:
        sums = np.empty(starts.size - 1)
        absolute_deviations.choose(block.size)(block.ravel(), starts, sums)
    counting = np.arange(1.0, rows.size + 1)
    below = np.zeros(sums.size)
    return Segments(block.ravel(), starts, counting, np.zeros_like(starts), below), sums


def _windows_of_segments(block, rows, bounds, sample_weight):
    """Sort only the values between the medians of the classes; count the others."""
    for first, last in pairwise(bounds):
        middle = [(last - first - 1) // 2, (last - first) // 2]
        block[:, first:last].partition(middle, axis=1)
    if block.size < WORTH_COMPILING:
        inside, below, size = small.count_windows(block, bounds)
        sums = small.absolute_deviations(block, bounds)
        starts, values = np.concatenate([[0], np.cumsum(size)]), block[inside]
    else:
        starts, values, below, sums = _copy_windows(block, bounds)
    for first, last in pairwise(starts):
        values[first:last].sort()
    counting = np.arange(1.0, rows.size + 1)
    return Segments(values, starts, counting, below, below.astype(np.float64)), sums


def _copy_windows(block, bounds):
    n_segments = block.shape[0] * (bounds.size - 1)
    below = np.empty(n_segments, dtype=np.int64)
    size = np.empty(n_segments, dtype=np.int64)
    sums = np.empty(n_segments)
    window = np.empty((block.shape[0], 2))
    count_windows.choose(block.size)(block, bounds, window, below, size, sums)
    starts = np.concatenate([[0], np.cumsum(size)])
    values = np.empty(starts[-1])
    copy_windows.choose(block.size)(block, bounds, window, starts, values)
    return starts, values, below, sums


def _weighted_segments(block, rows, bounds, sample_weight):
    """Sort each class, with its cumulated weights."""
    cumulated = np.empty_like(block)
    for first, last in pairwise(bounds):
        part = slice(first, last)
        order = np.argsort(block[:, part], axis=1)
        block[:, part] = np.take_along_axis(block[:, part], order, axis=1)
        np.cumsum(sample_weight[rows[part]][order], axis=1, out=cumulated[:, part])
    starts = _regular_starts(block, bounds)
    below = np.zeros(starts.size - 1)
    return Segments(block.ravel(), starts, cumulated.ravel(), starts, below), None


def _regular_starts(block, bounds):
    starts = np.arange(block.shape[0])[:, None] * block.shape[1] + bounds[:-1]
    return np.append(starts.ravel(), block.size)
