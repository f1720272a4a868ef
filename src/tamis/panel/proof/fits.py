"""The loss of given panels, many at once: to full accuracy, unless it is known to be too large.

Newton's method from zero coefficients. The dual at every iterate is feasible once it is repaired,
so a panel whose bound passes the limit is dropped, mostly after one step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis.panel.proof.duals import look, margins_of, normal_matrices
from tamis.panel.proof.problem import FitProblem

__all__ = ["fit_dual", "fit_panels"]

_MAX_ITER = 100
_TOL = 1e-12
_LARGEST_MOVE = 6.0
# Values of the rows that are worked on together.
_BLOCK = 1 << 17


def fit_panels(problem: FitProblem, panels: NDArray, limit: float) -> NDArray[np.float64]:
    """Loss F of each panel.

    `panels` (L, k): groups; `limit`: panels with a larger loss are not needed. Returns `losses`
    (L,): infinite for panels that are known to exceed the limit.
    """
    losses = np.full(len(panels), np.inf)
    n_values = problem.weights.size * max(len(problem.targets), 1 + panels.shape[1])
    step = max(1, _BLOCK // n_values)
    for first in range(0, len(panels), step):
        some = slice(first, first + step)
        losses[some] = _fit(problem, panels[some], limit)[0]
    return losses


def fit_dual(problem: FitProblem, panel: tuple[int, ...]) -> NDArray[np.float64]:
    """The feasible dual (C, n) of a fitted panel."""
    panels = np.array([panel], dtype=np.intp).reshape(1, -1)
    coef = _fit(problem, panels, np.inf)[1]
    return look(problem, margins_of(problem, problem.places(panels)[0], coef)).dual[0]


def _fit(problem, panels, limit):
    losses = np.full(len(panels), np.inf)
    places, of = problem.places(panels)
    penalty = np.where(of == -2, 0.0, problem.ridge)
    share = problem.targets @ problem.weights / problem.weights.sum()
    coef = np.zeros((len(panels), len(share), places.shape[1]))
    coef[:, :, -1] = np.log(share / (1.0 - share))
    fitted = coef.copy()
    running = np.arange(len(panels))
    margins = np.broadcast_to(
        coef[:, :, -1:], (len(panels), len(share), problem.weights.size)
    ).copy()
    objective = np.full(len(panels), np.inf)
    for turn in range(_MAX_ITER):
        seen = look(problem, margins)
        ridge = 0.5 * np.einsum("bca,ba->b", coef**2, penalty)
        now = seen.loss + ridge
        if turn:
            gathered = problem.columns[places]
            c = np.matmul(seen.dual, gathered.transpose(0, 2, 1))
            bound = seen.entropy - np.einsum("bca,ba->b", c**2, penalty > 0) / (2 * problem.ridge)
            # The gap says how far the loss can be from its least; rounding may stop it above 0.
            small = _TOL * now
            done = (now - bound <= small) | (np.abs(objective - now) <= 1e-14 * now)
            losses[running[done]], fitted[running[done]] = now[done], coef[done]
            going = ~done & (bound <= limit)
            if not going.all():
                running, places, penalty = running[going], places[going], penalty[going]
                coef, margins, now = coef[going], margins[going], now[going]
                seen = type(seen)(*(part[going] for part in seen))
                if running.size == 0:
                    break
        objective = now
        step = _newton_step(problem, places, penalty, coef, seen)
        moves = margins_of(problem, places, step)
        longest = np.abs(moves).max(axis=2)
        share = np.minimum(1.0, _LARGEST_MOVE / np.maximum(longest, 1e-300))[..., None]
        coef = coef + share * step
        margins = margins + share * moves
    else:
        losses[running], fitted[running] = now, coef
    return losses, fitted


def _newton_step(problem, places, penalty, coef, seen):
    matrix = normal_matrices(problem, places, seen.curvature)
    a = places.shape[1]
    # Padding has neither products nor slopes; its penalty keeps the matrix regular.
    matrix.reshape(*matrix.shape[:2], a * a)[:, :, :: a + 1] += penalty[:, None, :]
    slope = np.matmul(seen.slope, problem.columns[places].transpose(0, 2, 1))
    slope -= penalty[:, None, :] * coef
    return np.linalg.solve(matrix, slope[..., None])[..., 0]
