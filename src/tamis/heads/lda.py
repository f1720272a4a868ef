r"""Linear discriminant analysis whose covariance is shrunk as far as the rows demand.

With class means :math:`\mu_c` and covariances :math:`\Sigma_c`, the decision of class c is

.. math:: x^\top \Sigma^{-1} \mu_c - \tfrac12 \mu_c^\top \Sigma^{-1} \mu_c + \log \pi_c,
   \qquad \Sigma = \sum_c \pi_c \Sigma_c.

With equal priors :math:`\pi_c` every class has the same say, in the covariance too. Each
:math:`\Sigma_c` is shrunk towards its diagonal by the formula of Ledoit and Wolf, in units in
which the features of the class have variance one; a feature that is constant in the class keeps
the units of all rows. A weight of 2 counts as two rows. A class that a feature separates from the
others by far more than it varies could also have a row in the middle, which happened not to be
seen: the variance within the classes, :math:`\Sigma_{jj}`, is at least what one such row in each
of them would make it, :math:`\sum_c \pi_c (\mu_{cj} - m_j)^2 / n_c` with m the mean of the
:math:`\mu_c`. Without it decisions would be unbounded.
Shapes: X (n, k), coef (C, k).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis.heads.head import LinearHead, row_blocks, standardize

__all__ = ["discriminate", "fit_lda", "scatter", "shrink"]


def fit_lda(X: NDArray, codes: NDArray, weights: NDArray, priors: NDArray) -> LinearHead:
    """Fit linear discriminant analysis with shrinkage.

    `X` (n_samples, n_features): selected features, in any units. `codes` (n_samples,): class
    indices; a class without rows gets decisions of minus infinity. `weights` (n_samples,): sample
    weights. `priors` (n_classes,): probabilities of the classes.
    """
    n_features, n_classes = X.shape[1], priors.size
    unit = standardize(X, weights).scale
    means = np.zeros((n_classes, n_features))
    covariances = np.zeros((n_classes, n_features, n_features))
    sizes = np.bincount(codes, weights=weights, minlength=n_classes)
    for c in np.flatnonzero(sizes > 0):
        rows = np.flatnonzero((codes == c) & (weights > 0))
        means[c], covariances[c] = _shrunk_covariance(X, rows, weights, unit)
    return discriminate(means, covariances, sizes, priors, unit)


def discriminate(
    means: NDArray, covariances: NDArray, sizes: NDArray, priors: NDArray, unit: NDArray
) -> LinearHead:
    """Linear discriminants of classes whose means and shrunk covariances are known.

    `means` (n_classes, n_features), `covariances` (n_classes, n_features, n_features): in units of
    `unit` (n_features,); `sizes` (n_classes,): sums of the sample weights; 0 for a class that gets
    decisions of minus infinity; `priors` (n_classes,).
    """
    seen, n_features = sizes > 0, unit.size
    covariance = np.tensordot(priors[seen], covariances[seen], 1) / priors[seen].sum()
    center = means[seen].mean(axis=0)
    shares = priors[seen] / (priors[seen].sum() * np.maximum(sizes[seen], 1.0))
    variance = np.maximum(covariance.diagonal(), shares @ (means[seen] - center) ** 2)
    covariance[np.diag_indices(n_features)] = variance
    scale = np.sqrt(covariance.diagonal())
    scale[scale == 0] = 1.0
    scaled = covariance / np.outer(scale, scale)
    # A constant feature must not divide by zero.
    scaled[np.diag_indices(n_features)] += 1e-9
    coef = np.linalg.solve(scaled, ((means - center) / scale).T).T / scale
    intercept = -0.5 * np.einsum("ck,ck->c", coef, means - center) - coef @ center
    with np.errstate(divide="ignore"):
        intercept += np.log(priors)
    intercept[~seen] = -np.inf
    coef[~seen] = 0.0
    return LinearHead(coef / unit, intercept)


def _shrunk_covariance(X, rows, weights, unit):
    """Mean and covariance of one class's rows, in the given units."""

    def blocks():
        for some in row_blocks(rows.size, X.shape[1]):
            yield X[rows[some]] / unit, weights[rows[some]]

    total, k = weights[rows].sum(), X.shape[1]
    mean = sum(w @ part for part, w in blocks()) / total
    deviation = np.sqrt(sum(w @ (part - mean) ** 2 for part, w in blocks()) / total)
    # The mean of equal values is rounded, so their deviation may not be 0.
    deviation[deviation <= 1e-12 * np.abs(mean)] = 1.0
    sample, fourth = np.zeros((k, k)), 0.0
    for part, w in blocks():
        of_block = scatter(part, w, mean, deviation)
        sample += of_block[0]
        fourth += of_block[1]
    return mean, shrink(sample, fourth, total, deviation)


def scatter(
    X: NDArray, weights: NDArray, mean: NDArray, deviation: NDArray
) -> tuple[NDArray[np.float64], float]:
    """Sums over rows of one class: products of standardised features, and fourth powers."""
    Z = (X - mean) / deviation
    return (Z * weights[:, None]).T @ Z, float(weights @ (Z**2).sum(axis=1) ** 2)


def shrink(
    sample: NDArray, fourth: float, total: float, deviation: NDArray
) -> NDArray[np.float64]:
    """Covariance of a class, shrunk by the formula of Ledoit and Wolf, from sums over its rows.

    `sample` (n_features, n_features), `fourth`: from `scatter`; `total`: weight of the rows;
    `deviation` (n_features,): units of `sample`.
    """
    k = deviation.size
    if k == 0:
        return np.empty((0, 0))
    sample = sample / total
    level = np.trace(sample) / k
    square = (sample**2).sum()
    distance = (square - 2 * level * np.trace(sample) + k * level**2) / k
    noise = (fourth / total - square) / (k * total)
    noise = min(max(noise, 0.0), distance)
    shrinkage = 0.0 if noise == 0 else noise / distance
    shrunk = (1 - shrinkage) * sample
    shrunk[np.diag_indices(k)] += shrinkage * level
    return shrunk * np.outer(deviation, deviation)
