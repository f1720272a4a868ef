"""AnnData's h5ad files, read with h5py; needs neither anndata nor pandas."""

from contextlib import AbstractContextManager
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from tamis._array import Matrix
from tamis.tables.columns.coded import as_objects
from tamis.tables.columns.raw import RawTable, unique_names
from tamis.tables.columns.values import as_floats, row_names
from tamis.tables.errors import InputError, listed, load
from tamis.tables.formats.arrays import checked_csr, table_bytes
from tamis.tables.formats.reader import FormatReader, TableSize, raw_rows
from tamis.tables.formats.source import COLUMN, WORD, Source, readable

# Values of a part that is read at once.
_PART_VALUES = 20e6


class H5ad(FormatReader):
    """The matrix `X` or a layer, the names in ``var``, and the columns of ``obs``."""

    format, suffixes, magic = "h5ad", (".h5ad",), b"\x89HDF"
    has_layers = can_stream = can_chunk = True

    def _read(self, keep_rows, **words):
        return _read_all(self.source, self.layer, self.transpose, keep_rows)

    def _rows(self, wanted, chunk_rows):
        try:
            opened = open_h5ad(self.source, self.layer)
        except NotInRowsError:
            yield from raw_rows(self.read(), wanted, chunk_rows)
            return
        with opened as file:
            side = [name for name in wanted.extra if name in file.side]
            with_ids = file.has_ids and "ids" in wanted.extra
            for rows in gen_batches(file.shape[0], chunk_rows):
                raw = RawTable(
                    file.rows(rows),
                    file.columns,
                    side={name: file.obs(name, rows) for name in side},
                    ids=file.ids(rows) if with_ids else None,
                    repeated=file.repeated,
                )
                yield from raw_rows(raw, wanted, chunk_rows)

    def chunks(self, wishes):
        """Rows on the disk."""
        has_labels = wishes.labels is not None

        def start():
            with open_h5ad(self.source, self.layer) as file:
                step = wishes.rows(None if file.is_sparse else file.shape[1])
                for rows in gen_batches(file.shape[0], step):
                    yield file.rows(rows), None if has_labels else file.labels(wishes.target, rows)

        with open_h5ad(self.source, self.layer) as file:
            if not has_labels:
                file.labels(wishes.target, slice(0, 0))
            return file.names, start

    def why_not(self, groups: str | None = None) -> str | None:
        """Because the matrix is stored by columns."""
        try:
            with readable(self.source):
                open_h5ad(self.source, self.layer).__exit__()
        except NotInRowsError as error:
            return str(error)
        except InputError:  # reading the table says what is wrong with it
            return None
        return None

    def columns(self) -> tuple[list[str], list[str], bool]:
        """Names in ``var``, and columns of ``obs``."""
        with open_h5ad(self.source, self.layer) as file:
            return file.columns, file.side, file.names is not None

    def size(self) -> TableSize | None:
        """Of the matrix; None if its rows cannot be read one after the other."""
        try:
            with open_h5ad(self.source, self.layer) as file:
                return TableSize(file.shape[0], file.shape[1], file.n_bytes)
        except NotInRowsError:
            return None


def _read_all(source, layer, transpose, keep_rows):
    """Read the columns of ``obs`` as those of `side`, and their index as `ids`."""
    if transpose:
        raise InputError(
            f"{source.name}: samples are in rows in every h5ad file; omit --transpose"
        )
    with open_h5ad(source, layer, in_rows=keep_rows is not None) as file:
        if keep_rows is not None:
            X, side, ids = _some_rows(file, source.budget, keep_rows)
        else:
            X, every = file.matrix(), None
            side = {name: file.obs(name, every) for name in file.side}
            ids = file.ids(every) if file.has_ids else None
        n_rows, n_columns = X.shape
        if not n_rows or not n_columns:
            raise InputError(f"{source.name}: the matrix is empty, of shape {X.shape}")
        if len(file.columns) != n_columns:
            raise InputError(
                f"{source.name}: {n_columns:,} columns, but {len(file.columns):,} names in "
                f"{file.var}"
            )
        if ids is not None and len(ids) != n_rows:
            raise InputError(f"{source.name}: {n_rows:,} rows, but {len(ids):,} names in obs")
        return RawTable(
            X,
            file.columns,
            side=side,
            ids=ids,
            is_named=file.names is not None,
            repeated=file.repeated,
        )


def _some_rows(file, budget, keep_rows):
    """The matrix, the columns of ``obs`` and the names of some rows."""
    step = max(1, int(_PART_VALUES // max(1, file.shape[1])))
    parts, ids = [], []
    side: dict[str, list] = {name: [] for name in file.side}
    for rows in gen_batches(file.shape[0], step):
        is_kept = keep_rows(rows.start, rows.stop - rows.start, partial(file.obs, rows=rows))
        if not is_kept.any():
            continue
        part = file.rows(rows)[is_kept]
        budget.spend(1.5 * part.data.nbytes if file.is_sparse else part.nbytes)
        parts.append(part)
        for name, values in side.items():
            values.append(file.obs(name, rows)[is_kept])
        ids.append(file.ids(rows)[is_kept] if file.has_ids else None)
    X = sparse.csr_array(sparse.vstack(parts)) if file.is_sparse else np.vstack(parts)
    some = {name: np.concatenate(values) for name, values in side.items()}
    return X, some, np.concatenate(ids) if file.has_ids else None


class NotInRowsError(InputError):
    """Rows of a matrix cannot be read one after the other."""


class open_h5ad(AbstractContextManager):
    """An h5ad file of which rows are read from the disk, or all of it unless `in_rows`."""

    def __init__(self, source: Source, layer: str | None = None, in_rows: bool = True) -> None:
        h5py = load("h5py", "reading h5ad", "tamis[h5ad]")
        self._source, self._read = source, _Reader(source.budget)
        self._file = h5py.File(source.path, "r")
        _refuse_other_files(self._file, source.name)
        self._place, self.var = _place_of(self._file, layer, source.name)
        self._node = self._file[self._place]
        self.is_sparse = not hasattr(self._node, "shape")
        shape = self._attribute("shape") if self.is_sparse else self._node.shape
        self.shape = () if shape is None else tuple(int(n) for n in shape)
        self._encoding = _text(self._attribute("encoding-type") or self._attribute("format") or "")
        is_csr = len(self.shape) == 2 and (not self.is_sparse or self._encoding.startswith("csr"))
        if in_rows and not is_csr:
            self._file.close()
            raise NotInRowsError(
                f"{source.name}: {self._place} is stored as {self._encoding or 'unknown'!r}, of "
                "which rows cannot be read one after the other; save it as csr"
            )
        names = _index(self._file, self.var, self._read)
        self.names: list[str] | None = None
        self.repeated: list[str] = []
        if names is not None:
            self.names, self.repeated = unique_names([str(n) for n in names])

    def _attribute(self, name):
        """An attribute of the matrix, also under the name that old files have."""
        found = self._node.attrs.get(name)
        return self._node.attrs.get(f"h5sparse_{name}") if found is None else found

    def __exit__(self, *error):
        self._file.close()

    @property
    def n_bytes(self) -> int:
        """Bytes that the matrix needs in memory."""
        if not self.is_sparse:
            return 8 * self.shape[0] * self.shape[1]
        return 12 * int(self._node["data"].shape[0]) + 8 * self.shape[0]

    @property
    def columns(self) -> list[str]:
        """Names of the columns; x0, x1, ... if they have none."""
        return self.names or [f"x{j}" for j in range(self.shape[1])]

    @cached_property
    def _obs(self):
        return _Frame(self._file["obs"], self._read) if "obs" in self._file else None

    @cached_property
    def side(self) -> list[str]:
        """Names of the columns of ``obs``."""
        return [] if self._obs is None else self._obs.names_of_length(self.shape[0])

    @property
    def has_ids(self) -> bool:
        """Whether rows have names."""
        return self._obs is not None and self._obs.index is not None

    def obs(self, name: str, rows: slice | None) -> NDArray:
        """Some rows of a column of ``obs``, or all of them within the budget."""
        return self._obs.column(name, rows)

    def ids(self, rows: slice | None) -> NDArray:
        """Names of some rows, or of all."""
        return row_names(self.obs(self._obs.index, rows))

    def labels(self, target: str | None, rows: slice) -> NDArray:
        """Some rows of the column `target` of ``obs``."""
        if target not in self.side:
            raise InputError(
                f"{self._source.name}: name the column of obs with the labels (target); it has "
                f"{listed(self.side) or 'none'}"
            )
        values = self.obs(target, rows)
        is_object = values.dtype == object
        if any(v is None for v in values) if is_object else np.any(values != values):
            raise InputError(f"column {target!r} has missing labels; drop these rows")
        return values.astype(str) if is_object else values

    def matrix(self) -> Matrix:
        """All rows, within the budget."""
        node, source, spend = self._node, self._source.name, self._read.budget.spend
        if not self.is_sparse:
            if len(self.shape) != 2:
                raise InputError(
                    f"{source}: {self._place} must have 2 dimensions, got {node.shape}"
                )
            spend(table_bytes(node.shape, node.dtype), is_all=True)
            return as_floats(self._read(node), f"{source}: {self._place}")
        if not self._encoding.startswith(("csr", "csc")) or not self.shape:
            raise InputError(
                f"{source}: {self._place} is stored as {self._encoding or 'unknown'!r}, which is "
                "not supported"
            )
        spend(16 * self.shape[0] + COLUMN * self.shape[1], is_all=True)
        make = sparse.csr_array if self._encoding.startswith("csr") else sparse.csc_array
        parts = (self._read(node[name]) for name in ("data", "indices", "indptr"))
        matrix = make(tuple(parts), shape=self.shape)
        matrix.check_format(full_check=True)
        return checked_csr(matrix)

    def rows(self, rows: slice) -> Matrix:
        """Some rows, as an array or a CSR array."""
        if not self.is_sparse:
            return as_floats(self._node[rows], self._source.name)
        ends = self._node["indptr"][rows.start : rows.stop + 1]
        part = slice(int(ends[0]), int(ends[-1]))
        parts = self._node["data"][part], self._node["indices"][part], ends - ends[0]
        shape = rows.stop - rows.start, self.shape[1]
        return checked_csr(sparse.csr_array(parts, shape=shape))


def _refuse_other_files(file, source):
    """Raise InputError if a file reads some of its content from other files."""
    import h5py

    def look(name, link):
        node = file.get(name) if isinstance(link, h5py.HardLink) else None
        if not isinstance(link, h5py.HardLink | h5py.SoftLink):
            return f"{name} is a link to another file"
        if isinstance(node, h5py.Dataset) and node.external:
            return f"{name} is stored in another file"
        if isinstance(node, h5py.Dataset) and node.is_virtual:
            return f"{name} is composed of other datasets"
        return None

    problem = file.visititems_links(look)
    if problem is not None:
        raise InputError(
            f"{source}: {problem}, which is not supported; save everything in one file first"
        )


class _Reader:
    """Reads datasets, within a budget of memory."""

    def __init__(self, budget):
        self.budget = budget

    def __call__(self, node, rows=None):
        """Read some rows of a dataset, or all of them unless they would not fit."""
        if rows is not None:
            return node[rows]
        has_words = node.dtype.hasobject
        self.budget.spend(node.size * (WORD if has_words else node.dtype.itemsize), is_all=True)
        return node[()]


def _place_of(file, layer, source):
    """Where the matrix is, and the group with the names of its columns."""
    layers = list(file["layers"]) if "layers" in file else []
    if layer is None:
        place, var = "X", "var"
    elif layer in layers:
        place, var = f"layers/{layer}", "var"
    elif layer == "raw" and "raw" in file:
        place, var = "raw/X", "raw/var"
    else:
        raise InputError(f"{source} has no layer {layer!r}: it has {listed(layers) or 'none'}")
    if place not in file:
        raise InputError(f"{source} has no {place}: use --layer with one of {listed(layers)}")
    return place, var


def _text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _index(file, place, read):
    """The names of the rows of a data frame, or None."""
    frame = _Frame(file[place], read) if place in file else None
    return None if frame is None or frame.index is None else frame.column(frame.index)


class _Frame:
    """A data frame on the disk, as written by old and new versions of anndata."""

    def __init__(self, node, read):
        self._node, self._read = node, read
        if hasattr(node, "dtype"):  # before 0.7: one table of records
            self.lengths = dict.fromkeys(node.dtype.names or (), len(node))
            index = next((name for name in ("index", "_index") if name in self.lengths), None)
        else:
            index = _text(node.attrs.get("_index", "_index"))
            lengths = {_text(name): _length(node[name]) for name in node}
            self.lengths = {name: length for name, length in lengths.items() if length is not None}
        self.index = index if index in self.lengths else None

    def names_of_length(self, n_rows):
        """Columns of so many rows, without the index."""
        return [n for n, length in self.lengths.items() if length == n_rows and n != self.index]

    def column(self, name, rows=None):
        """A column: plain, categorical (codes of categories), or nullable (under a mask)."""
        read = partial(self._read, rows=rows)
        if hasattr(self._node, "dtype"):
            return _decoded(read(self._node)[name])
        node = self._node[name]
        if hasattr(node, "dtype"):
            values, old = read(node), self._node.get("__categories", {})
            if name in old:
                return _of_codes(values, self._read(old[name]))
            return _decoded(values)
        if "codes" in node:
            return _of_codes(read(node["codes"]), self._read(node["categories"]))
        values, mask = _decoded(read(node["values"])), read(node["mask"]).astype(bool)
        if not mask.any():
            return values
        if values.dtype.kind in "iuf":
            return np.where(mask, np.nan, values.astype(np.float64))
        values = values.astype(object)
        values[mask] = None
        return values


def _length(node):
    """Rows of a column; None if it is not one."""
    if hasattr(node, "dtype"):
        return len(node) if len(node.shape) == 1 else None
    for values, other in (("codes", "categories"), ("values", "mask")):
        if values in node and other in node:
            return len(node[values])
    return None


def _of_codes(codes, categories):
    values = _decoded(categories)
    if codes.dtype.kind not in "iu" or (codes.size and codes.max() >= len(values)):
        raise InputError("a categorical column has a code without a category")
    out = np.empty(len(codes), dtype=object)
    out[:] = None
    known = codes >= 0
    out[known] = values.astype(object)[codes[known]]
    if known.all() and values.dtype.kind in "iufb":
        return out.astype(values.dtype)
    if values.dtype.kind in "iuf":
        return np.array([np.nan if value is None else float(value) for value in out])
    return out


def _decoded(values):
    if values.dtype.kind == "S" or values.dtype == object:
        try:
            words = [v.decode("utf-8") if isinstance(v, bytes) else v for v in values]
        except UnicodeDecodeError:
            words = values.tolist()  # an error only if the column gets a role
        return as_objects(words)
    return values
