r"""Gaussian naive Bayes on a map, in closed form.

.. math:: \log p(c \mid z) = \log \pi_c - \tfrac12 \sum_j \Big( \log 2 \pi v_{cj} +
   \frac{(z_j - m_{cj})^2}{v_{cj}} \Big) + \text{const}

with means and variances of the training rows of each class. Variances are raised by 1e-9 of the
largest variance of a map's column, and by 1 if all columns are constant, so that a map that is
constant in a class (or everywhere) gives finite decisions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SMOOTHING = 1e-9


def train_naive_bayes(Z: NDArray, codes: NDArray, log_prior: NDArray) -> dict:
    """Means and variances of the classes, as a dict of arrays.

    `Z` (n_samples, n_landmarks): map of the training rows. `codes` (n_samples,): their classes.
    `log_prior` (n_classes,): logarithms of the priors; -inf for a class without rows.
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


def _moments(Z, codes, n_classes):
    """Means and variances of the classes; 0 for a class without rows."""
    means, variances = np.zeros((2, n_classes, Z.shape[1]))
    order = np.argsort(codes, kind="stable")
    present, starts, count = np.unique(codes[order], return_index=True, return_counts=True)
    rows, count = Z[order], count[:, None]
    means[present] = np.add.reduceat(rows, starts, axis=0) / count
    rows -= means[codes[order]]
    rows *= rows
    variances[present] = np.add.reduceat(rows, starts, axis=0) / count
    return means, variances


def _decide(Z, means, variances, log_prior):
    out = np.full((Z.shape[0], log_prior.size), -np.inf)
    for c in np.flatnonzero(log_prior > -np.inf):
        base = np.log(2.0 * np.pi * variances[c]).sum()
        difference = Z - means[c]
        difference *= difference
        out[:, c] = log_prior[c] - 0.5 * (base + (difference / variances[c]).sum(axis=1))
    return out
