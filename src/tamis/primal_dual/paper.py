r"""Algorithm 1 of the paper as printed, for a fixed number of iterations.

For reproduction only: published selections depend on when it was stopped. Step lengths and
starting point are those of the authors' program, which divides X by its spectral norm; here the
steps are divided instead, so that the radius has the same meaning for both algorithms:

- W = 1 / \|X\| in every entry, Z = 1, mu = I at the start;
- tau = 4 / \|X\|^2, tau_mu = 1 / (4 sqrt(n) \|Y\|),
- sigma = 1 / (4 + tau_mu \|Y\|^2 / (1 + tau_mu rho / 4)).

With Huber's loss line 7 divides by 1 + sigma delta before truncating, and half the squared
Frobenius norm by 1 + sigma without truncating; fixed centers skip line 5.
"""

import numpy as np

from tamis.primal_dual.problem import Pair
from tamis.primal_dual.solver import Solution


def algorithm_1(problem, *, max_iter=30):
    """Yield the current iterate after each iteration, with its gap: not the best so far."""
    unit = problem.empty().value
    n_samples, n_features = problem.matrix.shape
    norm = np.sqrt(max(problem.squared_norm, 1e-300))
    largest = float(problem.class_sizes.max())
    tau = 4.0 / norm**2
    tau_mu = 0.25 / np.sqrt(n_samples * largest)
    sigma = 1.0 / 4.0
    if problem.rho is not None:
        sigma = 1.0 / (4.0 + tau_mu * largest / (1.0 + tau_mu * problem.rho / 4.0))

    W = np.full((n_features, problem.n_classes), 1.0 / norm)
    mu = problem.identity
    U = np.ones((n_samples, problem.n_classes))
    XW, G = problem.matrix.apply(W), problem.adjoint(U)
    for n_iter in range(1, max_iter + 1):
        W = problem.ball.project(W + tau * G)
        mu_old, XW_old, XW = mu, XW, problem.matrix.apply(W)
        if problem.rho is not None:
            pull = problem.rho * problem.identity - problem.class_sums(U)
            mu = (mu + tau_mu * pull) / (1.0 + tau_mu * problem.rho)
        R = problem.residual(2 * mu - mu_old, 2 * XW - XW_old)
        U = problem.loss.prox_conjugate(U + sigma * R, sigma)
        G = problem.adjoint(U)
        pair = Pair(problem.primal(W, mu, XW), problem.dual(U, G))
        yield Solution(pair, unit, n_iter)
