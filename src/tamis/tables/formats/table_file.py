"""A table as arrays that can be saved to a file and read again without loss."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis.tables.columns.coded import Coded
from tamis.tables.columns.missing import MissingWords
from tamis.tables.columns.table import Columns, Table

_OF_ROWS = ("y", "ids", "groups", "batches", "weights", "times", "places")


def as_text(value: Any) -> NDArray[np.uint8]:
    """Plain values as an array of bytes."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def from_text(array: NDArray) -> Any:
    """The plain values of `as_text`."""
    return json.loads(array.tobytes())


def write_arrays(table: Table) -> dict[str, NDArray]:
    """A table as arrays without objects."""
    columns = table.columns
    arrays: dict[str, NDArray] = {}
    if columns.is_sparse:
        for name in ("data", "indices", "indptr"):
            arrays[f"numeric_{name}"] = getattr(columns.numeric, name)
    else:
        arrays["numeric"] = np.asarray(columns.numeric)
    for at, values in enumerate(columns.others.values()):
        _write(arrays, f"other{at}", values)
    for at, values in enumerate(table.subgroups.values()):
        _write(arrays, f"subgroup{at}", values)
    for at, values in enumerate(table.limits.values()):
        _write(arrays, f"limit{at}", values)
    for name in _OF_ROWS:
        if getattr(table, name) is not None:
            _write(arrays, name, getattr(table, name))
    arrays["about"] = as_text(
        {
            "shape": columns.numeric.shape,
            "numeric_names": columns.numeric_names.tolist(),
            "others": list(columns.others),
            "kinds": table.kinds,
            "target": table.target,
            "notes": table.notes,
            "missing": asdict(table.missing),
            "subgroups": list(table.subgroups),
            "limits": list(table.limits),
        }
    )
    return arrays


def _write(arrays, name, values):
    if values.dtype != object:
        arrays[name] = values
        return
    coded = Coded.of(values)
    arrays[f"{name}_codes"], arrays[f"{name}_words"] = coded.codes, as_text(coded.words)


def _read(arrays, name):
    if f"{name}_codes" in arrays:
        words = from_text(arrays[f"{name}_words"])
        return np.asarray(Coded(arrays[f"{name}_codes"], words))
    return arrays.get(name)


def read_arrays(arrays: dict[str, NDArray]) -> Table:
    """The table of `write_arrays`."""
    about = from_text(arrays["about"])
    if "numeric" in arrays:
        numeric = arrays["numeric"]
    else:
        parts = tuple(arrays[f"numeric_{name}"] for name in ("data", "indices", "indptr"))
        numeric = sparse.csr_array(parts, shape=tuple(about["shape"]))
    others = {name: _read(arrays, f"other{at}") for at, name in enumerate(about["others"])}
    return Table(
        Columns(numeric, np.array(about["numeric_names"], dtype=str), others),
        about["kinds"],
        target=about["target"],
        notes=about["notes"],
        missing=MissingWords(**about["missing"]),
        subgroups={n: _read(arrays, f"subgroup{at}") for at, n in enumerate(about["subgroups"])},
        limits={n: _read(arrays, f"limit{at}") for at, n in enumerate(about["limits"])},
        **{name: _read(arrays, name) for name in _OF_ROWS},
    )
