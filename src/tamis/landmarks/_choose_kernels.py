"""Compiled choice of landmarks among dense rows.

The kernels take the prepared rows transposed, (n_features, n_samples): the distances from one row
to all others are then vectorised over the rows, and every sum still runs over the features in
order, as in `tamis.landmarks._distance_kernels`. They give the same landmarks as the loops in
`tamis.landmarks.choose`, which sparse rows go through.

Distances are keys: for angles, tangents of half the angle, which have the same order.
"""

import numpy as np

from tamis._compile import compiled
from tamis.landmarks._distance_kernels import dense_keys, dense_region_sums, finish_keys

__all__ = ["choose_farthest", "choose_net", "choose_seeds", "run_lloyd"]


@compiled
def _keys_to_row(PT, row, is_angle, near, far):
    """Keys of all rows to one of them, written to `near`."""
    near[:] = 0.0
    for j in range(PT.shape[0]):
        column = PT[j]
        x = column[row]
        for i in range(near.size):
            gap = column[i] - x
            near[i] += gap * gap
    if is_angle:
        far[:] = 0.0
        for j in range(PT.shape[0]):
            column = PT[j]
            x = column[row]
            for i in range(far.size):
                total = column[i] + x
                far[i] += total * total
    finish_keys(near, far, is_angle)


@compiled
def choose_farthest(PT, first, n_landmarks, is_angle):
    """Farthest-first traversal: chosen rows, and keys of shape (n_landmarks, n_samples)."""
    n = PT.shape[1]
    rows = np.empty(n_landmarks, np.int64)
    keys = np.empty((n_landmarks, n))
    far = np.empty(n)
    nearest = np.full(n, np.inf)
    rows[0] = first
    for r in range(n_landmarks):
        key = keys[r]
        _keys_to_row(PT, rows[r], is_angle, key, far)
        for i in range(n):
            nearest[i] = min(nearest[i], key[i])
        nearest[rows[r]] = -1.0  # chosen rows are not chosen again
        if r + 1 < n_landmarks:
            rows[r + 1] = nearest.argmax()
    return rows, keys


@compiled
def choose_net(PT, draws, is_angle):
    """Density net: centers of the balls, ball of every row, and keys (n_balls, n_samples)."""
    n, k = PT.shape[1], draws.size
    rows = np.empty(k, np.int64)
    keys = np.empty((k, n))
    far = np.empty(n)
    region = np.empty(n, np.int64)
    pending = np.arange(n)
    n_pending = n
    gaps = np.empty(n)
    for ball in range(k):
        row = pending[int(draws[ball] * n_pending)]
        rows[ball] = row
        key = keys[ball]
        _keys_to_row(PT, row, is_angle, key, far)
        size = n // k + (ball < n % k)
        for p in range(n_pending):
            gaps[p] = key[pending[p]]
            if pending[p] == row:
                gaps[p] = -1.0  # before its own copies
        # The rows nearer than the last one that the ball takes, and the first of those as near.
        last = np.partition(gaps[:n_pending], size - 1)[size - 1]
        n_ties = size
        for p in range(n_pending):
            n_ties -= gaps[p] < last
        n_left = 0
        for p in range(n_pending):
            taken = gaps[p] < last
            if gaps[p] == last and n_ties > 0:
                n_ties -= 1
                taken = True
            if taken:
                region[pending[p]] = ball
            else:
                pending[n_left] = pending[p]
                n_left += 1
        n_pending = n_left
    return rows, region, keys


@compiled
def choose_seeds(PT, first, draws):
    """Rows of k-means++: drawn in proportion to their squared distances to those before."""
    n, k = PT.shape[1], draws.size + 1
    rows = np.empty(k, np.int64)
    rows[0] = first
    key, far = np.empty(n), np.empty(n)
    nearest = np.full(n, np.inf)
    mass = np.empty(n)
    for r in range(1, k):
        _keys_to_row(PT, rows[r - 1], False, key, far)
        total = 0.0
        for i in range(n):
            nearest[i] = min(nearest[i], key[i] * key[i])
            total += nearest[i]
            mass[i] = total
        if total == 0.0:  # as many distinct rows as seeds: the first row that is not a seed
            row = 0
            while (rows[:r] == row).any():
                row += 1
        else:
            row = min(np.searchsorted(mass, draws[r - 1] * total, side="right"), n - 1)
        rows[r] = row
    return rows


@compiled
def run_lloyd(P, points, most):
    """Lloyd's iterations: centroids, their distances to the rows, and whether they converged."""
    n, K = P.shape[0], points.shape[0]
    region = np.full(n, -1)
    keys = np.empty((n, K))
    for _ in range(most):
        keys = dense_keys(P, np.ascontiguousarray(points.T), False)
        n_moved = 0
        count = np.zeros(K)
        for i in range(n):
            nearest = keys[i].argmin()
            n_moved += nearest != region[i]
            region[i] = nearest
            count[nearest] += 1.0
        if n_moved == 0:
            return points, keys, True
        sums = dense_region_sums(P, region, K)
        means = points.copy()
        for k in range(K):
            if count[k] > 0:
                means[k] = sums[k] / count[k]
        points = means
    return points, keys, False
