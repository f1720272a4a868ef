"""Which sets of groups are panels: limits of sets, and copies that stand for each other.

Of groups that are copies, the first ones are taken: a panel with the second also has the first, so
panels that differ only in copies are listed once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis.panel.proof.problem import FitProblem

__all__ = ["Panel", "Rules"]

Panel = tuple[int, ...]


class Rules:
    """The panels of k groups of a problem."""

    def __init__(self, problem: FitProblem, k: int) -> None:
        self.k, self.set_of, self._room = k, problem.set_of, problem.room
        self.has_limits = problem.has_limits
        self.twins: dict[int, tuple[int, ...]] = {}
        sizes = np.bincount(problem.twin, minlength=1)
        for t in np.flatnonzero(sizes > 1):
            of_class = tuple(np.flatnonzero(problem.twin == t).tolist())
            self.twins.update(dict.fromkeys(of_class, of_class))

    def room(self, inside: Panel) -> NDArray[np.int64]:
        """How many more groups of each set may join."""
        return self._room - np.bincount(self.set_of[list(inside)], minlength=self._room.size)

    def allows(self, panel: Panel) -> bool:
        """Whether groups are a panel, or a part of one, of which the first copies are taken."""
        if self.has_limits and (self.room(panel) < 0).any():
            return False
        return not self.twins or self.first_copies(panel) == tuple(sorted(panel))

    def first_copies(self, panel: Panel) -> Panel:
        """The same panel, with the first of all copies, ascending."""
        if not self.twins:
            return tuple(sorted(panel))
        plain = [g for g in panel if g not in self.twins]
        counts: dict[tuple[int, ...], int] = {}
        for g in panel:
            if g in self.twins:
                counts[self.twins[g]] = counts.get(self.twins[g], 0) + 1
        first = [g for of_class, n in counts.items() for g in of_class[:n]]
        return tuple(sorted(plain + first))

    def close(self, inside: Panel, free: NDArray) -> tuple[Panel, NDArray] | None:
        """What follows from groups that are fixed in and those that are still free.

        Returns `inside` and `free` with all groups decided that have only one way to go; None if
        there is no such panel.
        """
        if self.twins:
            closed = self._close_twins(inside, free)
            if closed is None:
                return None
            inside, free = closed
        m = self.k - len(inside)
        if m < 0:
            return None
        n_most = free.size
        if self.has_limits:
            room = self.room(inside)
            if (room < 0).any():
                return None
            free = free[room[self.set_of[free]] > 0]
            of_sets = np.bincount(self.set_of[free], minlength=room.size)
            n_most = int(np.minimum(of_sets, np.maximum(room, 0)).sum())
        if n_most < m:
            return None
        if m == 0:
            return inside, free[:0]
        if free.size == m:
            return (*inside, *free.tolist()), free[:0]
        return inside, free

    def _close_twins(self, inside, free):
        """The first copies of what is inside are inside; those after a dropped one are dropped."""
        chosen, left = set(inside), set(free.tolist())
        for of_class in {self.twins[g] for g in (chosen | left) if g in self.twins}:
            last = max((i for i, g in enumerate(of_class) if g in chosen), default=-1)
            for g in of_class[: last + 1]:
                if g not in chosen and g not in left:
                    return None
                chosen.add(g)
                left.discard(g)
            for i, g in enumerate(of_class):
                if g not in chosen and g not in left:
                    left.difference_update(of_class[i:])
                    break
        added = tuple(sorted(chosen.difference(inside)))
        return (*inside, *added), free[np.isin(free, list(left), assume_unique=True)]
