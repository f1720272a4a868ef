"""The compiled kernel that sends rows down the trees of a forest.

A forest is one table of nodes, tree after tree. Row `v` of ``nodes`` has the column that node `v`
splits (-1 for a leaf), the first of its two children (the other one follows it), the number of its
training rows, and whether rows that lack the column go to the first child; ``threshold[v]`` is the
largest value that goes there.

Many rows descend a tree together: those of a node are parted into those of its two children, as
when a tree is grown. So a node is read once for all its rows, and a step of a row is one value
read, compared and written, without a branch that the processor could guess wrong.
"""

import numpy as np

from tamis._compile import compiled

# Columns of `nodes`.
FEATURE, LEFT, SIZE, MISSING_LEFT = 0, 1, 2, 3
# Fewer rows than this go on one by one.
_FEW = 6


@compiled
def find_cells(XT, rows, offsets, nodes, threshold, smallest, values, order, waiting, cells):
    """Find the node of each tree in which each row ends, at several resolutions.

    `XT`, `rows` (n_features, n_samples), ndarray of int64: features in rows, and which samples.
    `offsets`, `nodes`, `threshold`: the forest. `smallest` (n_resolutions,), ascending: at
    resolution r nodes with fewer than ``smallest[r]`` rows are leaves. `values`, `order`,
    `waiting` (n_features, n_rows), (2 * n_rows,), (n_rows, 4): room for the values of the rows;
    for the rows sorted by node, of type int32; and for nodes whose rows have yet to go on, of type
    int64. `cells` (n_resolutions, n_trees, n_rows): written: the nodes.
    """
    half = rows.size
    is_read = np.zeros(XT.shape[0], np.bool_)
    for tree in range(offsets.size - 1):
        for j in range(half):
            order[j] = j
        n_waiting = 0
        v = offsets[tree]
        begin = 0
        size = half
        r = smallest.size
        while True:
            column = nodes[v, FEATURE]
            while r > 0 and (column < 0 or nodes[v, SIZE] < smallest[r - 1]):
                r -= 1
                for i in range(begin, begin + size):
                    cells[r, tree, order[i]] = v
            if r > 0 and size >= _FEW:
                if not is_read[column]:
                    is_read[column] = True
                    for j in range(half):
                        values[column, j] = XT[column, rows[j]]
                # See `grow_trees`: no branch depends on a value.
                target = begin + half if begin < half else begin - half
                last = target + size - 1
                cut = threshold[v]
                missing_left = np.int64(nodes[v, MISSING_LEFT])
                n_left = 0
                for i in range(size):
                    row = order[np.uintp(begin + i)]
                    order[np.uintp(target + n_left)] = row
                    order[np.uintp(last - i + n_left)] = row
                    x = values[np.uintp(column), np.uintp(row)]
                    n_left += np.int64(x <= cut) | (np.int64(x != x) & missing_left)
                v = np.int64(nodes[v, LEFT])
                begin = target
                if n_left == 0:
                    v += 1
                elif n_left < size:
                    waiting[n_waiting, 0] = v + 1
                    waiting[n_waiting, 1] = begin + n_left
                    waiting[n_waiting, 2] = size - n_left
                    waiting[n_waiting, 3] = r
                    n_waiting += 1
                    size = n_left
                continue
            if r > 0:
                for i in range(begin, begin + size):
                    at = v
                    level = r
                    while level > 0:
                        column = nodes[at, FEATURE]
                        if column < 0 or nodes[at, SIZE] < smallest[level - 1]:
                            level -= 1
                            cells[level, tree, order[i]] = at
                        else:
                            x = XT[column, rows[order[i]]]
                            stays = x <= threshold[at] or (x != x and nodes[at, MISSING_LEFT] > 0)
                            at = nodes[at, LEFT] + 1 - np.int64(stays)
            if n_waiting == 0:
                break
            n_waiting -= 1
            v = waiting[n_waiting, 0]
            begin = waiting[n_waiting, 1]
            size = waiting[n_waiting, 2]
            r = waiting[n_waiting, 3]
