r"""Exact medians of data that are read in chunks: radix selection on integer keys.

A floating-point number is mapped to an unsigned integer of the same order (its bits, inverted for
negative numbers). A median is then found digit by digit, :math:`b` bits at a time: a pass over the
chunks counts, for each feature and class, the next digit of the values that begin like the median
so far; the digit at which the cumulated weight reaches one half is the next one of the median.
64-bit numbers need 64 / b passes, 32-bit numbers half as many. The class medians and the common
median are found in the same passes, and one more pass sums absolute deviations.

With :math:`l \le u` the lower and upper median of class c and :math:`\mu` the common median, the
cost of dropping a feature (see `tamis.centers.medians`) is, without cancellation,

.. math::
   W_c e_c = (2 W_c(l) - W_c) (\mu - l) + 2 \sum_{l < x_j < \mu} w_j (\mu - x_j) \quad (\mu > u),
   \qquad
   W_c e_c = (W_c - 2 W_c(l^-)) (l - \mu) + 2 \sum_{\mu < x_j < l} w_j (x_j - \mu) \quad (\mu < l).

Shapes: prefixes (m, C + 1), the last column for all classes together; counts (m, C, 2, 2^b).
Counts of chunks are added, so that they can be made anywhere, in any order: with whole-number
weights every sum is exact. Zeros of sparse chunks are not visited: their weight is that of the
class minus that of the stored values.

The idea that makes it fast: b is chosen such that passes over the data times blocks of features
whose counts fit into memory are fewest.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis.centers._key_kernels import csr_deviations, csr_digits, dense_deviations, dense_digits
from tamis.centers.segments import ClassMedians, HalfRule
from tamis.centers.units import heavy_rows

_BITS = range(4, 13)
_LARGEST_KEY = np.iinfo(np.uint64).max


@dataclass
class Survey:
    """What is known of all chunks before medians are searched; merged by `merge`."""

    weight: NDArray  # (n_classes,): sums of the sample weights
    n_rows: int
    n_features: int
    is_whole: bool  # whether all weights are whole numbers
    width: int  # bits of the widest numbers: 32 or 64

    def merge(self, other: Survey) -> Survey:
        """Of the rows of both."""
        return Survey(
            self.weight + other.weight,
            self.n_rows + other.n_rows,
            self.n_features,
            self.is_whole and other.is_whole,
            max(self.width, other.width),
        )

    def spread(self, places: NDArray, n_classes: int) -> Survey:
        """The same with its classes at other places among more classes."""
        weight = np.zeros(n_classes)
        weight[places] = self.weight
        return replace(self, weight=weight)


def survey(X: Matrix, codes: NDArray, n_classes: int, sample_weight: NDArray | None) -> Survey:
    """Survey of one chunk."""
    weight = np.bincount(codes, sample_weight, n_classes).astype(np.float64)
    is_whole = sample_weight is None or bool(np.all(sample_weight == np.floor(sample_weight)))
    width = 32 if X.dtype == np.float32 else 64
    return Survey(weight, X.shape[0], X.shape[1], is_whole, width)


def plan_search(
    n_features: int, n_classes: int, width: int, max_bytes: float
) -> tuple[int, list[slice]]:
    """Choose the bits of a digit and the blocks of columns that need the fewest passes."""
    best = None
    for bits in _BITS:
        size = max(1, int(max_bytes // (16 * n_classes * 2**bits)))
        n_blocks = -(-n_features // size)
        passes = (-(-width // bits) + 1) * n_blocks
        if best is None or passes < best[0]:
            best = passes, bits, n_blocks
    assert best is not None
    ends = np.linspace(0, n_features, best[2] + 1).astype(int)
    return best[1], [slice(a, b) for a, b in pairwise(ends.tolist())]


@dataclass
class MedianSearch:
    """The search for the medians of a block of columns.

    `count` is done for each chunk and its results are added (`merge_counts`); `descend` then goes
    one digit further. Once `is_found`, `deviations` is done for each chunk and added, and `finish`
    returns the result.
    """

    columns: slice
    whole: Survey
    bits: int
    rule: HalfRule = field(init=False)
    left: int = field(init=False)

    def __post_init__(self):
        self.rule = HalfRule(self.whole.weight, self.whole.is_whole, self.whole.n_rows)
        n_columns = self.columns.stop - self.columns.start
        n_classes = self.whole.weight.size
        self.left = self.whole.width  # bits that are not known yet
        self._prefix = np.zeros((n_columns, n_classes + 1), dtype=np.uint64)
        # Weight of the values before the prefix: of its class, and of each class for all.
        self._below = np.zeros((n_columns, n_classes, 2))

    @property
    def is_found(self) -> bool:
        """Whether all digits are known."""
        return self.left == 0

    @property
    def state(self) -> dict[str, NDArray]:
        """What was found so far, as arrays, with which `resume` goes on."""
        arrays = {name: v for name, v in vars(self).items() if isinstance(v, np.ndarray)}
        return {**arrays, "left": np.array(self.left)}

    def resume(self, state: dict[str, NDArray]) -> None:
        """Go on from there."""
        vars(self).update(state, left=int(state["left"]))

    @property
    def _digit(self):
        return min(self.bits, self.left)

    def count(
        self, X: Matrix, codes: NDArray, sample_weight: NDArray | None
    ) -> tuple[NDArray, NDArray]:
        """Counts of the next digit in one chunk, and smallest keys above the prefixes.

        `X` (n_samples, n_features), `codes` (n_samples,), `sample_weight` (n_samples,) or None.
        Returns `counts` (n_columns, n_classes, 2, 2**bits), `after` (n_columns, n_classes + 1).
        """
        X, codes, sample_weight = heavy_rows(X, codes, sample_weight)
        weights, step = (np.ones(1), 0) if sample_weight is None else (sample_weight, 1)
        n_classes, bits = self.whole.weight.size, self._digit
        shift = self.left - bits
        counts = np.zeros((self._prefix.shape[0], n_classes, 2, 2**bits))
        after = np.full(self._prefix.shape, _LARGEST_KEY)
        sign = np.uint64(1 << (self.whole.width - 1))
        lowest = self._prefix << np.uint64(bits)
        rest = codes, weights, step, np.uint64(shift), lowest, counts, after
        if not is_sparse(X):
            dense_digits(_bits(X[:, self.columns], self.whole.width), sign, *rest)
            return counts, after
        X, place = self._stored(X)
        csr_digits(_bits(X.data, self.whole.width), sign, place, X.indptr, *rest)
        self._count_zeros(self._zeros(X, place, codes, sample_weight), counts, after)
        return counts, after

    @staticmethod
    def merge_counts(
        one: tuple[NDArray, NDArray], other: tuple[NDArray, NDArray]
    ) -> tuple[NDArray, NDArray]:
        """Counts of the rows of both."""
        return one[0] + other[0], np.minimum(one[1], other[1])

    def _stored(self, X):
        """The chunk without repeated entries, and the column in the block of each entry."""
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        first, last = self.columns.start, self.columns.stop
        inside = (X.indices >= first) & (X.indices < last)
        return X, np.where(inside, X.indices.astype(np.int64) - first, -1)

    def _zeros(self, X, place, codes, sample_weight):
        """Weight of the zeros that are not stored: (n_columns, n_classes)."""
        n_classes, n_columns = self.whole.weight.size, self._prefix.shape[0]
        inside = place >= 0
        owner = np.repeat(codes, np.diff(X.indptr))[inside]
        cell = place[inside] * n_classes + owner
        n_stored = np.bincount(cell, minlength=n_columns * n_classes).reshape(n_columns, -1)
        n_absent = np.bincount(codes, minlength=n_classes) - n_stored
        if sample_weight is None:
            return n_absent.astype(np.float64)
        of_row = np.repeat(sample_weight, np.diff(X.indptr))[inside]
        stored = np.bincount(cell, of_row, n_columns * n_classes).reshape(n_columns, -1)
        absent = np.bincount(codes, sample_weight, n_classes) - stored
        return np.where(n_absent > 0, np.maximum(absent, 0.0), 0.0)

    def _count_zeros(self, absent, counts, after):
        bits, shift = self._digit, self.left - self._digit
        zero = 1 << (self.whole.width - 1)
        high, digit = np.uint64(zero >> (bits + shift)), (zero >> shift) & ((1 << bits) - 1)
        n_classes = absent.shape[1]
        for c in range(n_classes):
            there = absent[:, c] > 0
            for t, part in ((c, 0), (n_classes, 1)):
                prefix = self._prefix[:, t]
                counts[:, c, part, digit] += np.where(prefix == high, absent[:, c], 0.0)
                above = there & (high > prefix)
                after[above, t] = np.minimum(after[above, t], np.uint64(zero))

    # Going one digit further.

    def descend(self, counted: tuple[NDArray, NDArray]) -> None:
        """Use the counts of all chunks."""
        counts, after = counted
        rule, bits = self.rule, self._digit
        n_columns, n_classes, _, _ = counts.shape
        rows = np.arange(n_columns)
        reached = np.cumsum(counts, axis=3) + self._below[..., None]
        digit = np.empty((n_columns, n_classes + 1), dtype=np.int64)
        for c in range(n_classes):
            enough = 2 * reached[:, c, 0] >= rule.weight[c] - rule.class_slack[c]
            digit[:, c] = enough.argmax(axis=1)
        digit[:, -1] = self._first_enough(reached[:, :, 1])
        self.left -= bits
        if self.is_found:
            self._settle(counts, reached, after, digit)
        before = np.maximum(digit - 1, 0)
        for c in range(n_classes):
            skipped = reached[rows, c, 0, before[:, c]]
            self._below[:, c, 0] = np.where(digit[:, c] > 0, skipped, self._below[:, c, 0])
            skipped = reached[rows, c, 1, before[:, -1]]
            self._below[:, c, 1] = np.where(digit[:, -1] > 0, skipped, self._below[:, c, 1])
        self._prefix = (self._prefix << np.uint64(bits)) | digit.astype(np.uint64)

    def _first_enough(self, reached):
        """First digits at which all classes together reach one half; reached: (m, C, 2**bits)."""
        rule = self.rule
        total = np.einsum("c,jcd->jd", rule.share, reached)
        first = (total >= rule.half - rule.slack).argmax(axis=1)
        if rule.settles_ties:
            near = np.abs(total[np.arange(first.size), first] - rule.half) <= rule.slack
            for j in np.flatnonzero(near):
                while rule.compare_exactly(reached[j, :, first[j]]) < 0:
                    first[j] += 1
        return first

    def _settle(self, counts, reached, after, digit):
        """Lower and upper medians, and the weights that the gains need."""
        rule, width = self.rule, self.whole.width
        n_columns, n_classes, _, _ = counts.shape
        rows = np.arange(n_columns)
        keys = (self._prefix << np.uint64(self._last_bits(counts))) | digit.astype(np.uint64)
        self.lower = _values(keys, width)
        upper = keys.copy()
        at = np.empty((n_columns, n_classes))
        for c in range(n_classes):
            at[:, c] = reached[rows, c, 0, digit[:, c]]
            tied = 2 * at[:, c] <= rule.weight[c] + rule.class_slack[c]
            following = self._following(counts[:, c, 0], after[:, c], digit[:, c], c)
            upper[:, c] = np.where(tied, following, keys[:, c])
        common = reached[rows[:, None], np.arange(n_classes)[None, :], 1, digit[:, -1:]]
        tied = self._is_half(common)
        following = self._following(counts[:, :, 1].sum(axis=1), after[:, -1], digit[:, -1], -1)
        upper[:, -1] = np.where(tied, following, keys[:, -1])
        self.upper = _values(upper, width)
        self.at_lower = at
        previous = np.maximum(digit[:, :-1] - 1, 0)
        self.before_lower = np.where(
            digit[:, :-1] > 0,
            np.stack([reached[rows, c, 0, previous[:, c]] for c in range(n_classes)], axis=1),
            self._below[:, :, 0],
        )

    @staticmethod
    def _last_bits(counts):
        return int(counts.shape[3]).bit_length() - 1

    def _is_half(self, reached):
        """Whether all classes together have reached exactly one half: (n_columns,)."""
        rule = self.rule
        total = reached @ rule.share
        tied = total <= rule.half + rule.slack
        if rule.settles_ties:
            for j in np.flatnonzero(tied):
                tied[j] = rule.compare_exactly(reached[j]) == 0
        return tied

    def _following(self, counts, after, digit, target):
        """Smallest key above the lower median; the median itself if there is none."""
        n_digits = counts.shape[1]
        present = (counts > 0) & (np.arange(n_digits) > digit[:, None])
        base = self._prefix[:, target] << np.uint64(self._last_bits(counts[:, None, None]))
        inside = base | present.argmax(axis=1).astype(np.uint64)
        found = np.where(present.any(axis=1), inside, after)
        lowest = base | digit.astype(np.uint64)
        return np.where(found == _LARGEST_KEY, lowest, found)

    # Deviations.

    @property
    def medians(self) -> NDArray:
        """Class medians: (n_columns, n_classes)."""
        return 0.5 * self.lower[:, :-1] + 0.5 * self.upper[:, :-1]

    def deviations(
        self, X: Matrix, codes: NDArray, sample_weight: NDArray | None
    ) -> NDArray[np.float64]:
        """Sums over one chunk, which `finish` needs: (n_columns, n_classes, 2)."""
        X, codes, sample_weight = heavy_rows(X, codes, sample_weight)
        weights, step = (np.ones(1), 0) if sample_weight is None else (sample_weight, 1)
        lower, medians = self.lower[:, :-1].copy(), self.medians
        common = self.lower[:, -1].copy()
        sums = np.zeros((*lower.shape, 2))
        if not is_sparse(X):
            first = self.columns.start
            dense_deviations(X, first, codes, weights, step, lower, medians, common, sums)
            return sums
        X, place = self._stored(X)
        absent = self._zeros(X, place, codes, sample_weight)
        csr_deviations(X.data, place, X.indptr, codes, weights, step, lower, medians, common, sums)
        # Zeros that are not stored, all at once.
        sums[..., 0] += absent * np.abs(medians)
        above, common = (lower < 0) & (common[:, None] > 0), common[:, None]
        below = (lower > 0) & (common < 0)
        sums[..., 1] += np.where(above | below, absent * np.abs(common), 0.0)
        return sums

    def finish(self, sums: NDArray) -> ClassMedians:
        """The statistics of the block, from the sums over all chunks."""
        weight = self.rule.weight
        lower, upper = self.lower[:, :-1], self.upper[:, :-1]
        common = self.lower[:, -1:]
        right, left = common > upper, common < lower
        tied = 2 * self.at_lower <= weight + self.rule.class_slack
        ahead = np.where(tied, 0.0, 2 * self.at_lower - weight)
        behind = weight - 2 * self.before_lower
        with np.errstate(over="ignore", invalid="ignore"):
            cost = np.where(left, behind * (lower - common), ahead * (common - lower))
            cost = np.maximum((cost + 2 * sums[..., 1]) / weight, 0.0)
        cost = np.where(right | left, cost, 0.0)
        return ClassMedians(
            weight,
            self.medians.T,
            0.5 * self.lower[:, -1] + 0.5 * self.upper[:, -1],
            (sums[..., 0] / weight).T,
            cost.sum(axis=1),
        )


def _bits(values, width):
    """Numbers as unsigned integers of the same bits."""
    kind, unsigned = (np.float32, np.uint32) if width == 32 else (np.float64, np.uint64)
    return np.asarray(values, dtype=kind).view(unsigned)


def _values(keys, width):
    """The numbers that keys stand for, as float64."""
    kind, unsigned = (np.float32, np.uint32) if width == 32 else (np.float64, np.uint64)
    keys = keys.astype(unsigned)
    sign = unsigned(1 << (width - 1))
    bits = np.where(keys & sign, keys ^ sign, ~keys)
    return bits.view(kind).astype(np.float64)
