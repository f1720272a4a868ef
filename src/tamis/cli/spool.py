"""DATA from a pipe, kept in a temporary file while a command runs."""

import os
import stat
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from tamis.tables.errors import InputError
from tamis.tables.limits import Budget

__all__ = ["STANDARD_INPUT", "spooled"]

#: Name of data from a pipe, in messages and in run.json.
STANDARD_INPUT = "standard input"
_BLOCK = 1 << 20


class _Spooled(os.PathLike):
    """A temporary file that messages call standard input."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return str(self.path)

    def __str__(self):
        return STANDARD_INPUT


@contextmanager
def spooled(options):
    """Return options whose `data` can be read as often as needed.

    Standard input ("-"), a named pipe or a process substitution can be read only once, so it is
    copied to a temporary file, within the limit of `--max-size`.
    """
    data = getattr(options, "data", None)
    if data is None or not _is_pipe(data):
        yield options
        return
    if data == "-" and sys.stdin.isatty():
        raise InputError("standard input is a terminal: pipe the data into the command")
    # The extension of a file tells its format; "-" and /dev/fd/63 have none.
    name = Path(data).name if Path(data).suffix else "standard-input"
    with tempfile.TemporaryDirectory(prefix="tamis-") as folder:
        path = Path(folder, name)
        budget = Budget(STANDARD_INPUT, getattr(options, "max_size", None))
        with _open(data) as source, open(path, "wb") as file:
            while block := source.read(_BLOCK):
                budget.spend(len(block))
                file.write(block)
        options.data = _Spooled(path)
        yield options


def _is_pipe(data):
    if data == "-":
        return True
    try:
        mode = os.stat(data).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _open(data):
    return open(sys.stdin.fileno(), "rb", closefd=False) if data == "-" else open(data, "rb")
