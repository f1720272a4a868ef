r"""Newton's method on the face of the ball on which a point lies.

On its face the norm is smooth and the loss is piecewise quadratic, so near the optimum one or two
steps reach it to the last digits, however ill-conditioned the data are. With the entries w that
are free, their gradient g, the normal a of the sphere and the Hessian H of the Lagrangian,

.. math:: H v + \lambda a = -g, \qquad a^T v = 0.

The columns of W interact only through the ball: with flat faces (l1), H splits into one block per
class; with curved ones (l2,1), it does not. The centers of a class are free entries of its block.
A step is taken only if it lowers the objective, so nothing here can make a solution worse.
"""

import numpy as np
from scipy import linalg

from tamis._array import namespace, to_host

# For larger systems, first-order steps are used instead.
_LARGEST_SYSTEM = 1500
_STEP_LENGTHS = (1.0, 0.5, 0.25, 0.1)
_RIDGE = 1e-10
# Iterations on one face before a step is tried there.
_SAME_FACE = 4


class NewtonSteps:
    """Newton steps between the iterations of another method, as long as they pay.

    They may take as much work as the iterations so far, which are two products with X each.
    """

    def __init__(self, problem):
        self.problem = problem
        n_samples, n_features = problem.matrix.shape
        self._iteration_cost = 4.0 * n_samples * n_features * problem.n_classes
        self._spent = self._newton_spent = 0.0
        self._same_face, self._face, self._patience = 0, None, _SAME_FACE

    def take(self, current, pair, n_iter=1):
        """A step from `current`, if its face has stayed the same for a while.

        `n_iter`: iterations since the last call. Returns `better`, the new point, or None; and
        `pair`.
        """
        self._spent += n_iter * self._iteration_cost
        support = np.packbits(current.W != 0).tobytes()
        self._same_face = self._same_face + n_iter if support == self._face else 0
        self._face = support
        if self._same_face < self._patience:
            return None, pair
        cost = newton_cost(self.problem, current.W)
        if self._newton_spent + cost > self._spent:
            return None, pair
        self._newton_spent += cost
        better = newton_step(self.problem, current)
        if better is not None:
            gap = pair.gap
            pair = pair.better(better, self.problem.dual_of(better))
            # A successful step is not counted, so the next may follow at once.
            pays = pair.gap <= 0.5 * gap
            self._newton_spent -= cost if pays else 0.0
            self._patience = _SAME_FACE if pays else 2 * self._patience
            self._same_face = _SAME_FACE - 2 if pays else 0
        return better, pair


def newton_cost(problem, W):
    """Approximate number of operations of a step; infinity if no step is possible."""
    if W.shape[0] == 0 or not hasattr(problem.ball, "keep_face") or not W.any():
        return np.inf
    n_samples, k = problem.matrix.shape[0], problem.n_classes
    face = problem.ball.face(W)
    sizes = face.free.sum(axis=0) + (k if problem.rho is not None else 0.0)
    # Products of large matrices are several times faster than those with few columns.
    cost = 0.3 * float(np.sum(n_samples * sizes**2))
    largest = sizes.max() if face.curvature is None else sizes.sum()
    cost += float(np.sum(sizes**3) if face.curvature is None else largest**3) / 3.0
    return cost if largest <= _LARGEST_SYSTEM else np.inf


def newton_step(problem, primal):
    """A better primal point on the face of `primal`, or None."""
    face = problem.ball.face(primal.W)
    R = problem.residual(primal.mu, primal.XW)
    U = problem.loss.gradient(R)
    blocks = [_Block(problem, primal, face, R, U, j) for j in range(problem.n_classes)]
    inside = problem.ball.norm(primal.W) < problem.ball.radius * (1 - 1e-9)
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if face.curvature is None:
                moves = _solve_apart(blocks, inside)
            else:
                moves = _solve_together(problem, primal, face, blocks, inside)
    except linalg.LinAlgError:
        return None
    dW, dmu = np.zeros_like(primal.W), np.zeros_like(primal.mu)
    for j, (block, move) in enumerate(zip(blocks, moves, strict=True)):
        dW[block.rows, j] = move[: block.rows.size]
        if problem.rho is not None:
            dmu[:, j] = move[block.rows.size :]
    if not (np.isfinite(dW).all() and np.isfinite(dmu).all()):
        return None
    for length in _STEP_LENGTHS:
        W = problem.ball.keep_face(primal.W + length * dW, primal.W)
        new = problem.primal(problem.ball.project(W), primal.mu + length * dmu)
        if new.value < primal.value:
            return new
    return None


class _Block:
    """Gradient, Hessian and normal of the free entries of one column, its centers last."""

    def __init__(self, problem, primal, face, R, U, j):
        self.rows = np.flatnonzero(face.free[:, j])
        xp = namespace(R)
        in_bend = problem.loss.is_quadratic(R[:, j])
        zero = xp.zeros_like(problem.weights)
        curved = xp.where(in_bend, problem.weights / problem.loss.curvature, zero)
        part = problem.matrix.columns(self.rows)
        hessian = part.gram(curved)
        gradient = -part.adjoint((problem.weights * U[:, j])[:, None])[:, 0]
        normal = face.normal[self.rows, j]
        if problem.rho is not None:
            k = problem.n_classes
            indicator = problem.indicator
            crossed = -part.adjoint(curved[:, None] * indicator)
            corner = np.diag(to_host(curved @ indicator) + problem.rho)
            hessian = np.block([[hessian, crossed], [crossed.T, corner]])
            pull = to_host((problem.weights * U[:, j]) @ indicator)
            pull += problem.rho * (primal.mu[:, j] - problem.identity[:, j])
            gradient = np.concatenate([gradient, pull])
            normal = np.concatenate([normal, np.zeros(k)])
        self.hessian, self.gradient, self.normal = hessian, gradient, normal


def _ridge(hessian):
    size = hessian.shape[0]
    if size:
        hessian[np.diag_indices(size)] += _RIDGE * (np.trace(hessian) / size + 1e-300)
    return hessian


def _solve_apart(blocks, inside):
    """Moves of all blocks when they share only the multiplier."""
    solved, pull, give = [], 0.0, 0.0
    for block in blocks:
        if block.gradient.size == 0:
            solved.append(np.zeros((0, 2)))
            continue
        factor = linalg.cho_factor(_ridge(block.hessian), check_finite=False)
        both = linalg.cho_solve(
            factor, np.column_stack([block.gradient, block.normal]), check_finite=False
        )
        solved.append(both)
        pull += block.normal @ both[:, 0]
        give += block.normal @ both[:, 1]
    multiplier = 0.0 if inside or give <= 0 else -pull / give
    return [-(both[:, 0] + multiplier * both[:, 1]) for both in solved]


def _solve_together(problem, primal, face, blocks, inside):
    """Moves of all blocks when the curvature of the ball couples them."""
    sizes = [block.gradient.size for block in blocks]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    hessian = linalg.block_diag(*[block.hessian for block in blocks])
    gradient = np.concatenate([block.gradient for block in blocks])
    normal = np.concatenate([block.normal for block in blocks])
    if not inside:
        n_rows = face.curvature.shape[0]
        # At the optimum -gradient = multiplier * normal.
        multiplier = max(-(gradient @ normal) / (normal @ normal), 0.0)
        index = starts[:-1][None, :] + np.arange(n_rows)[:, None]  # index of (row, class)
        hessian[index[:, :, None], index[:, None, :]] += multiplier * face.curvature
    joined = _Joined(hessian, gradient, normal)
    move = _solve_apart([joined], inside)[0]
    return np.split(move, starts[1:-1])


class _Joined:
    """All blocks as one."""

    def __init__(self, hessian, gradient, normal):
        self.hessian, self.gradient, self.normal = hessian, gradient, normal
