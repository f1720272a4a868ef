"""Newton's method for ridge-logistic regression on two classes, for many problems at once.

Problems share the features and the penalty, and differ in targets and weights (classes against the
rest, folds), so that all slopes, and all Hessians, are one matrix product. Shapes: columns (m, n),
one row per feature; targets, weights and margins (B, n); coef (B, m).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["curvatures", "fit_binary", "weighted_products"]

# A step moves no margin further than this, so that separable rows do not make it overshoot.
_LARGEST_MOVE = 5.0
_LEAST_CURVATURE = 1e-10
# Values that are weighted together: a block of them fits into the cache.
_BLOCK = 1 << 17


def curvatures(
    margins: NDArray, targets: NDArray, weights: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Second derivatives of the losses in the margins, and the negative first ones.

    The exponential of a large margin may overflow, which is right: its share is 0.

    `margins`, `targets`, `weights` (n_problems, n_rows): targets are 0 or 1. Returns `curvature`,
    `residual` (n_problems, n_rows).
    """
    share = np.negative(margins)
    np.exp(share, out=share)
    share += 1.0
    np.reciprocal(share, out=share)
    curvature = 1.0 - share
    curvature *= share
    np.maximum(curvature, _LEAST_CURVATURE, out=curvature)
    curvature *= weights
    residual = np.subtract(targets, share, out=share)
    residual *= weights
    return curvature, residual


def weighted_products(left: NDArray, weights: NDArray, right: NDArray) -> NDArray[np.float64]:
    """``left @ diag(w) @ right.T`` for every row w of some weights.

    `left` (m, n_rows); `weights` (n_problems, n_rows); `right` (q, n_rows). Returns `products`
    (n_problems, m, q).
    """
    (m, n), q = left.shape, len(right)
    products = np.empty((len(weights), m, q))
    step = max(1, _BLOCK // max(1, m * n))
    for first in range(0, len(weights), step):
        some = slice(first, first + step)
        weighted = weights[some, None, :] * left
        np.matmul(weighted.reshape(-1, n), right.T, out=products[some].reshape(-1, q))
    return products


@np.errstate(over="ignore")
def fit_binary(
    columns: NDArray,
    targets: NDArray,
    weights: NDArray,
    penalty: NDArray,
    coef: NDArray,
    margins: NDArray,
    max_iter: int,
    tol: float,
) -> None:
    """Newton's method for several problems, from `coef` and their `margins` (both are updated).

    `columns` (m, n_rows): features, a row of ones for the intercept among them; `targets`
    (n_problems, n_rows): 0 or 1; `weights` (n_problems, n_rows): rows of weight 0 are ignored, but
    get their margins; `penalty` (m,); `coef` (n_problems, m); `margins` (n_problems, n_rows);
    `tol`: a problem is done when no coefficient moves as far as this.
    """
    m = penalty.size
    running = np.arange(len(coef))
    for _ in range(max_iter):
        # All of them: a view, not a copy.
        some = slice(None) if running.size == len(coef) else running
        curvature, residual = curvatures(margins[some], targets[some], weights[some])
        hessian = weighted_products(columns, curvature, columns)
        hessian.reshape(-1, m * m)[:, :: m + 1] += penalty
        slope = residual @ columns.T
        slope -= penalty * coef[some]
        step = np.linalg.solve(hessian, slope[:, :, None])[:, :, 0]
        moves = step @ columns
        done = np.abs(step).max(axis=1) < tol
        longest = np.maximum(moves.max(axis=1), -moves.min(axis=1))
        if longest.max() > _LARGEST_MOVE:
            share = np.minimum(1.0, _LARGEST_MOVE / np.maximum(longest, 1e-300))[:, None]
            step, moves = share * step, share * moves
        coef[some] += step
        margins[some] += moves
        if done.any():
            running = running[~done]
            if running.size == 0:
                break
