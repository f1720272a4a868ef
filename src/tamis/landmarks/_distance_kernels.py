"""Compiled distances between rows and landmarks.

Each sum runs over the features in order, in double precision. So equal rows give equal bits
wherever they are, and a row is at distance exactly 0 from itself. Landmarks are passed transposed,
(n_features, n_landmarks): the inner loop then runs over landmarks and is vectorised without
reordering any sum.
"""

import math

import numpy as np

from tamis._compile import compiled

# Below this share of the landmark's square, a difference of sums has lost too many digits.
_CANCELLED = 1e-2
# Unit vectors of parallel rows differ by no more than this, from rounding alone.
_SAME_DIRECTION = 1e-15


@compiled
def _keep_digits(x):
    """`x` to 41 bits (Veltkamp's splitting)."""
    scaled = x * 4097.0
    return scaled - (scaled - x)


@compiled
def finish_keys(near, far, is_angle):
    """Distances, or tangents of half the angles, from sums of squares; in place of `near`."""
    for k in range(near.size):
        near[k] = math.sqrt(near[k])
    if is_angle:
        for k in range(near.size):
            if near[k] <= _SAME_DIRECTION:
                near[k] = 0.0
            elif far[k] == 0.0:
                near[k] = np.inf
            else:
                near[k] = _keep_digits(near[k] / math.sqrt(far[k]))
    else:
        for k in range(near.size):
            near[k] = _keep_digits(near[k])


@compiled
def dense_keys(X, RT, is_angle):
    """Distances, or tangents of half the angles, (n_rows, n_landmarks)."""
    out = np.empty((X.shape[0], RT.shape[1]))
    far = np.zeros(RT.shape[1])
    for i in range(X.shape[0]):
        add_squares(X[i], RT, is_angle, out[i], far)
        finish_keys(out[i], far, is_angle)
    return out


@compiled
def add_squares(row, RT, is_angle, near, far):
    """Sums of squared differences of a row from all landmarks; for angles, of its sums too."""
    d, K = RT.shape
    near[:] = 0.0
    for j in range(d):
        x = row[j]
        r = RT[j]
        for k in range(K):
            difference = x - r[k]
            near[k] += difference * difference
    if is_angle:
        far[:] = 0.0
        for j in range(d):
            x = row[j]
            r = RT[j]
            for k in range(K):
                total = x + r[k]
                far[k] += total * total


@compiled
def sparse_keys(data, indices, indptr, RT, is_angle):
    """Distances, or tangents of half the angles, of the rows of a canonical CSR matrix.

    Stored entries are compared one by one; the rest of the landmark is its square minus the part
    already seen. If that difference cancels, the pair is summed over all features.
    """
    n = indptr.size - 1
    d, K = RT.shape
    squares = np.zeros(K)
    for j in range(d):
        for k in range(K):
            squares[k] += RT[j, k] * RT[j, k]
    out = np.zeros((n, K))
    far = np.zeros(K)
    met = np.empty(K)
    for i in range(n):
        start, stop = indptr[i], indptr[i + 1]
        near = out[i]
        met[:] = 0.0
        far[:] = 0.0
        for p in range(start, stop):
            x = data[p]
            r = RT[indices[p]]
            for k in range(K):
                difference = x - r[k]
                total = x + r[k]
                near[k] += difference * difference
                far[k] += total * total
                met[k] += r[k] * r[k]
        for k in range(K):
            rest = squares[k] - met[k]
            near[k] += rest
            far[k] += rest
            if near[k] != 0.0 and near[k] < _CANCELLED * squares[k]:
                near[k] = _sum_all(data, indices, start, stop, RT, k, 1.0)
            if is_angle and far[k] != 0.0 and far[k] < _CANCELLED * squares[k]:
                far[k] = _sum_all(data, indices, start, stop, RT, k, -1.0)
        finish_keys(near, far, is_angle)
    return out


@compiled
def dense_norms(X):
    """Norms of the rows."""
    n, d = X.shape
    out = np.empty(n)
    for i in range(n):
        row = X[i]
        total = 0.0
        for j in range(d):
            total += row[j] * row[j]
        out[i] = math.sqrt(total)
    return out


@compiled
def _sum_all(data, indices, start, stop, RT, k, sign):
    total = 0.0
    p = start
    for j in range(RT.shape[0]):
        x = 0.0
        if p < stop and indices[p] == j:
            x = data[p]
            p += 1
        difference = x - sign * RT[j, k]
        total += difference * difference
    return total
