"""Nearest rows of a map, by Euclidean distance or by angle.

Neighbours are ordered by (distance, index). One list of the most neighbours serves all smaller
numbers and both weightings (`tamis.landmarks.votes`). Among few rows all distances are measured;
among many, one product of maps serves both metrics: see `tamis.landmarks._neighbor_kernels` for
how lists are found exactly from float32 products.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from tamis.landmarks._neighbor_kernels import (
    MOST,
    DistanceTerms,
    U,
    measure_all,
    select_nearest,
    shift_maps,
)
from tamis.landmarks.device_neighbors import search_on_device
from tamis.landmarks.distances import as_distances, prepare, row_norms

METRICS = ("euclidean", "angle")
WEIGHTS = ("uniform", "distance")
MOST_NEIGHBORS = MOST
# Float32 products per block, so that a block stays in the cache unless there are many rows.
_BLOCK = 1 << 17
# Among fewer rows than this, finding those that must be measured takes longer than measuring all.
_FEW_ROWS = 256
# Fewer pairs take the processor about as long as calls and copies take for a device.
_LEAST_PAIRS = 1_000_000
# If directions differ by less than this, or some rows are this much smaller than others, unit rows
# get a separate product. It treats a zero row as nearer than a right angle, which is a bound.
_CLOSE = 1e-4
_SMALL = 1e-6


def nearest_rows(
    A: NDArray, B: NDArray, k: int, metrics: Collection[str], device: str | None = None
) -> dict:
    """Find the k rows of `B` nearest to each row of `A`.

    `A` (n_queries, K). `B` (n_rows, K). `k`: at most `n_rows` and at most 64.
    """
    if not 1 <= k <= min(MOST, B.shape[0]):
        raise ValueError(f"k must be between 1 and {min(MOST, B.shape[0])}, got {k!r}.")
    if device is not None and A.shape[0] * B.shape[0] >= _LEAST_PAIRS:
        return _search_on_device(A, B, k, metrics, device)
    if B.shape[0] < _FEW_ROWS:
        return {metric: _measure_all(A, B, k, metric) for metric in metrics}
    searches = []
    plain = None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if "euclidean" in metrics:
            plain = _Products(A, B)
            searches.append(("euclidean", plain, _Search(A, B, k, 0, plain.by_distance())))
        if "angle" in metrics:
            unit_A, unit_B = prepare(A, "angle"), prepare(B, "angle")
            sizes = row_norms(B)
            spread = 1.0 - np.sum(unit_B.mean(axis=0) ** 2)
            if spread > _CLOSE and sizes.min() > _SMALL * sizes.max():
                plain = _Products(A, B) if plain is None else plain
                terms = plain.by_cosine(row_norms(A), sizes)
                searches.append(("angle", plain, _Search(unit_A, unit_B, k, 2, terms)))
            else:
                close = _Products(unit_A, unit_B)
                searches.append(
                    ("angle", close, _Search(unit_A, unit_B, k, 1, close.by_distance()))
                )
        # Products are fastest for multiples of eight queries, and slow for very few.
        step = 8 * max(4, round(_BLOCK / (8 * B.shape[0])))
        for first in range(0, A.shape[0], step):
            block = multiplied = None
            for _, products, search in searches:
                if multiplied is not products:
                    block, multiplied = products.block(first, step), products
                search.run(block, first)
    return {metric: search.result() for metric, _, search in searches}


def _measure_all(A, B, k, metric):
    queries = np.ascontiguousarray(prepare(A, metric))
    by_landmark = np.ascontiguousarray(prepare(B, metric).T)
    indices, keys = np.empty((A.shape[0], k), dtype=np.int64), np.empty((A.shape[0], k))
    measure_all(queries, by_landmark, metric == "angle", indices, keys)
    return indices, as_distances(keys, metric)


def _search_on_device(A, B, k, metrics, device):
    found = {}
    on_device = search_on_device(A, B, k, metrics, device)
    for metric, (indices, distances, proven) in on_device.items():
        rest = np.flatnonzero(~proven)
        if rest.size:
            indices[rest], distances[rest] = nearest_rows(A[rest], B, k, [metric])[metric]
        found[metric] = indices, distances
    return found


class _Products:
    """Bounds of the similarities of queries and rows, from float32 products."""

    def __init__(self, A, B):
        self.maps = shift_maps(A, B)
        self.slope = (B.shape[1] + 18) * U * self.maps.a_norm
        self.room = None

    def block(self, first, step):
        """Products of some queries with all rows; the next call writes over them."""
        a, bT = self.maps.a32[first : first + step], self.maps.bT32
        if self.room is None:
            self.room = np.empty((step, bT.shape[1]), dtype=np.float32)
        return np.matmul(a, bT, out=self.room[: a.shape[0]])

    def by_distance(self):
        """Terms for similarities by distance: the product is the bound."""
        nothing = np.zeros(0, dtype=np.float32)
        alpha = np.zeros(self.slope.size, dtype=np.float32)
        return DistanceTerms(self.slope, alpha, self.maps.a_norm, nothing, nothing, self.maps.unit)

    def by_cosine(self, a_size, b_size):
        """Terms for similarities that are cosines times the query's norm."""
        maps = self.maps
        mean = maps.mean / maps.unit
        mu = np.sqrt(mean @ mean)
        a_size, r = a_size / maps.unit, maps.unit / b_size
        alpha = maps.a_mean + mu * mu + 16 * U * a_size * mu
        gamma = maps.b_mean - maps.gamma
        gamma += 16 * U * (np.sqrt(maps.b_square) * mu + maps.b_square)
        return DistanceTerms(
            self.slope,
            alpha.astype(np.float32),
            a_size,
            r.astype(np.float32),
            (gamma * r).astype(np.float32),
            maps.unit,
        )


class _Search:
    """The lists of one metric, filled block by block."""

    def __init__(self, A, B, k, mode, terms):
        self.A, self.B = np.ascontiguousarray(A), np.ascontiguousarray(B)
        self.mode, self.terms = mode, terms
        self.lanes = 128 if B.shape[0] < 2048 else 256
        # Rows whose similarities are NaN may leave places unfilled, so all start as valid ones.
        self.indices = np.zeros((A.shape[0], k), dtype=np.int64)
        self.distances = np.empty((A.shape[0], k))

    def run(self, product, first):
        lists = self.indices, self.distances
        select_nearest(self.A, self.B, product, self.terms, first, self.mode, self.lanes, lists)

    def result(self):
        if self.mode:
            return self.indices, 2.0 * np.arctan(self.distances)
        return self.indices, self.distances
