"""Rows of text files in batches: numbers in a matrix, words as arrays of pyarrow.

pyarrow reads most files straight into numbers and words. Lines are split here, all fields of many
rows at once, in two cases:

- from the first batch on that pyarrow cannot read: something else among numbers (" NA ", 12%, a
  word), a ragged row, an open quote, bytes that are not UTF-8. It is then read with care, or
  raises an error that names its line;
- tables of thousands of columns, where handling each column by itself costs more than its values.
"""

import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._base import LARGEST_INTEGER
from tamis.tables.columns.limits import parse_limited
from tamis.tables.columns.values import is_large_integer, to_number
from tamis.tables.errors import load
from tamis.tables.formats.text import Dialect, rows_of, split

# Beyond this number of columns, whole rows are converted at once.
_WIDE = 1_000
_CHUNK_FIELDS = 500_000
_BLOCK, _BYTES_PER_FIELD, _ROWS_PER_BLOCK = 1 << 20, 8, 1_000
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


@dataclass
class Batch:
    """Some rows."""

    numeric: NDArray  # (n_rows, n_numbers): NaN where a value is missing or is not a number
    words: list  # columns of words, as written
    # Rows that have a word among the numbers of a column, by its place in the file.
    odd: dict[int, NDArray] = field(default_factory=dict)
    # Columns with integers that are not exact as floats.
    large: set[int] = field(default_factory=set)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.numeric.shape[0]

    def take(self, start: int, stop: int) -> "Batch":
        """The rows from `start` to `stop`."""
        if start == 0 and stop >= self.n_rows:
            return self
        odd = {j: at[(start <= at) & (at < stop)] - start for j, at in self.odd.items()}
        words = [column[start:stop] for column in self.words]
        return Batch(self.numeric[start:stop], words, odd, self.large)

    def keep(self, is_kept: NDArray[np.bool_]) -> "Batch":
        """Some of the rows, with no more words than they have."""
        words = [column.filter(is_kept) for column in self.words]
        words = [w.dictionary_decode() if hasattr(w, "dictionary") else w for w in words]
        return Batch(self.numeric[is_kept], words, {}, self.large)


def read_batches(
    dialect: Dialect,
    numbers: Sequence[int],
    words: Sequence[int],
    missing: frozenset[str],
    below_detection: str = "missing",
) -> Iterator[Batch]:
    """Read some columns of a delimited file."""
    pa = load("pyarrow", "reading CSV")
    n_done = 0
    if len(dialect.names) <= _WIDE:
        try:
            for batch in _read_typed(dialect, numbers, words, missing):
                n_done += batch.n_rows
                yield batch
            return
        except (pa.ArrowInvalid, UnicodeError, _LargeNumbers):
            pass
    for batch in _read_lines(dialect, numbers, words, missing, below_detection):
        if n_done < batch.n_rows:
            yield batch.take(n_done, batch.n_rows)
        n_done = max(0, n_done - batch.n_rows)


class _LargeNumbers(Exception):
    """Numbers that are not exact as floats if they are written as integers."""


def _skip_comments(row):
    """Skip blank lines and comments; another row with the wrong number of fields is an error."""
    return "skip" if not row.text.strip() or row.text.startswith("#") else "error"


def _read_typed(dialect, numbers, words, missing):
    """Batches of which pyarrow converts the numbers."""
    import pyarrow as pa
    from pyarrow import csv

    width = len(dialect.names)
    block = max(_BLOCK, width * _BYTES_PER_FIELD * _ROWS_PER_BLOCK)
    types = dict.fromkeys(numbers, pa.float64()) | _types_of_words(dialect, words)
    types = {str(j): dtype for j, dtype in types.items()}
    stream = dialect.lines.stream(is_blank=dialect.delimiter == " ")
    reader = csv.open_csv(
        stream,
        read_options=csv.ReadOptions(
            column_names=[str(j) for j in range(width)],
            skip_rows=dialect.n_skipped,
            block_size=min(block, dialect.lines.source.budget.longest_line),
        ),
        parse_options=csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char='"' if dialect.is_quoted else False,
            newlines_in_values=dialect.is_quoted,
            invalid_row_handler=_skip_comments,
        ),
        convert_options=csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=sorted(missing),
            strings_can_be_null=False,
            decimal_point=dialect.decimal,
        ),
    )
    places = [str(j) for j in numbers]
    for batch in reader:
        numeric = np.empty((batch.num_rows, 0))
        if batch.num_rows and places:
            tensor = batch.select(places).to_tensor(null_to_nan=True, row_major=True)
            numeric = tensor.to_numpy()
        if (np.abs(numeric) > LARGEST_INTEGER).any():
            raise _LargeNumbers
        if batch.num_rows:
            yield Batch(numeric, [batch.column(str(j)) for j in words])
    if dialect.is_quoted and stream.n_quotes % 2:
        # pyarrow accepts a quote that is open at the end; this raises an error with its line.
        for _ in rows_of(dialect):
            pass


def _types_of_words(dialect, words):
    """Distinct words of a batch are held once, unless hardly any of them is repeated."""
    import pyarrow as pa

    types = {}
    for j in words:
        known = {row[j] for row in dialect.sample if j < len(row)}
        is_varied = len(known) > 0.9 * len(dialect.sample) and len(known) > 10
        types[j] = pa.string() if is_varied else pa.dictionary(pa.int32(), pa.string())
    return types


def _read_lines(dialect, numbers, words, missing, below_detection):
    """Batches of rows that are split here, and converted all at once."""
    import pyarrow as pa

    width = len(dialect.names)
    order = {j: k for k, j in enumerate(numbers)}
    is_word = np.ones(width, dtype=bool)
    is_word[list(numbers)] = False
    for fields in split_batches(dialect):
        n_rows = len(fields) // width
        columns = [fields.take(pa.array(np.arange(j, len(fields), width))) for j in words]
        found = Batch(np.empty((n_rows, 0)), columns)
        if order:
            written = fields
            if is_word.any():
                skipped = pa.array(np.tile(is_word, n_rows))
                written = pa.compute.if_else(skipped, pa.scalar(None, pa.string()), fields)
            values, odd = parse_words(written, missing, dialect.decimal, below_detection)
            found.numeric = values.reshape(n_rows, width)[:, list(numbers)]
            for j in sorted(np.unique(odd % width).tolist(), key=order.__getitem__):
                found.odd[j] = odd[odd % width == j] // width
            rows, places = np.nonzero(np.abs(found.numeric) > LARGEST_INTEGER)
            for row, k in zip(rows.tolist(), places.tolist(), strict=True):
                j = numbers[k]
                if j not in found.large and is_large_integer(fields[row * width + j].as_py()):
                    found.large.add(j)
        yield found


def release_unused() -> None:
    """Give memory that pyarrow, if it was used, no longer needs back to the system."""
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()


def split_batches(dialect: Dialect) -> Iterator[Any]:
    """Read all fields of the rows, one row after the other, as arrays of pyarrow."""
    most = max(1, _CHUNK_FIELDS // len(dialect.names))
    longest = dialect.lines.source.budget.longest_line
    lines, size = [], 0
    for _, line in rows_of(dialect):
        lines.append(line)
        size += len(line)
        if len(lines) == most or size > longest:
            yield _fields(lines, dialect)
            lines, size = [], 0
    if lines:
        yield _fields(lines, dialect)


def _fields(lines, dialect):
    import pyarrow as pa
    from pyarrow import compute

    if dialect.is_quoted and any('"' in line for line in lines):
        rows = [split(line, dialect) for line in lines]
        return pa.array(chain.from_iterable(rows), pa.string())
    delimiter = dialect.delimiter
    return compute.list_flatten(compute.split_pattern(pa.array(lines, pa.string()), delimiter))


def parse_words(
    words: Any, missing: Collection[str], decimal: str = ".", below_detection: str = "missing"
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Convert an array of words to numbers.

    Returns `values`: NaN for missing values and for words; `odd`: places of the words that are
    neither numbers nor missing.
    """
    import pyarrow as pa
    from pyarrow import compute

    nothing, null = pa.array(sorted(missing), pa.string()), pa.scalar(None, pa.string())
    no_words = np.zeros(0, dtype=np.intp)

    def converted(words):
        if decimal == ",":
            words = compute.replace_substring(words, ",", ".")
        return words.cast(pa.float64()).to_numpy(zero_copy_only=False)

    def without(words, gone):
        return compute.if_else(gone, null, words)

    # A point between digits can separate thousands if the decimal mark is a comma.
    if decimal == "." or not compute.any(compute.match_substring(words, ".")).as_py():
        for look_for_missing in (False, True):
            try:
                if look_for_missing:
                    words = without(words, compute.is_in(words, nothing))
                return converted(words), no_words
            except pa.ArrowInvalid:
                continue
    words = compute.utf8_trim_whitespace(words)
    words = without(words, compute.is_in(words, nothing))
    pattern = _NUMBER if decimal == "." else _NUMBER.replace(r"\.", ",")
    is_plain = compute.fill_null(compute.match_substring_regex(words, pattern), True)
    values = np.array(converted(without(words, compute.invert(is_plain))))
    rest = np.flatnonzero(~is_plain.to_numpy(zero_copy_only=False))
    found, odd = parse_limited(words.take(pa.array(rest)).to_pylist(), below_detection, decimal)
    values[rest] = found
    if not odd:
        return values, no_words
    written = words.take(pa.array(rest)).to_pylist()
    is_odd = np.isnan(found) & np.array([to_number(word, decimal) is None for word in written])
    return values, rest[is_odd]
