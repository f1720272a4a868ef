"""Tables: columns with names, before anything is learned from them.

A wide table of numbers is one matrix, so 20,000 genes cost no more than their values; only columns
that are not numbers are held one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import Matrix, is_sparse
from tamis.tables.columns.missing import MissingWords


@dataclass(frozen=True)
class Columns:
    """Columns with names: one matrix of numbers, and words column by column.

    Attributes
    ----------
    numeric : ndarray or CSR array of shape (n_rows, n_numeric)
        The columns that are numbers; NaN where a value is missing. May be memory-mapped.
    numeric_names : ndarray of str of shape (n_numeric,)
        Their names.
    others : dict of str to ndarray of object of shape (n_rows,)
        The other columns: a str, or None where a value is missing.
    n_rows : int
    names : list of str
        Names of all columns, the numeric ones first.
    is_sparse : bool
        Whether only the non-zero numbers are stored.
    """

    numeric: Matrix
    numeric_names: np.ndarray
    others: dict[str, NDArray] = field(default_factory=dict)
    n_rows: int = field(init=False)
    names: list[str] = field(init=False)
    is_sparse: bool = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "n_rows", self.numeric.shape[0])
        object.__setattr__(self, "names", [*self.numeric_names.tolist(), *self.others])
        object.__setattr__(self, "is_sparse", is_sparse(self.numeric))

    def take(self, rows: NDArray | slice) -> Columns:
        """The table of some rows."""
        others = {name: values[rows] for name, values in self.others.items()}
        return Columns(self.numeric[rows], self.numeric_names, others)

    def select(self, names: Iterable[str]) -> Columns:
        """The table of some columns, in the order of this table."""
        wanted = set(names)
        columns = [j for j, name in enumerate(self.numeric_names.tolist()) if name in wanted]
        numeric = self.numeric
        if len(columns) < self.numeric_names.size:
            numeric = numeric[:, columns]
        others = {name: values for name, values in self.others.items() if name in wanted}
        return Columns(numeric, self.numeric_names[columns], others)

    def drop(self, names: Iterable[str]) -> Columns:
        """The table without some columns."""
        left_out = set(names)
        return self.select([name for name in self.names if name not in left_out])


@dataclass
class Table:
    """A table of features, and what is known about its rows.

    Attributes
    ----------
    columns : Columns
        Features only.
    kinds : dict of str to {"categorical", "text"}
        Kinds of the columns in `columns.others`; all other columns are numbers.
    y : ndarray of shape (n_rows,) or None
        Labels: strings, integers or booleans.
    target : str or None
        Name of the labels.
    ids, groups, batches : ndarray of shape (n_rows,) or None
        Names of the rows; sample groups (patients); batches (laboratories).
    weights : ndarray of shape (n_rows,) or None
        Sample weights.
    notes : list of str
        Messages about what was detected, dropped or repaired.
    missing : MissingWords
        Which words were read as missing values.
    times : ndarray of float64 or datetime64 of shape (n_rows,) or None
        When each row was measured.
    subgroups : dict of str to ndarray of object of shape (n_rows,)
        Columns of which every value has its own score: words, None where one is missing.
    limits : dict of str to ndarray of object of shape (n_rows,)
        Columns of numbers with values beyond a detection limit: these as written ("<0.1"), None
        for all other rows.
    places : ndarray of int of shape (n_rows,) or None
        Numbers of the rows in the file, from 1; None: all rows in order.
    """

    columns: Columns
    kinds: dict[str, str]
    y: np.ndarray | None = None
    target: str | None = None
    ids: np.ndarray | None = None
    groups: np.ndarray | None = None
    batches: np.ndarray | None = None
    weights: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    missing: MissingWords = field(default_factory=MissingWords)
    times: np.ndarray | None = None
    subgroups: dict[str, NDArray] = field(default_factory=dict)
    limits: dict[str, NDArray] = field(default_factory=dict)
    places: NDArray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.columns.n_rows

    @property
    def frame(self) -> Any:
        """The features as a data frame: of pandas, or else of polars or pyarrow.

        Columns keep their names; a missing number is NaN, any other missing value None. Sparse
        numbers become a pandas frame of sparse columns.
        """
        return _as_frame(self.columns)

    @property
    def row_numbers(self) -> NDArray[np.int64]:
        """Numbers of the rows in the file, from 1."""
        return np.arange(1, self.n_rows + 1) if self.places is None else self.places

    def take(self, rows: NDArray | slice) -> Table:
        """The table of some rows."""

        def some(values):
            return None if values is None else values[rows]

        return replace(
            self,
            columns=self.columns.take(rows),
            y=some(self.y),
            ids=some(self.ids),
            groups=some(self.groups),
            batches=some(self.batches),
            weights=some(self.weights),
            times=some(self.times),
            subgroups={name: values[rows] for name, values in self.subgroups.items()},
            limits={name: values[rows] for name, values in self.limits.items()},
            places=self.row_numbers[rows],
        )


def _as_frame(columns):
    """Columns as a frame of pandas, or else of polars or pyarrow."""
    names = columns.numeric_names.tolist()
    numeric = columns.numeric
    try:
        import pandas as pd
    except ImportError:
        pass
    else:
        if is_sparse(numeric):
            frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(numeric), columns=names)
        else:
            frame = pd.DataFrame(numeric, columns=names)
        others = pd.DataFrame(columns.others, index=frame.index)
        return pd.concat([frame, others], axis=1) if columns.others else frame
    if is_sparse(numeric):
        raise ImportError("a frame of sparse columns needs pandas: pip install pandas")
    data = {name: numeric[:, j] for j, name in enumerate(names)} | columns.others
    try:
        import polars as pl
    except ImportError:
        pass
    else:
        return pl.DataFrame({name: values.tolist() for name, values in data.items()})
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError(
            "Table.frame needs pandas, polars or pyarrow: pip install pandas"
        ) from error
    return pa.table({name: values.tolist() for name, values in data.items()})
