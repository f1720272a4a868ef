"""Where results go: standard output, or a file that is written whole or not at all."""

import csv
import io
import json
import os
import sys
from itertools import chain
from pathlib import Path

from tamis.cli.printing import print_lines, printable
from tamis.models.files import guarded, write_atomically
from tamis.tables.errors import InputError

__all__ = ["check_output", "number", "write_json", "write_rows"]


def check_output(output, *read):
    """Refuse an output that cannot be written, before any work is done.

    Parameters
    ----------
    output : str or None
        File; None: standard output.
    *read : str or None
        Files that are read, which must not be replaced.

    Returns
    -------
    path : Path or None
    """
    if output is None:
        return None
    path = Path(output)
    if path.is_dir():
        raise InputError(f"-o {output} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise InputError(f"-o {output}: there is no folder {path.parent}; make it first.")
    for name in read:
        if name is not None and path.exists() and Path(name).exists() and path.samefile(name):
            raise InputError(f"-o {output} would replace what is read; name another file.")
    return path


def write_rows(path, header, rows, guard):
    """Write CSV.

    Parameters
    ----------
    path : Path or None
        None: standard output.
    header : list of str
    rows : iterable of sequence
        May be computed while they are written.
    guard : bool
        Whether cells that a spreadsheet would take for formulas get an apostrophe before them.
    """

    def write(text):
        cells = chain([header], rows)
        if guard:
            cells = (map(guarded, row) for row in cells)
        if text.isatty():
            cells = ((printable(str(cell)) for cell in row) for row in cells)
        csv.writer(text, lineterminator="\n").writerows(cells)
        text.flush()

    _write(path, write)


def write_json(path, value):
    """Write plain values as JSON; None: standard output."""
    told = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    if path is None:
        print_lines(told.split("\n"))
    else:
        _write(path, lambda text: print(told, file=text, flush=True))


def _write(path, write):
    if path is None:
        write(sys.stdout)
        return
    if path.exists() and not path.is_file():
        # A pipe or /dev/null is written to, and never replaced.
        with open(path, "w", encoding="utf-8", newline="") as text:
            write(text)
        return
    # A link stays one: what it points to is replaced.
    with write_atomically(os.path.realpath(path)) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        write(text)
        text.detach()


def number(value):
    """A number in a CSV file: ten digits, nothing for NaN."""
    # Adding 0 makes -0 a plain 0.
    return "" if value != value else f"{value + 0.0:.10g}"
