r"""Ridge-logistic regression on few features, by Newton's method.

.. math:: \min_B \sum_i w_i \Bigl(\log \sum_c e^{z_i^\top b_c} - z_i^\top b_{y_i}\Bigr)
   + \frac\alpha2 \sum_c \|b_c\|^2

on standardised features z; intercepts are not penalised. Two classes: one margin and Newton's
method. More: L-BFGS in coordinates in which the upper bound
:math:`\tfrac12 Z^\top W Z + \alpha I` of the curvature, the same for every class, is the identity;
about ten passes are enough then, and with few coefficients two Newton steps make them exact, so
that weights of 2 and rows given twice agree to rounding. Several ridges are fitted from the
largest to the smallest, each starting from the one before. Shapes: Z (n, k), coef (C, k + 1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from scipy.special import softmax

from tamis.heads.head import LinearHead, standardize
from tamis.heads.newton import fit_binary

__all__ = ["fit_logistic"]

_MAX_ITER = 100
# Relative ridge of the intercepts, for classes without rows.
_INTERCEPT = 1e-6
# Up to this many coefficients, several classes end with Newton steps if `tol` is at most this.
_FEW, _EXACT = 300, 1e-6


def fit_logistic(
    X: NDArray,
    codes: NDArray,
    weights: NDArray,
    n_classes: int,
    alphas: Sequence[float],
    tol: float = 1e-6,
) -> list[LinearHead]:
    """Fit ridge-logistic regression with several ridges.

    `X` (n_samples, n_features): selected features, in any units; `codes` (n_samples,): class
    indices; `weights` (n_samples,): weights, those of the classes included; `alphas`: ridges;
    `tol`: largest step (two classes) or slope (more) at the end. Returns `heads`: in the order of
    `alphas`.
    """
    standardization = standardize(X, weights)
    design = np.empty((X.shape[0], X.shape[1] + 1))
    design[:, 0] = 1.0
    design[:, 1:] = standardization(X)
    coef = np.zeros((1 if n_classes == 2 else n_classes, design.shape[1]))
    margins = np.zeros((1, X.shape[0]))
    is_second = (codes == 1).astype(np.float64)
    columns = np.ascontiguousarray(design.T)
    heads: dict[float, LinearHead] = {}
    for alpha in sorted(alphas, reverse=True):
        penalty = np.full(design.shape[1], float(alpha))
        penalty[0] = _INTERCEPT * weights.sum()
        if n_classes == 2:
            fit_binary(
                *(columns, is_second[None], weights[None], penalty, coef, margins),
                _MAX_ITER,
                tol,
            )
        else:
            coef = _fit_softmax(design, codes, weights, penalty, coef, tol)
        heads[alpha] = _in_units_of_X(coef, standardization, n_classes)
    return [heads[alpha] for alpha in alphas]


def _fit_softmax(design, codes, weights, penalty, start, tol):
    """Coefficients of the multinomial loss, of shape (C, m), from those of another ridge."""
    bound = (design * (0.5 * weights)[:, None]).T @ design
    bound[np.diag_indices_from(bound)] += penalty
    factor = np.linalg.cholesky(bound)
    rows = np.arange(codes.size)

    def loss(flat):
        coef = solve_triangular(factor, flat.reshape(start.T.shape), lower=True, trans="T")
        margins = design @ coef
        margins -= margins.max(axis=1, keepdims=True)
        shares = np.exp(margins)
        totals = shares.sum(axis=1, keepdims=True)
        value = weights @ (np.log(totals[:, 0]) - margins[rows, codes])
        value += 0.5 * (penalty @ coef**2).sum()
        shares /= totals
        shares[rows, codes] -= 1.0
        shares *= weights[:, None]
        slope = design.T @ shares + penalty[:, None] * coef
        return value, solve_triangular(factor, slope, lower=True).ravel()

    found = minimize(
        loss,
        (factor.T @ start.T).ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MAX_ITER, "gtol": tol * np.sqrt(weights.sum()), "ftol": tol * 1e-3},
    )
    coef = solve_triangular(factor, found.x.reshape(start.T.shape), lower=True, trans="T").T
    if coef.size > _FEW or tol > _EXACT:
        return coef
    return _polish(design, codes, weights, penalty, coef)


def _polish(design, codes, weights, penalty, coef):
    """Coefficients after two Newton steps from those that L-BFGS found, of shape (C, m)."""
    n_classes, m = coef.shape
    hessian = np.empty((n_classes, m, n_classes, m))
    for _ in range(2):
        shares = softmax(design @ coef.T, axis=1)
        for c in range(n_classes):
            for d in range(c + 1):
                curvature = weights * shares[:, c] * ((c == d) - shares[:, d])
                block = (design * curvature[:, None]).T @ design
                hessian[c, :, d] = hessian[d, :, c] = block
        matrix = hessian.reshape(coef.size, coef.size)
        matrix[np.diag_indices(coef.size)] += np.tile(penalty, n_classes)
        shares[np.arange(codes.size), codes] -= 1.0
        slope = (shares * weights[:, None]).T @ design + penalty * coef
        step = np.linalg.solve(matrix, slope.ravel()).reshape(coef.shape)
        if not np.abs(step).max() < 1.0:  # not near the optimum: L-BFGS has run out of steps
            break
        coef = coef - step
    return coef


def _in_units_of_X(coef, standardization, n_classes):
    slopes = coef[:, 1:] / standardization.scale
    intercept = coef[:, 0] - slopes @ standardization.center
    if n_classes == 2:
        slopes = np.vstack([-slopes[0] / 2, slopes[0] / 2])
        intercept = np.array([-intercept[0] / 2, intercept[0] / 2])
    return LinearHead(slopes, intercept)
