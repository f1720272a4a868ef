r"""Whitening by the pooled within-class covariance: Section 4.1 of the paper.

With :math:`z = (x - \tilde x) / s` and S the covariance of the z within the classes, the
Mahalanobis problem is the l2 problem in :math:`\xi = S^{-1/2} z`. Everything here keeps
:math:`S^{-1/2}` as

.. math:: S^{-1/2} = b I + V \operatorname{diag}(f) V^\top, \qquad V \in \mathbb{R}^{m \times r},

so that no m x m matrix is needed when m > n: the eigenvectors V come from the n x n Gram
matrix of the rows, and the directions that no row spans all have the same eigenvalue, the one
that shrinkage gives them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from tamis._array import Matrix, is_sparse

_SMALLEST_SHRINKAGE = 1e-6


@dataclass
class Whitening:
    r"""The matrix :math:`S^{-1/2} = b I + V \operatorname{diag}(f) V^\top`."""

    vectors: NDArray  # (n_features, rank): eigenvectors V of the covariance
    roots: NDArray  # (rank,): square roots of their eigenvalues
    rest: float  # square root of the eigenvalue of all other directions
    # How far the covariance was shrunk towards a multiple of the identity, between 0 and 1.
    shrinkage: float

    def apply(self, Z: NDArray) -> NDArray:
        r"""Rows :math:`S^{-1/2} z` for the rows z of `Z`."""
        return self._apply(Z, 1.0 / self.roots, 1.0 / self.rest)

    def undo(self, Z: NDArray) -> NDArray:
        r"""Rows :math:`S^{1/2} \xi` for the rows of `Z`."""
        return self._apply(Z, self.roots, self.rest)

    def _apply(self, Z, factors, base):
        return base * Z + ((Z @ self.vectors) * (factors - base)) @ self.vectors.T


def pooled_whitening(
    X: Matrix,
    codes: NDArray,
    offset: NDArray,
    means: NDArray,
    scale: NDArray,
    kind: str,
    sample_weight: NDArray | None = None,
) -> Whitening:
    """Whitening by the covariance of ``(X - offset - class mean) / scale``.

    `X` (n_samples, n_features). `codes` (n_samples,). `offset` (n_features,). `means` (n_classes,
    n_features). `scale` (n_features,). `kind`: unchanged, or shrunk as by Ledoit and Wolf (2004),
    with weights as repetitions. `sample_weight` (n_samples,) or None: non-negative weights.
    """
    n_samples, n_features = X.shape
    weights = np.ones(n_samples) if sample_weight is None else sample_weight
    rows = _CenteredRows(X, codes, offset, means, scale, weights)
    total = weights.sum()
    wide = n_features > n_samples
    matrix = rows.gram() if wide else rows.scatter()
    eigenvalues, vectors = linalg.eigh(matrix)
    eigenvalues = np.maximum(eigenvalues / total, 0.0)
    tolerance = eigenvalues.max(initial=0.0) * max(X.shape) * np.finfo(np.float64).eps
    spanned = eigenvalues > tolerance
    eigenvalues = eigenvalues[spanned]
    rank = eigenvalues.size
    shrinkage, identity = 0.0, 0.0
    if kind == "shrunk":
        shrinkage, identity = _ledoit_wolf(eigenvalues, rows.squared_norms(), weights, n_features)
        if rank < n_features:  # an inverse must exist even without noise
            shrinkage = max(shrinkage, _SMALLEST_SHRINKAGE)
    rest = shrinkage * identity
    if rank == 0:  # every class is a single point: there is nothing to whiten
        return Whitening(np.zeros((n_features, 0)), np.zeros(0), 1.0, shrinkage)
    if rank < n_features and rest <= 0:
        raise ValueError(
            f"covariance='empirical' needs a pooled covariance of full rank, got rank {rank} for "
            f"{n_features} features and {n_samples} samples. Use covariance='shrunk', fewer "
            "features or more samples."
        )
    vectors = vectors[:, spanned]
    if not wide:
        # A constant column has no part in what varies; some processors leave 1e-17 there.
        vectors[~matrix.any(axis=0)] = 0.0
    else:
        vectors = rows.transposed_product(vectors) / np.sqrt(eigenvalues * total)
    roots = np.sqrt((1 - shrinkage) * eigenvalues + rest)
    return Whitening(vectors, roots, np.sqrt(rest) if rank < n_features else 1.0, shrinkage)


def _ledoit_wolf(eigenvalues, squared_norms, weights, n_features):
    """Shrinkage, and the multiple of the identity that is shrunk to.

    Lemma 3.2 to 3.4 of Ledoit and Wolf (2004), in the eigenvalues of the covariance.
    """
    total = weights.sum()
    identity = eigenvalues.sum() / n_features
    squared = (eigenvalues**2).sum()
    distance = squared - n_features * identity**2
    noise = ((weights * squared_norms**2).sum() / total - squared) / total
    if min(noise, distance) <= 0:
        return 0.0, identity
    return min(noise / distance, 1.0), identity


class _CenteredRows:
    """A = sqrt(w) (X - offset - class mean) / scale, never formed explicitly for sparse X.

    If more than half of a class (by weight) has a stored value in a column, the mean is
    subtracted from all of these entries; the result has at most twice as many entries as X when
    the rows have equal weights. Otherwise the mean is subtracted from the products below: the
    zeros alone make the variance at least as large as the squared mean, so nothing cancels.
    """

    def __init__(self, X, codes, offset, means, scale, weights):
        self.root_weights = np.sqrt(weights)
        self.codes = codes
        self.sparse = is_sparse(X)
        if not self.sparse:
            self.A = ((X - offset) - means[codes]) / scale
            self.A *= self.root_weights[:, None]
            return
        self.membership = sparse.csr_array(
            (np.ones(codes.size), (np.arange(codes.size), codes)),
            shape=(codes.size, means.shape[0]),
        )
        full = _mostly_stored(X, self.membership, weights)
        for part in (np.broadcast_to(offset, means.shape), means):
            if full.any():
                X = X - self.membership @ sparse.csr_array(np.where(full, part, 0.0))
        self.X = X @ sparse.diags_array(1.0 / scale)
        self.means = np.where(full, 0.0, offset + means) / scale

    def gram(self):
        """A A', of shape (n_samples, n_samples)."""
        if not self.sparse:
            return self.A @ self.A.T
        cross = (self.X @ self.means.T)[:, self.codes]
        inner = self.means @ self.means.T
        gram = (self.X @ self.X.T).toarray() - cross - cross.T
        gram += inner[np.ix_(self.codes, self.codes)]
        return gram * np.outer(self.root_weights, self.root_weights)

    def scatter(self):
        """A' A, of shape (n_features, n_features)."""
        if not self.sparse:
            return self.A.T @ self.A
        weighted = sparse.diags_array(self.root_weights**2) @ self.X
        weight = self.membership.T @ self.root_weights**2
        mixed = (weighted.T @ self.membership).toarray() @ self.means
        inner = (self.means.T * weight) @ self.means
        return (weighted.T @ self.X).toarray() - mixed - mixed.T + inner

    def transposed_product(self, U):
        """A' U."""
        if not self.sparse:
            return self.A.T @ U
        U = U * self.root_weights[:, None]
        return self.X.T @ U - self.means.T @ (self.membership.T @ U)

    def squared_norms(self):
        """Squared lengths of the rows without their weights."""
        if not self.sparse:
            norms = np.einsum("ij,ij->i", self.A, self.A)
            positive = self.root_weights > 0
            return np.divide(norms, self.root_weights**2, out=np.zeros_like(norms), where=positive)
        squares = np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()
        cross = (self.X @ self.means.T)[np.arange(self.codes.size), self.codes]
        return squares - 2 * cross + (self.means**2).sum(axis=1)[self.codes]


def _mostly_stored(X, membership, weights):
    """Which (class, column) have stored values in more than half of the class, by weight."""
    stored = sparse.csr_array(X)
    stored = sparse.csr_array(
        (np.ones(stored.nnz), stored.indices, stored.indptr), shape=stored.shape
    )
    weighted = membership.T @ sparse.diags_array(weights)
    return (weighted @ stored).toarray() > 0.5 * weighted.sum(axis=1)[:, None]
