r"""The losses: l1, Huber and half the squared Frobenius norm, as solvers need them.

A loss is a sum over samples i, with weights :math:`s_i`, and over entries of the residual:
:math:`\sum_{ij} s_i h(R_{ij})`. By duality it is :math:`\max_U \sum_{ij} s_i (U_{ij} R_{ij} -
h^*(U_{ij}))`; the dual variable of the paper is :math:`Z_{ij} = s_i U_{ij}`. Everything here is in
terms of U, so that a row of weight 2 gives the same numbers as two copies.

A new loss is a new class with these methods: nothing else in the family refers to a loss by name.
"""

import numpy as np

from tamis._array import clip, namespace, square_rows

_BLOCK_ROWS = 10_000


class _Loss:
    """Base class of the losses: their conjugates are quadratic, with a curvature >= 0."""

    #: Curvature of the conjugate; its inverse is the Lipschitz constant of the gradient.
    curvature = 0.0
    #: Largest |U| at which the conjugate is finite.
    bound = 1.0
    #: Whether samples go to the center that is nearest in the l2 norm instead of the l1 norm.
    euclidean = False

    @property
    def is_smooth(self):
        """Whether the loss has a gradient everywhere."""
        return self.curvature > 0

    def value(self, R, weights):
        """Weighted sum of h over the residuals, a block of rows at a time on the processor."""
        if not isinstance(R, np.ndarray):
            return float(weights @ self.of_rows(R))
        values = np.empty(len(R))
        for start in range(0, len(R), _BLOCK_ROWS):
            values[start : start + _BLOCK_ROWS] = self.of_rows(R[start : start + _BLOCK_ROWS])
        return float(weights @ values)

    def conjugate(self, U, weights):
        """Sum of the weighted conjugates, for |U| <= `bound`."""
        if self.curvature == 0:
            return 0.0
        return 0.5 * self.curvature * float(weights @ square_rows(U))

    def prox_conjugate(self, V, step):
        """``argmin_U step * conjugate(U) + ||U - V||^2 / 2``."""
        U = V / (1.0 + step * self.curvature)
        return clip(U, -self.bound, self.bound)

    def prox(self, v, step):
        """``argmin_t step * h(t) + (t - v)^2 / 2`` for step > 0, by Moreau's identity."""
        return v - step * self.prox_conjugate(v / step, 1.0 / step)

    def gradient(self, R):
        """Derivative of h at each residual: the dual variable that belongs to R."""
        U = R / self.curvature
        if isinstance(U, np.ndarray):
            return np.clip(U, -self.bound, self.bound, out=U)
        return clip(U, -self.bound, self.bound)

    def is_quadratic(self, R):
        """Where h has the second derivative 1 / `curvature`; elsewhere it has 0."""
        return namespace(R).abs(R) <= self.bound * self.curvature


class L1Loss(_Loss):
    """Sum of the absolute residuals, eq. (1) of the paper."""

    def gradient(self, R):
        """A subgradient: the sign, 0 at 0."""
        return namespace(R).sign(R)

    def of_rows(self, R):
        """Sum of h over each row of residuals."""
        xp = namespace(R)
        return xp.sum(xp.abs(R), axis=1)


class HuberLoss(_Loss):
    """``t^2 / (2 delta)`` for ``|t| <= delta``, ``|t| - delta / 2`` beyond."""

    def __init__(self, delta):
        self.curvature = float(delta)

    def of_rows(self, R):
        """Sum of h over each row of residuals."""
        xp = namespace(R)
        size = xp.abs(R)
        inner = clip(size, None, self.curvature)
        # inner^2 / (2 delta) + (size - inner), for both zones
        return square_rows(inner) / (2 * self.curvature) + xp.sum(size - inner, axis=1)


class FrobeniusLoss(_Loss):
    """Half the sum of the squared residuals."""

    curvature = 1.0
    bound = np.inf
    euclidean = True

    def of_rows(self, R):
        """Sum of h over each row of residuals."""
        return 0.5 * square_rows(R)


# Below this, Huber's loss and l1 differ by less than any useful gap.
_LEAST_DELTA = 1e-9


def make_loss(name, huber_delta):
    """Make a loss by its name; Huber with delta = 0 (or below 1e-9) is l1."""
    if name == "frobenius":
        return FrobeniusLoss()
    if name == "l1" or huber_delta < _LEAST_DELTA:
        return L1Loss()
    return HuberLoss(huber_delta)
