"""`read_chunks`: tables that are larger than memory, some rows at a time.

`FormatReader.chunks` returns the names of the features and a function that starts reading; a
`Chunks` calls the latter each time it is read. Nothing is learned from the data: values must be
numbers, and none may be missing when a classifier is trained on them.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamis._array import Matrix
from tamis.tables.columns.raw import find_column
from tamis.tables.errors import InputError, listed
from tamis.tables.formats.parquet import table_chunks
from tamis.tables.formats.registry import FORMATS, open_reader

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
        return _labelled(*table_chunks(source, wishes), wishes)
    paths = _paths(source)
    if len(paths) > 1:
        parts = [_of_file(path, format, wishes) for path in paths]
        return _joined(parts, paths, wishes)
    return _of_file(paths[0], format, wishes)


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
        """Number of rows of a chunk; None for `n_columns` stands for sparse rows."""
        if n_columns is None:
            return self.chunk_rows or _SPARSE_ROWS
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


def _of_file(path, format, wishes):
    reader = open_reader(path, format, layer=wishes.layer)
    if not reader.can_chunk:
        able = ", ".join(name for name, other in FORMATS.items() if other.can_chunk)
        raise InputError(
            f"{reader.source.name}: {reader.format} cannot be read in chunks; these can: {able}."
        )
    return _labelled(*reader.chunks(wishes), wishes)


def _labelled(names, begin, wishes):
    """Chunks with their own labels, or with those of the caller where they have none."""

    def start():
        at = 0
        for X, y in begin():
            rows = slice(at, at := at + X.shape[0])
            yield X, _take_labels(wishes.labels, rows) if y is None else y

    return Chunks(start, names)


def _joined(parts, paths, wishes):
    """Several files, one after the other."""
    names = parts[0].feature_names
    for part, path in zip(parts, paths, strict=True):
        if part.feature_names != names:
            raise InputError(f"{path} has other features than {paths[0]}")

    def start():
        for part in parts:
            for X, y in part:
                yield X, y if wishes.labels is None else None

    return _labelled(names, start, wishes)


def _take_labels(labels, rows):
    some = np.asarray(labels[rows])
    if some.shape[0] != rows.stop - rows.start:
        raise InputError(f"there are {len(labels):,} labels, and more rows than that")
    return some
