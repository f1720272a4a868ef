"""Columns that a model wants, read as they were in training."""

import numpy as np
from scipy import sparse

from tamis.tables.errors import InputError, listed, nearest
from tamis.tables.integers import TOO_LARGE, is_large_integer
from tamis.tables.raw import refuse_repeated
from tamis.tables.table import Columns
from tamis.tables.tokens import parse_numbers, strings, without

__all__ = ["Wanted", "as_objects"]


class Wanted:
    """Columns that are wanted, and how they are read."""

    def __init__(self, columns, kinds, extra, source, missing, lacking=None):
        self.numbers = [name for name in columns if name not in kinds]
        self.words = [name for name in columns if name in kinds]
        self.kinds = kinds
        self.extra = extra
        self.source = source
        self.missing = missing
        self.lacking = lacking
        self.odd = {}
        self.repeated = []

    @property
    def columns(self):
        """Names of the columns, numbers first."""
        return [*self.numbers, *self.words]

    @property
    def needed(self):
        """The columns, and what is handed over beside them."""
        return [*self.columns, *self.extra]

    @property
    def needed_words(self):
        """Columns that are words even where they look like numbers."""
        texts = [name for name in self.words if self.kinds[name] == "text"]
        return [*texts, *self.extra]

    def extra_in(self, names):
        """Those of the extra columns that are there."""
        return [name for name in self.extra if name in names]

    def check(self, present, repeated=()):
        """Refuse a file that lacks a column, or do without it where that is allowed."""
        for name in self.extra:
            refuse_repeated(name, repeated, "labels or names of rows")
        needed = {*self.columns, *(name.rpartition(".")[0] for name in self.columns)}
        self.repeated = [name for name in repeated if name in needed]
        known = set(present)
        absent = [name for name in self.columns if name not in known]
        if not absent:
            return
        if self.lacking is not None and len(absent) < len(self.columns):
            self.lacking.extend(absent)
            self.numbers = [name for name in self.numbers if name in known]
            self.words = [name for name in self.words if name in known]
            return
        near = [f"{name} ({', '.join(found)})" for name in absent[:3]
                if (found := nearest(name, present, most=2))]  # fmt: skip
        advice = f"; nearest there: {listed(near)}" if near else f"; it has {listed(present)}"
        raise InputError(
            f"{self.source} lacks {len(absent)} of the {len(self.columns)} columns needed:"
            f" {listed(absent, 10)}{advice}"
        )

    def with_lacking(self, table):
        """The table, and columns without any value for those that the file lacks."""
        if not self.lacking:
            return table
        names = [name for name in self.lacking if name not in self.kinds]
        nothing = np.full((table.n_rows, len(names)), np.nan)
        if table.is_sparse:
            numeric = sparse.hstack([table.numeric, sparse.csr_array(nothing)], format="csr")
        else:
            numeric = np.hstack([table.numeric, nothing])
        words = [name for name in self.lacking if name in self.kinds]
        others = {name: np.full(table.n_rows, None, dtype=object) for name in words}
        numeric_names = np.array([*table.numeric_names.tolist(), *names], dtype=str)
        return Columns(numeric, numeric_names, {**table.others, **others})

    def words_of(self, name, values):
        """A column of words as it was in training."""
        if self.kinds[name] == "text" and values.dtype == object:
            values = [None if v is None else str(v).strip() or None for v in values.tolist()]
            return without(as_objects(values), self.missing.spellings)
        return without(strings(values), self.missing.of(name))

    def numbers_of(self, name, values, decimal="."):
        """A column of numbers; words in it are missing, and counted."""
        if values.dtype.kind in "biuf":
            values = np.asarray(values, dtype=np.float64)
        elif values.dtype == object and all(not isinstance(v, str) for v in values):
            values = np.array([np.nan if v is None else float(v) for v in values])
        else:
            words = [None if v is None else str(v).strip() for v in values.tolist()]
            words = without(as_objects(words), self.missing.spellings).tolist()
            self.refuse_large(name, any(map(is_large_integer, words)))
            values, odd = parse_numbers(words, decimal)
            self.count_odd(name, len(odd))
        return self.refuse_infinite(name, values)

    def count_odd(self, name, n_odd):
        """Count words among the numbers of a column."""
        if n_odd:
            self.odd[name] = self.odd.get(name, 0) + n_odd

    def refuse_large(self, name, is_large):
        """Raise for integers that are not exact as floats."""
        if is_large:
            raise InputError(f"{self.source}: column {name} {TOO_LARGE}")

    def refuse_infinite(self, name, values):
        """Raise for infinite numbers."""
        if np.isinf(values).any():
            raise InputError(f"{self.source}: column {name} holds an infinite number")
        return values

    def from_columns(self, columns, decimal="."):
        """Table of a dictionary of columns."""
        n_rows = len(next(iter(columns.values())))
        numeric = np.empty((n_rows, len(self.numbers)))
        for j, name in enumerate(self.numbers):
            numeric[:, j] = self.numbers_of(name, columns[name], decimal)
        others = {name: self.words_of(name, columns[name]) for name in self.words}
        return Columns(numeric, np.array(self.numbers, dtype=str), others)


def as_objects(values):
    """A list as an array of objects."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
