r"""Medians of dense chunks by brackets: a sample says where they are, a pass finds them there.

The first pass keeps some random rows of each class. A bracket is an interval of a column between
two values of the sample, whose ranks are :math:`1/2 \pm 2.5 / \sqrt s` for s rows: five standard
errors, so the median of all rows is almost never outside. A pass adds up the weights below the
bracket and at its ends, and collects the values strictly between, a share of about
:math:`5 / \sqrt s`; many equal values therefore cost nothing. If these would not fit into memory,
the pass collects those of some random rows only, which give a bracket that is narrower.

Each class has a bracket, and so have all classes together, each of the same weight: shapes
(2, C, m), where the second one is the same for all classes. Results do not depend on the sample: a
bracket that misses is noticed, and `tamis.centers.median_search` then finds all medians digit by
digit.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis.centers._key_kernels import collect_inside, group_inside
from tamis.centers.segments import HalfRule
from tamis.centers.units import heavy_rows

# The sample: at most so many rows of a class, and this part of the memory; fewer rows than the
# smallest number say too little.
_MOST_ROWS, _FEWEST_ROWS, _PART = 4096, 256, 16
# With less memory, chunks of more than a block of values are counted digit by digit.
_LEAST_BYTES = 1.9e8
# Half of the width of a bracket, in ranks, times the root of the number of rows.
_REACH = 2.5
# Bytes of a collected value: itself, its weight, its bracket; twice while they are merged.
_VALUE_BYTES = 2 * (8 + 8 + 4)
# Narrower brackets that are tried before digits.
_MOST_PASSES = 4
# Values that are looked at before what they left is put aside.
_BLOCK_VALUES = 1 << 18


def _random(number, n_rows):
    """Random numbers of the rows of a chunk."""
    return np.random.default_rng(crc32(str(number).encode())).random(n_rows)


@dataclass
class BracketSample:
    """Random rows of each class: those with the smallest random numbers."""

    X: NDArray
    codes: NDArray
    weights: NDArray
    keys: NDArray
    # (n_classes,): number of the rows that it was drawn from.
    n_rows: NDArray
    max_bytes: float

    @classmethod
    def of(
        cls,
        number: object,
        X: Matrix,
        codes: NDArray,
        n_classes: int,
        sample_weight: NDArray | None,
        max_bytes: float,
    ) -> BracketSample | None:
        """Of one chunk; None if it is sparse, or if too few rows would fit."""
        size = max_bytes / (_PART * X.dtype.itemsize * max(X.shape[1], 1))
        is_small = max_bytes < _LEAST_BYTES and X.shape[0] * X.shape[1] > _BLOCK_VALUES
        if is_sparse(X) or is_small or size < _FEWEST_ROWS * max(n_classes, 2):
            return None
        keys = _random(number, X.shape[0])
        used = np.arange(X.shape[0]) if sample_weight is None else np.flatnonzero(sample_weight)
        weights = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        some = used[_smallest(keys[used], codes[used], n_classes, int(size))]
        n_rows = np.bincount(codes[used], minlength=n_classes)
        return cls(X[some], codes[some], weights[some], keys[some], n_rows, max_bytes)

    def merge(self, other: BracketSample) -> BracketSample | None:
        """Of the rows of both."""
        names = ("X", "codes", "weights", "keys")
        parts = {n: np.concatenate([getattr(self, n), getattr(other, n)]) for n in names}
        n_classes = self.n_rows.size
        X = parts["X"]
        size = int(self.max_bytes / (_PART * X.dtype.itemsize * max(X.shape[1], 1)))
        if size < _FEWEST_ROWS * n_classes:
            return None
        some = _smallest(parts["keys"], parts["codes"], n_classes, size)
        kept = {name: part[some] for name, part in parts.items()}
        return BracketSample(**kept, n_rows=self.n_rows + other.n_rows, max_bytes=self.max_bytes)

    def spread(self, places: NDArray, n_classes: int) -> BracketSample:
        """The same with its classes at other places among more classes."""
        n_rows = np.zeros(n_classes, dtype=np.int64)
        n_rows[places] = self.n_rows
        return replace(self, codes=places[self.codes], n_rows=n_rows)


def _smallest(keys, codes, n_classes, size):
    """Rows with the smallest keys of each class, at most `size` in all."""
    most = min(_MOST_ROWS, size // n_classes)
    order = np.lexsort((keys, codes))
    counts = np.bincount(codes, minlength=n_classes)
    rank = np.arange(codes.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[rank < most]


def _sorted(values, *others):
    """Sorted values, and what belongs to them; sorting alone takes less than `argsort`."""
    if all(other.size == 0 or (other == other[0]).all() for other in others):
        return np.sort(values), *others
    order = np.argsort(values)
    return values[order], *(other[order] for other in others)


@dataclass
class Inside:
    """What some rows have around the brackets."""

    # (2, C, 4, m): weights below the bracket, at its lower end, at its upper end, and inside.
    mass: NDArray
    # Values inside, their weights, and the places of their brackets in (2, C, m), in pieces.
    pieces: list[tuple[NDArray, NDArray, NDArray]]

    def merge(self, other: Inside) -> Inside:
        """Of both."""
        return Inside(self.mass + other.mass, self.pieces + other.pieces)


@dataclass
class BracketSearch:
    """Medians by brackets; `count` is done for each chunk, and `narrow` uses what they found."""

    rule: HalfRule
    max_bytes: float
    low: NDArray = field(init=False)
    high: NDArray = field(init=False)
    share: float = 0.0  # of the rows whose values are collected; 0: brackets missed
    n_passes: int = 0
    # What `tamis.centers.median_search.MedianSearch.resume` needs, once it is found.
    medians: dict[str, NDArray] = field(default_factory=dict)

    def start(self, sample: BracketSample) -> None:
        """Brackets from a sample of rows."""
        n_classes, n_columns = self.rule.weight.size, sample.X.shape[1]
        self.low = np.full((2, n_classes, n_columns), -np.inf)
        self.high = np.full((2, n_classes, n_columns), np.inf)
        if not sample.codes.size:
            return
        drawn = np.bincount(sample.codes, sample.weights, n_classes)
        weights = sample.weights * (self.rule.weight / np.maximum(drawn, 1e-300))[sample.codes]
        rows = [np.flatnonzero(sample.codes == c) for c in range(n_classes)]
        common = weights * self.rule.share[sample.codes]
        for j in range(n_columns):
            x = sample.X[:, j].astype(np.float64) + 0.0
            for c, some in enumerate(rows):
                self._set((0, c, j), x[some], weights[some], 0.5)
            self._set((1, slice(None), j), x, common, 0.5)
        per_row = sample.n_rows / np.maximum(np.bincount(sample.codes, minlength=n_classes), 1)
        expected = 0.0
        for c, some in enumerate(rows):
            low, high = self.low[:, None, c], self.high[:, None, c]
            inside = (sample.X[some] > low) & (sample.X[some] < high)
            expected += per_row[c] * float(np.count_nonzero(inside))
        self._choose_share(expected)

    def _set(self, place, values, weights, target):
        """Move the ends of a bracket to values of a sample; target: of the median, in ranks."""
        if not values.size:
            return
        values, weights = _sorted(values, weights)
        ranks = np.cumsum(weights)
        reach = _REACH * np.sqrt((weights**2).sum()) / ranks[-1]
        low, high = np.searchsorted(ranks / ranks[-1], [target - reach, target + reach])
        if low > 0:
            self.low[place] = values[min(low, values.size - 1)]
        if high < values.size - 1:
            self.high[place] = values[high]

    def _choose_share(self, expected):
        room = self.max_bytes / _VALUE_BYTES
        self.share = 1.0 if expected <= room else room / (2 * expected)
        if self.n_passes >= _MOST_PASSES:
            self.share = 0.0

    @property
    def is_open(self) -> bool:
        """Whether another pass may find the medians."""
        return self.share > 0 and not self.medians

    @property
    def state(self) -> dict[str, NDArray]:
        """What was found so far, as arrays, with which `resume` goes on."""
        numbers = {"share": np.array(self.share), "n_passes": np.array(self.n_passes)}
        return {"low": self.low, "high": self.high, **numbers, **self.medians}

    def resume(self, state: dict[str, NDArray]) -> None:
        """Go on from there."""
        self.low, self.high = state["low"], state["high"]
        self.share, self.n_passes = float(state["share"]), int(state["n_passes"])
        names = ("lower", "upper", "at_lower", "before_lower")
        self.medians = {name: state[name] for name in names if name in state}

    def count(
        self, number: object, X: NDArray, codes: NDArray, sample_weight: NDArray | None
    ) -> Inside:
        """What one chunk has around the brackets."""
        is_kept = np.ones(X.shape[0], dtype=np.bool_)
        if self.share < 1:
            is_kept = _random(f"{self.n_passes} {number}", X.shape[0]) < self.share
        if sample_weight is not None and not sample_weight.all():
            is_kept = is_kept[sample_weight != 0]
        X, codes, sample_weight = heavy_rows(X, codes, sample_weight)
        weights, step = (np.ones(1), 0) if sample_weight is None else (sample_weight, 1)
        height = max(1, _BLOCK_VALUES // max(1, X.shape[1]))
        mass = np.zeros((*self.low.shape[:2], 4, self.low.shape[2]))
        size = 2 * min(height, X.shape[0]) * X.shape[1]
        values, masses, cells = np.empty(size), np.empty(size), np.empty(size, dtype=np.uint32)
        pieces = [(values[:0], masses[:0], cells[:0])]
        for first in range(0, X.shape[0], height):
            some = slice(first, first + height)
            n = collect_inside(
                X[some],
                codes[some],
                weights[some] if step else weights,
                step,
                is_kept[some],
                self.low,
                self.high,
                mass,
                values,
                masses,
                cells,
            )
            pieces.append((values[:n].copy(), masses[:n].copy(), cells[:n].copy()))
        return Inside(mass, pieces)

    def narrow(self, found: Inside) -> None:
        """Find the medians, or narrower brackets, with what all chunks have."""
        n_cells = self.low.size
        counts = sum(np.bincount(cells, minlength=n_cells) for *_, cells in found.pieces)
        starts = np.append(0, np.cumsum(counts))
        values, weights = np.empty((2, starts[-1]))
        place = starts[:-1].copy()
        for piece in found.pieces:
            group_inside(*piece, place, values, weights)
        lists = _Lists(found.mass, starts, values, weights, self.low, self.high)
        self.n_passes += 1
        if self.share == 1:
            self.medians, self.share = self._find(lists), 0.0
            return
        expected = sum(
            self._narrow_one(lists, half, j)
            for j in range(self.low.shape[2])
            for half in self._halves()
        )
        self._choose_share(expected / self.share)

    def _halves(self):
        """How medians of the classes, then of all together, compare sums of weights."""
        rule, n_classes = self.rule, self.rule.weight.size
        for c in range(n_classes):
            yield _Half(0, np.array([c]), np.array([2.0]), rule.weight[c], rule.class_slack[c])
        yield _Half(1, np.arange(n_classes), rule.share, rule.half, rule.slack)

    def _narrow_one(self, lists, half, j):
        """Narrow a bracket; returns how many of the values that were collected are inside."""
        c = half.classes[0]
        below, at_low, _, inside = half.share @ lists.mass[half.part, half.classes, :, j]
        x, weights, owner = lists.inside(half, j)
        target = (half.aim - below - at_low) / inside if inside > 0 else 0.5
        place = half.part, slice(None) if half.part else c, j
        self._set(place, x, weights * half.share[owner], target)
        low, high = self.low[half.part, c, j], self.high[half.part, c, j]
        return int(np.count_nonzero((x > low) & (x < high)))

    def _find(self, lists):
        """Medians from all values inside; nothing if a bracket does not hold its median."""
        _, n_classes, n_columns = self.low.shape
        found = np.empty((4, n_columns, n_classes + 1))
        for j in range(n_columns):
            for place, half in enumerate(self._halves()):
                median = self._find_one(half, *lists.steps(half, j))
                if median is None:
                    return {}
                found[:, j, place] = median
        lower, upper, at, before = found
        medians = {"lower": lower, "upper": upper}
        return {**medians, "at_lower": at[:, :-1] / 2, "before_lower": before[:, :-1] / 2}

    def _find_one(self, half, values, weights, owner):
        """Lower and upper median, and the sums at and before it; None if they are not there."""
        ends = np.append(np.flatnonzero(values[1:] != values[:-1]), values.size - 1)
        values, reached = values[ends], np.cumsum(weights * half.share[owner])[ends]
        enough = reached >= half.aim - half.slack
        i, is_exact = int(enough.argmax()), half.part == 1 and self.rule.settles_ties

        def compare(i):
            some = slice(0, ends[i] + 1)
            parts = np.bincount(owner[some], weights[some], half.classes.size)
            return self.rule.compare_exactly(parts)

        if is_exact and enough[i] and abs(reached[i] - half.aim) <= half.slack:
            while i + 1 < values.size and compare(i) < 0:
                i += 1
        is_tied = reached[i] <= half.aim + half.slack and (not is_exact or compare(i) == 0)
        # What is first stands for all values below the bracket.
        if i == 0 or not enough[i] or i + is_tied == values.size:
            return None
        return values[i], values[i + is_tied], reached[i], reached[i - 1]


@dataclass(frozen=True)
class _Half:
    """When a sum of weights has reached one half: `share` @ sums >= aim, up to slack."""

    part: int  # 0: of one class; 1: of all classes
    classes: NDArray
    share: NDArray
    aim: float
    slack: float


@dataclass(frozen=True)
class _Lists:
    """What was found, by bracket."""

    mass: NDArray
    starts: NDArray  # (2 * C * m + 1,)
    values: NDArray
    weights: NDArray
    low: NDArray
    high: NDArray

    def inside(self, half: _Half, j: int) -> tuple[NDArray, NDArray, NDArray]:
        """Values inside, their weights, and the place of their class among those of the half."""
        _, n_classes, n_columns = self.low.shape
        cells = (half.part * n_classes + half.classes) * n_columns + j
        parts = [slice(self.starts[cell], self.starts[cell + 1]) for cell in cells]
        owner = np.repeat(np.arange(cells.size), [part.stop - part.start for part in parts])
        values, weights = (
            np.concatenate([a[part] for part in parts]) for a in (self.values, self.weights)
        )
        return values, weights, owner

    def steps(self, half: _Half, j: int) -> tuple[NDArray, NDArray, NDArray]:
        """The same, sorted, with the ends of the bracket and, first, all that is below."""
        x, weights, owner = self.inside(half, j)
        place, n = (half.part, half.classes[0], j), half.classes.size
        ends = np.repeat([-np.inf, self.low[place], self.high[place]], n)
        at_ends = self.mass[half.part, half.classes, :3, j].T.ravel()
        used = at_ends > 0
        used[:n] = True
        x, weights, owner = _sorted(x, weights, owner)
        before, after = np.flatnonzero(used[: 2 * n]), 2 * n + np.flatnonzero(used[2 * n :])
        classes = np.tile(np.arange(n), 3)
        return (
            np.concatenate([ends[before], x, ends[after]]),
            np.concatenate([at_ends[before], weights, at_ends[after]]),
            np.concatenate([classes[before], owner, classes[after]]),
        )
