r"""Gaussian naive Bayes on a map, in closed form.

.. math:: \log p(c \mid z) = \log \pi_c - \tfrac12 \sum_j \Big( \log 2 \pi v_{cj} +
   \frac{(z_j - m_{cj})^2}{v_{cj}} \Big) + \text{const}

with means and variances of the training rows of each class. Variances are raised by 1e-9 of the
largest variance of a map's column, and by 1 if all columns are constant, so that a map that is
constant in a class (or everywhere) gives finite decisions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tamis._compile import compiled

__all__ = ["naive_bayes_decisions", "train_naive_bayes"]

_SMOOTHING = 1e-9


def train_naive_bayes(Z: NDArray, codes: NDArray, log_prior: NDArray) -> dict:
    """Means and variances of the classes, as a dict of arrays.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_landmarks)
        Map of the training rows.
    codes : ndarray of int of shape (n_samples,)
        Their classes.
    log_prior : ndarray of shape (n_classes,)
        Logarithms of the priors; -inf for a class without rows.
    """
    means, variances = _moments(Z, codes, log_prior.size)
    # Variances of values minus the first one: those of constant columns are exactly 0.
    floor = _SMOOTHING * (Z - Z[0]).var(axis=0).max()
    return {
        "means": means,
        "variances": variances + (floor if floor > 0 else 1.0),
        "log_prior": log_prior,
    }


def naive_bayes_decisions(model: dict, Z: NDArray) -> NDArray[np.float64]:
    """Log likelihood plus log prior, (n_samples, n_classes)."""
    return _decide(Z, model["means"], model["variances"], model["log_prior"])


@compiled
def _moments(Z, codes, n_classes):
    n, K = Z.shape
    count = np.zeros(n_classes)
    means = np.zeros((n_classes, K))
    variances = np.zeros((n_classes, K))
    for i in range(n):
        count[codes[i]] += 1.0
        for j in range(K):
            means[codes[i], j] += Z[i, j]
    for c in range(n_classes):
        for j in range(K):
            means[c, j] /= max(count[c], 1.0)
    for i in range(n):
        c = codes[i]
        for j in range(K):
            difference = Z[i, j] - means[c, j]
            variances[c, j] += difference * difference
    for c in range(n_classes):
        for j in range(K):
            variances[c, j] /= max(count[c], 1.0)
    return means, variances


@compiled
def _decide(Z, means, variances, log_prior):
    n, K = Z.shape
    C = log_prior.size
    out = np.empty((n, C))
    for c in range(C):
        base = 0.0
        for j in range(K):
            base += math.log(2.0 * math.pi * variances[c, j])
        for i in range(n):
            if log_prior[c] == -math.inf:
                out[i, c] = -math.inf
                continue
            total = 0.0
            for j in range(K):
                difference = Z[i, j] - means[c, j]
                total += difference * difference / variances[c, j]
            out[i, c] = log_prior[c] - 0.5 * (base + total)
    return out
