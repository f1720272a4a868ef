"""Compiled Newton steps of ridge-logistic regression: see `tamis.heads.logistic`."""

import numpy as np

from tamis._compile import compiled

__all__ = ["fit_binary"]

# A step moves no margin further than this, so that separable rows do not make it overshoot.
_LARGEST_MOVE = 5.0
_LEAST_CURVATURE = 1e-10


@compiled
def fit_binary(design, is_second, weights, penalty, coef, margins, max_iter, tol):
    """Newton's method for two classes, from `coef` and its `margins` (both are updated).

    design (n, m); is_second (n,) 0 or 1; weights (n,); penalty, coef (m,); margins (n,).
    Rows of weight 0 are ignored, but get their margins.
    """
    n, m = design.shape
    curvature = np.empty(n)
    residual = np.empty(n)
    for _ in range(max_iter):
        for i in range(n):
            p = 1.0 / (1.0 + np.exp(-margins[i]))
            curvature[i] = weights[i] * max(p * (1.0 - p), _LEAST_CURVATURE)
            residual[i] = weights[i] * (is_second[i] - p)
        hessian = design.T @ (design * curvature.reshape(-1, 1))
        for a in range(m):
            hessian[a, a] += penalty[a]
        step = np.linalg.solve(hessian, design.T @ residual - penalty * coef)
        moves = design @ step
        share = min(1.0, _LARGEST_MOVE / max(np.max(np.abs(moves)), 1e-300))
        coef += share * step
        margins += share * moves
        if np.max(np.abs(step)) < tol:
            break
