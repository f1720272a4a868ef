"""Compiled kernels that send rows down the trees of a forest.

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
    "find_cells",
    "mean_values",
    "next_node",
    "part_rows",
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
        Values of the rows, for the columns that were needed so far.
    here, there : ndarray of int32 of shape (n_rows,)
        Rows, sorted by node: before a step and after it, or the other way round.
    waiting : ndarray of int64 of shape (n_rows, 5)
        Nodes whose rows have yet to go on.
    cells : ndarray of int32 of shape (n_resolutions, n_rows)
        Where each row ends.
    """

    values: np.ndarray
    is_read: np.ndarray
    here: np.ndarray
    there: np.ndarray
    waiting: np.ndarray
    cells: np.ndarray


@compiled
def next_node(trees, v, value):
    """The next node for a row with this value."""
    if value != value:
        return trees.nodes[v, LEFT] + 1 - trees.nodes[v, MISSING_LEFT]
    return trees.nodes[v, LEFT] + np.int32(value > trees.threshold[v])


@compiled
def part_rows(values, rows, parted, begin, end, cut, missing_left):
    """Copy the rows of a node to `parted`, those of its first child from the front.

    The others are copied from the back; returns where they begin. Every row is written to both
    places, and what is not meant there is overwritten later: no branch depends on a value.
    """
    middle = begin
    if missing_left:  # a missing value is not larger than the cut
        for i in range(begin, end):
            row = rows[np.uintp(i)]
            parted[np.uintp(middle)] = row
            parted[np.uintp(end - 1 - i + middle)] = row
            middle += 1 - np.int64(values[np.uintp(row)] > cut)
    else:
        for i in range(begin, end):
            row = rows[np.uintp(i)]
            parted[np.uintp(middle)] = row
            parted[np.uintp(end - 1 - i + middle)] = row
            middle += np.int64(values[np.uintp(row)] <= cut)
    return middle


@compiled
def _make_tile(n_columns, n_rows, n_resolutions):
    n_rows = min(n_rows, _TILE)
    return _Tile(
        np.empty((n_columns, n_rows)),
        np.zeros(n_columns, np.bool_),
        np.empty(n_rows, np.int32),
        np.empty(n_rows, np.int32),
        np.empty((n_rows, 5), np.int64),
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
        v = np.int64(next_node(trees, v, XT[column, row]))


@compiled
def _descend(XT, rows, trees, root, smallest, tile):
    # Some rows descend a tree: writes `tile.cells`.
    nodes, threshold = trees.nodes, trees.threshold
    values, here, there, waiting = tile.values, tile.here, tile.there, tile.waiting
    for j in range(rows.size):
        here[j] = j
    n_waiting = 0
    v, begin, end, r, is_there = np.int64(root), 0, rows.size, smallest.size - 1, 0
    while True:
        column = nodes[v, FEATURE]
        while r >= 0 and (column < 0 or nodes[v, SIZE] < smallest[r]):
            for i in range(begin, end):
                j = there[i] if is_there else here[i]
                tile.cells[r, j] = v
            r -= 1
        if r >= 0:
            if end - begin < _FEW:
                for i in range(begin, end):
                    j = there[i] if is_there else here[i]
                    _walk_on(XT, rows[j], trees, v, smallest, r, tile.cells, j)
            else:
                if not tile.is_read[column]:
                    tile.is_read[column] = True
                    for j in range(rows.size):
                        values[column, j] = XT[column, rows[j]]
                cut, missing_left = threshold[v], nodes[v, MISSING_LEFT] != 0
                if is_there:
                    middle = part_rows(values[column], there, here, begin, end, cut, missing_left)
                else:
                    middle = part_rows(values[column], here, there, begin, end, cut, missing_left)
                first, is_there = nodes[v, LEFT], 1 - is_there
                if begin < middle < end:
                    waiting[n_waiting, 0], waiting[n_waiting, 1] = first + 1, middle
                    waiting[n_waiting, 2], waiting[n_waiting, 3] = end, r
                    waiting[n_waiting, 4] = is_there
                    n_waiting += 1
                v = np.int64(first + (middle == begin))
                if begin < middle:
                    end = middle
                continue
        if n_waiting == 0:
            break
        n_waiting -= 1
        v, begin, end = waiting[n_waiting, 0], waiting[n_waiting, 1], waiting[n_waiting, 2]
        r, is_there = waiting[n_waiting, 3], waiting[n_waiting, 4]


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
