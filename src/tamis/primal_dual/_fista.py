"""Accelerated projected gradients for smooth losses, with Newton steps when they pay.

FISTA (Beck and Teboulle, 2009) on (W, mu) jointly, each block with its own step length, both
shortened together by backtracking, restarted where the momentum points uphill (O'Donoghue and
Candes, 2015). Its gradient at the extrapolated point is a dual point, so each iteration gives a
certificate at the cost of two products with X. When the face of the ball has stayed the same for a
while, Newton steps on it (`_newton`) finish the work.
"""

import numpy as np

from tamis.primal_dual._newton import NewtonSteps
from tamis.primal_dual._restarts import SHORTEST, Restarts


def fista(problem, pair):
    """Yield successively better pairs, one per iteration; the caller decides when to stop."""
    steps, newton = _Steps(problem), NewtonSteps(problem)
    current = previous = pair.primal
    restarts = Restarts()
    while True:
        following, dual, uphill = steps.descend(current, previous, restarts.extrapolation)
        if uphill:
            restarts.restart()
        restarts.advance()
        previous, current = current, following
        better, pair = newton.take(current, pair.better(current, dual))
        if better is not None:
            previous = current = better
            restarts.restart()
        yield pair


class _Steps:
    """Projected gradient steps with two blocks and backtracking."""

    def __init__(self, problem):
        self.problem = problem
        curvature = problem.loss.curvature
        # Backtracking corrects too small a guess.
        self.of_W = max(problem.rough_squared_norm, 1e-300) / curvature
        self.of_mu = problem.class_sizes[:, None] / curvature
        self.factor = 1.0

    def descend(self, current, previous, weight):
        """One accelerated step: the next point, the dual point, and whether to restart."""
        problem = self.problem
        W = current.W + weight * (current.W - previous.W)
        mu = current.mu + weight * (current.mu - previous.mu)
        XW = current.XW + weight * (current.XW - previous.XW)
        R = problem.residual(mu, XW)
        U = problem.loss.gradient(R)
        dual = problem.dual(U, G := problem.adjoint(U))
        value = problem.objective(R, mu)
        slope = 0.0
        if problem.rho is not None:
            slope = problem.class_sums(U) + problem.rho * (mu - problem.identity)
        while True:
            of_W = self.factor * self.of_W
            new_W = problem.ball.project(W + G / of_W)
            new_mu, of_mu = mu, 0.0
            if problem.rho is not None:
                of_mu = self.factor * self.of_mu + problem.rho
                new_mu = mu - slope / of_mu
            new = problem.primal(new_W, new_mu)
            dW, dmu = new_W - W, new_mu - mu
            model = value - np.vdot(G, dW) + 0.5 * of_W * np.vdot(dW, dW)
            model += np.sum(slope * dmu) + 0.5 * np.sum(of_mu * dmu**2)
            if new.value <= model + problem.matrix.rounding * abs(value):
                break
            self.factor *= 2.0
            if self.factor > SHORTEST:
                self.factor = 1.0
                break
        self.factor = max(0.97 * self.factor, 0.02)
        uphill = of_W * np.vdot(W - new_W, new_W - current.W)
        uphill += np.sum(of_mu * (mu - new_mu) * (new_mu - current.mu))
        return new, dual, uphill > 0
