"""What a search may spend: counted work, and seconds."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

__all__ = ["Effort"]

# So many fitted panels are as much work as a node.
_FITTED_PER_NODE = 8


@dataclass
class Effort:
    """Nodes and fitted panels of a search, and when it must end.

    Counted work ends a search at the same place on every machine.
    """

    max_nodes: float = np.inf  # nodes, where fitted panels count in proportion
    max_seconds: float = np.inf
    n_nodes: int = 0
    n_fitted: int = 0
    is_interrupted: bool = False  # whether Ctrl-C ended the search
    start: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self.start

    @property
    def is_late(self) -> bool:
        """Whether all seconds are spent."""
        return self.seconds >= self.max_seconds

    def left(self, share: float = 1.0) -> float:
        """How many nodes a share of all work leaves; 0 or less if it is spent."""
        if self.is_late:
            return 0.0
        return share * self.max_nodes - self.n_nodes - self.n_fitted / _FITTED_PER_NODE

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left; the first node is paid for if any is, since it has a bound."""
        if self.n_nodes == 0 and self.max_nodes > 0:
            return self.is_late
        return self.left() <= 0

    def interrupt(self) -> None:
        """Leave nothing to spend, after Ctrl-C."""
        self.is_interrupted, self.max_seconds = True, 0.0
