"""Temperature: calibrates probabilities."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

__all__ = ["fit_temperature"]


def fit_temperature(decisions: NDArray, codes: NDArray, weights: NDArray) -> float:
    """Temperature T that makes softmax(decisions / T) most likely for the true classes.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_classes)
        Out-of-fold decisions.
    codes : ndarray of shape (n_samples,)
        True classes.
    weights : ndarray of shape (n_samples,)
        Weight of each sample in the likelihood.

    Returns
    -------
    temperature : float
        Between 1/20 and 10^8; 1 if there are no samples to learn from.
    """
    usable = (weights > 0) & np.isfinite(decisions[np.arange(codes.size), codes])
    decisions, codes, weights = decisions[usable], codes[usable], weights[usable]
    if codes.size == 0:
        return 1.0
    # Decisions of the other classes minus that of the true one, one column each.
    true = np.arange(decisions.shape[1]) == codes[:, None]
    margins = (decisions[~true].reshape(codes.size, -1) - decisions[true][:, None]).T.copy()

    def loss(log_temperature, every=1):
        scaled = margins[:, ::every] / np.exp(log_temperature)
        total = np.zeros(scaled.shape[1])
        for column in scaled:
            total = np.logaddexp(total, column)
        mass = weights[::every]
        return float((mass * total).sum() / mass.sum())

    bounds = (np.log(0.05), np.log(1e8))
    # The likelihood is quasi-concave in T; a coarse grid first avoids its flat ends.
    # Some of the rows are enough for that, if their weight is.
    every = max(1, codes.size // 20_000)
    every = every if weights[::every].any() else 1
    grid = np.linspace(*bounds, 101)
    best = int(np.argmin([loss(t, every) for t in grid]))
    low, high = grid[max(best - 2, 0)], grid[min(best + 2, grid.size - 1)]
    result = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(result.x if result.fun <= loss(grid[best]) else grid[best]))
