"""The loops of `tamis.centers._median_kernels` in numpy, for few values: the same results, to the
bit.

Segments lie one after the other, so that a result per segment is a sum (`bincount`, which adds in
order) or a count over one long array. The common median is found where the classes' values are
merged, not by bisection: the weight reached grows with the value, so both find the same one.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tamis.centers._median_kernels import ColumnMedians, Halves, Segments


def absolute_deviations(block: NDArray, bounds: NDArray) -> NDArray:
    """Sums of the absolute deviations of each (column, class) from its median, in four lanes.

    `block` (n_columns, n_rows): rows by class; sorted or partitioned at the middle of each class.
    `bounds` (n_classes + 1,): where classes begin.
    """
    sums = np.empty((block.shape[0], bounds.size - 1))
    for c, (first, last) in enumerate(pairwise(bounds)):
        size = last - first
        part = block[:, first:last]
        center = 0.5 * part[:, [(size - 1) // 2]] + 0.5 * part[:, [size // 2]]
        distance = np.abs(part - center)
        whole = size - size % 4
        lanes = np.zeros((block.shape[0], 4))
        if whole:
            lanes = distance[:, :whole].reshape(-1, whole // 4, 4).cumsum(axis=1)[:, -1]
        for i in range(whole, size):
            lanes[:, 0] += distance[:, i]
        sums[:, c] = (lanes[:, 0] + lanes[:, 1]) + (lanes[:, 2] + lanes[:, 3])
    return sums.ravel()


def count_windows(block: NDArray, bounds: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Where values lie between the lowest lower and the highest upper class median.

    `block` (n_columns, n_rows), `bounds` (n_classes + 1,). Returns `below`, `size` (n_columns *
    n_classes,).
    """
    n_rows = np.diff(bounds)
    lowest = block[:, bounds[:-1] + (n_rows - 1) // 2].min(axis=1)[:, None]
    highest = block[:, bounds[:-1] + n_rows // 2].max(axis=1)[:, None]
    smaller = block < lowest
    inside = ~smaller & (block <= highest)
    below, size = (
        np.stack([np.count_nonzero(part[:, a:b], axis=1) for a, b in pairwise(bounds)], axis=1)
        for part in (smaller, inside)
    )
    return inside, below.ravel(), size.ravel()


def weighted_deviations(segments: Segments, medians: NDArray) -> NDArray:
    """Weighted sums of the absolute deviations from the median of each segment."""
    segment = _segment_of_value(segments)
    weight = segments.cumulated.copy()
    weight[1:] -= segments.cumulated[:-1]
    weight[segments.starts[:-1]] = segments.cumulated[segments.starts[:-1]]
    summands = weight * np.abs(segments.values - medians[segment])
    return np.bincount(segment, summands, medians.size)


def _segment_of_value(segments):
    return np.repeat(np.arange(segments.starts.size - 1), np.diff(segments.starts))


def _reached(segments, segment):
    """Cumulated weight at each value."""
    within = np.arange(segment.size) - segments.starts[segment]
    return segments.cumulated[segments.cumulated_starts[segment] + within]


def medians_of_segments(segments: Segments, halves: Halves, result: ColumnMedians) -> None:
    """Fill in the medians, common medians and gains of columns, and which are close to a tie."""
    shape = result.median.shape
    segment = _segment_of_value(segments)
    reached = _reached(segments, segment)
    lower, upper, near = _class_intervals(segments, segment, reached, halves)
    lower, upper = lower.reshape(shape), upper.reshape(shape)
    result.median[:] = 0.5 * lower + 0.5 * upper
    common, close = _common_intervals(segments, segment, halves, lower)
    result.common[:] = common
    result.close[:] = close | near.reshape(shape).any(axis=1)
    result.gain[:] = gains_of_columns(segments, halves.weight, lower, upper, common[:, 0])


def _class_intervals(segments, segment, reached, halves):
    """Lower and upper median of each segment, eq. (16), and whether a tie is within rounding."""
    starts, size = segments.starts[:-1], np.diff(segments.starts)
    total = np.resize(halves.weight, size.size)
    slack = np.resize(halves.class_slack, size.size)
    short = 2 * reached < (total - slack)[segment]
    first = starts + np.minimum(np.bincount(segment[short], minlength=size.size), size - 1)
    lower = segments.values[first]
    near = (slack > 0) & (2 * reached[first] <= total + slack)
    at_most = segments.values <= lower[segment]
    after = np.bincount(segment[at_most], minlength=size.size)
    tied = (after < size) & (2 * reached[starts + after - 1] <= total + slack)
    upper = lower.copy()
    upper[tied] = segments.values[(starts + after)[tied]]
    return lower, upper, near


def _common_intervals(segments, segment, halves, lower):
    """Lower and upper common median of each column, and whether a tie is within rounding."""
    n_columns, n_classes = lower.shape
    column = segment // n_classes
    order = np.lexsort((segments.values, column))
    values, column, label = segments.values[order], column[order], (segment % n_classes)[order]
    ends = np.cumsum(np.bincount(column, minlength=n_columns))
    starts = ends - np.bincount(column, minlength=n_columns)
    reached = np.zeros(values.size)
    for c in range(n_classes):
        seen = np.cumsum(label == c)
        seen -= (seen[starts] - (label[starts] == c))[column]
        s = column * n_classes + c
        place = segments.cumulated_starts[s] + np.maximum(seen, 1) - 1
        part = np.where(seen > 0, segments.cumulated[place], segments.below[s])
        reached += halves.share[c] * part
    enough = reached >= halves.half - halves.slack
    enough &= values >= lower.min(axis=1)[column]
    enough &= values <= lower.max(axis=1)[column]
    candidates = np.flatnonzero(enough)
    every = np.arange(n_columns)
    first = np.searchsorted(column[candidates], every)
    best, best_reached = lower.max(axis=1), np.zeros(n_columns)
    found = np.searchsorted(column[candidates], every, side="right") > first
    best[found] = values[candidates[first[found]]]
    after = starts + np.bincount(column[values <= best[column]], minlength=n_columns)
    best_reached[found] = reached[after[found] - 1]
    upper = best.copy()
    tied = (best_reached <= halves.half + halves.slack) & (after < ends)
    upper[tied] = values[after[tied]]
    close = found & (np.abs(best_reached - halves.half) <= halves.slack) & (halves.slack > 0)
    return np.stack([best, upper], axis=1), close


def gains_of_columns(
    segments: Segments, weight: NDArray, lower: NDArray, upper: NDArray, common: NDArray
) -> NDArray:
    """Sum over classes of the integral of (2 W(t) - W) / W from the class median to the common.

    That is what dropping each column costs.

    `segments`: one segment per (column, class). `weight` (n_classes,). `lower`, `upper`
    (n_columns, n_classes). `common` (n_columns,).
    """
    segment = _segment_of_value(segments)
    reached, values = _reached(segments, segment), segments.values
    is_first = np.zeros(values.size, dtype=bool)
    is_first[segments.starts[:-1]] = True
    previous, following = np.roll(values, 1), np.roll(values, -1)
    reached_before = np.where(is_first, segments.below[segment], np.roll(reached, 1))
    n_segments = segments.starts.size - 1
    low, high = lower.ravel()[segment], upper.ravel()[segment]
    center = np.repeat(common, weight.size)[segment]
    total = np.resize(weight, n_segments)[segment]
    # Right of the class's interval: from its last value at most `high` to the common median.
    is_last = np.roll(is_first, -1)
    following = np.where(is_last | (following >= center), center, following)
    right = (center > high) & (values < center) & (is_last | (following > high))
    summands = (2 * reached - total) * (following - np.maximum(values, high))
    # Left of it: from the common median to its lower median.
    here = np.where(is_first | (previous <= center), center, previous)
    left = (center < low) & (values > center) & (here < low)
    summands = np.where(left, (total - 2 * reached_before) * (values - here), summands)
    used = left | right
    cost = np.bincount(segment[used], summands[used], n_segments).reshape(-1, weight.size)
    gain = np.zeros(cost.shape[0])
    for c, w in enumerate(weight):
        gain += np.maximum(cost[:, c] / w, 0.0)
    return gain
