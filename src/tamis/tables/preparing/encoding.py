"""Columns of a table as parts of a matrix."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import Matrix
from tamis.tables.columns.coded import Coded
from tamis.tables.columns.rare import Pool
from tamis.tables.columns.table import Columns


def narrow(X: sparse.csr_array) -> sparse.csr_array:
    """The same CSR array with 32-bit indices if they suffice: some solvers need them."""
    largest = max(X.nnz, *X.shape)
    if X.indices.dtype == np.int32 or largest > np.iinfo(np.int32).max:
        return X
    return sparse.csr_array(
        (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape
    )


def numeric_part(table: Columns, numbers: list[str]) -> Matrix:
    """The columns of some numbers, in their order."""
    names = table.numeric_names.tolist()
    if names == numbers:
        return table.numeric
    position = {name: at for at, name in enumerate(names)}
    return table.numeric[:, [position[name] for name in numbers]]


def dummies(
    values: NDArray, known: Sequence[str], others: Collection[str], pool: Pool | None
) -> NDArray[np.float64]:
    """One column per category; NaN where a value is missing, or is rare or new and not "other"."""
    column, pool = Coded.of(values), pool or Pool()
    position = {category: at for at, category in enumerate(known)}
    zeros = {*others, *pool.rare} if pool.is_other else {*others}
    gone = {*pool.rare}
    # One row per word of the column, and one for a missing value.
    rows = np.zeros((len(column.words) + 1, len(known)))
    for code, word in enumerate(column.words):
        if word in position and word not in gone:
            rows[code, position[word]] = 1.0
        elif word not in zeros and (word in gone or not pool.is_open):
            rows[code] = np.nan
    rows[-1] = np.nan
    return rows[column.codes]
