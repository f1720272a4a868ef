"""Compiled kernels that grow extremely randomised trees; see `_forest_kernels` for the nodes."""

from typing import NamedTuple

import numpy as np

from tamis._compile import compiled
from tamis.datumwise._forest_kernels import FEATURE, LEFT, MISSING_LEFT, SIZE

__all__ = ["Sample", "grow_forest"]

_LARGEST = np.finfo(np.float64).max


class Sample(NamedTuple):
    """What trees are grown on.

    Attributes
    ----------
    XT : ndarray of shape (n_features, n_samples)
        Features in rows; NaN where a value is missing.
    codes : ndarray of int64 of shape (n_samples,)
        Classes.
    class_mass : ndarray of shape (n_classes,)
        Weight of a sample of each class.
    rows : ndarray of int64
        Training rows.
    columns : ndarray of int64
        Features that may be split.
    """

    XT: np.ndarray
    codes: np.ndarray
    class_mass: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


@compiled
def _mix(state):
    # splitmix64: a counter, thoroughly mixed; equal seeds give equal trees on every machine.
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled
def _uniform(state):
    return np.float64(_mix(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def _below(state, n):
    return np.int64(_uniform(state) * n)


@compiled
def _decrease(mass, whole, part):
    # Decrease of weight times Gini index when `part` is split off, up to a constant of the node.
    left, right, left_squares, right_squares = 0.0, 0.0, 0.0, 0.0
    for c in range(mass.size):
        one = part[c] * mass[c]
        rest = (whole[c] - part[c]) * mass[c]
        left += one
        right += rest
        left_squares += one * one
        right_squares += rest * rest
    gain = left_squares / left if left > 0 else 0.0
    return gain + (right_squares / right if right > 0 else 0.0)


@compiled
def _read_values(values, order, begin, end, out):
    # Values of the rows of a node, side by side; the smallest and largest, and how many lack one.
    low, high, n_missing = np.inf, -np.inf, 0
    for i in range(begin, end):
        v = values[np.uintp(order[i])]
        out[i - begin] = v
        n_missing += v != v
        low = v if v < low else low
        high = v if v > high else high
    return low, high, n_missing


@compiled
def _gain(values, codes, begin, end, n_missing, cut, mass, whole, part, lost):
    # Decrease of impurity by a cut, and whether rows that lack the value are better on the left.
    part[:] = 0
    if mass.size == 2:
        n_left, n_second = 0, 0
        for i in range(end - begin):
            goes = np.int64(values[i] <= cut)
            n_left += goes
            n_second += goes & codes[begin + i]
        part[0], part[1] = n_left - n_second, n_second
    else:
        for i in range(end - begin):
            part[codes[begin + i]] += values[i] <= cut
    gain = _decrease(mass, whole, part)
    if n_missing == 0:
        left, total = 0.0, 0.0
        for c in range(mass.size):
            left += part[c] * mass[c]
            total += whole[c] * mass[c]
        return gain, left >= 0.5 * total
    lost[:] = 0
    for i in range(end - begin):
        lost[codes[begin + i]] += values[i] != values[i]
    for c in range(part.size):
        part[c] += lost[c]
    other = _decrease(mass, whole, part)
    return (other, True) if other > gain else (gain, False)


@compiled
def _best_split(XT, mass, order, codes, begin, end, whole, pool, n_tries, state, work, buffer):
    # The best of random cuts of `n_tries` random columns that are not constant in the node.
    best_gain, best = -1.0, (-1, 0.0, False)
    tried, left_over = 0, pool.size
    while tried < n_tries and left_over > 0:
        pick = _below(state, left_over)
        column = pool[pick]
        left_over -= 1
        pool[pick], pool[left_over] = pool[left_over], pool[pick]
        low, high, n_missing = _read_values(XT[column], order, begin, end, buffer)
        if low < high:
            u = _uniform(state)
            cut = low * (1.0 - u) + high * u
            if not low <= cut < high:
                cut = low
        elif 0 < n_missing < end - begin:
            cut = _LARGEST  # rows that have the value from rows that lack it
        else:
            continue
        tried += 1
        gain, missing_left = _gain(
            buffer, codes, begin, end, n_missing, cut, mass, whole, work[0], work[1]
        )
        if gain > best_gain:
            best_gain, best = gain, (column, cut, missing_left and low < high)
    return best


@compiled
def _part_rows(values, order, codes, begin, end, cut, missing_left, counts):
    # Rows of the left child first; counts their classes, and returns where the others begin.
    counts[:] = 0
    i, j = begin, end - 1
    while i <= j:
        row, code = order[i], codes[i]
        v = values[np.uintp(row)]
        if v <= cut or (missing_left and v != v):
            counts[code] += 1
            i += 1
        else:
            order[i], codes[i] = order[j], codes[j]
            order[j], codes[j] = row, code
            j -= 1
    return i


@compiled
def grow_forest(sample, n_trees, n_tries, smallest, seed, coarse, cells):
    """Grow extremely randomised trees until nodes are pure, constant or small.

    Parameters
    ----------
    sample : Sample
        What to grow on.
    n_trees, n_tries : int
        Number of trees; number of columns, not constant, tried at every node.
    smallest : int
        Nodes with fewer rows are not split.
    seed : int
        Seed; tree t of equal seeds is the same.
    coarse : int
        See `cells`.
    cells : ndarray of int32 of shape (n_samples, n_trees) or (0, 0)
        Written, unless it is empty: the node in which each training row ends when nodes with
        fewer than `coarse` rows are leaves.

    Returns
    -------
    offsets, nodes, threshold, counts
        The table of nodes; the nodes of tree t are ``offsets[t]`` to ``offsets[t + 1]``.
    """
    XT, mass, rows = sample.XT, sample.class_mass, sample.rows
    n_rows, n_classes = rows.size, mass.size
    capacity = 2 * n_rows * n_trees
    offsets = np.zeros(n_trees + 1, np.int64)
    nodes = np.empty((capacity, 4), np.int32)
    threshold = np.empty(capacity)
    counts = np.empty((capacity, n_classes), np.float32)
    state = np.zeros(1, np.uint64)
    order, codes = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    starts, ends = np.empty(2 * n_rows, np.int64), np.empty(2 * n_rows, np.int64)
    has_cell = np.zeros(2 * n_rows, np.bool_)
    of_class, work = (
        np.empty((2 * n_rows, n_classes), np.int64),
        np.empty((2, n_classes), np.int64),
    )
    buffer = np.empty(n_rows)
    base = 0
    for tree in range(n_trees):
        state[0] = np.uint64(seed) * np.uint64(0x2545F4914F6CDD1D) + np.uint64(tree)
        offsets[tree] = base
        for i in range(n_rows):
            order[i] = rows[i]
            codes[i] = sample.codes[rows[i]]
        pool = sample.columns.copy()
        starts[0], ends[0] = 0, n_rows
        has_cell[0] = cells.size == 0
        of_class[0] = 0
        for i in range(n_rows):
            of_class[0, codes[i]] += 1
        used, node = 1, 0
        while node < used:
            begin, end, here, whole = starts[node], ends[node], base + node, of_class[node]
            n_present = 0
            for c in range(n_classes):
                counts[here, c] = whole[c] * mass[c]
                n_present += whole[c] > 0
            column, cut, goes_left = -1, 0.0, False
            if n_present > 1 and end - begin >= smallest:
                column, cut, goes_left = _best_split(
                    XT, mass, order, codes, begin, end, whole, pool, n_tries, state, work, buffer
                )
            if not has_cell[node] and (column < 0 or end - begin < coarse):
                for i in range(begin, end):
                    cells[order[i], tree] = here
                has_cell[node] = True
            nodes[here, FEATURE], nodes[here, SIZE] = column, end - begin
            nodes[here, LEFT], nodes[here, MISSING_LEFT] = -1, goes_left
            threshold[here] = cut
            if column >= 0:
                middle = _part_rows(
                    XT[column], order, codes, begin, end, cut, goes_left, of_class[used]
                )
                of_class[used + 1] = whole - of_class[used]
                nodes[here, LEFT] = base + used
                starts[used], ends[used] = begin, middle
                starts[used + 1], ends[used + 1] = middle, end
                has_cell[used] = has_cell[used + 1] = has_cell[node]
                used += 2
            node += 1
        base += used
    offsets[n_trees] = base
    return offsets, nodes[:base].copy(), threshold[:base].copy(), counts[:base].copy()
