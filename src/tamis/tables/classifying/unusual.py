"""Rows unlike any in training: numbers outside the range that was seen, and new categories.

A model knows nothing about such rows. `observe` keeps the smallest and the largest training value
of each number of a preparation; `Unusual` counts the rows outside, chunk by chunk, and says so.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from tamis._array import Matrix, is_sparse
from tamis.tables.columns.coded import Coded
from tamis.tables.columns.rare import FEWEST_ROWS, Pool
from tamis.tables.columns.spelling import folded
from tamis.tables.columns.table import Columns
from tamis.tables.errors import listed
from tamis.tables.preparing.preparation import Preparation

_ROWS = 50_000


def observe(preparation: Preparation, encoded: Matrix) -> Preparation:
    """The preparation with the ranges and spreads of its numbers.

    `encoded` (n_rows, n_columns): its training rows, NaN where a value is missing.
    """
    n_numbers = len(preparation.numbers)
    ranges = np.full((n_numbers, 2), np.nan)
    whole, sums, origin = np.ones(n_numbers, dtype=bool), np.zeros((3, n_numbers)), None
    for start in range(0, encoded.shape[0] if n_numbers else 0, _ROWS):
        part = encoded[start : start + _ROWS, :n_numbers]
        if is_sparse(part):
            lows, highs = (f(axis=0).toarray().ravel() for f in (part.nanmin, part.nanmax))
        else:
            lows, highs = np.fmin.reduce(part, axis=0), np.fmax.reduce(part, axis=0)
        ranges[:, 0] = np.fmin(ranges[:, 0], lows)
        ranges[:, 1] = np.fmax(ranges[:, 1], highs)
        # Of the differences from a value of the column, so that a large offset does not cancel.
        origin = np.nan_to_num(ranges[:, 0]) if origin is None else origin
        part_sums, part_whole = _add_up(part, origin)
        sums, whole = sums + part_sums, whole & part_whole
    with np.errstate(invalid="ignore", over="ignore"):
        variances = sums[2] / sums[0] - (sums[1] / sums[0]) ** 2
    return replace(
        preparation,
        ranges=ranges,
        spreads=np.sqrt(np.maximum(variances, 0.0)),
        whole=[
            name for name, is_whole in zip(preparation.numbers, whole, strict=True) if is_whole
        ],
    )


def _add_up(part, origin):
    """Known values, their sum and that of their squares from an origin; which are all whole."""
    n_rows, n_columns = part.shape
    if is_sparse(part):
        stored = part.tocsc()
        column = np.repeat(np.arange(n_columns), np.diff(stored.indptr))
        known = ~np.isnan(stored.data)
        n_known = n_rows - np.bincount(column[~known], minlength=n_columns)
        column, values = column[known], stored.data[known]
        broken = np.bincount(column, values != np.floor(values), n_columns)
        values = values - origin[column]
        # Zeros are not stored.
        n_zeros = n_known - np.bincount(column, minlength=n_columns)
        total = np.bincount(column, values, n_columns) - n_zeros * origin
        squares = np.bincount(column, values**2, n_columns) + n_zeros * origin**2
        return np.stack([n_known, total, squares]), broken == 0
    known = ~np.isnan(part)
    values = np.where(known, part, 0.0)
    whole = (values == np.floor(values)).all(axis=0)
    values = np.where(known, values - origin, 0.0)
    sums = [known.sum(axis=0), values.sum(axis=0), (values**2).sum(axis=0)]
    return np.stack(sums), whole


@dataclass
class Unusual:
    """Counts of the rows unlike any in training."""

    preparation: Preparation
    n_rows: int = 0  # rows that were looked at
    n_unusual: int = 0  # rows with an unusual value
    outside: Counter = field(default_factory=Counter)  # rows outside the range, for each number
    # Rows of each new category, for each categorical column.
    new: dict[str, Counter] = field(default_factory=dict)
    fills: bool = True  # whether the model replaces missing values

    def add(self, table: Columns) -> None:
        """Count the rows of a table with all columns of the preparation."""
        preparation = self.preparation
        unusual = np.zeros(table.n_rows, dtype=bool)
        if len(preparation.ranges):
            place = {name: j for j, name in enumerate(table.numeric_names.tolist())}
            for name, (low, high) in zip(preparation.numbers, preparation.ranges, strict=True):
                column = table.numeric[:, [place[name]]]
                column = (column.toarray() if is_sparse(column) else column).ravel()
                outside = (column < low) | (column > high)
                if outside.any():
                    self.outside[name] += int(np.count_nonzero(outside))
                    unusual |= outside
        for name, others in preparation.others.items():
            column, pool = Coded.of(table.others[name]), preparation.pools.get(name, Pool())
            seen = {*preparation.categories[name], *others, *(pool.rare if pool.is_other else ())}
            codes = [c for c, word in enumerate(column.words) if word not in seen]
            codes = [c for c in codes if column.sizes[c]]
            if codes:
                counts = self.new.setdefault(name, Counter())
                counts.update({column.words[c]: int(column.sizes[c]) for c in codes})
                unusual |= np.isin(column.codes, codes)
        self.n_rows += table.n_rows
        self.n_unusual += int(np.count_nonzero(unusual))

    def messages(self, with_rows: bool = True) -> list[str]:
        """What was found, in sentences; nothing if every row is usual.

        Without rows, nothing points to single ones: neither small counts nor rare categories, nor
        the smallest and the largest training value.
        """
        if self.n_unusual == 0:
            return []

        def tell(n):
            return f"{n:,}" if with_rows or n >= FEWEST_ROWS else f"fewer than {FEWEST_ROWS}"

        rows = f"{tell(self.n_unusual)} of {self.n_rows:,} rows"
        are = "is" if self.n_unusual == 1 and with_rows else "are"
        told = [f"{rows} {are} unlike any row in training, so predictions may be wrong there"]
        if self.outside:
            ranges = dict(zip(self.preparation.numbers, self.preparation.ranges, strict=True))
            columns = [
                f"{name} ({tell(n)}; {self._range(name, *ranges[name])})"
                if with_rows
                else f"{name} ({tell(n)})"
                for name, n in self.outside.most_common()
            ]
            told.append(f"outside the range of the training rows: {listed(columns)}")
        if self.new:
            pools = self.preparation.pools
            are_other = [name for name in self.new if pools.get(name, Pool()).is_open]
            for read_as in ("other", "missing"):
                columns = []
                for name, counts in self.new.items():
                    if (name in are_other) == (read_as == "other"):
                        most = [
                            f"{word!r} ({n:,}{self._hint(name, word)})"
                            for word, n in counts.most_common()
                            if with_rows or n >= FEWEST_ROWS
                        ]
                        if len(most) < len(counts):
                            most.append(f"categories of {tell(1)} rows each")
                        columns.append(f"{name} {listed(most, 3)}")
                if columns:
                    told.append(
                        f"categories with fewer than {FEWEST_ROWS} training rows or none, read as "
                        f"{read_as}: {listed(columns)}"
                    )
            usual = self.preparation.replacements() if self.fills else {}
            columns = [f"{n} by {usual[n]}" for n in self.new if n in usual and n not in are_other]
            if columns:
                told.append(
                    "missing categories are replaced by the most frequent one of training: "
                    f"{listed(columns)}"
                )
        return told

    def _range(self, name, low, high):
        """The training range of a number, in percent if it was written in percent."""
        if name in self.preparation.missing.percents:
            return f"{100 * low:.6g} to {100 * high:.6g} %"
        return f"{low:.6g} to {high:.6g}"

    def _hint(self, name, word):
        """The known category that differs by case, spaces or punctuation only."""
        known = [*self.preparation.categories[name], *self.preparation.others[name]]
        alike = [one for one in known if folded(one) == folded(word)]
        return f"; training had {alike[0]!r}" if alike else ""
