"""Sheets of Excel files, read as the CSV files that they would be saved as."""

import csv
import datetime
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

from tamis.tables.errors import InputError, listed
from tamis.tables.formats.source import Source

__all__ = ["as_text", "refuse_sheet"]


def refuse_sheet(source: Source, sheet: str | None) -> None:
    """Raise InputError about a sheet of a file that has none."""
    if sheet is not None and source.format != "xlsx":
        raise InputError(f"sheet is for xlsx files, but {source.name} is read as {source.format}")


@contextmanager
def as_text(source: Source, sheet: str | None = None) -> Iterator[Source]:
    """Write a sheet to a temporary CSV file, row by row.

    `source`: a file of any format. `sheet`: name of the sheet, or its number from 1; None: the
    first one. Yields `Source`: the CSV file under the name of the Excel file; a file of another
    format as it is.
    """
    if source.format != "xlsx":
        refuse_sheet(source, sheet)
        yield source
        return
    try:
        import openpyxl
    except ImportError as error:
        raise InputError(
            f"reading {source.name} needs openpyxl: pip install 'tamis[excel]'"
        ) from error
    with tempfile.TemporaryDirectory(prefix="tamis-") as folder:
        path = Path(folder, "sheet.csv")
        with open(source.path, "rb") as file:
            with zipfile.ZipFile(file) as archive:
                # What the archive declares; more than that is never unpacked.
                n_bytes = sum(entry.file_size for entry in archive.infolist())
            source.budget.spend(n_bytes, is_all=True)
            source.budget.spent = 0
            book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
            _write(_find(book, sheet, source.name), path)
            book.close()
        if path.stat().st_size == 0:
            raise InputError(f"{source.name}: the sheet is empty")
        text = Source(path, "csv")
        text.name, text.budget = source.name, source.budget
        yield text


def _find(book, sheet, source):
    sheets = {page.title: page for page in book.worksheets}
    if not sheets:
        raise InputError(f"{source} has no sheet of cells")
    if sheet is None:
        return book.worksheets[0]
    if sheet in sheets:
        return sheets[sheet]
    if str(sheet).isdecimal() and 1 <= int(sheet) <= len(sheets):
        return book.worksheets[int(sheet) - 1]
    raise InputError(f"{source} has no sheet {str(sheet)!r}: it has {listed(sheets)}")


def _write(page, path):
    """Write the cells; all rows have as many as the longest of the first hundred."""
    page.reset_dimensions()  # what the file declares may be wrong
    rows = (_trimmed([_text(cell) for cell in row]) for row in page.iter_rows(values_only=True))
    first = list(islice(rows, 100))
    width = max(map(len, first), default=0)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in chain(first, rows):
            # An empty row is an empty line, so that the numbers of lines are those of rows.
            writer.writerow([*row, *[""] * (width - len(row))] if row else [])


def _trimmed(row):
    """A row without the empty cells at its end."""
    while row and not row[-1]:
        row.pop()
    return row


def _text(cell):
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell)
