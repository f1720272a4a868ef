r"""The optimum of a guessed active set, from one linear system: for losses with kinks.

At the optimum each residual is either 0 with |U| < 1, or not 0 with U = ±1, and W lies on a face
of the ball. If an iterate shows which is which, the conditions of optimality are linear. With the
free entries w of a column, their normal a, the rows E with |U| < 1, and weights s,

.. math::
    X^T \operatorname{diag}(s) U = \lambda a, \quad
    Y^T \operatorname{diag}(s) U + \rho (\mu - I) = 0, \quad
    (Y \mu - X w)_E = \delta U_E, \quad a^T w = \eta,

with U = ±1 outside E and :math:`\delta` = 0 for l1. A wrong guess gives a point that is no better,
and is rejected.
"""

import numpy as np

__all__ = ["polish", "polish_size"]

_LARGEST_SYSTEM = 1500
_RIDGE = 1e-11


def polish_size(problem, W, U):
    """Number of unknowns of the largest column's system; infinity if there is none to solve.

    With fixed centers, the system of a single column is singular: the ball removes one unknown.
    """
    face = problem.ball.face(W) if W.any() and problem.rho is not None else None
    if face is None or face.curvature is not None or not np.isfinite(problem.loss.bound):
        return np.inf
    inner = np.abs(U) < problem.loss.bound
    sizes = face.free.sum(axis=0) + inner.sum(axis=0) + problem.n_classes
    return float(sizes.max()) if sizes.max() <= _LARGEST_SYSTEM else np.inf


def polish(problem, pair, W, mu, U):
    """The pair, improved if the active set of (W, mu, U) is the right one."""
    face = problem.ball.face(W)
    bound = problem.loss.bound
    inner = np.abs(U) < bound
    columns = [_Column(problem, face, U, inner, j) for j in range(problem.n_classes)]
    try:
        solved = [column.solve() for column in columns]
    except np.linalg.LinAlgError:
        return pair
    reach = sum(
        column.normal @ solution[:, 0] for column, solution in zip(columns, solved, strict=True)
    )
    give = sum(
        column.normal @ solution[:, 1] for column, solution in zip(columns, solved, strict=True)
    )
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        multiplier = max((reach - problem.ball.radius) / give, 0.0) if give else 0.0
    if not np.isfinite(multiplier):
        return pair
    new_W, new_mu, new_U = np.zeros_like(W), mu.copy(), U.copy()
    for j, (column, solution) in enumerate(zip(columns, solved, strict=True)):
        w, center, u = column.split(solution[:, 0] - multiplier * solution[:, 1])
        new_W[column.rows, j] = w
        new_U[inner[:, j], j] = u
        new_mu[:, j] = center
    if not (np.isfinite(new_W).all() and np.isfinite(new_mu).all() and np.isfinite(new_U).all()):
        return pair
    new_W = problem.ball.project(problem.ball.keep_face(new_W, W))
    primal = problem.primal(new_W, new_mu)
    return pair.better(primal, problem.dual(np.clip(new_U, -bound, bound)))


class _Column:
    """The linear system of one class."""

    def __init__(self, problem, face, U, inner, j):
        self.rows = np.flatnonzero(face.free[:, j])
        E = inner[:, j]
        part = problem.matrix.columns(self.rows)
        s, k = problem.weights, problem.n_classes
        fixed = np.where(E, 0.0, s * U[:, j])
        X = part.take_rows(E)
        p, e = self.rows.size, int(E.sum())
        self.k = k
        right = np.zeros(p + self.k + e)
        matrix = np.zeros((right.size, right.size))
        tie = np.zeros((e, p + self.k))
        tie[:, :p] = -X
        right[:p] = part.adjoint(fixed[:, None])[:, 0]
        tie[:, p:] = problem.indicator[E]
        diagonal = np.arange(p, p + k)
        matrix[diagonal, diagonal] = problem.rho
        right[p : p + k] = problem.rho * problem.identity[:, j] - fixed @ problem.indicator
        tie *= s[E, None]
        matrix[p + self.k :, : p + self.k] = tie
        matrix[: p + self.k, p + self.k :] = tie.T
        diagonal = np.arange(p + self.k, right.size)
        matrix[diagonal, diagonal] = -problem.loss.curvature * s[E]
        self.normal = np.concatenate([face.normal[self.rows, j], np.zeros(self.k + e)])
        self.matrix, self.right, self.n_tied = matrix, right, e

    def solve(self):
        """Solutions for the right side and for the normal."""
        size = self.right.size
        if size == 0:
            return np.zeros((0, 2))
        # A small diagonal makes oversized guesses solvable; one refinement removes its effect.
        scale = _RIDGE * max(np.abs(self.matrix).max(), 1e-300)
        damped = self.matrix.copy()
        sign = np.where(np.arange(size) < size - self.n_tied, 1.0, -1.0)
        damped[np.diag_indices(size)] += scale * sign
        both = np.column_stack([self.right, self.normal])
        inverse = np.linalg.inv(damped)
        solution = inverse @ both
        return solution + inverse @ (both - self.matrix @ solution)

    def split(self, solution):
        """Weights, centers and dual points."""
        p = self.rows.size
        return solution[:p], solution[p : p + self.k], solution[p + self.k :]
