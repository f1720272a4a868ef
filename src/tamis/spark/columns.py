"""Which columns of a Spark DataFrame hold what, and Arrow record batches of them as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import Matrix


def require_frame(data: Any) -> None:
    """Raise unless this is a Spark DataFrame."""
    try:
        from pyspark.sql import DataFrame
    except ImportError as error:
        raise ImportError(
            "tamis.spark needs pyspark, and Java: pip install 'tamis[spark]'."
        ) from error
    if not isinstance(data, DataFrame):
        raise TypeError(
            f"data must be a Spark DataFrame, got {type(data).__module__}.{type(data).__name__}. "
            "Call to_spark() on a frame of pyspark.pandas; for data in memory use "
            "tamis.SparseCenterClassifier."
        )


def position_of(data: Any, name: str, role: str) -> int:
    """Where a column is; it must exist once."""
    places = [place for place, other in enumerate(data.columns) if other == name]
    if len(places) != 1:
        found = f"{len(places)} columns" if places else "no column"
        raise ValueError(
            f"The frame has {found} named {name!r}, which {role} names. Its columns are "
            f"{_some(data.columns)}."
        )
    return places[0]


def _some(names):
    shown = ", ".join(map(repr, names[:10]))
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"


@dataclass(frozen=True)
class Features:
    """The columns of a frame that hold the features."""

    kind: str  # one column per feature, or one column of arrays or ML vectors
    columns: tuple[str, ...]
    positions: tuple[int, ...]  # places of these columns in the frame
    dtype: str  # of the matrix
    names: tuple[str, ...] | None  # feature names

    def read(self, arrays: Sequence[Any]) -> Matrix:
        """The matrix of a record batch, from the Arrow arrays of these columns.

        Sparse if it has sparse vectors.
        """
        for name, array in zip(self.columns, arrays, strict=True):
            _require_complete(name, array)
        if self.kind == "columns":
            X = np.empty((len(arrays[0]), len(arrays)), self.dtype)
            for place, array in enumerate(arrays):
                X[:, place] = array.to_numpy(zero_copy_only=False)
            return X
        if self.kind == "array":
            return _read_arrays(self.columns[0], arrays[0], self.dtype)
        return _read_vectors(self.columns[0], arrays[0])


def find_features(data: Any, features: str | Sequence[str]) -> Features:
    """Find the features in a Spark DataFrame."""
    from pyspark.sql import types

    if isinstance(features, str):
        position = position_of(data, features, "features")
        field = data.schema.fields[position]
        if isinstance(field.dataType, types.UserDefinedType):
            if type(field.dataType).__name__ == "VectorUDT":
                names = _names_in(field.metadata)
                return Features("vector", (features,), (position,), "float64", names)
        elif isinstance(field.dataType, types.ArrayType):
            dtype = _dtype_of(field.dataType.elementType)
            if dtype is not None:
                return Features("array", (features,), (position,), dtype, None)
        raise ValueError(
            f"Column {features!r} has the type {field.dataType.simpleString()}, but features "
            "must be a column of vectors or of arrays of numbers, or a list of columns of numbers."
        )
    columns = tuple(features)
    if not columns:
        raise ValueError("features is empty: name at least one column.")
    # One look at all names: frames can have thousands of columns.
    place = {name: i for i, name in enumerate(data.columns)}
    positions = tuple(
        place[name] if name in place else position_of(data, name, "features") for name in columns
    )
    dtypes = []
    for name, position in zip(columns, positions, strict=True):
        dtype = _dtype_of(data.schema.fields[position].dataType)
        if dtype is None:
            raise ValueError(
                f"Column {name!r} has the type "
                f"{data.schema.fields[position].dataType.simpleString()}, but features must be "
                f"numbers. Cast it to double, or leave it out."
            )
        dtypes.append(dtype)
    return Features("columns", columns, positions, str(np.result_type(*dtypes)), columns)


def _dtype_of(spark_type):
    """float32 or float64; None for a type that is no number or needs a cast."""
    from pyspark.sql import types

    if isinstance(spark_type, types.FloatType):
        return "float32"
    is_number = isinstance(spark_type, types.NumericType | types.BooleanType)
    return "float64" if is_number and not isinstance(spark_type, types.DecimalType) else None


def _names_in(metadata):
    """Feature names that VectorAssembler has left in the metadata of a column of vectors."""
    described = (metadata or {}).get("ml_attr", {})
    attributes = [a for kind in described.get("attrs", {}).values() for a in kind]
    names = {a["idx"]: a["name"] for a in attributes if "name" in a}
    n_names = described.get("num_attrs", len(names))
    if not names or sorted(names) != list(range(n_names)):
        return None
    return tuple(names[i] for i in range(n_names))


def read_column(name: str, array: Any) -> NDArray:
    """Labels or weights of a record batch, from their Arrow array."""
    _require_complete(name, array)
    values = array.to_numpy(zero_copy_only=False)
    return values.astype(str) if values.dtype == object else values


def _require_complete(name, array):
    if array.null_count:
        raise ValueError(
            f"Column {name!r} has {array.null_count} missing values (null) here. Drop these rows "
            f"with dropna(subset=[{name!r}]), or impute them."
        )


def _read_arrays(name, array, dtype):
    """Rows of arrays of equal length, as a dense matrix."""
    values = array.flatten()
    _require_complete(name, values)
    lengths = array.value_lengths().to_numpy(zero_copy_only=False)
    width = _only_one(name, lengths)
    return values.to_numpy(zero_copy_only=False).astype(dtype, copy=False).reshape(-1, width)


def _read_vectors(name, array):
    """Rows of ML vectors, as a CSR matrix; dense if all of them are dense.

    Spark stores a vector as (type, size, indices, values); a dense one (type 1) has values only.
    """
    kind, size, indices, values = (array.field(place) for place in range(4))
    is_dense = kind.to_numpy(zero_copy_only=False) == 1
    stored = values.value_lengths().to_numpy(zero_copy_only=False)
    sizes = size.fill_null(0).to_numpy(zero_copy_only=False)
    width = _only_one(name, np.where(is_dense, stored, sizes))
    data = values.flatten().to_numpy(zero_copy_only=False)
    if is_dense.all():
        return data.reshape(-1, width)
    of_dense = np.repeat(is_dense, stored)
    column = np.empty(data.size, np.int32)
    column[~of_dense] = indices.flatten().to_numpy(zero_copy_only=False)
    column[of_dense] = np.tile(np.arange(width, dtype=np.int32), np.count_nonzero(is_dense))
    starts = np.concatenate(([0], np.cumsum(stored, dtype=np.int64)))
    return sparse.csr_array((data, column, starts), shape=(len(array), width))


def _only_one(name, lengths):
    if lengths.min() != lengths.max():
        raise ValueError(
            f"Column {name!r} has rows of {lengths.min()} and of {lengths.max()} numbers; all "
            "must have the same number of features."
        )
    return int(lengths[0])
