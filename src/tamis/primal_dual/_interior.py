r"""An interior-point method in the l1 and l2,1 balls: for ill-conditioned problems.

The problem is a cone program in W with a bound :math:`t \ge \|w\|` for each entry (l1) or row
(l2,1), in the residual :math:`R = R_+ - R_- + \delta Z / s` and in the centers (:math:`\delta` = 0
for the l1 loss). Its dual variables are Z, with :math:`|Z_{ij}| \le s_i`, and the multiplier
:math:`\lambda \ge \|X^T Z\|_*` of the ball. These products must vanish at the optimum, the first
one as explained in `_cones` (half the squares have no bound on Z, and no :math:`R_\pm`):

.. math:: (t, w) \circ (\lambda, -X^T Z), \quad R_\pm (s \mp Z), \quad
          (\eta - \textstyle\sum t)\, \lambda .

Newton's method makes them equal and small (Mehrotra, 1992; for cones, Andersen, Roos and Terlaky,
2003). About 20 steps are enough, whatever the conditioning. A step solves one system per class, of
the size of its rows and centers. The cones of rows tie the classes together, but only by one term
of rank one for each row: that is one more system, of the size of the rows.

Interior points have no zeros, so an iterate is yielded with the entries that tend to 0 set to 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import linalg

from tamis.primal_dual._cones import ConeScaling, Points
from tamis.primal_dual._newton import newton_step
from tamis.primal_dual.problem import BallProblem, Pair

_MOST_ROWS = {"entries": 400, "rows": 1200}
_SAFE_STEP = 0.995
_MOST_STEPS = 60
# The face is visible when the gap is this share of the objective.
_NEAR = 3e-3


def can_walk_inside(problem: BallProblem) -> bool:
    """Whether this method can solve a problem of this form and size."""
    most = _MOST_ROWS.get(problem.ball.groups, -1)
    elsewhere = problem.matrix.is_sparse or problem.matrix.is_on_device
    return not elsewhere and problem.matrix.shape[1] <= most


def interior(problem: BallProblem, pair: Pair) -> Iterator[Pair]:
    """Yield successively better pairs, one per step; ends when steps bring no improvement."""
    walk = _Walk(problem)
    for _ in range(_MOST_STEPS):
        if not walk.step():
            return
        W, mu, U = walk.snapshot()
        primal = problem.primal(problem.ball.project(W), mu)
        pair = pair.better(primal, problem.dual(U))
        if (
            problem.ball.is_flat
            and problem.loss.is_smooth
            and pair.gap <= _NEAR * abs(pair.primal.value)
        ):
            better = newton_step(problem, primal)
            if better is not None:
                pair = pair.better(better, problem.dual_of(better))
        yield pair


class _Walk:
    """The iterate and its Newton steps."""

    def __init__(self, problem):
        self.problem = problem
        X = problem.matrix.columns(slice(None)).X
        columns = [X] if problem.rho is None else [X, -problem.indicator]
        #: The features and, if they move, the centers; and memory for its rows with weights.
        self.X = np.asfortranarray(np.concatenate(columns, axis=1))
        self.part = np.empty_like(self.X)
        n_rows, k = problem.matrix.shape[1], problem.n_classes
        self.s = problem.weights[:, None]
        radius = problem.ball.radius
        shape = (n_rows * k, 1) if problem.ball.groups == "entries" else (n_rows, k)
        self.cones = Points(np.full(shape[0], radius / (2.0 * shape[0])), np.zeros(shape))
        self.slack = 0.5 * radius
        self.mu = problem.empty().mu
        R = problem.residual(self.mu, np.zeros((problem.codes.size, k)))
        middle = 0.1 + 0.5 * float(np.abs(R).mean())
        self.bounded = bool(np.isfinite(problem.loss.bound))
        self.above, self.below = np.maximum(R, 0) + middle, np.maximum(-R, 0) + middle
        #: Size of X'Z where W = 0, the unit of the multiplier.
        self.slope = max(problem.ball.dual_norm(problem.empty_dual().G), 1e-300)
        self.Z = np.zeros_like(R)
        self.G = np.zeros((n_rows, k))
        self.multiplier = max(float(problem.weights.sum()) * middle / max(radius, 1e-300), 1e-300)

    @property
    def W(self):
        """The projection matrix."""
        return self.cones.tail.reshape(self.G.shape)

    @property
    def dual_cones(self):
        """The points that belong to those of W."""
        tail = -self.G.reshape(self.cones.tail.shape)
        return Points(np.full(tail.shape[0], self.multiplier), tail)

    def products(self):
        """The pairs of numbers whose products tend to 0."""
        pairs = [(np.array(self.slack), np.array(self.multiplier))]
        if self.bounded:
            pairs += [(self.above, self.s - self.Z), (self.below, self.s + self.Z)]
        return pairs

    def step(self):
        """Take one predictor-corrector step; False if rounding prevents further progress."""
        pairs, x, y = self.products(), self.cones, self.dual_cones
        count = 2 * x.head.size + sum(a.size for a, _ in pairs)
        distance = (x.dot(y).sum() + sum(float(np.vdot(a, b)) for a, b in pairs)) / count
        with np.errstate(all="ignore"):
            try:
                systems = _Systems(self, pairs)
                guess = systems.solve([-a * b for a, b in pairs], Points(-x.head, -x.tail))
                length = _longest(pairs, x, y, guess)
                reached = x.plus(guess.x, length).dot(y.plus(guess.y, length)).sum() + sum(
                    float(np.vdot(a + length * da, b + length * db))
                    for (a, b), (da, db) in zip(pairs, guess.pairs, strict=True)
                )
                target = distance * min(reached / count / distance, 1.0) ** 3
                aims = [
                    target - a * b - da * db
                    for (a, b), (da, db) in zip(pairs, guess.pairs, strict=True)
                ]
                move = systems.solve(aims, systems.cone_aim(target, guess))
            except linalg.LinAlgError:
                return False
            length = min(1.0, _SAFE_STEP * _longest(pairs, x, y, move))
        if not (np.isfinite(length) and length > 1e-10 and move.is_finite()):
            return False
        self._advance(move, length)
        return True

    def _advance(self, move, length):
        (dt, dl), *residuals = move.pairs
        self.cones = self.cones.plus(move.x, length)
        if residuals:
            self.above = self.above + length * residuals[0][0]
            self.below = self.below + length * residuals[1][0]
        self.slack = self.slack + length * float(dt)
        self.multiplier = self.multiplier + length * float(dl)
        self.mu = self.mu + length * move.dmu
        self.Z = self.Z + length * move.dZ
        # X'Z itself may lie outside the cones, by rounding.
        self.G = self.G - length * move.y.tail.reshape(self.G.shape)

    def mismatch(self):
        """Mismatch of the parts of the residual: 0, except for rounding, if Z has a bound."""
        problem = self.problem
        parts = problem.loss.curvature * self.Z / self.s
        if self.bounded:
            parts = parts + self.above - self.below
        return parts - problem.residual(self.mu, problem.matrix.apply(self.W))

    def snapshot(self):
        """W with exact zeros, the centers, and U with exact bounds."""
        x, y = self.cones, self.dual_cones
        # Of two factors with a product near 0, the relatively smaller one tends to 0.
        size = np.linalg.norm(x.tail, axis=1)
        room = (self.multiplier - np.linalg.norm(y.tail, axis=1)) / self.slope
        W = np.where((size > room * size.max())[:, None], x.tail, 0.0).reshape(self.G.shape)
        U = self.Z / self.s
        if not self.bounded:
            return W, self.mu, U
        R = self.above - self.below
        # 1 - |U| and |R| are both of order 1 where they do not vanish.
        outer = np.abs(R) > 1 - np.abs(U)
        return W, self.mu, np.clip(np.where(outer, np.sign(R), U), -1.0, 1.0)


class _Move:
    """A direction: changes of the points of the cones, of the pairs, of the centers and of Z."""

    def __init__(self, x, y, pairs, dmu, dZ):
        self.x, self.y, self.pairs, self.dmu, self.dZ = x, y, pairs, dmu, dZ

    def is_finite(self):
        return all(np.isfinite(a).all() for a in (self.dZ, self.dmu, self.x.tail, self.x.head))


class _Systems:
    """The linear systems of one step, factorized once for both of its directions."""

    def __init__(self, walk, pairs):
        self.walk = walk
        (slack, level), *self.residuals = pairs
        self.slack, self.level = float(slack), float(level)
        problem = walk.problem
        self.scaling = scaling = ConeScaling(walk.cones, walk.dual_cones)
        self.point = scaling.apply(walk.dual_cones)
        self.psi = np.broadcast_to(problem.loss.curvature / walk.s, walk.Z.shape)
        for r, q in self.residuals:
            self.psi = self.psi + r / q
        self.adaptive = problem.rho is not None
        self.mismatch = walk.mismatch()
        self.rounding = problem.matrix.adjoint(walk.Z) - walk.G
        self.joined = scaling.tail.shape[1] > 1
        n_rows, k = walk.G.shape
        stiff = 1.0 / (scaling.square if self.joined else scaling.square * scaling.stretch)
        stiff = (
            np.broadcast_to(stiff[:, None], (n_rows, k)) if self.joined else stiff.reshape(-1, k)
        )
        self.factors = []
        for j in range(k):
            if j and self.joined and not self.residuals:
                self.factors.append(self.factors[0])  # the same for all classes
            else:
                self.factors.append(self._factorize(1.0 / self.psi[:, j], stiff[:, j]))
        if self.joined:
            schur = np.asfortranarray(np.diag(0.5 * scaling.square * scaling.stretch))
            for j, along in enumerate(scaling.tail.T):
                inverse = _invert(self.factors[j])[:n_rows, :n_rows]
                inverse *= along
                inverse *= along[:, None]
                schur -= inverse
            self.schur = linalg.cho_factor(schur, lower=True, overwrite_a=True, check_finite=False)
        # M^-1 c, where the tails of S^2 are (c, M).
        pull = (2.0 * scaling.head / scaling.stretch)[:, None] * scaling.tail
        self.pull = pull.reshape(n_rows, k)
        self.along_W, self.along_mu = self._solve(-self.pull, np.zeros((k, k)))

    def _factorize(self, curved, stiff):
        """The Cholesky factor of one class, in the lower triangle."""
        walk = self.walk
        np.multiply(walk.X, np.sqrt(curved)[:, None], out=walk.part)
        matrix = linalg.blas.dsyrk(1.0, walk.part, trans=1, lower=1)
        diagonal = np.einsum("ii->i", matrix)
        diagonal[: stiff.size] += stiff
        if self.adaptive:
            diagonal[stiff.size :] += walk.problem.rho
        return linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

    def _solve(self, right, center):
        """Solve for W and mu."""
        n_rows = right.shape[0]
        both = np.concatenate([right, center]) if self.adaptive else right
        solution = self._solve_apart(both)
        if self.joined:
            tail = self.scaling.tail
            along = np.einsum("ij,ij->i", tail, solution[:n_rows])
            along = linalg.cho_solve(self.schur, along, check_finite=False)
            more = np.zeros_like(both)
            more[:n_rows] = along[:, None] * tail
            solution = solution + self._solve_apart(more)
        if self.adaptive:
            return solution[:n_rows], solution[n_rows:]
        return solution, np.zeros_like(center)

    def _solve_apart(self, right):
        solution = np.empty_like(right)
        for j, factor in enumerate(self.factors):
            solution[:, j] = linalg.cho_solve(factor, right[:, j], check_finite=False)
        return solution

    def cone_aim(self, target, guess):
        """What the second direction adds to the points of the cones before their duals move."""
        scaling, point = self.scaling, self.point
        square = point.jordan(point)
        bent = scaling.apply_inverse(guess.x).jordan(scaling.apply(guess.y))
        aim = Points(2.0 * target - square.head - bent.head, -square.tail - bent.tail)
        return scaling.apply(point.divide(aim))

    def solve(self, aims, start):
        """The direction in which the products change by `aims`, to first order.

        `start` is the change of the points of the cones where their duals do not move.
        """
        walk, problem, scaling = self.walk, self.walk.problem, self.scaling
        slack, *rest = aims
        cr = self.mismatch.copy()
        for sign, aim, (_, q) in zip((1, -1), rest, self.residuals, strict=False):
            cr += sign * aim / q
        pull = cr / self.psi
        stiff = scaling.solve_tail(start.tail).reshape(walk.G.shape)
        center = walk.mu
        if self.adaptive:
            drift = problem.rho * (problem.identity - walk.mu) - problem.indicator.T @ walk.Z
            center = drift + problem.indicator.T @ pull
        A, mu_A = self._solve(stiff - problem.matrix.adjoint(pull) + self.rounding, center)
        constant = (
            np.sum(start.head)
            + float(slack) / self.level
            + np.sum(self.pull * (A - start.tail.reshape(A.shape)))
        )
        slope = (
            np.sum(self.pull * self.along_W)
            - np.sum(scaling.square / scaling.stretch)
            - self.slack / self.level
        )
        dl = -constant / slope
        dW, dmu = A + dl * self.along_W, mu_A + dl * self.along_mu
        dZ = (problem.residual(dmu, problem.matrix.apply(dW)) - cr) / self.psi
        # The changes of the duals follow from those of W: the other way loses digits.
        away = Points(start.head, dW.reshape(start.tail.shape) - start.tail)
        pull = self.pull.reshape(away.tail.shape)
        head = start.head + np.einsum("ij,ij->i", pull, away.tail)
        head -= scaling.square / scaling.stretch * dl
        dG = scaling.solve_tail(away.tail) + dl * pull
        dx = Points(head, dW.reshape(start.tail.shape))
        dy = Points(np.full(head.size, dl), -dG)
        pairs = [(-np.sum(head), np.array(dl))]
        for sign, aim, (r, q) in zip((1, -1), rest, self.residuals, strict=False):
            pairs.append(((aim + sign * r * dZ) / q, -sign * dZ))
        return _Move(dx, dy, pairs, dmu, dZ)


def _invert(factor):
    """The lower triangle of the inverse of a matrix, from its Cholesky factor."""
    inverse, info = linalg.lapack.dpotri(factor[0], lower=True)
    if info:
        raise linalg.LinAlgError
    return inverse


def _longest(pairs, x, y, move):
    """The longest step that keeps every factor positive."""
    length = min(x.longest(move.x), y.longest(move.y))
    for both, changes in zip(pairs, move.pairs, strict=True):
        for a, da in zip(both, changes, strict=True):
            falling = da < 0
            if falling.any():
                ratio = -np.extract(falling, a) / np.extract(falling, da)
                length = min(length, float(ratio.min()))
    return min(length, 1.0 / _SAFE_STEP)
