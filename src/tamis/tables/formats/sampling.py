r"""A random sample of the rows of a file that is read once, some rows at a time.

Every unit (a row, or a sample group if there are groups) gets a random 64-bit number, the hash of
its place or its name and of the seed. The sample is the units with the smallest numbers: those up
to a threshold

.. math:: T = \max \{ h_u : \sum_{v : h_v \le h_u} n_v \le k \},

where :math:`n_u` is the number of rows of unit u and k the size of the sample. Which rows these
are depends neither on the size of the chunks nor on their order. Groups are in the sample as a
whole or not at all (unless fewer than ten fit: then rows are drawn from all groups). For rare
classes, the sample has in addition the units with the smallest numbers that contain the class, up
to 100 rows of it, but at most half of its rows.

The k smallest of the numbers seen so far are all that has to be kept (`Sketch`), and those of two
chunks give those of both: O(k) memory, whatever the number of rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._base import WeightSummary
from tamis.paths.hashing import Sketch, mix
from tamis.tables.columns.coded import Coded
from tamis.tables.columns.missing import MissingWords
from tamis.tables.columns.sample_weights import numbers, summarise_weights
from tamis.tables.columns.values import missing_in, strings

#: Called with the place of the first row, the number of rows, and a function that returns the
#: values of a column by its name; returns which rows to read.
KeepRows = Callable[[int, int, Callable[[str], Any]], NDArray[np.bool_]]

# Rows of a rare class that the sample should have.
_FEWEST_OF_CLASS = 100
_FEWEST_GROUPS = 10
# A target with more labels than this is no set of classes.
MOST_LABELS = 10_000


def hash_words(column: Coded, seed: int = 0) -> NDArray[np.uint64]:
    """64-bit hashes of the words of a column; 0 where one is missing."""
    key = int(seed).to_bytes(16, "little", signed=True)
    hashes = [
        int.from_bytes(hashlib.blake2b(str(word).encode(), digest_size=8, key=key).digest())
        for word in column.words
    ]
    return np.array([*hashes, 0], dtype=np.uint64)[column.codes]


@dataclass(frozen=True)
class RowSample:
    """Which rows of a file are in the sample."""

    seed: int
    # target, groups: columns of labels and of sample groups.
    target: str
    groups: str | None
    threshold: int  # units with a hash up to this are in the sample
    extra: NDArray[np.uint64]  # hashes of other units in the sample, for rare classes
    # Words among the labels that stand for a missing label: such rows are not used.
    unlabelled: tuple[str, ...] = ()
    # Of all rows that have a label; None without sample weights.
    weights: WeightSummary | None = None

    def __call__(self, start: int, n_rows: int, column: Callable[[str], Any]) -> NDArray[np.bool_]:
        """Which of some rows are in the sample: see `KeepRows`."""
        labels = strings(column(self.target)).without(self.unlabelled)
        hashes = self.units(start, n_rows, column)
        is_in = (hashes <= np.uint64(self.threshold)) | np.isin(hashes, self.extra)
        return is_in & (labels.codes >= 0)

    def units(self, start: int, n_rows: int, column: Callable[[str], Any]) -> NDArray[np.uint64]:
        """The random number of the unit of each row."""
        groups = None if self.groups is None else column(self.groups)
        return hash_units(start, n_rows, groups, self.seed)


class KeptRows:
    """Rows whose places in the file are known.

    `rows`: ascending.
    """

    def __init__(self, rows: NDArray[np.intp]):
        self.rows = rows

    def __call__(self, start: int, n_rows: int, column: Callable[[str], Any]) -> NDArray[np.bool_]:
        """Which of some rows these are: see `KeepRows`."""
        first, last = np.searchsorted(self.rows, [start, start + n_rows])
        is_in = np.zeros(n_rows, dtype=bool)
        is_in[self.rows[first:last] - start] = True
        return is_in


def hash_units(start: int, n_rows: int, groups: Any | None, seed: int) -> NDArray[np.uint64]:
    """The random number of the unit of each row: of its place in the file, or of its group."""
    if groups is not None:
        return hash_words(strings(groups), seed)
    places = np.arange(start, start + n_rows, dtype=np.uint64)
    return mix(places ^ mix(np.array([seed], dtype=np.int64).astype(np.uint64)))


@dataclass
class SampleSurvey:
    """Labels and units of all rows seen so far."""

    size: int  # rows that the sample may have
    seed: int
    missing: MissingWords  # words that may stand for a missing label
    n_rows: int = 0  # rows of the file
    # Rows with a label but of weight 0: they count towards the size, but are not used.
    n_unused: int = 0
    # Rows of each label, as categories are written, without those of weight 0.
    labels: Counter = field(default_factory=Counter)
    units: Sketch = field(init=False)  # rows of each unit that have a label, of any weight
    # Rows of each unit that have this label, without those of weight 0.
    units_of: dict[str, Sketch] = field(default_factory=dict)
    # Sample weights of the rows of each label; empty without sample weights.
    weights_of: dict[str, WeightSummary] = field(default_factory=dict)

    def __post_init__(self):
        self.units = Sketch(self.size + 1)

    def add(self, labels: Any, groups: Any | None, weights: Any | None = None) -> None:
        """Look at the next rows."""
        labels = strings(labels)
        hashes = hash_units(self.n_rows, len(labels), groups, self.seed)
        self.n_rows += len(labels)
        known = labels.without(self.missing.spellings).codes >= 0
        self.units = self.units.add(hashes[known])
        if weights is not None:
            is_used = numbers(weights) != 0  # what is no number is refused later
            self.n_unused += int((known & ~is_used).sum())
            labels, hashes, weights = labels[is_used], hashes[is_used], weights[is_used]
        self.labels.update(labels.counts)
        if len(self.labels) > MOST_LABELS:
            return
        for code, word in enumerate(labels.words):
            if labels.sizes[code]:
                rows = labels.codes == code
                sketch = self.units_of.get(word, Sketch(_FEWEST_OF_CLASS))
                self.units_of[word] = sketch.add(hashes[rows])
                if weights is not None:
                    seen = self.weights_of.get(word, WeightSummary())
                    self.weights_of[word] = seen.merge(summarise_weights(weights[rows]))

    @property
    def unlabelled(self) -> tuple[str, ...]:
        """Words among the labels that stand for a missing label."""
        words = list(self.labels)
        counts = np.array([self.labels[word] for word in words], dtype=np.float64)
        # What counts is how frequent the words are, so a few thousand rows are enough.
        times = np.ceil(counts * min(1.0, 10_000 / max(1.0, counts.sum()))).astype(np.intp)
        column = Coded(np.repeat(np.arange(len(words)), times), words)
        return tuple(sorted(missing_in(column, self.missing).intersection(words)))

    @property
    def classes(self) -> dict[str, int]:
        """Rows of each class."""
        gone = set(self.unlabelled)
        return {word: n for word, n in sorted(self.labels.items()) if word not in gone}

    @property
    def _n_units(self):
        """Units of the sample."""
        return int(np.searchsorted(np.cumsum(self.units.counts), self.size, side="right"))

    @property
    def has_small_groups(self) -> bool:
        """Whether the sample can have several groups as a whole."""
        return self._n_units >= min(_FEWEST_GROUPS, self.units.numbers.size)

    def draw(self, target: str, groups: str | None) -> RowSample | None:
        """The sample; None if it has all rows."""
        classes = self.classes
        if not classes or sum(classes.values()) + self.n_unused <= self.size:
            return None
        n_units = max(1, self._n_units)
        extra = []
        for word, n_rows in classes.items():
            sketch = self.units_of[word]
            wanted = min(_FEWEST_OF_CLASS, -(-n_rows // 2))
            n_of_class = int(np.searchsorted(np.cumsum(sketch.counts), wanted)) + 1
            extra.append(sketch.numbers[:n_of_class])
        threshold = self.units.numbers[n_units - 1]
        more = np.unique(np.concatenate(extra))
        more = more[more > threshold]
        weights = None
        if self.weights_of:
            weights = reduce(WeightSummary.merge, (self.weights_of[word] for word in classes))
        unlabelled = self.unlabelled
        return RowSample(self.seed, target, groups, int(threshold), more, unlabelled, weights)
