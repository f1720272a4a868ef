r"""Distances between rows and landmarks: Euclidean, or the angle.

.. math:: d(x, c) = \|x - c\| \qquad\text{or}\qquad
   d(x, c) = 2 \arctan \frac{\|u - v\|}{\|u + v\|}, \quad u = x / \|x\|, v = c / \|c\|.

Both are computed from differences, never through inner products: a row is at distance exactly 0
from itself (through a Gram matrix it would be at 1e-8, and sigma would be wrong). The second form
is accurate for all angles; a zero row has no direction and is treated as at a right angle to all
others and at angle 0 to other zero rows. Directions closer than rounding count as equal. Distances
(for angles, the quotients) keep 41 of their 53 bits, 12 digits: then equal ones are equal whatever
the order of the sums, and ties are decided by the index, not by rounding.

Rows are *prepared* once for a distance (unit rows for angles) and then compared with any number
of landmarks. Sparse rows stay sparse; landmarks are few, and dense.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import Matrix, is_sparse
from tamis.landmarks._distance_kernels import (
    dense_keys,
    dense_norms,
    sparse_keys,
)

DISTANCES = ("euclidean", "angle")


def row_norms(X: Matrix) -> NDArray[np.float64]:
    """Euclidean norms of the rows, summed over the features in order."""
    if is_sparse(X):
        n_rows = X.shape[0]
        owner = np.repeat(np.arange(n_rows), np.diff(X.indptr))
        return np.sqrt(np.bincount(owner, X.data * X.data, n_rows))
    return dense_norms(X)


def prepare(X, distance: str):
    """Prepare rows for a distance: unchanged, or divided by their norms."""
    if distance == "euclidean":
        return X
    norms = row_norms(X)
    norms[norms == 0] = 1.0
    if is_sparse(X):
        scaled = X.data / np.repeat(norms, np.diff(X.indptr))
        return sparse.csr_array((scaled, X.indices, X.indptr), shape=X.shape)
    return X / norms[:, None]


def distances(P: Matrix, R: NDArray, distance: str) -> NDArray[np.float64]:
    """Distances of prepared rows `P` to landmarks `R`, which are not prepared.

    `P` (n_samples, n_features): rows from `prepare`; `R` (n_landmarks, n_features): landmarks.
    Returns `D` (n_samples, n_landmarks).
    """
    RT = np.ascontiguousarray(prepare(R, distance).T)
    is_angle = distance == "angle"
    if is_sparse(P):
        keys = sparse_keys(P.data, P.indices, P.indptr, RT, is_angle)
    else:
        keys = dense_keys(P, RT, is_angle)
    return as_distances(keys, distance)


def keys_to_row(P: Matrix, by_feature: NDArray | None, row: int, distance: str) -> NDArray:
    """Keys of all rows to one of them: numbers in the order of the distances.

    `P` (n_samples, n_features). `by_feature` (n_features, n_samples) or None: the same transposed,
    for dense rows: so the kernel is vectorised over the rows. Returns `keys` (n_samples,).
    """
    is_angle = distance == "angle"
    if by_feature is None:
        column = take_rows(P, np.array([row])).T
        keys = sparse_keys(P.data, P.indices, P.indptr, np.ascontiguousarray(column), is_angle)
        return keys[:, 0]
    return dense_keys(P[row : row + 1], by_feature, is_angle)[0]


def as_distances(keys: NDArray, distance: str) -> NDArray[np.float64]:
    """Distances from keys: the same, or angles from the tangents of their halves."""
    return 2.0 * np.arctan(keys) if distance == "angle" else keys


def region_means(P: Matrix, region: NDArray, centers: NDArray) -> NDArray[np.float64]:
    """Mean of the prepared rows of each region; an empty region keeps its center.

    `P` (n_samples, n_features): prepared rows. `region` (n_samples,): region of each row; -1 for
    none. `centers` (n_regions, n_features): centers that empty regions keep.
    """
    K = centers.shape[0]
    if region.size and region.min() < 0:
        P, region = P[region >= 0], region[region >= 0]
    count = np.bincount(region, minlength=K)
    # One entry per column, so that nothing is sorted; rows are added in order.
    columns = np.ones(region.size), region, np.arange(region.size + 1)
    members = sparse.csc_array(columns, shape=(K, region.size))
    sums = (members.tocsr() @ P).toarray() if is_sparse(P) else members @ P
    means = sums / np.maximum(count, 1)[:, None]
    return np.where(count[:, None] > 0, means, centers)


def take_rows(X: Matrix, rows: NDArray) -> NDArray[np.float64]:
    """Some rows as a dense array: landmarks are dense."""
    part = X[rows]
    return part.toarray() if is_sparse(part) else np.array(part)
