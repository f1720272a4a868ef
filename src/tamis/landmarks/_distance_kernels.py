"""Compiled sums of squares between rows and references.

Every sum runs over the features in order, in double precision. So equal rows give equal bits
wherever they stand, and a row is at distance exactly 0 from itself. References come transposed,
(n_features, n_references): the inner loop then runs over references and is vectorised although no
sum is reordered.
"""

import numpy as np

from tamis._compile import compiled

__all__ = ["dense_region_sums", "dense_squares", "sparse_region_sums", "sparse_squares"]

# Below this share of the reference's own square, a difference of sums has lost too many digits.
_CANCELLED = 1e-2


@compiled
def dense_squares(X, RT, sign):
    """Squared norms of ``x - sign * r``, (n_rows, n_references)."""
    n, d = X.shape
    K = RT.shape[1]
    out = np.zeros((n, K))
    for i in range(n):
        row = out[i]
        for j in range(d):
            x = X[i, j]
            for k in range(K):
                gap = x - sign * RT[j, k]
                row[k] += gap * gap
    return out


@compiled
def sparse_squares(data, indices, indptr, RT, sign):
    """Squared norms of ``x - sign * r`` for the rows of a canonical CSR matrix.

    Stored entries are compared one by one; the rest of the reference is its own square less the
    part that was met. Where that difference cancels, the pair is summed over all features.
    """
    n = indptr.size - 1
    d, K = RT.shape
    own = np.zeros(K)
    for j in range(d):
        for k in range(K):
            own[k] += RT[j, k] * RT[j, k]
    out = np.empty((n, K))
    near = np.empty(K)
    met = np.empty(K)
    for i in range(n):
        near[:] = 0.0
        met[:] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            x = data[p]
            r = RT[indices[p]]
            for k in range(K):
                gap = x - sign * r[k]
                near[k] += gap * gap
                met[k] += r[k] * r[k]
        for k in range(K):
            total = near[k] + (own[k] - met[k])
            if total != 0.0 and total < _CANCELLED * own[k]:
                total = _sum_all(data, indices, indptr[i], indptr[i + 1], RT, k, sign)
            out[i, k] = total
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
        gap = x - sign * RT[j, k]
        total += gap * gap
    return total


@compiled
def sparse_region_sums(data, indices, indptr, region, n_regions, n_features):
    """Sums of the rows of every region, (n_regions, n_features); rows in -1 are left out."""
    sums = np.zeros((n_regions, n_features))
    for i in range(indptr.size - 1):
        if region[i] >= 0:
            for p in range(indptr[i], indptr[i + 1]):
                sums[region[i], indices[p]] += data[p]
    return sums


@compiled
def dense_region_sums(X, region, n_regions):
    """Sums of the rows of every region, (n_regions, n_features); rows in -1 are left out."""
    sums = np.zeros((n_regions, X.shape[1]))
    for i in range(X.shape[0]):
        if region[i] >= 0:
            for j in range(X.shape[1]):
                sums[region[i], j] += X[i, j]
    return sums
