"""Sums of the largest scores under limits, what they fix, and the panels that they leave possible.

Scores are the ``c_g ** 2`` of the free groups below a node. Where at most so many groups of a set
may be selected, the sets of allowed groups are the independent sets of a partition matroid, so the
m largest that fit, taken one after the other, have the largest sum, and a group that is exchanged
changes the sum by one difference.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Largest", "enumerate_above", "largest"]


class Largest:
    """The m best of some groups, and what forcing a group in or out costs.

    `chosen`, `others`: groups, the chosen ones best first; `total`: sum of the scores of
    `chosen`; `cost_in`: of each of `others`, `cost_out`: of each of `chosen`: by how much the sum
    falls.
    """

    def __init__(self, scores, free, n_wanted, set_of=None, room=None):
        if set_of is None:
            self._unlimited(scores, free, n_wanted)
        else:
            order = free[np.argsort(-scores[free], kind="stable")]
            self._limited(scores, order, n_wanted, set_of, room.copy())
        self.total = float(scores[self.chosen].sum())

    def _unlimited(self, scores, free, n_wanted):
        values = scores[free]
        top = np.arange(free.size)
        if free.size > n_wanted + 1:
            top = np.argpartition(-values, n_wanted)[: n_wanted + 1]
        top = top[np.lexsort((top, -values[top]))]
        is_chosen = np.zeros(free.size, dtype=bool)
        is_chosen[top[:n_wanted]] = True
        self.chosen, self.others = free[top[:n_wanted]], free[~is_chosen]
        first = values[top[n_wanted]] if top.size > n_wanted else -np.inf
        last = values[top[n_wanted - 1]] if n_wanted else np.inf
        self.cost_in, self.cost_out = last - scores[self.others], scores[self.chosen] - first

    def _limited(self, scores, order, n_wanted, set_of, room):
        taken = np.zeros(order.size, dtype=bool)
        for i, g in enumerate(order):
            if taken.sum() == n_wanted:
                break
            if room[set_of[g]] > 0:
                taken[i] = True
                room[set_of[g]] -= 1
        self.chosen, self.others = order[taken], order[~taken]
        last = scores[self.chosen[-1]] if self.chosen.size else np.inf
        of_chosen, of_others = set_of[self.chosen], set_of[self.others]
        self.cost_in = np.empty(self.others.size)
        for i, g in enumerate(self.others):
            same = scores[self.chosen[of_chosen == set_of[g]]]
            # A full set gives up one of its own; otherwise the worst of all goes.
            leaves = last if room[set_of[g]] > 0 else (same[-1] if same.size else np.inf)
            self.cost_in[i] = leaves - scores[g]
        self.cost_out = np.empty(self.chosen.size)
        for i, g in enumerate(self.chosen):
            fits = (room[of_others] > 0) | (of_others == set_of[g])
            best = scores[self.others[fits][0]] if fits.any() else -np.inf
            self.cost_out[i] = scores[g] - best


def largest(scores, free, n_wanted, set_of=None, room=None) -> Largest:
    """The best groups of those that are free; see `Largest`."""
    return Largest(scores, free, n_wanted, set_of, room)


def enumerate_above(
    scores: NDArray, n_wanted: int, least: float, most: int
) -> list[tuple[int, ...]] | None:
    """Sets of `n_wanted` places whose scores sum to at least `least`; None if more than `most`.

    `scores` (m,): descending.
    """
    values = scores.tolist()
    m = len(values)
    head = [0.0]
    for value in values:
        head.append(head[-1] + value)
    found: list[tuple[int, ...]] = []

    def extend(chosen, start, left, total):
        """Whether all sets that begin with `chosen` were listed."""
        for i in range(start, m - left + 1):
            # The best that can follow are the next ones.
            if total + head[i + left] - head[i] < least:
                break
            if left == 1:
                found.append((*chosen, i))
                if len(found) > most:
                    return False
            elif not extend((*chosen, i), i + 1, left - 1, total + values[i]):
                return False
        return True

    return found if extend((), 0, n_wanted, 0.0) else None
