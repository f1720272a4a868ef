r"""Heads of rows that are elsewhere: each is fitted from sums over rows, in a few passes.

A pass adds up what a function makes of each block of rows: values (n, k) of the selected features,
codes (n,), weights (n,). The first pass gives means and variances of the classes; then

- linear discriminants need one, for products of features within each class (C, k, k);
- kernels need one, for the Gram matrix of the landmarks (L, L), which come from a sample;
- ridge-logistic regression needs one for each Newton step, for slope and curvature; it starts at
  the head of the sample, so there are about four. With more than 300 coefficients there is one
  pass for each step of L-BFGS.

What is held is of the size of these sums, whatever the number of rows, and linear heads are those
of `tamis.heads.lda` and `tamis.heads.logistic` on all rows, to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.heads.head import Head, KernelHead, LinearHead, Standardization
from tamis.heads.kernel import kernel_sums, landmark_kernels, solve_kernel
from tamis.heads.lda import discriminate, scatter, shrink
from tamis.heads.logistic import (
    FEW,
    bound_curvature,
    in_units_of_X,
    logistic_sums,
    minimize_logistic,
    penalty_of,
)

__all__ = ["fit_in_passes"]

#: A pass: adds up the tuples that a function makes of (values, codes, weights) of each block.
Run = Callable[[Callable[[NDArray, NDArray, NDArray], tuple]], Any]

_MOST_STEPS = 50
# Steps of Newton's method end after one that is shorter: the next would be its square.
_SHORT = 1e-7


@dataclass(frozen=True)
class _Moments:
    """Sums for the mean and the variance of each class, about an origin that is near."""

    n_classes: int
    origin: NDArray  # (k,)

    def __call__(self, values, codes, weights):
        own = weights[:, None] * (codes[:, None] == np.arange(self.n_classes))
        values = values - self.origin
        return own.sum(axis=0), own.T @ values, own.T @ values**2


@dataclass(frozen=True)
class _Scatter:
    mean: NDArray  # (C, k)
    deviation: NDArray  # (C, k)

    def __call__(self, values, codes, weights):
        k = values.shape[1]
        samples, fourths = np.zeros((len(self.mean), k, k)), np.zeros(len(self.mean))
        for c in np.unique(codes):
            rows = codes == c
            parts = scatter(values[rows], weights[rows], self.mean[c], self.deviation[c])
            samples[c], fourths[c] = parts
        return samples, fourths


@dataclass(frozen=True)
class _Slopes:
    standardization: Standardization
    factor: NDArray  # (C,): of the weights of each class
    coef: NDArray
    with_curvature: bool

    def __call__(self, values, codes, weights):
        design = np.hstack([np.ones((codes.size, 1)), self.standardization(values)])
        weights = weights * self.factor[codes]
        return logistic_sums(design, codes, weights, self.coef, self.with_curvature)


@dataclass(frozen=True)
class _Gram:
    standardization: Standardization
    factor: NDArray

    def __call__(self, values, codes, weights):
        design = np.hstack([np.ones((codes.size, 1)), self.standardization(values)])
        return ((design * (weights * self.factor[codes])[:, None]).T @ design,)


@dataclass(frozen=True)
class _Bumps:
    standardization: Standardization
    factor: NDArray
    landmarks: NDArray  # (L, k): standardised
    gamma: float

    def __call__(self, values, codes, weights):
        weights = weights * self.factor[codes]
        Z, n_classes = self.standardization(values), self.factor.size
        gammas = {0.0: self.gamma}
        return kernel_sums(Z, codes, weights, n_classes, self.landmarks, gammas)[0.0]


def fit_in_passes(
    run: Run,
    near: Head,
    values: tuple[float, ...],
    factor: NDArray,
    origin: NDArray,
) -> Head:
    """Fit a head on all rows.

    `run`: makes a pass; `near`: the head of a sample, of the same kind; `values`: its setting:
    nothing, the ridge, or the width and the ridge; `factor` (n_classes,): of the weights of each
    class; `origin` (k,): some value of each feature.
    """
    sizes, sums, squares = run(_Moments(factor.size, origin))
    seen = np.where(sizes > 0, sizes, 1.0)[:, None]
    means = sums / seen
    variances = np.maximum(squares / seen - means**2, 0.0)
    means = means + origin
    if not values:
        return _fit_lda(run, sizes, means, variances, factor)
    standardization = _standardization(sizes * factor, means, variances)
    if isinstance(near, KernelHead):
        bumps = standardization(near.landmarks * near.scale + near.center)
        gram, product = run(_Bumps(standardization, factor, bumps, near.width))
        among = landmark_kernels(bumps, {0.0: near.width})[0.0]
        return solve_kernel(gram, product, among, standardization, bumps, near.width, values[1])
    assert isinstance(near, LinearHead)
    return _fit_logistic(run, near, values[0], standardization, factor, float(sizes @ factor))


def _standardization(sizes, means, variances):
    """As `tamis.heads.head.standardize` of all rows."""
    share = sizes / sizes.sum()
    center = share @ means
    variance = share @ (variances + (means - center) ** 2)
    constant = variance <= (1e-12 * np.abs(center)) ** 2
    size = np.maximum(np.abs(center), 1.0)
    return Standardization(center, np.where(constant, size, np.sqrt(variance)))


def _fit_lda(run, sizes, means, variances, factor):
    unit = _standardization(sizes, means, variances).scale
    deviations = np.sqrt(variances)
    # A feature that is constant in a class keeps the units of all rows.
    deviations = np.where(deviations <= 1e-12 * np.abs(means), unit, deviations)
    samples, fourths = run(_Scatter(means, deviations))
    covariances = np.zeros_like(samples)
    for c in np.flatnonzero(sizes > 0):
        covariances[c] = shrink(samples[c], fourths[c], sizes[c], deviations[c] / unit)
    priors = sizes * factor / (sizes @ factor)
    return discriminate(means / unit, covariances, sizes, priors, unit)


def _fit_logistic(run, near, alpha, standardization, factor, total):
    slopes = near.coef * standardization.scale
    coef = np.column_stack([near.intercept + near.coef @ standardization.center, slopes])
    coef = np.where(np.isfinite(coef), coef, 0.0)
    coef = coef[1:] - coef[:1] if len(coef) == 2 else coef - coef.mean(axis=0)
    penalty = penalty_of(alpha, coef.shape[1], total)

    def sums(coef, with_curvature):
        return run(_Slopes(standardization, factor, coef, with_curvature))

    if coef.size > FEW:
        (gram,) = run(_Gram(standardization, factor))
        coef = minimize_logistic(sums, bound_curvature(gram, penalty), penalty, coef, 1e-6)
    else:
        coef = _descend(sums, penalty, coef)
    return in_units_of_X(coef, standardization)


def _descend(sums, penalty, coef):
    """Newton's method; a step that leads upwards is halved."""
    start, step, least = coef, None, np.inf
    for _ in range(_MOST_STEPS):
        value, slope, curvature = sums(coef, True)
        value += 0.5 * float((coef**2 @ penalty).sum())
        if value > least * (1 + 1e-12) and step is not None:
            step = step / 2
            coef = start + step
            continue
        matrix = curvature + np.diag(np.tile(penalty, len(coef)))
        step = -np.linalg.solve(matrix, (slope + penalty * coef).ravel()).reshape(coef.shape)
        start, least, coef = coef, value, coef + step
        if np.abs(step).max() < _SHORT:
            break
    return coef
