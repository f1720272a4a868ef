r"""Compiled selection of nearest rows, and their votes.

Products of float32 maps give every distance up to a bound, and only rows that may be among the
nearest are measured again in double precision, differences squared and summed in order. With
:math:`u = 2^{-24}` and the maps shifted by a common vector,

.. math:: \big| \widehat{a \cdot b} - a \cdot b \big| \le (K + 4) u \, \|a\| \|b\|,

so :math:`\|b\|^2 - 2 a \cdot b` lies within :math:`e_{ij} = 2 (K + 8) u \|a_i\| \|b_j\| + 4 u
\|b_j\|^2 + 2^{-38} (\|a_i\|^2 + \|b_j\|^2)` of the score; the last term is for rounding in double
precision and for the 12 digits that distances keep.

A bound for the k-th smallest score comes from the smallest ones of 64 interleaved parts: k of them
are at most the k-th smallest of these 64. It is one vectorised pass, and about k rows pass it.
"""

import math

import numpy as np

from tamis._compile import compiled

__all__ = ["PARTS", "select_nearest", "vote_codes", "vote_shares"]

PARTS = 64
TIE = 1e-12
_SAME_DIRECTION = 1e-15


@compiled
def _measure(a, b, is_angle):
    near = 0.0
    for j in range(a.size):
        gap = a[j] - b[j]
        near += gap * gap
    value = math.sqrt(near)
    if is_angle:
        if value <= _SAME_DIRECTION:
            return 0.0
        far = 0.0
        for j in range(a.size):
            total = a[j] + b[j]
            far += total * total
        value = 2.0 * math.atan2(value, math.sqrt(far))
    scaled = value * 4097.0
    return scaled - (scaled - value)


@compiled
def select_nearest(A, B, G, square, norm, a_norm, first, is_angle, indices, distances):
    """Fill in the nearest rows of `B` to some rows of `A`, by (distance, index).

    Parameters
    ----------
    A, B : float64 (n_queries, K), (n_rows, K)
        Maps (unit rows for angles).
    G : float32 (n_block, n_rows)
        Products of shifted rows, A's from `first` on.
    square, norm : float32 (n_rows,)
        Squared norms and norms of the shifted rows of B.
    a_norm : float32 (n_queries,)
        Norms of the shifted rows of A.
    first : int
        Query of the first row of G.
    is_angle : bool
    indices, distances : (n_queries, k)
        Filled in.
    """
    n = B.shape[0]
    K = B.shape[1]
    k = indices.shape[1]
    u = np.float32(2.0**-24)
    of_product = np.float32(2.0) * np.float32(K + 8) * u
    rest = np.float32(2.0**-38)
    of_square = np.float32(4.0) * u + rest
    tiny = np.float32(1e-36)
    two = np.float32(2.0)
    lower = np.empty(n, np.float32)
    part = np.empty(PARTS, np.float32)
    whole = n - n % PARTS
    for row in range(G.shape[0]):
        i = first + row
        g = G[row]
        by_norm = of_product * a_norm[i]
        fixed = rest * a_norm[i] * a_norm[i] + tiny
        part[:] = np.inf
        for start in range(0, whole, PARTS):
            for p in range(PARTS):
                j = start + p
                score = square[j] - two * g[j]
                error = by_norm * norm[j] + of_square * square[j]
                lower[j] = score - error
                if score + error < part[p]:
                    part[p] = score + error
        for j in range(whole, n):
            score = square[j] - two * g[j]
            error = by_norm * norm[j] + of_square * square[j]
            lower[j] = score - error
            if score + error < part[j - whole]:
                part[j - whole] = score + error
        bound = np.partition(part, k - 1)[k - 1] + two * fixed
        found = 0
        index = indices[i]
        distance = distances[i]
        for j in range(n):
            # Not "lower <= bound": a row whose score is no number has to be measured.
            if lower[j] > bound:
                continue
            value = _measure(A[i], B[j], is_angle)
            if found == k and not value < distance[k - 1]:
                continue  # rows come in order of their index, so equals stay behind
            place = min(found, k - 1)
            while place > 0 and value < distance[place - 1]:
                distance[place] = distance[place - 1]
                index[place] = index[place - 1]
                place -= 1
            distance[place] = value
            index[place] = j
            found = min(found + 1, k)


@compiled
def vote_shares(indices, distances, codes, class_weight, k, by_distance):
    """Votes of the k nearest rows for every class, (n_queries, n_classes), summing to 1.

    Shares that are equal to 12 digits are equal.
    """
    n = indices.shape[0]
    votes = np.zeros((n, class_weight.size))
    for i in range(n):
        at_zero = by_distance and distances[i, 0] == 0.0
        for r in range(k):
            c = codes[indices[i, r]]
            if not by_distance:
                votes[i, c] += class_weight[c]
            elif at_zero:
                # A row at distance 0 outweighs all that are not.
                if distances[i, r] == 0.0:
                    votes[i, c] += class_weight[c]
            else:
                # Relative to the nearest: 1 / d alone may overflow.
                votes[i, c] += class_weight[c] * (distances[i, 0] / distances[i, r])
        votes[i] /= votes[i].sum()
        top = votes[i].max()
        for c in range(class_weight.size):
            if top - votes[i, c] <= TIE:
                votes[i, c] = top
    return votes


@compiled
def vote_codes(indices, distances, codes, class_weight, ks, by_distance):
    """Class with most votes for every number of neighbours in `ks`, (len(ks), n_queries)."""
    n = indices.shape[0]
    out = np.empty((ks.size, n), np.int64)
    for s in range(ks.size):
        votes = vote_shares(indices, distances, codes, class_weight, ks[s], by_distance)
        for i in range(n):
            best = 0
            for c in range(1, class_weight.size):
                if votes[i, c] > votes[i, best]:
                    best = c
            out[s, i] = best
    return out
