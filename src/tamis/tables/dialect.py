"""How a delimited file is written: delimiter, quotes, header, decimal mark."""

import csv
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from tamis.tables.errors import InputError
from tamis.tables.missing import MissingWords
from tamis.tables.raw import unique_names
from tamis.tables.source import name_of, text_lines
from tamis.tables.tokens import PLACEHOLDERS, is_number

__all__ = ["Dialect", "records", "sniff", "split"]

DELIMITERS = ("\t", ";", "|", ",")
_SAMPLE_LINES = 100
_SAMPLE_CHARACTERS = 1_000_000
_LONGEST_RECORD = 10_000  # lines inside one pair of quotes
# What is no name of a column, whatever it stands for.
_NO_NAMES = MissingWords().spellings.union(PLACEHOLDERS)
_COMMA_NUMBER = re.compile(r"^[-+]?\d*,\d+([eE][-+]?\d+)?$")


@dataclass
class Dialect:
    """How a delimited file is written.

    Attributes
    ----------
    delimiter : str
        Between fields; " " stands for any run of blanks.
    is_quoted : bool
        Whether fields may stand between double quotes.
    decimal : {".", ","}
        Decimal mark.
    names : list of str
        Names of the columns.
    has_header : bool
        Whether the first line holds them; else they are x0, x1, ...
    sample : list of list of str
        Fields of the first rows.
    notes : list of str
        What was guessed.
    repeated : list of str
        Names that the header has more than once; in `names` all but the first have a number.
    """

    delimiter: str
    is_quoted: bool = True
    decimal: str = "."
    names: list = field(default_factory=list)
    has_header: bool = True
    sample: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    repeated: list = field(default_factory=list)


def split(line, dialect):
    """Fields of a record."""
    if not dialect.is_quoted or '"' not in line:
        return line.split(dialect.delimiter)
    limit = csv.field_size_limit(1 << 30)
    try:
        # Embedded line ends: csv wants them as it would read them from a file.
        rows = list(csv.reader(line.splitlines(keepends=True), delimiter=dialect.delimiter))
    finally:
        csv.field_size_limit(limit)
    return rows[0] if len(rows) == 1 else line.split(dialect.delimiter)


def _unquoted(line, delimiter):
    """The line without its quotes where they protect nothing; else as it is."""
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
    """Whether a record ends inside quotes, so that it goes on in the next line."""
    limit = csv.field_size_limit(1 << 30)
    try:
        return len(list(csv.reader([line + "\n", "end"], delimiter=delimiter))) == 1
    finally:
        csv.field_size_limit(limit)


def records(path, delimiter, is_quoted, encoding, budget):
    """Records of a delimited file with the number of their first line; blank lines are skipped."""
    lines = enumerate(text_lines(path, encoding, budget), start=1)
    for number, line in lines:
        if not line or line.isspace():
            continue
        if delimiter == " ":
            line = " ".join(line.split())
        if is_quoted and '"' in line and line.count('"') % 2 and _is_open(line, delimiter):
            parts, size = [line], len(line)
            for _, more in islice(lines, _LONGEST_RECORD):
                parts.append(more)
                size += len(more)
                if size > budget.longest_line:
                    budget.refuse_line()
                if more.count('"') % 2:
                    break
            else:
                raise InputError(
                    f"{name_of(path)} line {number}: a quote is opened and never closed"
                )
            line = "\n".join(parts)
        elif is_quoted and '"' in line:
            line = _unquoted(line, delimiter)
        yield number, line


def _sample(read, delimiter, is_quoted):
    sample, size = [], 0
    for _, line in read(delimiter, is_quoted):
        sample.append(line)
        size += len(line)
        if len(sample) > 3 and (len(sample) >= _SAMPLE_LINES or size > _SAMPLE_CHARACTERS):
            break
        if size > 32 * _SAMPLE_CHARACTERS:  # lines that are split once more than needed
            break
    return sample


def _agreement(read, delimiter, is_quoted):
    """Share of the first records that have as many fields as most, and that number."""
    dialect = Dialect(delimiter, is_quoted)
    try:
        sample = _sample(read, delimiter, is_quoted)
    except InputError as error:
        if "never closed" not in str(error):
            raise
        return 0.0, 0, []
    rows = [split(line, dialect) for line in sample]
    counts = [len(row) for row in rows]
    usual = Counter(counts[1:] or counts).most_common(1)[0][0] if counts else 0
    share = sum(count == usual for count in counts) / max(len(counts), 1)
    return share, usual, rows


def _choose(read, delimiter):
    """The delimiter and quoting under which the first records agree best."""
    candidates = DELIMITERS if delimiter is None else (delimiter,)
    best, rows_of = None, {}
    start = "".join(_sample(read, ",", False)[:3])
    for rank, candidate in enumerate(candidates):
        if candidate not in start and delimiter is None:
            continue
        for is_quoted in (True, False):
            share, usual, rows = _agreement(read, candidate, is_quoted)
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
        _, usual, rows = _agreement(read, " ", True)
        # One name less than fields: R's tables with names of rows.
        is_table = usual > 1 and len(rows[0]) in (usual, usual - 1)
        if is_table and all(len(row) == usual for row in rows[1:]):
            return " ", True, rows
    fallback = best[1:] if best is not None else (",", True)
    return *fallback, rows_of.get(fallback) or _agreement(read, ",", True)[2]


def _is_value(word):
    word = word.strip()
    return word in _NO_NAMES or is_number(word) or bool(_COMMA_NUMBER.match(word))


def _has_header(rows, expected):
    """Whether the first row names the columns: it holds other things than the rows below."""
    first = [word.strip() for word in rows[0]]
    if expected is not None and set(expected).intersection(first):
        return True
    if first[0] == "" and first[1:] == [str(j) for j in range(len(first) - 1)] and first[1:]:
        return True
    if all(map(_is_value, first)):
        return False
    if len(rows) < 3:
        return True
    # A name does not come back in its own column; in a file without names values do.
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


def sniff(path, budget, *, delimiter=None, encoding=None, expected=None):
    """Find out how a delimited file is written.

    Parameters
    ----------
    path : Path
        The file.
    budget : Budget
        Memory that the table may take.
    delimiter, encoding : str or None
        As the user says; None to find out.
    expected : list of str or None
        Names of which some are in the header, where known.

    Returns
    -------
    Dialect
        Delimiter, quoting, names.
    """
    source = name_of(path)
    if delimiter is not None:
        delimiter = {"tab": "\t", "\\t": "\t", "space": " "}.get(delimiter, delimiter)
        if len(delimiter) != 1 or delimiter in '"\n\r':
            raise InputError(f"delimiter must be one character, got {delimiter!r}")
    read = partial(records, path, encoding=encoding, budget=budget)
    delimiter, is_quoted, rows = _choose(read, delimiter)
    if not rows:
        raise InputError(f"{source} is empty: expected a table")
    dialect = Dialect(delimiter, is_quoted, _decimal_of(rows[1:], delimiter))
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
        dialect.notes.append(f"{source} has no header: its columns are named x0, x1, ...")
    if dialect.decimal == ",":
        dialect.notes.append(f"{source} writes decimal commas: 1,5 is read as 1.5")
    return dialect
