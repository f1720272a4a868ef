"""The compiled kernel that grows extremely randomised trees.

It is one function on plain arrays, which takes a third of the time to compile that a dozen small
functions on named tuples take. See `_forest_kernels` for the table of nodes.
"""

import numpy as np

from tamis._compile import compiled
from tamis.datumwise._forest_kernels import FEATURE, LEFT, MISSING_LEFT, SIZE

# Columns of `places` before the numbers of rows of each class.
N_PLACES = 5
_LARGEST = np.finfo(np.float64).max
# splitmix64: a well-mixed counter; equal seeds give equal trees on every machine.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_PER_SEED = np.uint64(0x2545F4914F6CDD1D)
_ULP = 1.0 / 9007199254740992.0


@compiled
def _uniform(word):
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    word = word ^ (word >> np.uint64(31))
    return np.float64(word >> np.uint64(11)) * _ULP


@compiled
def grow_trees(
    XT,
    codes,
    mass,
    columns,
    rows,
    n_training,
    n_tries,
    smallest,
    seeds,
    resolutions,
    pool,
    order,
    values,
    labels,
    counts,
    places,
    offsets,
    nodes,
    threshold,
    shares,
    cells,
):
    """Grow extremely randomised trees until nodes are pure, constant or small.

    `XT` (n_features, n_samples): features in rows; NaN where a value is missing. `codes`
    (n_samples,): classes. `mass` (n_classes,): weight of a sample of each class. `columns`:
    features that may be split. `rows` (n_forests, n_rows), `n_training`, `seeds` (n_forests,): one
    or more forests of as many trees each: ``n_training[f]`` training rows, followed by rows that
    only go down the trees; tree t of equal seeds is the same. `n_tries`, `smallest`: number of
    columns, not constant, tried at each node; nodes with fewer rows are not split. `resolutions`:
    see `cells`. `pool`, `order`, `values`, `labels`, `counts`: room for the columns in random
    order, of type int64; twice the rows sorted by node, of type int32; values and classes of the
    training rows of a node; (3, n_classes) of int64. `places` (2 * n_training_rows, N_PLACES +
    n_classes): nodes of a tree: where in `order` the training rows start, how many they are, the
    same two numbers for the other rows, the number of resolutions at which the node is no cell,
    and the training rows of each class. `offsets`, `nodes`, `threshold`, `shares`: written: the
    table of nodes, with the shares of the classes in each of them, so that any node can serve as a
    leaf. The nodes of tree t are ``offsets[t]`` to ``offsets[t + 1]``. `cells` (n_resolutions,
    n_trees, n_samples): written: the node in which each row ends when nodes with fewer training
    rows than each resolution are leaves.
    """
    n_classes = mass.size
    n_forests, half = rows.shape
    n_trees = (offsets.size - 1) // n_forests
    for tree in range(offsets.size - 1):
        forest = tree // n_trees
        state = np.uint64(seeds[forest]) * _PER_SEED + np.uint64(tree % n_trees)
        base = offsets[tree]
        if tree % n_trees == 0:  # the root
            places[0, 0] = 0
            places[0, 1] = n_training[forest]
            places[0, 2] = n_training[forest]
            places[0, 3] = half - n_training[forest]
            places[0, 4] = resolutions.size
            for c in range(n_classes):
                places[0, N_PLACES + c] = 0
            for i in range(n_training[forest]):
                places[0, N_PLACES + codes[rows[forest, i]]] += 1
        for k in range(pool.size):
            pool[k] = columns[k]
        for i in range(half):
            order[i] = rows[forest, i]
        used = 1
        node = 0
        while node < used:
            begin = places[node, 0]
            size = places[node, 1]
            v = base + node
            total = np.float32(0.0)
            n_present = 0
            for c in range(n_classes):
                shares[v, c] = places[node, N_PLACES + c] * mass[c]
                total += shares[v, c]
                n_present += places[node, N_PLACES + c] > 0
            for c in range(n_classes):
                shares[v, c] /= total
            # The best of random cuts of random columns that are not constant in the node.
            best_gain = -1.0
            best_column = -1
            best_cut = 0.0
            best_missing = 0
            tried = 0
            left_over = 0
            if n_present > 1 and size >= smallest:
                left_over = pool.size
                for i in range(size):
                    labels[np.uintp(i)] = codes[np.uintp(order[np.uintp(begin + i)])]
            while tried < n_tries and left_over > 0:
                state += _STEP
                pick = np.int64(_uniform(state) * left_over)
                column = pool[pick]
                left_over -= 1
                pool[pick] = pool[left_over]
                pool[left_over] = column
                low = np.inf
                high = -np.inf
                n_missing = 0
                for i in range(size):
                    x = XT[np.uintp(column), np.uintp(order[np.uintp(begin + i)])]
                    values[np.uintp(i)] = x
                    n_missing += x != x
                    low = x if x < low else low
                    high = x if x > high else high
                if low < high:
                    state += _STEP
                    u = _uniform(state)
                    cut = low * (1.0 - u) + high * u
                    if not low <= cut < high:
                        cut = low
                elif 0 < n_missing < size:
                    cut = _LARGEST  # separates rows that have the value from rows that lack it
                else:
                    continue
                tried += 1
                # Rows of each class in the first child: without missing values, and with them.
                if n_classes == 2:
                    n_left = 0
                    n_second = 0
                    for i in range(size):
                        goes = np.int32(values[np.uintp(i)] <= cut)
                        n_left += goes
                        n_second += goes & labels[np.uintp(i)]
                    counts[0, 0] = n_left - n_second
                    counts[0, 1] = n_second
                else:
                    for c in range(n_classes):
                        counts[0, c] = 0
                    for i in range(size):
                        counts[0, np.uintp(labels[i])] += values[i] <= cut
                if n_missing > 0:
                    for c in range(n_classes):
                        counts[1, c] = counts[0, c]
                    for i in range(size):
                        counts[1, labels[i]] += values[i] != values[i]
                # Decrease of weight times Gini index, up to a constant of the node.
                gain = -1.0
                side = 0
                best_side = 0
                while side < 1 + (n_missing > 0):
                    left = 0.0
                    right = 0.0
                    whole = 0.0
                    left_squares = 0.0
                    right_squares = 0.0
                    for c in range(n_classes):
                        one = counts[side, c] * mass[c]
                        rest = (places[node, N_PLACES + c] - counts[side, c]) * mass[c]
                        left += one
                        right += rest
                        whole += places[node, N_PLACES + c] * mass[c]
                        left_squares += one * one
                        right_squares += rest * rest
                    found = left_squares / left if left > 0 else 0.0
                    found += right_squares / right if right > 0 else 0.0
                    if found > gain:
                        gain = found
                        best_side = side
                    side += 1
                if cut == _LARGEST:
                    best_side = 0
                if gain > best_gain:
                    best_gain = gain
                    best_column = column
                    best_cut = cut
                    for c in range(n_classes):
                        counts[2, c] = counts[best_side, c]
                    # Where missing values were never seen, they go to the larger side.
                    best_missing = best_side if n_missing > 0 else np.int64(left >= 0.5 * whole)
            level = places[node, 4]
            while level > 0 and (best_column < 0 or size < resolutions[level - 1]):
                level -= 1
                for part in range(0, 4, 2):
                    for i in range(places[node, part + 1]):
                        cells[level, tree, order[places[node, part] + i]] = v
            nodes[v, FEATURE] = best_column
            nodes[v, LEFT] = -1
            nodes[v, SIZE] = size
            nodes[v, MISSING_LEFT] = best_missing
            threshold[v] = best_cut
            if best_column >= 0:
                nodes[v, LEFT] = base + used
                # The rows of the first child are copied to the front, the others from the back.
                # Every row is written to both places, and what is not meant there is overwritten
                # later: no branch depends on a value.
                for part in range(0, 4, 2):
                    source = places[node, part]
                    size = places[node, part + 1]
                    target = source + half if source < half else source - half
                    last = target + size - 1
                    n_left = 0
                    for i in range(size):
                        row = order[np.uintp(source + i)]
                        order[np.uintp(target + n_left)] = row
                        order[np.uintp(last - i + n_left)] = row
                        x = XT[np.uintp(best_column), np.uintp(row)]
                        n_left += np.int64(x <= best_cut) | (np.int64(x != x) & best_missing)
                    places[used, part] = target
                    places[used, part + 1] = n_left
                    places[used + 1, part] = target + n_left
                    places[used + 1, part + 1] = size - n_left
                places[used, 4] = level
                places[used + 1, 4] = level
                for c in range(N_PLACES, N_PLACES + n_classes):
                    places[used, c] = counts[2, c - N_PLACES]
                    places[used + 1, c] = places[node, c] - counts[2, c - N_PLACES]
                used += 2
            node += 1
        offsets[tree + 1] = base + used
