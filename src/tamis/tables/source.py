"""Files as they lie there: which format, which encoding, packed or not."""

import gzip
import hashlib
import io
import re
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from tamis.tables.errors import InputError

__all__ = [
    "FORMATS",
    "bounded_file",
    "check_path",
    "fingerprint",
    "format_of",
    "name_of",
    "readable",
    "text_lines",
]

FORMATS = ("csv", "tsv", "svmlight", "npz", "npy", "parquet", "h5ad")

_FORMAT_OF_SUFFIX = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".svmlight": "svmlight",
    ".npz": "npz",
    ".npy": "npy",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".h5ad": "h5ad",
}
_FORMAT_OF_MAGIC = {
    b"PK\x03\x04": "npz",
    b"\x93NUMPY": "npy",
    b"PAR1": "parquet",
    b"\x89HDF": "h5ad",
}
_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_ADDRESS = re.compile(r"^[A-Za-z][A-Za-z\d+.-]+://")
# How JSON begins, and hardly any header of a table.
_JSON = re.compile(r"^\s*(\{\s*[\"}]|\[\s*[\[{\"\]])")
_SVMLIGHT_LINE = re.compile(
    r"^[-+]?[\d.]+([eE][-+]?\d+)?(\s+qid:\d+)?(\s+\d+:[-+\d.eE]+)+\s*(#.*)?$"
)


def name_of(path):
    """What a message calls a file."""
    return Path(path).name or str(path)


def check_path(path):
    """Refuse what is not a file with something in it."""
    if _ADDRESS.match(str(path)):
        raise InputError(f"{path} is an address, not a file: download it first (curl -O {path})")
    path = Path(path)
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder: give one file, such as {path}/data.csv")
        if not path.exists():
            raise InputError(f"no file {path}{_similar(path)}")
        if not path.is_file():
            raise InputError(f"{path} is not a regular file: save what it holds in one first")
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty: expected a table")
        with open(path, "rb"):
            pass
    except OSError as error:
        raise InputError(f"cannot open {path}: {error.strerror or error}") from error
    except ValueError as error:  # a NUL inside the name
        raise (
            error if isinstance(error, InputError) else InputError(f"no file {path!r}")
        ) from error
    return path


def _similar(path):
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f": there is no folder {path.parent} either"
    near = get_close_matches(path.name, names, n=3, cutoff=0.5)
    return f"; did you mean {', '.join(near)}?" if near else ""


def fingerprint(path, *more):
    """SHA-256 of the bytes of one or more files, as 64 hexadecimal digits.

    Parameters
    ----------
    path, *more : str or Path
        Files, in the order that matters.

    Returns
    -------
    str
        The same for the same bytes, wherever they lie.
    """
    digest = hashlib.sha256()
    for name in (path, *more):
        with open(check_path(name), "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def is_packed(path):
    """Whether a file starts like gzip."""
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _binary_file(path):
    """The file, unpacked on the fly when it is gzip."""
    return gzip.open(path, "rb") if is_packed(path) else open(path, "rb")


class _Bounded(io.RawIOBase):
    """A file of lines that end within bounds, so that a small packed file cannot fill memory."""

    def __init__(self, path, budget, most):
        self.file = _binary_file(path)
        self.budget = budget
        self.most = most
        self.n_read = self.n_open = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        """Read a block, and count the bytes since the last end of a line."""
        n = self.file.readinto(buffer)
        block = bytes(memoryview(buffer)[:n])
        end = max(block.rfind(b"\n"), block.rfind(b"\r"))
        self.n_open = n - 1 - end if end >= 0 else self.n_open + n
        self.n_read += n
        if self.n_open > self.budget.longest_line:
            self.budget.refuse_line()
        if self.most is not None and self.n_read > self.most:
            self.budget.spend(self.budget.limit + 1)
        return n

    def close(self):
        self.file.close()
        super().close()


def bounded_file(path, budget, most=None):
    """The file, unpacked on the fly, that refuses lines beyond the budget.

    Parameters
    ----------
    path : Path
        The file.
    budget : Budget
        Memory that its table may take.
    most : int or None
        Bytes of the whole content, where that is bounded.
    """
    return io.BufferedReader(_Bounded(path, budget, most), 1 << 18)


def _head(path, n_bytes=1 << 16):
    with _binary_file(path) as file:
        return file.read(n_bytes)


def format_of(path, format=None):
    """Format of a file: as told, else by its name, else by its first bytes."""
    if format is not None:
        if format not in FORMATS:
            raise InputError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
        return format
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    if suffixes and suffixes[-1] in _FORMAT_OF_SUFFIX:
        return _FORMAT_OF_SUFFIX[suffixes[-1]]
    if suffixes and suffixes[-1] in (".xlsx", ".xls", ".ods"):
        raise InputError(f"{name_of(path)} is a spreadsheet: save it as CSV first")
    head = _head(path)
    is_json = suffixes and suffixes[-1] in (".json", ".jsonl", ".ndjson")
    if is_json or _JSON.match(head.decode("latin-1")):
        raise InputError(
            f"{name_of(path)} is JSON, not a table: convert it first, for instance with"
            " pandas.read_json(...).to_csv(...)"
        )
    for magic, found in _FORMAT_OF_MAGIC.items():
        if head.startswith(magic):
            return found
    lines = (line.strip() for line in head.decode("latin-1").split("\n"))
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return "svmlight" if _SVMLIGHT_LINE.match(first) else "csv"


def _encoding_of(path, encoding):
    head = _head(path)
    for mark, name in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            # A mark is part of no table, so UTF-8 said by the user means UTF-8 with its mark.
            return name if encoding is None or "utf" in encoding.lower() else encoding
    if b"\0" in head and not (encoding and "16" in encoding):
        raise InputError(
            f"{name_of(path)} is no text (it holds zero bytes): say its --format, one of"
            f" {', '.join(FORMATS)}"
        )
    return encoding or "utf-8"


def text_lines(path, encoding, budget):
    """Lines of a text file one by one, without their ends."""
    name = name_of(path)
    encoding = _encoding_of(path, encoding)
    file = bounded_file(path, budget)
    try:
        with io.TextIOWrapper(file, encoding=encoding) as file:
            for line in file:
                yield line[:-1] if line.endswith("\n") else line
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise InputError(
            f"{name} is not {encoding} (byte 0x{byte:02x}): try --encoding latin-1"
        ) from error
    except UnicodeError as error:
        raise InputError(f"{name} is not {encoding}: try another --encoding") from error
    except LookupError as error:
        raise InputError(f"no encoding {encoding!r}: try utf-8 or latin-1") from error


@contextmanager
def readable(path, format):
    """Turn whatever a reader raises on damaged content into one line."""
    try:
        yield
    except InputError:
        raise
    except ImportError as error:
        raise InputError(str(error)) from error
    except MemoryError as error:
        raise InputError(f"{name_of(path)} does not fit in memory, or is damaged") from error
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise InputError(
            f"cannot read {name_of(path)} as {format}: {reason}; it may be damaged or cut off"
        ) from error
