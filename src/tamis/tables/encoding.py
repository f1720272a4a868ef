"""Columns of a table as parts of a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import Matrix
from tamis.tables.coded import Coded
from tamis.tables.table import Columns

__all__ = ["dummies", "narrow", "numeric_part"]


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


def dummies(values: NDArray, known: list[str]) -> NDArray[np.float64]:
    """One column per category, NaN where a value is missing."""
    column = Coded.of(values)
    position = {category: at for at, category in enumerate(known)}
    # One row per word of the column, and one for a missing value.
    rows = np.zeros((len(column.words) + 1, len(known)))
    for code, word in enumerate(column.words):
        if word in position:
            rows[code, position[word]] = 1.0
    rows[-1] = np.nan
    return rows[column.codes]
