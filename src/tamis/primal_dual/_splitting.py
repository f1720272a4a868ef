r"""Douglas-Rachford splitting with a linear system solved exactly: for ill-conditioned data.

The problem is split into its loss and ball, which need a prox and a projection, and a quadratic
that ties them to the data:

.. math:: \min h(R) + [V \in ball] + \tfrac{\rho}{2}\|I - \mu\|^2
          \quad\text{with}\quad R = Y\mu - XW,\; V = W.

With penalties a (weighted by s) and b for the two ties, an iteration on :math:`z = (R + U / a, V +
G / b)` takes the prox and the projection of z and then the (W, mu) that come closest to their
reflection: a linear system with one matrix for all classes and iterations, the size of which is
the shorter side of X. Correlated columns slow it down less than they do gradient methods.

As in `_pdhg`, points are reflected, drawn towards an anchor and restarted; the penalties follow
the residuals at restarts.
"""

from itertools import count

import numpy as np
from scipy import linalg

from tamis.primal_dual._restarts import Restarts

# Largest size of a system that is worth its factorization.
_LARGEST_SYSTEM = 2000
# Computing the gap needs two more products, so it is done every this many iterations.
_LOOK = 10
_FIRST_PENALTY = 20.0
_LARGEST_CHANGE = 5.0


def can_split(problem):
    """Whether the linear system is small enough."""
    if problem.matrix.is_on_device:
        return False
    n_samples, n_features = problem.matrix.shape
    if problem.matrix.is_sparse:
        return n_features <= min(_LARGEST_SYSTEM, n_samples)
    return min(n_samples, n_features) <= _LARGEST_SYSTEM


def splitting(problem, pair):
    """Yield successively better pairs, one per iteration; the caller decides when to stop."""
    system = _System(problem)
    a, b = _FIRST_PENALTY, _FIRST_PENALTY * problem.weights.sum()
    system.factorize(a, b)
    R = problem.residual(pair.primal.mu, pair.primal.XW)
    z = anchor = (R + pair.dual.U / a, pair.primal.W + pair.dual.G / b)
    restarts = Restarts()
    for n_iter in count(1):
        R, U, V = _resolve(problem, z, a)
        mu, W, fitted = system.solve(2 * R - z[0], 2 * V - z[1])
        loose = fitted - R, W - V
        if n_iter % _LOOK == 0:
            pair = pair.better(problem.primal(V, mu), problem.dual(U))
        yield pair

        reflected = z[0] + 2 * loose[0], z[1] + 2 * loose[1]
        sizes = problem.weights @ np.einsum("ij,ij->i", loose[0], loose[0]), np.sum(loose[1] ** 2)
        if restarts.restarts_at(np.sqrt(a * sizes[0] + b * sizes[1])):
            z = reflected
            new_R, new_U, new_V = _resolve(problem, z, a)
            moved = new_R - R
            moves = problem.weights @ np.einsum("ij,ij->i", moved, moved), np.sum((new_V - V) ** 2)
            change = [_change(*pair_) for pair_ in zip(sizes, moves, strict=True)]
            if max(change) > 2 or min(change) < 0.5:
                G = b * (z[1] - new_V)
                a, b = a * change[0], b * change[1]
                system.factorize(a, b)
                z = new_R + new_U / a, new_V + G / b
            anchor = z
            continue
        share = restarts.anchor_weight
        z = tuple(
            share * start + (1 - share) * new for start, new in zip(anchor, reflected, strict=True)
        )


def _resolve(problem, z, a):
    """Residual and its dual point, and the projection."""
    U = problem.loss.prox_conjugate(a * z[0], a)
    return z[0] - U / a, U, problem.ball.project(z[1])


def _change(loose, moved):
    """Factor by which a penalty should change: a loose tie is tightened."""
    if loose <= 0 or moved <= 0:
        return 1.0
    return float(np.clip(np.sqrt(loose / moved), 1 / _LARGEST_CHANGE, _LARGEST_CHANGE))


class _System:
    """Finds (W, mu) closest to the targets of loss and ball, for changing penalties.

    ``min rho/2 |I - mu|^2 + a/2 sum_i s_i |(Y mu - X W - T)_i|^2 + b/2 |W - V|^2``, by a system of
    the size of the features and classes or, when samples are fewer, of the samples.
    """

    def __init__(self, problem):
        self.problem = problem
        n_samples, n_features = problem.matrix.shape
        self.tall = n_features + problem.n_classes <= n_samples or problem.matrix.is_sparse
        if self.tall:
            self.gram = problem.matrix.gram(problem.weights)
            self.crossed = -problem.adjoint(problem.indicator)
        else:
            X = problem.matrix.columns(slice(None)).X
            self.kernel = X @ X.T
            self.same = problem.indicator @ problem.indicator.T

    def factorize(self, a, b):
        """Prepare for new penalties."""
        problem, self.a, self.b = self.problem, a, b
        if self.tall:
            matrix = a * self.gram
            matrix[np.diag_indices_from(matrix)] += b
            if problem.rho is not None:
                corner = np.diag(a * problem.class_sizes + problem.rho)
                matrix = np.block([[corner, a * self.crossed.T], [a * self.crossed, matrix]])
        else:
            matrix = self.kernel / b
            if problem.rho is not None:
                matrix += self.same / problem.rho
            matrix[np.diag_indices_from(matrix)] += 1.0 / (a * problem.weights)
        self.factor = linalg.cho_factor(matrix, check_finite=False)

    def solve(self, T, V):
        """Centers, projection matrix, and the residual Y mu - X W."""
        problem, k = self.problem, self.problem.n_classes
        if self.tall:
            fixed = problem.rho is None
            # Fixed centers belong to the data.
            target = T - problem.identity[problem.codes] if fixed else T
            right = -self.a * problem.adjoint(target) + self.b * V
            if not fixed:
                pull = self.a * problem.class_sums(T) + problem.rho * problem.identity
                right = np.concatenate([pull, right])
            solution = linalg.cho_solve(self.factor, right, check_finite=False)
            mu, W = (problem.identity, solution) if fixed else (solution[:k], solution[k:])
            return mu, W, problem.residual(mu, problem.matrix.apply(W))
        start = problem.residual(problem.identity, problem.matrix.apply(V))
        Z = linalg.cho_solve(self.factor, T - start, check_finite=False)
        mu = problem.identity
        if problem.rho is not None:
            mu = mu + problem.indicator.T @ Z / problem.rho
        W = V - problem.matrix.adjoint(Z) / self.b
        return mu, W, T - Z / (self.a * problem.weights[:, None])
