r"""The balls that constrain the projection W (features x classes), as solvers need them.

================ ============================== ============================ ====================
ball             norm of W                      dual norm of G               makes zero
================ ============================== ============================ ====================
``L1Ball``       sum of \|W_ij\|                largest \|G_ij\|             entries, so rows
``L21Ball``      sum of the rows' l2 norms      largest l2 norm of a row     rows
``L12Ball``      root of the sum of the rows'   root of the sum of the rows' entries within a row
                 squared l1 norms               squared largest \|G_ij\|
``NuclearBall``  sum of the singular values     largest singular value       singular values
================ ============================== ============================ ====================

A new ball is a new class with these methods: nothing else in the family refers to a ball by name.
"""

from dataclasses import dataclass

import numpy as np

from tamis.projections import (
    project_l1_ball,
    project_l12_ball,
    project_l21_ball,
    project_nuclear_ball,
)


def used_rows(W):
    """Mask of the rows that are not zero; column by column, because rows are short."""
    used = np.zeros(W.shape[0], dtype=bool)
    for column in W.T:
        used |= column != 0
    return used


@dataclass(frozen=True)
class Face:
    """The smooth piece of the sphere on which a matrix lies."""

    free: np.ndarray  # (n_features, n_classes): entries that may move
    normal: np.ndarray  # (n_features, n_classes): gradient of the norm there, 0 elsewhere
    # (n_free_rows, n_classes, n_classes) or None: second derivative of the norm for each row with
    # free entries; None if it is 0.
    curvature: np.ndarray | None


class _Ball:
    """A ball of radius >= 0 around 0."""

    #: Whether the projection makes whole rows zero, so that it selects features.
    selects_rows = False
    #: Whether the ball is a polytope.
    is_flat = False
    #: The norm is the sum of the l2 norms of these ("entries" or "rows"); None for other norms.
    groups: str | None = None

    def __init__(self, radius):
        self.radius = radius

    def level(self, W):
        """What the ball makes sparse: here, the number of features used."""
        return int(np.count_nonzero(used_rows(W)))

    def face(self, W):
        """The piece of the sphere on which W lies; None where none is known."""
        return None


class L1Ball(_Ball):
    """Sum of the magnitudes of all entries."""

    selects_rows = True
    is_flat = True
    groups = "entries"

    def norm(self, W):
        """Norm of W."""
        return float(np.abs(W).sum())

    def dual_norm(self, G):
        """Largest inner product of G with a matrix of norm 1."""
        return float(np.abs(G).max(initial=0.0))

    def project(self, V):
        """The closest matrix of the ball."""
        return project_l1_ball(V, self.radius)

    def row_scores(self, G):
        """Dual norm of each row alone; a row below the largest is zero at the optimum."""
        scores = np.zeros(G.shape[0])
        for column in G.T:
            np.maximum(scores, np.abs(column), out=scores)
        return scores

    def face(self, W):
        """Signs are fixed, zeros stay."""
        return Face(W != 0, np.sign(W), None)

    def keep_face(self, W, old):
        """W with 0 where an entry has changed its sign since `old`."""
        return np.where(W * old < 0, 0.0, W)


class L21Ball(_Ball):
    """Sum of the l2 norms of the rows: the group lasso."""

    selects_rows = True
    groups = "rows"

    def norm(self, W):
        """Norm of W."""
        return float(np.sqrt(np.einsum("ij,ij->i", W, W)).sum())

    def dual_norm(self, G):
        """Largest inner product of G with a matrix of norm 1."""
        return float(self.row_scores(G).max(initial=0.0))

    def project(self, V):
        """The closest matrix of the ball."""
        return project_l21_ball(V, self.radius)

    def row_scores(self, G):
        """Dual norm of each row alone; a row below the largest is zero at the optimum."""
        return np.sqrt(np.einsum("ij,ij->i", G, G))

    def face(self, W):
        """Rows that are zero stay zero; the others move freely, on a curved sphere."""
        rows = W.any(axis=1)
        size = self.row_scores(W[rows])[:, None]
        normal = np.zeros_like(W)
        normal[rows] = direction = W[rows] / size
        outer = direction[:, :, None] * direction[:, None, :]
        curvature = (np.eye(W.shape[1]) - outer) / size[:, :, None]
        return Face(np.repeat(rows[:, None], W.shape[1], axis=1), normal, curvature)

    def keep_face(self, W, old):
        """W with 0 where a row has turned away by more than a right angle since `old`."""
        turned = np.einsum("ij,ij->i", W, old) < 0
        return np.where(turned[:, None], 0.0, W)


class L12Ball(_Ball):
    """Root of the sum of the squared l1 norms of the rows: the exclusive lasso."""

    def norm(self, W):
        """Norm of W."""
        return float(np.linalg.norm(np.abs(W).sum(axis=1)))

    def dual_norm(self, G):
        """Largest inner product of G with a matrix of norm 1."""
        return float(np.linalg.norm(np.abs(G).max(axis=1, initial=0.0)))

    def project(self, V):
        """The closest matrix of the ball."""
        return project_l12_ball(V, self.radius)

    def level(self, W):
        """What the ball makes sparse: here, the number of entries used."""
        return int(np.count_nonzero(W))


class NuclearBall(_Ball):
    """Sum of the singular values."""

    def norm(self, W):
        """Norm of W."""
        return float(np.linalg.svd(W, compute_uv=False).sum())

    def dual_norm(self, G):
        """Largest inner product of G with a matrix of norm 1."""
        return float(np.sqrt(np.linalg.eigvalsh(G.T @ G)[-1]))

    def project(self, V):
        """The closest matrix of the ball."""
        return project_nuclear_ball(V, self.radius)

    def level(self, W):
        """What the ball makes small: here, the rank."""
        return int(np.linalg.matrix_rank(W))


BALLS = {"l1": L1Ball, "l21": L21Ball, "l12": L12Ball, "nuclear": NuclearBall}
