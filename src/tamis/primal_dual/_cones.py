r"""Second-order cones for the interior-point method: :math:`t \ge \|w\|`, many at once.

The norm of a ball is a sum of l2 norms of groups of entries (single ones or rows). So each group
has a point :math:`x = (t, w)` of the cone, and a dual point :math:`y = (\lambda, -g)`, also of the
cone; at the optimum the Jordan product :math:`x \circ y = (x^T y,\; x_0 y_1 + y_0 x_1)` is 0. The
scaling of Nesterov and Todd (1997) maps both to the same point: :math:`S y = S^{-1} x`, where S is
a Lorentz boost times a number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Points:
    """One point per cone, or a change of it."""

    head: NDArray  # (n_groups,)
    tail: NDArray  # (n_groups, group_size)

    def plus(self, other: Points, factor: float = 1.0) -> Points:
        """The sum with a multiple of another."""
        return Points(self.head + factor * other.head, self.tail + factor * other.tail)

    def dot(self, other: Points) -> NDArray:
        """The inner product in each cone."""
        return self.head * other.head + np.einsum("ij,ij->i", self.tail, other.tail)

    def jordan(self, other: Points) -> Points:
        """The Jordan product, which is (x'y, 0) where x and y commute with product x'y."""
        tail = self.head[:, None] * other.tail + other.head[:, None] * self.tail
        return Points(self.dot(other), tail)

    def divide(self, right: Points) -> Points:
        """The points whose Jordan product with these is `right`."""
        size = np.sqrt(np.einsum("ij,ij->i", self.tail, self.tail))
        along = np.einsum("ij,ij->i", self.tail, right.tail)
        head = (self.head * right.head - along) / ((self.head - size) * (self.head + size))
        return Points(head, (right.tail - head[:, None] * self.tail) / self.head[:, None])

    def radius(self) -> NDArray:
        """The Lorentz norm, the root of ``head^2 - |tail|^2``."""
        size = np.sqrt(np.einsum("ij,ij->i", self.tail, self.tail))
        return np.sqrt((self.head - size) * (self.head + size))

    def longest(self, move: Points) -> float:
        """The longest step in direction `move` that stays in all cones."""
        square = move.head**2 - np.einsum("ij,ij->i", move.tail, move.tail)
        half = self.head * move.head - np.einsum("ij,ij->i", self.tail, move.tail)
        norm = self.radius()
        # Relative to the norm: too small a difference of squares would be lost.
        square, half = square / norm / norm, half / norm / norm
        root = np.sqrt(np.maximum(half**2 - square, 0.0))
        fastest = float(np.max(np.where(half**2 >= square, root - half, 0.0), initial=0.0))
        return 1.0 / fastest if fastest > 0 else np.inf


class ConeScaling:
    """The scaling S with ``S y = S^-1 x``, for the points x and y of all cones.

    `square` (n_groups,). `head`, `tail`: the boost: ``S^2 = square * (2 v v' - J)`` for v = (head,
    tail) and J = diag(1, -1, ...). `stretch` (n_groups,).
    """

    def __init__(self, x: Points, y: Points) -> None:
        of_x, of_y = x.radius(), y.radius()
        double = np.sqrt(2.0 * (1.0 + x.dot(y) / (of_x * of_y)))
        self.square = of_x / of_y
        self.head = (x.head / of_x + y.head / of_y) / double
        self.tail = (x.tail / of_x[:, None] - y.tail / of_y[:, None]) / double[:, None]
        self.stretch = 1.0 + 2.0 * np.einsum("ij,ij->i", self.tail, self.tail)

    def apply(self, points: Points) -> Points:
        """S times points."""
        return self._boost(points, 1.0, np.sqrt(self.square))

    def apply_inverse(self, points: Points) -> Points:
        """The inverse of S times points."""
        return self._boost(points, -1.0, 1.0 / np.sqrt(self.square))

    def _boost(self, points, sign, factor):
        tail = sign * self.tail
        along = np.einsum("ij,ij->i", tail, points.tail)
        head = self.head * points.head + along
        moved = points.tail + (points.head + along / (1.0 + self.head))[:, None] * tail
        return Points(factor * head, factor[:, None] * moved)

    def solve_tail(self, tails: NDArray) -> NDArray:
        """The inverse of the block of S^2 that belongs to the tails, times `tails`."""
        along = np.einsum("ij,ij->i", self.tail, tails)
        return (tails - (2.0 * along / self.stretch)[:, None] * self.tail) / self.square[:, None]
