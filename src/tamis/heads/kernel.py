r"""Kernel ridge classification on landmarks: bumps around a few rows.

With landmarks :math:`l_a` (training rows) and :math:`K_{ia} = \exp(-\gamma \|z_i - l_a\|^2)`,
decisions are :math:`K A`, where

.. math:: \min_A \sum_i w_i \|(K A)_i - (e_{y_i} - \tfrac1C 1)\|^2
   + \lambda \operatorname{tr}(A^\top K_{LL} A).

z are standardised features, and :math:`\gamma = g / k` for k of them. For every width g there is
one matrix K, one Gram matrix and one :math:`K_{LL}`; each ridge :math:`\lambda` then costs one
Cholesky factor of the size of the landmarks. With no more rows than landmarks this is kernel ridge
regression itself.
Shapes: K (n, m), A (m, C).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

from tamis.heads.head import KernelHead, Standardization, standardize

__all__ = ["decide_kernels", "fit_kernel", "kernel_sums", "landmark_kernels", "solve_kernel"]

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
    chosen = standardization(X[landmarks])
    gammas = {width: width / max(X.shape[1], 1) for width, _ in settings}
    start = np.zeros((len(chosen), len(chosen))), np.zeros((len(chosen), n_classes))
    sums: dict[float, tuple[NDArray, NDArray]] = dict.fromkeys(gammas, start)
    for first in range(0, X.shape[0], _BLOCK):
        rows = slice(first, first + _BLOCK)
        Z, of_rows = standardization(X[rows]), (codes[rows], weights[rows])
        for width, found in kernel_sums(Z, *of_rows, n_classes, chosen, gammas).items():
            sums[width] = sums[width][0] + found[0], sums[width][1] + found[1]
    among = landmark_kernels(chosen, gammas)
    return [
        solve_kernel(*sums[width], among[width], standardization, chosen, gammas[width], ridge)
        for width, ridge in settings
    ]


def kernel_sums(
    Z: NDArray,
    codes: NDArray,
    weights: NDArray,
    n_classes: int,
    landmarks: NDArray,
    gammas: Mapping[float, float],
) -> dict[float, tuple[NDArray, NDArray]]:
    """Gram matrix of the kernel, and its products with the targets, over some rows.

    `Z` (n_rows, n_features), `landmarks` (n_landmarks, n_features): standardised; `gammas`: for
    each width. Returns, for each width, `gram` (n_landmarks, n_landmarks), `product` (n_landmarks,
    n_classes).
    """
    # Both sides times the root of the weight: BLAS computes half of the Gram matrix of one array.
    root = np.sqrt(weights)[:, None]
    targets = np.full((codes.size, n_classes), -1.0 / n_classes)
    targets[np.arange(codes.size), codes] += 1.0
    targets *= root
    distances = cdist(Z, landmarks, "sqeuclidean")
    sums = {}
    for width, gamma in gammas.items():
        kernel = -gamma * distances
        np.exp(kernel, out=kernel)
        kernel *= root
        sums[width] = kernel.T @ kernel, kernel.T @ targets
    return sums


def landmark_kernels(
    landmarks: NDArray, gammas: Mapping[float, float]
) -> dict[float, NDArray[np.float64]]:
    """Kernels of the landmarks with each other, (n_landmarks, n_landmarks), for each width."""
    distances = cdist(landmarks, landmarks, "sqeuclidean")
    return {width: np.exp(-gamma * distances) for width, gamma in gammas.items()}


def solve_kernel(
    gram: NDArray,
    product: NDArray,
    among: NDArray,
    standardization: Standardization,
    landmarks: NDArray,
    gamma: float,
    ridge: float,
) -> KernelHead:
    """The head whose sums over all rows are known.

    `among`: of `landmark_kernels`; `landmarks` are standardised.
    """
    system = gram + ridge * among
    system.flat[:: len(gram) + 1] += 1e-7 * (ridge + gram.trace() / len(gram))
    factor = cho_factor(system, overwrite_a=True, check_finite=False)
    coef = cho_solve(factor, product, check_finite=False)
    return KernelHead(standardization.center, standardization.scale, landmarks, gamma, coef)


def decide_kernels(heads: Sequence[KernelHead], X: NDArray) -> list[NDArray[np.float64]]:
    """Decisions of heads that were fitted together; what they share is computed once.

    `heads`: of the same landmarks; `X` (n_samples, n_features). Returns `decisions` (n_samples,
    n_classes).
    """
    distances = heads[0].distances(X)
    kernels = {width: np.exp(-width * distances) for width in {head.width for head in heads}}
    return [kernels[head.width] @ head.coef for head in heads]
