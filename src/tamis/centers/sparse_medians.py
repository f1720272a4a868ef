"""Sparse columns: settle those whose class medians are 0 by counting, sort the others.

One pass counts the positive and negative values of each (column, class). If both are below half of
the class, the median is 0 and the dispersion the mean of the absolute values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix
from tamis._compile import compiled
from tamis.centers._median_kernels import Segments
from tamis.centers.segments import ClassMedians, TieRule, fill_columns
from tamis.centers.units import require_finite_entries
from tamis.centers.usual_counts import count_usual_values, unsigned

__all__ = ["fill_sparse"]

# Number of values per block of columns (8 MiB).
_BLOCK_VALUES = 1 << 20


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
    signs = np.zeros((n_features, n_classes, 3))
    if counted is not None:
        _signs_of_counts(counted.usual, counted.count, counted.where, counted.what, signs)
    else:
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
    segment, value = _values_of_columns(counted.where, counted.what, segments.ravel())
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
    cumulated = np.empty(order.size)
    _cumulate(mass[order], starts, cumulated)
    return value[order], starts, cumulated


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


@compiled
def _signs_of_counts(usual, count, where, what, signs):
    flat = signs.reshape(-1)
    for j in range(count.shape[0]):
        for c in range(count.shape[1]):
            signs[j, c, 0] = count[j, c] * (usual > 0)
            signs[j, c, 1] = count[j, c] * (usual < 0)
            signs[j, c, 2] = count[j, c] * abs(usual)
    for u in range(where.size):
        a = np.uint64(where[u]) * np.uint64(3)
        v = what[u]
        flat[a] += np.float64(v > 0) - np.float64(usual > 0)
        flat[a + np.uint64(1)] += np.float64(v < 0) - np.float64(usual < 0)
        flat[a + np.uint64(2)] += abs(v) - abs(usual)


@compiled
def _values_of_columns(where, what, segments):
    # The unusual values whose column and class have a segment: segment and value.
    segment = np.empty(where.size, np.int64)
    value = np.empty(where.size)
    size = np.uint64(0)
    for u in range(where.size):
        segment[size] = segments[where[u]]
        value[size] = what[u]
        size += np.uint64(segments[where[u]] >= 0)
    return segment[:size], value[:size]


@compiled
def _merge_equal_counts(segment, value, mass, n_segments):
    # Whole numbers in a small range: equal values of a segment become one entry.
    low, high, whole = np.inf, -np.inf, True
    for i in range(value.size):
        low, high = min(low, value[i]), max(high, value[i])
        whole &= value[i] == np.floor(value[i])
    if not whole or not (high - low + 1) * n_segments <= 4 * value.size:
        return segment, value, mass
    n_values = np.int64(high - low) + 1
    total = np.zeros(n_segments * n_values)
    for i in range(value.size):
        total[segment[i] * n_values + np.int64(value[i] - low)] += mass[i]
    used = np.flatnonzero(total)
    return used // n_values, low + used % n_values, total[used]


@compiled
def _settle_zero_medians(signs, weight, class_slack, dispersion):
    n_features, n_classes, _ = signs.shape
    settled = np.ones(n_features, np.bool_)
    for j in range(n_features):
        for c in range(n_classes):
            half = weight[c] - class_slack[c]
            if 2 * signs[j, c, 0] >= half or 2 * signs[j, c, 1] >= half:
                settled[j] = False
            dispersion[c, j] = signs[j, c, 2] / weight[c]
    return settled


@compiled
def _cumulate(mass, starts, cumulated):
    for s in range(starts.size - 1):
        total = 0.0
        for p in range(starts[s], starts[s + 1]):
            total += mass[p]
            cumulated[p] = total
