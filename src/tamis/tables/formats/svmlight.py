"""Sparse text files in the format of svmlight and LIBSVM."""

import io
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis.tables.columns.raw import RawTable
from tamis.tables.errors import EmptyTableError
from tamis.tables.formats.lines import bounded_file
from tamis.tables.formats.source import Source

if TYPE_CHECKING:
    from tamis.tables.formats.sampling import KeepRows

__all__ = ["iter_svmlight", "read_svmlight"]

_MANY_COLUMNS = 1_000_000
_SOME_ROWS = 10_000


def _load(file):
    from sklearn.datasets import load_svmlight_file

    X, y, query = load_svmlight_file(file, zero_based=True, query_id=True)
    X = sparse.csr_array(X)
    X.sum_duplicates()
    return X, y, query


def read_svmlight(source: Source, keep_rows: "KeepRows | None" = None) -> RawTable:
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
    with bounded_file(source) as file:
        while lines := _some_lines(file, _SOME_ROWS, source.budget.longest_line):
            X, y, _ = _load(io.BytesIO(b"".join(lines)))
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


def iter_svmlight(
    source: Source, wanted: Sequence[int], chunk_rows: int
) -> Iterator[tuple[sparse.csr_array, NDArray]]:
    """Read chunks of some features, given by their numbers in the file, and of the labels."""
    wanted = np.asarray(wanted, dtype=np.int64)
    with bounded_file(source) as file:
        while lines := _some_lines(file, chunk_rows, source.budget.longest_line):
            X, y, _ = _load(io.BytesIO(b"".join(lines)))
            if X.shape[0]:
                yield _columns(X, wanted), y


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
