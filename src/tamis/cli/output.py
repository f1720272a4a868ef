"""Write results to standard output, or to a file that is written completely or not at all."""

import csv
import io
import json
import os
import re
import sys
from itertools import chain
from pathlib import Path

import numpy as np

from tamis.cli.printing import print_lines, printable
from tamis.models.files import guarded, write_atomically
from tamis.tables.errors import InputError

# Characters of a cell that need quotes around it.
_SPECIAL = re.compile('[,"\r\n]')


def check_output(output, *read):
    """Raise InputError if the output cannot be written, before any work is done.

    `output`: file; None: standard output. `read`: input files, which must not be replaced.
    """
    if output is None:
        return None
    path = Path(output)
    if path.is_dir():
        raise InputError(f"-o {output} is a folder; name a file in it.")
    target = Path(os.path.realpath(path)).parent
    if path.is_symlink() and not target.is_dir():
        raise InputError(f"-o {output} is a link into {target}, which is not a folder.")
    if not path.parent.is_dir():
        raise InputError(f"-o {output}: there is no folder {path.parent}; create it first.")
    for name in read:
        if name is not None and path.exists() and Path(name).exists() and path.samefile(name):
            raise InputError(f"-o {output} would replace an input file; name another file.")
    return path


def write_rows(path, header, rows, guard):
    """Write CSV.

    `path`: None: standard output.
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


def write_columns(path, header, blocks, guard):
    """Write CSV a block of rows at a time, which is many times faster than row by row.

    `path`: None: standard output.
    """

    def write(text):
        is_shown = text.isatty()

        def escaped(cell):
            cell = str(guarded(cell) if guard else cell)
            cell = printable(cell) if is_shown else cell
            return f'"{cell.replace(chr(34), chr(34) * 2)}"' if _SPECIAL.search(cell) else cell

        text.write(",".join(map(escaped, header)) + "\n")
        for columns in blocks:
            text.write(join_fields(columns, escaped))
        text.flush()

    _write(path, write)


def number(value):
    """Format a number for a CSV file: ten digits, empty for NaN."""
    # Adding 0 makes -0 a plain 0.
    return "" if value != value else f"{value + 0.0:.10g}"


def join_fields(columns, escape):
    """Lines of some columns, as `write_columns` takes them; `escape` gives the text of a cell."""
    kinds, fields = [], []
    for column in columns:
        if isinstance(column, range):
            kinds.append("%d")
            fields.append(column)
        elif isinstance(column, np.ndarray) and not np.isnan(column).any():
            kinds.append("%.10g")
            fields.append((column + 0.0).tolist())
        else:
            kinds.append("%s")
            if isinstance(column, np.ndarray):
                fields.append(map(number, column.tolist()))
            else:
                texts = {cell: escape(cell) for cell in set(column)}
                fields.append([texts[cell] for cell in column])
    line = ",".join(kinds) + "\n"
    return "".join([line % row for row in zip(*fields, strict=True)])


def write_json(path, value):
    """Write plain values as JSON, to standard output where `path` is None."""
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    if path is None:
        print_lines(text.split("\n"))
    else:
        _write(path, lambda file: print(text, file=file, flush=True))


def _write(path, write):
    if path is None:
        write(sys.stdout)
        return
    if path.exists() and not path.is_file():
        # Write into a pipe or /dev/null; never replace it.
        with open(path, "w", encoding="utf-8", newline="") as text:
            write(text)
        return
    # Replace the target of a link, not the link.
    with write_atomically(os.path.realpath(path)) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        write(text)
        text.detach()
