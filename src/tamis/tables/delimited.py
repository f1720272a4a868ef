"""CSV and TSV: numbers are read by `numpy.loadtxt`, words column by column.

A chunk of lines is read by `numpy.loadtxt` if none of its numbers is missing; otherwise its rows
are converted one by one. If a word appears late in a column of numbers, the file is read a second
time for the words of this column.
"""

import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from tamis._base import LARGEST_INTEGER
from tamis.tables.errors import EmptyTableError, InputError
from tamis.tables.raw import RawTable, find_column
from tamis.tables.source import COLUMN, WORD, Source
from tamis.tables.text import Dialect, records, sniff, split
from tamis.tables.values import as_objects, is_large_integer, is_number

__all__ = ["ChunkParser", "Cleaned", "chunks", "number_rows", "read_delimited"]

_CHUNK_FIELDS = 500_000
_UNREADABLE = re.compile(r"could not convert string '(.*)' to", re.DOTALL)
_EDGE = 8  # words among the first or last fields are read without splitting the whole line


class Cleaned(dict):
    """All words seen so far, without surrounding blanks; None if nothing is left.

    A dictionary, so that a column of few values is read at the speed of lookups and holds each
    value once.
    """

    def __missing__(self, word):
        """Clean a word that was not seen before."""
        self[word] = value = word.strip() or None
        return value


def chunks(dialect: Dialect, n_rows: int | None = None) -> Iterator[list[str]]:
    """Yield lists of records; each record must have one field per name."""
    width = len(dialect.names)
    source = dialect.lines.source
    if n_rows is None:
        n_rows = max(1, _CHUNK_FIELDS // width)
    found_records = records(dialect.lines, dialect)
    if dialect.has_header:
        next(found_records, None)
    lines, size = [], 0
    for number, line in found_records:
        if dialect.is_quoted and '"' in line:
            n_fields = len(split(line, dialect))
        else:
            n_fields = line.count(dialect.delimiter) + 1
        if n_fields != width:
            raise InputError(
                f"{source.name} line {number}: expected {width:,} fields, found {n_fields:,}"
            )
        lines.append(line)
        size += len(line)
        if len(lines) == n_rows or size > source.budget.longest_line:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines


def number_rows(
    rows: Sequence[Sequence[str]], missing: frozenset[str], decimal: str = "."
) -> tuple[NDArray[np.float64], list[tuple[int, int]]]:
    """Convert rows of words to a matrix, and find the words that are not numbers.

    Parameters
    ----------
    rows : list of list of str
        Fields.
    missing : frozenset of str
        Words that stand for a missing value.
    decimal : {".", ","}
        Decimal mark.

    Returns
    -------
    values : ndarray of float64 of shape (n_rows, n_columns)
        The numbers; NaN for missing values.
    odd : list of (row, column)
        Positions of words that are neither numbers nor missing; NaN in `values`.
    """
    values = np.empty((len(rows), len(rows[0])))
    odd: list[tuple[int, int]] = []
    for i, row in enumerate(rows):
        if decimal == ",":
            row = [word.replace(",", ".") for word in row]
        try:
            values[i] = np.fromiter(map(float, row), float, len(row))
        except ValueError:
            words = ["nan" if word in missing else word for word in row]
            try:
                values[i] = np.fromiter(map(float, words), float, len(words))
            except ValueError:
                odd.extend((i, j) for j in _odd_words(words, values[i], missing))
        # Python accepts 1_000 as a number; in data it is a word.
        if "_" in "".join(row):
            for j, word in enumerate(row):
                if "_" in word and is_number(word.replace("_", "0")):
                    values[i, j] = np.nan
                    odd.append((i, j))
    return values, odd


def _odd_words(words, out, missing):
    for j, word in enumerate(words):
        try:
            out[j] = float(word)
        except ValueError:
            out[j] = np.nan
            if word.strip() not in missing:
                yield j


class ChunkParser:
    """Numbers and words of chunks of records.

    Parameters
    ----------
    dialect : Dialect
        How the records are written.
    numbers, words : list of int
        Columns to read as numbers, and as words.
    missing : frozenset of str
        Words that stand for a missing value among numbers.
    """

    def __init__(
        self,
        dialect: Dialect,
        numbers: Collection[int],
        words: Collection[int],
        missing: frozenset[str] = frozenset(),
    ):
        self.dialect = dialect
        self.missing = missing
        self.numbers = list(numbers)
        self.words = list(words)
        self.seen_missing: set[str] = set()
        self.large: set[int] = set()  # columns with integers beyond 2**53
        self.n_failures = 0

    def parse_chunks(
        self, n_rows: int | None = None
    ) -> Iterator[tuple[NDArray[np.float64], list[list[str]], list[tuple[int, int]]]]:
        """As `parse`, for each chunk of the file; at most `n_rows` rows at a time."""
        for lines in chunks(self.dialect, n_rows):
            yield self.parse(lines)

    def parse(
        self, lines: list[str]
    ) -> tuple[NDArray[np.float64], list[list[str]], list[tuple[int, int]]]:
        """Matrix of the numbers, columns of the words, and positions of odd words."""
        matrix = self._fast_numbers(lines)
        odd: list[tuple[int, int]] = []
        if matrix is None:
            rows = [split(line, self.dialect) for line in lines]
            words = [[row[j] for row in rows] for j in self.words]
            if len(self.numbers) < len(self.dialect.names):
                rows = [[row[j] for j in self.numbers] for row in rows]
            matrix, odd = number_rows(rows, self.missing, self.dialect.decimal)
        else:
            words = self._fast_words(lines)
        self._find_large(matrix, lines)
        return matrix, words, odd

    def _find_large(self, matrix, lines):
        """Note the columns that have an integer beyond 2**53, written as one."""
        columns = np.flatnonzero((np.abs(matrix) > LARGEST_INTEGER).any(axis=0))
        suspects = {self.numbers[k] for k in columns} - self.large
        if suspects:
            for row in (split(line, self.dialect) for line in lines):
                self.large |= {j for j in suspects if is_large_integer(row[j])}

    def _fast_numbers(self, lines):
        if not self.numbers:
            return np.empty((len(lines), 0))
        # After several failures, another attempt is not worth its cost.
        if self.n_failures >= 3:
            return None
        if self.dialect.decimal == ",":
            lines = [line.replace(",", ".") for line in lines]
        while True:
            try:
                filled = _without_missing(lines, self.seen_missing, self.dialect.delimiter)
                return self._loadtxt(filled)
            except ValueError as error:
                # The message shows the word: try again if it stands for a missing value.
                shown = _UNREADABLE.search(str(error))
                unknown = self.missing & {shown[1]} if shown else set()
                if unknown <= self.seen_missing:
                    self.n_failures += 1
                    return None
                self.seen_missing |= unknown

    def _loadtxt(self, lines):
        dialect = self.dialect
        all_of_them = len(self.numbers) == len(dialect.names)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            matrix = np.loadtxt(
                lines,
                delimiter=dialect.delimiter,
                comments=None,
                quotechar='"' if dialect.is_quoted else None,
                usecols=None if all_of_them else self.numbers,
                ndmin=2,
            )
        return matrix if matrix.shape == (len(lines), len(self.numbers)) else None

    def _fast_words(self, lines):
        if not self.words:
            return []
        dialect = self.dialect
        first, last = self.words[0], self.words[-1]
        width = len(dialect.names)
        if not dialect.is_quoted or not any('"' in line for line in lines):
            if last < _EDGE:
                rows = [line.split(dialect.delimiter, last + 1) for line in lines]
                return [[row[j] for row in rows] for j in self.words]
            if first >= width - _EDGE:
                rows = [line.rsplit(dialect.delimiter, width - first) for line in lines]
                return [[row[j - width] for row in rows] for j in self.words]
        if len(self.words) == 1:
            pick = itemgetter(first)
            return [[pick(split(line, dialect)) for line in lines]]
        pick = itemgetter(*self.words)
        picked = [pick(split(line, dialect)) for line in lines]
        return [list(column) for column in zip(*picked, strict=True)]


def _without_missing(lines, missing, delimiter):
    """Replace the words in `missing` by "nan", which numpy reads."""
    if not missing:
        return lines
    text = "\n".join(lines)
    if text.count("\n") >= len(lines):  # a record of several lines
        return lines
    text = f"\n{text}\n"
    for word in sorted(missing):
        # At both ends of a line, then inside; twice, because neighbours share a delimiter.
        text = text.replace(f"\n{word}{delimiter}", f"\nnan{delimiter}")
        text = text.replace(f"{delimiter}{word}\n", f"{delimiter}nan\n")
        inside = f"{delimiter}{word}{delimiter}"
        if inside in text:
            for _ in range(2):
                text = text.replace(inside, f"{delimiter}nan{delimiter}")
    return text[1:-1].split("\n")


def read_delimited(
    source: Source,
    missing: frozenset[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    as_written: Collection[str | int] = (),
) -> RawTable:
    """Read all columns of a delimited file.

    Parameters
    ----------
    source : Source
        The file.
    missing : frozenset of str
        Words that stand for a missing value among numbers; in columns of words they are kept.
    delimiter, encoding : str or None
        As given by the user; None: detected.
    as_written : collection of str or int
        Columns to read as words, even if they look like numbers: labels, names of rows.

    Returns
    -------
    RawTable
        Columns whose values are all numbers or missing; all others as words.
    """
    dialect = sniff(source, delimiter=delimiter, encoding=encoding)
    names, budget = dialect.names, source.budget
    fixed = {find_column(name, names, dialect.has_header) for name in as_written}
    words = {j for j, name in enumerate(names) if name in fixed}
    words |= _wordy_columns(dialect, missing)
    numbers = [j for j in range(len(names)) if j not in words]
    parser = ChunkParser(dialect, numbers, sorted(words), missing)
    columns = {j: _Words() for j in words}
    blocks: list[NDArray] = []
    late: set[int] = set()
    budget.spend(COLUMN * len(names))
    for matrix, parts, odd in parser.parse_chunks():
        blocks.append(matrix)
        late.update(numbers[j] for _, j in odd)
        n_bytes = sum(columns[j].add(part) for j, part in zip(parser.words, parts, strict=True))
        budget.spend(matrix.nbytes + n_bytes)
    if not blocks:
        raise EmptyTableError(f"{source.name} has a header and no rows")
    late |= parser.large
    if late:
        columns |= _second_reading(dialect, sorted(late))
        keep = [k for k, j in enumerate(numbers) if j not in late]
        numbers = [numbers[k] for k in keep]
        blocks = [block[:, keep] for block in blocks]
    matrix = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    return RawTable(
        matrix,
        [names[j] for j in numbers],
        {names[j]: as_objects(columns[j].values) for j in sorted(columns)},
        order=list(names),
        is_named=dialect.has_header,
        decimal=dialect.decimal,
        notes=list(dialect.notes),
        repeated=dialect.repeated,
    )


def _wordy_columns(dialect, missing):
    """Columns that hold a word in one of the first rows."""
    comma = dialect.decimal == ","
    wordy = set()
    n_rows = max(3, min(20, 200_000 // len(dialect.names)))
    for row in dialect.sample[:n_rows]:
        for j, word in enumerate(row[: len(dialect.names)]):
            text = word.replace(",", ".") if comma else word
            if not is_number(text) and word.strip() not in missing:
                wordy.add(j)
    return wordy


def _second_reading(dialect, columns_to_read):
    """Words of some columns, for which the file is opened again."""
    parser = ChunkParser(dialect, [], columns_to_read)
    columns = {j: _Words() for j in columns_to_read}
    for _, parts, _ in parser.parse_chunks():
        for j, part in zip(columns_to_read, parts, strict=True):
            dialect.lines.source.budget.spend(columns[j].add(part))
    return columns


class _Words:
    """Words of one column; equal words are held once."""

    def __init__(self):
        self.values = []
        self.cleaned = Cleaned()

    def add(self, words):
        """Add the words of a chunk; returns the bytes of memory that they need."""
        n_known = len(self.cleaned)
        self.values.extend(map(self.cleaned.__getitem__, words))
        # The words of a column are first a list, then an array.
        return 16 * len(words) + 2 * WORD * (len(self.cleaned) - n_known)
