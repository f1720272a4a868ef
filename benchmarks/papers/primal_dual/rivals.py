"""FISTA and ADMM on the whole problem, written plainly, and the time to a certified gap.

For the benchmark only: both know neither working sets nor restarts. Weights must be 1.
"""

from time import process_time

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tamis.primal_dual.paper import algorithm_1
from tamis.primal_dual.problem import Pair
from tamis.primal_dual.solver import solve

# Iterations of ADMM between two looks at the gap, which costs it two products more.
_ADMM_STRIDE = 10


def fista(problem):
    """Yield pairs: accelerated projected gradients on (W, mu) with one constant step."""
    lipschitz = (problem.squared_norm + problem.class_sizes.max()) / problem.loss.curvature
    step = 1.0 / (lipschitz + problem.rho)
    point = problem.empty()
    W, mu, XW = point.W, point.mu, point.XW
    momentum = 1.0
    while True:
        U = problem.loss.gradient(problem.residual(mu, XW))
        dual = problem.dual(U)
        slope = problem.class_sums(U) + problem.rho * (mu - problem.identity)
        new = problem.primal(problem.ball.project(W + step * dual.G), mu - step * slope)
        yield Pair(new, dual)
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        weight = (momentum - 1.0) / following
        W = new.W + weight * (new.W - point.W)
        mu = new.mu + weight * (new.mu - point.mu)
        XW = new.XW + weight * (new.XW - point.XW)
        point, momentum = new, following


def admm(problem, *, penalty=1.0):
    """Yield pairs: R = Y mu - X W and V = W split off, one Cholesky factor of n x n.

    `penalty` is that of the residual; the one of V = W is scaled by the mean square of X's
    singular values.
    """
    X = problem.matrix.X
    n_samples, n_features = X.shape
    tie = penalty * float(np.einsum("ij,ij->", X, X)) / min(X.shape)
    Y = (problem.codes[:, None] == np.arange(problem.n_classes)).astype(float)
    # (mu, W) given R and V: ridge regression, by the matrix inversion lemma.
    of_mu, of_W = penalty / problem.rho, penalty / tie
    factor = cho_factor(np.eye(n_samples) + of_mu * (Y @ Y.T) + of_W * (X @ X.T))
    R = Y.copy()
    V = np.zeros((n_features, problem.n_classes))
    A, B = np.zeros_like(R), np.zeros_like(V)
    n_iter = 0
    while True:
        n_iter += 1
        start = V - B
        shift = cho_solve(factor, R - A - Y + X @ start)
        mu = problem.identity + of_mu * (Y.T @ shift)
        W = start - of_W * (X.T @ shift)
        fitted = Y @ mu - X @ W
        R = problem.loss.prox(fitted + A, 1.0 / penalty)
        V = problem.ball.project(W + B)
        A += fitted - R
        B += W - V
        if n_iter % _ADMM_STRIDE == 0:
            yield Pair(problem.primal(V, mu), problem.dual(penalty * A))


def printed(problem):
    """Yield pairs of Algorithm 1."""
    for solution in algorithm_1(problem, max_iter=10**9):
        yield solution.pair


def fast(problem):
    """Yield pairs of the fast solver, its norms and working sets included."""
    for solution in solve(problem, tol=1e-12, max_iter=10**9):
        yield solution.pair


SOLVERS = {"Algorithm 1": printed, "tamis": fast, "FISTA": fista, "ADMM": admm}


def time_to_gap(solver, problem, *, tol, cap):
    """CPU seconds until the relative gap of the best points is `tol`; at most about `cap`."""
    unit = problem.empty().value
    start = process_time()
    best, n_rounds = None, 0
    for pair in SOLVERS[solver](problem):
        n_rounds += 1
        best = pair if best is None else best.better(pair.primal, pair.dual)
        seconds = process_time() - start
        if best.gap <= tol * unit or seconds > cap:
            break
    return {
        "seconds": round(seconds, 4),
        "rounds": n_rounds,
        "gap": float(f"{max(best.gap, 0.0) / unit:.3g}"),
        "features": int(np.count_nonzero(best.primal.W.any(axis=1))),
        "reached": bool(best.gap <= tol * unit),
    }
