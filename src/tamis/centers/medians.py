r"""Weighted medians and dispersions of every column: the l1 side of Proposition 3.

For every feature i and class c: the median :math:`\mu_{ci}` of eq. (16), the dispersion
:math:`d_{ci} = \sum_{j \in c} w_j |x_{ji} - \mu_{ci}| / W_c` of eq. (18), the median
:math:`\mu_i` of all samples with weights :math:`w_j / W_c`, and the gain
:math:`-e_i = d_i - \sum_c d_{ci}`. Shapes (C, m), (C, m), (m,), (m,).

The one idea that makes it fast: sort each class on its own, a block of columns at a time, and find
the common median by bisection in the C sorted lists. Long columns are only partitioned at their
class medians, because all that matters lies between these; what is outside is counted. For sparse
data even that is rare: one pass counts the positive and negative values of every class; where
both stay below half of the class the median is 0, and on text that settles nearly all columns.

The one idea that makes it exact: a class is as well served by any point between its lower and its
upper median, so leaving a feature out costs class c

.. math:: \frac1{W_c} \int_{\mu_c}^{\mu} (2 W_c(t) - W_c) \, dt, \qquad
   W_c(t) = \sum_{j \in c,\, x_j \le t} w_j,

from the near end of that interval to the common median. The integrand is a step function that
never changes sign, with whole numbers as steps when the weights are whole: the sum has no
cancellation and is exactly 0 when the median intervals of the classes share a point.
Whether :math:`\sum_c W_c(t) / W_c` has reached C/2 is decided in whole numbers too (multiples of
1 / lcm(W_c)) if these are exact in float64, otherwise with fractions for the columns that come
within rounding of a tie. Weights that are not whole numbers tie when they are within rounding.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm

import numpy as np
from scipy import sparse

from tamis._base import check_finite, count_classes
from tamis._compile import compiled, prange, twins
from tamis.centers.statistics import count_usual_values, unsigned

__all__ = ["ClassMedians", "class_medians"]

# Columns are gathered until a block has about this many values (8 MiB).
_BLOCK_VALUES = 1 << 20
_COLUMNS = 64
# Classes with more rows than this on average are not sorted whole.
_LONG_COLUMNS = 256


@dataclass
class ClassMedians:
    """Medians, dispersions and gains of every feature.

    Attributes
    ----------
    weight : ndarray of shape (n_classes,)
        Sum of the sample weights.
    median : ndarray of shape (n_classes, n_features)
        Class medians, eq. (16).
    common : ndarray of shape (n_features,)
        Weighted median of all samples, every class with the same total weight.
    dispersion : ndarray of shape (n_classes, n_features)
        Mean absolute deviation from the class median, eq. (18).
    gain : ndarray of shape (n_features,)
        What leaving the feature out costs, d - sum_c d_c >= 0; exactly 0 where nothing.
    """

    weight: np.ndarray
    median: np.ndarray
    common: np.ndarray
    dispersion: np.ndarray
    gain: np.ndarray


class _TieRule:
    """How sums of weights are compared with one half: exactly where that is possible."""

    def __init__(self, weight, whole):
        n_classes = weight.size
        self.weight = weight
        self.whole = whole
        common = lcm(*(int(w) for w in weight)) if whole else 0
        self.exact = whole and 2 * common * n_classes < 2**53
        # sum_c share_c W_c(t) is compared with `half`, up to `slack`.
        if self.exact:
            self.share = np.array([2.0 * (common // int(w)) for w in weight])
            self.half = float(common * n_classes)
            self.slack = 0.0
        else:
            self.share = 2.0 / weight
            self.half = float(n_classes)
            self.slack = 1e-12 * n_classes
        self.class_slack = np.zeros(n_classes) if whole else 1e-12 * weight

    @property
    def needs_fractions(self):
        return self.whole and not self.exact


def class_medians(X, codes, n_classes, sample_weight=None):
    """Medians, dispersions and gains of every column.

    Parameters
    ----------
    X : ndarray, CSR or CSC container of shape (n_samples, n_features)
        float32 or float64, finite; compared and summed in float64.
    codes : ndarray of shape (n_samples,)
        Class index of every row, integers in 0..n_classes-1; every class has weight.
    n_classes : int
        Number of classes.
    sample_weight : ndarray of shape (n_samples,) or None
        Non-negative weights.

    Returns
    -------
    medians : ClassMedians
    """
    if sample_weight is None:
        kept = None
        weight = count_classes(codes, n_classes).astype(np.float64)
        whole = True
    else:
        kept = np.flatnonzero(sample_weight)
        whole = bool(np.all(sample_weight == np.floor(sample_weight)))
        weight = np.bincount(codes, weights=sample_weight, minlength=n_classes)
        whole = whole and weight.sum() < 2**53
    n_features = X.shape[1]
    result = ClassMedians(
        weight,
        np.zeros((n_classes, n_features)),
        np.zeros(n_features),
        np.zeros((n_classes, n_features)),
        np.zeros(n_features),
    )
    rule = _TieRule(weight, whole)
    fill = _fill_sparse if sparse.issparse(X) else _fill_dense
    fill(X, codes, sample_weight, kept, rule, result)
    check_finite((result.dispersion, result.gain), X)
    return result


def _fill_dense(X, codes, sample_weight, kept, rule, result):
    """Sort the classes of a block of columns, as far as needed, then take their statistics."""
    rows = np.argsort(codes, kind="stable")
    if kept is not None:
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
            _gather(X, rows, first, block)
        else:
            block[:] = X.T[first : first + columns.size][:, rows]
        _fill_columns(columns, *segments(block, rows, bounds, sample_weight), rule, result)


def _unweighted_segments(block, rows, bounds, sample_weight):
    """Every class sorted; its cumulated weights are 1, 2, ..."""
    for first, last in pairwise(bounds):
        block[:, first:last].sort(axis=1)
    starts = _regular_starts(block, bounds)
    sums = np.empty(starts.size - 1)
    _absolute_deviations.choose(block.size)(block.ravel(), starts, sums)
    counting = np.arange(1.0, rows.size + 1)
    return block.ravel(), starts, counting, np.zeros_like(starts), None, sums


def _windows_of_segments(block, rows, bounds, sample_weight):
    """Only what lies between the medians of the classes is sorted; the rest is counted."""
    for first, last in pairwise(bounds):
        middle = [(last - first - 1) // 2, (last - first) // 2]
        block[:, first:last].partition(middle, axis=1)
    n_segments = block.shape[0] * (bounds.size - 1)
    below = np.empty(n_segments, dtype=np.int64)
    size = np.empty(n_segments, dtype=np.int64)
    sums = np.empty(n_segments)
    window = np.empty((block.shape[0], 2))
    _count_windows.choose(block.size)(block, bounds, window, below, size, sums)
    starts = np.concatenate([[0], np.cumsum(size)])
    values = np.empty(starts[-1])
    _copy_windows.choose(block.size)(block, bounds, window, starts, values)
    for first, last in pairwise(starts):
        values[first:last].sort()
    counting = np.arange(1.0, rows.size + 1)
    return values, starts, counting, below, below.astype(np.float64), sums


def _weighted_segments(block, rows, bounds, sample_weight):
    """Every class sorted, with its cumulated weights."""
    cumulated = np.empty_like(block)
    for first, last in pairwise(bounds):
        part = slice(first, last)
        order = np.argsort(block[:, part], axis=1)
        block[:, part] = np.take_along_axis(block[:, part], order, axis=1)
        np.cumsum(sample_weight[rows[part]][order], axis=1, out=cumulated[:, part])
    starts = _regular_starts(block, bounds)
    return block.ravel(), starts, cumulated.ravel(), starts, None, None


def _regular_starts(block, bounds):
    starts = np.arange(block.shape[0])[:, None] * block.shape[1] + bounds[:-1]
    return np.append(starts.ravel(), block.size)


def _fill_sparse(X, codes, sample_weight, kept, rule, result):
    """Settle the columns whose class medians are all 0 by counting, the others by sorting."""
    n_classes, n_features = result.median.shape
    counted = count_usual_values(X, codes, n_classes) if sample_weight is None else None
    if not X.has_canonical_format if counted is None else not counted.canonical:
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
    check_finite((signs,), X)
    settled = _settle_zero_medians(signs, rule.weight, rule.class_slack, result.dispersion)
    columns = np.flatnonzero(~settled)
    width = max(1, _BLOCK_VALUES * columns.size // max(1, X.nnz))
    for first in range(0, columns.size, width):
        some = columns[first : first + width]
        if counted is not None:
            entries = _entries_of_counts(counted, some)
        else:
            entries = _entries_of_columns(X[:, some].tocsc(), codes, n_classes, sample_weight)
        values, starts, cumulated = _sorted_segments(*entries, some.size, rule.weight)
        _fill_columns(some, values, starts, cumulated, starts, None, None, rule, result)


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


def _sorted_segments(segment, value, mass, n_columns, weight):
    """Values of every (column, class), sorted, with cumulated weights.

    One entry stands for all the zeros of a class.
    """
    n_classes = weight.size
    segment, value, mass = _merge_equal_counts(segment, value, mass, n_columns * n_classes)
    present = np.bincount(segment, weights=mass, minlength=n_columns * n_classes)
    absent = np.tile(weight, n_columns) - present
    # Cumulated rounding must not make zeros out of nothing.
    absent[absent < 1e-12 * np.tile(weight, n_columns)] = 0.0
    zeros = np.flatnonzero(absent)
    segment = np.concatenate([segment, zeros])
    value = np.concatenate([value, np.zeros(zeros.size)])
    mass = np.concatenate([mass, absent[zeros]])
    order = np.lexsort((value, segment))
    starts = np.searchsorted(segment[order], np.arange(n_columns * n_classes + 1))
    cumulated = np.empty(order.size)
    _cumulate(mass[order], starts, cumulated)
    return value[order], starts, cumulated


def _fill_columns(columns, values, starts, cumulated, cumulated_starts, below, sums, rule, result):
    """Statistics of columns from their sorted segments, one for every (column, class).

    `below` is the weight of what a segment leaves out on its left (None: nothing), `sums` the
    sums of the absolute deviations from the class medians (None: yet to be made).
    """
    n_classes = rule.weight.size
    below = np.zeros(starts.size - 1) if below is None else below
    median = np.empty((columns.size, n_classes))
    common = np.empty((columns.size, 2))  # lower and upper end of the common median interval
    gain = np.empty(columns.size)
    close = np.zeros(columns.size, dtype=np.bool_)
    arguments = (
        values,
        starts,
        cumulated,
        cumulated_starts,
        below,
        rule.weight,
        rule.class_slack,
    )
    _medians.choose(8 * values.size)(
        *arguments, rule.share, rule.half, rule.slack, median, common, gain, close
    )
    if rule.needs_fractions:
        for j in np.flatnonzero(close):
            low, high = _common_median_by_fractions(j, *arguments[:5], rule.weight)
            common[j] = low, high
            gain[j] = _gain_of_column(j, *arguments, low)
    if sums is None:
        sums = np.empty(starts.size - 1)
        _weighted_deviations(values, starts, cumulated, median.ravel(), sums)
    result.median[:, columns] = median.T
    result.dispersion[:, columns] = sums.reshape(-1, n_classes).T / rule.weight[:, None]
    result.common[columns] = 0.5 * common[:, 0] + 0.5 * common[:, 1]
    result.gain[columns] = gain


def _common_median_by_fractions(j, values, starts, cumulated, cumulated_starts, below, weight):
    """Lower and upper common median of one column, in exact arithmetic."""
    n_classes = weight.size
    candidates, masses = [], []
    for c in range(n_classes):
        s = j * n_classes + c
        size = starts[s + 1] - starts[s]
        at = cumulated_starts[s]
        candidates.append(values[starts[s] : starts[s + 1]])
        masses.append(np.diff(cumulated[at : at + size], prepend=below[s]))
    labels = np.repeat(np.arange(n_classes), [v.size for v in candidates])
    merged = np.concatenate(candidates)
    order = np.argsort(merged, kind="stable")
    merged, labels, masses = merged[order], labels[order], np.concatenate(masses)[order]
    # Floats bring the search near the middle; only the last steps need fractions.
    before = below[j * n_classes : (j + 1) * n_classes]
    approximate = np.cumsum(masses / weight[labels]) + (before / weight).sum()
    half = Fraction(n_classes, 2)
    first = int(np.searchsorted(approximate, n_classes / 2 - 1e-6))
    reached = sum(
        (
            Fraction(int(before[c] + masses[:first][labels[:first] == c].sum()), int(weight[c]))
            for c in range(n_classes)
        ),
        Fraction(0),
    )
    position = first
    while True:
        value = merged[position]
        while position < merged.size and merged[position] == value:
            reached += Fraction(int(masses[position]), int(weight[labels[position]]))
            position += 1
        if reached > half:
            return value, value
        if reached == half:
            return value, merged[position]


@compiled
def _gather(X, rows, first, block):
    for start in range(0, rows.size, 64):
        stop = min(start + 64, rows.size)
        for j in range(block.shape[0]):
            for r in range(start, stop):
                block[j, r] = X[rows[r], first + j]


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
    # Those of the unusual values whose place has a segment: segment and value.
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


@compiled
def _count_at_most(values, value):
    # How many entries of the sorted `values` are <= value.
    low, high = 0, values.size
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _count_below(values, value):
    low, high = 0, values.size
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _class_interval(values, cumulated, total, slack):
    # Lower and upper median of one class, eq. (16), and where the lower one's run ends.
    low, high = 0, values.size - 1
    while low < high:  # first position with cumulated weight >= one half
        middle = (low + high) >> 1
        if 2 * cumulated[middle] >= total - slack:
            high = middle
        else:
            low = middle + 1
    lower = values[low]
    after = _count_at_most(values, lower)
    if after < values.size and 2 * cumulated[after - 1] <= total + slack:
        return lower, values[after]
    return lower, lower


@compiled
def _class_cost(values, cumulated, below, total, lower, upper, common):
    # Integral of (2 W(t) - W) / W from the class's median interval to the common median.
    cost = 0.0
    if common > upper:
        i = _count_at_most(values, upper) - 1
        here = upper
        while here < common:
            following = common
            if i + 1 < values.size and values[i + 1] < common:
                following = values[i + 1]
            cost += (2 * cumulated[i] - total) * (following - here)
            here = following
            i += 1
    elif common < lower:
        i = _count_at_most(values, common)  # first position above the common median
        here = common
        while here < lower:
            reached = cumulated[i - 1] if i > 0 else below
            cost += (total - 2 * reached) * (values[i] - here)
            here = values[i]
            i += 1
    return max(cost / total, 0.0)


@compiled
def _common_interval(
    j,
    values,
    starts,
    cumulated,
    cumulated_starts,
    below,
    share,
    half,
    slack,
    lowest,
    highest,
    low,
    high,
):
    # Lower and upper end of the common median interval: the smallest value at which
    # sum_c share_c W_c(t) reaches `half`, by bisection in all classes' sorted lists at once. It
    # lies between the lowest and the highest of the classes' lower medians. `low` and `high`
    # are room for the positions that are still open.
    n_classes = share.size
    for c in range(n_classes):
        s = j * n_classes + c
        segment = values[starts[s] : starts[s + 1]]
        low[c] = _count_below(segment, lowest)
        high[c] = _count_at_most(segment, highest)
    best = highest
    best_reached = 0.0
    close = False
    while True:
        widest = 0
        for c in range(1, n_classes):
            if high[c] - low[c] > high[widest] - low[widest]:
                widest = c
        if high[widest] <= low[widest]:
            break
        s = j * n_classes + widest
        pivot = values[starts[s] + ((low[widest] + high[widest]) >> 1)]
        reached = 0.0
        for c in range(n_classes):
            s = j * n_classes + c
            k = _count_at_most(values[starts[s] : starts[s + 1]], pivot)
            if k > 0:
                reached += share[c] * cumulated[cumulated_starts[s] + k - 1]
            else:
                reached += share[c] * below[s]
        close |= abs(reached - half) <= slack and slack > 0
        enough = reached >= half - slack
        if enough:
            best = pivot
            best_reached = reached
        for c in range(n_classes):
            s = j * n_classes + c
            segment = values[starts[s] : starts[s + 1]]
            if enough:
                high[c] = min(high[c], _count_below(segment, pivot))
            else:
                low[c] = max(low[c], _count_at_most(segment, pivot))
    upper = best
    if best_reached <= half + slack:
        upper = np.inf
        for c in range(n_classes):
            s = j * n_classes + c
            segment = values[starts[s] : starts[s + 1]]
            k = _count_at_most(segment, best)
            if k < segment.size:
                upper = min(upper, segment[k])
        if upper == np.inf:
            upper = best
    return best, upper, close


@compiled
def _gain_of_column(
    j, values, starts, cumulated, cumulated_starts, below, weight, class_slack, common
):
    gain = 0.0
    for c in range(weight.size):
        s = j * weight.size + c
        v = values[starts[s] : starts[s + 1]]
        w = cumulated[cumulated_starts[s] : cumulated_starts[s] + v.size]
        lower, upper = _class_interval(v, w, weight[c], class_slack[c])
        gain += _class_cost(v, w, below[s], weight[c], lower, upper, common)
    return gain


@compiled
def _sum_of_deviations(values, center):
    # Four sums in turn, so that they need not wait for each other.
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = values.size - values.size % 4
    for i in range(0, whole, 4):
        s0 += abs(values[i] - center)
        s1 += abs(values[i + 1] - center)
        s2 += abs(values[i + 2] - center)
        s3 += abs(values[i + 3] - center)
    for i in range(whole, values.size):
        s0 += abs(values[i] - center)
    return (s0 + s1) + (s2 + s3)


@twins
def _absolute_deviations(values, starts, sums):
    # Of sorted segments, from their medians.
    for s in prange(sums.size):
        v = values[starts[s] : starts[s + 1]]
        center = 0.5 * v[(v.size - 1) // 2] + 0.5 * v[v.size // 2]
        sums[s] = _sum_of_deviations(v, center)


@compiled
def _weighted_deviations(values, starts, cumulated, medians, sums):
    for s in range(sums.size):
        total = 0.0
        before = 0.0
        for i in range(starts[s], starts[s + 1]):
            total += (cumulated[i] - before) * abs(values[i] - medians[s])
            before = cumulated[i]
        sums[s] = total


@twins
def _count_windows(block, bounds, window, below, size, sums):
    # After partition: the window from the lowest lower to the highest upper class median, how
    # many values of each class lie below and inside it, and their deviations.
    n_classes = bounds.size - 1
    for j in prange(block.shape[0]):
        lowest, highest = np.inf, -np.inf
        for c in range(n_classes):
            v = block[j, bounds[c] : bounds[c + 1]]
            lowest = min(lowest, v[(v.size - 1) // 2])
            highest = max(highest, v[v.size // 2])
        window[j, 0], window[j, 1] = lowest, highest
        for c in range(n_classes):
            v = block[j, bounds[c] : bounds[c + 1]]
            n_below, n_inside = 0, 0
            for i in range(v.size):
                n_below += v[i] < lowest
                n_inside += (v[i] >= lowest) & (v[i] <= highest)
            s = j * n_classes + c
            below[s], size[s] = n_below, n_inside
            center = 0.5 * v[(v.size - 1) // 2] + 0.5 * v[v.size // 2]
            sums[s] = _sum_of_deviations(v, center)


@twins
def _copy_windows(block, bounds, window, starts, values):
    n_classes = bounds.size - 1
    for j in prange(block.shape[0]):
        lowest, highest = window[j, 0], window[j, 1]
        for c in range(n_classes):
            at = starts[j * n_classes + c]
            for i in range(bounds[c], bounds[c + 1]):
                v = block[j, i]
                if lowest <= v <= highest:
                    values[at] = v
                    at += 1


@twins
def _medians(
    values,
    starts,
    cumulated,
    cumulated_starts,
    below,
    weight,
    class_slack,
    share,
    half,
    slack,
    median,
    common,
    gain,
    close,
):
    n_classes = weight.size
    for block in prange((gain.size + _COLUMNS - 1) // _COLUMNS):
        low = np.empty(n_classes, np.int64)
        high = np.empty(n_classes, np.int64)
        lower = np.empty(n_classes)
        upper = np.empty(n_classes)
        for j in range(block * _COLUMNS, min((block + 1) * _COLUMNS, gain.size)):
            lowest, highest = np.inf, -np.inf
            for c in range(n_classes):
                s = j * n_classes + c
                v = values[starts[s] : starts[s + 1]]
                w = cumulated[cumulated_starts[s] : cumulated_starts[s] + v.size]
                lower[c], upper[c] = _class_interval(v, w, weight[c], class_slack[c])
                lowest, highest = min(lowest, lower[c]), max(highest, lower[c])
                median[j, c] = 0.5 * lower[c] + 0.5 * upper[c]
            common[j, 0], common[j, 1], close[j] = _common_interval(
                j,
                values,
                starts,
                cumulated,
                cumulated_starts,
                below,
                share,
                half,
                slack,
                lowest,
                highest,
                low,
                high,
            )
            total = 0.0
            for c in range(n_classes):
                s = j * n_classes + c
                v = values[starts[s] : starts[s + 1]]
                w = cumulated[cumulated_starts[s] : cumulated_starts[s] + v.size]
                total += _class_cost(v, w, below[s], weight[c], lower[c], upper[c], common[j, 0])
            gain[j] = total
