r"""Ridge-logistic regression on sparse features, of which there may be thousands.

The loss is that of `tamis.heads.logistic`; features are not centered, and divided by the root mean
square of their values other than zero, so counts and binary words keep about their units: in units
of its standard deviation a rare word would hardly be penalised. L-BFGS, in coordinates in which an
upper bound of the curvature has ones on its diagonal; each iteration is two products with the
sparse matrix. Shapes: X (n, k), coef (C, k).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from tamis._array import Matrix
from tamis.heads.head import LinearHead

__all__ = ["fit_sparse_logistic"]

_MAX_ITER = 500
# Relative ridge of the intercepts, for classes without rows.
_INTERCEPT = 1e-9


def fit_sparse_logistic(
    X: Matrix,
    codes: NDArray,
    weights: NDArray,
    n_classes: int,
    alphas: Sequence[float],
    tol: float = 1e-6,
) -> list[LinearHead]:
    """Fit ridge-logistic regression with several ridges; X stays sparse.

    `X` (n_samples, n_features): selected features; `codes` (n_samples,): class indices; `weights`
    (n_samples,): weights, those of the classes included; `alphas`: ridges; `tol`: largest slope at
    the end, per square root of the total weight. Returns `heads`: in the order of `alphas`.
    """
    X = X.tocsr()
    squares = np.asarray(weights @ X.power(2)).ravel()
    present = np.asarray(weights @ (X != 0).astype(np.float64)).ravel()
    scale = np.sqrt(np.divide(squares, present, out=np.ones_like(squares), where=squares > 0))
    X = X.multiply(1.0 / scale[None, :]).tocsr()
    transposed = X.T.tocsr()
    bound = (0.25 if n_classes == 2 else 0.5) * np.append(squares / scale**2, weights.sum())
    n_margins = 1 if n_classes == 2 else n_classes
    coef = np.zeros((n_margins, X.shape[1] + 1))
    heads: dict[float, LinearHead] = {}
    for alpha in sorted(alphas, reverse=True):
        penalty = np.append(np.full(X.shape[1], float(alpha)), _INTERCEPT * weights.sum())
        coef = _fit(X, transposed, codes, weights, penalty, bound, coef, tol)
        both = np.vstack([-coef[0] / 2, coef[0] / 2]) if n_classes == 2 else coef
        heads[alpha] = LinearHead(both[:, :-1] / scale, both[:, -1].copy())
    return [heads[alpha] for alpha in alphas]


def _fit(X, transposed, codes, weights, penalty, bound, start, tol):
    """Coefficients, of shape (n_margins, k + 1), the intercept last."""
    units = np.sqrt(bound + penalty)
    n_margins, rows = start.shape[0], np.arange(codes.size)
    is_second = codes == 1

    def loss(flat):
        coef = flat.reshape(start.shape) / units
        margins = X @ coef[:, :-1].T + coef[:, -1]
        if n_margins == 1:
            margins = margins[:, 0]
            value = weights @ np.logaddexp(0.0, np.where(is_second, -margins, margins))
            residuals = (weights * (1.0 / (1.0 + np.exp(-margins)) - is_second))[:, None]
        else:
            margins -= margins.max(axis=1, keepdims=True)
            own = margins[rows, codes]
            residuals = np.exp(margins, out=margins)
            totals = residuals.sum(axis=1, keepdims=True)
            value = weights @ (np.log(totals[:, 0]) - own)
            residuals /= totals
            residuals[rows, codes] -= 1.0
            residuals *= weights[:, None]
        value += 0.5 * (coef**2 @ penalty).sum()
        slope = np.empty_like(coef)
        slope[:, :-1] = (transposed @ residuals).T
        slope[:, -1] = residuals.sum(axis=0)
        slope += penalty * coef
        return value, (slope / units).ravel()

    with np.errstate(over="ignore"):  # exp of a large margin is inf, its share 0
        found = minimize(
            loss,
            (start * units).ravel(),
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": _MAX_ITER,
                "maxfun": 2 * _MAX_ITER,
                "gtol": tol * np.sqrt(weights.sum()),
                "ftol": tol * 1e-3,
            },
        )
    return found.x.reshape(start.shape) / units
