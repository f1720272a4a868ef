"""Nearest rows of a map, by Euclidean distance or by angle, and their votes.

Neighbours are ordered by (distance, index). Distance weights are 1 / d, and where a neighbour is
at distance 0 only those at 0 vote. One list of the most neighbours serves all smaller numbers and
both weightings, and one product of maps serves both metrics. See
`tamis.landmarks._neighbor_kernels` for how lists are found exactly from float32 products.
"""

import numpy as np

from tamis.landmarks._neighbor_kernels import MOST, select_nearest, vote_codes, vote_shares
from tamis.landmarks.distances import prepare, row_norms

__all__ = ["METRICS", "MOST_NEIGHBORS", "WEIGHTS", "nearest_rows", "vote_codes", "vote_shares"]

METRICS = ("euclidean", "angle")
WEIGHTS = ("uniform", "distance")
MOST_NEIGHBORS = MOST
# Float32 products that are held at a time: a block that stays in the cache.
_BLOCK = 1 << 17
_U = 2.0**-24
# Directions that differ less than this are shifted before they are rounded to float32.
_CLOSE = 1e-4


def nearest_rows(A, B, k, metrics):
    """The k rows of `B` nearest to every row of `A`.

    Parameters
    ----------
    A : ndarray of shape (n_queries, K)
        Maps of the queries.
    B : ndarray of shape (n_rows, K)
        Maps of the training rows.
    k : int
        At most `n_rows` and at most 64.
    metrics : sequence of {"euclidean", "angle"}
        Metrics to find neighbours by.

    Returns
    -------
    found : dict
        For every metric, indices and distances, both (n_queries, k).
    """
    if not 1 <= k <= min(MOST, B.shape[0]):
        raise ValueError(f"k must be between 1 and {min(MOST, B.shape[0])}, got {k!r}.")
    searches = []
    plain = None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if "euclidean" in metrics:
            plain = _Shifted(A, B)
            searches.append(("euclidean", plain, _Search(plain, A, B, k, 0, *plain.by_distance())))
        if "angle" in metrics:
            U, V = prepare(A, "angle"), prepare(B, "angle")
            has_zero = not V.any(axis=1).all()
            spread = 1.0 - np.sum(V.mean(axis=0) ** 2)
            if has_zero or spread > _CLOSE:
                plain = _Shifted(A, B) if plain is None else plain
                terms = plain.by_cosine(row_norms(A), row_norms(B))
                searches.append(("angle", plain, _Search(plain, U, V, k, 2, *terms)))
            else:
                close = _Shifted(U, V)
                searches.append(("angle", close, _Search(close, U, V, k, 1, *close.by_distance())))
        step = max(1, _BLOCK // B.shape[0])
        for first in range(0, A.shape[0], step):
            product = of = None
            for _, shifted, search in searches:
                if of is not shifted:
                    product, of = shifted.product(first, step), shifted
                search.run(product, first)
    return {metric: search.result() for metric, _, search in searches}


class _Shifted:
    """Maps shifted by their mean and scaled: float32 then has its digits where rows differ."""

    def __init__(self, A, B):
        self.K = B.shape[1]
        self.mean = B.mean(axis=0)
        b = B - self.mean
        self.b_square = np.einsum("ij,ij->i", b, b)
        unit = np.sqrt(self.b_square.max(initial=0.0))
        self.unit = float(unit) if np.isfinite(unit) and unit > 0 else 1.0
        self.a = (A - self.mean) / self.unit
        self.b = b / self.unit
        self.b_square /= self.unit**2
        self.a_norm = np.sqrt(np.einsum("ij,ij->i", self.a, self.a))
        self.a32 = self.a.astype(np.float32)
        self.bT32 = np.ascontiguousarray(self.b.T, dtype=np.float32)
        self.room = None

    def product(self, first, step):
        """Products of some queries with all rows; the next call writes over them."""
        a = self.a32[first : first + step]
        if self.room is None:
            self.room = np.empty((step, self.bT32.shape[1]), dtype=np.float32)
        return np.matmul(a, self.bT32, out=self.room[: a.shape[0]])

    def by_distance(self):
        """Terms of the bounds, for similarities that are larger where distances are smaller."""
        n = self.b_square.size
        gamma = -0.5 * self.b_square * (1.0 - 8 * _U)
        return self._terms(np.zeros(self.a_norm.size), self.a_norm, np.ones(n), gamma)

    def by_cosine(self, a_size, b_size):
        """Terms of the bounds, for similarities that are cosines times the query's norm."""
        mean = self.mean / self.unit
        mu = np.sqrt(mean @ mean)
        a_size, b_size = a_size / self.unit, b_size / self.unit
        r = np.where(b_size > 0, 1.0 / np.where(b_size > 0, b_size, 1.0), 0.0)
        alpha = self.a @ mean + mu * mu + 16 * _U * a_size * mu
        gamma = (self.b @ mean + 16 * _U * np.sqrt(self.b_square) * mu) * r
        return self._terms(alpha, a_size, r, gamma)

    def _terms(self, alpha, size, r, gamma):
        slope = (self.K + 16) * _U * self.a_norm
        norm = np.sqrt(self.b_square)
        narrow = (x.astype(np.float32) for x in (norm, r, gamma))
        return alpha.astype(np.float32), slope.astype(np.float32), size, *narrow


class _Search:
    """One metric's lists, filled in block by block."""

    def __init__(self, shifted, A, B, k, mode, *terms):
        self.A, self.B = np.ascontiguousarray(A), np.ascontiguousarray(B)
        self.mode = mode
        self.terms = (*terms, shifted.unit)
        self.lanes = 128 if B.shape[0] < 2048 else 256
        self.indices = np.empty((A.shape[0], k), dtype=np.int64)
        self.distances = np.empty((A.shape[0], k))

    def run(self, product, first):
        select_nearest(
            self.A,
            self.B,
            product,
            *self.terms,
            first,
            self.mode,
            self.lanes,
            self.indices,
            self.distances,
        )

    def result(self):
        if self.mode:
            return self.indices, 2.0 * np.arctan(self.distances)
        return self.indices, self.distances
