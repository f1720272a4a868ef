"""Fitted sparse centers as plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.tables.formats.table_file import as_text, from_text

__all__ = ["read_fitted", "write_fitted"]

_PLAIN = ("_n_rows", "_metric", "temperature_", "n_features_in_")


def write_fitted(estimator: Any) -> dict[str, NDArray]:
    """The fitted arrays of sparse centers, for a file."""
    arrays, plain = {}, {}
    for name, value in vars(estimator).items():
        if isinstance(value, np.ndarray) and value.dtype != object:
            arrays[name] = value
        elif name in _PLAIN:
            plain[name] = value
    if estimator._units is not None:
        for name, value in estimator._units.items():
            arrays[f"units:{name}"] = np.asarray(value)
    return {**arrays, "plain": as_text(plain)}


def read_fitted(estimator: Any, arrays: dict[str, NDArray]) -> Any:
    """The estimator of `write_fitted`."""
    arrays = dict(arrays)
    for name, value in from_text(arrays.pop("plain")).items():
        setattr(estimator, name, value)
    units = {n[6:]: arrays.pop(n) for n in list(arrays) if n.startswith("units:")}
    estimator._units, estimator._whitening = None, None
    if units:
        estimator._units = {**units, "reference": float(units["reference"])}
    for name, value in arrays.items():
        setattr(estimator, name, value)
    estimator._set_groups()
    return estimator
