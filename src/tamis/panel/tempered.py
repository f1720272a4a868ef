"""Log losses of out-of-fold decisions at their best temperatures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["tempered_losses"]

# Decisions that are worked on together: a block of them fits into the cache.
_BLOCK = 1 << 16
_MAX_ITER, _TOL = 60, 1e-6


def tempered_losses(
    decisions: NDArray, codes: NDArray, weights: NDArray, least: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log losses of several decisions of the same rows, each at its best temperature.

    Newton's method in the inverse temperature s, in which the loss
    ``sum_i w_i (logsumexp(s d_i) - s d_iy)`` is convex. Where the mean loss would fall below
    `least`, s is the smaller one at which it does not.

    `decisions` (n_heads, n_rows, n_classes): finite; `codes` (n_rows,): class indices; `weights`
    (n_rows,). Returns `losses` (n_heads, n_rows); `temperatures` (n_heads,).
    """
    losses, temperatures = np.empty(decisions.shape[:2]), np.empty(len(decisions))
    step = max(1, _BLOCK // max(1, decisions[0].size))
    for first in range(0, len(decisions), step):
        some = slice(first, first + step)
        ahead = np.ascontiguousarray(decisions[some].transpose(2, 0, 1))
        ahead -= np.take_along_axis(ahead, np.broadcast_to(codes, (1, *ahead.shape[1:])), axis=0)
        with np.errstate(over="ignore", invalid="ignore"):  # decisions may be as large as 1e300
            scale = _best_scale(ahead, weights)
            scale = _bounded(ahead, weights, scale, least * weights.sum())
            losses[some], temperatures[some] = _losses(ahead, scale), 1.0 / scale
    return losses, temperatures


def _best_scale(ahead, weights):
    """Best inverse temperatures (H,), of decisions minus those of the true class: (C, H, n)."""
    size = np.abs(ahead).max(axis=(0, 2))
    scale = np.ones(size.size)
    running = np.flatnonzero(size > 0)
    low, high = np.zeros(size.size), 1e4 / np.where(size > 0, size, 1.0)
    scale[running] = np.minimum(1.0, high[running] / 2)
    for _ in range(_MAX_ITER):
        if running.size == 0:
            break
        part = ahead if running.size == size.size else ahead[:, running]
        s = scale[running]
        slope, bend = _derivatives(part, weights, s)
        up = slope > 0
        high[running[up]], low[running[~up]] = s[up], s[~up]
        middle = 0.5 * (low[running] + high[running])
        new = np.where(bend > 0, s - slope / np.where(bend > 0, bend, 1.0), middle)
        new = np.where((low[running] < new) & (new < high[running]), new, middle)
        scale[running] = new
        running = running[~(np.abs(new - s) <= _TOL * s)]
    return np.where(size > 0, np.maximum(scale, 1e-3 / np.where(size > 0, size, 1.0)), 1.0)


def _derivatives(ahead, weights, scale):
    """First and second derivatives of the losses in the inverse temperatures."""
    chances = _exponentials(ahead, scale)[0]
    chances /= chances.sum(axis=0)
    chances *= ahead
    mean = chances.sum(axis=0)
    chances *= ahead
    return mean @ weights, (chances.sum(axis=0) - mean * mean) @ weights


def _exponentials(ahead, scale):
    """``exp(s d)``, divided by the largest of each row, and the logarithm of that."""
    scaled = ahead * scale[:, None]
    top = scaled.max(axis=0)
    scaled -= top
    return np.exp(scaled, out=scaled), top


def _losses(ahead, scale):
    chances, top = _exponentials(ahead, scale)
    return np.log(chances.sum(axis=0)) + top


def _bounded(ahead, weights, scale, least):
    """The scales, but smaller where the loss would be below `least`."""
    scale = scale.copy()
    running = np.flatnonzero(_losses(ahead, scale) @ weights < least)
    low, high = np.zeros(scale.size), scale.copy()
    while running.size:
        scale[running] = 0.5 * (low[running] + high[running])
        below = _losses(ahead[:, running], scale[running]) @ weights < least
        high[running[below]], low[running[~below]] = scale[running[below]], scale[running[~below]]
        running = running[high[running] - low[running] > 1e-9 * high[running]]
    return scale
