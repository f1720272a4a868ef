r"""Kernel ridge classification on landmarks: bumps around a few rows.

With landmarks :math:`l_a` (training rows) and :math:`K_{ia} = \exp(-\gamma \|z_i - l_a\|^2)`,
decisions are :math:`K A`, where

.. math:: \min_A \sum_i w_i \|(K A)_i - (e_{y_i} - \tfrac1C 1)\|^2
   + \lambda \operatorname{tr}(A^\top K_{LL} A).

z are standardised features, and :math:`\gamma = g / k` for k of them. For every width g there is
one matrix K and one Gram matrix; each ridge :math:`\lambda` then costs one Cholesky factor of the
size of the landmarks. With no more rows than landmarks this is kernel ridge regression itself.
Shapes: K (n, m), A (m, C).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

from tamis.heads.head import KernelHead, standardize

__all__ = ["decide_kernels", "fit_kernel"]

# Rows whose kernel is held in memory at a time.
_BLOCK = 20_000


def fit_kernel(
    X: NDArray,
    codes: NDArray,
    weights: NDArray,
    n_classes: int,
    settings: Sequence[tuple[float, float]],
    landmarks: NDArray,
) -> list[KernelHead]:
    """Fit kernel ridge classification with several widths and ridges.

    `X` (n_samples, n_features): selected features, in any units; `codes` (n_samples,): class
    indices; `weights` (n_samples,): weights, those of the classes included; `landmarks`: rows that
    serve as landmarks. Returns `heads`: in the order of `settings`.
    """
    standardization = standardize(X, weights)
    Z = standardization(X)
    chosen = Z[landmarks]
    # Both sides times the root of the weight: BLAS computes half of the Gram matrix of one array.
    root = np.sqrt(weights)[:, None]
    targets = np.full((X.shape[0], n_classes), -1.0 / n_classes)
    targets[np.arange(X.shape[0]), codes] += 1.0
    targets *= root
    gammas = {width: width / max(X.shape[1], 1) for width, _ in settings}
    grams = {width: np.zeros((len(chosen), len(chosen))) for width in gammas}
    products = {width: np.zeros((len(chosen), n_classes)) for width in gammas}
    for start in range(0, X.shape[0], _BLOCK):
        rows = slice(start, start + _BLOCK)
        distances = cdist(Z[rows], chosen, "sqeuclidean")
        for width, gamma in gammas.items():
            kernel = -gamma * distances
            np.exp(kernel, out=kernel)
            kernel *= root[rows]
            grams[width] += kernel.T @ kernel
            products[width] += kernel.T @ targets[rows]
    between = cdist(chosen, chosen, "sqeuclidean")
    heads: list[KernelHead | None] = [None] * len(settings)
    for width, gamma in gammas.items():
        gram, product = grams[width], products[width]
        among = np.exp(-gamma * between)
        for place, (other, ridge) in enumerate(settings):
            if other == width:
                system = gram + ridge * among
                system.flat[:: len(gram) + 1] += 1e-7 * (ridge + gram.trace() / len(gram))
                factor = cho_factor(system, overwrite_a=True, check_finite=False)
                coef = cho_solve(factor, product, check_finite=False)
                heads[place] = KernelHead(
                    standardization.center, standardization.scale, chosen, gamma, coef
                )
    return [head for head in heads if head is not None]


def decide_kernels(heads: Sequence[KernelHead], X: NDArray) -> list[NDArray[np.float64]]:
    """Decisions of heads that were fitted together; what they share is computed once.

    `heads`: of the same landmarks; `X` (n_samples, n_features). Returns `decisions` (n_samples,
    n_classes).
    """
    distances = heads[0].distances(X)
    kernels = {width: np.exp(-width * distances) for width in {head.width for head in heads}}
    return [kernels[head.width] @ head.coef for head in heads]
