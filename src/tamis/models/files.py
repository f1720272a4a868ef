"""Files, written completely or not at all, and read within limits."""

import contextlib
import errno
import gzip
import json
import os
import secrets
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from tamis.tables.errors import InputError

# Characters that start a formula in spreadsheets.
_FORMULA = tuple("=+-@\t\r\n")

LARGEST = 4 * 2**30
# Limit on numbers, strings, lists and objects in a file: each needs many times its bytes in
# memory. Large arrays are one string each.
_MOST_VALUES = 20_000_000
_WIDTH = 99
_CHUNK = 1 << 20
_BINARY = getattr(os, "O_BINARY", 0)  # Windows


def refuse_broken_link(path: str | os.PathLike[str]) -> None:
    """Raise InputError if a path, or a folder that it is in, is a link that leads nowhere."""
    for one in (Path(path), *Path(path).parents):
        if one.is_symlink() and not one.exists():
            raise InputError(
                f"{one} is a link to {os.readlink(one)}, which does not exist; fix the link, or "
                "name another path."
            )


@contextlib.contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for bytes that gets its name only when it is complete.

    The bytes are on disk before the name is, so a file with this name is complete, even after a
    power cut; after an error, the previous file is unchanged.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} cannot be written: it is a folder. Rename or remove it.")
    name = path.with_name(f".{path.name[:80]}.{secrets.token_hex(8)}.part")
    try:
        # In the same folder, so that it can be renamed in one step.
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            error.filename = str(path)
            raise  # not the caller's fault: it works with more space
        raise InputError(
            f"{path} cannot be written: {error.strerror or error}. Choose another folder."
        ) from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(name)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)
        raise


def write_json(value: Any, path: str | os.PathLike[str]) -> None:
    """Write a JSON value, compressed if the name ends with ".gz"; the same bytes each time."""
    pieces, _, _ = _render(value, 0)
    text = "".join(pieces)
    del pieces
    try:
        raw = text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, in a name
        raw = json.dumps(value, allow_nan=False).encode("ascii")
    with write_atomically(path) as file:
        if str(path).endswith(".gz"):
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
                packed.write(raw + b"\n")
        else:
            file.write(raw + b"\n")


def _render(value, indent):
    """Pieces of the text, its length, and whether it fits on one line."""
    if not isinstance(value, dict | list):
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        return [text], len(text), True
    is_dict = isinstance(value, dict)
    if not is_dict and value and type(value[0]) in (int, float):
        return _render_numbers(value, indent)
    begin, end = "{}" if is_dict else "[]"
    parts, length, flat = [], 2, True
    for key, item in value.items() if is_dict else enumerate(value):
        pieces, size, one_line = _render(item, indent + 1)
        if is_dict:
            name = json.dumps(key, ensure_ascii=False) + ": "
            pieces, size = [name, *pieces], size + len(name)
        parts.append(pieces)
        length += size + 2
        flat &= one_line
    if flat and (length + indent <= _WIDTH or not parts):
        pieces = [begin]
        for i, part in enumerate(parts):
            pieces += [", ", *part] if i else part
        return [*pieces, end], length, True
    pieces, space = [begin, "\n"], " " * (indent + 1)
    for i, part in enumerate(parts):
        pieces += [",\n", space, *part] if i else [space, *part]
    return [*pieces, "\n", " " * indent, end], length, False


def _render_numbers(values, indent):
    """A list that begins with a number, a few to a line: much faster than one by one."""
    text = json.dumps(values, ensure_ascii=False, allow_nan=False)
    if len(text) + indent <= _WIDTH or '"' in text or "{" in text:
        return [text], len(text), len(text) + indent <= _WIDTH
    numbers = text[1:-1].split(", ")
    lines = [", ".join(numbers[at : at + 5]) for at in range(0, len(numbers), 5)]
    space = " " * (indent + 1)
    joined = f",\n{space}".join(lines)
    return [f"[\n{space}{joined}\n{' ' * indent}]"], len(text), False


def check_size(path: str | os.PathLike[str], max_bytes: int) -> None:
    """Raise unless a path is a file of reasonable size."""
    try:
        size = os.stat(path).st_size
        if not os.path.isfile(path):
            raise InputError(f"{path} is not a file: give the path of a model file.")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read: {reason}.") from error
    if size > max_bytes:
        raise InputError(
            f"{path} has {size} bytes, more than the {max_bytes} that a model file may have."
        )


def read_json(path: str | os.PathLike[str], max_bytes: int = LARGEST) -> Any:
    """Read the JSON value of a file, which may be compressed; strict, and within limits."""
    check_size(path, max_bytes)
    try:
        with open(path, "rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            raw = _unpack(file, max_bytes) if is_packed else file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from (
            error
        )
    if len(raw) > max_bytes:
        raise InputError(f"it has more than the {max_bytes} bytes that a model file may have")
    if raw.count(b",") + raw.count(b"[") + raw.count(b"{") > _MOST_VALUES:
        raise InputError(f"it has more than {_MOST_VALUES} values")
    try:
        return json.loads(
            raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant
        )
    except RecursionError as error:
        raise InputError("it is nested too deeply") from error
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"it is not JSON: {str(error)[:100]}") from error


def _unpack(file, max_bytes):
    parts, size = [], 0
    with gzip.GzipFile(fileobj=file) as packed:
        while size <= max_bytes and (part := packed.read(_CHUNK)):
            parts.append(part)
            size += len(part)
    return b"".join(parts)


def _unique(pairs):
    unique = dict(pairs)
    if len(unique) < len(pairs):
        raise InputError("it has the same key twice")
    return unique


def _no_constant(name):
    raise InputError(f"it has {name}, which is not JSON")


def guarded(cell: Any) -> Any:
    """Put an apostrophe before a cell of a CSV file that a spreadsheet would read as a formula.

    Examples
    --------
    >>> [guarded(cell) for cell in ("=1+1", "-0.5", "-", "+x", 3)]
    ["'=1+1", '-0.5', '-', "'+x", 3]
    """
    # A single sign is not a formula, but a frequent label.
    if not isinstance(cell, str) or len(cell) < 2 or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
