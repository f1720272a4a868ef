r"""How landmarks are chosen: Section 3.1 of the paper.

========== =====================================================================================
random     rows drawn without replacement
fft        farthest-first traversal (Alg. 1): a random row, then always the row farthest from
           those chosen; equally far rows: the lowest index
kmeans     k-means++ seeds, then Lloyd's iterations; Euclidean, and centroids only
density    a random row takes its nearest rows away, then a random one of the rest, ...; the
           balls share the rows as evenly as possible, so that there are exactly K of them
========== =====================================================================================

A *center* is a row of the data. A *centroid* is the mean of a region: of the rows nearest to a
center, or of a ball of the density net (with angles: the mean of the unit rows). An empty region
keeps its center.

**Nested.** The first 4, 8, 16, 32 of 64 random, farthest-first or k-means++ seeds are what 4, 8,
16, 32 would have been: a `Sampler` draws them once for all sizes and, for farthest-first, keeps
the distances it computed on the way.

**Draws.** Each sampler starts with a new ``RandomState(seed)``: random is ``permutation(n)``; fft
is ``randint(n)``; kmeans is ``randint(n)``, then one ``random_sample()`` per seed; density is one
``random_sample()`` per ball. They do not depend on the data, so that a search over several sets of
columns makes them once: a new ``RandomState`` takes a tenth of a millisecond.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis.landmarks.distances import (
    as_distances,
    distances,
    keys_to_row,
    prepare,
    region_means,
    take_rows,
)

SAMPLERS = ("fft", "kmeans", "density", "random")
_MOST_LLOYD = 100


class Sampler:
    """Draws landmarks of any number and kind from some rows, by one method and one seed.

    `X` (n_samples, n_features): rows; `largest`: largest number of landmarks that will be drawn.
    """

    def __init__(self, method: str, X: Matrix, distance: str, seed: int, largest: int) -> None:
        self.method = method
        self.X = X
        self.distance = distance
        self.P = prepare(X, distance)
        self.seed = seed
        self.largest = min(largest, X.shape[0])
        self._order = None
        self._columns = None
        self._nets: dict[Any, Any] = {}

    def draw(self, n_landmarks: int, kind: str) -> tuple[NDArray, NDArray | None, NDArray | None]:
        """Draw landmarks, and find the rows that they are.

        `n_landmarks`: at most `largest`; all rows if there are fewer. Returns `points`
        (n_landmarks, n_features); `rows` (n_landmarks,), or None: for centers, the indices of
        their rows; `D` (n_samples, n_landmarks), or None: distances of the rows to the landmarks
        if they are known already.
        """
        k = min(n_landmarks, self.X.shape[0])
        if self.method == "kmeans":
            points, D = self._lloyd(take_rows(self.X, self._seeds()[:k]))
            return points, None, D
        if self.method == "density":
            rows, region, D = self._net(k)
            centers = take_rows(self.X, rows)
            if kind == "centers":
                return centers, rows, D
            return region_means(self.P, region, centers), None, None
        rows = self._ordered_rows()[:k]
        centers = take_rows(self.X, rows)
        D = np.ascontiguousarray(self._distances_to_order()[:, :k])
        if kind == "centers":
            return centers, rows, D
        return region_means(self.P, D.argmin(axis=1), centers), None, None

    def _draws(self):
        return draw_numbers(self.method, self.X.shape[0], self.largest, self.seed)

    @cached_property
    def _by_feature(self):
        return None if is_sparse(self.P) else np.ascontiguousarray(self.P.T)

    def _keys_to(self, row):
        return keys_to_row(self.P, self._by_feature, row, self.distance)

    def _from_keys(self, keys):
        """Distances of shape (n_samples, n_landmarks) from keys of the transposed shape."""
        return as_distances(np.ascontiguousarray(keys.T), self.distance)

    def _ordered_rows(self):
        if self._order is None:
            if self.method == "random":
                self._order = self._draws()[0].copy()
            else:
                self._order, self._columns = self._traverse()
        return self._order

    def _distances_to_order(self):
        if self._columns is None:
            everything = take_rows(self.X, self._order)
            self._columns = distances(self.P, everything, self.distance)
        return self._columns

    def _traverse(self):
        """Farthest-first traversal: the chosen rows, and the distances to them."""
        n = self.X.shape[0]
        rows = np.empty(self.largest, dtype=np.int64)
        keys = np.empty((self.largest, n))
        nearest = np.full(n, np.inf)
        rows[0] = self._draws()[0]
        for r in range(self.largest):
            keys[r] = self._keys_to(rows[r])
            np.minimum(nearest, keys[r], out=nearest)
            nearest[rows[r]] = -1.0  # chosen rows are not chosen again
            if r + 1 < self.largest:
                rows[r + 1] = nearest.argmax()
        return rows, self._from_keys(keys)

    def _net(self, k):
        """Centers of the balls, the ball of each row, and distances to the centers."""
        if k not in self._nets:
            n = self.X.shape[0]
            draws = self._draws()[1]
            rows = np.empty(k, dtype=np.int64)
            region = np.empty(n, dtype=np.int64)
            keys = np.empty((k, n))
            pending = np.arange(n)
            for ball in range(k):
                center = int(draws[ball] * pending.size)
                rows[ball] = pending[center]
                keys[ball] = self._keys_to(rows[ball])
                near = keys[ball].take(pending)
                near[center] = -1.0  # before its own copies
                size = n // k + (ball < n % k)
                ordered = near.copy()
                ordered.partition(size - 1)
                taken = near <= ordered[size - 1]
                surplus = np.count_nonzero(taken) - size
                if surplus:  # of the equally near rows, the first ones
                    taken[np.flatnonzero(near == ordered[size - 1])[-surplus:]] = False
                region[pending[taken]] = ball
                pending = pending[~taken]
            self._nets[k] = rows, region, self._from_keys(keys)
        return self._nets[k]

    def _seeds(self):
        """Seeds of k-means++: rows drawn in proportion to squared distances to those before."""
        if self._order is None:
            n = self.X.shape[0]
            first, draws = self._draws()
            rows = [first]
            nearest = np.full(n, np.inf)
            for draw in draws[: self.largest - 1]:
                np.minimum(nearest, self._keys_to(rows[-1]) ** 2, out=nearest)
                mass = np.cumsum(nearest)
                position = np.searchsorted(mass, draw * mass[-1], side="right")
                if mass[-1] == 0:  # as many distinct rows as seeds: any other row will do
                    position = np.setdiff1d(np.arange(n), rows)[0]
                rows.append(min(int(position), n - 1))
            self._order = np.array(rows)
        return self._order

    def _lloyd(self, points):
        """Centroids from seeds, and the distances of the rows to them if known."""
        region = None
        for _ in range(_MOST_LLOYD):
            D = distances(self.P, points, "euclidean")
            nearest = D.argmin(axis=1)
            if region is not None and np.array_equal(nearest, region):
                return points, D
            region = nearest
            points = region_means(self.P, region, points)
        return points, None


@lru_cache(maxsize=256)
def draw_numbers(method: str, n_rows: int, largest: int, seed: int) -> tuple[Any, Any]:
    """Rows that come first, and random numbers for at most `largest` others.

    Numbers for fewer landmarks are the first of those for many.
    """
    random_state = np.random.RandomState(seed)
    if method == "random":
        return random_state.permutation(n_rows)[:largest].copy(), None
    first = None if method == "density" else random_state.randint(n_rows)
    return first, random_state.random_sample(largest)


class ClassSampler:
    """One `Sampler` per class, with the landmarks shared out among the classes.

    `codes` (n_samples,).
    """

    def __init__(
        self, method: str, X: Matrix, distance: str, seed: int, largest: int, codes: NDArray
    ) -> None:
        self.parts = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
        self.sizes = np.array([part.size for part in self.parts])
        most = share_out(largest, self.sizes)
        self.samplers = {
            c: Sampler(method, X[part], distance, seed, most[c])
            for c, part in enumerate(self.parts)
            if most[c]
        }

    def draw(self, n_landmarks: int, kind: str) -> tuple[NDArray, NDArray | None, NDArray | None]:
        """As `Sampler.draw`; the landmarks of the first class come first."""
        points: list[NDArray] = []
        rows: list[Any] = []
        for c, k in enumerate(share_out(n_landmarks, self.sizes)):
            if k:
                drawn, at, _ = self.samplers[c].draw(k, kind)
                points.append(drawn)
                rows.append(None if at is None else self.parts[c][at])
        known = all(at is not None for at in rows)
        return np.concatenate(points), np.concatenate(rows) if known else None, None


def share_out(n_landmarks: int, class_sizes: NDArray) -> NDArray[np.int64]:
    """Number of landmarks per class: as equal as the class sizes allow.

    `n_landmarks`: total number of landmarks; `class_sizes` (n_classes,): number of rows of each
    class. Returns `shares` (n_classes,).

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.landmarks.choose import share_out
    >>> share_out(8, np.array([100, 2, 50])).tolist()
    [3, 2, 3]
    """
    shares = np.zeros(class_sizes.size, dtype=np.int64)
    left = min(n_landmarks, int(class_sizes.sum()))
    while left:
        open_classes = np.flatnonzero(shares < class_sizes)[:left]
        each = max(1, min(left // open_classes.size, (class_sizes - shares)[open_classes].min()))
        shares[open_classes] += each
        left -= each * open_classes.size
    return shares
