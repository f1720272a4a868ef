"""Sheets of Excel files, read as the CSV files that they would be saved as."""

import csv
import datetime
import tempfile
import zipfile
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

from tamis.tables.errors import InputError, listed, load
from tamis.tables.formats.delimited import Csv
from tamis.tables.formats.reader import FormatReader
from tamis.tables.formats.source import Source


class Xlsx(FormatReader):
    """A sheet of an Excel file: its name, or its number from 1; by default the first one."""

    format, suffixes = "xlsx", (".xlsx", ".xlsm")
    is_text = has_sheets = True

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Whether an archive holds a workbook."""
        is_book = b"xl/" in head or b"[Content_Types]" in head
        return is_book and head.startswith(b"PK\x03\x04")

    @contextmanager
    def _as_csv(self):
        """Write the sheet to a temporary CSV file, row by row; messages name the Excel file."""
        source = self.source
        openpyxl = load("openpyxl", f"reading {source.name}", "tamis[excel]")
        with tempfile.TemporaryDirectory(prefix="tamis-", ignore_cleanup_errors=True) as folder:
            path = Path(folder, "sheet.csv")
            with open(source.path, "rb") as file:
                with zipfile.ZipFile(file) as archive:
                    # What the archive declares; more than that is never unpacked.
                    n_bytes = sum(entry.file_size for entry in archive.infolist())
                source.budget.spend(n_bytes, is_all=True)
                source.budget.spent = 0
                book = openpyxl.load_workbook(
                    file, read_only=True, data_only=True, keep_links=False
                )
                _write(_find(book, self.sheet, source.name), path)
                book.close()
            if path.stat().st_size == 0:
                raise InputError(f"{source.name}: the sheet is empty")
            text = Source(path, "csv", None, source.formats)
            text.name, text.budget = source.name, source.budget
            yield Csv(text, self.delimiter, self.encoding, transpose=self.transpose)

    def _read(self, keep_rows, **words):
        with self._as_csv() as text:
            return text._read(keep_rows, **words)

    def _rows(self, wanted, chunk_rows):
        with self._as_csv() as text:
            yield from text._rows(wanted, chunk_rows)


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
