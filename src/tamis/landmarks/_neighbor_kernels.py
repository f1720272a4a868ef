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
def _measure(a, B, rows, n_rows, is_angle, keys, fars):
    """Keys of some rows: distances, or tangents of half the angles; four at a time."""
    K = a.size
    start = 0
    while start < n_rows:
        b0 = B[rows[start]]
        b1 = B[rows[min(start + 1, n_rows - 1)]]
        b2 = B[rows[min(start + 2, n_rows - 1)]]
        b3 = B[rows[min(start + 3, n_rows - 1)]]
        n0, n1, n2, n3 = 0.0, 0.0, 0.0, 0.0
        f0, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0
        if is_angle:
            for j in range(K):
                x = a[j]
                n0 += (x - b0[j]) * (x - b0[j])
                n1 += (x - b1[j]) * (x - b1[j])
                n2 += (x - b2[j]) * (x - b2[j])
                n3 += (x - b3[j]) * (x - b3[j])
                f0 += (x + b0[j]) * (x + b0[j])
                f1 += (x + b1[j]) * (x + b1[j])
                f2 += (x + b2[j]) * (x + b2[j])
                f3 += (x + b3[j]) * (x + b3[j])
        else:
            for j in range(K):
                x = a[j]
                n0 += (x - b0[j]) * (x - b0[j])
                n1 += (x - b1[j]) * (x - b1[j])
                n2 += (x - b2[j]) * (x - b2[j])
                n3 += (x - b3[j]) * (x - b3[j])
        keys[start], keys[start + 1], keys[start + 2], keys[start + 3] = n0, n1, n2, n3
        fars[start], fars[start + 1], fars[start + 2], fars[start + 3] = f0, f1, f2, f3
        start += 4
    finish_keys(keys[:n_rows], fars[:n_rows], is_angle)


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


@compiled
def _place(keys, rows, ordered, ranked, index, distance):
    """Sort some rows by (key, row) into their places, without branches."""
    n_rows = keys.size
    for c in range(n_rows):
        key = keys[c]
        row = rows[c]
        rank = 0
        for other in range(n_rows):
            x = keys[other]
            rank += (x < key) | ((x == key) & (rows[other] < row))
        ordered[rank] = row
        ranked[rank] = key
    for r in range(index.size):
        index[r] = ordered[r]
        distance[r] = ranked[r]


# Slices, loops from 0 and fmax (not a comparison): otherwise these are not vectorised.


@compiled
def _bound(s, g, r, gamma, shift):
    for j in range(s.size):
        s[j] = (g[j] + shift) * r[j] + gamma[j]


@compiled
def _raise(top, s):
    for p in range(s.size):
        top[p] = np.fmax(top[p], s[p])


@compiled
def _reached_by(top, most, k):
    """A value that at least k of `top` reach, about the k-th largest.

    `most` takes the maxima of MOST sets of groups. Each set has a group that reaches the least of
    them, and k is at most MOST: so halving may start there.
    """
    for p in range(most.size):
        most[p] = top[p]
    for start in range(most.size, top.size, most.size):
        _raise(most, top[start : start + most.size])
    low = most[0]
    high = most[0]
    for p in range(1, most.size):
        low = min(low, most[p])
        high = max(high, most[p])
    for _ in range(6):
        middle = np.float32(0.5) * (low + high)
        count = np.int32(0)
        for p in range(top.size):
            count += np.int32(top[p] >= middle)
        if count >= k:
            low = middle
        else:
            high = middle
    return low


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
    similarities from distances of unit rows; 2: angle, from cosines. `lanes`: number of groups.
    `lists` (n_queries, k): indices and distances, filled in; distances are tangents of half the
    angles in modes 1 and 2.
    """
    slope, alpha, size, r, gamma, unit = terms
    indices, distances = lists
    n = B.shape[0]
    k = indices.shape[1]
    is_angle = mode > 0
    cosines = np.empty(n, np.float32)
    top = np.empty(lanes, np.float32)
    most = np.empty(MOST, np.float32)
    groups = np.empty(lanes + 1, np.int64)
    rows = np.empty(n + 3, np.int64)
    keys = np.empty(n + 3)
    fars = np.empty(n + 3)
    ordered = np.empty(MOST, np.int64)
    ranked = np.empty(MOST)
    for block_row in range(G.shape[0]):
        i = first + block_row
        g = G[block_row]
        index = indices[i]
        distance = distances[i]
        n_found = np.int64(0)
        reached = np.float32(-np.inf)
        above = np.float32(np.inf)
        # Else too far away for float32: all rows are measured.
        is_bounded = slope[i] < 1e15
        s = g
        if is_bounded:
            if mode == 2:
                _bound(cosines, g, r, gamma, alpha[i])
                s = cosines
            for p in range(lanes):
                top[p] = -np.inf
            for start in range(0, n, lanes):
                _raise(top, s[start : min(start + lanes, n)])
            reached = _reached_by(top, most, k)
        while True:
            n_rows = np.int64(0)
            if is_bounded:
                # Always written, but counted only if it holds: a branch would be mispredicted.
                n_groups = 0
                for p in range(lanes):
                    groups[n_groups] = p
                    n_groups += top[p] >= reached
                for h in range(n_groups):
                    j = groups[h]
                    while j < n:
                        rows[n_rows] = j
                        n_rows += (s[j] >= reached) & (s[j] < above)
                        j += lanes
            else:
                for j in range(n):
                    rows[j] = j
                n_rows += n
            _measure(A[i], B, rows, n_rows, is_angle, keys, fars)
            if n_found == 0 and k <= n_rows <= MOST:
                _place(keys[:n_rows], rows[:n_rows], ordered, ranked, index, distance)
                n_found = k
            else:
                for c in range(n_rows):
                    n_found = _insert(keys[c], rows[c], n_found, index, distance)
            if reached == -np.inf or above < np.inf:
                break
            # Similarity of the k-th best, minus possible rounding.
            key = distance[k - 1]
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
