"""The labelled rows of a file, some at a time, read the same way on every pass.

Which columns are features, and of which kind, is decided once, from a sample (`draw_sample`);
`RowStream` then reads the whole file as often as needed, as `tamis predict` would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._passes import merge_in_tree
from tamis.tables.columns.missing import MissingWords
from tamis.tables.columns.raw import find_column
from tamis.tables.columns.sample_weights import parse_weights
from tamis.tables.columns.table import Columns, Table
from tamis.tables.columns.values import match_labels
from tamis.tables.errors import InputError, listed, require_names
from tamis.tables.formats.batches import release_unused
from tamis.tables.formats.reader import FormatReader
from tamis.tables.formats.sampling import MOST_LABELS, RowSample, SampleSurvey
from tamis.tables.reading.rows import read_rows

# Numbers of a chunk.
_CHUNK_VALUES = 1_000_000
_READING = ("format", "delimiter", "encoding", "layer")


def why_not(reader: FormatReader, options: Mapping[str, Any]) -> str | None:
    """Why a file cannot be read some rows at a time; None if it can."""
    if not reader.can_stream:
        return f"{reader.format} files are read as a whole; save the table as CSV or parquet"
    if options.get("transpose"):
        return "a table with features in rows (--transpose) is read as a whole"
    if options.get("target_file"):
        return "labels of a separate file (--target-file) are joined in memory"
    return reader.why_not(options.get("groups"))


@dataclass(frozen=True)
class Header:
    """Columns of a file with roles."""

    target: str
    groups: str | None
    weights: str | None


def read_header(reader: FormatReader, options: Mapping[str, Any]) -> Header:
    """Find the columns of labels, groups and weights, given by their names or positions.

    `options`: of `read_table`, with "target".
    """
    names, side, is_named = reader.columns()

    def find(role):
        given = options.get(role)
        if given is None or given in side:
            return given
        found = find_column(given, names, is_named)
        if found is None:
            require_names([str(given)], [*names, *side], role)
        return found

    target = reader.own_target if options.get("target") is None else find("target")
    if target is None:
        raise InputError(
            f"specify the label column with --target, such as {listed([*side, *names][-5:])}"
        )
    return Header(target, find("groups"), find("weights"))


def survey_rows(
    path: str | PathLike, options: Mapping[str, Any], header: Header, size: int, seed: int
) -> SampleSurvey:
    """Read labels, groups and weights of all rows."""
    words = options.get("missing_values")
    survey = SampleSurvey(size, seed, MissingWords(None if words is None else list(words)))
    roles = header.target, header.groups, header.weights
    extra = list(dict.fromkeys(name for name in roles if name is not None))
    reading: dict[str, Any] = {name: options.get(name) for name in _READING}
    for _, extras in read_rows(path, [], extra=extra, chunk_rows=100_000, **reading):
        groups = None if header.groups is None else extras[header.groups]
        weights = None if header.weights is None else extras[header.weights]
        survey.add(extras[header.target], groups, weights)
        if len(survey.labels) > MOST_LABELS:
            raise InputError(
                f"target {header.target!r} has more than {MOST_LABELS:,} different labels: if it "
                "is a quantity, bin it into classes first"
            )
    return survey


@dataclass(frozen=True)
class RowChunk:
    """Some rows that have a label."""

    table: Columns  # features
    codes: NDArray[np.int64]  # (n_rows,): class of each row
    weights: NDArray[np.float64] | None  # (n_rows,) or None
    in_sample: NDArray[np.bool_]  # (n_rows,): which rows are in the sample
    units: NDArray[np.uint64]  # (n_rows,): hash of the sample group of each row, or of its place

    def take(self, rows: NDArray) -> RowChunk:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        table, codes = self.table.take(rows), self.codes[rows]
        return RowChunk(table, codes, weights, self.in_sample[rows], self.units[rows])


@dataclass
class RowStream:
    """The labelled rows of a file."""

    path: str | PathLike
    options: Mapping[str, Any]  # of `read_table`
    header: Header
    sample: RowSample
    columns: list[str]  # features
    kinds: dict[str, str]  # kinds of features that are not numbers
    classes: NDArray  # (n_classes,)
    missing: MissingWords
    chunk_rows: int  # most rows of a chunk
    n_labelled: int = 0  # rows that it gives, once they were counted
    # Which of the labelled rows it gives, one bit a row, packed; None: all of them.
    chosen: NDArray[np.uint8] | None = None
    # What was found on the last pass, such as words among numbers.
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        path: str | PathLike,
        options: Mapping[str, Any],
        header: Header,
        sample: RowSample,
        table: Table,
    ) -> RowStream:
        """Rows as those of a table, which has the sample."""
        columns = table.columns.names
        rows = max(100, _CHUNK_VALUES // max(1, len(columns)))
        assert table.y is not None
        return cls(
            path, options, header, sample, columns, table.kinds, np.unique(table.y),
            table.missing, rows,
        )  # fmt: skip

    def select(self, columns: list[str]) -> RowStream:
        """The same rows with some of the columns."""
        kinds = {name: kind for name, kind in self.kinds.items() if name in columns}
        return replace(self, columns=columns, kinds=kinds)

    def __iter__(self) -> Iterator[RowChunk]:
        header, start, n_given = self.header, 0, 0
        notes: list[str] = []
        reading: dict[str, Any] = {name: self.options.get(name) for name in _READING}
        extra = [n for n in (header.target, header.groups, header.weights) if n is not None]
        place = {label: code for code, label in enumerate(self.classes.tolist())}
        chunks = read_rows(
            self.path,
            self.columns,
            self.kinds,
            **reading,
            missing=self.missing,
            chunk_rows=self.chunk_rows,
            extra=list(dict.fromkeys(extra)),
            notes=notes,
        )
        for table, extras in chunks:
            in_sample = self.sample(start, table.n_rows, extras.__getitem__)
            units = self.sample.units(start, table.n_rows, extras.__getitem__)
            start += table.n_rows
            labels = match_labels(extras[header.target], self.classes, self.missing)
            codes = np.array([place.get(label, -1) for label in labels.tolist()], dtype=np.int64)
            chunk, rows = RowChunk(table, codes, None, in_sample, units), codes >= 0
            chunk = chunk if rows.all() else chunk.take(np.flatnonzero(rows))
            if header.weights is not None:
                weights = parse_weights(extras[header.weights][rows], header.weights)
                assert self.sample.weights is not None
                chunk = replace(chunk, weights=weights / self.sample.weights.unit)
                chunk = chunk if weights.all() else chunk.take(np.flatnonzero(weights))
            if self.chosen is not None:
                first, last = n_given, n_given + chunk.codes.size
                bits = np.unpackbits(self.chosen[first // 8 : -(-last // 8)])
                chunk = chunk.take(np.flatnonzero(bits[first % 8 :][: last - first]))
                n_given = last
            yield chunk
        self.notes = notes
        release_unused()

    def run(self, summarise: Callable[[RowChunk], Any], merge: Callable[[Any, Any], Any]) -> Any:
        """Make one pass: summarise each chunk, and merge the summaries in a fixed tree."""
        return merge_in_tree((summarise(chunk) for chunk in self if chunk.codes.size), merge)
