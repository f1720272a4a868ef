"""`_fista` for large data on a device, which the host looks at every ten iterations only.

Nothing in an iteration waits for a number on the host. What is a branch there is a choice between
arrays here: the trial of the step length (a step that was too long is repeated with half the
length by the next iteration), and the restart. The projection sorts: with the sizes in descending
order, the level that they shrink by is the largest of ``(sum of the first j - radius) / j``. After
ten iterations the pair is measured, and a Newton step may follow.
"""

import numpy as np

from tamis._array import clip, from_host, namespace, square_rows, to_host
from tamis.primal_dual._newton import NewtonSteps
from tamis.primal_dual._restarts import SHORTEST
from tamis.primal_dual.problem import Primal

# Iterations between two looks.
_STRIDE = 10
# For fewer values, calls take longer than products with them, and Newton steps should come sooner.
_LEAST_VALUES = 100_000_000


def can_stay_there(problem):
    """Whether this method can solve the problem, and pays."""
    matrix, ball = problem.matrix, problem.ball
    is_large = matrix.is_on_device and np.prod(matrix.shape) >= _LEAST_VALUES
    return is_large and problem.loss.is_smooth and ball.groups is not None


def device_fista(problem, pair, limit):
    """Yield successively better pairs and the number of iterations that each took."""
    loop, newton = _Loop(problem, pair.primal), NewtonSteps(problem)
    while limit > 0:
        n_iter = int(min(_STRIDE, limit))
        limit -= n_iter
        for _ in range(n_iter):
            loop.advance()
        current = loop.primal()
        better, pair = newton.take(current, pair.better(current, loop.dual()), n_iter)
        if better is not None:
            loop.start(better)
        yield pair, n_iter


class _Loop:
    """The state of the iteration, all of it on the device; a point is (W, mu, residual)."""

    def __init__(self, problem, start):
        self.problem, self.xp = problem, namespace(problem.matrix.X)
        loss, ball = problem.loss, problem.ball
        self.of_W = max(problem.rough_squared_norm, 1e-300) / loss.curvature
        self.of_mu = self._there(problem.class_sizes[:, None] / loss.curvature)
        self.identity = self._there(problem.identity)
        self.radius = float(ball.radius)
        self.rho = None if problem.rho is None else float(problem.rho)
        n_sizes = start.W.size if ball.groups == "entries" else len(start.W)
        self.counts = self._there(np.arange(1.0, n_sizes + 1))
        self.one = self.factor = self._there(np.ones(1))
        self.start(start)

    def _there(self, values):
        return from_host(values, self.problem.matrix.X)

    def start(self, primal):
        """Start again from a point."""
        W, mu = self._there(primal.W), self._there(primal.mu)
        self.current = self.previous = W, mu, self.problem.residual(primal.mu, primal.XW)
        self.momentum = self.one

    def advance(self):
        """Take one accelerated step, or make the next one shorter."""
        problem, xp = self.problem, self.xp
        following = self._next(self.momentum)
        weight = (self.momentum - 1.0) / following
        W, mu, R = (c + weight * (c - p) for c, p in zip(self.current, self.previous, strict=True))
        self.U = problem.loss.gradient(R)
        self.G = problem.matrix.adjoint_there(problem.weights[:, None] * self.U)
        of_W, new_mu, gain = self.factor * self.of_W, mu, 0.0
        if self.rho is not None:
            slope = problem.class_sums_there(self.U) + self.rho * (mu - self.identity)
            of_mu = self.factor * self.of_mu + self.rho
            move = slope / of_mu
            new_mu, gain = mu - move, 0.5 * xp.sum(slope * move)
        new_W = self._project(W + self.G / of_W)
        new_R = problem.indicator @ new_mu - problem.matrix.apply(new_W)
        dW, value = new_W - W, self._value(mu, R)
        model = value - xp.sum(self.G * dW) + 0.5 * of_W * xp.sum(dW * dW) - gain
        fits = self._value(new_mu, new_R) <= model + problem.matrix.rounding * xp.abs(value)
        uphill = -of_W * xp.sum(dW * (new_W - self.current[0]))
        if self.rho is not None:
            uphill = uphill + xp.sum(slope * (new_mu - self.current[1]))

        def choose(new, old):
            return tuple(xp.where(fits, n, o) for n, o in zip(new, old, strict=True))

        self.previous = choose(self.current, self.previous)
        self.current = choose((new_W, new_mu, new_R), self.current)
        fresh = xp.where(uphill > 0, self._next(self.one), following)
        longer = clip(0.97 * self.factor, 0.02, None)
        shorter = xp.where(self.factor > SHORTEST, self.one, 2 * self.factor)
        self.momentum, self.factor = choose((fresh, longer), (self.momentum, shorter))

    def _next(self, momentum):
        return 0.5 * (1.0 + self.xp.sqrt(1.0 + 4.0 * momentum * momentum))

    def _value(self, mu, R):
        """The objective, on the device."""
        value = self.problem.weights @ self.problem.loss.of_rows(R)
        if self.rho is None:
            return value
        away = self.identity - mu
        return value + 0.5 * self.rho * self.xp.sum(away * away)

    def _project(self, V):
        """The closest matrix of the ball, up to rounding."""
        xp, rows = self.xp, self.problem.ball.groups == "rows"
        sizes = xp.sqrt(square_rows(V)) if rows else xp.abs(V)
        ordered = xp.sort(xp.reshape(sizes, (-1,)), descending=True)
        level = xp.max((xp.cumulative_sum(ordered) - self.radius) / self.counts)
        left = clip(sizes - clip(level, 0.0, None), 0.0, None)
        share = left / xp.where(sizes > 0, sizes, xp.ones_like(sizes))
        return V * (share[:, None] if rows else share)

    def primal(self):
        """The present point, in the ball for certain."""
        problem, (W, mu, R) = self.problem, self.current
        W, XW, mu = problem.ball.project(to_host(W)), problem.indicator @ mu - R, to_host(mu)
        return Primal(W, mu, XW, problem.objective(R, mu))

    def dual(self):
        """The dual point of the last gradient."""
        return self.problem.dual(self.U, to_host(self.G))
