"""The relaxed problem below a node, for many nodes at once: perspective weights and Newton steps.

Below a node, groups I are fixed in and m more are to come from the free ones. The relaxation gives
every free group a weight u_g in [0, 1], with sum m, and penalises it by ``ridge / (2 u_g)``; the
weights of I are 1. Its least value is the largest dual bound of the node. `improve` takes one
Newton step: it fits the quadratic model of the losses, whose matrices need no rows, and there
changes between coefficients (a ridge fit of ``sqrt(u) x``) and weights (the best ones are
proportional to the lengths of the coefficients, capped at 1).

Shapes: B nodes, C problems, g listed groups with a columns; arrays of groups (B, g).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_weights", "improve"]

_SMALLEST_WEIGHT = 1e-7


def improve(
    matrix: NDArray,
    target: NDArray,
    of: NDArray,
    ridge: float,
    weights: NDArray,
    inside: NDArray,
    free: NDArray,
    n_wanted: NDArray,
    n_rounds: int,
) -> tuple[NDArray, NDArray]:
    """Minimise the quadratic model over coefficients and weights.

    `matrix` (B, C, a, a), `target` (B, C, a): the model is ``v' matrix v / 2 - target' v``; `of`
    (B, a): as in `FitProblem.places`; `weights` (B, g): to begin with; `inside`, `free` (B, g);
    `n_wanted` (B,): how many free groups to select. Returns `coef` (B, C, a) and `weights`.
    """
    B, C, a = target.shape
    g = weights.shape[1]
    single = a - 1 == g and (of[:, :g] >= 0).all()
    spread = np.where(of >= 0, of, g)
    flat = np.arange(B)[:, None] * (g + 1) + spread
    weights = np.where(inside, 1.0, np.where(free, np.maximum(weights, _SMALLEST_WEIGHT), 0.0))
    diagonal = np.where(of == -2, 0.0, ridge)[:, None, :]
    for turn in range(n_rounds + 1):
        root = np.sqrt(weights)
        scale = np.ones((B, a))
        if single:
            scale[:, :g] = root
        else:
            scale[of >= 0] = np.take_along_axis(
                np.hstack([root, np.ones((B, 1))]), spread, axis=1
            )[of >= 0]
        scaled = matrix * scale[:, None, :, None]
        scaled *= scale[:, None, None, :]
        scaled.reshape(B, C, a * a)[:, :, :: a + 1] += diagonal
        coef = np.linalg.solve(scaled, (target * scale[:, None, :])[..., None])[..., 0]
        coef *= scale[:, None, :]
        if turn == n_rounds:
            return coef, weights
        squares = np.einsum("bca,bca->ba", coef, coef)
        if single:
            lengths = squares[:, :g]
        else:
            lengths = np.bincount(flat.ravel(), squares.ravel(), B * (g + 1))
            lengths = lengths.reshape(B, g + 1)[:, :g]
        # Lengths over weights are the |c|, equal at the optimum: twice the step that never fails
        # gets there sooner.
        longer = lengths / np.maximum(weights, _SMALLEST_WEIGHT)
        moved = best_weights(np.where(free, longer, 0.0), n_wanted)
        weights = np.where(inside, 1.0, np.where(free, np.maximum(moved, _SMALLEST_WEIGHT), 0.0))
    raise AssertionError


def best_weights(lengths: NDArray, n_wanted: NDArray) -> NDArray[np.float64]:
    """Weights proportional to lengths, at most 1, with a given sum.

    `lengths` (B, g), `n_wanted` (B,). They minimise the sum of ``lengths**2 / weights``. Returns
    `weights` (B, g); all 1 where no more are listed than wanted.
    """
    full = np.zeros(lengths.shape, dtype=bool)
    tiny = np.finfo(float).tiny
    while True:
        left = n_wanted - full.sum(axis=1)
        rest = np.where(full, 0.0, lengths).sum(axis=1)
        level = rest / np.maximum(left, tiny)
        more = ~full & (left > 0)[:, None] & (lengths > level[:, None])
        if not more.any():
            break
        full |= more
    share = np.where((left > 0)[:, None], lengths / np.maximum(level, tiny)[:, None], 0.0)
    return np.where(full, 1.0, np.minimum(share, 1.0))
