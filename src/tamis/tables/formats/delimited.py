"""CSV and TSV: all columns of a file, of which those without any word become one matrix."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from tamis.tables.columns.coded import Coded, CodedBuilder
from tamis.tables.columns.missing import MissingWords
from tamis.tables.columns.raw import RawTable, find_column
from tamis.tables.columns.table import Columns
from tamis.tables.columns.values import is_number
from tamis.tables.errors import EmptyTableError, InputError
from tamis.tables.formats.batches import read_batches, release_unused
from tamis.tables.formats.lines import unpacking
from tamis.tables.formats.reader import NUMBER, FormatReader, TableSize
from tamis.tables.formats.sampling import KeptRows
from tamis.tables.formats.source import COLUMN, WORD
from tamis.tables.formats.text import Dialect, sniff
from tamis.tables.formats.transposed import read_transposed

# Bytes of a word in memory: a code.
_CODE = 12

# Blocks of this size are given back to the system as soon as they have been copied.
_BLOCK_VALUES = 1 << 22


class MatrixBuilder:
    """A matrix that is read in batches, with little more memory than it needs in the end."""

    def __init__(self, n_columns: int, n_rows: int = 0):
        self.n_rows = 0
        self._n_columns = n_columns
        self._most = max(1, n_rows, -(-_BLOCK_VALUES // max(1, n_columns)))
        self._blocks: list[NDArray] = []

    def add(self, rows: NDArray) -> None:
        """Append rows."""
        start = 0
        while start < len(rows):
            at = self.n_rows % self._most
            if at == 0:
                self._blocks.append(np.empty((self._most, self._n_columns)))
            some = rows[start : start + self._most - at]
            self._blocks[-1][at : at + len(some)] = some
            self.n_rows += len(some)
            start += len(some)

    def finish(self, keep: list[int] | None = None) -> NDArray:
        """The matrix, or some of its columns."""
        if len(self._blocks) == 1 and keep is None and 2 * self.n_rows > self._most:
            return self._blocks.pop()[: self.n_rows]
        n_columns = self._n_columns if keep is None else len(keep)
        matrix = np.empty((self.n_rows, n_columns))
        for start in range(0, self.n_rows, self._most):
            block = self._blocks.pop(0)[: self.n_rows - start]
            matrix[start : start + len(block)] = block if keep is None else block[:, keep]
        return matrix


class Csv(FormatReader):
    """A file of delimited text."""

    format = "csv"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    is_text = can_stream = can_chunk = True

    def _sniff(self, **expected):
        given = {"delimiter": self.delimiter, "encoding": self.encoding}
        return sniff(self.source, **given, **expected)

    def _read(self, keep_rows, *, as_written, drop, missing):
        if self.transpose:
            return read_transposed(self.source, self._sniff(), missing, as_written, drop)
        return _read_all(self.source, self._sniff(), missing, as_written, keep_rows)

    def _rows(self, wanted, chunk_rows):
        dialect = self._sniff(expected=wanted.columns, decimal=wanted.missing.decimal)
        wanted.check(dialect.names, dialect.repeated)
        position = {name: j for j, name in enumerate(dialect.names)}
        # Whether a percent has its sign is known from the words only.
        plain = [name for name in wanted.numbers if name not in wanted.shares]
        numbers = [position[name] for name in plain]
        extra = [name for name in wanted.extra if name in position]
        words = list(dict.fromkeys([*wanted.words, *wanted.shares, *extra]))
        names = np.array(wanted.numbers, dtype=str)
        places = [position[name] for name in words]
        try:
            missing = wanted.missing
            batches = read_batches(
                dialect, numbers, places, missing.spellings, missing.below_detection
            )
            for batch in batches:
                for name in plain:
                    wanted.refuse_large(name, position[name] in batch.large)
                for start in range(0, batch.n_rows, chunk_rows):
                    part = batch.take(start, start + chunk_rows)
                    for j, rows in part.odd.items():
                        wanted.count_odd(dialect.names[j], rows.size)
                    if np.isinf(part.numeric).any():
                        for k, name in enumerate(plain):
                            wanted.refuse_infinite(name, part.numeric[:, k])
                    columns = {name: coded(part.words[k]) for k, name in enumerate(words)}
                    others = {name: wanted.words_of(name, columns[name]) for name in wanted.words}
                    # Words as written: an empty one is a word here.
                    extras = {name: np.asarray(columns[name]) for name in extra}
                    numeric = part.numeric
                    for name in wanted.shares:
                        values = wanted.numbers_of(name, columns[name], dialect.decimal)
                        numeric = np.insert(numeric, wanted.numbers.index(name), values, axis=1)
                    yield Columns(numeric, names, others), extras
        finally:
            dialect.lines.close()

    def chunks(self, wishes):
        """Batches of lines."""
        dialect = self._sniff()
        target, features = wishes.find(dialect.names, dialect.has_header, self.source.name)
        places = [dialect.names.index(name) for name in features]
        words = [] if target is None else [dialect.names.index(target)]

        def start():
            for batch in read_batches(self._sniff(), places, words, MissingWords(None).spellings):
                wrong = sorted({*batch.odd, *batch.large})
                if wrong:
                    raise InputError(
                        f"{self.source.name}: column {dialect.names[wrong[0]]!r} has values that "
                        "are not numbers; name the columns to use with columns=."
                    )
                y = None if target is None else np.array(batch.words[0].to_pylist(), dtype=str)
                for rows in gen_batches(batch.n_rows, wishes.rows(batch.numeric.shape[1])):
                    yield batch.numeric[rows], None if y is None else y[rows]

        return features if dialect.has_header else None, start

    def columns(self) -> tuple[list[str], list[str], bool]:
        """As in the header; x0, x1, ... without one."""
        dialect = self._sniff()
        dialect.lines.close()
        return dialect.names, [], dialect.has_header

    def size(self) -> TableSize | None:
        """From the size of the file and its first rows."""
        dialect = self._sniff()
        dialect.lines.close()
        names, sample = dialect.names, dialect.sample
        if not sample:
            raise InputError(f"{self.source.name} has a header and no rows")
        n_rows = expected_rows(dialect) * unpacking(self.source)
        last = [row for row in sample if len(row) == len(names)] or sample
        n_numbers = sum(is_number(word.replace(",", ".")) or not word.strip() for word in last[-1])
        n_bytes = n_rows * (NUMBER * n_numbers + _CODE * (len(names) - n_numbers))
        return TableSize(n_rows, len(names), n_bytes)


class Tsv(Csv):
    """A file of text delimited by tabs, or by what is detected."""

    format, suffixes = "tsv", (".tsv", ".tab")


def _read_all(source, dialect, missing, as_written, keep_rows):
    """Read columns whose values are all numbers, also in rows that are not kept; others as words.

    `keep_rows` may ask for columns that are read as written.
    """
    names, budget = dialect.names, source.budget
    fixed = {find_column(name, names, dialect.has_header) for name in as_written}
    words = {j for j, name in enumerate(names) if name in fixed} | _wordy_columns(dialect, missing)
    numbers = [j for j in range(len(names)) if j not in words]
    budget.spend(COLUMN * len(names))
    most_rows = budget.limit // (8 * max(1, len(numbers)))
    expected = 0
    if keep_rows is None and not dialect.lines.is_packed:
        expected = min(expected_rows(dialect), most_rows)
    matrix = MatrixBuilder(len(numbers), expected)
    columns = {j: CodedBuilder() for j in sorted(words)}
    late, rows = _read(dialect, numbers, missing, columns, matrix, keep_rows)
    if matrix.n_rows == 0:
        raise EmptyTableError(f"{source.name} has a header and no rows")
    keep = None
    if late:
        # A word after the first rows: the file is read again for these columns.
        again = {j: CodedBuilder() for j in sorted(late)}
        known = None if keep_rows is None else KeptRows(np.concatenate(rows))
        _read(dialect, [], missing, again, keep_rows=known)
        columns |= again
        keep = [k for k, j in enumerate(numbers) if j not in late]
        numbers = [numbers[k] for k in keep]
    dialect.lines.close()
    others = {names[j]: columns.pop(j).finish() for j in sorted(columns)}
    release_unused()
    return RawTable(
        matrix.finish(keep),
        [names[j] for j in numbers],
        others,
        order=list(names),
        is_named=dialect.has_header,
        decimal=dialect.decimal,
        notes=list(dialect.notes),
        repeated=dialect.repeated,
    )


def _read(dialect, numbers, missing, columns, matrix=None, keep_rows=None):
    """Read numbers into a matrix and words into columns.

    Returns the numbers that are words, and the places of the rows if only some were kept.
    """
    budget = dialect.lines.source.budget
    place = {dialect.names[j]: k for k, j in enumerate(columns)}
    late, rows, start = set(), [], 0
    for batch in read_batches(dialect, numbers, list(columns), missing):
        late |= {*batch.odd, *batch.large}
        if keep_rows is not None:
            written = batch.words

            def column(name, written=written):
                return coded(written[place[name]])

            is_kept = keep_rows(start, batch.n_rows, column)
            rows.append(start + np.flatnonzero(is_kept))
            start += batch.n_rows
            batch = batch.keep(is_kept)
        parts = zip(columns.values(), batch.words, strict=True)
        n_words = sum(column.add(part) for column, part in parts)
        budget.spend(batch.numeric.nbytes + 12 * len(columns) * batch.n_rows + WORD * n_words)
        if matrix is not None:
            matrix.add(batch.numeric)
    return late, rows


def coded(column: Any) -> Coded:
    """An array of pyarrow as a column of stripped words."""
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode()
    words = column.dictionary.to_numpy(zero_copy_only=False).tolist()
    return Coded(column.indices.to_numpy(), [word.strip() for word in words])


def expected_rows(dialect: Dialect) -> int:
    """Number of rows, from the (packed) size of the file and the length of its first rows."""
    path, sample = dialect.lines.source.path, dialect.sample
    n_bytes = sum(len(word) + 1 for row in sample for word in row)
    return int(1.1 * path.stat().st_size * len(sample) / max(1, n_bytes))


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
