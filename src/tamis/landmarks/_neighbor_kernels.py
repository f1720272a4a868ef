r"""Compiled selection of nearest rows.

Products of float32 maps bound every similarity, and only rows that may be among the nearest are
measured in double precision, with differences squared and summed in order.

With maps shifted and scaled, a for queries and b for rows, and :math:`u = 2^{-24}`,

.. math:: g_{ij} = a_i \cdot b_j - \tfrac12 \|b_j\|^2 + (K + 18) u \|a_i\| \|b_j\| + 16 u \|b_j\|^2

is one float32 product with two more columns. It is an upper bound of
:math:`(\|a_i\|^2 - \|a_i - b_j\|^2) / 2`, a similarity that is larger where the distance is
smaller. For angles :math:`s_{ij} = (g_{ij} + \alpha_i) r_j + \gamma_j` undoes the shift and
divides by the norm of the row: an upper bound of the cosine times the norm of the query. So one
product serves both metrics.

1. The largest s of each of many interleaved groups: one vectorised pass. k groups reach the k-th
   largest of these, so k rows do.
2. Rows that reach it are measured: about k of them.
3. Rows whose bound reaches the k-th best measured so far are measured, too: usually none.
"""

import math
from typing import NamedTuple

import numpy as np

from tamis._compile import compiled
from tamis.landmarks._distance_kernels import add_squares, finish_keys

MOST = 64
# Rows that are measured at once, so that sums need not wait.
_TOGETHER = 4
# Relative rounding error of float32.
U = 2.0**-24


@compiled
def measure_all(A, BT, is_angle, indices, distances):
    """Fill in the nearest rows by measuring all of them: for few rows, the quickest way.

    A, BT : float64 (n_queries, K), (K, n_rows); indices, distances : (n_queries, k), as in
    `select_nearest`.
    """
    k = indices.shape[1]
    near, far = np.empty(BT.shape[1]), np.empty(BT.shape[1])
    for i in range(A.shape[0]):
        add_squares(A[i], BT, is_angle, near, far)
        finish_keys(near, far, is_angle)
        index, distance = indices[i], distances[i]
        n_found = 0
        for j in range(near.size):
            key = near[j] if near[j] == near[j] else np.inf
            if n_found == k and key >= distance[k - 1]:
                continue
            place = min(n_found, k - 1)
            while place > 0 and key < distance[place - 1]:
                distance[place] = distance[place - 1]
                index[place] = index[place - 1]
                place -= 1
            distance[place] = key
            index[place] = j
            n_found = min(n_found + 1, k)


@compiled
def _insert(key, row, n_found, index, distance):
    """Insert a row into the list of the nearest, ordered by (key, row); returns its new length."""
    k = index.size
    if n_found == k:
        if key > distance[k - 1] or (key == distance[k - 1] and row > index[k - 1]):
            return n_found
        n_found -= 1
    place = n_found
    while place > 0 and (
        key < distance[place - 1] or (key == distance[place - 1] and row < index[place - 1])
    ):
        distance[place] = distance[place - 1]
        index[place] = index[place - 1]
        place -= 1
    distance[place] = key
    index[place] = row
    return n_found + 1


class DistanceTerms(NamedTuple):
    """Terms that turn products into bounds of similarities."""

    slope: np.ndarray  # errors of the products, for rows of B of norm 1
    alpha: np.ndarray
    size: np.ndarray  # norms of A's rows: shifted and scaled (mode 0, 1) or only scaled (mode 2)
    # r, gamma: with `alpha`, these turn a bound by distance into a bound of a cosine (mode 2).
    r: np.ndarray
    gamma: np.ndarray
    unit: float  # divisor of the shifted rows


class Shifted(NamedTuple):
    """Maps shifted by their mean and scaled, so that float32 has its digits where rows differ."""

    mean: np.ndarray
    unit: float  # largest norm of a shifted row of B
    # a_norm, a_mean: norms of the shifted and scaled queries, and their products with the scaled
    # mean.
    a_norm: np.ndarray
    a_mean: np.ndarray
    # b_square, b_mean: squared norms of the shifted and scaled rows, and their products with the
    # scaled mean.
    b_square: np.ndarray
    b_mean: np.ndarray
    gamma: np.ndarray
    # a32, bT32: with two more columns, so that their product is the bound of a similarity by
    # distance.
    a32: np.ndarray
    bT32: np.ndarray


def shift_maps(A, B):
    """Queries and rows as `Shifted`."""
    n, K = B.shape
    mean = B.mean(axis=0)
    b = B - mean
    b_square = np.einsum("ij,ij->i", b, b)
    unit = math.sqrt(b_square.max())
    if not 0 < unit < math.inf:
        unit = 1.0
    b /= unit
    b_square /= unit * unit
    gamma = -0.5 * b_square * (1.0 - 32 * U)
    bT32 = np.empty((K + 2, n), np.float32)
    bT32[:K], bT32[K], bT32[K + 1] = b.T, np.sqrt(b_square), gamma
    a = (A - mean) / unit
    a_norm = np.sqrt(np.einsum("ij,ij->i", a, a))
    a32 = np.empty((A.shape[0], K + 2), np.float32)
    a32[:, :K], a32[:, K], a32[:, K + 1] = a, (K + 18) * U * a_norm, 1.0
    scaled = mean / unit
    return Shifted(mean, unit, a_norm, a @ scaled, b_square, b @ scaled, gamma, a32, bT32)


@compiled
def select_nearest(A, B, G, terms, first, mode, lanes, lists):
    """Find the rows of `B` nearest to some rows of `A`, by (key, index).

    `A`, `B`: maps (unit rows for angles). `G`: bounds on similarities by distance; the first row
    is row `first` of A. `first`: query of the first row of G. `mode`: 0: Euclidean; 1: angle,
    similarities from distances of unit rows; 2: angle, from cosines. `lanes`: number of groups, a
    multiple of MOST. `lists` (n_queries, k): indices and distances, filled in; distances are
    tangents of half the angles in modes 1 and 2.

    All in one function: one that receives an array, or takes a slice, counts its references, which
    takes as long as most steps here. Unsigned indices let the loops be vectorised.
    """
    slope, alpha, size, r, gamma, unit = terms
    indices, distances = lists
    n, K = B.shape
    k = indices.shape[1]
    is_angle = mode > 0
    a, b, g = A.reshape(-1), B.reshape(-1), G.reshape(-1)
    s = np.empty(n, np.float32)
    top = np.empty(lanes, np.float32)
    most = np.empty(MOST, np.float32)
    groups = np.empty(lanes + 1, np.int64)
    rows = np.empty(n + _TOGETHER, np.int64)
    keys = np.empty(n + _TOGETHER)
    fars = np.empty(n + _TOGETHER)
    ordered = np.empty(MOST, np.int64)
    ranked = np.empty(MOST)
    for block_row in range(G.shape[0]):
        i = first + block_row
        query, base = np.uint64(i * K), np.uint64(block_row * n)
        n_found = np.int64(0)
        reached = np.float32(-np.inf)
        above = np.float32(np.inf)
        # Else too far away for float32: all rows are measured.
        is_bounded = slope[i] < 1e15
        if is_bounded:
            shift = alpha[i]
            for p in range(lanes):
                top[p] = -np.inf
            for start in range(0, n, lanes):
                width, at = min(lanes, n - start), np.uint64(start)
                # fmax, not a comparison: otherwise these loops are not vectorised.
                if mode == 2:
                    for p in range(width):
                        j = at + np.uint64(p)
                        x = (g[base + j] + shift) * r[j] + gamma[j]
                        s[j] = x
                        top[np.uint64(p)] = np.fmax(top[np.uint64(p)], x)
                else:
                    for p in range(width):
                        j = at + np.uint64(p)
                        x = g[base + j]
                        s[j] = x
                        top[np.uint64(p)] = np.fmax(top[np.uint64(p)], x)
            # A value that at least k groups reach, about the k-th largest of their maxima: `most`
            # has the maxima of MOST sets of groups, each set has a group that reaches the least of
            # them, and k is at most MOST. So halving may start there.
            for p in range(MOST):
                most[p] = top[p]
            for start in range(MOST, lanes, MOST):
                for p in range(MOST):
                    most[p] = np.fmax(most[p], top[np.uint64(start + p)])
            reached = high = most[0]
            for p in range(1, MOST):
                reached = min(reached, most[p])
                high = max(high, most[p])
            for _ in range(6):
                middle = np.float32(0.5) * (reached + high)
                count = np.int32(0)
                for p in range(lanes):
                    count += np.int32(top[np.uint64(p)] >= middle)
                if count >= k:
                    reached = middle
                else:
                    high = middle
        while True:
            n_rows = np.int64(0)
            if is_bounded:
                # Always written, but counted only if it holds: a branch would be mispredicted.
                n_groups = 0
                for p in range(lanes):
                    groups[np.uint64(n_groups)] = p
                    n_groups += top[np.uint64(p)] >= reached
                for h in range(n_groups):
                    j = groups[np.uint64(h)]
                    while j < n:
                        rows[np.uint64(n_rows)] = j
                        x = s[np.uint64(j)]
                        n_rows += (x >= reached) & (x < above)
                        j += lanes
            else:
                for j in range(n):
                    rows[j] = j
                n_rows += n
            for t in range(n_rows, n_rows + _TOGETHER):  # measured with the others, in vain
                rows[np.uint64(t)] = 0
            for t in range(0, n_rows, _TOGETHER):
                p0, p1 = np.uint64(rows[t] * K), np.uint64(rows[t + 1] * K)
                p2, p3 = np.uint64(rows[t + 2] * K), np.uint64(rows[t + 3] * K)
                n0, n1, n2, n3 = 0.0, 0.0, 0.0, 0.0
                f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
                if is_angle:
                    for c in range(K):
                        j = np.uint64(c)
                        x = a[query + j]
                        n0 += (x - b[p0 + j]) * (x - b[p0 + j])
                        n1 += (x - b[p1 + j]) * (x - b[p1 + j])
                        n2 += (x - b[p2 + j]) * (x - b[p2 + j])
                        n3 += (x - b[p3 + j]) * (x - b[p3 + j])
                        f0 += (x + b[p0 + j]) * (x + b[p0 + j])
                        f1 += (x + b[p1 + j]) * (x + b[p1 + j])
                        f2 += (x + b[p2 + j]) * (x + b[p2 + j])
                        f3 += (x + b[p3 + j]) * (x + b[p3 + j])
                else:
                    for c in range(K):
                        j = np.uint64(c)
                        x = a[query + j]
                        n0 += (x - b[p0 + j]) * (x - b[p0 + j])
                        n1 += (x - b[p1 + j]) * (x - b[p1 + j])
                        n2 += (x - b[p2 + j]) * (x - b[p2 + j])
                        n3 += (x - b[p3 + j]) * (x - b[p3 + j])
                keys[t], keys[t + 1], keys[t + 2], keys[t + 3] = n0, n1, n2, n3
                fars[t], fars[t + 1], fars[t + 2], fars[t + 3] = f0, f1, f2, f3
            finish_keys(keys[:n_rows], fars[:n_rows], is_angle)
            if n_found == 0 and k <= n_rows <= MOST:
                # Sorted by (key, row) into their places, without branches.
                for c in range(n_rows):
                    key, row = keys[np.uint64(c)], rows[np.uint64(c)]
                    rank = 0
                    for other in range(n_rows):
                        o = np.uint64(other)
                        rank += (keys[o] < key) | ((keys[o] == key) & (rows[o] < row))
                    ordered[rank], ranked[rank] = row, key
                for c in range(k):
                    indices[i, c], distances[i, c] = ordered[c], ranked[c]
                n_found = k
            else:
                for c in range(n_rows):
                    n_found = _insert(keys[c], rows[c], n_found, indices[i], distances[i])
            if reached == -np.inf or above < np.inf:
                break
            # Similarity of the k-th best, minus possible rounding.
            key = distances[i, k - 1]
            if mode == 2:
                square = key * key
                cosine = -1.0 if square == np.inf else (1.0 - square) / (1.0 + square)
                needed = size[i] * (cosine - 1e-11)
            else:
                square = key * key
                if mode == 1:
                    square = 4.0 if square == np.inf else 4.0 * square / (1.0 + square)
                square = square / (unit * unit)
                needed = 0.5 * (size[i] * size[i] - square) - 2e-12 * (size[i] * size[i] + square)
            bound = np.float32(needed - 4e-7 * abs(needed) - 1e-36)
            if bound >= reached:
                break
            above = reached
            reached = bound
