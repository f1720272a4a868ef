"""`read_chunks`: tables that are larger than memory, some rows at a time.

Each format has a function that returns the names of the features and a function that starts
reading; a `Chunks` calls the latter each time it is read. Nothing is learned from the data: values
must be numbers, and none may be missing when a classifier is trained on them.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tamis._array import Matrix
from tamis.tables.columns.missing import MissingWords
from tamis.tables.columns.raw import find_column
from tamis.tables.columns.values import as_floats
from tamis.tables.errors import InputError, listed
from tamis.tables.formats.arrays import Npz
from tamis.tables.formats.batches import read_batches
from tamis.tables.formats.h5ad import open_h5ad
from tamis.tables.formats.parquet import numeric_batches, table_batches
from tamis.tables.formats.registry import open_reader
from tamis.tables.formats.text import sniff

__all__ = ["Chunks", "read_chunks"]

# Bytes of a chunk of dense rows.
_CHUNK_BYTES = 64e6
_SPARSE_ROWS = 50_000


class Chunks(Iterable):
    """Chunks of rows, which can be read any number of times.

    Iterating gives tuples (X, y) of some rows and their labels; `X` is an array or a CSR array.

    Attributes
    ----------
    feature_names : list of str or None
        Names of the columns of X; None if they have none.
    """

    def __init__(
        self, start: Callable[[], Iterator[tuple]], feature_names: list[str] | None
    ) -> None:
        self._start, self.feature_names = start, feature_names

    def __iter__(self) -> Iterator[tuple[Matrix, NDArray]]:
        """Read the chunks."""
        return self._start()


def read_chunks(
    source: Any,
    target: str | int | None = None,
    *,
    labels: ArrayLike | str | PathLike | None = None,
    columns: Sequence[str] | None = None,
    chunk_rows: int | None = None,
    format: str | None = None,
    layer: str | None = None,
) -> Chunks:
    """Read a table some rows at a time, for example for `SparseCenterClassifier.fit_chunks`.

    ================ =====================================================================
    npy              memory-mapped; labels: a column, or `labels`
    npz              one or more files, each a chunk: arrays X and y, or `labels`
    parquet          some rows of a row group at a time; labels: the column `target`
    CSV, TSV         a batch of lines at a time; labels: the column `target`
    svmlight         a range of bytes at a time; labels: the first word of each line
    h5ad             rows of X or of a layer on disk; labels: the column `target` of obs
    arrow            anything with `__arrow_c_stream__`: tables, readers, relations of DuckDB
    ================ =====================================================================

    Parameters
    ----------
    source : str, path, list of paths, or object with an Arrow stream
        What to read. A pattern such as ``"part-*.npz"`` or a list names several files.
    target : str or int, optional
        Column of the labels.
    labels : array-like or path of an npy file, optional
        Labels of all rows, if they are not in the table.
    columns : sequence of str, optional
        Columns to use as features; by default all except the target, and they must be numbers.
    chunk_rows : int, optional
        Rows of a chunk; by default about 64 MB of numbers.
    format : {"npy", "npz", "parquet", "csv", "tsv", "svmlight", "h5ad"}, optional
        By default detected.
    layer : str, optional
        Layer of an h5ad file.

    Returns
    -------
    chunks : Chunks

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tamis import SparseCenterClassifier, read_chunks
    >>> table = pa.table({"a": [1, 2, 8, 9], "b": [3, 3, 4, 3], "ill": ["n", "n", "y", "y"]})
    >>> chunks = read_chunks(table, "ill", chunk_rows=2)
    >>> model = SparseCenterClassifier(1).fit_chunks(chunks)
    >>> model.get_feature_names_out().tolist()
    ['a']
    """
    if chunk_rows is not None and chunk_rows < 1:
        raise InputError(f"chunk_rows must be at least 1, got {chunk_rows!r}.")
    if isinstance(labels, str | PathLike):
        labels = _load_labels(labels)
    wishes = _Wishes(target, labels, columns, chunk_rows, layer)
    if hasattr(source, "__arrow_c_stream__"):
        return _from_arrow(source, wishes)
    paths = _paths(source)
    if len(paths) > 1:
        parts = [read_chunks_of_file(path, wishes, format) for path in paths]
        return _joined(parts, paths, wishes)
    return read_chunks_of_file(paths[0], wishes, format)


def _load_labels(path):
    """The labels of an npy file; a name of a column in its place is a frequent mistake."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"labels={str(path)!r} is not an npy file with the labels of all rows ({error}). To "
            f"name a column of the table, write target={str(path)!r}."
        ) from error


class _Wishes:
    """What the caller asked for."""

    def __init__(self, target, labels, columns, chunk_rows, layer):
        self.target, self.columns, self.layer = target, columns, layer
        self.labels = None if labels is None else np.asanyarray(labels)
        self.chunk_rows = chunk_rows

    def rows(self, n_columns, itemsize=8):
        """Number of rows of a chunk."""
        return self.chunk_rows or max(1, int(_CHUNK_BYTES // max(1, n_columns * itemsize)))

    def find(self, names, is_named=True, name="the table"):
        """Target (None: separate labels) and features among the names of columns."""
        target = None
        if self.labels is None:
            if self.target is None:
                raise InputError(f"{name}: name the column of labels (target), or pass labels.")
            target = find_column(self.target, names, is_named)
            if target is None:
                raise InputError(f"{name} has no column {self.target!r}: it has {listed(names)}")
        features = [c for c in names if c != target] if self.columns is None else self.columns
        unknown = [c for c in features if c not in set(names)]
        if unknown:
            raise InputError(f"{name} has no column {unknown[0]!r}: it has {listed(names)}")
        return target, list(features)


def _paths(source):
    if isinstance(source, str) and any(mark in source for mark in "*?["):
        found = sorted(glob.glob(source))
        if not found:
            raise InputError(f"no file matches {source}")
        return found
    if isinstance(source, str | PathLike):
        return [source]
    if isinstance(source, list | tuple) and source:
        return list(source)
    raise InputError(
        "read_chunks needs a path, a list of paths, or an object with an Arrow stream; got "
        f"{type(source).__name__}. tamis.dask and tamis.spark train on collections of a cluster."
    )


def read_chunks_of_file(path: str | PathLike, wishes: Any, format: str | None = None) -> Chunks:
    """`read_chunks` of one file."""
    source = open_reader(path, format).source
    readers = {
        "npy": _from_npy,
        "npz": _from_npz,
        "parquet": _from_parquet,
        "csv": _from_text,
        "tsv": _from_text,
        "svmlight": _from_svmlight,
        "h5ad": _from_h5ad,
    }
    if source.format not in readers:
        raise InputError(
            f"{source.name}: {source.format} cannot be read in chunks; these can: "
            f"{', '.join(readers)}."
        )
    return readers[source.format](source, wishes)


def _joined(parts, paths, wishes):
    """Several files, one after the other."""
    names = parts[0].feature_names
    for part, path in zip(parts, paths, strict=True):
        if part.feature_names != names:
            raise InputError(f"{path} has other features than {paths[0]}")

    def start():
        at = 0
        for part in parts:
            for X, y in part:
                rows = slice(at, at := at + X.shape[0])
                yield X, y if wishes.labels is None else _take_labels(wishes.labels, rows)

    return Chunks(start, names)


def _take_labels(labels, rows):
    some = np.asarray(labels[rows])
    if some.shape[0] != rows.stop - rows.start:
        raise InputError(f"there are {len(labels):,} labels, and more rows than that")
    return some


def _from_npy(source, wishes):
    X = np.load(source.path, mmap_mode="r", allow_pickle=False)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(f"{source.name}: expected a table of numbers, got {X.dtype} {X.shape}")
    names = [f"x{j}" for j in range(X.shape[1])]
    target, features = wishes.find(names, False, source.name)
    at = [names.index(name) for name in features]
    is_all = at == list(range(X.shape[1]))

    def start():
        step = wishes.rows(len(at), X.dtype.itemsize)
        for first in range(0, X.shape[0], step):
            rows = slice(first, min(first + step, X.shape[0]))
            block = np.asarray(X[rows])
            y = wishes.labels if target is None else block[:, names.index(target)]
            y = _take_labels(y, rows) if target is None else y
            yield as_floats(block if is_all else block[:, at], source.name), y

    return Chunks(start, None)


def _from_npz(source, wishes):
    def start():
        raw = Npz(source)._read()
        y = raw.side.get("y" if wishes.target is None else wishes.target)
        if y is None and wishes.labels is None:
            raise InputError(f"{source.name} has no array {wishes.target or 'y'!r} of labels")
        X = raw.numeric
        yield X, _take_labels(wishes.labels, slice(0, X.shape[0])) if y is None else y

    raw = Npz(source)._read()
    return Chunks(start, raw.numeric_names if raw.is_named else None)


def _from_parquet(source, wishes):
    return _from_batches(*numeric_batches(source), wishes, source.name)


def _from_arrow(table, wishes):
    return _from_batches(*table_batches(table), wishes, "the table")


def _from_batches(names, start, wishes, name):
    target, features = wishes.find(names, True, name)
    n_rows = wishes.rows(len(features))
    return Chunks(lambda: _with_labels(start(target, features, n_rows), wishes), features)


def _with_labels(chunks, wishes):
    at = 0
    for X, y in chunks:
        rows = slice(at, at := at + X.shape[0])
        yield X, _take_labels(wishes.labels, rows) if y is None else y


def _from_text(source, wishes):
    missing = MissingWords(None).spellings
    dialect = sniff(source)
    target, features = wishes.find(dialect.names, dialect.has_header, source.name)
    places = [dialect.names.index(name) for name in features]
    words = [] if target is None else [dialect.names.index(target)]

    def start():
        again = sniff(source)
        at = n_columns = 0
        for batch in read_batches(again, places, words, missing):
            wrong = sorted({*batch.odd, *batch.large})
            if wrong:
                name = dialect.names[wrong[0]]
                raise InputError(
                    f"{source.name}: column {name!r} has values that are not numbers; name the "
                    "columns to use with columns=."
                )
            n_columns = batch.numeric.shape[1]
            y = None if target is None else np.array(batch.words[0].to_pylist(), dtype=str)
            step = wishes.rows(n_columns)
            for first in range(0, batch.n_rows, step):
                rows = slice(first, min(first + step, batch.n_rows))
                part = slice(at + rows.start, at + rows.stop)
                some = _take_labels(wishes.labels, part) if y is None else y[rows]
                yield batch.numeric[rows], some
            at += batch.n_rows

    return Chunks(start, features if dialect.has_header else None)


def _from_svmlight(source, wishes):
    """Byte ranges that end with a line; one pass finds them, and the number of features."""
    from sklearn.datasets import load_svmlight_file

    ranges, step = [], wishes.chunk_rows or _SPARSE_ROWS
    with open(source.path, "rb") as file:
        first, n_lines, size = 0, 0, 0
        for line in file:
            size += len(line)
            n_lines += 1
            if n_lines == step:
                ranges.append((first, size))
                first, n_lines, size = first + size, 0, 0
        if size:
            ranges.append((first, size))

    def load(first, size, n_features=None):
        with open(source.path, "rb") as file:
            file.seek(first)
            text = BytesIO(file.read(size))
        X, y = load_svmlight_file(text, n_features=n_features, zero_based=True)
        return sparse.csr_array(X), y

    n_features = max((load(*part)[0].shape[1] for part in ranges), default=0)
    if not n_features:
        raise InputError(f"{source.name} has no rows")

    def start():
        at = 0
        for part in ranges:
            X, y = load(*part, n_features)
            rows = slice(at, at := at + X.shape[0])
            if X.shape[0]:
                yield X, y if wishes.labels is None else _take_labels(wishes.labels, rows)

    return Chunks(start, [f"f{j}" for j in range(n_features)])


def _from_h5ad(source, wishes):
    def start():
        with open_h5ad(source, wishes.layer) as file:
            step = wishes.chunk_rows or (
                _SPARSE_ROWS if file.is_sparse else wishes.rows(file.shape[1])
            )
            for first in range(0, file.shape[0], step):
                rows = slice(first, min(first + step, file.shape[0]))
                if wishes.labels is None:
                    yield file.rows(rows), file.labels(wishes.target, rows)
                else:
                    yield file.rows(rows), _take_labels(wishes.labels, rows)

    with open_h5ad(source, wishes.layer) as file:
        names = file.names
        if wishes.labels is None:
            file.labels(wishes.target, slice(0, 0))
    return Chunks(start, names)
