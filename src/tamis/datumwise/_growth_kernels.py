"""Compiled kernels that grow extremely randomised trees; see `_descent_kernels` for the nodes."""

from typing import NamedTuple

import numpy as np

from tamis._compile import compiled
from tamis.datumwise._descent_kernels import FEATURE, LEFT, MISSING_LEFT, SIZE, part_rows

__all__ = ["Sample", "grow_forest"]

_LARGEST = np.finfo(np.float64).max


class Sample(NamedTuple):
    """The training data of trees.

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


class _Work(NamedTuple):
    """Room for the search for a split.

    Attributes
    ----------
    pool : ndarray of int64
        Columns, in random order.
    values, codes : ndarray of shape (n_rows,)
        Values of one column, and classes, of the rows of a node.
    part, lost, best : ndarray of int64 of shape (n_classes,)
        Rows of each class: of the first child, without a value, of the best first child.
    state : ndarray of uint64 of shape (1,)
        Random state.
    """

    pool: np.ndarray
    values: np.ndarray
    codes: np.ndarray
    part: np.ndarray
    lost: np.ndarray
    best: np.ndarray
    state: np.ndarray


@compiled
def _mix(state):
    # splitmix64: a well-mixed counter; equal seeds give equal trees on every machine.
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
    # Values of the rows of a node, side by side; the smallest, the largest, and the number
    # missing. Four of each, so that a comparison need not wait for the one before.
    low, high, n_missing = np.inf, -np.inf, 0
    low1, low2, low3, high1, high2, high3 = low, low, low, high, high, high
    size = end - begin
    for i in range(size):
        v = values[np.uintp(order[np.uintp(begin + i)])]
        out[np.uintp(i)] = v
        n_missing += v != v
    whole = size - size % 4
    for i in range(0, whole, 4):
        v, v1 = out[np.uintp(i)], out[np.uintp(i + 1)]
        v2, v3 = out[np.uintp(i + 2)], out[np.uintp(i + 3)]
        low = v if v < low else low
        high = v if v > high else high
        low1 = v1 if v1 < low1 else low1
        high1 = v1 if v1 > high1 else high1
        low2 = v2 if v2 < low2 else low2
        high2 = v2 if v2 > high2 else high2
        low3 = v3 if v3 < low3 else low3
        high3 = v3 if v3 > high3 else high3
    for i in range(whole, size):
        v = out[np.uintp(i)]
        low = v if v < low else low
        high = v if v > high else high
    return (
        min(min(low, low1), min(low2, low3)),
        max(max(high, high1), max(high2, high3)),
        n_missing,
    )


@compiled
def _gain(size, n_missing, cut, mass, whole, work):
    # Decrease of impurity by a cut, and whether rows that lack the value are better on the left;
    # writes the rows of the first child to `work.part`.
    values, codes, part, lost = work.values, work.codes, work.part, work.lost
    if mass.size == 2:
        n_left, n_second = 0, 0
        for i in range(size):
            goes = np.int64(values[i] <= cut)
            n_left += goes
            n_second += goes & codes[i]
        part[0], part[1] = n_left - n_second, n_second
    else:
        part[:] = 0
        for i in range(size):
            part[np.uintp(codes[i])] += values[i] <= cut
    gain = _decrease(mass, whole, part)
    if n_missing == 0:
        left, total = 0.0, 0.0
        for c in range(mass.size):
            left += part[c] * mass[c]
            total += whole[c] * mass[c]
        return gain, left >= 0.5 * total
    lost[:] = 0
    for i in range(size):
        lost[codes[i]] += values[i] != values[i]
    for c in range(part.size):
        part[c] += lost[c]
    other = _decrease(mass, whole, part)
    if other > gain and cut < _LARGEST:
        return other, True
    for c in range(part.size):
        part[c] -= lost[c]
    return max(gain, other), False


@compiled
def _best_split(sample, order, begin, end, whole, n_tries, work):
    # The best of random cuts of `n_tries` random columns that are not constant in the node;
    # writes the rows of the first child to `work.best`.
    pool, codes = work.pool, sample.codes
    for i in range(begin, end):
        work.codes[i - begin] = codes[np.uintp(order[i])]
    best_gain, best = -1.0, (-1, 0.0, False)
    tried, left_over = 0, pool.size
    while tried < n_tries and left_over > 0:
        pick = _below(work.state, left_over)
        column = pool[pick]
        left_over -= 1
        pool[pick], pool[left_over] = pool[left_over], pool[pick]
        low, high, n_missing = _read_values(sample.XT[column], order, begin, end, work.values)
        if low < high:
            u = _uniform(work.state)
            cut = low * (1.0 - u) + high * u
            if not low <= cut < high:
                cut = low
        elif 0 < n_missing < end - begin:
            cut = _LARGEST  # separates rows that have the value from rows that lack it
        else:
            continue
        tried += 1
        gain, missing_left = _gain(end - begin, n_missing, cut, sample.class_mass, whole, work)
        if gain > best_gain:
            best_gain, best = gain, (column, cut, missing_left)
            for c in range(whole.size):
                work.best[c] = work.part[c]
    return best


@compiled
def _write_shares(of_class, mass, shares):
    # Shares of the classes; returns how many there are.
    n_present, total = 0, np.float32(0.0)
    for c in range(mass.size):
        shares[c] = of_class[c] * mass[c]
        total += shares[c]
        n_present += of_class[c] > 0
    for c in range(mass.size):
        shares[c] /= total
    return n_present


@compiled
def grow_forest(sample, n_trees, n_tries, smallest, seed, coarse, cells):
    """Grow extremely randomised trees until nodes are pure, constant or small.

    Parameters
    ----------
    sample : Sample
        Training data.
    n_trees, n_tries : int
        Number of trees; number of columns, not constant, tried at each node.
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
    offsets, nodes, threshold, shares
        The table of nodes; the nodes of tree t are ``offsets[t]`` to ``offsets[t + 1]``. The
        shares are those of the classes in each node, so that any node can serve as a leaf.
    """
    XT, mass, rows = sample.XT, sample.class_mass, sample.rows
    n_rows, n_classes = rows.size, mass.size
    capacity = 2 * n_rows * n_trees
    offsets = np.zeros(n_trees + 1, np.int64)
    nodes = np.empty((capacity, 4), np.int32)
    threshold = np.empty(capacity)
    shares = np.empty((capacity, n_classes), np.float32)
    # Rows sorted by node. The children of a node whose rows are in one have theirs in the other.
    here, there = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    starts, ends = np.empty(2 * n_rows, np.int64), np.empty(2 * n_rows, np.int64)
    has_cell, is_there = np.zeros(2 * n_rows, np.bool_), np.zeros(2 * n_rows, np.bool_)
    of_class = np.empty((2 * n_rows, n_classes), np.int64)
    work = _Work(
        sample.columns.copy(),
        np.empty(n_rows),
        np.empty(n_rows, np.int32),
        np.empty(n_classes, np.int64),
        np.empty(n_classes, np.int64),
        np.empty(n_classes, np.int64),
        np.zeros(1, np.uint64),
    )
    base = 0
    for tree in range(n_trees):
        work.state[0] = np.uint64(seed) * np.uint64(0x2545F4914F6CDD1D) + np.uint64(tree)
        work.pool[:] = sample.columns
        offsets[tree] = base
        starts[0], ends[0] = 0, n_rows
        has_cell[0] = cells.size == 0
        of_class[0] = 0
        for i in range(n_rows):
            here[i] = rows[i]
            of_class[0, sample.codes[rows[i]]] += 1
        used, node = 1, 0
        while node < used:
            begin, end, v, whole = starts[node], ends[node], base + node, of_class[node]
            n_present = _write_shares(whole, mass, shares[v])
            order, other = (there, here) if is_there[node] else (here, there)
            column, cut, goes_left = -1, 0.0, False
            if n_present > 1 and end - begin >= smallest:
                column, cut, goes_left = _best_split(
                    sample, order, begin, end, whole, n_tries, work
                )
            if not has_cell[node] and (column < 0 or end - begin < coarse):
                for i in range(begin, end):
                    cells[order[i], tree] = v
                has_cell[node] = True
            nodes[v, FEATURE], nodes[v, SIZE] = column, end - begin
            nodes[v, LEFT], nodes[v, MISSING_LEFT] = -1, goes_left
            threshold[v] = cut
            if column >= 0:
                nodes[v, LEFT] = base + used
                starts[used], ends[used + 1] = begin, end
                middle = part_rows(XT[column], order, other, begin, end, cut, goes_left)
                ends[used] = starts[used + 1] = middle
                for c in range(n_classes):
                    of_class[used, c] = work.best[c]
                    of_class[used + 1, c] = whole[c] - work.best[c]
                has_cell[used] = has_cell[used + 1] = has_cell[node]
                is_there[used] = is_there[used + 1] = not is_there[node]
                used += 2
            node += 1
        base += used
    offsets[n_trees] = base
    return offsets, nodes[:base].copy(), threshold[:base].copy(), shares[:base].copy()
