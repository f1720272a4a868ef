r"""The problem of the paper with sample weights, its dual, and the gap between them.

.. math:: \min_{W \in ball(\eta), \mu} P(W, \mu) = \sum_{ij} s_i h((Y \mu - X W)_{ij})
          + \tfrac{\rho}{2} \|I - \mu\|_F^2

with X (samples x features) standardized, Y the indicator of the classes, :math:`\mu` (classes x
classes) the centers. For any U within the bound of the loss, and :math:`Z = \operatorname{diag}(s)
U`,

.. math:: D(U) = \operatorname{tr}(Y^T Z) - \tfrac{1}{2\rho} \|Y^T Z\|_F^2 - \eta \|X^T Z\|_*
          - \sum_{ij} s_i h^*(U_{ij}) \le P(W, \mu),

with the dual norm of the ball; for centers fixed at I the term with :math:`\rho` is absent. So P -
D bounds the distance of P from the optimum: a certificate, whichever algorithm found W and U.
Multiples of U are admissible too, and D is a parabola along them, so the best multiple is taken.
The gap is reported relative to P at W = 0 with its best centers.

Data on a device keep what has a row for each sample there: X, XW, U and residuals. What has a row
for each feature or class (W, mu, G) is of numpy.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tamis._array import Arithmetic, from_host, namespace, to_host, zeros
from tamis.primal_dual.standardized import Standardized

# Even a perfect fit leaves some uncertainty.
_LEAST_DISPERSION = 1e-3


@dataclass(frozen=True)
class Primal:
    """A feasible point with its products."""

    W: np.ndarray  # (n_features, n_classes): projection matrix, in the ball
    mu: np.ndarray  # (n_classes, n_classes): centers, one row per class
    XW: np.ndarray  # (n_samples, n_classes): projected samples
    value: float  # objective


@dataclass(frozen=True)
class Dual:
    """A feasible dual point with its products."""

    U: np.ndarray  # (n_samples, n_classes): Z / s, up to the factor
    G: np.ndarray  # (n_features, n_classes): X' Z, up to the factor
    factor: float  # the dual point is this multiple of U; far from the optimum it may be 0
    value: float  # dual objective: a lower bound for all primal points


@dataclass(frozen=True)
class Pair:
    """The best primal and the best dual point so far."""

    primal: Primal
    dual: Dual

    @property
    def gap(self):
        """Upper bound of the distance of the primal value from the optimum."""
        return self.primal.value - self.dual.value

    def better(self, primal=None, dual=None):
        """The pair, with each point replaced if the new one is better."""
        pair = self
        if primal is not None and primal.value < self.primal.value:
            pair = replace(pair, primal=primal)
        if dual is not None and dual.value > self.dual.value:
            pair = replace(pair, dual=dual)
        return pair


@dataclass(frozen=True, eq=False)
class BallProblem:
    """One instance."""

    matrix: Standardized  # the data X
    codes: np.ndarray  # (n_samples,): class of each sample; of numpy
    n_classes: int
    weights: np.ndarray  # (n_samples,): sample weights s, positive; where the data are
    loss: Any  # see `tamis.primal_dual.losses`
    ball: Any  # see `tamis.primal_dual.balls`
    rho: float | None  # weight of the centers' distance from I; None for centers fixed at I
    # (n_features, n_classes) or None: X' diag(s) Y, if it is known.
    class_columns: np.ndarray | None = None

    @cached_property
    def class_sizes(self):
        """Sum of the weights of each class: the diagonal of Y' diag(s) Y."""
        return np.bincount(self.codes, to_host(self.weights), self.n_classes)

    @cached_property
    def indicator(self):
        """Y."""
        Y = (self.codes[:, None] == np.arange(self.n_classes)).astype(np.float64)
        return from_host(Y, self.matrix.X)

    @cached_property
    def _weighted_indicator(self):
        weights = to_host(self.weights)[:, None]
        weighted = np.where(self.codes[:, None] == np.arange(self.n_classes), weights, 0.0)
        return from_host(weighted, self.matrix.X)

    @cached_property
    def squared_norm(self):
        """Largest eigenvalue of X' diag(s) X."""
        return self.matrix.squared_norm(to_host(self.weights))

    @property
    def rough_squared_norm(self):
        """A rough lower estimate, for methods that find their step lengths themselves.

        Computed once for all radii, from the rows for which it is needed first: if the problem was
        restricted before, few columns are read.
        """
        if np.isnan(self._rough[0]):
            self._rough[0] = self.matrix.rough_squared_norm(to_host(self.weights))
        return float(self._rough[0])

    @cached_property
    def _rough(self):
        return np.full(1, np.nan)

    @cached_property
    def identity(self):
        """The identity matrix, at which the paper starts the centers."""
        return np.eye(self.n_classes)

    @cached_property
    def step_guess(self):
        """The step length found by descent, shared by all radii."""
        return np.ones(1)

    def restrict(self, rows: np.ndarray) -> "BallProblem":
        """The problem with only some rows of W; the others are 0."""
        columns = None if self.class_columns is None else self.class_columns[rows]
        restricted = replace(self, matrix=self.matrix.columns(rows), class_columns=columns)
        return self._share(restricted, "indicator")

    def with_arithmetic(self, arithmetic: Arithmetic):
        """The problem with products in another arithmetic; its values are not certified."""
        matrix = replace(self.matrix, arithmetic=arithmetic)
        other = replace(self, matrix=matrix)
        return self._share(other, "indicator", "squared_norm")

    def certify(self, pair):
        """A pair of the problem with another arithmetic, with products in this one."""
        return Pair(self.primal(pair.primal.W, pair.primal.mu), self.dual(pair.dual.U))

    def with_radius(self, radius):
        """The problem with another radius, which shares the data and what is known of them."""
        other = replace(self, ball=type(self.ball)(radius))
        other.__dict__["_empty"] = self._empty
        return self._share(other, "indicator", "squared_norm")

    def _share(self, other, *if_known):
        """Give another problem what is known of the same rows."""
        for name in ("_weighted_indicator", "class_sizes", "step_guess", "_rough", "identity"):
            other.__dict__[name] = getattr(self, name)
        for name in if_known:
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        return other

    def carry_over(self, pair):
        """Convert a pair of the problem with another radius, without a product."""
        primal, dual = pair.primal, pair.dual
        norm = self.ball.norm(primal.W)
        if norm > self.ball.radius:
            shrink = float(self.ball.radius / norm * (1 - 1e-15))
            primal = self.primal(shrink * primal.W, primal.mu, shrink * primal.XW)
        return Pair(primal, self.dual(dual.U, dual.G))

    # The primal.

    def residual(self, mu, XW):
        """Y mu - X W."""
        if self.matrix.is_on_device:
            return self.indicator @ from_host(mu, XW) - XW
        R = mu[self.codes]
        R -= XW
        return R

    def objective(self, R, mu):
        """P for a residual and its centers."""
        value = self.loss.value(R, self.weights)
        if self.rho is not None:
            value += 0.5 * self.rho * float(np.sum((self.identity - mu) ** 2))
        return value

    def primal(self, W, mu, XW=None):
        """The primal point with its products."""
        XW = self.matrix.apply(W) if XW is None else XW
        return Primal(W, mu, XW, self.objective(self.residual(mu, XW), mu))

    def empty(self):
        """W = 0 with the best centers: the starting point, and the unit of the gap."""
        return self._empty

    @cached_property
    def _empty(self):
        mu = self.identity
        if self.rho is not None:
            mu = np.diag(self.loss.prox(np.ones(self.n_classes), self.class_sizes / self.rho))
        n_samples, n_features = self.matrix.shape
        W = np.zeros((n_features, self.n_classes))
        XW = zeros((n_samples, self.n_classes), self.matrix.X)
        return self.primal(W, mu, XW)

    def empty_dual(self) -> Dual:
        """The dual point of the empty model, without a product if the class sums are known."""
        empty = self._empty
        if self.class_columns is None:
            return self.dual_of(empty)
        U = self.loss.gradient(empty.mu)  # one row per class
        return self.dual(from_host(U[self.codes], self.matrix.X), self.class_columns @ U)

    def dispersion(self, primal):
        """One scale of the residuals around their centers."""
        R = self.residual(primal.mu, primal.XW)
        xp = namespace(R)
        each = R**2 if self.loss.euclidean else xp.abs(R)
        mean = float(self.weights @ xp.mean(each, axis=1) / xp.sum(self.weights))
        return self.dispersion_of(mean)

    def dispersion_of(self, mean):
        """The dispersion of residuals with this mean magnitude (or square)."""
        return max(np.sqrt(mean) if self.loss.euclidean else mean, _LEAST_DISPERSION)

    # The dual.

    def class_sums(self, U):
        """Y' Z."""
        return to_host(self.class_sums_there(U))

    def class_sums_there(self, U):
        """Y' Z, where the data are."""
        return self._weighted_indicator.T @ U

    def adjoint(self, U):
        """X' Z."""
        return self.matrix.adjoint(self.weights[:, None] * U)

    def dual(self, U, G=None):
        """The best multiple of U with its products."""
        G = self.adjoint(U) if G is None else G
        conjugate = self.loss.conjugate(U, self.weights)
        xp = namespace(U)
        largest = max(float(xp.max(U)), -float(xp.min(U)), 0.0)
        return Dual(U, G, *self.best_multiple(self.class_sums(U), conjugate, largest, G))

    def best_multiple(self, class_sums, conjugate, largest, G):
        """The best factor of a dual point, and the value there.

        `class_sums` (n_classes, n_classes), `G` (n_features, n_classes).
        """
        linear = float(np.trace(class_sums)) - self.ball.radius * self.ball.dual_norm(G)
        square = conjugate
        if self.rho is not None:
            square += 0.5 * float(np.sum(class_sums**2)) / self.rho
        limit = self.loss.bound / largest if largest > 0 else 1.0
        factor = min(max(0.5 * linear / square, 0.0), limit) if square > 0 else limit
        if linear <= 0:
            factor = 0.0
        return factor, factor * linear - factor**2 * square

    def dual_of(self, primal):
        """The dual point that belongs to a primal one."""
        R = self.residual(primal.mu, primal.XW)
        return self.dual(self.loss.gradient(R))
