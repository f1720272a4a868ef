"""Text files: their lines, their records, and how they are written.

A file is opened once: the lines from which its dialect is detected are kept and read again.
"""

import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from tamis.tables.errors import InputError
from tamis.tables.missing import MissingWords
from tamis.tables.raw import unique_names
from tamis.tables.source import FORMATS, Source
from tamis.tables.values import PLACEHOLDERS, is_number

__all__ = ["Dialect", "TextLines", "bounded_file", "records", "sniff", "split"]

_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_HEAD = 1 << 16  # bytes from which the encoding is detected
_DELIMITERS = ("\t", ";", "|", ",")
_SAMPLE_LINES = 100
_SAMPLE_CHARACTERS = 1_000_000
_LONGEST_RECORD = 10_000  # lines inside one pair of quotes
# Words that are not the name of a column.
_NO_NAMES = MissingWords().spellings.union(PLACEHOLDERS)
_COMMA_NUMBER = re.compile(r"^[-+]?\d*,\d+([eE][-+]?\d+)?$")


class _Bounded(io.RawIOBase):
    """A file that rejects overlong lines, so that a small compressed file cannot fill memory."""

    def __init__(self, path, budget, most):
        file = open(path, "rb")  # noqa: SIM115 - closed by `close`
        is_packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        self.files = [gzip.GzipFile(fileobj=file), file] if is_packed else [file]
        self.budget = budget
        self.most = most
        self.n_read = self.n_open = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        """Read a block, and count the bytes since the last end of a line."""
        n = self.files[0].readinto(buffer)
        block = bytes(memoryview(buffer)[:n])
        end = max(block.rfind(b"\n"), block.rfind(b"\r"))
        self.n_open = n - 1 - end if end >= 0 else self.n_open + n
        self.n_read += n
        if self.n_open > self.budget.longest_line:
            self.budget.refuse_line()
        if self.most is not None and self.n_read > self.most:
            self.budget.spend(self.budget.limit + 1)
        return n

    def close(self):
        for file in self.files:
            file.close()
        super().close()


def bounded_file(source: Source, most: int | None = None) -> io.BufferedReader:
    """Open a file that may be compressed with gzip; lines beyond its budget raise an error.

    Parameters
    ----------
    source : Source
        The file.
    most : int or None
        Largest size of the unpacked content in bytes; None: unlimited.
    """
    return io.BufferedReader(_Bounded(source.path, source.budget, most), 1 << 18)


class TextLines:
    """Lines of a text file, without their ends.

    Parameters
    ----------
    source : Source
        The file.
    encoding : str or None
        Its encoding; None: UTF-8, or what its byte order mark says.
    """

    def __init__(self, source: Source, encoding: str | None = None):
        self.source = source
        self.encoding = encoding
        self._first: list[str] = []
        self._rest: Iterator[str] | None = None

    def __iter__(self):
        """All lines; the file is opened again only if they have been iterated before."""
        first, rest = self._first, self._rest or self._read()
        self._first, self._rest = [], None
        yield from first
        first.clear()  # long lines need not stay in memory
        yield from rest

    def preview(self) -> Iterator[str]:
        """Lines from the first on, which are kept for the next reading."""
        if self._rest is None:
            self._rest = self._read()
        yield from self._first
        for line in self._rest:
            self._first.append(line)
            yield line

    def _read(self):
        name, encoding = self.source.name, self.encoding
        try:
            with bounded_file(self.source) as file:
                encoding = self._detect_encoding(file.peek(_HEAD)[:_HEAD])
                for line in io.TextIOWrapper(file, encoding=encoding):
                    yield line[:-1] if line.endswith("\n") else line
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise InputError(
                f"{name} is not {encoding} (byte 0x{byte:02x}): try --encoding latin-1"
            ) from error
        except UnicodeError as error:
            raise InputError(f"{name} is not {encoding}: try another --encoding") from error
        except LookupError as error:
            raise InputError(f"no encoding {encoding!r}: try utf-8 or latin-1") from error

    def _detect_encoding(self, head):
        encoding = self.encoding
        for mark, name in _BYTE_ORDER_MARKS:
            if head.startswith(mark):
                # With encoding="utf-8", the mark is still not part of the first name.
                return name if encoding is None or "utf" in encoding.lower() else encoding
        if b"\0" in head and not (encoding and "16" in encoding):
            raise InputError(
                f"{self.source.name} is not text (it contains zero bytes): specify --format, one"
                f" of {', '.join(FORMATS)}"
            )
        return encoding or "utf-8"


@dataclass
class Dialect:
    """How a delimited file is written.

    Attributes
    ----------
    lines : TextLines
        Its lines.
    delimiter : str
        Between fields; " " stands for any run of blanks.
    is_quoted : bool
        Whether fields may be enclosed in double quotes.
    decimal : {".", ","}
        Decimal mark.
    names : list of str
        Names of the columns.
    has_header : bool
        Whether the first line holds them; otherwise they are x0, x1, ...
    sample : list of list of str
        Fields of the first rows.
    notes : list of str
        Decisions to report to the user.
    repeated : list of str
        Names that the header has more than once; in `names` all but the first have a number.
    """

    lines: TextLines
    delimiter: str
    is_quoted: bool = True
    decimal: str = "."
    names: list[str] = field(default_factory=list)
    has_header: bool = True
    sample: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)


def split(line: str, dialect: Dialect) -> list[str]:
    """Split a record into its fields."""
    if not dialect.is_quoted or '"' not in line:
        return line.split(dialect.delimiter)
    limit = csv.field_size_limit(1 << 30)
    try:
        # The csv module expects line ends inside quotes as it would read them from a file.
        rows = list(csv.reader(line.splitlines(keepends=True), delimiter=dialect.delimiter))
    finally:
        csv.field_size_limit(limit)
    return rows[0] if len(rows) == 1 else line.split(dialect.delimiter)


def _unquoted(line, delimiter):
    """The line without its quotes if they protect nothing; otherwise as it is."""
    parts = line.split('"')
    outside = parts[0::2]
    if any(delimiter in part for part in parts[1::2]) or len(parts) % 2 == 0:
        return line
    if (outside[0] and not outside[0].endswith(delimiter)) or (
        outside[-1] and not outside[-1].startswith(delimiter)
    ):
        return line
    inner = outside[1:-1]
    if not all(part.startswith(delimiter) and part.endswith(delimiter) for part in inner):
        return line
    return "".join(parts)


def _is_open(line, delimiter):
    """Whether a record ends inside quotes and therefore continues in the next line."""
    limit = csv.field_size_limit(1 << 30)
    try:
        return len(list(csv.reader([line + "\n", "end"], delimiter=delimiter))) == 1
    finally:
        csv.field_size_limit(limit)


def records(lines: Iterable[str], dialect: Dialect) -> Iterator[tuple[int, str]]:
    """Records with the number of their first line, counting from 1; blank lines are skipped."""
    delimiter, is_quoted = dialect.delimiter, dialect.is_quoted
    budget = dialect.lines.source.budget
    numbered = enumerate(lines, start=1)
    for number, line in numbered:
        if not line or line.isspace():
            continue
        if delimiter == " ":
            line = " ".join(line.split())
        if is_quoted and '"' in line and line.count('"') % 2 and _is_open(line, delimiter):
            parts, size = [line], len(line)
            for _, more in islice(numbered, _LONGEST_RECORD):
                parts.append(more)
                size += len(more)
                if size > budget.longest_line:
                    budget.refuse_line()
                if more.count('"') % 2:
                    break
            else:
                raise _OpenQuoteError(
                    f"{dialect.lines.source.name} line {number}: a quote is opened and never"
                    " closed"
                )
            line = "\n".join(parts)
        elif is_quoted and '"' in line:
            line = _unquoted(line, delimiter)
        yield number, line


class _OpenQuoteError(InputError):
    """A quote that is never closed."""


def _sample(dialect):
    """The first records."""
    sample, size = [], 0
    for _, line in records(dialect.lines.preview(), dialect):
        sample.append(line)
        size += len(line)
        if len(sample) > 3 and (len(sample) >= _SAMPLE_LINES or size > _SAMPLE_CHARACTERS):
            break
        if size > 32 * _SAMPLE_CHARACTERS:  # four lines of this length would take too much memory
            break
    return sample


def _agreement(dialect):
    """Share of the first records with the most common number of fields, and that number."""
    try:
        rows = [split(line, dialect) for line in _sample(dialect)]
    except _OpenQuoteError:
        return 0.0, 0, []
    counts = [len(row) for row in rows]
    usual = Counter(counts[1:] or counts).most_common(1)[0][0] if counts else 0
    share = sum(count == usual for count in counts) / max(len(counts), 1)
    return share, usual, rows


def _choose(lines, delimiter):
    """The delimiter and quoting for which the first records agree best, and these records."""
    candidates = _DELIMITERS if delimiter is None else (delimiter,)
    best, rows_of = None, {}
    start = "".join(_sample(Dialect(lines, ",", False))[:3])
    for rank, candidate in enumerate(candidates):
        if candidate not in start and delimiter is None:
            continue
        for is_quoted in (True, False):
            share, usual, rows = _agreement(Dialect(lines, candidate, is_quoted))
            rows_of[candidate, is_quoted] = rows
            is_split = usual > 1 or delimiter is not None
            score = (is_split and share >= 0.5, share, -rank, is_quoted)
            if is_split and (best is None or score > best[0]):
                best = score, candidate, is_quoted
            if not any('"' in field for row in rows for field in row) and share == 1.0:
                break
    if best is not None and best[0][0]:
        return best[1], best[2], rows_of[best[1], best[2]]
    if delimiter is None:
        _, usual, rows = _agreement(Dialect(lines, " "))
        # R writes one name fewer than there are fields if rows have names.
        is_table = usual > 1 and len(rows[0]) in (usual, usual - 1)
        if is_table and all(len(row) == usual for row in rows[1:]):
            return " ", True, rows
    fallback = best[1:] if best is not None else (",", True)
    return *fallback, rows_of.get(fallback) or _agreement(Dialect(lines, ","))[2]


def _is_value(word):
    word = word.strip()
    return word in _NO_NAMES or is_number(word) or bool(_COMMA_NUMBER.match(word))


def _has_header(rows, expected):
    """Whether the first row names the columns, because it differs from the rows below."""
    first = [word.strip() for word in rows[0]]
    if expected is not None and set(expected).intersection(first):
        return True
    if first[0] == "" and first[1:] == [str(j) for j in range(len(first) - 1)] and first[1:]:
        return True
    if all(map(_is_value, first)):
        return False
    if len(rows) < 3:
        return True
    # A name does not occur again in its own column, but a value often does.
    columns = [{row[j].strip() for row in rows[1:] if j < len(row)} for j in range(len(first))]
    comes_back = [word in column for word, column in zip(first, columns, strict=True)]
    words = [back for word, back in zip(first, comes_back, strict=True) if not _is_value(word)]
    is_mixed = len(words) < len(first)
    return not (all(words) or (is_mixed and sum(comes_back) * 2 >= len(first)))


def _decimal_of(rows, delimiter):
    if delimiter == ",":
        return "."
    words = [word.strip() for row in rows for word in row]
    commas = sum(bool(_COMMA_NUMBER.match(word)) for word in words)
    points = sum("." in word and is_number(word) for word in words)
    return "," if commas > points else "."


def sniff(
    source: Source,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    expected: Iterable[str] | None = None,
) -> Dialect:
    """Detect how a delimited file is written.

    Parameters
    ----------
    source : Source
        The file.
    delimiter, encoding : str or None
        As given by the user; None: detected.
    expected : list of str or None
        Names of which some are in the header, if known.
    """
    if delimiter is not None:
        delimiter = {"tab": "\t", "\\t": "\t", "space": " "}.get(delimiter, delimiter)
        if len(delimiter) != 1 or delimiter in '"\n\r':
            raise InputError(f"delimiter must be one character, got {delimiter!r}")
    lines = TextLines(source, encoding)
    delimiter, is_quoted, rows = _choose(lines, delimiter)
    if not rows:
        raise InputError(f"{source.name} is empty: expected a table")
    dialect = Dialect(lines, delimiter, is_quoted, _decimal_of(rows[1:], delimiter))
    dialect.has_header = _has_header(rows, expected)
    if dialect.has_header:
        names = [word.strip() for word in rows[0]]
        dialect.sample = rows[1:]
        if rows[1:] and all(len(row) == len(names) + 1 for row in rows[1:]):
            names.insert(0, "")  # R writes no name above the names of the rows
        names = [name or f"unnamed: {j}" for j, name in enumerate(names)]
        dialect.names, dialect.repeated = unique_names(names)
    else:
        dialect.names = [f"x{j}" for j in range(len(rows[0]))]
        dialect.sample = rows
        dialect.notes.append(f"{source.name} has no header: its columns are named x0, x1, ...")
    if dialect.decimal == ",":
        dialect.notes.append(f"{source.name} uses decimal commas: 1,5 is read as 1.5")
    return dialect
