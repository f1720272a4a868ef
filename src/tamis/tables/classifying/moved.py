"""Columns whose distribution is not that of the training rows.

A model file has the median, the standard deviation and the range of each number. A median that is
half a standard deviation away, and further than chance makes likely with as many rows, is named,
and so are whole numbers where training had others: counts given to a model of logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tamis._array import is_sparse
from tamis.tables.columns.table import Columns
from tamis.tables.errors import listed
from tamis.tables.preparing.preparation import Preparation

_FAR, _VERY_FAR = 0.5, 10
# Standard error of a median of normal values, in standard deviations over the root of the rows;
# and how many of them chance exceeds in 1 % of the columns.
_MEDIAN_ERROR, _CHANCE = np.sqrt(np.pi / 2), ndtri(0.995)
_FEWEST_ROWS = 10
_MOST_ROWS, _MOST_VALUES = 20_000, 40_000_000


@dataclass
class Moved:
    """Values of the numbers of a model in new rows: all of them, or every k-th row."""

    preparation: Preparation
    step: int = 1  # every so many rows are kept
    _n_seen: int = 0
    _kept: list[NDArray] = field(default_factory=list)

    def add(self, table: Columns) -> None:
        """Look at the next rows."""
        names = self.preparation.numbers
        if not self.preparation.spreads.size or not names:
            return
        place = {name: j for j, name in enumerate(table.numeric_names.tolist())}
        first = -self._n_seen % self.step
        self._n_seen += table.n_rows
        values = table.numeric[first :: self.step][:, [place[name] for name in names]]
        values = values.toarray() if is_sparse(values) else np.asarray(values, dtype=np.float64)
        self._kept.append(values)
        most = max(_FEWEST_ROWS, min(_MOST_ROWS, _MOST_VALUES // len(names)))
        while sum(map(len, self._kept)) > 2 * most:
            self._kept = [np.concatenate(self._kept)[::2]]
            self.step *= 2

    def found(self) -> list[dict[str, Any]]:
        """The columns that moved, those that moved most first.

        Returns `found`: "column", "median", "median_in_training", "shift" (in standard deviations
        of training) and "is_counts" (whole numbers beyond the training range, where training had
        others).
        """
        if not self._kept:
            return []
        told, values = [], np.concatenate(self._kept)
        prepared = self.preparation
        for j, name in enumerate(prepared.numbers):
            column, spread = values[:, j], float(prepared.spreads[j])
            column = column[~np.isnan(column)]
            if column.size < _FEWEST_ROWS or not spread > 0:
                continue
            median, usual = float(np.median(column)), float(prepared.fill[j])
            shift = (median - usual) / spread
            chance = _CHANCE * _MEDIAN_ERROR / np.sqrt(column.size)
            is_far = abs(shift) >= _FAR and abs(shift) > chance
            is_counts = self._are_counts(name, column, j)
            if is_far or is_counts:
                told.append(
                    {
                        "column": name,
                        "median": median,
                        "median_in_training": usual,
                        "shift": shift,
                        "is_counts": is_counts,
                    }
                )
        return sorted(told, key=lambda one: -abs(one["shift"]))

    def _are_counts(self, name, column, j):
        low, high = self.preparation.ranges[j] if len(self.preparation.ranges) else (0, np.inf)
        is_whole = (column >= 0).all() and (column == np.floor(column)).all()
        return bool(
            is_whole and name not in self.preparation.whole and low >= 0 and column.max() > high
        )

    def messages(self) -> list[str]:
        """What was found, in sentences; nothing if nothing moved."""
        found = self.found()
        counts = [one["column"] for one in found if one["is_counts"]]
        moved = [
            f"{one['column']} ({one['median']:.4g}, in training {one['median_in_training']:.4g}: "
            f"{_tell_shift(one)})"
            for one in found
            if abs(one["shift"]) >= _FAR
        ]
        told = []
        if moved:
            told.append(f"medians that moved since training: {listed(moved, 6)}")
        if counts:
            are = "are" if len(counts) > 1 else "is"
            told.append(
                f"{listed(counts, 6)} {are} in whole numbers here and larger than in training, "
                "which had other numbers: are these counts, and the model's values logarithms?"
            )
        return told


def _tell_shift(one):
    """How far a median moved; if very far, that its unit may be another one."""
    shift = one["shift"]
    if abs(shift) <= _VERY_FAR:
        return f"{shift:+.1f} standard deviations"
    told = f"more than {_VERY_FAR} standard deviations {'higher' if shift > 0 else 'lower'}"
    median, usual = one["median"], one["median_in_training"]
    if median * usual > 0:
        told += f", {median / usual:.3g} times the value"
    return f"{told}; is it in another unit?"
