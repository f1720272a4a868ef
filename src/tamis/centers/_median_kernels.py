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
# Values that are compared at once, and those that are tried before the common median is bisected.
_NEAR = 8
_STEPS = 32


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
def count_at_most(values, first, last, value):
    # Position after the last of the sorted values[first:last] that is <= value.
    while first < last:
        middle = (first + last) >> 1
        if values[middle] <= value:
            first = middle + 1
        else:
            last = middle
    return first


@compiled
def count_below(values, first, last, value):
    while first < last:
        middle = (first + last) >> 1
        if values[middle] < value:
            first = middle + 1
        else:
            last = middle
    return first


@compiled
def class_intervals(first, segments, halves, lower, beyond, close):
    # Positions of the lower median of each class, eq. (16), and after its upper median; whether a
    # tie is within rounding.
    values, starts = segments.values, segments.starts
    cumulated, cumulated_starts = segments.cumulated, segments.cumulated_starts
    weight, class_slack = halves.weight, halves.class_slack
    n_classes = weight.size
    for j in range(lower.shape[0]):
        near = False
        for c in range(n_classes):
            s = (first + j) * n_classes + c
            start, stop = starts[s], starts[s + 1]
            shift = cumulated_starts[s] - start
            total, slack = weight[c], class_slack[c]
            low, high = start, stop - 1
            while low < high:  # first position with cumulated weight >= one half
                middle = (low + high) >> 1
                if 2 * cumulated[middle + shift] >= total - slack:
                    high = middle
                else:
                    low = middle + 1
            near |= slack > 0 and 2 * cumulated[low + shift] <= total + slack
            after = low + 1
            if after < stop and values[after] == values[low]:
                after = count_at_most(values, after, stop, values[low])
            if after < stop and 2 * cumulated[after - 1 + shift] <= total + slack:
                after += 1
                if after < stop and values[after] == values[after - 1]:
                    after = count_at_most(values, after, stop, values[after - 1])
            lower[j, c], beyond[j, c] = low, after
        close[first + j] = near


@compiled
def common_intervals(first, segments, halves, lower, at, common, close):
    # Lower and upper end of the common median interval: the smallest value at which
    # sum_c share_c W_c(t) reaches `half`. It lies between the lowest and the highest of the
    # classes' lower medians, which are often close to each other. So the first steps go from value
    # to value. Then the positions that are still open, from `low` to `high`, are bisected in all
    # classes' sorted lists at once. `at`: positions after the last values <= the lower end.
    values, starts, below = segments.values, segments.starts, segments.below
    cumulated, cumulated_starts = segments.cumulated, segments.cumulated_starts
    share, half, slack = halves.share, halves.half, halves.slack
    n_classes = share.size
    low, high = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    ahead = np.empty(n_classes)
    for j in range(lower.shape[0]):
        s = (first + j) * n_classes
        end = at[j]
        lowest, highest = np.inf, -np.inf
        for c in range(n_classes):
            lowest = min(lowest, values[lower[j, c]])
            highest = max(highest, values[lower[j, c]])
        for c in range(n_classes):
            # Values near the median are compared without a branch.
            last, start = lower[j, c], starts[s + c]
            near = max(start, last - _NEAR)
            larger = 0
            for i in range(near, last):
                larger += values[np.uint64(i)] > lowest
            k = last - larger
            if k == near and start < near:
                k = count_at_most(values, start, near, lowest)
            low[c], ahead[c] = k, values[k]
        best, is_found = highest, False
        for _ in range(_STEPS):
            pivot = np.inf
            for c in range(n_classes):
                pivot = min(pivot, ahead[c])
            if pivot > highest:
                break
            reached = 0.0
            for c in range(n_classes):
                k = low[c] + (ahead[c] == pivot)
                low[c] = k
                ahead[c] = values[k] if k < starts[s + c + 1] else np.inf
                k -= starts[s + c]
                before = cumulated[cumulated_starts[s + c] + k - 1] if k > 0 else below[s + c]
                reached += share[c] * before
            if reached >= half - slack:
                best, is_found = pivot, True
                break
        if not is_found:
            for c in range(n_classes):
                high[c] = count_at_most(values, low[c], starts[s + c + 1], highest)
        while not is_found:
            widest = 0
            for c in range(1, n_classes):
                if high[c] - low[c] > high[widest] - low[widest]:
                    widest = c
            if high[widest] <= low[widest]:
                break
            pivot = values[(low[widest] + high[widest]) >> 1]
            reached = 0.0
            for c in range(n_classes):
                # Values before `low` are smaller than the pivot, values from `high` on larger.
                end[c] = count_at_most(values, low[c], high[c], pivot)
                k = end[c] - starts[s + c]
                before = cumulated[cumulated_starts[s + c] + k - 1] if k > 0 else below[s + c]
                reached += share[c] * before
            is_enough = reached >= half - slack
            best = pivot if is_enough else best
            for c in range(n_classes):
                if is_enough:
                    high[c] = count_below(values, low[c], end[c], pivot)
                else:
                    low[c] = end[c]
        reached, after = 0.0, np.inf
        for c in range(n_classes):
            k, last = low[c], starts[s + c + 1]
            if k < last and values[k] == best:
                k = count_at_most(values, k, last, best)
            end[c] = k
            if k < last:
                after = min(after, values[k])
            k -= starts[s + c]
            before = cumulated[cumulated_starts[s + c] + k - 1] if k > 0 else below[s + c]
            reached += share[c] * before
        is_tied = reached <= half + slack and after < np.inf
        common[first + j, 0], common[first + j, 1] = best, after if is_tied else best
        close[first + j] |= slack > 0 and abs(reached - half) <= slack


@compiled
def gains_of_columns(first, segments, weight, lower, beyond, at, common, gain):
    # Integrals of (2 W_c(t) - W_c) / W_c from the class's median interval to the common median.
    values, starts, below = segments.values, segments.starts, segments.below
    cumulated, cumulated_starts = segments.cumulated, segments.cumulated_starts
    n_classes = weight.size
    for j in range(lower.shape[0]):
        center = common[first + j, 0]
        sum_of_costs = 0.0
        for c in range(n_classes):
            s = (first + j) * n_classes + c
            total, low, high, middle = weight[c], lower[j, c], beyond[j, c], at[j, c]
            shift = cumulated_starts[s] - starts[s] - 1
            before = cumulated[middle + shift] if middle > starts[s] else below[s]
            cost = 0.0
            if center > values[high - 1]:
                for i in range(high, middle):
                    cost += (2 * cumulated[i + shift] - total) * (values[i] - values[i - 1])
                cost += (2 * before - total) * (center - values[middle - 1])
            elif center < values[low]:
                cost += (total - 2 * before) * (values[middle] - center)
                for i in range(middle + 1, low + 1):
                    cost += (total - 2 * cumulated[i + shift]) * (values[i] - values[i - 1])
            sum_of_costs += max(cost / total, 0.0)
        gain[first + j] = sum_of_costs


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
    # Block by block: a compiled function that receives an array counts one more reference to it,
    # which takes as long as the work on a column.
    values, starts, below = segments.values, segments.starts, segments.below
    cumulated, cumulated_starts = segments.cumulated, segments.cumulated_starts
    weight, class_slack, share = halves.weight, halves.class_slack, halves.share
    half, slack = halves.half, halves.slack
    median, common, gain, close = result.median, result.common, result.gain, result.close
    n_classes = weight.size
    for block in prange((gain.size + _COLUMNS - 1) // _COLUMNS):
        parts = Segments(values, starts, cumulated, cumulated_starts, below)
        rule = Halves(weight, class_slack, share, half, slack)
        first = block * _COLUMNS
        n_columns = min(_COLUMNS, gain.size - first)
        lower = np.empty((n_columns, n_classes), np.int64)
        beyond = np.empty((n_columns, n_classes), np.int64)
        at = np.empty((n_columns, n_classes), np.int64)
        class_intervals(first, parts, rule, lower, beyond, close)
        common_intervals(first, parts, rule, lower, at, common, close)
        gains_of_columns(first, parts, weight, lower, beyond, at, common, gain)
        for j in range(n_columns):
            for c in range(n_classes):
                ends = values[lower[j, c]], values[beyond[j, c] - 1]
                median[first + j, c] = 0.5 * ends[0] + 0.5 * ends[1]
