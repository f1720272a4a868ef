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

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from tamis.heads.head import LinearHead, Standardization, standardize
from tamis.heads.newton import fit_binary

__all__ = [
    "FEW",
    "bound_curvature",
    "fit_logistic",
    "in_units_of_X",
    "logistic_sums",
    "minimize_logistic",
    "newton_steps",
    "penalty_of",
]

_MAX_ITER = 100
# Relative ridge of the intercepts, for classes without rows.
_INTERCEPT = 1e-6
#: Up to this many coefficients, several classes end with Newton steps if `tol` is at most this.
FEW, _EXACT = 300, 1e-6


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
    sums = partial(logistic_sums, design, codes, weights)
    heads: dict[float, LinearHead] = {}
    for alpha in sorted(alphas, reverse=True):
        penalty = penalty_of(alpha, design.shape[1], weights.sum())
        if n_classes == 2:
            fit_binary(
                *(columns, is_second[None], weights[None], penalty, coef, margins),
                _MAX_ITER,
                tol,
            )
        else:
            factor = bound_curvature((design * weights[:, None]).T @ design, penalty)
            coef = minimize_logistic(sums, factor, penalty, coef, tol)
        heads[alpha] = in_units_of_X(coef, standardization)
    return [heads[alpha] for alpha in alphas]


def logistic_sums(
    design: NDArray, codes: NDArray, weights: NDArray, coef: NDArray, with_curvature: bool
) -> tuple[float, NDArray[np.float64], NDArray[np.float64] | float]:
    """Loss, its slope and its curvature, without the penalty, as sums over some rows.

    `design` (n_rows, m): standardised features, after a column of ones; `codes`, `weights`
    (n_rows,); `coef` (1, m) of the second of two classes, or (n_classes, m). Returns `value`,
    `slope` (like `coef`), `curvature` (coef.size, coef.size), or 0.
    """
    n_margins, m = coef.shape
    margins = design @ coef.T
    if n_margins == 1:
        margins = np.hstack([np.zeros_like(margins), margins])
    margins -= margins.max(axis=1, keepdims=True)
    rows = np.arange(codes.size)
    own = margins[rows, codes]
    shares = np.exp(margins, out=margins)
    totals = shares.sum(axis=1, keepdims=True)
    value = float(weights @ (np.log(totals[:, 0]) - own))
    shares /= totals
    curvature: NDArray | float = 0.0
    if with_curvature:
        curvature = np.empty((n_margins, m, n_margins, m))
        first = shares.shape[1] - n_margins
        for c in range(n_margins):
            for d in range(c + 1):
                of_rows = weights * shares[:, first + c] * ((c == d) - shares[:, first + d])
                block = (design * of_rows[:, None]).T @ design
                curvature[c, :, d] = curvature[d, :, c] = block
        curvature = curvature.reshape(coef.size, coef.size)
    shares[rows, codes] -= 1.0
    shares *= weights[:, None]
    return value, shares[:, -n_margins:].T @ design, curvature


def minimize_logistic(
    sums: Callable[[NDArray, bool], tuple[float, NDArray, NDArray | float]],
    factor: NDArray,
    penalty: NDArray,
    start: NDArray,
    tol: float,
) -> NDArray[np.float64]:
    """Coefficients of the multinomial loss, of shape (C, m), from those of another ridge.

    `sums`: of `logistic_sums` over all rows, by coefficients; `factor` (m, m): Cholesky factor of
    the bound of the curvature; `penalty` (m,).
    """
    total = float(penalty[0] / _INTERCEPT)

    def loss(flat):
        coef = solve_triangular(factor, flat.reshape(start.T.shape), lower=True, trans="T").T
        value, slope, _ = sums(coef, False)
        slope = slope + penalty * coef
        value += 0.5 * (coef**2 @ penalty).sum()
        return value, solve_triangular(factor, slope.T, lower=True).ravel()

    found = minimize(
        loss,
        (factor.T @ start.T).ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MAX_ITER, "gtol": tol * np.sqrt(total), "ftol": tol * 1e-3},
    )
    coef = solve_triangular(factor, found.x.reshape(start.T.shape), lower=True, trans="T").T
    if coef.size > FEW or tol > _EXACT:
        return coef
    return newton_steps(sums, penalty, coef, 2)


def newton_steps(
    sums: Callable[[NDArray, bool], tuple[float, NDArray, NDArray | float]],
    penalty: NDArray,
    coef: NDArray,
    n_steps: int,
    tol: float = 0.0,
) -> NDArray[np.float64]:
    """Coefficients after Newton steps: none after a step below `tol`, nor a long one."""
    for _ in range(n_steps):
        _, slope, curvature = sums(coef, True)
        matrix = curvature + np.diag(np.tile(penalty, len(coef)))
        step = np.linalg.solve(matrix, (slope + penalty * coef).ravel()).reshape(coef.shape)
        if not np.abs(step).max() < 1.0:  # not near the optimum: L-BFGS has run out of steps
            break
        coef = coef - step
        if np.abs(step).max() < tol:
            break
    return coef


def penalty_of(alpha: float, m: int, total: float) -> NDArray[np.float64]:
    """Ridge of each coefficient, (m,), the intercept first; `total`: weight of the rows."""
    penalty = np.full(m, float(alpha))
    penalty[0] = _INTERCEPT * total
    return penalty


def bound_curvature(gram: NDArray, penalty: NDArray) -> NDArray:
    """Cholesky factor of the bound of the curvature, from the weighted Gram matrix (m, m)."""
    return np.linalg.cholesky(0.5 * gram + np.diag(penalty))


def in_units_of_X(coef: NDArray, standardization: Standardization) -> LinearHead:
    """The head of coefficients (1, m) or (n_classes, m) of standardised features."""
    slopes = coef[:, 1:] / standardization.scale
    intercept = coef[:, 0] - slopes @ standardization.center
    if len(coef) == 1:
        slopes = np.vstack([-slopes[0] / 2, slopes[0] / 2])
        intercept = np.array([-intercept[0] / 2, intercept[0] / 2])
    return LinearHead(slopes, intercept)
