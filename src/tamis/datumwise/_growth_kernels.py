"""Compiled kernels that grow extremely randomised trees; see `_forest_kernels` for the nodes."""

from typing import NamedTuple

import numpy as np

from tamis._compile import compiled
from tamis.datumwise._forest_kernels import FEATURE, LEFT, MISSING_LEFT, SIZE, part_rows

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
    """Room to grow a tree.

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
    order : ndarray of int32 of shape (2 * n_rows,)
        Rows, sorted by node. The children of a node in one half have their rows in the other.
    starts, sizes : ndarray of int64 of shape (2 * n_rows,)
        Where in `order` the rows of each node start, and how many they are.
    has_cell : ndarray of bool of shape (2 * n_rows,)
        Whether the cells of the node's rows are known.
    of_class : ndarray of int64 of shape (2 * n_rows, n_classes)
        Rows of each class in each node.
    """

    pool: np.ndarray
    values: np.ndarray
    codes: np.ndarray
    part: np.ndarray
    lost: np.ndarray
    best: np.ndarray
    state: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    has_cell: np.ndarray
    of_class: np.ndarray


class _Table(NamedTuple):
    """The nodes of all trees."""

    nodes: np.ndarray
    threshold: np.ndarray
    shares: np.ndarray


class _Settings(NamedTuple):
    """Columns tried at a node; rows of the smallest node that is split, and is no cell."""

    n_tries: int
    smallest: int
    coarse: int


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
def _decrease(mass, whole, node, part):
    # Decrease of weight times Gini index when `part` is split off, up to a constant of the node.
    left, right, left_squares, right_squares = 0.0, 0.0, 0.0, 0.0
    for c in range(mass.size):
        one = part[c] * mass[c]
        rest = (whole[node, c] - part[c]) * mass[c]
        left += one
        right += rest
        left_squares += one * one
        right_squares += rest * rest
    gain = left_squares / left if left > 0 else 0.0
    return gain + (right_squares / right if right > 0 else 0.0)


@compiled
def _read_values(XT, column, order, begin, size, out):
    # Values of the rows of a node, side by side; the smallest, the largest, and the number
    # missing.
    low, high, n_missing = np.inf, -np.inf, 0
    for i in range(size):
        v = XT[np.uintp(column), np.uintp(order[np.uintp(begin + i)])]
        out[np.uintp(i)] = v
        n_missing += v != v
        low = v if v < low else low
        high = v if v > high else high
    return low, high, n_missing


@compiled
def _gain(values, codes, size, n_missing, cut, mass, whole, node, part, lost):
    # Decrease of impurity by a cut, and whether rows that lack the value are better on the left;
    # writes the rows of the first child to `part`.
    if mass.size == 2:
        n_left, n_second = 0, 0
        for i in range(size):
            goes = np.int32(values[np.uintp(i)] <= cut)
            n_left += goes
            n_second += goes & codes[np.uintp(i)]
        part[0], part[1] = n_left - n_second, n_second
    else:
        for c in range(mass.size):
            part[c] = 0
        for i in range(size):
            part[np.uintp(codes[i])] += values[i] <= cut
    gain = _decrease(mass, whole, node, part)
    if n_missing == 0:
        left, total = 0.0, 0.0
        for c in range(mass.size):
            left += part[c] * mass[c]
            total += whole[node, c] * mass[c]
        return gain, left >= 0.5 * total
    for c in range(lost.size):
        lost[c] = 0
    for i in range(size):
        lost[codes[i]] += values[i] != values[i]
    for c in range(part.size):
        part[c] += lost[c]
    other = _decrease(mass, whole, node, part)
    if other > gain and cut < _LARGEST:
        return other, True
    for c in range(part.size):
        part[c] -= lost[c]
    return max(gain, other), False


@compiled
def _write_shares(of_class, node, mass, shares, v):
    # Shares of the classes; returns how many there are.
    n_present, total = 0, np.float32(0.0)
    for c in range(mass.size):
        shares[v, c] = of_class[node, c] * mass[c]
        total += shares[v, c]
        n_present += of_class[node, c] > 0
    for c in range(mass.size):
        shares[v, c] /= total
    return n_present


@compiled
def _grow_tree(sample, table, work, base, settings, tree, cells):
    # Grow one tree, from node `base` of the table on; returns the number of its nodes. It is one
    # function because numba counts references wherever arrays go from one to another, and most
    # nodes have a few rows only: the arrays are named here, once for a tree.
    XT, codes, mass, rows = sample.XT, sample.codes, sample.class_mass, sample.rows
    nodes, threshold, shares = table.nodes, table.threshold, table.shares
    pool, state, values, labels = work.pool, work.state, work.values, work.codes
    part, lost, best = work.part, work.lost, work.best
    order, starts, sizes = work.order, work.starts, work.sizes
    has_cell, of_class = work.has_cell, work.of_class
    n_rows, n_classes = rows.size, mass.size
    n_tries, smallest, coarse = settings.n_tries, settings.smallest, settings.coarse
    for k in range(pool.size):
        pool[k] = sample.columns[k]
    starts[0], sizes[0] = 0, n_rows
    has_cell[0] = cells.size == 0
    for c in range(n_classes):
        of_class[0, c] = 0
    for i in range(n_rows):
        order[i] = rows[i]
        of_class[0, codes[rows[i]]] += 1
    used, node = 1, 0
    while node < used:
        begin, size, v = starts[node], sizes[node], base + node
        n_present = _write_shares(of_class, node, mass, shares, v)
        # The best of random cuts of random columns that are not constant in the node.
        best_gain, best_column, best_cut, best_missing = -1.0, -1, 0.0, False
        tried, left_over = 0, 0
        if n_present > 1 and size >= smallest:
            left_over = pool.size
            for i in range(size):
                labels[np.uintp(i)] = codes[np.uintp(order[np.uintp(begin + i)])]
        while tried < n_tries and left_over > 0:
            pick = _below(state, left_over)
            column = pool[pick]
            left_over -= 1
            pool[pick], pool[left_over] = pool[left_over], pool[pick]
            low, high, n_missing = _read_values(XT, column, order, begin, size, values)
            if low < high:
                u = _uniform(state)
                cut = low * (1.0 - u) + high * u
                if not low <= cut < high:
                    cut = low
            elif 0 < n_missing < size:
                cut = _LARGEST  # separates rows that have the value from rows that lack it
            else:
                continue
            tried += 1
            gain, missing_left = _gain(
                values, labels, size, n_missing, cut, mass, of_class, node, part, lost
            )
            if gain > best_gain:
                best_gain, best_column, best_cut, best_missing = gain, column, cut, missing_left
                for c in range(n_classes):
                    best[c] = part[c]
        if not has_cell[node] and (best_column < 0 or size < coarse):
            for i in range(begin, begin + size):
                cells[order[i], tree] = v
            has_cell[node] = True
        nodes[v, FEATURE], nodes[v, SIZE] = best_column, size
        nodes[v, LEFT], nodes[v, MISSING_LEFT] = -1, best_missing
        threshold[v] = best_cut
        if best_column >= 0:
            target = begin + n_rows if begin < n_rows else begin - n_rows
            n_left = part_rows(XT, best_column, order, begin, target, size, best_cut, best_missing)
            nodes[v, LEFT] = base + used
            starts[used], sizes[used] = target, n_left
            starts[used + 1], sizes[used + 1] = target + n_left, size - n_left
            has_cell[used] = has_cell[used + 1] = has_cell[node]
            for c in range(n_classes):
                of_class[used, c] = best[c]
                of_class[used + 1, c] = of_class[node, c] - best[c]
            used += 2
        node += 1
    return used


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
    n_rows, n_classes = sample.rows.size, sample.class_mass.size
    capacity = 2 * n_rows * n_trees
    offsets = np.zeros(n_trees + 1, np.int64)
    table = _Table(
        np.empty((capacity, 4), np.int32),
        np.empty(capacity),
        np.empty((capacity, n_classes), np.float32),
    )
    work = _Work(
        np.empty(sample.columns.size, np.int64),
        np.empty(n_rows),
        np.empty(n_rows, np.int32),
        np.empty(n_classes, np.int64),
        np.empty(n_classes, np.int64),
        np.empty(n_classes, np.int64),
        np.zeros(1, np.uint64),
        np.empty(2 * n_rows, np.int32),
        np.empty(2 * n_rows, np.int64),
        np.empty(2 * n_rows, np.int64),
        np.zeros(2 * n_rows, np.bool_),
        np.empty((2 * n_rows, n_classes), np.int64),
    )
    settings = _Settings(n_tries, smallest, coarse)
    for t in range(n_trees):
        work.state[0] = np.uint64(seed) * np.uint64(0x2545F4914F6CDD1D) + np.uint64(t)
        used = _grow_tree(sample, table, work, offsets[t], settings, t, cells)
        offsets[t + 1] = offsets[t] + used
    end = offsets[n_trees]
    return (
        offsets,
        table.nodes[:end].copy(),
        table.threshold[:end].copy(),
        table.shares[:end].copy(),
    )
