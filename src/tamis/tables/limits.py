"""Memory limits: a table that does not fit raises an error before it is read."""

import math
import os
import re
from pathlib import Path
from typing import NoReturn

from tamis.tables.errors import InputError

__all__ = ["COLUMN", "WORD", "Budget", "parse_size", "tell_size"]

#: Bytes that a column needs in addition to its values (its name, several times), and a word.
COLUMN, WORD = 400, 60
# Longest line of a table in bytes; and the bytes of memory per byte of text while it is parsed.
_LONGEST_LINE, _FIELDS = 1 << 27, 32
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(I?)B?\s*$", re.IGNORECASE)
_SYSTEM = Path("/")
# Assumed if the available memory is unknown.
_USUAL_MEMORY = 8 * 2**30


class Budget:
    """Bytes of memory that a table may use.

    Parameters
    ----------
    source : str
        Name of the table in messages.
    limit : int or None
        Bytes; None: half of the memory that is available to this process.

    Attributes
    ----------
    limit : int
        Bytes.
    spent : int
        Bytes used so far.
    longest_line : int
        Largest number of bytes in a line of text.
    """

    def __init__(self, source: str, limit: int | None = None):
        self.source = source
        self.is_given = limit is not None
        self.limit = available_memory() // 2 if limit is None else int(limit)
        self.spent = 0
        self.longest_line = max(1 << 16, min(_LONGEST_LINE, self.limit // _FIELDS))

    def refuse_line(self) -> NoReturn:
        """Raise an error about a line, or a record of several lines, that is too long."""
        longest = self.longest_line
        advice = "is it a table, and is it compressed only once?"
        if longest < _LONGEST_LINE:
            advice = f"--max-size {tell_size(2 * self.limit, up=True)} raises the limit"
        raise InputError(
            f"{self.source} has a line of more than {tell_size(longest)}, the limit for a"
            f" line of a table; {advice}"
        )

    def spend(self, n_bytes: float, *, is_all: bool = False) -> None:
        """Add to the memory used, or raise InputError; `is_all` if nothing more will be added."""
        self.spent += int(n_bytes)
        if self.spent <= self.limit:
            return
        about, enough = ("about", 1.1 * self.spent) if is_all else ("more than", 2 * self.limit)
        why = "" if self.is_given else " (half of what is available)"
        raise InputError(
            f"{self.source} needs {about} {tell_size(self.spent)} of memory, and the limit is"
            f" {tell_size(self.limit)}{why}; --max-size {tell_size(enough, up=True)} raises it"
        )


def parse_size(text: str) -> int | None:
    """Convert a size such as 500MB, 8GB or 8GiB to bytes; None if it is not one.

    Examples
    --------
    >>> [parse_size(text) for text in ("8GB", "1.5 gib", "1000", "many")]
    [8000000000, 1610612736, 1000, None]
    """
    match = _SIZE.match(text)
    if match is None:
        return None
    number, unit, binary = match.groups()
    factor = _UNITS[unit.upper()]
    if binary:
        factor = 2 ** round(10 * math.log10(factor) / 3)
    return int(float(number) * factor)


def tell_size(n_bytes: float, up: bool = False) -> str:
    """Write a size for a message, rounded; with `up` for an option, rounded up.

    Examples
    --------
    >>> tell_size(3_200_000_000), tell_size(123_456), tell_size(3_250_000_000, up=True)
    ('3.2 GB', '0.1 MB', '4GB')
    """
    unit, factor = ("GB", 10**9) if n_bytes >= 10**9 else ("MB", 10**6)
    return f"{math.ceil(n_bytes / factor)}{unit}" if up else f"{n_bytes / factor:,.1f} {unit}"


def available_memory() -> int:
    """Bytes of memory available to this process, within the limits of its container."""
    limits = [_free_memory(), *_container_limits(), *_own_limit()]
    return min((limit for limit in limits if limit), default=_USUAL_MEMORY)


def _free_memory():
    try:
        text = (_SYSTEM / "proc/meminfo").read_text()
        return int(re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)[1]) * 1024
    except (OSError, TypeError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _container_limits():
    """Limits of all control groups of this process, of version 2 and version 1."""
    try:
        groups = (_SYSTEM / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    root = _SYSTEM / "sys/fs/cgroup"
    for line in groups:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            folder, name = root, "memory.max"
        elif "memory" in controllers.split(","):
            folder, name = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        path = Path(path.lstrip("/"))
        for place in (path, *path.parents):
            try:
                yield int((folder / place / name).read_text())
            except (OSError, ValueError):  # no such group here, or "max"
                continue


def _own_limit():
    try:
        import resource
    except ImportError:  # Windows
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        yield limit
