r"""The Frobenius norm as a loss, not squared: what the authors' program has under that name.

.. math:: \min_{W \in ball, \mu} \|Y \mu - X W\|_F + \frac{\rho}{2} \|I - \mu\|_F^2

For the benchmark only, on the loop of Algorithm 1. With fixed centers it has the minimisers of the
squared norm. With adaptive ones, where R is the residual at the optimum, it has those of the
squared norm with rho \|R\|_F in place of rho; on wide data R goes to 0, and shrunken centers are
fitted exactly.
"""

from dataclasses import dataclass, fields

import numpy as np

from tamis import PrimalDualClassifier
from tamis.primal_dual.problem import BallProblem, Dual


class NormLoss:
    """The Frobenius norm of the residual; its conjugate is 0 on the unit ball of that norm."""

    bound = np.inf
    euclidean = True

    def value(self, R, weights):
        return float(np.sqrt(weights @ np.einsum("ij,ij->i", R, R)))

    def prox_conjugate(self, V, step):
        """Projection on the unit ball: all weights must be 1."""
        return V / max(float(np.linalg.norm(V)), 1.0)


@dataclass(frozen=True, eq=False)
class NormProblem(BallProblem):
    """The problem with `NormLoss`, without weights; gaps are relative to W = 0, mu = I."""

    def empty(self):
        n_samples, n_features = self.matrix.shape
        W = np.zeros((n_features, self.n_classes))
        return self.primal(W, self.identity, np.zeros((n_samples, self.n_classes)))

    def dual(self, U, G=None):
        G = self.adjoint(U) if G is None else G
        sums = self.class_sums(U)
        linear = float(np.trace(sums)) - self.ball.radius * self.ball.dual_norm(G)
        square = 0.0 if self.rho is None else 0.5 * float(np.sum(sums**2)) / self.rho
        factor = 1.0 / max(float(np.linalg.norm(U)), 1e-300)
        if square > 0:
            factor = min(max(0.5 * linear / square, 0.0), factor)
        factor = factor if linear > 0 else 0.0
        return Dual(U, G, factor, factor * linear - factor**2 * square)


class NormClassifier(PrimalDualClassifier):
    """`PrimalDualClassifier(algorithm="paper")` with the Frobenius norm as its loss."""

    def _problem(self, data, radius):
        squared = super()._problem(data, radius)
        held = {field.name: getattr(squared, field.name) for field in fields(squared)}
        return NormProblem(**{**held, "loss": NormLoss()})
