"""Files to read: whether they exist, which format they have, and how much memory they may use."""

import bz2
import gzip
import io
import math
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from os import R_OK, PathLike, access
from pathlib import Path
from typing import IO, Any, NoReturn

from tamis.tables.errors import InputError, NotEnoughMemory, is_about_memory, load

_MAGIC_OF_PACKING = {"gzip": b"\x1f\x8b", "bz2": b"BZh", "zstd": b"\x28\xb5\x2f\xfd"}
_ADDRESS = re.compile(r"^[A-Za-z][A-Za-z\d+.-]+://")
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

    `limit`: bytes; None: half of the memory that is available to this process.
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
        text = (_SYSTEM / "proc/meminfo").read_text(encoding="ascii")
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
        groups = (_SYSTEM / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
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
                yield int((folder / place / name).read_text(encoding="ascii"))
            except (OSError, ValueError):  # no such group here, or "max"
                continue


def _own_limit():
    try:
        import resource
    except ImportError:  # Windows
        return
    # Columns of /proc/self/statm: all addresses of this process, and those of its data.
    for kind, column in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        limit, _ = resource.getrlimit(kind)
        if limit != resource.RLIM_INFINITY:
            yield max(1, limit - _used_pages(column))


def _used_pages(column):
    """Bytes that this process uses already, by a column of /proc/self/statm."""
    try:
        n_pages = int((_SYSTEM / "proc/self/statm").read_text(encoding="ascii").split()[column])
        return n_pages * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError, IndexError):
        return 0


def check_path(path: str | PathLike) -> Path:
    """Raise InputError unless the path is a readable regular file that is not empty."""
    if _ADDRESS.match(str(path)):
        raise InputError(f"{path} is an address, not a file: download it first (curl -O {path})")
    path = Path(path)
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder: specify a file, such as {path}/data.csv")
        if not path.exists():
            raise InputError(f"no file {path}{_similar(path)}")
        if not path.is_file():
            raise InputError(f"{path} is not a regular file: save its content to one first")
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty: expected a table")
        if not access(path, R_OK):
            raise InputError(f"cannot open {path}: Permission denied")
    except OSError as error:
        raise InputError(f"cannot open {path}: {error.strerror or error}") from error
    except InputError:
        raise
    except ValueError as error:  # a NUL in the name
        raise InputError(f"no file {path!r}") from error
    return path


def _similar(path):
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f": there is no folder {path.parent}"
    near = get_close_matches(path.name, names, n=3, cutoff=0.5)
    return f"; did you mean {', '.join(near)}?" if near else ""


class Source:
    """A file to read: its path, its format, and the memory that its table may take.

    `max_size`: bytes of memory; None: half of what is available.
    """

    def __init__(
        self,
        path: str | PathLike,
        format: str,
        max_size: int | None = None,
        formats: Iterable[str] = (),
    ):
        self.path = check_path(path)
        self.name = self.path.name or str(path)
        self.format, self.formats = format, formats
        self.budget = Budget(self.name, max_size)

    def head(self, n_bytes: int = 1 << 16) -> bytes:
        """The first bytes of the content, which may be compressed."""
        with open(self.path, "rb") as file:
            packing = packing_of(file.read(4))
            file.seek(0)
            return unpacked(file, packing).read(n_bytes)


def packing_of(head: bytes) -> str | None:
    """How a file is compressed, from its first bytes: gzip, bz2, zstd, or None."""
    known = (name for name, magic in _MAGIC_OF_PACKING.items() if head.startswith(magic))
    return next(known, None)


def unpacked(file: IO[bytes], packing: str | None) -> Any:
    """The content of a file that may be compressed."""
    if packing == "gzip":
        return gzip.GzipFile(fileobj=file)
    if packing == "bz2":
        return bz2.BZ2File(file)
    if packing == "zstd":
        pa = load("pyarrow", "reading .zst")
        return pa.CompressedInputStream(pa.PythonFile(_Borrowed(file), "r"), "zstd")
    return file


class _Borrowed(io.RawIOBase):
    """A file that stays open when its reader, such as pyarrow, closes it."""

    def __init__(self, file):
        self.file = file

    def readable(self):
        return True

    def readinto(self, buffer):
        return self.file.readinto(buffer)


@contextmanager
def readable(source: Source) -> Iterator[None]:
    """Turn every error that a damaged file causes into an `InputError` of one line."""
    name, format = source.name, source.format
    try:
        yield
    except InputError:
        raise
    except ImportError as error:
        raise InputError(str(error)) from error
    except PermissionError as error:
        raise InputError(f"cannot open {source.path}: {error.strerror or error}") from error
    except Exception as error:
        if is_about_memory(error):
            raise NotEnoughMemory(
                f"not enough memory to read {name}: {tell_size(available_memory())} are left. "
                "Finished work is kept; free some memory, use fewer columns, or stream the table "
                "(--stream on)"
            ) from error
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise InputError(
            f"cannot read {name} as {format}: {reason}; the file may be damaged or truncated"
        ) from error
