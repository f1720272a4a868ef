r"""Accelerated gradients with Newton steps in the l1 ball, for dense data and a smooth loss.

The algorithm of `_fista` and `_newton` with few and short calls: FISTA on (W, mu) with
backtracking and restarts, where each gradient is a dual point and so a certificate; where the
support has stopped changing, and at the start, Newton steps from face to face of the ball. On
small data a step takes about as long as its calls, so

- arrays are class-first (W is (n_classes, n_features), residuals are (n_classes, n_samples), the
  columns of X are rows): each product is one BLAS call into memory that is allocated once;
- a point is one vector of W, the transposed centers and the residual Y mu - X W, which is linear
  in both: extrapolating or copying it takes one operation, and a line search no product;
- a Newton step goes to the optimum over a face, or to its border (`_active_set`): from the
  solution of one radius, a few of them lead to that of the next.
"""

import numpy as np

from tamis.primal_dual._active_set import Block, add_violators, walk_on_face
from tamis.primal_dual._restarts import next_momentum
from tamis.primal_dual.problem import Dual, Primal

# Iterations on one support before a Newton step is tried there.
_SAME_SUPPORT = 3
# Smallest share of the mean diagonal entry that is added to the diagonal of a Newton system.
_LEAST_DAMPING = 1e-10
# Trials of a line search, and the precision of its last one.
_MOST_TRIALS, _NEAR = 8, 0.1
# The curvature is at most a few times the first guess: beyond this factor, what looks like more
# of it is rounding.
_LARGEST_STEP = 1e4
# Successive Newton steps with little gain before gradient steps follow.
_WEAK_STEPS = 6
# For larger Newton systems, gradient steps are used instead.
_LARGEST_SYSTEM = 1500
# From this size on, a Newton system is built from the rows that matter only.
_LARGE_SYSTEM = 20
# A product with W is made with the rows in use if this share of them, or less, is in use.
_FEW_ROWS, _MANY_FEATURES = 0.3, 64
# Values of the data that may be copied.
_LARGEST_COPY = 100_000_000
# Iterations between two checks by the caller.
_STRIDE = 50


def can_descend(problem):
    """Whether this method can solve the problem."""
    return (
        problem.ball.is_flat
        and problem.loss.is_smooth
        and not (problem.matrix.is_sparse or problem.matrix.is_on_device)
        and np.prod(problem.matrix.shape) <= _LARGEST_COPY
    )


def descent(problem, pair, aim, limit=np.inf):
    """Yield successively better pairs and the number of iterations that each took."""
    state = _Descent(problem, pair.primal)
    while limit > 0:
        n_iter = state.run(aim, int(min(_STRIDE, limit)))
        limit -= n_iter
        problem.step_guess[0] = state.step
        pair = pair.better(state.primal(), state.dual())
        yield pair, n_iter


class _Point:
    """A primal point: views of one vector, and its objective.

    `W` (n_classes, n_features), `mu` (n_classes, n_classes), `R` (n_classes, n_samples).
    """

    def __init__(self, n_classes, n_features, n_samples):
        ends = np.cumsum([n_classes * n for n in (n_features, n_classes, n_samples)])
        self.vector = np.empty(ends[-1])
        self.W, self.mu, self.R = (
            part.reshape(n_classes, -1) for part in np.split(self.vector, ends[:-1])
        )
        self.value = np.inf

    def assign(self, other):
        self.vector[:] = other.vector
        self.value = other.value


class _Descent:
    """The state of the iteration."""

    def __init__(self, problem, start):
        loss = problem.loss
        self.problem = problem
        self.columns = problem.matrix.transposed
        self.curvature = loss.curvature
        self.rounding = problem.matrix.rounding
        self.edge = loss.bound * loss.curvature
        self.radius = float(problem.ball.radius)
        self.rho = problem.rho
        self.identity = problem.identity
        #: Derivatives of the gradient where the loss is quadratic, and their roots.
        self.stiff = problem.weights / self.curvature
        self.root = np.sqrt(self.stiff)
        self.of_W = max(problem.rough_squared_norm, 1e-300) / self.curvature
        self.of_mu = problem.class_sizes / self.curvature
        k, (m, n) = problem.n_classes, self.columns.shape
        self.current, self.previous, self.best, self.ahead, self.new = (
            _Point(k, m, n) for _ in range(5)
        )
        self.current.W[:], self.current.mu[:] = start.W.T, start.mu.T
        self.current.R[:] = problem.residual(start.mu, start.XW).T
        self.current.value = start.value
        self.previous.assign(self.current)
        self.best.assign(self.current)
        #: The clipped residual (U but for a factor), Z, X'Z and Y'Z of a point; those of the best
        #: dual point, its value and its factor.
        self.near, self.Z, self.product = (np.empty((k, n)) for _ in range(3))
        self.G, self.sums = np.empty((k, m)), np.empty((k, k))
        self.best_near, self.best_G = np.zeros((k, n)), np.zeros((k, m))
        self.bound, self.factor = -np.inf, 0.0
        self.step = problem.step_guess[0]
        self.level = 0.0
        self.momentum = 1.0
        self.n_same = self.patience = _SAME_SUPPORT
        self.spent = self.newton_spent = 0.0
        #: Share of their curvature in a majorizing parabola that residuals beyond the bend get.
        self.softness = 0.0
        #: Share of the mean diagonal entry that is added to the diagonal of a Newton system.
        self.damping = _LEAST_DAMPING

    def primal(self):
        """The best primal point."""
        best = self.best
        mu = best.mu.T.copy()
        XW = mu[self.problem.codes]
        XW -= best.R.T
        return Primal(best.W.T.copy(), mu, XW, best.value)

    def dual(self):
        """The best dual point."""
        U = np.ascontiguousarray(self.best_near.T) / self.curvature
        return Dual(U, self.best_G.T.copy(), self.factor, self.bound)

    @property
    def gap(self):
        """Difference of the best values."""
        return self.best.value - self.bound

    def run(self, aim, n_steps):
        """Iterate until the gap is at most `aim`, at most `n_steps` times.

        Returns `n_iter`: number of iterations made.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._run(aim, n_steps)

    def _run(self, aim, n_steps):
        n_iter = 0
        while n_iter < n_steps:
            if self.n_same >= self.patience and self.newton_spent <= self.spent:
                n_iter += self._walk(aim, n_steps - n_iter)
                if self.gap <= aim or n_iter >= n_steps:
                    break
            n_iter += 1
            self._descend()
            if self.gap <= aim:
                break
        return n_iter

    def _descend(self):
        """Take one accelerated step."""
        current, previous, ahead, new = self.current, self.previous, self.ahead, self.new
        following = next_momentum(self.momentum)
        np.subtract(current.vector, previous.vector, out=ahead.vector)
        ahead.vector *= (self.momentum - 1.0) / following
        ahead.vector += current.vector
        self._differentiate(ahead)
        G, slope, share = self.G, None, 0.0
        if self.rho is not None:
            slope = self.sums + self.rho * (ahead.mu - self.identity)
        while True:
            of_W = self.step * self.of_W
            np.divide(G, of_W, out=new.W)
            new.W += ahead.W
            self._project(new.W)
            new.mu[:] = ahead.mu
            if slope is not None:
                move = slope / (self.step * self.of_mu + self.rho)
                new.mu -= move
                share = 0.5 * np.vdot(slope, move)
            self._multiply(new)
            self._evaluate(new)
            move = new.W - ahead.W
            model = ahead.value - share + 0.5 * of_W * np.vdot(move, move) - np.vdot(move, G)
            if new.value <= model + self.rounding * abs(ahead.value):
                self.step = max(0.9 * self.step, 1e-3)
                break
            if self.step > _LARGEST_STEP:
                self.step = 1.0
                break
            self.step *= 2.0
        uphill = -of_W * np.vdot(move, new.W - current.W)
        if slope is not None:
            uphill += np.vdot(slope, new.mu - current.mu)
        self.momentum = next_momentum(1.0) if uphill > 0 else following
        support, before = new.W != 0, current.W != 0
        self.n_same = self.n_same + 1 if np.array_equal(support, before) else 0
        used = np.count_nonzero(support)
        (k, m), n = new.W.shape, new.R.shape[1]
        self.spent += n * (2.0 * m * k + 2.0 * used + 20.0)
        self.previous, self.current, self.new = current, new, previous
        self._keep()

    def _walk(self, aim, n_steps):
        """Take Newton steps from face to face of the ball as long as they pay; their number.

        Before each step, the entries that violate optimality most are added to the face, a few at
        a time: more would be clipped at 0 again.
        """
        weak = n_iter = 0
        self._differentiate(self.current)
        while self.gap > aim and n_iter < n_steps:
            face = add_violators(self.current.W, self.G)
            cost = self._newton_cost(face)
            self.newton_spent += cost
            n_iter += 1
            if cost == np.inf:
                break
            length = self._newton_step(face)
            if length == 1.0:
                self.damping = max(self.damping / 30.0, _LEAST_DAMPING)
                self.softness = 0.0 if self.softness < 0.01 else 0.1 * self.softness
            elif length < 0.5:
                self.damping = max(self.damping * 100.0, 1e-6)
                self.softness = min(10 * self.softness, 1.0) or 0.1
            if length == 0.0:
                weak += 1
                if weak >= _WEAK_STEPS:
                    break
                continue
            gap, fall = self.gap, self.current.value - self.new.value
            self.current, self.new = self.new, self.current
            self._keep()
            self._differentiate(self.current, is_evaluated=True)
            pays = fall >= 0.02 * gap or self.gap <= 0.8 * gap
            weak = 0 if pays else weak + 1
            if weak >= _WEAK_STEPS:
                break
            if pays:
                self.newton_spent -= cost
        if self.gap > aim and n_iter < n_steps:
            self.previous.assign(self.current)
            self.momentum, self.n_same = 1.0, 0
            self.patience *= 2
        return n_iter

    # Values and gradients.

    def _project(self, W):
        """Project on the ball, in place; the level of the last projection is the first guess."""
        size = np.abs(W)
        if size.sum() <= self.radius:
            return
        flat = size.ravel()
        level, count = self.level, -1
        # Newton's method on a convex, piecewise linear function: from the second step on, levels
        # rise, and entries only leave.
        for n_steps in range(flat.size + 2):
            kept = flat[flat > level]
            if n_steps > 1 and kept.size == count:
                break
            count = kept.size
            level = (kept.sum() - self.radius) / count if count else 0.0
        self.level = level
        W -= np.clip(W, -level, level)

    def _multiply(self, point):
        """Fill in the residual of a point."""
        W, product = point.W, self.product
        np.take(point.mu, self.problem.codes, axis=1, out=point.R, mode="clip")
        columns = self.columns
        if W.shape[1] > _MANY_FEATURES:
            rows = W.any(axis=0).nonzero()[0]
            if rows.size <= _FEW_ROWS * W.shape[1]:
                W, columns = W[:, rows], columns[rows]
        np.dot(W, columns, out=product)
        point.R -= product

    def _evaluate(self, point):
        """Fill in the objective of a point; also the clipped residual and Z."""
        R, near, Z = point.R, self.near, self.Z
        np.minimum(R, self.edge, out=near)
        np.maximum(near, -self.edge, out=near)
        np.multiply(near, self.stiff, out=Z)
        self.square = 0.5 * float(np.vdot(Z, near))
        point.value = float(np.vdot(Z, R)) - self.square
        if self.rho is not None:
            away = point.mu - self.identity
            point.value += 0.5 * self.rho * float(np.vdot(away, away))

    def _differentiate(self, point, is_evaluated=False):
        """Fill in the objective and the gradient of a point, and keep its dual point if better."""
        if not is_evaluated:
            self._evaluate(point)
        np.dot(self.Z, self.columns.T, out=self.G)
        np.dot(self.Z, self.problem.indicator, out=self.sums)
        # The best multiple of U: see `problem`.
        largest = max(float(self.G.max(initial=0.0)), -float(self.G.min(initial=0.0)))
        linear = float(self.sums.trace()) - self.radius * largest
        square = self.square
        if self.rho is not None:
            square += 0.5 * float(np.vdot(self.sums, self.sums)) / self.rho
        factor = 0.0
        if linear > 0:
            factor = 0.5 * linear / square if square > 0 else np.inf
            if factor > 1.0:
                size = float(np.abs(self.near).max())
                factor = min(factor, self.edge / size if size > 0 else 1.0)
        value = factor * linear - factor**2 * square
        if value > self.bound:
            self.bound, self.factor = value, factor
            self.near, self.best_near = self.best_near, self.near
            self.best_G[:] = self.G

    def _keep(self):
        if self.current.value < self.best.value:
            self.best.assign(self.current)

    # Newton steps.

    def _newton_cost(self, face):
        """Approximate number of operations of a step; infinity if the system is too large."""
        sizes = np.count_nonzero(face, axis=1) + (0.0 if self.rho is None else face.shape[0])
        if sizes.max() > _LARGEST_SYSTEM:
            return np.inf
        return float(np.sum(0.3 * self.root.size * sizes**2 + sizes**3 / 3.0))

    def _block(self, j, free, signs):
        """The Newton system of one class."""
        current, indicator = self.current, None
        columns, roots, gradient = self.columns[free], self._roots(j), -self.G[j, free]
        if self.rho is not None:
            indicator = self.problem.indicator
            slope = self.sums[j] + self.rho * (current.mu[j] - self.identity[j])
            gradient = np.concatenate([gradient, slope])
        if free.size > _LARGE_SYSTEM and self.softness == 0:
            rows = roots.nonzero()[0]
            columns, roots = columns[:, rows], roots[rows]
            indicator = None if indicator is None else indicator[rows]
        W = current.W[j, free]
        return Block(columns, roots, indicator, self.rho, W, signs, gradient, self.damping)

    def _roots(self, j):
        """Roots of the second derivatives at the residuals of one class."""
        size = np.abs(self.current.R[j])
        if self.softness == 0 or not np.isfinite(self.edge):
            return self.root * (size <= self.edge)
        share = self.edge / np.maximum(size, self.edge)
        share[size > self.edge] *= self.softness
        np.sqrt(share, out=share)
        share *= self.root
        return share

    def _newton_step(self, face):
        """Fill `new` with a better point on a face of the ball; the step length, 0 on failure."""
        current, new = self.current, self.new
        blocks = {}
        for j, signs in enumerate(face):
            free = signs.nonzero()[0]
            if free.size or self.rho is not None:
                blocks[j] = self._block(j, free, signs[free])
        room = self.radius - float(np.abs(current.W).sum())
        if not blocks or not walk_on_face(list(blocks.values()), room):
            return 0.0
        new.W.fill(0.0)
        new.mu[:] = current.mu
        for j, block in blocks.items():
            new.W[j, face[j] != 0] = block.W[: block.n_free]
            if self.rho is not None:
                new.mu[j] += block.W[block.n_free :]
        self._project(new.W)
        self._multiply(new)
        self._evaluate(new)
        return self._search(current, new)

    def _search(self, current, new):
        """Replace `new` by the best point between `current` and `new`; the step length.

        Along the line, the objective is convex and piecewise quadratic.
        """
        way = self.ahead.vector
        np.subtract(new.vector, current.vector, out=way)
        if not np.isfinite(new.value):
            return 0.0
        R, mu = self.ahead.R, self.ahead.mu
        squares = 0.0 if self.rho is None else self.rho * float(np.vdot(mu, mu))
        low, high, length = 0.0, 1.0, 1.0
        for _ in range(_MOST_TRIALS):
            slope = float(np.vdot(self.Z, R))
            if self.rho is not None:
                slope += self.rho * float(np.vdot(new.mu - self.identity, mu))
            if slope <= 0:
                if length == 1.0:
                    break
                low = length
            else:
                high = length
            np.multiply(R, np.abs(self.near) < self.edge, out=self.product)
            self.product *= self.stiff
            curved = float(np.vdot(self.product, R)) + squares
            step = -slope / curved if curved > 0 else 0.0
            if new.value < current.value and abs(step) <= _NEAR * length:
                break
            length += step
            if not low < length < high:
                length = 0.5 * (low + high)
            np.multiply(way, length, out=new.vector)
            new.vector += current.vector
            self._evaluate(new)
        return length if new.value < current.value else 0.0
