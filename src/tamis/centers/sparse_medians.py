"""Sparse columns: settle those whose class medians are 0 by counting, sort the others.

One pass counts the positive and negative values of each (column, class). If both are below half of
the class, the median is 0 and the dispersion the mean of the absolute values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix
from tamis._compile import WORTH_COMPILING, compiled
from tamis.centers._median_kernels import Segments
from tamis.centers.segments import ClassMedians, TieRule, fill_columns
from tamis.centers.units import require_finite_entries
from tamis.centers.usual_counts import count_usual_values, unsigned

# Number of values per block of columns (8 MiB).
_BLOCK_VALUES = 1 << 20
# Segments with more values than this are cumulated one by one.
_LONG_SEGMENT = 64


def fill_sparse(
    X: Matrix, codes: NDArray, sample_weight: NDArray | None, rule: TieRule, result: ClassMedians
) -> None:
    """Settle the columns whose class medians are all 0 by counting, the others by sorting."""
    n_classes, n_features = result.median.shape
    counted = count_usual_values(X, codes, n_classes) if sample_weight is None else None
    canonical = X.has_canonical_format if counted is None else counted.canonical
    if not canonical:
        X = X.copy()
        X.sum_duplicates()
        counted = None
    # Positive weight, negative weight and weighted sum of absolute values.
    if counted is not None:
        signs = _signs_of_counts(counted)
    elif max(X.nnz, result.median.size) < WORTH_COMPILING:
        signs = _signs_of_few(X, codes, sample_weight, n_classes)
    else:
        signs = np.zeros((n_features, n_classes, 3))
        weights, step = (np.ones(1), 0) if sample_weight is None else (sample_weight, 1)
        count = _csc_signs if X.format == "csc" else _csr_signs
        count(X.data, unsigned(X.indices), X.indptr, codes, weights, step, signs)
    require_finite_entries(signs, X)
    settled = _settle_zero_medians(signs, rule.weight, rule.class_slack, result.dispersion)
    columns = np.flatnonzero(~settled)
    width = max(1, _BLOCK_VALUES * columns.size // max(1, X.nnz))
    for first in range(0, columns.size, width):
        some = columns[first : first + width]
        if counted is not None:
            segment, value, mass = _entries_of_counts(counted, some)
        else:
            block = X[:, some].tocsc()
            segment, value, mass = _entries_of_columns(block, codes, n_classes, sample_weight)
        absent = np.tile(rule.weight, some.size)
        absent -= np.bincount(segment, weights=mass, minlength=absent.size)
        if not rule.sums_exactly:
            _settle_small_differences(absent, segment, block, codes, sample_weight)
        values, starts, cumulated = _sorted_segments(segment, value, mass, absent)
        below = np.zeros(starts.size - 1)
        segments = Segments(values, starts, cumulated, starts, below)
        fill_columns(some, segments, None, rule, result)


def _entries_of_columns(block, codes, n_classes, sample_weight):
    """Segment (column, class), value and weight of the stored values."""
    column = np.repeat(np.arange(block.shape[1]), np.diff(block.indptr))
    value = block.data.astype(np.float64)
    mass = np.ones(value.size) if sample_weight is None else sample_weight[block.indices]
    stored = (value != 0) & (mass > 0)
    segment = column * n_classes + codes[block.indices]
    return segment[stored], value[stored], mass[stored]


def _entries_of_counts(counted, columns):
    """The same from counts: the usual value is one entry, with its count as weight."""
    n_classes = counted.count.shape[1]
    segments = np.full(counted.count.shape, -1, dtype=np.int64)
    segments[columns] = np.arange(columns.size * n_classes).reshape(-1, n_classes)
    segment = segments.ravel()[counted.where]
    segment, value = segment[segment >= 0], counted.what[segment >= 0]
    usual = counted.count[columns].ravel() - np.bincount(
        segment, minlength=columns.size * n_classes
    )
    segment = np.concatenate([segment, np.arange(usual.size)])
    value = np.concatenate([value, np.full(usual.size, counted.usual)])
    mass = np.ones(value.size)
    mass[value.size - usual.size :] = usual
    stored = (value != 0) & (mass > 0)
    return segment[stored], value[stored], mass[stored]


def _settle_small_differences(absent, segment, block, codes, sample_weight):
    """Sum the weights of the zeros themselves if the difference is mostly rounding."""
    weight = np.bincount(codes, weights=sample_weight)
    n_absent = np.tile(np.bincount(codes[sample_weight > 0]), block.shape[1])
    n_absent -= np.bincount(segment, minlength=absent.size)
    absent[n_absent == 0] = 0.0
    doubtful = (n_absent > 0) & (absent < 1e-6 * np.tile(weight, block.shape[1]))
    for s in np.flatnonzero(doubtful):
        j, c = divmod(int(s), weight.size)
        zero = (block[:, [j]].toarray().ravel() == 0) & (codes == c)
        absent[s] = sample_weight[zero].sum()


def _sorted_segments(segment, value, mass, absent):
    """Values of each (column, class), sorted, with cumulated weights.

    One entry stands for all the zeros of a class, with their weight `absent`.
    """
    segment, value, mass = _merge_equal_counts(segment, value, mass, absent.size)
    zeros = np.flatnonzero(absent)
    segment = np.concatenate([segment, zeros])
    value = np.concatenate([value, np.zeros(zeros.size)])
    mass = np.concatenate([mass, absent[zeros]])
    order = np.lexsort((value, segment))
    starts = np.searchsorted(segment[order], np.arange(absent.size + 1))
    return value[order], starts, _cumulate(mass[order], starts)


@compiled
def _csr_signs(data, indices, indptr, codes, weights, step, signs):
    flat = signs.reshape(-1)
    stride = np.uint64(signs.shape[1] * 3)
    for i in range(indptr.size - 1):
        c = np.uint64(codes[i] * 3)
        w = weights[i * step]
        for p in range(indptr[i], indptr[i + 1]):
            v = np.float64(data[np.uint64(p)])
            a = np.uint64(indices[np.uint64(p)]) * stride + c
            flat[a] += w * (v > 0)
            flat[a + np.uint64(1)] += w * (v < 0)
            flat[a + np.uint64(2)] += w * abs(v)


@compiled
def _csc_signs(data, indices, indptr, codes, weights, step, signs):
    for j in range(indptr.size - 1):
        for p in range(indptr[j], indptr[j + 1]):
            i = np.int64(indices[np.uint64(p)])
            v = np.float64(data[np.uint64(p)])
            w = weights[i * step]
            signs[j, codes[i], 0] += w * (v > 0)
            signs[j, codes[i], 1] += w * (v < 0)
            signs[j, codes[i], 2] += w * abs(v)


def _signs_of_few(X, codes, sample_weight, n_classes):
    """The same sums without compiled code; `bincount` adds in the same order."""
    owner = np.repeat(np.arange(X.indptr.size - 1), np.diff(X.indptr))
    rows, columns = (X.indices, owner) if X.format == "csc" else (owner, X.indices)
    value = X.data.astype(np.float64)
    mass = np.ones(value.size) if sample_weight is None else sample_weight[rows]
    place = columns * n_classes + codes[rows]
    with np.errstate(invalid="ignore"):
        parts = (mass * (value > 0), mass * (value < 0), mass * np.abs(value))
    sums = [np.bincount(place, part, X.shape[1] * n_classes) for part in parts]
    return np.stack(sums, axis=1, dtype=np.float64).reshape(X.shape[1], n_classes, 3)


def _signs_of_counts(counted):
    """The same sums from counts."""
    signs = np.stack([part * counted.count for part in _signs(counted.usual)], axis=2)
    usual = _signs(counted.usual)
    for part, flat in enumerate(signs.reshape(-1, 3).T):
        np.add.at(flat, counted.where, _signs(counted.what)[part] - usual[part])
    return signs


def _signs(value):
    return np.float64(value > 0), np.float64(value < 0), np.abs(value)


def _merge_equal_counts(segment, value, mass, n_segments):
    """Whole numbers in a small range: equal values of a segment become one entry."""
    if value.size == 0 or np.any(value != np.floor(value)):
        return segment, value, mass
    low, high = value.min(), value.max()
    if not (high - low + 1) * n_segments <= 4 * value.size:
        return segment, value, mass
    n_values = int(high - low) + 1
    place = segment * n_values + (value - low).astype(np.int64)
    total = np.bincount(place, mass, n_segments * n_values)
    used = np.flatnonzero(total)
    return used // n_values, low + used % n_values, total[used]


def _settle_zero_medians(signs, weight, class_slack, dispersion):
    """Which columns have median 0 in all classes; dispersions as if all had."""
    dispersion[:] = (signs[:, :, 2] / weight).T
    most = np.maximum(signs[:, :, 0], signs[:, :, 1])
    return np.all(2 * most < weight - class_slack, axis=1)


def _cumulate(mass, starts):
    """Cumulated weights within each segment, added in order."""
    cumulated = mass.copy()
    size = np.diff(starts)
    for s in np.flatnonzero(size > _LONG_SEGMENT):
        part = slice(starts[s], starts[s + 1])
        np.cumsum(mass[part], out=cumulated[part])
    # Short segments all together, one place after the other.
    place, left = starts[:-1][size <= _LONG_SEGMENT], size[size <= _LONG_SEGMENT]
    while (going_on := left > 1).any():
        place, left = place[going_on] + 1, left[going_on] - 1
        cumulated[place] += cumulated[place - 1]
    return cumulated
