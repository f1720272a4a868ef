"""The preparation of a table (`preparation`) from passes over chunks of its rows.

`survey_columns` makes one pass: categories and words with their numbers of rows, missing values,
ranges, and hashes of rows. `lay_out_columns` makes of them the layout that `lay_out` would make of
all rows. `learn_rows` learns what `Preparation.learn` would learn from all rows: sums of one pass
(most frequent categories, rows with a word), and exact medians (`streamed_medians`).

Memory: O(columns + categories + words + one chunk). A text column with more than 2 million
different words loses those of a single row when that many are reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis._passes import Remember
from tamis.paths.hashing import Sketch, hash_rows
from tamis.tables.columns.coded import Coded
from tamis.tables.columns.missing import MissingWords
from tamis.tables.columns.table import Columns
from tamis.tables.formats.sampling import hash_words
from tamis.tables.preparing.layout import make_layout
from tamis.tables.preparing.preparation import Preparation
from tamis.tables.preparing.streamed_medians import find_medians, first_brackets
from tamis.tables.preparing.words import TextColumns, words_in_rows
from tamis.tables.reading.row_stream import RowChunk, RowStream

_MOST_WORDS = 2_000_000
# Distinct rows up to which copies are counted exactly.
_COUNTED_ROWS = 200_000
# Memory for the values that medians are searched among.
_MEDIAN_BYTES = 16e6
_BLOCK_COLUMNS = 256


def hash_table(table: Columns, ignored: Sequence[str] = ()) -> NDArray[np.uint64]:
    """One 64-bit number per row: equal rows have the same.

    `ignored`: columns that are not compared. Returns `hashes` (n_rows,).
    """
    return hash_rows(numbers_of(table, ignored), table.n_rows)


def numbers_of(table: Columns, ignored: Sequence[str] = ()) -> list[Matrix]:
    """Columns as matrices of numbers: equal words are equal numbers, in whichever chunk."""
    if ignored and len(ignored) < len(table.names):
        table = table.drop(ignored)
    matrices = [table.numeric]
    for values in table.others.values():
        hashes = hash_words(Coded.of(values)) >> np.uint64(11)  # floats are exact up to 2**53
        matrices.append(hashes.astype(np.float64)[:, None])
    return matrices


@dataclass(frozen=True)
class ColumnSurvey:
    """What a pass found in the columns."""

    n_rows: int  # rows with a label
    missing: NDArray[np.int64]  # (n_columns,): missing values of each column, numbers first
    # (n_numbers, 2): smallest and largest value of each number; NaN without values.
    ranges: NDArray[np.float64]
    # Rows of each category, or of each word, for the columns that are not numbers.
    counts: dict[str, Counter]
    rows: Sketch  # hashes of the rows
    # (n_classes,): sum of the weights of each class; without weights, its rows.
    class_weights: NDArray[np.float64]
    sample_units: NDArray[np.uint64]  # (n_sample,): units of the rows of the sample, in order
    lost_words: frozenset[str] = frozenset()  # text columns of which some rare words were dropped

    def merge(self, other: ColumnSurvey) -> ColumnSurvey:
        """Of the rows of both."""
        ranges = np.column_stack(
            [
                np.fmin(self.ranges[:, 0], other.ranges[:, 0]),
                np.fmax(self.ranges[:, 1], other.ranges[:, 1]),
            ]
        )
        lost = self.lost_words | other.lost_words
        for name, counts in other.counts.items():
            mine = self.counts[name]
            mine.update(counts)
            if len(mine) > _MOST_WORDS:
                self.counts[name] = Counter({word: n for word, n in mine.items() if n > 1})
                lost |= {name}
        return ColumnSurvey(
            self.n_rows + other.n_rows,
            self.missing + other.missing,
            ranges,
            self.counts,
            self.rows.merge(other.rows),
            self.class_weights + other.class_weights,
            np.concatenate([self.sample_units, other.sample_units]),
            lost,
        )

    @property
    def n_copies(self) -> float:
        """Rows that equal another one: exact if few enough rows differ, else an estimate."""
        return max(0.0, self.n_rows - self.rows.n_distinct())


def survey_columns(
    stream: RowStream,
    *,
    vectorizer: str = "counts",
    ngrams: tuple[int, int] = (1, 1),
    ignored: Sequence[str] = (),
) -> ColumnSurvey:
    """Look at the columns of all rows, in one pass."""
    look = partial(
        _look,
        kinds=stream.kinds,
        n_classes=len(stream.classes),
        vectorizer=vectorizer,
        ngrams=ngrams,
        ignored=ignored,
    )
    return stream.run(look, ColumnSurvey.merge)


def _look(chunk, kinds, n_classes, vectorizer, ngrams, ignored):
    table = chunk.table
    numeric = table.numeric
    if is_sparse(numeric):
        stored = numeric.tocsc()
        column = np.repeat(np.arange(numeric.shape[1]), np.diff(stored.indptr))
        missing = np.bincount(column[np.isnan(stored.data)], minlength=numeric.shape[1])
        lows, highs = (f(axis=0).toarray().ravel() for f in (stored.nanmin, stored.nanmax))
    else:
        missing = np.isnan(numeric).sum(axis=0)
        lows, highs = np.fmin.reduce(numeric, axis=0), np.fmax.reduce(numeric, axis=0)
    counts, lost = {}, []
    for name, values in table.others.items():
        coded = Coded.of(values)
        lost.append(coded.n_missing)
        if kinds[name] == "categorical":
            counts[name] = Counter(coded.counts)
        else:
            counts[name] = words_in_rows(values, vectorizer, ngrams)
    rows = Sketch(_COUNTED_ROWS).add(hash_table(table, ignored))
    ranges = np.column_stack([lows, highs]).astype(np.float64)
    missing = np.append(missing, lost).astype(np.int64)
    of_class = np.bincount(chunk.codes, chunk.weights, n_classes).astype(np.float64)
    units = chunk.units[chunk.in_sample]
    return ColumnSurvey(table.n_rows, missing, ranges, counts, rows, of_class, units)


def lay_out_columns(
    survey: ColumnSurvey,
    table: Columns,
    kinds: Mapping[str, str],
    *,
    groups: Mapping[str, str] | None = None,
    vectorizer: str = "counts",
    ngrams: tuple[int, int] = (1, 1),
    missing: MissingWords | None = None,
) -> tuple[Preparation, Matrix]:
    """The layout that `lay_out` would make of all rows, and the matrix of some of them.

    Returns `encoded` (n_rows, n_columns).
    """
    texts = {}
    for name in table.others:
        counts = survey.counts[name]
        if kinds[name] == "categorical":
            continue
        if vectorizer == "hashing":
            words = sorted(counts, key=lambda word: int(word[1:]))
        else:
            words = sorted(word for word, n in counts.items() if n > 1)
        if words:
            texts[name] = TextColumns(vectorizer, tuple(ngrams), words)
    counts = {n: survey.counts[n] for n in table.others if kinds[n] == "categorical"}
    preparation = make_layout(table, counts, texts, groups, missing)
    return preparation, preparation.encode(table)


@dataclass(frozen=True)
class _Sums:
    """Sums over rows: of the categories of each column, of rows with each word, of weights."""

    shares: list
    n_with: list
    total: float

    def merge(self, other):
        return _Sums(
            [a + b for a, b in zip(self.shares, other.shares, strict=True)],
            [a + b for a, b in zip(self.n_with, other.n_with, strict=True)],
            self.total + other.total,
        )


def learn_rows(
    stream: RowStream,
    preparation: Preparation,
    encoded: Matrix,
    columns: NDArray,
    ranges: NDArray,
    remember: Remember,
) -> Preparation:
    """Learn from all rows what replaces missing values, and how rare words are.

    `encoded` (n_sample, n_columns), `ranges` (n_numbers, 2); `remember`: for each pass.
    """
    fill = np.zeros(preparation.n_columns)
    numbers = columns[columns < len(preparation.numbers)]
    for start in range(0, numbers.size, _BLOCK_COLUMNS):
        some = numbers[start : start + _BLOCK_COLUMNS]
        fill[some] = _medians(stream, preparation, encoded, some, remember)
    if not preparation.categories and not any(
        t.kind == "tfidf" for t in preparation.texts.values()
    ):
        return replace(preparation, fill=fill, ranges=ranges)
    names = [*preparation.categories, *preparation.texts]
    words_only = preparation.restrict(np.arange(len(preparation.numbers), fill.size))

    def add_up():
        sums = stream.select(names).run(partial(_add_up, words_only), _Sums.merge)
        parts = {"shares": sums.shares, "n_with": sums.n_with}
        named = {f"{key}{at}": v for key, some in parts.items() for at, v in enumerate(some)}
        return {**named, "total": np.array(sums.total)}

    found = remember(add_up)
    shares, n_with = (
        [v for name, v in found.items() if name.startswith(key)] for key in ("shares", "n_with")
    )
    learned = preparation.with_sums(fill, shares, n_with, float(found["total"]))
    return replace(learned, ranges=ranges)


def _medians(stream, preparation, encoded, columns, remember):
    """Medians of some numbers in all rows."""
    names = [preparation.numbers[j] for j in columns]
    most = int(_MEDIAN_BYTES / 16 / len(names))
    sample = encoded[:, columns]
    brackets = first_brackets(sample.toarray() if is_sparse(sample) else sample, most)
    narrow = stream.select(names)

    def run(task, merge):
        def look(chunk: RowChunk):
            numeric = chunk.table.numeric
            dense = numeric.toarray() if is_sparse(numeric) else numeric
            return task(dense, chunk.weights)

        return narrow.run(look, merge)

    return find_medians(run, brackets, remember)


def _add_up(preparation, chunk):
    encoded = preparation.encode(chunk.table)
    weights = np.ones(chunk.codes.size) if chunk.weights is None else chunk.weights
    return _Sums(*preparation.add_up(encoded, weights), float(weights.sum()))
