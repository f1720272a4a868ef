"""CSV and TSV: numbers at the speed of `numpy.loadtxt`, words beside them.

A chunk of lines goes through `numpy.loadtxt` when all its numbers are there; else its rows are
converted one by one. A column in which a word turns up late is read a second time as words.
"""

import re
import warnings
from operator import itemgetter

import numpy as np

from tamis._base import LARGEST_INTEGER
from tamis.tables.dialect import records, split
from tamis.tables.errors import EmptyTableError, InputError
from tamis.tables.integers import is_large_integer
from tamis.tables.limits import COLUMN, WORD
from tamis.tables.raw import RawTable
from tamis.tables.source import name_of
from tamis.tables.tokens import Cleaned, is_number

__all__ = ["ChunkParser", "chunks", "number_rows", "read_delimited"]

_CHUNK_FIELDS = 500_000
_UNREADABLE = re.compile(r"could not convert string '(.*)' to", re.DOTALL)
_EDGE = 8  # words among the first or last fields are found without splitting the whole line


def chunks(path, dialect, encoding, budget, n_rows=None):
    """Lists of records; every record has as many fields as there are names."""
    width = len(dialect.names)
    if n_rows is None:
        n_rows = max(1, _CHUNK_FIELDS // width)
    source = records(path, dialect.delimiter, dialect.is_quoted, encoding, budget)
    if dialect.has_header:
        next(source, None)
    lines, size = [], 0
    for number, line in source:
        if dialect.is_quoted and '"' in line:
            found = len(split(line, dialect))
        else:
            found = line.count(dialect.delimiter) + 1
        if found != width:
            raise InputError(
                f"{name_of(path)} line {number}: expected {width:,} fields, found {found:,}"
            )
        lines.append(line)
        size += len(line)
        if len(lines) == n_rows or size > budget.longest_line:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines


def number_rows(rows, missing, decimal="."):
    """Matrix of rows of words, NaN where one is missing; and where the odd words are.

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
        The numbers.
    odd : list of (row, column)
        Places of words that are neither numbers nor missing; NaN in `values`.
    """
    values = np.empty((len(rows), len(rows[0])))
    odd = []
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
        # Python reads 1_000 as a number; in data it is a word.
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

    def __init__(self, dialect, numbers, words, missing=frozenset()):
        self.dialect = dialect
        self.missing = missing
        self.numbers = list(numbers)
        self.words = list(words)
        self.gaps = set()
        self.large = set()  # columns with integers beyond 2**53
        self.n_failures = 0

    def parse(self, lines):
        """Matrix of the numbers, columns of the raw words, and places of odd words."""
        matrix = self._fast_numbers(lines)
        odd = []
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
        at = np.flatnonzero((np.abs(matrix) > LARGEST_INTEGER).any(axis=0))
        suspects = {self.numbers[k] for k in at} - self.large
        if suspects:
            for row in (split(line, self.dialect) for line in lines):
                self.large |= {j for j in suspects if is_large_integer(row[j])}

    def _fast_numbers(self, lines):
        if not self.numbers:
            return np.empty((len(lines), 0))
        # Where words keep turning up, trying costs more than it brings.
        if self.n_failures >= 3:
            return None
        if self.dialect.decimal == ",":
            lines = [line.replace(",", ".") for line in lines]
        while True:
            try:
                filled = _without_gaps(lines, self.gaps, self.dialect.delimiter)
                return self._loadtxt(filled)
            except ValueError as error:
                # The message shows the word: a new name for a missing value is worth a new try.
                shown = _UNREADABLE.search(str(error))
                gaps = self.missing & {shown[1]} if shown else set()
                if gaps <= self.gaps:
                    self.n_failures += 1
                    return None
                self.gaps |= gaps

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


def _without_gaps(lines, gaps, delimiter):
    """Lines with "nan", as numpy reads it, where a word of `gaps` is; for their numbers only."""
    if not gaps:
        return lines
    text = "\n".join(lines)
    if text.count("\n") >= len(lines):  # a record of several lines
        return lines
    text = f"\n{text}\n"
    for word in sorted(gaps):
        # At the ends of a line, then inside; twice, because neighbours share a delimiter.
        text = text.replace(f"\n{word}{delimiter}", f"\nnan{delimiter}")
        text = text.replace(f"{delimiter}{word}\n", f"{delimiter}nan\n")
        inside = f"{delimiter}{word}{delimiter}"
        if inside in text:
            for _ in range(2):
                text = text.replace(inside, f"{delimiter}nan{delimiter}")
    return text[1:-1].split("\n")


def read_delimited(path, dialect, missing, budget, *, encoding=None, raw=()):
    """All columns of a delimited file.

    Parameters
    ----------
    path : Path
        The file.
    dialect : Dialect
        How it is written.
    missing : frozenset of str
        Words that stand for a missing value among numbers; in columns of words they stay.
    budget : Budget
        Memory that the table may take.
    encoding : str or None
        Its encoding.
    raw : collection of str
        Columns that are words, even if they look like numbers: labels, names of rows.

    Returns
    -------
    RawTable
        Columns whose values are all numbers or missing; all others as words.
    """
    names = dialect.names
    words = {j for j, name in enumerate(names) if name in set(raw)}
    words |= _wordy_columns(dialect, missing)
    numbers = [j for j in range(len(names)) if j not in words]
    parser = ChunkParser(dialect, numbers, sorted(words), missing)
    cleaned = {j: Cleaned() for j in words}
    found = {j: [] for j in words}
    blocks, late = [], set()
    budget.spend(COLUMN * len(names))
    for lines in chunks(path, dialect, encoding, budget):
        matrix, columns, odd = parser.parse(lines)
        budget.spend(matrix.nbytes)
        blocks.append(matrix)
        late.update(numbers[j] for _, j in odd)
        for j, column in zip(parser.words, columns, strict=True):
            _extend(found[j], cleaned[j], column, budget)
    if not blocks:
        raise EmptyTableError(f"{name_of(path)} has a header and no rows")
    late |= parser.large
    if late:
        found |= _second_reading(path, dialect, encoding, sorted(late), budget)
        keep = [k for k, j in enumerate(numbers) if j not in late]
        numbers = [numbers[k] for k in keep]
        blocks = [block[:, keep] for block in blocks]
    matrix = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    return RawTable(
        matrix,
        [names[j] for j in numbers],
        {names[j]: _objects(found[j]) for j in sorted(found)},
        order=list(names),
        is_named=dialect.has_header,
        decimal=dialect.decimal,
        notes=list(dialect.notes),
        repeated=dialect.repeated,
    )


def _wordy_columns(dialect, missing):
    """Columns with a word among the first rows."""
    comma = dialect.decimal == ","
    wordy = set()
    n_rows = max(3, min(20, 200_000 // len(dialect.names)))
    for row in dialect.sample[:n_rows]:
        for j, word in enumerate(row[: len(dialect.names)]):
            text = word.replace(",", ".") if comma else word
            if not is_number(text) and word.strip() not in missing:
                wordy.add(j)
    return wordy


def _second_reading(path, dialect, encoding, at, budget):
    parser = ChunkParser(dialect, [], at)
    found = {j: [] for j in at}
    cleaned = {j: Cleaned() for j in at}
    for lines in chunks(path, dialect, encoding, budget):
        for j, column in zip(at, parser.parse(lines)[1], strict=True):
            _extend(found[j], cleaned[j], column, budget)
    return found


def _extend(words, cleaned, column, budget):
    """Add words of a chunk; each of them is held once."""
    n_known = len(cleaned)
    words.extend(map(cleaned.__getitem__, column))
    # The words of a column are a list first, then an array.
    budget.spend(16 * len(column) + 2 * WORD * (len(cleaned) - n_known))


def _objects(values):
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
