"""Columns of sample weights: numbers, read as counts or as relative to each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._base import WeightSummary
from tamis.tables.columns.values import parse_numbers
from tamis.tables.errors import InputError, counted


def summarise_weights(values: Any) -> WeightSummary:
    """How the weights of some rows are to be read; values that are no weights are left out."""
    weights = numbers(values)
    return WeightSummary.of(weights[np.isfinite(weights)])


def numbers(values: Any) -> NDArray[np.float64]:
    """A column of any kind as numbers; NaN where one is none."""
    values = np.asarray(values)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    return parse_numbers([None if v is None else str(v) for v in values.tolist()])[0]


def parse_weights(values: Any, name: str) -> NDArray[np.float64]:
    """Numbers of at least 0 from a column of any kind."""
    values = np.asarray(values)
    weights = numbers(values)
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        value = values[wrong[0]]
        shown = "no value" if value is None or value != value or value == "" else f"{value!s}"
        raise InputError(
            f"weights: row {wrong[0] + 1} has {shown} in {name!r}; expected a number of at least 0"
        )
    return weights


def scale_weights(
    weights: NDArray, name: str, notes: list[str], whole: WeightSummary | None = None
) -> NDArray[np.float64]:
    """Sample weights as they count, with a note that says how they are read.

    `weights` (n_rows,). `whole`: of the table that these rows are a sample of; None: these are all
    rows. Returns `weights` (n_rows,).
    """
    whole = WeightSummary.of(weights) if whole is None else whole
    if not whole.n_rows:
        raise InputError(f"weights: all weights in {name!r} are 0; expected some above 0")
    try:
        whole.require_precise()
    except ValueError as error:
        raise InputError(f"weights: {error}") from error
    notes.append(f"the sample weights in {name!r} are {whole.words()}")
    return weights / whole.unit


def used_rows(weights: NDArray, notes: list[str], *, is_sample: bool = False) -> NDArray[np.intp]:
    """Rows with a weight above 0; a note says how many others there are."""
    used = np.flatnonzero(weights)
    if used.size < weights.size:
        lost = "rows" if is_sample else counted(weights.size - used.size, "row")
        notes.append(f"{lost} of weight 0 ignored")
    return used
