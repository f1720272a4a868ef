"""Compiled kernels of the forests: growing extremely randomised trees, and finding cells.

A forest is one table of nodes, tree after tree. Node `v` splits column ``feature[v]`` (-1 for a
leaf) at ``threshold[v]``; its children are ``left[v]`` and ``left[v] + 1``. Rows that lack the
column go left when ``missing_left[v]``. ``counts[v]`` holds the weight of each class in the node,
so that any node can serve as a leaf.
"""

import numpy as np

from tamis._compile import compiled

__all__ = [
    "cell_means",
    "find_cells",
    "grow_forest",
    "mean_rows",
    "node_gains",
    "path_gains",
]


_LARGEST = np.finfo(np.float64).max


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
def _decrease(whole, part):
    # Decrease of weight times Gini index when `part` is split off, up to a constant of the node.
    left, right, left_squares, right_squares = 0.0, 0.0, 0.0, 0.0
    for c in range(whole.size):
        rest = whole[c] - part[c]
        left += part[c]
        right += rest
        left_squares += part[c] * part[c]
        right_squares += rest * rest
    gain = left_squares / left if left > 0 else 0.0
    return gain + (right_squares / right if right > 0 else 0.0)


@compiled
def _range_of(values, order, begin, end):
    # Smallest and largest value of the rows of a node, and how many lack a value.
    low, high, n_missing = np.inf, -np.inf, 0
    for i in range(begin, end):
        v = values[order[i]]
        if np.isnan(v):
            n_missing += 1
        else:
            low, high = min(low, v), max(high, v)
    return low, high, n_missing


@compiled
def _gain(values, order, begin, end, codes, class_mass, cut, whole, part, lost):
    # Decrease of impurity by a cut, and whether rows that lack the value are better on the left.
    part[:] = 0.0
    lost[:] = 0.0
    for i in range(begin, end):
        row = order[i]
        v, c = values[row], codes[row]
        if np.isnan(v):
            lost[c] += class_mass[c]
        elif v <= cut:
            part[c] += class_mass[c]
    gain = _decrease(whole, part)
    if lost.max() <= 0:
        return gain, part.sum() >= 0.5 * whole.sum()
    for c in range(part.size):
        part[c] += lost[c]
    other = _decrease(whole, part)
    return (other, True) if other > gain else (gain, False)


@compiled
def _best_split(XT, codes, class_mass, order, begin, end, whole, pool, n_tries, state, work):
    # The best of random cuts of `n_tries` random columns that are not constant in the node.
    best_gain, best = -1.0, (-1, 0.0, False)
    tried, left_over = 0, pool.size
    while tried < n_tries and left_over > 0:
        pick = _below(state, left_over)
        column = pool[pick]
        left_over -= 1
        pool[pick], pool[left_over] = pool[left_over], pool[pick]
        values = XT[column]
        low, high, n_missing = _range_of(values, order, begin, end)
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
            values, order, begin, end, codes, class_mass, cut, whole, work[0], work[1]
        )
        if gain > best_gain:
            best_gain, best = gain, (column, cut, missing_left and low < high)
    return best


@compiled
def _part_rows(values, order, begin, end, cut, missing_left):
    # Rows of the left child first; returns where those of the right child begin.
    i, j = begin, end - 1
    while i <= j:
        v = values[order[i]]
        if v <= cut or (np.isnan(v) and missing_left):
            i += 1
        else:
            order[i], order[j] = order[j], order[i]
            j -= 1
    return i


@compiled
def grow_forest(XT, codes, class_mass, rows, columns, n_trees, n_tries, smallest, seed):
    """Grow extremely randomised trees until nodes are pure, constant or small.

    Parameters
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
    n_trees, n_tries : int
        Number of trees; number of columns, not constant, tried at every node.
    smallest : int
        Nodes with fewer rows are not split.
    seed : int
        Seed; tree t of equal seeds is the same.

    Returns
    -------
    offsets, feature, threshold, left, missing_left, sizes, counts
        The table of nodes; the nodes of tree t are ``offsets[t]`` to ``offsets[t + 1]``.
    """
    n_rows, n_classes = rows.size, class_mass.size
    capacity = 2 * n_rows * n_trees
    offsets = np.zeros(n_trees + 1, np.int64)
    feature = np.full(capacity, -1, np.int32)
    threshold = np.zeros(capacity)
    left = np.full(capacity, -1, np.int32)
    missing_left = np.zeros(capacity, np.bool_)
    sizes = np.zeros(capacity, np.int32)
    counts = np.zeros((capacity, n_classes), np.float32)
    state = np.zeros(1, np.uint64)
    order = np.empty(n_rows, np.int64)
    starts, ends = np.empty(2 * n_rows, np.int64), np.empty(2 * n_rows, np.int64)
    whole, work = np.empty(n_classes), np.empty((2, n_classes))
    base = 0
    for tree in range(n_trees):
        state[0] = np.uint64(seed) * np.uint64(0x2545F4914F6CDD1D) + np.uint64(tree)
        offsets[tree] = base
        order[:] = rows
        pool = columns.copy()
        starts[0], ends[0] = 0, n_rows
        used, node = 1, 0
        while node < used:
            begin, end, here = starts[node], ends[node], base + node
            node += 1
            whole[:] = 0.0
            for i in range(begin, end):
                whole[codes[order[i]]] += class_mass[codes[order[i]]]
            counts[here] = whole
            sizes[here] = end - begin
            if (whole > 0).sum() < 2 or end - begin < smallest:
                continue
            column, cut, goes_left = _best_split(
                XT, codes, class_mass, order, begin, end, whole, pool, n_tries, state, work
            )
            if column < 0:
                continue
            middle = _part_rows(XT[column], order, begin, end, cut, goes_left)
            feature[here], threshold[here] = column, cut
            left[here], missing_left[here] = base + used, goes_left
            starts[used], ends[used] = begin, middle
            starts[used + 1], ends[used + 1] = middle, end
            used += 2
        base += used
    offsets[n_trees] = base
    return (
        offsets,
        feature[:base].copy(),
        threshold[:base].copy(),
        left[:base].copy(),
        missing_left[:base].copy(),
        sizes[:base].copy(),
        counts[:base].copy(),
    )


@compiled
def find_cells(XT, rows, offsets, feature, threshold, left, missing_left, sizes, smallest, cells):
    """Node of every tree in which each row ends, at several resolutions.

    Parameters
    ----------
    smallest : ndarray of int64 of shape (n_resolutions,), ascending
        At resolution r nodes with fewer than ``smallest[r]`` rows are leaves.
    cells : ndarray of int32 of shape (n_resolutions, n_rows, n_trees)
        Written: the nodes.
    """
    for t in range(offsets.size - 1):
        for k in range(rows.size):
            row, node, r = rows[k], offsets[t], smallest.size - 1
            while True:
                is_leaf = feature[node] < 0
                while r >= 0 and (is_leaf or sizes[node] < smallest[r]):
                    cells[r, k, t] = node
                    r -= 1
                if r < 0:
                    break
                v = XT[feature[node], row]
                goes_left = missing_left[node] if np.isnan(v) else v <= threshold[node]
                node = np.int64(left[node]) + (0 if goes_left else 1)


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
def _gini_indices(shares):
    gini = np.ones(shares.shape[0])
    for v in range(shares.shape[0]):
        for c in range(shares.shape[1]):
            gini[v] -= shares[v, c] * shares[v, c]
    return gini


@compiled
def path_gains(XT, offsets, feature, threshold, left, missing_left, masses, shares):
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
    n_trees = offsets.size - 1
    for t in range(n_trees):
        for row in range(n_samples):
            v = offsets[t]
            while feature[v] >= 0:
                child = np.int64(left[v])
                below = masses[child] * gini[child] + masses[child + 1] * gini[child + 1]
                gains[row, feature[v]] += (gini[v] - below / masses[v]) / n_trees
                value = XT[feature[v], row]
                goes_left = missing_left[v] if np.isnan(value) else value <= threshold[v]
                v = child if goes_left else child + 1
    return gains


@compiled
def node_gains(feature, left, masses, shares, n_features):
    """Total decrease of the Gini index by the splits of each feature: (n_features,)."""
    gini = _gini_indices(shares)
    gains = np.zeros(n_features)
    for v in range(feature.size):
        if feature[v] >= 0:
            child = left[v]
            below = masses[child] * gini[child] + masses[child + 1] * gini[child + 1]
            gains[feature[v]] += masses[v] * gini[v] - below
    return gains
