"""Files to read: whether they exist, and which format they have."""

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from os import R_OK, PathLike, access
from pathlib import Path

from tamis.tables.errors import InputError
from tamis.tables.limits import Budget

__all__ = ["FORMATS", "Source", "check_path", "readable"]

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
_ADDRESS = re.compile(r"^[A-Za-z][A-Za-z\d+.-]+://")
# How JSON files begin, unlike nearly every table.
_JSON = re.compile(r"^\s*(\{\s*[\"}]|\[\s*[\[{\"\]])")
_SVMLIGHT_LINE = re.compile(
    r"^[-+]?[\d.]+([eE][-+]?\d+)?(\s+qid:\d+)?(\s+\d+:[-+\d.eE]+)+\s*(#.*)?$"
)


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

    Parameters
    ----------
    path : str or path
        The file.
    format : str or None
        One of `FORMATS`; None: detected from the name of the file, or else from its content.
    max_size : int or None
        Bytes of memory that its table may use; None: half of what is available.

    Attributes
    ----------
    path : Path
        The file, which exists.
    name : str
        Its name, for messages.
    format : str
        One of `FORMATS`.
    budget : Budget
        Memory that its table may use.
    """

    def __init__(
        self, path: str | PathLike, format: str | None = None, max_size: int | None = None
    ):
        if format is not None and format not in FORMATS:
            raise InputError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
        self.path = check_path(path)
        self.name = self.path.name or str(path)
        self.format = "a table"
        if format is None:
            with readable(self):
                format = self._detect_format()
        self.format = format
        self.budget = Budget(self.name, max_size)

    def _detect_format(self):
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        if suffixes and suffixes[-1] == ".gz":
            suffixes.pop()
        if suffixes and suffixes[-1] in _FORMAT_OF_SUFFIX:
            return _FORMAT_OF_SUFFIX[suffixes[-1]]
        if suffixes and suffixes[-1] in (".xlsx", ".xls", ".ods"):
            raise InputError(f"{self.name} is a spreadsheet: save it as CSV first")
        head = self._head()
        is_json = suffixes and suffixes[-1] in (".json", ".jsonl", ".ndjson")
        if is_json or _JSON.match(head.decode("latin-1")):
            raise InputError(
                f"{self.name} is JSON, not a table: convert it first, for instance with"
                " pandas.read_json(...).to_csv(...)"
            )
        for magic, format in _FORMAT_OF_MAGIC.items():
            if head.startswith(magic):
                return format
        lines = (line.strip() for line in head.decode("latin-1").split("\n"))
        first = next((line for line in lines if line and not line.startswith("#")), "")
        return "svmlight" if _SVMLIGHT_LINE.match(first) else "csv"

    def _head(self, n_bytes=1 << 16):
        """The first bytes of the content, which may be compressed with gzip."""
        with open(self.path, "rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            return gzip.GzipFile(fileobj=file).read(n_bytes) if is_packed else file.read(n_bytes)


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
    except MemoryError as error:
        raise InputError(f"{name} does not fit in memory, or is damaged") from error
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise InputError(
            f"cannot read {name} as {format}: {reason}; the file may be damaged or truncated"
        ) from error
