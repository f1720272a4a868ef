"""The loss of given panels, many at once: to full accuracy, unless it is known to be too large.

Newton's method from zero coefficients. The dual at every iterate is feasible once it is repaired,
so a panel whose bound passes the limit is dropped, mostly after one step. The few fits whose gap
stays open, such as those of separable classes with very unequal weights, are finished one by one,
with a line search.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis.panel.proof.duals import look, margins_of, normal_matrices
from tamis.panel.proof.problem import FitProblem

__all__ = ["fit_dual", "fit_panels"]

_MAX_ITER = 100
_TOL = 1e-12
# A fit with a larger gap, relative to its loss, is not finished.
_LARGEST_GAP = 1e-10
_MOST_HALVINGS = 60
_SMALLEST_CURVATURE = np.finfo(float).tiny
# By more than that, relative to the loss, no bound may be wrong.
_LARGEST_ERROR = 1e-9
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
    n_problems = len(problem.targets)
    coef = np.zeros((len(panels), n_problems, places.shape[1]))
    coef[:, :, -1] = problem.log_odds
    fitted = coef.copy()
    running = np.arange(len(panels))
    margins = np.broadcast_to(
        coef[:, :, -1:], (len(panels), n_problems, problem.weights.size)
    ).copy()
    objective = np.full(len(panels), np.inf)
    for turn in range(_MAX_ITER):
        seen = look(problem, margins)
        now, bound = _enclose(problem, places, penalty, coef, seen)
        if turn:
            # The gap says how far the loss can be from its least; rounding may stop it above 0.
            small = _TOL * now
            done = (now - bound <= small) | (np.abs(objective - now) <= 1e-14 * now)
            losses[running[done]], fitted[running[done]] = now[done], coef[done]
            for row in np.flatnonzero(done & (now - bound > _LARGEST_GAP * now)):
                one = slice(row, row + 1)
                finished = _finish(problem, places[one], penalty[one], coef[one])
                losses[running[row]], fitted[running[row]] = finished
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
        for row, place in enumerate(running):
            one = slice(row, row + 1)
            losses[place], fitted[place] = _finish(problem, places[one], penalty[one], coef[one])
    return losses, fitted


def _enclose(problem, places, penalty, coef, seen):
    """Objectives of fits, and dual bounds of their least values."""
    c = np.matmul(seen.dual, problem.columns[places].transpose(0, 2, 1))
    bound = seen.entropy - np.einsum("bca,ba->b", c**2, penalty > 0) / (2 * problem.ridge)
    return seen.loss + 0.5 * np.einsum("bca,ba->b", coef**2, penalty), bound


@np.errstate(over="ignore", invalid="ignore")  # a wild step is halved until it is none
def _finish(problem, places, penalty, coef):
    """Newton steps of one fit with a line search: its loss and coefficients."""
    least, best = np.inf, (np.inf, coef[0])
    margins = margins_of(problem, places, coef)
    for _ in range(_MAX_ITER):
        seen = look(problem, margins, _SMALLEST_CURVATURE)
        now, bound = (float(of[0]) for of in _enclose(problem, places, penalty, coef, seen))
        if now - bound < least:
            least, best = now - bound, (now, coef[0])
        if least <= _TOL * now:
            break
        step = _newton_step(problem, places, penalty, coef, seen)
        moves = margins_of(problem, places, step)
        share = _share(problem, penalty, coef, margins, step, moves)
        coef, margins = coef + share * step, margins + share * moves
    if not least <= _LARGEST_ERROR * best[0]:
        ratio = problem.weights.max() / problem.weights.min()
        raise ValueError(
            "The fit of a panel does not converge; the weights of rows and classes differ by a "
            f"factor of {ratio:.1g}. Weights that differ less, such as class_weight='balanced', "
            "are expected."
        )
    return best


def _share(problem, penalty, coef, margins, step, moves):
    """How far to go along the step of one fit.

    The objective is convex, so along a step its slope only grows, and halving an interval finds
    where it is nearly zero. Slopes tell more digits than objectives do.
    """

    def slope(share):
        seen = look(problem, margins + share * moves)
        ridge = np.einsum("bca,bca,ba->", step, coef + share * step, penalty)
        return ridge - np.vdot(seen.slope, moves)

    steepest, share, low, high = slope(0.0), 1.0, 0.0, np.inf
    for _ in range(_MOST_HALVINGS):
        here = slope(share)
        if abs(here) <= 0.5 * abs(steepest):
            break
        low, high = (share, high) if here < 0 else (low, share)
        share = 2.0 * share if high == np.inf else 0.5 * (low + high)
    return share


def _newton_step(problem, places, penalty, coef, seen):
    matrix = normal_matrices(problem, places, seen.curvature)
    a = places.shape[1]
    # Padding has neither products nor slopes; its penalty keeps the matrix regular.
    matrix.reshape(*matrix.shape[:2], a * a)[:, :, :: a + 1] += penalty[:, None, :]
    slope = np.matmul(seen.slope, problem.columns[places].transpose(0, 2, 1))
    slope -= penalty[:, None, :] * coef
    return np.linalg.solve(matrix, slope[..., None])[..., 0]
