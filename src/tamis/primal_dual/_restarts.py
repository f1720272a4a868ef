"""Restarts of accelerated methods.

Accelerated gradients extrapolate more with every step, and anchored methods (Halpern's iteration)
move away from their anchor less and less. Both are fast from a fresh start and slow down after a
while, so both are started again: accelerated gradients when they go uphill, anchored methods
when their residual says so.
"""

import math

import numpy as np

# Accelerated gradients: a step that would have to be shorter than by this factor is lost in
# rounding, and taken.
SHORTEST = 2.0**30
# An anchored method restarts when its residual is at most this share of the first one ...
_SUFFICIENT = 0.2
# ... or this share, and rises ...
_NECESSARY = 0.8
# ... or when the steps since the last restart are this share of all.
_LONGEST_STRETCH = 0.36


def next_momentum(momentum):
    """The number that follows in the sequence of Nesterov, which starts with 1."""
    return 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))


class Restarts:
    """Counts the steps since the last restart, and decides on restarts of anchored methods.

    `n_steps`: steps since the last restart.
    """

    def __init__(self) -> None:
        self._n_residuals = 0
        self.restart()

    def restart(self) -> None:
        """Start again."""
        self.n_steps = 0
        self._momentum = 1.0
        self._first = self._last = np.inf

    def advance(self) -> None:
        """Count a step."""
        self.n_steps += 1
        self._momentum = next_momentum(self._momentum)

    @property
    def extrapolation(self) -> float:
        """How far accelerated gradients extrapolate the last move."""
        return (self._momentum - 1.0) / next_momentum(self._momentum)

    @property
    def anchor_weight(self) -> float:
        """Weight of the anchor in the next point of an anchored method."""
        return 1.0 / (self.n_steps + 1)

    def restarts_at(self, residual: float) -> bool:
        """Restart if the residual of an anchored method says so, else count a step.

        Returns `restarted`: the anchor must then be moved to the present point.
        """
        self._n_residuals += 1
        if self.n_steps == 0:
            self._first = residual
        drop = residual <= _SUFFICIENT * self._first
        stall = residual <= _NECESSARY * self._first and residual > self._last
        long = self.n_steps >= _LONGEST_STRETCH * self._n_residuals
        self._last = residual
        if self.n_steps > 0 and (drop or stall or long):
            self.restart()
            return True
        self.advance()
        return False
