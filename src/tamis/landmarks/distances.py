r"""Distances between rows and references: Euclidean, or the angle.

.. math:: d(x, c) = \|x - c\| \qquad\text{or}\qquad
   d(x, c) = 2 \arctan \frac{\|u - v\|}{\|u + v\|}, \quad u = x / \|x\|, v = c / \|c\|.

Both are computed from differences, never through inner products: a row is at distance exactly 0
from itself (through a Gram matrix it would be at 1e-8, and sigma would be wrong). The second form
is accurate for all angles; a zero row has no direction and comes out at a right angle to all
others and at angle 0 to other zero rows. Directions closer than rounding are the same direction.
Distances (for angles, the quotients) keep 41 of their 53 bits, 12 digits: then equal ones are equal
whatever the order in which sums were taken, and ties are decided by the index, not by rounding.

Rows are *prepared* once for a distance (unit rows for angles) and then compared with any number
of references. Sparse rows stay sparse; references are few, and dense.
"""

import numpy as np
from scipy import sparse

from tamis.landmarks._distance_kernels import (
    dense_region_sums,
    dense_squares,
    sparse_region_sums,
    sparse_squares,
)

__all__ = [
    "DISTANCES",
    "distances",
    "keep_digits",
    "prepare",
    "region_means",
    "row_norms",
    "take_rows",
]

DISTANCES = ("euclidean", "angle")
# Unit vectors of parallel rows differ by no more than this, from rounding alone.
_SAME_DIRECTION = 1e-15


def row_norms(X):
    """Euclidean norms of the rows, summed over the features in order."""
    return np.sqrt(_squares(X, np.zeros((1, X.shape[1])), 1.0)[:, 0])


def prepare(X, distance):
    """Rows as the distance wants them: as they are, or divided by their norms."""
    if distance == "euclidean":
        return X
    norms = row_norms(X)
    norms[norms == 0] = 1.0
    if sparse.issparse(X):
        scaled = X.data / np.repeat(norms, np.diff(X.indptr))
        return sparse.csr_array((scaled, X.indices, X.indptr), shape=X.shape)
    return X / norms[:, None]


def distances(P, R, distance):
    """Distances of prepared rows `P` to references `R` (as they are, not prepared).

    Parameters
    ----------
    P : ndarray or CSR array of shape (n_samples, n_features)
        Rows from `prepare`.
    R : ndarray of shape (n_references, n_features)
        References.
    distance : {"euclidean", "angle"}

    Returns
    -------
    D : ndarray of shape (n_samples, n_references)
    """
    R = prepare(R, distance)
    D = np.sqrt(_squares(P, R, 1.0))
    if distance == "euclidean":
        return keep_digits(D)
    D[D <= _SAME_DIRECTION] = 0.0
    far = np.sqrt(_squares(P, R, -1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        tangent = np.where(D == 0, 0.0, D / far)
        return 2.0 * np.arctan(np.where(far == 0, tangent, keep_digits(tangent)))


def keep_digits(D):
    """`D` to 41 bits (Veltkamp's splitting)."""
    scaled = D * 4097.0
    return scaled - (scaled - D)


def region_means(P, region, centers):
    """Mean of the prepared rows of every region; an empty region keeps its center.

    Parameters
    ----------
    P : ndarray or CSR array of shape (n_samples, n_features)
        Prepared rows.
    region : ndarray of int of shape (n_samples,)
        Region of every row; -1 for none.
    centers : ndarray of shape (n_regions, n_features)
        What an empty region keeps.
    """
    K = centers.shape[0]
    count = np.bincount(region[region >= 0], minlength=K)
    if sparse.issparse(P):
        sums = sparse_region_sums(P.data, P.indices, P.indptr, region, K, P.shape[1])
    else:
        sums = dense_region_sums(P, region, K)
    means = sums / np.maximum(count, 1)[:, None]
    return np.where(count[:, None] > 0, means, centers)


def take_rows(X, rows):
    """Some rows as a dense array: references are dense."""
    part = X[rows]
    return part.toarray() if sparse.issparse(part) else np.array(part)


def _squares(P, R, sign):
    RT = np.ascontiguousarray(R.T)
    if sparse.issparse(P):
        return sparse_squares(P.data, P.indices, P.indptr, RT, sign)
    return dense_squares(P, RT, sign)
