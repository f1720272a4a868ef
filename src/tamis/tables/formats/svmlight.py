"""Sparse text files in the format of svmlight and LIBSVM."""

import io
import re
from collections.abc import Collection, Iterator
from itertools import islice

import numpy as np
from scipy import sparse

from tamis.tables.columns.raw import RawTable
from tamis.tables.columns.table import Columns
from tamis.tables.columns.wanted import Wanted
from tamis.tables.errors import EmptyTableError, InputError, listed
from tamis.tables.formats.lines import bounded_file, unpacking
from tamis.tables.formats.reader import NUMBER, FormatReader, TableSize

_MANY_COLUMNS = 1_000_000
_SOME_ROWS = 10_000
_LINE = re.compile(r"^[-+]?[\d.]+([eE][-+]?\d+)?(\s+qid:\d+)?(\s+\d+:[-+\d.eE]+)+\s*(#.*)?$")
# Bytes of an entry in memory: a number and its place.
_STORED = 12


class Svmlight(FormatReader):
    """A sparse text file; labels are the first word of every line."""

    format, suffixes = "svmlight", (".svm", ".libsvm", ".svmlight")
    can_transpose, can_stream, can_chunk, own_target = False, True, True, "target"

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        """Whether the first line that is not a comment holds a label and entries."""
        lines = (line.strip() for line in head.decode("latin-1").split("\n"))
        first = next((line for line in lines if line and not line.startswith("#")), "")
        return _LINE.match(first) is not None

    def _read(self, keep_rows, **words):
        return _read_all(self.source, keep_rows)

    def rows(
        self, wanted: Wanted, chunk_rows: int, drop: Collection[str] = ()
    ) -> Iterator[tuple[Columns, dict]]:
        """Chunks of the features and labels that a model needs; `transpose` has no effect."""
        if wanted.words:
            raise InputError(
                f"{self.source.name}: svmlight holds only numbers, not {listed(wanted.words)}"
            )
        is_place = [name[:1] == "f" and name[1:].isdecimal() for name in wanted.numbers]
        if not all(is_place):
            wanted.check([name for name, ok in zip(wanted.numbers, is_place, strict=True) if ok])
        numbers = np.array([int(name[1:]) for name in wanted.numbers], dtype=np.int64)
        names = np.array(wanted.numbers, dtype=str)
        for X, y in _parts(self.source, chunk_rows):
            X = _columns(X, numbers)
            if not np.isfinite(X.data).all():
                raise InputError(f"{self.source.name} contains a number that is not finite")
            extras = {"target": y} if "target" in wanted.extra else {}
            yield Columns(X, names), extras

    def chunks(self, wishes):
        """Byte ranges that end with a line; one pass finds them, and the number of features."""
        ranges, first = [], 0
        with open(self.source.path, "rb") as file:
            while size := sum(map(len, islice(file, wishes.rows(None)))):
                ranges.append((first, size))
                first += size

        def load(first, size):
            with open(self.source.path, "rb") as file:
                file.seek(first)
                return _load(io.BytesIO(file.read(size)))[:2]

        n_features = max((load(*part)[0].shape[1] for part in ranges), default=0)
        if not n_features:
            raise InputError(f"{self.source.name} has no rows")

        def start():
            for X, y in (load(*part) for part in ranges):
                X.resize(X.shape[0], n_features)
                if X.shape[0]:
                    yield X, y if wishes.labels is None else None

        return [f"f{j}" for j in range(n_features)], start

    def why_not(self, groups: str | None = None) -> str | None:
        """Groups need the whole file."""
        return "groups of an svmlight file are read as a whole" if groups else None

    def columns(self) -> tuple[list[str], list[str], bool]:
        """Features are known only when all lines were read."""
        return [], ["target"], True

    def size(self) -> TableSize | None:
        """From the size of the file and its first lines."""
        head = self.source.head(1 << 20)
        n_bytes = self.source.path.stat().st_size * unpacking(self.source)
        share = n_bytes / max(1, len(head))
        n_rows = head.count(b"\n") * share
        return TableSize(n_rows, 0, head.count(b":") * share * _STORED + NUMBER * n_rows)


def _load(file):
    from sklearn.datasets import load_svmlight_file

    X, y, query = load_svmlight_file(file, zero_based=True, query_id=True)
    X = sparse.csr_array(X)
    X.sum_duplicates()
    return X, y, query


def _read_all(source, keep_rows):
    """Read labels and features f1, f2, ..., named by their number (f0 only if it is used).

    With `keep_rows`, only these rows are kept in memory.
    """
    if keep_rows is None:
        # An entry such as "1:1 " needs 16 bytes of memory.
        with bounded_file(source, most=source.budget.limit // 4) as file:
            X, y, query = _load(file)
    else:
        X, y, query = _load_some(source, keep_rows)
    if X.shape[0] == 0:
        raise EmptyTableError(f"{source.name} has no rows")
    notes = []
    if X.shape[1] > _MANY_COLUMNS:
        used = np.unique(X.indices)
        notes.append(f"{X.shape[1]:,} features, of which {used.size:,} are not always zero")
        X = sparse.csr_array(
            (X.data, np.searchsorted(used, X.indices), X.indptr), shape=(X.shape[0], used.size)
        )
    else:
        first = 1 if X.nnz and X.indices.min() >= 1 else 0
        used = np.arange(first, X.shape[1])
        if first:
            X = sparse.csr_array((X.data, X.indices - 1, X.indptr), (X.shape[0], X.shape[1] - 1))
    side = {"target": y}
    if len(query) == len(y) and np.any(query != query[0]):
        side["qid"] = query
    names = [f"f{j}" for j in used.tolist()]
    return RawTable(X, names, side=side, own_target="target", notes=notes)


def _load_some(source, keep_rows):
    """Some of the rows; with all columns, also those that are zero in these rows."""
    parts, labels, start, n_columns = [], [], 0, 0
    for X, y in _parts(source, _SOME_ROWS):
        is_kept = keep_rows(start, y.size, {"target": y}.__getitem__)
        start, n_columns = start + y.size, max(n_columns, X.shape[1])
        X = X[is_kept]
        source.budget.spend(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
        parts.append(X)
        labels.append(y[is_kept])
    for X in parts:
        X.resize(X.shape[0], n_columns)
    X = sparse.csr_array(sparse.vstack(parts)) if parts else sparse.csr_array((0, 0))
    return X, np.concatenate([np.zeros(0), *labels]), np.zeros(0)


def _parts(source, n_rows):
    """Features and labels of some lines at a time."""
    with bounded_file(source) as file:
        while lines := _some_lines(file, n_rows, source.budget.longest_line):
            X, y, _ = _load(io.BytesIO(b"".join(lines)))
            if X.shape[0]:
                yield X, y


def _some_lines(file, n_lines, n_bytes):
    lines = []
    for line in islice(file, n_lines):
        lines.append(line)
        n_bytes -= len(line)
        if n_bytes < 0:
            break
    return lines


def _columns(X, wanted):
    """Select columns of a CSR array, using no more memory than their entries."""
    order = np.argsort(wanted, kind="stable")
    position = np.searchsorted(wanted, X.indices, sorter=order)
    position = order[np.minimum(position, wanted.size - 1)] if wanted.size else position
    keep = wanted[position] == X.indices if wanted.size else np.zeros(X.nnz, dtype=bool)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    entries = X.data[keep], (rows[keep], position[keep])
    return sparse.csr_array(entries, shape=(X.shape[0], wanted.size))
