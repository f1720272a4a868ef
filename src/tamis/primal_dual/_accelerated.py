"""Accelerated projected gradients over blocks of rows, with one pass per iteration.

The iteration of `_fista`, but nothing of the size of the data is on this side: a pass evaluates
the present point, which is in the ball, and the extrapolated one, whose gradient gives the next
step and a dual point. Step lengths start from a power iteration; a step that turns out too long is
repeated, which costs a pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._passes import Passes
from tamis.primal_dual._restarts import Restarts
from tamis.primal_dual.block_tasks import Evaluate, Square, add
from tamis.primal_dual.problem import BallProblem

_POWER_STEPS = 5

Point = tuple[NDArray, NDArray]


@dataclass
class Descent:
    """The state of the iteration."""

    point: Point  # W and mu with the smallest objective
    value: float  # the objective there
    source: Point  # W and mu whose gradient is the best dual point
    bound: float  # value of this dual point
    n_passes: int  # passes so far

    @property
    def gap(self) -> float:
        """Upper bound of the distance from the optimum."""
        return self.value - self.bound


def descend(problem: BallProblem, blocks: Passes, start: Point, aim: float, limit: int) -> Descent:
    """Iterate until the gap is at most `aim`, or for `limit` passes.

    `problem`: its loss, which must be smooth, its ball, rho and class sizes are used.
    """
    loss, rho, identity = problem.loss, problem.rho, problem.identity
    norm, n_passes = _squared_norm(blocks, start[0].shape[0])
    of_W = max(norm, 1e-300) / loss.curvature
    of_mu = problem.class_sizes[:, None] / loss.curvature
    factor, restarts = 1.0, Restarts()
    best = Descent(start, np.inf, start, -np.inf, n_passes)
    current = previous = ahead = start
    step: Any = None

    def center_cost(mu):
        return 0.0 if rho is None else 0.5 * rho * float(np.sum((identity - mu) ** 2))

    while best.gap > aim and best.n_passes < limit:
        sums = blocks.run(Evaluate(loss, current, ahead), add)
        assert sums is not None
        best.n_passes += 1
        value = sums.value + center_cost(current[1])
        if step is not None and value > step.model + 1e-12 * abs(value):
            factor *= 2.0
            current = step.take(factor)
            ahead = current
            continue
        if value < best.value:
            best.point, best.value = current, value
        _, bound = problem.best_multiple(sums.class_sums, sums.conjugate, sums.largest, sums.G)
        if bound > best.bound:
            best.source, best.bound = ahead, bound
        factor = max(0.97 * factor, 0.02) if step is not None else factor
        slope = 0.0 if rho is None else sums.class_sums + rho * (ahead[1] - identity)
        value = sums.ahead + center_cost(ahead[1])
        step = _Step(problem, ahead, value, sums.G, slope, of_W, of_mu)
        previous, current = current, step.take(factor)
        if step.is_uphill(previous):
            restarts.restart()
        restarts.advance()
        weight = restarts.extrapolation
        ahead = tuple(c + weight * (c - p) for c, p in zip(current, previous, strict=True))
    return best


class _Step:
    """A projected gradient step from a point, of any length."""

    def __init__(self, problem, origin, value, G, slope, of_W, of_mu):
        self.problem, self.origin, self.value = problem, origin, value
        self.G, self.slope, self.of_W, self.of_mu = G, slope, of_W, of_mu

    def take(self, factor):
        """The new point, for a curvature of `factor` times the guess; sets `model`."""
        (W, mu), rho = self.origin, self.problem.rho
        of_W = factor * self.of_W
        of_mu = factor * self.of_mu + (0.0 if rho is None else rho)
        new_W = self.problem.ball.project(W + self.G / of_W)
        new_mu = mu if rho is None else mu - self.slope / of_mu
        self.dW, self.dmu = new_W - W, new_mu - mu
        self.lengths = of_W, of_mu
        self.model = self.value - np.vdot(self.G, self.dW) + np.sum(self.slope * self.dmu)
        self.model += 0.5 * (of_W * np.vdot(self.dW, self.dW) + np.sum(of_mu * self.dmu**2))
        self.new = new_W, new_mu
        return self.new

    def is_uphill(self, previous):
        """Whether the momentum from the previous point leads uphill."""
        of_W, of_mu = self.lengths
        uphill = of_W * np.vdot(-self.dW, self.new[0] - previous[0])
        return uphill + np.sum(of_mu * -self.dmu * (self.new[1] - previous[1])) > 0


def _squared_norm(blocks, n_features):
    """A rough lower estimate of the largest eigenvalue of X' diag(s) X, and the passes it took."""
    v, value, n_passes = np.ones(n_features) + np.arange(n_features) % 3, 1.0, 0
    while n_passes < _POWER_STEPS and value > 0:
        v = blocks.run(Square(v / value), add)
        value = float(np.linalg.norm(v))
        n_passes += 1
    return value, n_passes
