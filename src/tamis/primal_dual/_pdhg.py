r"""The primal-dual hybrid gradient method, reflected, anchored and restarted: for every loss.

One step T of Chambolle and Pock, the paper's Algorithm 1 with its own step lengths for W and for
mu, written for Z / s:

- :math:`W^+ = \operatorname{proj}(W + \tau X^T Z)`,
  :math:`\mu^+ = (\mu + \tau_\mu (\rho I - Y^T Z)) / (1 + \tau_\mu \rho)`
- :math:`U^+ = \operatorname{prox}_{\sigma h^*}(U + \sigma (Y (2\mu^+ - \mu) - X (2W^+ - W)))`

It converges when :math:`\sigma (\tau \|X\|^2 + \tau_\mu \|Y\|^2) \le 1`, norms weighted by s. It
is fast on piecewise linear problems thanks to ideas from solvers for linear programs that followed
PDLP (Applegate et al., 2021): each point is the reflection 2T(z) - z drawn towards an anchor with
weight 1 / (n + 1) (Halpern's iteration: Lu and Yang, 2024); the anchor moves to T(z) when the
fixed-point residual has dropped enough; and the balance of the step lengths is then set by the
distances that W and U have moved.

Products are linear, so each iteration needs one product with X and one with X', and the gap of
each point T(z) comes with them.
"""

from dataclasses import dataclass

import numpy as np

from tamis._array import inner
from tamis.primal_dual._restarts import Restarts


@dataclass(frozen=True)
class _Point:
    """Variables and their products; a linear space."""

    W: np.ndarray
    mu: np.ndarray
    U: np.ndarray
    XW: np.ndarray
    G: np.ndarray

    def mix(self, other, anchor, own, others, anchors):
        return _Point(
            *(
                own * a + others * b + anchors * c
                for a, b, c in zip(self._all(), other._all(), anchor._all(), strict=True)
            )
        )

    def _all(self):
        return self.W, self.mu, self.U, self.XW, self.G


def pdhg(problem, pair):
    """Yield successively better pairs, one per iteration; the caller decides when to stop."""
    primal, dual = pair.primal, pair.dual
    point = anchor = _Point(primal.W, primal.mu, dual.U, primal.XW, dual.G)
    balance = 1.0  # the root of sigma / (tau ||X||^2)
    restarts = Restarts()
    while True:
        following, residual = _step(problem, point, balance)
        better = problem.primal(following.W, following.mu, following.XW)
        pair = pair.better(better, problem.dual(following.U, following.G))
        yield pair

        if restarts.restarts_at(residual):
            balance = _rebalance(problem, balance, following, anchor)
            point = anchor = following
        else:
            share = restarts.anchor_weight
            point = following.mix(point, anchor, 2 * (1 - share), -(1 - share), share)


def _step(problem, z, balance):
    """T(z), and the residual of z in the norm in which T is averaged."""
    norm = np.sqrt(max(problem.squared_norm, 1e-300))
    sigma = float(balance / norm)
    half = 1.0 if problem.rho is None else 0.5
    tau = half / (balance * norm)
    W = problem.ball.project(z.W + tau * z.G)
    XW = problem.matrix.apply(W)
    mu = z.mu
    squares = 0.0
    if problem.rho is not None:
        sizes = np.maximum(problem.class_sizes, 1e-300)[:, None]
        tau_mu = 0.5 / (sigma * sizes)
        pull = problem.rho * problem.identity - problem.class_sums(z.U)
        mu = (z.mu + tau_mu * pull) / (1.0 + tau_mu * problem.rho)
        squares = np.sum((mu - z.mu) ** 2 / tau_mu)
    R = problem.residual(2 * mu - z.mu, 2 * XW - z.XW)
    U = problem.loss.prox_conjugate(z.U + sigma * R, sigma)
    G = problem.adjoint(U)
    dU = problem.weights[:, None] * (U - z.U)
    squares += np.sum((W - z.W) ** 2) / tau + inner(dU, U - z.U) / sigma
    crossed = inner(dU, problem.residual(mu - z.mu, XW - z.XW))
    return _Point(W, mu, U, XW, G), np.sqrt(max(squares - 2 * crossed, 0.0))


def _rebalance(problem, balance, point, anchor):
    """Balance from the distances moved since the anchor, half way on the log scale."""
    # The distance of the centers counts too: W may have converged while they have not.
    norm = max(problem.squared_norm, 1e-300)
    gone = np.sum((point.W - anchor.W) ** 2)
    gone += np.sum(problem.class_sizes[:, None] * (point.mu - anchor.mu) ** 2) / norm
    gone = np.sqrt(gone)
    dU = point.U - anchor.U
    dual_gone = np.sqrt(inner(problem.weights[:, None] * dU, dU))
    if gone <= 1e-150 or dual_gone <= 1e-150:
        return balance
    return float(np.sqrt(balance * dual_gone / gone))
