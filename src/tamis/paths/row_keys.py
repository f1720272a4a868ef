r"""Numbers of rows that depend on what the rows hold, and on nothing else.

Neither the order of the rows nor that of the columns matters, nor how often a row is repeated, nor
the unit of a column, nor whether zeros are stored. Let :math:`m_{ij}` be a random number for the
dense rank of :math:`x_{ij}` in its column, which no increasing function changes. Modulo 2^64,

.. math:: s_i = \sum_j m_{ij}, \qquad a_j = h\Bigl(\sum_i h(s_i)\, m_{ij}\Bigr), \qquad
   k_i = h\Bigl(\sum_j a_j m_{ij}\Bigr),

with a hash h and the second sum over distinct rows: :math:`s_i` knows no columns,
:math:`a_j` tells columns apart by what they hold, and :math:`k_i` is the key of the row.

Sums over a sparse row are a constant, that of a row of zeros, and a sum over stored values.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import Matrix, is_sparse
from tamis.paths.hashing import mix

__all__ = ["row_keys"]

# Values that are ranked at once.
_BLOCK_VALUES = 1_000_000


def row_keys(X: Matrix) -> NDArray[np.uint64]:
    """One number per row; equal rows have the same.

    `X` (n_rows, n_columns). Returns `keys` (n_rows,).
    """
    ranked = _SparseRanks(X) if is_sparse(X) else _DenseRanks(X)
    n_rows, n_columns = X.shape
    sums, identity = ranked.sum_columns([np.ones(n_columns, np.uint64), _odd(n_columns)])
    distinct = np.unique(identity, return_index=True)[1]
    weights = np.zeros(n_rows, dtype=np.uint64)
    weights[distinct] = mix(sums[distinct])
    return mix(ranked.sum_columns([mix(ranked.sum_rows(weights))])[0])


def _odd(n):
    return mix(np.arange(n, dtype=np.uint64)) | np.uint64(1)


class _DenseRanks:
    """Random numbers of the ranks of dense columns."""

    def __init__(self, X):
        n_rows, n_columns = X.shape
        self.ranks = np.empty((n_columns, n_rows), np.uint16 if n_rows <= 1 << 16 else np.uint32)
        self.numbers = mix(np.arange(n_rows, dtype=np.uint64))
        width = max(1, _BLOCK_VALUES // max(1, n_rows))
        self.blocks = [slice(start, start + width) for start in range(0, n_columns, width)]
        for some in self.blocks:
            values = np.ascontiguousarray(X[:, some].T)
            order = np.argsort(values, axis=1)
            values = np.take_along_axis(values, order, axis=1)
            rank = np.zeros(order.shape, dtype=self.ranks.dtype)
            np.cumsum(_is_new(values[:, 1:], values[:, :-1]), axis=1, out=rank[:, 1:])
            np.put_along_axis(self.ranks[some], order, rank, axis=1)

    def sum_columns(self, weights):
        """Weighted sums of each row, for each set of weights."""
        totals = [np.zeros(self.numbers.size, dtype=np.uint64) for _ in weights]
        for some in self.blocks:
            numbers = self.numbers[self.ranks[some]]
            for total, weight in zip(totals, weights, strict=True):
                total += (weight[some, None] * numbers).sum(axis=0, dtype=np.uint64)
        return totals

    def sum_rows(self, weights):
        """Weighted sums of each column."""
        return np.concatenate(
            [
                (self.numbers[self.ranks[some]] * weights).sum(axis=1, dtype=np.uint64)
                for some in self.blocks
            ]
            or [np.zeros(0, dtype=np.uint64)]
        )


class _SparseRanks:
    """The same of sparse columns: the number of a zero, and how stored values differ from it."""

    def __init__(self, X):
        stored = sparse.csc_array(X, copy=True)
        stored.eliminate_zeros()
        n_rows, n_columns = stored.shape
        values = stored.data
        column = np.repeat(np.arange(n_columns), np.diff(stored.indptr))
        order = _sort_columns(values, column, n_columns)
        values = values[order]
        starts = stored.indptr[:-1]
        is_new = np.ones(values.size, dtype=bool)
        is_new[1:] = _is_new(values[1:], values[:-1]) | (column[1:] != column[:-1])
        n_smaller = np.bincount(column[is_new & (values < 0)], minlength=n_columns)
        n_new = np.concatenate([[0], np.cumsum(is_new)])
        rank = n_new[1:] - 1 - n_new[starts][column]
        has_zeros = np.diff(stored.indptr) < n_rows
        rank += has_zeros[column] & ~(values < 0)  # missing values are last
        self.zero = mix(n_smaller.astype(np.uint64))
        numbers = np.empty(values.size, dtype=np.uint64)
        numbers[order] = mix(rank.astype(np.uint64))
        numbers -= self.zero[column]
        self.numbers = sparse.csc_array((numbers, stored.indices, stored.indptr), stored.shape)

    def sum_columns(self, weights):
        """Weighted sums of each row, for each set of weights."""
        return [
            self.numbers @ weight + (weight * self.zero).sum(dtype=np.uint64) for weight in weights
        ]

    def sum_rows(self, weights):
        """Weighted sums of each column."""
        return self.numbers.T @ weights + weights.sum(dtype=np.uint64) * self.zero


def _sort_columns(values, column, n_columns):
    """Places of values by column, then by size: a sort of all, and a counting sort of columns."""
    order = np.argsort(values)
    places = np.arange(order.size)
    shape = (n_columns, order.size)
    return sparse.coo_array((order, (column[order], places)), shape).tocsr().data


def _is_new(values, before):
    """Whether sorted values differ from those before them; missing values are one value."""
    is_new = values != before
    missing = np.isnan(before)
    return is_new & ~missing if missing.any() else is_new
