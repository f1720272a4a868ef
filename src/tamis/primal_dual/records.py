"""The fitted attributes of one radius, as a plain dictionary."""

import numpy as np

from tamis._array import to_host
from tamis.primal_dual.balls import used_rows

_ROUNDING = 1e-12


def record_of(data, problem, solution, n_samples, *, keep_dual=True, dispersion=None):
    """The fitted attributes of a solution; weights as their non-zero rows.

    Returns `record`: names that end in an underscore are attributes of a classifier; "selected"
    are the features with non-zero rows, "rows" these rows, and "size" what the ball makes small.
    """
    primal, dual = solution.pair.primal, solution.pair.dual
    if abs(solution.unit - primal.value) <= _ROUNDING * solution.unit:
        primal, dispersion = problem.empty(), None  # the rest of W is rounding
    selected = np.flatnonzero(used_rows(primal.W))
    gap = float(max(primal.value - dual.value, 0.0))
    record = {
        "radius": float(problem.ball.radius),
        "size": int(problem.ball.level(primal.W)),
        "selected": selected,
        "rows": primal.W[selected],
        "centers_": primal.mu.copy(),
        "objective_": float(primal.value),
        "gap_": gap,
        "relative_gap_": float(gap / solution.unit),
        "dispersion_": problem.dispersion(primal) if dispersion is None else dispersion,
        "temperature_": 1.0,
        "n_iter_": int(solution.n_iter),
    }
    if keep_dual:
        # |Z| <= s must hold after rounding too.
        bound = problem.loss.bound
        Z = np.clip(dual.factor * to_host(dual.U), -bound, bound) * data.weights[:, None]
        record["dual_"] = np.zeros((n_samples, data.n_classes))
        record["dual_"][data.rows] = Z
    return record
