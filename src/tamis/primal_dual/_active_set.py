r"""Newton steps in the l1 ball with an active set: to the optimum over a face, or its border.

The system is that of `_newton`, one block per class, joined by the multiplier of the ball. With
the gradient g, the Hessian H, the normal a and the room r that is left in the ball,

.. math:: H v + \lambda a = -g, \qquad \lambda \ge 0, \quad a^T v \le r, \quad
          \lambda (r - a^T v) = 0.

Where an entry would change its sign, the step ends, the entry is dropped, and the next step, in
the same quadratic model, goes on from there. The model falls with each of them.
"""

import numpy as np
from scipy.linalg import lapack

# Entries that are dropped one after the other.
_MOST_DROPPED = 20


def walk_on_face(blocks, room):
    """Move all blocks to the optimum of the quadratic model over the face; False on failure.

    `blocks`: changed; `room`: radius of the ball less the norm of the point.
    """
    for _ in range(_MOST_DROPPED):
        pull = give = 0.0
        for block in blocks:
            if not block.solve():
                return False
            pull += block.pull
            give += block.give
        multiplier = max(-(pull + room) / give, 0.0) if give > 0 else 0.0
        crossings = np.concatenate([block.crossings(multiplier) for block in blocks])
        length = crossings.min(initial=1.0)
        room -= sum(block.move(length) for block in blocks)
        if not crossings.size:
            break
    return True


class Block:
    """The Newton system of one class: its free entries, and its centers last.

    `columns` (n_free, n_samples): columns of the free entries; changed. `roots` (n_samples,):
    roots of the second derivatives of the loss; changed. `indicator` (n_samples, n_classes) or
    None: Y; None for fixed centers. `W` (n_free,). `signs` (n_free,). `gradient` (n_free,) or
    (n_free + n_classes,).
    """

    def __init__(self, columns, roots, indicator, rho, W, signs, gradient, damping):
        n, size = W.size, gradient.size
        self.n_free = n
        self.hessian = hessian = np.zeros((size, size))
        diagonal = hessian.reshape(-1)[:: size + 1]
        columns *= roots
        hessian[:n, :n] = columns @ columns.T
        if indicator is not None:
            columns *= roots
            crossed = columns @ indicator
            hessian[:n, n:] -= crossed
            hessian[n:, :n] -= crossed.T
            roots *= roots
            diagonal[n:] = roots @ indicator + rho
        diagonal += damping * (diagonal.sum() / size + 1e-300)
        #: The free entries, then how far the centers have moved.
        self.W = np.zeros(size)
        self.W[:n] = W
        #: The gradient and the normal.
        self.right = np.zeros((size, 2), order="F")
        self.right[:, 0] = gradient
        self.right[:n, 1] = signs
        #: Indices of the entries that were not dropped, and the factor of their system.
        self.kept = np.arange(size)
        self.factor: np.ndarray | None = None

    def solve(self):
        """Newton's direction and the way along the normal; False if it cannot be computed."""
        kept = self.kept
        if kept.size == 0:
            self.both, self.pull, self.give = np.zeros((0, 2)), 0.0, 0.0
            return True
        right = np.asfortranarray(self.right[kept])
        if self.factor is None:
            hessian = self.hessian[kept[:, None], kept]
            self.factor, info = lapack.dpotrf(hessian.T, lower=1, clean=0, overwrite_a=1)
            if info:
                return False
        normal = right[:, 1].copy()
        self.both = lapack.dpotrs(self.factor, right, lower=1, overwrite_b=1)[0]
        self.pull, self.give = (normal @ self.both).tolist()
        return np.isfinite(self.pull) and np.isfinite(self.give)

    def crossings(self, multiplier):
        """Set the step; return the shares of it after which entries reach 0."""
        self.step = self.both[:, 0] + multiplier * self.both[:, 1]
        n = np.searchsorted(self.kept, self.n_free)
        W, step = self.W[self.kept[:n]], self.step[:n]
        signs = self.right[self.kept[:n], 1]
        W[W * signs < 0] = 0.0  # by rounding
        self.falling = ((W - step) * signs < 0).nonzero()[0]
        self.shares = W[self.falling] / step[self.falling]
        return self.shares

    def move(self, length):
        """Move by a share of the step, drop the entries that reach 0; the change of the norm."""
        change = np.zeros_like(self.W)
        change[self.kept] = -length * self.step
        gone = self.falling[self.shares <= length]
        if gone.size:
            change[self.kept[gone]] = -self.W[self.kept[gone]]
            self.kept = np.delete(self.kept, gone)
            self.factor = None
        self.W += change
        self.right[:, 0] += self.hessian @ change
        return float(self.right[:, 1] @ change)


def add_violators(W, G):
    """Signs of the entries of W, and of the zero entries that violate optimality most."""
    face = np.sign(W)
    size = np.abs(G)
    total = float(np.vdot(W, face))
    level = float(np.vdot(W, G)) / total * (1 + 1e-9) if total > 0 else 0.0
    size[face != 0] = 0.0
    wrong = (size > level).ravel().nonzero()[0]
    n_new = max(4, np.count_nonzero(face) // 4)
    if wrong.size > n_new:
        wrong = wrong[np.argsort(-size.ravel()[wrong], kind="stable")[:n_new]]
    face.ravel()[wrong] = np.sign(G.ravel()[wrong])
    return face
