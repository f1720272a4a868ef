"""The only place that asks what kind of array the data are.

Solvers touch the data matrix through these functions and nothing else, so dense and sparse data
(and later other kinds of arrays) share one solver.
"""

from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

__all__ = [
    "Matrix",
    "center_columns",
    "is_sparse",
    "multiply",
    "multiply_transposed",
    "take_columns",
    "take_rows",
    "to_dense",
    "weighted_gram",
]

#: A matrix of numbers: an ndarray, or a sparse array of scipy (which ships no types to name).
Matrix: TypeAlias = Any

# Up to this many columns, one matrix-vector product each is faster than a matrix product, which
# packs the big matrix first (measured on 1,000 x 15,000: 10 against 15 to 19 ms for 2 columns).
_FEW_COLUMNS = 3
_BLOCK_ROWS = 10_000
_BLOCK_VALUES = 60_000


def is_sparse(X):
    """Whether only the non-zero entries of X are stored."""
    return sparse.issparse(X)


def center_columns(X, columns, mean, W):
    """``(X[:, columns] - mean) @ W`` as a dense array; sparse data stay sparse."""
    chosen = X if columns.size == X.shape[1] else X[:, columns]
    if sparse.issparse(chosen):
        return np.asarray(chosen @ W) - mean @ W
    return (chosen.astype(np.float64, copy=False) - mean) @ W


def multiply(X, W):
    """``X @ W`` for a tall or wide matrix X and few columns W, as a dense array."""
    if not sparse.issparse(X) and W.shape[1] <= _FEW_COLUMNS:
        return np.stack([X @ np.ascontiguousarray(w) for w in W.T], axis=1)
    return np.asarray(X @ W)


def multiply_transposed(X, Z):
    """``X.T @ Z`` for few columns Z, as a dense array."""
    if sparse.issparse(X):
        return np.asarray(X.T @ Z)
    if Z.shape[1] <= _FEW_COLUMNS:
        rows, Z = X.T, np.ascontiguousarray(Z.T)
        if not X.flags.f_contiguous:
            return np.stack([rows @ z for z in Z], axis=1)
        # Blocks that stay in the cache, so that X is read from memory only once.
        step = max(_BLOCK_VALUES // max(X.shape[0], 1), 1)
        product = np.empty((len(Z), len(rows)))
        for start in range(0, len(rows), step):
            some = slice(start, start + step)
            for z, out in zip(Z, product, strict=True):
                np.dot(rows[some], z, out=out[some])
        return product.T
    # The same product from the other side takes 14 ms where X.T @ Z takes 25 (9 columns).
    return (np.ascontiguousarray(Z.T) @ X).T


def take_columns(X, columns):
    """Some columns of X: dense as a Fortran-ordered copy, sparse as a sparse one."""
    if sparse.issparse(X):
        return X[:, columns]
    # A block of rows at a time: numpy copies chosen columns in C order first.
    taken = np.empty((X.shape[0], X[:0, columns].shape[1]), dtype=X.dtype, order="F")
    for start in range(0, X.shape[0], _BLOCK_ROWS):
        some = slice(start, start + _BLOCK_ROWS)
        taken[some] = X[some, columns]
    return taken


def take_rows(X, mask):
    """The rows of X where `mask` is true, as a dense array."""
    rows = X[np.flatnonzero(mask)]
    return rows.toarray() if sparse.issparse(rows) else rows


def to_dense(X):
    """X as a dense array."""
    return X.toarray() if sparse.issparse(X) else X


def weighted_gram(X, weights):
    """``X.T @ diag(weights) @ X`` as a dense array; rows of weight 0 are not touched."""
    if sparse.issparse(X):
        return (X.T @ X.multiply(weights[:, None]).tocsr()).toarray()
    used = weights != 0
    rows = X if used.all() else X[used]
    return rows.T @ (rows * weights[used, None])
