"""Compiled parts of `tamis.centers.segments`: medians and costs of sorted segments.

Named tuples are unpacked before the threaded loops, because numba passes single arrays to its
threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis._compile import compiled, prange, twins

_COLUMNS = 64


class Segments(NamedTuple):
    """Sorted values of each (column, class), one segment after the other."""

    values: NDArray  # values of all segments
    starts: NDArray  # (n_segments + 1,): where segments begin in `values`
    cumulated: NDArray  # cumulated weights
    cumulated_starts: NDArray  # where segments begin in `cumulated`
    # (n_segments,): weight of the values to the left of the segment, which are not in it.
    below: NDArray


class Halves(NamedTuple):
    """How cumulated weights are compared with one half: see `tamis.centers.segments.TieRule`."""

    # weight, class_slack: (n_classes,): total weight of each class, and the slack within which a
    # sum counts as one half.
    weight: NDArray
    class_slack: NDArray
    share: NDArray  # (n_classes,): factors that give the classes the same total weight
    # half, slack: the same comparison for all classes together.
    half: float
    slack: float


class ColumnMedians(NamedTuple):
    """Results for a block of columns."""

    median: NDArray  # (n_columns, n_classes): class medians
    common: NDArray  # (n_columns, 2): lower and upper end of the common median interval
    gain: NDArray  # (n_columns,)
    close: NDArray  # (n_columns,): whether a tie is within rounding


@compiled
def count_at_most(values, value):
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
def count_below(values, value):
    low, high = 0, values.size
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def class_interval(values, cumulated, total, slack):
    # Lower and upper median of one class, eq. (16), and whether a tie is within rounding.
    low, high = 0, values.size - 1
    while low < high:  # first position with cumulated weight >= one half
        middle = (low + high) >> 1
        if 2 * cumulated[middle] >= total - slack:
            high = middle
        else:
            low = middle + 1
    lower = values[low]
    close = slack > 0 and 2 * cumulated[low] <= total + slack
    after = count_at_most(values, lower)
    if after < values.size and 2 * cumulated[after - 1] <= total + slack:
        return lower, values[after], close
    return lower, lower, close


@compiled
def class_cost(values, cumulated, below, total, lower, upper, common):
    # Integral of (2 W(t) - W) / W from the class's median interval to the common median.
    cost = 0.0
    if common > upper:
        i = count_at_most(values, upper) - 1
        here = upper
        while here < common:
            following = common
            if i + 1 < values.size and values[i + 1] < common:
                following = values[i + 1]
            cost += (2 * cumulated[i] - total) * (following - here)
            here = following
            i += 1
    elif common < lower:
        i = count_at_most(values, common)  # first position above the common median
        here = common
        while here < lower:
            reached = cumulated[i - 1] if i > 0 else below
            cost += (total - 2 * reached) * (values[i] - here)
            here = values[i]
            i += 1
    return max(cost / total, 0.0)


@compiled
def common_interval(j, segments, halves, lowest, highest, low, high, end):
    # Lower and upper end of the common median interval: the smallest value at which
    # sum_c share_c W_c(t) reaches `half`, by bisection in all classes' sorted lists at once. It
    # lies between the lowest and the highest of the classes' lower medians. `low` and `high`
    # hold the positions that are still open, `end` those after the pivot.
    values, starts, below = segments.values, segments.starts, segments.below
    cumulated, cumulated_starts = segments.cumulated, segments.cumulated_starts
    share, half, slack = halves.share, halves.half, halves.slack
    n_classes = share.size
    for c in range(n_classes):
        s = j * n_classes + c
        segment = values[starts[s] : starts[s + 1]]
        low[c] = count_below(segment, lowest)
        high[c] = count_at_most(segment, highest)
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
            # Values before `low` are smaller than the pivot, values from `high` on larger.
            here = starts[s]
            k = low[c] + count_at_most(values[here + low[c] : here + high[c]], pivot)
            end[c] = k
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
            if enough:
                here = starts[j * n_classes + c]
                high[c] = low[c] + count_below(values[here + low[c] : here + end[c]], pivot)
            else:
                low[c] = end[c]
    upper = best
    if best_reached <= half + slack:
        upper = np.inf
        for c in range(n_classes):
            s = j * n_classes + c
            segment = values[starts[s] : starts[s + 1]]
            k = count_at_most(segment, best)
            if k < segment.size:
                upper = min(upper, segment[k])
        if upper == np.inf:
            upper = best
    return best, upper, close


@compiled
def gain_of_column(j, segments, weight, lower, upper):
    # From the median intervals of the classes, and last that of all classes together.
    values, starts, below = segments.values, segments.starts, segments.below
    cumulated, cumulated_starts = segments.cumulated, segments.cumulated_starts
    gain = 0.0
    for c in range(weight.size):
        s = j * weight.size + c
        v = values[starts[s] : starts[s + 1]]
        w = cumulated[cumulated_starts[s] : cumulated_starts[s] + v.size]
        gain += class_cost(v, w, below[s], weight[c], lower[c], upper[c], lower[weight.size])
    return gain


@compiled
def sum_of_deviations(values, center):
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
def absolute_deviations(values, starts, sums):
    # Of sorted segments, from their medians.
    for s in prange(sums.size):
        v = values[starts[s] : starts[s + 1]]
        center = 0.5 * v[(v.size - 1) // 2] + 0.5 * v[v.size // 2]
        sums[s] = sum_of_deviations(v, center)


@twins
def count_windows(block, bounds, window, below, size, sums):
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
            sums[s] = sum_of_deviations(v, center)


@twins
def copy_windows(block, bounds, window, starts, values):
    n_classes = bounds.size - 1
    for j in prange(block.shape[0]):
        lowest, highest = window[j, 0], window[j, 1]
        for c in range(n_classes):
            place = starts[j * n_classes + c]
            for i in range(bounds[c], bounds[c + 1]):
                v = block[j, i]
                if lowest <= v <= highest:
                    values[place] = v
                    place += 1


@twins
def medians_of_segments(segments, halves, result):
    values, starts, below = segments.values, segments.starts, segments.below
    cumulated, cumulated_starts = segments.cumulated, segments.cumulated_starts
    weight, class_slack, share = halves.weight, halves.class_slack, halves.share
    half, slack = halves.half, halves.slack
    median, common, gain, close = result.median, result.common, result.gain, result.close
    n_classes = weight.size
    for block in prange((gain.size + _COLUMNS - 1) // _COLUMNS):
        parts = Segments(values, starts, cumulated, cumulated_starts, below)
        rule = Halves(weight, class_slack, share, half, slack)
        low = np.empty(n_classes, np.int64)
        high = np.empty(n_classes, np.int64)
        end = np.empty(n_classes, np.int64)
        lower = np.empty(n_classes + 1)
        upper = np.empty(n_classes + 1)
        for j in range(block * _COLUMNS, min((block + 1) * _COLUMNS, gain.size)):
            lowest, highest = np.inf, -np.inf
            near = False
            for c in range(n_classes):
                s = j * n_classes + c
                v = values[starts[s] : starts[s + 1]]
                w = cumulated[cumulated_starts[s] : cumulated_starts[s] + v.size]
                lower[c], upper[c], tied = class_interval(v, w, weight[c], class_slack[c])
                near |= tied
                lowest, highest = min(lowest, lower[c]), max(highest, lower[c])
                median[j, c] = 0.5 * lower[c] + 0.5 * upper[c]
            common[j, 0], common[j, 1], close[j] = common_interval(
                j, parts, rule, lowest, highest, low, high, end
            )
            close[j] |= near
            lower[n_classes] = common[j, 0]
            gain[j] = gain_of_column(j, parts, weight, lower, upper)
