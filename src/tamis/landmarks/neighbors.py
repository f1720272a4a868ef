"""Nearest rows of a map, by Euclidean distance or by angle, and their votes.

Neighbours are ordered by (distance, index). Distance weights are 1 / d, and where a neighbour is
at distance 0 only those at 0 vote. One list of the most neighbours serves all smaller numbers and
both weightings. See `tamis.landmarks._neighbor_kernels` for how the list is found exactly from
float32 products.
"""

import numpy as np

from tamis.landmarks._neighbor_kernels import (
    PARTS,
    select_nearest,
    vote_codes,
    vote_shares,
)
from tamis.landmarks.distances import prepare

__all__ = ["METRICS", "MOST_NEIGHBORS", "WEIGHTS", "nearest_rows", "vote_codes", "vote_shares"]

METRICS = ("euclidean", "angle")
WEIGHTS = ("uniform", "distance")
MOST_NEIGHBORS = PARTS
# Float32 products that are held at a time: a block that stays in the cache.
_BLOCK = 1 << 17


def nearest_rows(A, B, k, metric):
    """The k rows of `B` nearest to every row of `A`.

    Parameters
    ----------
    A : ndarray of shape (n_queries, K)
        Maps of the queries.
    B : ndarray of shape (n_rows, K)
        Maps of the training rows.
    k : int
        At most `n_rows` and at most 64.
    metric : {"euclidean", "angle"}

    Returns
    -------
    indices : ndarray of int of shape (n_queries, k)
    distances : ndarray of shape (n_queries, k)
    """
    is_angle = metric == "angle"
    A = np.ascontiguousarray(prepare(A, metric))
    B = np.ascontiguousarray(prepare(B, metric))
    if not 1 <= k <= min(PARTS, B.shape[0]):
        raise ValueError(f"k must be between 1 and {min(PARTS, B.shape[0])}, got {k!r}.")
    # Shifted and scaled: float32 then has its digits where the rows differ.
    shift = B.mean(axis=0)
    B32 = B - shift
    size = np.sqrt(np.einsum("ij,ij->i", B32, B32))
    unit = size.max(initial=0.0)
    unit = unit if np.isfinite(unit) and unit > 0 else 1.0
    B32 = (B32 / unit).astype(np.float32)
    norm = (size / unit).astype(np.float32) * np.float32(1.0 + 2.0**-20)
    square = ((size / unit) ** 2).astype(np.float32)
    if is_angle:
        # A zero row is at a right angle to all others, which its place does not tell: with a score
        # that is no number it is always measured.
        square[~B.any(axis=1)] = np.nan
    indices = np.empty((A.shape[0], k), dtype=np.int64)
    distances = np.empty((A.shape[0], k))
    BT = B32.T
    step = max(1, _BLOCK // B.shape[0])
    with np.errstate(over="ignore", invalid="ignore"):
        A32 = (A - shift) / unit
        a_norm = np.sqrt(np.einsum("ij,ij->i", A32, A32)).astype(np.float32)
        a_norm *= np.float32(1.0 + 2.0**-20)
        A32 = A32.astype(np.float32)
        for first in range(0, A.shape[0], step):
            G = A32[first : first + step] @ BT
            select_nearest(A, B, G, square, norm, a_norm, first, is_angle, indices, distances)
    return indices, distances
