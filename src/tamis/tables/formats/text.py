"""Text files: their records, and how they are written."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from tamis.tables.columns.marks import decimal_mark
from tamis.tables.columns.missing import MissingWords
from tamis.tables.columns.raw import unique_names
from tamis.tables.columns.values import PLACEHOLDERS, to_number
from tamis.tables.errors import InputError
from tamis.tables.formats.lines import TextLines
from tamis.tables.formats.source import Source

_DELIMITERS = ("\t", ";", "|", ",")
_SAMPLE_LINES = 100
_SAMPLE_CHARACTERS = 1_000_000
_LONGEST_RECORD = 10_000  # lines inside one pair of quotes
# Words that are not the name of a column.
_NO_NAMES = MissingWords().spellings.union(PLACEHOLDERS)
_COMMA_NUMBER = re.compile(r"^[-+]?\d*,\d+([eE][-+]?\d+)?%?$")


@dataclass
class Dialect:
    """How a delimited file is written."""

    lines: TextLines  # its lines
    delimiter: str  # between fields; " " stands for any run of blanks
    is_quoted: bool = True  # whether fields may be enclosed in double quotes
    decimal: str = "."  # decimal mark
    names: list[str] = field(default_factory=list)  # names of the columns
    has_header: bool = True  # whether the first line holds them; otherwise they are x0, x1,
    sample: list[list[str]] = field(default_factory=list)  # fields of the first rows
    n_skipped: int = 0  # number of lines before the first row: comments and the header
    notes: list[str] = field(default_factory=list)  # decisions to report to the user
    # Names that the header has more than once; in `names` all but the first have a number.
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
        yield number, line


class _OpenQuoteError(InputError):
    """A quote that is never closed."""


def _sample(dialect):
    """The first records with the numbers of their lines, after the comments above the table."""
    sample, size = [], 0
    above = None
    for number, line in records(dialect.lines.preview(), dialect):
        if not sample and line.startswith("#"):
            above = number, line
            continue
        if not sample and above is not None and _is_header(above[1], line, dialect):
            sample.append(above)
        sample.append((number, line))
        size += len(line)
        if len(sample) > 3 and (len(sample) >= _SAMPLE_LINES or size > _SAMPLE_CHARACTERS):
            break
        if size > 32 * _SAMPLE_CHARACTERS:  # four lines of this length would take too much memory
            break
    return sample


def _is_header(above, line, dialect):
    """Whether the last line that starts with # names the columns: "#id", but not "# comment"."""
    n_fields = len(split(line, dialect))
    is_comment = above[1:2] in ("", " ", "\t", "#", "!")
    return not is_comment and len(split(above, dialect)) == n_fields > 1


def _agreement(dialect):
    """Share of the first records with the most common number of fields, that number, and rows."""
    try:
        sample = _sample(dialect)
    except _OpenQuoteError:
        return 0.0, 0, []
    rows = [(number, split(line, dialect)) for number, line in sample]
    counts = [len(row) for _, row in rows]
    usual = Counter(counts[1:] or counts).most_common(1)[0][0] if counts else 0
    is_row = [not row[0].startswith("#") or len(row) == usual for _, row in rows]
    rows = [row for row, keep in zip(rows, is_row, strict=True) if keep]
    counts = [len(row) for _, row in rows]
    share = sum(count == usual for count in counts) / max(len(counts), 1)
    return share, usual, rows


def _choose(lines, delimiter):
    """The delimiter and quoting for which the first records agree best, and these records."""
    candidates = _DELIMITERS if delimiter is None else (delimiter,)
    best, rows_of = None, {}
    start = "".join(line for _, line in _sample(Dialect(lines, ",", False))[:3])
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
            if not any('"' in field for _, row in rows for field in row) and share == 1.0:
                break
    if best is not None and best[0][0]:
        return best[1], best[2], rows_of[best[1], best[2]]
    if delimiter is None:
        _, usual, rows = _agreement(Dialect(lines, " "))
        # R writes one name fewer than there are fields if rows have names.
        is_table = usual > 1 and len(rows[0][1]) in (usual, usual - 1)
        if is_table and all(len(row) == usual for _, row in rows[1:]):
            return " ", True, rows
    fallback = best[1:] if best is not None else (",", True)
    return *fallback, rows_of.get(fallback) or _agreement(Dialect(lines, ","))[2]


def _is_value(word):
    word = word.strip()
    return word in _NO_NAMES or bool(_COMMA_NUMBER.match(word)) or to_number(word) is not None


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


def sniff(
    source: Source,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    expected: Iterable[str] | None = None,
    decimal: str = ".",
) -> Dialect:
    """Detect how a delimited file is written.

    `delimiter`, `encoding`: as given by the user; None: detected.
    """
    if delimiter is not None:
        delimiter = {"tab": "\t", "\\t": "\t", "space": " "}.get(delimiter, delimiter)
        if len(delimiter) != 1 or delimiter in '"\n\r' or not delimiter.isascii():
            raise InputError(f"delimiter must be one character of ASCII, got {delimiter!r}")
    lines = TextLines(source, encoding)
    delimiter, is_quoted, numbered = _choose(lines, delimiter)
    if not numbered:
        raise InputError(f"{source.name} is empty: expected a table")
    rows = [row for _, row in numbered]
    # Between commas, a number with one is quoted, as 1,234 often is.
    words = [word for row in rows[1:] for word in row]
    decimal = decimal_mark(words, decimal, is_sure=delimiter == ",")
    dialect = Dialect(lines, delimiter, is_quoted, decimal)
    dialect.has_header = _has_header(rows, expected)
    if dialect.has_header:
        names = [word.strip() for word in rows[0]]
        dialect.sample = rows[1:]
        dialect.n_skipped = numbered[1][0] - 1 if rows[1:] else numbered[0][0]
        if rows[1:] and all(len(row) == len(names) + 1 for row in rows[1:]):
            names.insert(0, "")  # R writes no name above the names of the rows
        names = [name or f"unnamed: {j}" for j, name in enumerate(names)]
        dialect.names, dialect.repeated = unique_names(names)
    else:
        dialect.names = [f"x{j}" for j in range(len(rows[0]))]
        dialect.sample = rows
        dialect.n_skipped = numbered[0][0] - 1
        dialect.notes.append(f"{source.name} has no header: its columns are named x0, x1, ...")
    if dialect.decimal == ",":
        dialect.notes.append(f"{source.name} uses decimal commas: 1,5 is read as 1.5")
    return dialect


def rows_of(dialect: Dialect) -> Iterator[tuple[int, str]]:
    """Rows as records, with the numbers of their lines; each must have one field per name.

    A line that starts with # and has another number of fields is a comment.
    """
    width, name = len(dialect.names), dialect.lines.source.name
    for number, line in records(dialect.lines, dialect):
        if number <= dialect.n_skipped:
            continue
        if dialect.is_quoted and '"' in line:
            n_fields = len(split(line, dialect))
        else:
            n_fields = line.count(dialect.delimiter) + 1
        if n_fields == width:
            yield number, line
        elif not line.startswith("#"):
            raise InputError(
                f"{name} line {number}: expected {width:,} fields, found {n_fields:,}"
            )
