"""Files of numpy and scipy arrays: npz, sparse npz and npy."""

import math
import zipfile
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from tamis._array import Matrix, is_sparse
from tamis._base import large_columns
from tamis.tables.columns.coded import Coded
from tamis.tables.columns.raw import RawTable, unique_names
from tamis.tables.columns.values import TOO_LARGE, as_floats, row_names, strings
from tamis.tables.errors import InputError, listed
from tamis.tables.formats.reader import NUMBER, FormatReader, TableSize
from tamis.tables.formats.source import COLUMN, WORD, tell_size

_SOME_ROWS = 100_000
_SPARSE_PARTS = {"format", "shape", "data"}
_NAMES = ("feature_names", "features", "columns", "var_names")
_IDS = ("ids", "sample_names", "sample_ids", "obs_names")


class Npz(FormatReader):
    """An archive of arrays, or a sparse matrix saved by scipy."""

    format, suffixes, magic = "npz", (".npz",), b"PK\x03\x04"
    can_chunk = True

    def _read(self, keep_rows=None, **words):
        return _read_npz(self.source, self.transpose)

    def chunks(self, wishes):
        """The whole file."""

        def start():
            raw = self._read()
            y = raw.side.get("y" if wishes.target is None else wishes.target)
            if y is None and wishes.labels is None:
                raise InputError(
                    f"{self.source.name} has no array {wishes.target or 'y'!r} of labels"
                )
            yield raw.numeric, y

        raw = self._read()
        return raw.numeric_names if raw.is_named else None, start


class Npy(FormatReader):
    """A matrix, or a structured array."""

    format, suffixes, magic = "npy", (".npy",), b"\x93NUMPY"
    can_stream = can_chunk = True

    def _read(self, keep_rows=None, **words):
        return _read_npy(self.source, self.transpose, keep_rows)

    def _map(self):
        return np.load(self.source.path, mmap_mode="r", allow_pickle=False)

    def columns(self) -> tuple[list[str], list[str], bool]:
        """Fields of a structured array; x0, x1, ... of a matrix."""
        X = self._map()
        if X.dtype.names:
            return list(X.dtype.names), [], True
        return [f"x{j}" for j in range(X.shape[-1])], [], False

    def chunks(self, wishes):
        """Rows of the mapped matrix."""
        X, name = self._map(), self.source.name
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise InputError(f"{name}: expected a table of numbers, got {X.dtype} {X.shape}")
        names = self.columns()[0]
        target, features = wishes.find(names, False, name)
        at = [names.index(feature) for feature in features]
        is_all = at == list(range(X.shape[1]))

        def start():
            for rows in gen_batches(X.shape[0], wishes.rows(len(at), X.dtype.itemsize)):
                block = np.asarray(X[rows])
                y = None if target is None else block[:, names.index(target)]
                yield as_floats(block if is_all else block[:, at], name), y

        return None, start

    def size(self) -> TableSize | None:
        """As declared by the header."""
        n_rows, n_columns = self._map().shape[0], len(self.columns()[0])
        return TableSize(n_rows, n_columns, n_rows * n_columns * NUMBER)


def table_bytes(shape: Sequence[int], dtype: np.dtype, transpose: bool = False) -> int:
    """Bytes that a table needs in addition to the array it is made from."""
    n_values = math.prod(shape)
    n_columns = shape[0 if transpose else 1] if len(shape) == 2 else 0
    if dtype.kind in "US":
        value = WORD
    elif dtype.names:
        value = WORD * len(dtype.names)
    else:
        value = 0 if dtype in (np.float32, np.float64) else 4 if dtype.itemsize <= 2 else 8
    return n_values * value + COLUMN * n_columns


def _declared(file, n_bytes, name):
    """Shape, order and type according to the header of an npy file, compared with its size."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, is_fortran, dtype = np.lib.format.read_array_header_2_0(file)
    else:  # records with names that are not ASCII
        return (), False, np.dtype("V")
    n_declared = math.prod(shape) * dtype.itemsize
    if n_declared > n_bytes and not dtype.hasobject:
        raise InputError(
            f"{name} declares {tell_size(n_declared)} but holds {tell_size(n_bytes)}: it is"
            " damaged or truncated"
        )
    return shape, is_fortran, dtype


def _check_archive(file, source, transpose):
    """Raise InputError for an npz file that is too large, before it is unpacked."""
    n_bytes = 0
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            n_bytes += entry.file_size
            if entry.filename.endswith(".npy"):
                with archive.open(entry) as part:
                    name = f"{source.name}: {entry.filename}"
                    shape, _, dtype = _declared(part, entry.file_size, name)
                n_bytes += table_bytes(shape, dtype, transpose) if len(shape) == 2 else 0
    source.budget.spend(n_bytes, is_all=True)


def checked_csr(matrix: Matrix) -> sparse.csr_array:
    """Convert a sparse matrix to CSR, and check that all indices are within its shape."""
    matrix = sparse.csr_array(matrix)
    matrix.check_format(full_check=True)
    if large_columns(matrix.data).size:
        place = np.argmax(np.abs(matrix.data.astype(np.float64)))
        raise InputError(f"column {matrix.indices[place]} (counting from 0) {TOO_LARGE}")
    if matrix.dtype not in (np.float32, np.float64):
        matrix = sparse.csr_array(
            (as_floats(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape
        )
    matrix.sum_duplicates()
    return matrix


def _words_of(array):
    """Convert an array of words to a list of str."""
    return [value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
            for value in array.tolist()]  # fmt: skip


def _sparse_of(parts, source, budget, transpose):
    """The matrix of a file written by `scipy.sparse.save_npz`."""
    kind = parts["format"].item()
    kind = kind.decode("ascii") if isinstance(kind, bytes) else str(kind)
    shape = tuple(int(n) for n in parts["shape"])
    if len(shape) != 2:
        raise InputError(f"{source}: a sparse matrix must have 2 dimensions, got {len(shape)}")
    n_rows, n_columns = shape[::-1] if transpose else shape
    budget.spend(16 * n_rows + COLUMN * n_columns, is_all=True)
    if kind in ("csr", "csc"):
        make = sparse.csr_array if kind == "csr" else sparse.csc_array
        matrix = make((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
        matrix.check_format(full_check=True)
    elif kind == "coo":
        matrix = sparse.coo_array((parts["data"], (parts["row"], parts["col"])), shape=shape)
    else:
        raise InputError(f"{source}: sparse format {kind!r} is not supported: save it as csr")
    return checked_csr(matrix)


def _read_npz(source, transpose):
    """Read arrays `X`, `y`, `feature_names`, `ids`, ... or a sparse matrix saved by scipy.

    Other arrays with one value per row may be labels, groups or batches.
    """
    with open(source.path, "rb") as file:
        _check_archive(file, source, transpose)
        file.seek(0)
        parts = np.load(file, allow_pickle=False)
        if _SPARSE_PARTS.issubset(parts.files) and "X" not in parts.files:
            X = _sparse_of(parts, source.name, source.budget, transpose)
            arrays = {}
        else:
            arrays = {name: parts[name] for name in parts.files}
            X = _matrix_of(arrays, source.name)
    if transpose:
        X = X.T.tocsr() if is_sparse(X) else X.T
    n_rows, n_columns = X.shape
    if n_rows == 0 or n_columns == 0:
        raise InputError(f"{source.name}: X is empty, of shape {X.shape}")
    names = next((arrays[key] for key in _NAMES if key in arrays), None)
    if names is not None and names.shape != (n_columns,):
        raise InputError(
            f"{source.name}: {n_columns:,} columns, but feature names of shape {names.shape};"
            " are features in rows (--transpose)?"
        )
    is_named = names is not None
    names = _words_of(names) if is_named else [f"x{j}" for j in range(n_columns)]
    names, repeated = unique_names(names)
    ids = next((arrays[key] for key in _IDS if key in arrays), None)
    if ids is not None and ids.shape != (n_rows,):
        raise InputError(f"{source.name}: {n_rows:,} rows, but ids of shape {ids.shape}")
    reserved = {"X", *_NAMES, *_IDS, "categorical"}
    side = {
        name: array
        for name, array in arrays.items()
        if name not in reserved and array.shape == (n_rows,) and array.dtype.kind in "biufUS"
    }
    if "y" in arrays and "y" not in side:
        raise InputError(
            f"{source.name}: {n_rows:,} rows, but labels y of shape {arrays['y'].shape}"
        )
    raw = RawTable(
        np.empty((n_rows, 0)),
        [],
        side=side,
        own_target="y" if "y" in side else None,
        ids=None if ids is None else row_names(ids),
        is_named=is_named,
        repeated=repeated,
    )
    if X.dtype.kind in "US":
        raw.others = {name: strings(X[:, j]) for j, name in enumerate(names)}
    else:
        raw.numeric, raw.numeric_names = X, names
        if not is_sparse(X):
            raw.numeric, raw.numeric_names, raw.others = _take_numbers(X, names, source.name)
            raw.order = names
    raw.categorical = _categorical_of(arrays.get("categorical"), names)
    return raw


def _take_numbers(X, names, source) -> tuple[Matrix, list[str], dict[str, Coded]]:
    """Columns of numbers, their names, and columns of large integers as words."""
    large = large_columns(X).tolist()
    if not large:
        return as_floats(X, source), names, {}
    keep = [j for j in range(len(names)) if j not in large]
    others = {names[j]: strings(X[:, j]) for j in large}
    return as_floats(X[:, keep], source), [names[j] for j in keep], others


def _matrix_of(arrays, source):
    X = arrays.get("X")
    if X is None:
        tables = [name for name, array in arrays.items() if array.ndim == 2]
        if len(tables) != 1:
            raise InputError(
                f"{source} has no array X: it holds {listed(arrays) or 'nothing'};"
                " save it with np.savez(file, X=..., y=...)"
            )
        X = arrays.pop(tables[0])
    if X.ndim != 2:
        raise InputError(f"{source}: X must have 2 dimensions, got shape {X.shape}")
    return X


def _categorical_of(array, names):
    """Names of the columns that hold codes according to the file."""
    if array is None or array.ndim != 1:
        return []
    if array.dtype.kind in "US":
        known = set(names)
        return [name for name in _words_of(array) if name in known]
    if array.dtype.kind == "b" and array.size == len(names):
        array = np.flatnonzero(array)
    if array.dtype.kind not in "iu":
        return []
    return [names[j] for j in array.tolist() if 0 <= j < len(names)]


def _read_npy(source, transpose, keep_rows):
    """Read a matrix of numbers, which is mapped and not loaded, or a structured array.

    With `keep_rows`, only these rows are loaded.
    """
    with open(source.path, "rb") as file:
        n_bytes = source.path.stat().st_size
        shape, is_fortran, dtype = _declared(file, n_bytes, source.name)
        if keep_rows is None:
            source.budget.spend(table_bytes(shape, dtype, transpose), is_all=True)
        if shape and 0 not in shape and not dtype.hasobject:
            order: Literal["C", "F"] = "F" if is_fortran else "C"
            X: Any = np.memmap(file, dtype, "r", file.tell(), shape, order)
        else:
            file.seek(0)
            X = np.load(file, allow_pickle=False)
    if keep_rows is not None and X.size:
        X = np.asarray(X[_find_rows(X, keep_rows)])
        source.budget.spend(X.nbytes + table_bytes(X.shape, X.dtype), is_all=True)
    if X.dtype.names:
        return _read_structured(X, source.name)
    if X.ndim != 2:
        raise InputError(f"{source.name}: expected a table of 2 dimensions, got shape {X.shape}")
    if transpose:
        X = X.T
    if 0 in X.shape:
        raise InputError(f"{source.name}: the table is empty, of shape {X.shape}")
    names = [f"x{j}" for j in range(X.shape[1])]
    if X.dtype.kind in "US":
        others = {name: strings(X[:, j]) for j, name in enumerate(names)}
        return RawTable(np.empty((X.shape[0], 0)), [], others, is_named=False)
    numeric, numeric_names, others = _take_numbers(X, names, source.name)
    return RawTable(numeric, numeric_names, others, order=names, is_named=False)


def _find_rows(X, keep_rows):
    rows = []
    for start in range(0, len(X), _SOME_ROWS):
        some = X[start : start + _SOME_ROWS]

        def column(name, some=some):
            return np.asarray(some[name] if some.dtype.names else some[:, int(name[1:])])

        rows.append(start + np.flatnonzero(keep_rows(start, len(some), column)))
    return np.concatenate(rows)


def _read_structured(X, source):
    if X.ndim != 1 or X.size == 0:
        raise InputError(f"{source}: expected one record per row, got shape {X.shape}")
    kinds = {name: X.dtype[name] for name in X.dtype.names}
    numbers = [name for name, dtype in kinds.items() if dtype.kind in "biuf" and not dtype.shape]
    words = [name for name, dtype in kinds.items() if dtype.kind in "US"]
    large = [name for name in numbers if large_columns(X[name]).size]
    numbers = [name for name in numbers if name not in large]
    dropped = [name for name in kinds if name not in {*numbers, *words, *large}]
    numeric = np.empty((X.size, len(numbers)))
    for j, name in enumerate(numbers):
        numeric[:, j] = X[name]
    raw = RawTable(numeric, numbers, {name: strings(X[name]) for name in [*words, *large]})
    if dropped:
        raw.notes.append(f"dropped {listed(dropped)}: neither numbers nor words")
    return raw
