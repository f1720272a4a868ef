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
# Where directions differ less than this, or some rows are so much smaller than others, unit rows
# have a product of their own. It says of a zero row that it is nearer than a right angle: a bound.
_CLOSE = 1e-4
_SMALL = 1e-6


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
            sizes = row_norms(B)
            spread = 1.0 - np.sum(V.mean(axis=0) ** 2)
            if spread > _CLOSE and sizes.min() > _SMALL * sizes.max():
                plain = _Shifted(A, B) if plain is None else plain
                terms = plain.by_cosine(row_norms(A), sizes)
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
        # Two more columns make the product the bound of a similarity by distance.
        self.norm = np.sqrt(self.b_square)
        self.gamma = -0.5 * self.b_square * (1.0 - 32 * _U)
        self.slope = (self.K + 18) * _U * self.a_norm
        self.a32 = np.empty((A.shape[0], self.K + 2), dtype=np.float32)
        self.a32[:, : self.K], self.a32[:, -2], self.a32[:, -1] = self.a, self.slope, 1.0
        self.bT32 = np.empty((self.K + 2, B.shape[0]), dtype=np.float32)
        self.bT32[: self.K], self.bT32[-2], self.bT32[-1] = self.b.T, self.norm, self.gamma
        self.room = None

    def product(self, first, step):
        """Products of some queries with all rows; the next call writes over them."""
        a = self.a32[first : first + step]
        if self.room is None:
            self.room = np.empty((step, self.bT32.shape[1]), dtype=np.float32)
        return np.matmul(a, self.bT32, out=self.room[: a.shape[0]])

    def by_distance(self):
        """Terms for similarities by distance: the product is the bound."""
        nothing = np.zeros(0, dtype=np.float32)
        return np.zeros(self.a_norm.size, dtype=np.float32), self.a_norm, nothing, nothing

    def by_cosine(self, a_size, b_size):
        """Terms for similarities that are cosines times the query's norm."""
        mean = self.mean / self.unit
        mu = np.sqrt(mean @ mean)
        a_size, b_size = a_size / self.unit, b_size / self.unit
        r = 1.0 / b_size
        alpha = self.a @ mean + mu * mu + 16 * _U * a_size * mu
        gamma = self.b @ mean - self.gamma + 16 * _U * (self.norm * mu + self.b_square)
        return (
            alpha.astype(np.float32),
            a_size,
            r.astype(np.float32),
            (gamma * r).astype(np.float32),
        )


class _Search:
    """One metric's lists, filled in block by block."""

    def __init__(self, shifted, A, B, k, mode, *terms):
        self.A, self.B = np.ascontiguousarray(A), np.ascontiguousarray(B)
        self.mode = mode
        self.terms = (shifted.slope, *terms, shifted.unit)
        self.lanes = 128 if B.shape[0] < 2048 else 256
        # Rows whose similarities are no numbers may fill no place: it is then a valid one.
        self.indices = np.zeros((A.shape[0], k), dtype=np.int64)
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
