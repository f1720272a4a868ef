r"""Logistic recalibration: how observed classes depend on predicted log odds.

.. math:: \operatorname{logit} P(y = 1) = a + b \operatorname{logit} p

The slope b is that of the fit of both; the intercept is that of the fit with b = 1, the usual
"calibration in the large". Both are the same at every prevalence that probabilities are re-based
to, so they are fitted at that of the rows. Intervals are Wald's; with sample groups or weights
from the sandwich estimate of the variance, in which a group is one unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tamis.paths.intervals import NORMAL_95

if TYPE_CHECKING:
    from tamis.inspection._binary import Binary


# Probabilities nearer to 0 or 1 count as this one: double precision has no more of them near 1.
_SMALLEST = 1e-15
_KNOTS = (0.05, 0.35, 0.65, 0.95)


@dataclass(frozen=True)
class LogisticEstimate:
    """An estimate and its 95 % interval; NaN where the data do not determine them."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if not np.isfinite(self.value):
            return "cannot be estimated"
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


@dataclass(frozen=True)
class SmoothCurve:
    """A flexible calibration curve with its pointwise 95 % band."""

    # predicted, observed, low, high: (n_points,).
    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def log_odds(p: NDArray) -> NDArray[np.float64]:
    """Log odds of probabilities, those of 0 and 1 made finite."""
    p = np.clip(p, _SMALLEST, 1 - _SMALLEST)
    return np.log(p) - np.log1p(-p)


def recalibrate(data: Binary) -> tuple[LogisticEstimate, LogisticEstimate]:
    """Intercept and slope with their intervals."""
    z = log_odds(data.probabilities) - data.shift
    ones = np.ones((z.size, 1))
    fits = fit_logistic(ones, data, z), fit_logistic(np.column_stack([ones, z]), data)
    estimates = []
    for fit in fits:
        if fit is None:
            estimates.append(LogisticEstimate(np.nan, np.nan, np.nan))
            continue
        value, half = fit[0][-1], NORMAL_95 * np.sqrt(fit[1][-1, -1])
        estimates.append(LogisticEstimate(float(value), float(value - half), float(value + half)))
    return estimates[0], estimates[1]


def smooth(data: Binary, n_points: int = 101) -> SmoothCurve | None:
    """A restricted cubic spline of the log odds with four knots; None where it has no fit."""
    z = log_odds(data.probabilities) - data.shift
    knots = np.quantile(z, _KNOTS)
    if np.unique(knots).size < len(knots):
        return None
    fit = fit_logistic(_spline(z, knots), data)
    if fit is None:
        return None
    low, high = np.quantile(z, [0.005, 0.995])
    even = np.linspace(expit(low), expit(high), n_points)[1:-1]  # and fine in the middle, as drawn
    at = np.sort(np.append(np.linspace(low, high, n_points), log_odds(even)))
    basis = _spline(at, knots)
    middle = basis @ fit[0]
    half = NORMAL_95 * np.sqrt(np.einsum("ij,jk,ik->i", basis, fit[1], basis))
    return SmoothCurve(
        *(expit(v + data.shift) for v in (at, middle, middle - half, middle + half))
    )


def _spline(z, knots):
    """Intercept, z, and cubic terms that are linear beyond the outer knots (Harrell)."""

    def cube(knot):
        return np.maximum(z - knot, 0) ** 3

    *inner, before, last = knots
    terms = [
        cube(k)
        - cube(before) * (last - k) / (last - before)
        + cube(last) * (before - k) / (last - before)
        for k in inner
    ]
    scale = (last - knots[0]) ** 2
    return np.column_stack([np.ones_like(z), z, *(term / scale for term in terms)])


def fit_logistic(
    Z: NDArray, data: Binary, offset: NDArray | None = None, max_iter: int = 50
) -> tuple[NDArray, NDArray] | None:
    """Coefficients of largest likelihood and their covariance; None where they are infinite."""
    y, w = data.is_positive.astype(np.float64), data.weights
    offset = np.zeros(y.size) if offset is None else offset
    w = w / w.mean()
    beta = np.zeros(Z.shape[1])
    for _ in range(max_iter):
        p = expit(Z @ beta + offset)
        hessian = (Z * (w * p * (1 - p))[:, None]).T @ Z
        if np.linalg.cond(hessian) > 1e12:  # the classes are separated, or z is constant
            return None
        step = np.linalg.solve(hessian, Z.T @ (w * (y - p)))
        beta = beta + step * min(1.0, 5.0 / max(np.abs(step).max(), 1e-300))
        if np.abs(step).max() < 1e-10:
            break
    else:
        return None
    inverse = np.linalg.inv(hessian)
    if data.groups is None and np.ptp(w) == 0:
        return beta, inverse
    scores = Z * (w * (y - p))[:, None]
    if data.groups is not None:
        sums = np.zeros((data.groups.max() + 1, Z.shape[1]))
        np.add.at(sums, data.groups, scores)
        scores = sums
    n = len(scores)
    return beta, n / (n - 1) * inverse @ (scores.T @ scores) @ inverse
