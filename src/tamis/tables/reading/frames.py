"""Data in memory: frames of any library, arrays, sparse matrices and AnnData, as columns.

Frames are read through narwhals, so pandas, polars and pyarrow need no separate code. Numbers and
booleans become one matrix, NaN where a value is missing; strings, categories and dates become
words, None where a value is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_array

from tamis._array import is_sparse
from tamis._base import LARGEST_INTEGER, decode_labels, refuse_collections, require_unmasked
from tamis.tables.columns.missing import MissingWords
from tamis.tables.columns.raw import RawTable, unique_names
from tamis.tables.columns.roles import Wishes, assign_roles
from tamis.tables.columns.sample_weights import parse_weights, scale_weights, used_rows
from tamis.tables.columns.table import Columns, Table
from tamis.tables.columns.times import read_times
from tamis.tables.columns.values import strings
from tamis.tables.columns.wanted import Wanted
from tamis.tables.errors import InputError, listed

# What can be done with a table on a cluster.
_ELSEWHERE = (
    ", write the rows to a parquet file (`tamis fit` and `tamis predict` read some rows at a time)"
)


def is_frame(X: Any) -> bool:
    """Whether X is a data frame that narwhals can read, or an AnnData object.

    Data on a cluster raise an error.
    """
    refuse_collections(X, also=_ELSEWHERE)
    return _is_anndata(X) or (hasattr(X, "columns") and hasattr(X, "shape")) or _is_arrow(X)


def _is_arrow(X):
    return hasattr(X, "column_names") and hasattr(X, "num_rows")


def _is_anndata(X):
    return all(hasattr(X, name) for name in ("X", "obs", "var_names", "obs_names"))


def as_raw(X: Any) -> RawTable:
    """All columns of data in memory, before any of them has a role."""
    if _is_anndata(X):
        return _from_anndata(X)
    if is_frame(X):
        return _from_frame(X)
    X = require_unmasked(X, "X")
    if not is_sparse(X):
        array = np.asarray(X)
        if array.dtype.kind in "OSU" and array.ndim == 2:
            return _from_objects(array)
    X = check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
    )
    names = [f"x{j}" for j in range(X.shape[1])]
    return RawTable(sparse.csr_array(X) if is_sparse(X) else X, names, is_named=False)


def _from_objects(array):
    """An array of objects: columns of numbers, and columns of words."""
    names = [f"x{j}" for j in range(array.shape[1])]
    raw = _from_columns({name: array[:, j] for j, name in enumerate(names)})
    raw.is_named = False
    return raw


def _from_anndata(X):
    names, repeated = unique_names([str(name) for name in X.var_names])
    obs = _from_frame(X.obs)
    matrix = X.X
    if matrix is None:
        raise InputError(
            "the AnnData object has no X: choose a layer, such as adata.layers['counts']"
        )
    if is_sparse(matrix):
        matrix = sparse.csr_array(matrix, dtype=np.float64)
    else:
        matrix = np.asarray(matrix, dtype=np.float64)
    side = {**obs.others, **obs.booleans}
    numbers = {name: obs.numeric[:, j] for j, name in enumerate(obs.numeric_names)}
    side |= {name: values for name, values in numbers.items() if name not in side}
    ids = np.array([str(name) for name in X.obs_names], dtype=object)
    return RawTable(matrix, names, side=side, ids=ids, repeated=repeated)


def _from_frame(X):
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    names, repeated = unique_names([str(name) for name in frame.columns])
    if repeated:
        raise InputError(
            f"several columns have the same name ({listed(map(repr, repeated))}); rename them"
        )
    columns, categorical, dropped = {}, [], []
    for name, column in zip(names, frame.iter_columns(), strict=True):
        values = _values(column, nw)
        if values is None:
            dropped.append(name)
            continue
        columns[name] = values
        if column.dtype in (nw.Categorical, nw.Enum):
            categorical.append(name)
    raw = _from_columns(columns)
    raw.order, raw.categorical = list(columns), [n for n in categorical if n in raw.others]
    if dropped:
        raw.notes.append(f"dropped {listed(dropped)}: neither numbers nor words")
    return raw


def _values(column, nw):
    """Values of a column of a frame: floats, booleans, or objects; None for other types."""
    dtype = column.dtype
    if dtype == nw.Boolean and not column.null_count():
        return np.asarray(column.to_numpy(), dtype=bool)
    if dtype.is_integer() and column.len():
        ends = [end for end in (column.min(), column.max()) if end is not None]
        if any(abs(int(end)) > LARGEST_INTEGER for end in ends):
            return np.array(
                [None if v is None else str(int(v)) for v in map(_plain, column.to_list())],
                dtype=object,
            )
    if dtype.is_numeric() or dtype == nw.Boolean:
        if not column.null_count():
            return np.asarray(column.to_numpy(), dtype=np.float64)
        values = map(_plain, column.to_list())
        return np.array([np.nan if v is None else v for v in values], dtype=np.float64)
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Date, nw.Datetime, nw.Time):
        out = np.empty(column.len(), dtype=object)
        out[:] = column.to_list()
        return out
    has_no_value = column.null_count() == column.len()
    return np.full(column.len(), np.nan) if has_no_value else None


def _from_columns(columns):
    """Make a raw table from arrays."""
    numbers, words, booleans = {}, {}, {}
    for name, values in columns.items():
        if values.dtype.kind == "b":
            booleans[name] = values
        if values.dtype.kind in "biuf":
            numbers[name] = values
            continue
        plain = [_plain(value) for value in values.tolist()]
        if all(value is None or isinstance(value, (bool, int, float)) for value in plain):
            large = any(isinstance(v, int) and abs(v) > LARGEST_INTEGER for v in plain)
            if not large:
                numbers[name] = np.array(
                    [np.nan if v is None else v for v in plain], dtype=np.float64
                )
                continue
        out = np.empty(len(plain), dtype=object)
        out[:] = [None if v is None else str(v).strip() or None for v in plain]
        words[name] = out
    n_rows = len(next(iter(columns.values()))) if columns else 0
    numeric = np.column_stack(list(numbers.values())) if numbers else np.zeros((n_rows, 0))
    return RawTable(numeric.astype(np.float64), list(numbers), words, booleans=booleans)


def _plain(value):
    """A plain Python value; None for NaN, NaT and pandas.NA."""
    if value is None:
        return None
    value = value.item() if isinstance(value, np.generic) else value
    try:
        is_missing = bool(value != value)
    except TypeError:  # pandas.NA is neither equal nor different
        return None
    return None if is_missing else value


def read_columns(
    X: Any,
    columns: Sequence[str],
    kinds: Mapping[str, str],
    missing: MissingWords,
    lacking: list[str] | None = None,
    shares: Sequence[str] = (),
) -> Columns:
    """Read the columns of X that a model needs, as in training.

    `columns`: names; x0, x1, ... for arrays. `kinds`: which of them are words. `lacking`: receives
    the names of columns that X lacks; None: they raise an error. `shares`: columns of percents
    from 0 to 100 in training: in them, 95 without a sign is 95 %.
    """
    raw = as_raw(X)
    wanted = Wanted(list(columns), dict(kinds), [], "X", missing, lacking, shares)
    wanted.check([*raw.numeric_names, *raw.others, *raw.side], raw.repeated)
    place = {name: j for j, name in enumerate(raw.numeric_names)}
    if all(name in place for name in wanted.numbers) and not wanted.shares:
        numeric = raw.numeric
        if wanted.numbers != raw.numeric_names:
            numeric = numeric[:, [place[name] for name in wanted.numbers]]
        values = numeric.data if is_sparse(numeric) else numeric
        if np.isinf(values).any():
            raise InputError("X contains infinity: every number must be finite")
        others = {name: wanted.words_of(name, _column(raw, name, place)) for name in wanted.words}
        table = Columns(numeric, np.array(wanted.numbers, dtype=str), others)
    else:
        table = wanted.from_columns({n: _column(raw, n, place) for n in wanted.columns})
    return wanted.with_lacking(table)


def _column(raw, name, place):
    for known in (raw.others, raw.side):
        if name in known:
            return np.asarray(known[name])
    column = raw.numeric[:, [place[name]]]
    return (column.toarray() if is_sparse(column) else column).ravel()


def as_table(
    X: Any,
    y: ArrayLike | str | None = None,
    *,
    groups: ArrayLike | str | None = None,
    batches: ArrayLike | str | None = None,
    weights: ArrayLike | str | None = None,
    time: ArrayLike | str | None = None,
    subgroups: Mapping[str, ArrayLike] | Sequence[str] | str = (),
    **wishes: Any,
) -> tuple[Table, Any]:
    """Make a table from data in memory, and find the library of its frame.

    `y`, `groups`, `batches`, `weights`, `time` (n_rows,), str or None: values, or the name of a
    column. `subgroups` (n_rows,), or sequence of str.
    """
    roles = {"target": y, "groups": groups, "batch": batches, "weights": weights, "time": time}
    if isinstance(X, Table):
        return _with_roles(X, roles, subgroups, wishes), None
    if y is None:
        raise InputError("y is missing: give the labels, or the name of their column")
    raw = as_raw(X)
    names: dict[str, Any] = {}
    for role, value in roles.items():
        if value is None or isinstance(value, str):
            names[role] = value
            continue
        # Given values become an additional column, under a name that no feature has.
        name = _PARAMETERS.get(role, role)
        while name in raw.names:
            name += "_"
        raw.side[name] = _check_rows(value, raw.n_rows, role)
        names[role] = name
    if isinstance(subgroups, Mapping):
        taken = [name for name in subgroups if name in raw.names]
        if taken:
            raise InputError(f"subgroups: {taken[0]!r} is a column of X; rename the values")
        for name, values in subgroups.items():
            raw.side[str(name)] = _check_rows(values, raw.n_rows, "subgroups")
        subgroups = [str(name) for name in subgroups]
    include = list(wishes.pop("include", ()))
    if not is_frame(X):
        include += [name for name in raw.numeric_names if name not in set(wishes["drop"])]
    wishes = Wishes(**names, **wishes, subgroups=subgroups, include=include, missing_values=())
    return assign_roles(raw, wishes), _backend_of(X)


_PARAMETERS = {"target": "y", "groups": "groups", "batch": "batches", "weights": "sample_weight"}


def _check_rows(values, n_rows, role):
    values = np.asarray(decode_labels(values) if role == "target" else values)
    if values.shape != (n_rows,):
        raise InputError(
            f"{_PARAMETERS.get(role, role)} must have one value for each of the {n_rows} rows, "
            f"got shape {values.shape}"
        )
    return values


def _with_roles(table, roles, subgroups, wishes):
    """A table that was read, with given values in place of its own."""
    unused = [name for name, value in wishes.items() if value and value not in ("impute", "half")]
    if unused:
        raise InputError(
            f"{unused[0]} belongs to read_table: a Table has its columns chosen already"
        )
    fields = {"target": "y", "batch": "batches", "time": "times"}
    given = {
        fields.get(role, role): _check_rows(value, table.n_rows, role)
        for role, value in roles.items()
        if value is not None
    }
    notes = list(table.notes)
    if "weights" in given:
        weights = parse_weights(given["weights"], "sample_weight")
        given["weights"] = weights = scale_weights(weights, "sample_weight", notes)
    if "times" in given:
        given["times"] = read_times(given["times"], "time")
    if subgroups and not isinstance(subgroups, Mapping):
        raise InputError("subgroups of a Table: name them in read_table, or give their values")
    if subgroups:
        given["subgroups"] = {
            str(name): np.asarray(strings(_check_rows(values, table.n_rows, "subgroups")))
            for name, values in subgroups.items()
        }
    table = replace(table, notes=notes, **given)
    if table.y is None:
        raise InputError("the table has no labels: give y, or name the target in read_table")
    if "weights" in given:
        used = used_rows(weights, notes)
        table = table if used.size == table.n_rows else table.take(used)
    return table


def _backend_of(X):
    if _is_anndata(X) or not is_frame(X):
        return None
    import narwhals as nw

    return nw.get_native_namespace(X)
