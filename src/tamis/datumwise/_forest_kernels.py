"""Compiled kernels of the forests: rows go down the trees, and means over where they end.

A forest is one table of nodes, tree after tree. Row `v` of ``nodes`` has the column that node `v`
splits (-1 for a leaf), the first of its two children (the other one follows it), the number of its
training rows, and whether rows that lack the column go to the first child; ``threshold[v]`` is the
largest value that goes there.

Many rows descend a tree together: those of a node are parted into those of its two children, as
when a tree is grown. So a node is read once for all its rows, and a step of a row is one value
read, compared and written, without a branch that the processor could guess wrong.
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
    "mean_values",
    "node_gains",
    "part_rows",
    "path_gains",
]

# Columns of `nodes`.
FEATURE, LEFT, SIZE, MISSING_LEFT = 0, 1, 2, 3
# Rows that descend together: their values of a column, and their numbers, stay in the cache.
_TILE = 8192
# Fewer rows than this go on one by one.
_FEW = 6


class Trees(NamedTuple):
    """What a descent needs: first node of each tree, nodes, thresholds."""

    offsets: np.ndarray
    nodes: np.ndarray
    threshold: np.ndarray


class _Tile(NamedTuple):
    """Some rows that descend together.

    Attributes
    ----------
    values, is_read : ndarray of shape (n_columns, n_rows) and (n_columns,)
        Values of the rows in the columns that were needed so far.
    order : ndarray of int32 of shape (2 * n_rows,)
        Rows, sorted by node. The children of a node in one half have their rows in the other.
    waiting : ndarray of int64 of shape (n_rows, 4)
        Nodes whose rows have yet to go on.
    cells : ndarray of int32 of shape (n_resolutions, n_rows)
        Where each row ends.
    """

    values: np.ndarray
    is_read: np.ndarray
    order: np.ndarray
    waiting: np.ndarray
    cells: np.ndarray


@compiled
def _next_node(trees, v, value):
    # The next node for a row with this value.
    if value != value:
        return trees.nodes[v, LEFT] + 1 - trees.nodes[v, MISSING_LEFT]
    return trees.nodes[v, LEFT] + np.int32(value > trees.threshold[v])


@compiled
def part_rows(values, column, order, source, target, size, cut, missing_left):
    """Copy the `size` rows of a node, from one place of `order` to another, parted.

    Those of the first child are copied to the front, the others from the back; returns the number
    of the first. Every row is written to both places, and what is not meant there is overwritten
    later: no branch depends on a value.
    """
    column, n_left = np.uintp(column), 0
    last = target + size - 1
    if missing_left:  # a missing value is not larger than the cut
        for i in range(size):
            row = order[np.uintp(source + i)]
            order[np.uintp(target + n_left)] = row
            order[np.uintp(last - i + n_left)] = row
            n_left += 1 - np.int64(values[column, np.uintp(row)] > cut)
    else:
        for i in range(size):
            row = order[np.uintp(source + i)]
            order[np.uintp(target + n_left)] = row
            order[np.uintp(last - i + n_left)] = row
            n_left += np.int64(values[column, np.uintp(row)] <= cut)
    return n_left


@compiled
def _make_tile(n_columns, n_rows, n_resolutions):
    n_rows = min(n_rows, _TILE)
    return _Tile(
        np.empty((n_columns, n_rows)),
        np.zeros(n_columns, np.bool_),
        np.empty(2 * n_rows, np.int32),
        np.empty((n_rows, 4), np.int64),
        np.empty((n_resolutions, n_rows), np.int32),
    )


@compiled
def _walk_on(XT, row, trees, v, smallest, r, cells, j):
    # One row goes on from a node to its leaf.
    nodes = trees.nodes
    while True:
        column = nodes[v, FEATURE]
        while r >= 0 and (column < 0 or nodes[v, SIZE] < smallest[r]):
            cells[r, j] = v
            r -= 1
        if r < 0:
            break
        v = np.int64(_next_node(trees, v, XT[column, row]))


@compiled
def _descend(XT, rows, trees, root, smallest, tile):
    # Some rows descend a tree: writes `tile.cells`.
    nodes, threshold = trees.nodes, trees.threshold
    values, is_read, order = tile.values, tile.is_read, tile.order
    waiting, cells = tile.waiting, tile.cells
    for j in range(rows.size):
        order[j] = j
    n_waiting, half = 0, order.size // 2
    v, begin, size, r = np.int64(root), 0, rows.size, smallest.size - 1
    while True:
        column = nodes[v, FEATURE]
        while r >= 0 and (column < 0 or nodes[v, SIZE] < smallest[r]):
            for i in range(begin, begin + size):
                cells[r, order[i]] = v
            r -= 1
        if r >= 0 and size >= _FEW:
            if not is_read[column]:
                is_read[column] = True
                for j in range(rows.size):
                    values[column, j] = XT[column, rows[j]]
            target = begin + half if begin < half else begin - half
            n_left = part_rows(
                values, column, order, begin, target, size, threshold[v], nodes[v, MISSING_LEFT]
            )
            v, begin = np.int64(nodes[v, LEFT]), target
            if n_left == 0:
                v += 1
            elif n_left < size:
                waiting[n_waiting, 0], waiting[n_waiting, 1] = v + 1, begin + n_left
                waiting[n_waiting, 2], waiting[n_waiting, 3] = size - n_left, r
                n_waiting += 1
                size = n_left
            continue
        if r >= 0:
            for i in range(begin, begin + size):
                _walk_on(XT, rows[order[i]], trees, v, smallest, r, cells, order[i])
        if n_waiting == 0:
            break
        n_waiting -= 1
        v, begin = waiting[n_waiting, 0], waiting[n_waiting, 1]
        size, r = waiting[n_waiting, 2], waiting[n_waiting, 3]


@compiled
def find_cells(XT, rows, trees, smallest, cells):
    """Find the node of each tree in which each row ends, at several resolutions.

    Parameters
    ----------
    smallest : ndarray of int64 of shape (n_resolutions,), ascending
        At resolution r nodes with fewer than ``smallest[r]`` rows are leaves.
    cells : ndarray of int32 of shape (n_resolutions, n_rows, n_trees)
        Written: the nodes.
    """
    tile = _make_tile(XT.shape[0], rows.size, smallest.size)
    for begin in range(0, rows.size, _TILE):
        some = rows[begin : begin + _TILE]
        tile.is_read[:] = False
        for t in range(trees.offsets.size - 1):
            _descend(XT, some, trees, trees.offsets[t], smallest, tile)
            for r in range(smallest.size):
                for j in range(some.size):
                    cells[r, begin + j, t] = tile.cells[r, j]


@compiled
def mean_values(XT, rows, trees, shares, smallest, row_of, table):
    """Mean over the trees of the shares of the leaves, and of the table's rows of coarse cells.

    Parameters
    ----------
    shares : ndarray of shape (n_nodes, n_classes)
    smallest : ndarray of int64 of shape (1,) or (2,)
        0, and the smallest node that is not a coarse cell; without it, the table is not used.
    row_of : ndarray of int32 of shape (n_nodes,)
        Row of `table` for each coarse cell.
    table : ndarray of shape (n_cells, n_values)

    Returns
    -------
    means : ndarray of shape (n_rows, n_classes)
    expected : ndarray of shape (n_rows, n_values)
    """
    n_trees = trees.offsets.size - 1
    means, expected = np.zeros((rows.size, shares.shape[1])), np.zeros((rows.size, table.shape[1]))
    tile = _make_tile(XT.shape[0], rows.size, smallest.size)
    for begin in range(0, rows.size, _TILE):
        some = rows[begin : begin + _TILE]
        tile.is_read[:] = False
        for t in range(n_trees):
            _descend(XT, some, trees, trees.offsets[t], smallest, tile)
            for j in range(some.size):
                leaf = tile.cells[0, j]
                for c in range(shares.shape[1]):
                    means[begin + j, c] += shares[leaf, c]
            if smallest.size > 1:
                for j in range(some.size):
                    cell = row_of[tile.cells[1, j]]
                    for k in range(table.shape[1]):
                        expected[begin + j, k] += table[cell, k]
    for k in range(rows.size):
        for c in range(shares.shape[1]):
            means[k, c] /= n_trees
        for c in range(table.shape[1]):
            expected[k, c] /= n_trees
    return means, expected


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
    """Mean in each cell of the values of the rows that end there: (n_cells, n_values)."""
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
        One over the number of training rows in each cell.
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
    """How much each feature reduces the impurity along the path of each row down the trees.

    Parameters
    ----------
    masses : ndarray of shape (n_nodes,)
        Weight of the rows of each node.

    Returns
    -------
    gains : ndarray of shape (n_samples, n_features)
        Sum over the nodes of the path of the decrease of the Gini index; mean over the trees.
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
                v = _next_node(trees, v, XT[nodes[v, FEATURE], row])
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
