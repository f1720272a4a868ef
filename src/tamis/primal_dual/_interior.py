r"""An interior-point method in the l1 ball: for small ill-conditioned problems.

The problem is a quadratic program in :math:`W = W_+ - W_-`, the residual :math:`R = R_+ - R_- +
\delta Z / s` and the centers (:math:`\delta` = 0 for the l1 loss). Its dual variables are Z, with
:math:`|Z_{ij}| \le s_i`, and the multiplier :math:`\lambda \ge \|X^T Z\|_\infty` of the ball. Five
products must vanish at the optimum (half the squares have no bound on Z, and no :math:`R_\pm`):

.. math:: W_\pm (\lambda \mp X^T Z), \quad R_\pm (s \mp Z), \quad
          (\eta - \textstyle\sum W_+ + W_-)\, \lambda .

Newton's method makes them equal and small (Mehrotra, 1992). A step solves one system per class, of
the size of its rows and centers, whatever the conditioning: about 20 steps are enough. Interior
points have no zeros, so an iterate is yielded with the entries that tend to 0 set to 0; for smooth
losses, a Newton step on the face that they show follows (`_newton`).
"""

import numpy as np
from scipy import linalg

from tamis.primal_dual._newton import newton_step

__all__ = ["can_walk_inside", "interior"]

_MOST_ROWS = 400
_SAFE_STEP = 0.995
_MOST_STEPS = 60
# The face is visible when the gap is this share of the objective.
_NEAR = 3e-3


def can_walk_inside(problem):
    """Whether this method can solve a problem of this form and size."""
    return (
        problem.ball.is_flat
        and not (problem.matrix.is_sparse or problem.matrix.is_on_device)
        and problem.matrix.shape[1] <= _MOST_ROWS
    )


def interior(problem, pair):
    """Yield successively better pairs, one per step; ends when steps bring no improvement.

    Parameters
    ----------
    problem : Problem
        As `can_walk_inside` says.
    pair : Pair
        The pair to improve; the walk itself starts in the interior.
    """
    walk = _Walk(problem)
    for _ in range(_MOST_STEPS):
        if not walk.step():
            return
        W, mu, U = walk.snapshot()
        primal = problem.primal(problem.ball.project(W), mu)
        pair = pair.better(primal, problem.dual(U))
        if problem.loss.is_smooth and pair.gap <= _NEAR * abs(pair.primal.value):
            better = newton_step(problem, primal)
            if better is not None:
                pair = pair.better(better, problem.dual_of(better))
        yield pair


class _Walk:
    """The iterate and its Newton steps."""

    def __init__(self, problem):
        self.problem = problem
        n_rows, k = problem.matrix.shape[1], problem.n_classes
        self.s = problem.weights[:, None]
        radius = problem.ball.radius
        self.positive = np.full((n_rows, k), radius / (4.0 * n_rows * k))
        self.negative = self.positive.copy()
        self.slack = 0.5 * radius
        self.mu = problem.empty().mu
        R = problem.residual(self.mu, np.zeros((problem.codes.size, k)))
        middle = 0.1 + 0.5 * float(np.abs(R).mean())
        self.bounded = bool(np.isfinite(problem.loss.bound))
        self.above, self.below = np.maximum(R, 0) + middle, np.maximum(-R, 0) + middle
        #: Size of X'Z where W = 0, the unit of the multiplier.
        self.slope = max(problem.ball.dual_norm(problem.dual_of(problem.empty()).G), 1e-300)
        self.Z = np.zeros_like(R)
        self.G = np.zeros((n_rows, k))
        self.multiplier = max(float(problem.weights.sum()) * middle / max(radius, 1e-300), 1e-300)

    def products(self):
        """The pairs whose products tend to 0."""
        pairs = [
            (np.array(self.slack), np.array(self.multiplier)),
            (self.positive, self.multiplier - self.G),
            (self.negative, self.multiplier + self.G),
        ]
        if self.bounded:
            pairs += [(self.above, self.s - self.Z), (self.below, self.s + self.Z)]
        return pairs

    def step(self):
        """Take one predictor-corrector step; False if rounding prevents further progress."""
        pairs = self.products()
        count = sum(a.size for a, _ in pairs)
        distance = sum(float(np.vdot(a, b)) for a, b in pairs) / count
        with np.errstate(all="ignore"):
            try:
                systems = _Systems(self, pairs)
                guess = systems.solve([-a * b for a, b in pairs])
                length = _longest(pairs, guess)
                reached = sum(
                    float(np.vdot(a + length * da, b + length * db))
                    for (a, b), (da, db) in zip(pairs, guess.pairs, strict=True)
                )
                target = distance * (reached / count / distance) ** 3
                aims = [
                    target - a * b - da * db
                    for (a, b), (da, db) in zip(pairs, guess.pairs, strict=True)
                ]
                move = systems.solve(aims)
            except linalg.LinAlgError:
                return False
            length = min(1.0, _SAFE_STEP * _longest(pairs, move))
        if not (np.isfinite(length) and length > 1e-10 and move.is_finite()):
            return False
        self._advance(move, length)
        return True

    def _advance(self, move, length):
        (dt, dl), (dp, _), (dn, _), *residuals = move.pairs
        self.positive = self.positive + length * dp
        self.negative = self.negative + length * dn
        if residuals:
            self.above = self.above + length * residuals[0][0]
            self.below = self.below + length * residuals[1][0]
        self.slack = self.slack + length * float(dt)
        self.multiplier = self.multiplier + length * float(dl)
        self.mu = self.mu + length * move.dmu
        self.Z = self.Z + length * move.dZ
        self.G = self.problem.matrix.adjoint(self.Z)

    def mismatch(self):
        """Mismatch of the parts of the residual: 0, except for rounding, if Z has a bound."""
        problem = self.problem
        W = self.positive - self.negative
        parts = problem.loss.curvature * self.Z / self.s
        if self.bounded:
            parts = parts + self.above - self.below
        return parts - problem.residual(self.mu, problem.matrix.apply(W))

    def snapshot(self):
        """W with exact zeros, the centers, and U with exact bounds."""
        W = self.positive - self.negative
        # Of two factors with a product near 0, the relatively smaller one tends to 0.
        size = np.abs(W)
        room = (self.multiplier - np.abs(self.G)) / self.slope
        W = np.where(size > room * size.max(), W, 0.0)
        U = self.Z / self.s
        if not self.bounded:
            return W, self.mu, U
        R = self.above - self.below
        # 1 - |U| and |R| are both of order 1 where they do not vanish.
        outer = np.abs(R) > 1 - np.abs(U)
        return W, self.mu, np.clip(np.where(outer, np.sign(R), U), -1.0, 1.0)


class _Move:
    """A direction: changes of the five pairs, of the centers and of Z."""

    def __init__(self, pairs, dmu, dZ):
        self.pairs, self.dmu, self.dZ = pairs, dmu, dZ

    def is_finite(self):
        return np.isfinite(self.dZ).all() and np.isfinite(self.dmu).all()


class _Systems:
    """The linear systems of one step, factorized once for both of its directions."""

    def __init__(self, walk, pairs):
        self.walk = walk
        (slack, level), (self.wp, self.pp), (self.wn, self.pn), *self.residuals = pairs
        self.slack, self.level = float(slack), float(level)
        self.theta = self.wp / self.pp + self.wn / self.pn
        self.phi = self.wp / self.pp - self.wn / self.pn
        problem = walk.problem
        self.psi = np.broadcast_to(problem.loss.curvature / walk.s, walk.Z.shape)
        for r, q in self.residuals:
            self.psi = self.psi + r / q
        self.adaptive = problem.rho is not None
        self.mismatch = walk.mismatch()
        self.factors = []
        for j in range(problem.n_classes):
            curved = 1.0 / self.psi[:, j]
            matrix = problem.matrix.gram(curved)
            matrix[np.diag_indices_from(matrix)] += 1.0 / self.theta[:, j]
            if self.adaptive:
                crossed = -problem.matrix.adjoint(curved[:, None] * problem.indicator)
                corner = np.diag(curved @ problem.indicator + problem.rho)
                matrix = np.block([[matrix, crossed], [crossed.T, corner]])
            self.factors.append(linalg.cho_factor(matrix, check_finite=False))

    def solve(self, aims):
        """The direction in which the products change by `aims`, to first order."""
        walk, problem = self.walk, self.walk.problem
        slack, up, down, *rest = aims
        cw = up / self.pp - down / self.pn
        cr = self.mismatch.copy()
        for sign, aim, (_, q) in zip((1, -1), rest, self.residuals, strict=False):
            cr += sign * aim / q
        pull = cr / self.psi
        first = cw / self.theta - problem.matrix.adjoint(pull)
        second = -self.phi / self.theta
        if self.adaptive:
            drift = problem.rho * (problem.identity - walk.mu) - problem.indicator.T @ walk.Z
            center = drift + problem.indicator.T @ pull
        n_rows = cw.shape[0]
        A, B = np.empty_like(cw), np.empty_like(cw)
        mu_A, mu_B = np.zeros_like(walk.mu), np.zeros_like(walk.mu)
        for j, factor in enumerate(self.factors):
            right = np.column_stack([first[:, j], second[:, j]])
            if self.adaptive:
                extra = np.column_stack([center[:, j], np.zeros(problem.n_classes)])
                right = np.concatenate([right, extra])
            solution = linalg.cho_solve(factor, right, check_finite=False)
            A[:, j], B[:, j] = solution[:n_rows].T
            if self.adaptive:
                mu_A[:, j], mu_B[:, j] = solution[n_rows:].T
        constant = (
            np.sum(up / self.pp + down / self.pn)
            + float(slack) / self.level
            + np.sum(self.phi * (A - cw) / self.theta)
        )
        slope = (
            np.sum(self.phi * (B + self.phi) / self.theta)
            - np.sum(self.theta)
            - self.slack / self.level
        )
        dl = -constant / slope
        dW, dmu = A + dl * B, mu_A + dl * mu_B
        dZ = (problem.residual(dmu, problem.matrix.apply(dW)) - cr) / self.psi
        dG = (dW - cw + self.phi * dl) / self.theta
        pairs = [
            (np.array((float(slack) - self.slack * dl) / self.level), np.array(dl)),
            ((up - self.wp * (dl - dG)) / self.pp, dl - dG),
            ((down - self.wn * (dl + dG)) / self.pn, dl + dG),
        ]
        for sign, aim, (r, q) in zip((1, -1), rest, self.residuals, strict=False):
            pairs.append(((aim + sign * r * dZ) / q, -sign * dZ))
        return _Move(pairs, dmu, dZ)


def _longest(pairs, move):
    """The longest step that keeps every factor positive."""
    length = np.inf
    for both, changes in zip(pairs, move.pairs, strict=True):
        for a, da in zip(both, changes, strict=True):
            falling = da < 0
            if falling.any():
                ratio = -np.extract(falling, a) / np.extract(falling, da)
                length = min(length, float(ratio.min()))
    return min(length, 1.0 / _SAFE_STEP)
