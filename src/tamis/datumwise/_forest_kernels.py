"""Compiled kernels of the forests: finding cells, and means over them.

A forest is one table of nodes, tree after tree. Row `v` of ``nodes`` has the column that node `v`
splits (-1 for a leaf), the first of its two children (the other one comes next), the number of its
training rows, and whether rows that lack the column go to the first child; ``threshold[v]`` is the
largest value that goes there. ``counts[v]`` holds the weight of each class in the node, so that
any node can serve as a leaf.
"""

from typing import NamedTuple

import numpy as np

from tamis._compile import compiled

__all__ = [
    "FEATURE",
    "LEFT",
    "MISSING_LEFT",
    "SIZE",
    "Trees",
    "cell_means",
    "find_cells",
    "local_means",
    "mean_rows",
    "mean_shares",
    "node_gains",
    "path_gains",
]

# Columns of `nodes`.
FEATURE, LEFT, SIZE, MISSING_LEFT = 0, 1, 2, 3
# Rows that go down a tree together.
_SIDE_BY_SIDE = 16


class Trees(NamedTuple):
    """What is needed to go down: first node of every tree, nodes, thresholds."""

    offsets: np.ndarray
    nodes: np.ndarray
    threshold: np.ndarray


@compiled
def _child(trees, v, value):
    # The next node on the way of a row with this value.
    if value != value:
        return trees.nodes[v, LEFT] + 1 - trees.nodes[v, MISSING_LEFT]
    return trees.nodes[v, LEFT] + np.int32(value > trees.threshold[v])


@compiled
def _descend(XT, rows, begin, count, trees, smallest, at):
    # Some rows go down a tree side by side, from the nodes `at`, until each is in a leaf or in a
    # node of fewer than `smallest` rows. Without branches, and with many rows on their way, the
    # processor need not wait for one row's node before it fetches the next row's.
    nodes, threshold = trees.nodes, trees.threshold
    n_moving = count
    while n_moving > 0:
        n_moving = 0
        for j in range(count):
            node = at[j]
            v = np.uintp(node)  # unsigned: no test for indices that count from the end
            column = nodes[v, FEATURE]
            moves = np.int64((column >= 0) & (nodes[v, SIZE] >= smallest))
            value = XT[np.uintp(max(column, 0)), np.uintp(rows[begin + j])]
            right = np.int64(value > threshold[v])
            right |= np.int64(value != value) & (1 - nodes[v, MISSING_LEFT])
            at[j] = node + moves * (nodes[v, LEFT] + right - node)
            n_moving += moves


@compiled
def find_cells(XT, rows, trees, smallest, cells):
    """Node of every tree in which each row ends, at several resolutions.

    Parameters
    ----------
    smallest : ndarray of int64 of shape (n_resolutions,), ascending
        At resolution r nodes with fewer than ``smallest[r]`` rows are leaves.
    cells : ndarray of int32 of shape (n_resolutions, n_rows, n_trees)
        Written: the nodes.
    """
    at = np.empty(_SIDE_BY_SIDE, np.int64)
    for t in range(trees.offsets.size - 1):
        for begin in range(0, rows.size, _SIDE_BY_SIDE):
            count = min(_SIDE_BY_SIDE, rows.size - begin)
            at[:] = trees.offsets[t]
            for r in range(smallest.size - 1, -1, -1):
                _descend(XT, rows, begin, count, trees, smallest[r], at)
                for j in range(count):
                    cells[r, begin + j, t] = at[j]


@compiled
def mean_shares(XT, rows, trees, table, coarse, cells):
    """Mean over the trees of the table's rows of the leaves: (n_rows, n_values).

    Parameters
    ----------
    coarse : int
        See `cells`.
    cells : ndarray of int32 of shape (n_rows, n_trees) or (0, 0)
        Written, unless it is empty: the node in which each row ends when nodes with fewer than
        `coarse` rows are leaves.
    """
    n_trees = trees.offsets.size - 1
    means = np.zeros((rows.size, table.shape[1]))
    at = np.empty(_SIDE_BY_SIDE, np.int64)
    for t in range(n_trees):
        for begin in range(0, rows.size, _SIDE_BY_SIDE):
            count = min(_SIDE_BY_SIDE, rows.size - begin)
            at[:] = trees.offsets[t]
            if cells.size > 0:
                _descend(XT, rows, begin, count, trees, coarse, at)
                for j in range(count):
                    cells[begin + j, t] = at[j]
            _descend(XT, rows, begin, count, trees, 0, at)
            for j in range(count):
                for c in range(table.shape[1]):
                    means[begin + j, c] += table[at[j], c]
    for k in range(rows.size):
        for c in range(table.shape[1]):
            means[k, c] /= n_trees
    return means


@compiled
def mean_rows(cells, table):
    """Mean over the trees of the table's rows of the cells."""
    n_rows, n_trees = cells.shape
    means = np.zeros((n_rows, table.shape[1]))
    for r in range(n_rows):
        for t in range(n_trees):
            cell = cells[r, t]
            for k in range(table.shape[1]):
                means[r, k] += table[cell, k]
        for k in range(table.shape[1]):
            means[r, k] /= n_trees
    return means


@compiled
def cell_means(cells, values, n_cells):
    """Mean in every cell of the values of the rows that end there: (n_cells, n_values)."""
    n_rows, n_trees = cells.shape
    n_values = values.shape[1]
    means = np.zeros((n_cells, n_values))
    weight = np.zeros(n_cells)
    for r in range(n_rows):
        for t in range(n_trees):
            cell = cells[r, t]
            weight[cell] += 1.0
            for k in range(n_values):
                means[cell, k] += values[r, k]
    for cell in range(n_cells):
        if weight[cell] > 0:
            for k in range(n_values):
                means[cell, k] /= weight[cell]
    return means


@compiled
def local_means(values, rows, cells, others, other_cells, shares, means):
    """Mean over the trees of the mean value of the training rows in each other row's cells.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_values)
    rows, others : ndarray of int64
        Training rows and the other rows.
    cells, other_cells : ndarray of int32 of shape (n_rows, n_trees)
        Their cells.
    shares : ndarray of shape (n_cells,)
        One over the number of training rows in every cell.
    means : ndarray of shape (n_samples, n_values)
        Written for the other rows.
    """
    n_values, n_trees = values.shape[1], cells.shape[1]
    table = np.zeros((shares.size, n_values))
    for r in range(rows.size):
        for t in range(n_trees):
            cell = cells[r, t]
            for k in range(n_values):
                table[cell, k] += values[rows[r], k]
    for cell in range(shares.size):
        for k in range(n_values):
            table[cell, k] *= shares[cell]
    for r in range(others.size):
        row = others[r]
        for k in range(n_values):
            means[row, k] = 0.0
        for t in range(n_trees):
            cell = other_cells[r, t]
            for k in range(n_values):
                means[row, k] += table[cell, k]
        for k in range(n_values):
            means[row, k] /= n_trees


@compiled
def _gini_indices(shares):
    gini = np.ones(shares.shape[0])
    for v in range(shares.shape[0]):
        for c in range(shares.shape[1]):
            gini[v] -= shares[v, c] * shares[v, c]
    return gini


@compiled
def path_gains(XT, trees, masses, shares):
    """How much each feature clears up the class of each row on its way down the trees.

    Parameters
    ----------
    masses : ndarray of shape (n_nodes,)
        Weight of the rows of every node.

    Returns
    -------
    gains : ndarray of shape (n_samples, n_features)
        Sum over the nodes on the way of the decrease of the Gini index; mean over the trees.
    """
    n_features, n_samples = XT.shape
    gini = _gini_indices(shares)
    gains = np.zeros((n_samples, n_features))
    nodes, n_trees = trees.nodes, trees.offsets.size - 1
    decrease = np.zeros(gini.size)
    for v in range(gini.size):
        if nodes[v, FEATURE] >= 0:
            child = nodes[v, LEFT]
            below = masses[child] * gini[child] + masses[child + 1] * gini[child + 1]
            decrease[v] = (gini[v] - below / masses[v]) / n_trees
    for t in range(n_trees):
        for row in range(n_samples):
            v = trees.offsets[t]
            while nodes[v, FEATURE] >= 0:
                gains[row, nodes[v, FEATURE]] += decrease[v]
                v = _child(trees, v, XT[nodes[v, FEATURE], row])
    return gains


@compiled
def node_gains(nodes, masses, shares, n_features):
    """Total decrease of the Gini index by the splits of each feature: (n_features,)."""
    gini = _gini_indices(shares)
    gains = np.zeros(n_features)
    for v in range(gini.size):
        if nodes[v, FEATURE] >= 0:
            child = nodes[v, LEFT]
            below = masses[child] * gini[child] + masses[child + 1] * gini[child + 1]
            gains[nodes[v, FEATURE]] += masses[v] * gini[v] - below
    return gains
