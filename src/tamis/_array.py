"""The only place that asks what kind of array the data are.

Solvers touch the data matrix through these functions and nothing else, so dense data, sparse data
and arrays on a device (torch tensors on a GPU, or any other kind of the array API) share one
solver. For the latter the rule is: *samples on the device, coefficients on the host*. What has a
row for each sample (X itself, X W, residuals) stays where X is; what has a row for each feature
(W, X' Z, means) is a numpy array. So a product with X moves n_features x n_classes numbers, and
everything that is small or clever runs where it always runs. (`primal_dual._device_fista` alone
keeps both on the device for ten iterations.)

Data on a device may be of 32 bits. Products with them are exact to 64 bits (*float64*: a block of
rows is converted at a time, about 6 passes over X), to 32 bits, or to the 10 bits of a GPU's
matrix units (*tf32*, at the speed of reading X): `Arithmetic`.
"""

from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

__all__ = [
    "Arithmetic",
    "Matrix",
    "center_columns",
    "choose_columns",
    "choose_rows",
    "clip",
    "dense_columns",
    "dense_if_it_pays",
    "from_host",
    "inner",
    "is_on_device",
    "is_single",
    "is_sparse",
    "multiply",
    "multiply_transposed",
    "namespace",
    "only_columns",
    "rows_in_double",
    "spread",
    "square_rows",
    "take_columns",
    "take_rows",
    "to_dense",
    "to_host",
    "weighted_gram",
    "zeros",
]

#: A matrix of numbers: an ndarray, or a sparse array of scipy (which ships no types to name).
Matrix: TypeAlias = Any

#: How products with 32-bit data on a device are computed.
Arithmetic: TypeAlias = Literal["tf32", "float32", "float64"]

# Up to this many columns, one matrix-vector product each is faster than a matrix product, which
# packs the big matrix first (measured on 1,000 x 15,000: 10 against 15 to 19 ms for 2 columns).
_FEW_COLUMNS = 3
_BLOCK_ROWS = 10_000
_BLOCK_VALUES = 60_000
# Bytes of a block of rows that is converted to 64 bits.
_BLOCK_BYTES = 1_000_000_000
# Sparse data of which this share is stored are made dense if they have at most so many values, or
# if that takes less memory (a value is stored with its index, in 12 bytes).
_DENSE_SHARE, _DENSE_VALUES, _SMALLER_SHARE = 0.1, 10_000_000, 2 / 3
# The matrix units of GPUs work on this many columns; others are wasted.
_UNIT_COLUMNS = 16
# The precision of products is a setting of torch for all threads: folds take turns.
_PRECISION = Lock()


def is_on_device(X):
    """Whether X is an array of another library than numpy and scipy, such as a torch tensor."""
    if isinstance(X, np.ndarray | np.generic) or sparse.issparse(X):
        return False
    return hasattr(X, "__array_namespace__") or type(X).__module__.partition(".")[0] == "torch"


def is_single(X):
    """Whether X is on a device and of 32 bits."""
    return is_on_device(X) and X.dtype == namespace(X).float32


def namespace(A):
    """The module with the functions for an array: numpy, or one of the array API."""
    if isinstance(A, np.ndarray | np.generic):
        return np
    return _find_namespace()(A)


@cache
def _find_namespace():
    try:
        from array_api_compat import array_namespace
    except ImportError:
        from sklearn.externals.array_api_compat import array_namespace
    return array_namespace


def to_host(A):
    """An array as one of numpy."""
    if hasattr(A, "detach"):  # torch
        return A.detach().cpu().numpy()
    if hasattr(A, "get"):  # CuPy
        return A.get()
    return np.asarray(A)


def from_host(values, X):
    """An array of numpy as one of the kind of X, where X is."""
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return values
    return namespace(X).asarray(np.ascontiguousarray(values), device=X.device)


def zeros(shape, X):
    """Zeros of 64 bits of the kind of X, where X is."""
    if not is_on_device(X):
        return np.zeros(shape)
    xp = namespace(X)
    return xp.zeros(shape, dtype=xp.float64, device=X.device)


def square_rows(A):
    """Sum of the squares of each row."""
    if isinstance(A, np.ndarray):
        return np.einsum("ij,ij->i", A, A)
    return namespace(A).sum(A * A, axis=1)


def clip(A, low, high):
    """The values between two limits, of which None is no limit."""
    if hasattr(A, "clamp"):  # torch, where the function of the array API waits for the device
        return A.clamp(low, high)
    return namespace(A).clip(A, low, high)


def inner(A, B):
    """Sum of the products of the entries, as a float."""
    if isinstance(A, np.ndarray):
        return float(np.vdot(A, B))
    return float(namespace(A).sum(A * B))


def is_sparse(X):
    """Whether only the non-zero entries of X are stored."""
    return sparse.issparse(X)


def center_columns(X, columns, mean, W):
    """``(X[:, columns] - mean) @ W`` as a dense array; sparse data stay sparse."""
    if is_on_device(X):
        return to_host((take_columns(X, columns) - from_host(mean, X)) @ from_host(W, X))
    chosen = X if columns.size == X.shape[1] else X[:, columns]
    if sparse.issparse(chosen):
        return np.asarray(chosen @ W) - mean @ W
    return (chosen.astype(np.float64, copy=False) - mean) @ W


def multiply(X, W, arithmetic: Arithmetic = "float64"):
    """``X @ W`` for a tall or wide matrix X and few columns W, dense; all of them where X is."""
    if is_on_device(X):
        xp = namespace(X)
        if arithmetic == "float64" or X.dtype == xp.float64:
            return xp.concat([part @ W for _, part in rows_in_double(X)])
        with _matrix_units(X, arithmetic):
            product = X @ _pad(xp.astype(W, X.dtype))
        return xp.astype(product[:, : W.shape[1]], xp.float64)
    if not sparse.issparse(X) and W.shape[1] <= _FEW_COLUMNS:
        return np.stack([X @ np.ascontiguousarray(w) for w in W.T], axis=1)
    return np.asarray(X @ W)


def multiply_transposed(X, Z, arithmetic: Arithmetic = "float64"):
    """``X.T @ Z`` for few columns Z, dense; all of them where X is."""
    if is_on_device(X):
        xp = namespace(X)
        if arithmetic == "float64" or X.dtype == xp.float64:
            return sum(part.T @ Z[rows, :] for rows, part in rows_in_double(X))
        Z32 = xp.astype(Z, X.dtype)
        with _matrix_units(X, arithmetic):
            if arithmetic == "tf32":
                product = X.T @ _pad(Z32)
            else:  # measured: 3.2 TB/s from this side, 1.4 from the other
                product = (Z32.T @ X).T
        return xp.astype(product[:, : Z.shape[1]], xp.float64)
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
    """Some columns of X: dense as a Fortran-ordered copy, sparse as a sparse one.

    Those of an array on a device become 64-bit numbers.
    """
    if is_on_device(X):
        xp = namespace(X)
        if not isinstance(columns, slice):
            X = choose_columns(X, columns)
        return xp.astype(X, xp.float64, copy=True)
    if sparse.issparse(X):
        return X[:, columns]
    # A block of rows at a time: numpy copies chosen columns in C order first.
    taken = np.empty((X.shape[0], X[:0, columns].shape[1]), dtype=X.dtype, order="F")
    for start in range(0, X.shape[0], _BLOCK_ROWS):
        some = slice(start, start + _BLOCK_ROWS)
        taken[some] = X[some, columns]
    return taken


def choose_columns(X, columns):
    """Some columns of an array on a device, of its own kind."""
    return namespace(X).take(X, from_host(columns, X), axis=1)


def choose_rows(X, rows):
    """Some rows of X, of its own kind."""
    if is_on_device(X):
        return namespace(X).take(X, from_host(rows, X), axis=0)
    return X[rows]


def spread(X, mean, shares):
    """Weighted mean square of each column about `mean`, for an array on a device."""
    middle, weights = from_host(mean, X), from_host(shares, X)
    return to_host(sum(weights[rows] @ (part - middle) ** 2 for rows, part in rows_in_double(X)))


def take_rows(X, mask):
    """The rows of X where `mask` is true, as a dense array."""
    rows = X[np.flatnonzero(mask)]
    return rows.toarray() if sparse.issparse(rows) else rows


def dense_columns(X, columns):
    """Some columns of X as a dense array of numpy."""
    if is_on_device(X):
        return to_host(choose_columns(X, columns))
    return to_dense(X[:, columns])


def only_columns(X, columns):
    """X; if it is on a device, some of its columns on the host, stored as a sparse array."""
    if not is_on_device(X):
        return X
    part = to_host(choose_columns(X, columns))
    n_rows, width = part.shape
    indptr = np.zeros(X.shape[1] + 1, dtype=np.int64)
    indptr[columns + 1] = n_rows
    rows = np.tile(np.arange(n_rows), width)
    return sparse.csc_array((part.T.ravel(), rows, np.cumsum(indptr)), shape=tuple(X.shape))


def to_dense(X):
    """X as a dense array."""
    return X.toarray() if sparse.issparse(X) else X


def dense_if_it_pays(X):
    """X as a dense array if it is sparse in name only: what iterates over it is faster then.

    At least one value in ten is stored, and the array is not large, or no larger than what is
    stored already.
    """
    if not sparse.issparse(X):
        return X
    n_values = X.shape[0] * X.shape[1]
    pays = X.nnz >= _DENSE_SHARE * n_values and n_values <= _DENSE_VALUES
    # Row by row, whatever the form: sums then have the bits of those of a dense array.
    return X.toarray(order="C") if pays or X.nnz > _SMALLER_SHARE * n_values else X


def weighted_gram(X, weights):
    """``X.T @ diag(weights) @ X`` as a dense array of numpy."""
    if is_on_device(X):
        return to_host(X.T @ (X * weights[:, None]))
    if sparse.issparse(X):
        return (X.T @ X.multiply(weights[:, None]).tocsr()).toarray()
    used = weights != 0
    rows = X if used.all() else X[used]
    return rows.T @ (rows * weights[used, None])


def rows_in_double(X):
    """Blocks of rows in 64 bits, with the rows that they are."""
    xp = namespace(X)
    if X.dtype == xp.float64:
        yield slice(0, X.shape[0]), X
        return
    n_rows = max(_BLOCK_BYTES // (8 * max(X.shape[1], 1)), 1)
    for start in range(0, X.shape[0], n_rows):
        rows = slice(start, min(start + n_rows, X.shape[0]))
        yield rows, xp.astype(X[rows, :], xp.float64)


def _pad(W):
    """W with columns of zeros up to the number that matrix units work on."""
    missing = -W.shape[1] % _UNIT_COLUMNS
    if not missing:
        return W
    xp = namespace(W)
    blank = xp.zeros((W.shape[0], missing), dtype=W.dtype, device=W.device)
    return xp.concat([W, blank], axis=1)


@contextmanager
def _matrix_units(X, arithmetic):
    """Whether torch may round the factors of 32-bit products to 10 bits."""
    if type(X).__module__.partition(".")[0] != "torch":
        yield
        return
    import torch

    with _PRECISION:
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high" if arithmetic == "tf32" else "highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)
