"""The search for the best panel of a fit, from its first panel to what is known at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamis.panel.proof.effort import Effort
from tamis.panel.proof.fits import fit_panels
from tamis.panel.proof.incumbent import FIRST_SHARE, find_good_panel
from tamis.panel.proof.problem import FitProblem
from tamis.panel.proof.search import SLACK, ProofProgress, Search

__all__ = ["DEVIANCE", "Proof", "count_panels", "panel_loss", "prove"]

#: Panels within so many units of deviance (twice the loss) are as good: likelihoods that differ by
#: less than a factor of e, or a difference in AIC of 2 between models of equal size.
DEVIANCE = 2.0


@dataclass(frozen=True)
class Proof:
    """What a search found out; panels are groups, by the numbers that they have outside."""

    panels: list[NDArray]  # those within the limit that were found, best first
    losses: NDArray
    limit: float  # panels with a larger loss were not asked for
    lower_bound: float  # no panel has a smaller loss
    unknown_from: float  # panels with a loss from here on may be missing; infinite: none is
    # Groups that are in every panel that was found within the limit, and in some of them.
    in_all: NDArray
    in_some: NDArray
    copies: list[NDArray]  # groups that are copies of each other; the first ones are listed
    n_panels: int  # number of all panels
    n_nodes: int
    n_fitted: int
    is_interrupted: bool  # whether Ctrl-C ended the search

    @property
    def is_proved(self) -> bool:
        """Whether no panel has a smaller loss than the first."""
        return bool(self.lower_bound >= self.losses[0] * (1.0 - SLACK))

    @property
    def gap(self) -> float:
        """By how much of its loss a panel could fit better than the first; 0 if none can."""
        return 0.0 if self.is_proved else float(1.0 - self.lower_bound / self.losses[0])

    @property
    def is_complete(self) -> bool:
        """Whether every panel within the limit was found."""
        return bool(self.unknown_from > self.limit)


def prove(
    problem: FitProblem,
    k: int,
    *,
    tolerance: float | None = None,
    begin: NDArray | None = None,
    max_nodes: float = np.inf,
    max_seconds: float = np.inf,
    report: Callable[[ProofProgress], object] | None = None,
) -> Proof:
    """Search for the best panel, and for all panels within a tolerance of it.

    `k`: number of groups of a panel; fewer if no more are allowed; `tolerance`: relative, or None
    for `DEVIANCE`; `begin`: groups to begin with, such as those of a forward selection, which are
    not needed; `max_nodes`, `max_seconds`: what the search may spend, as in `Effort`; the search
    for a good first panel takes at most half the nodes. Ctrl-C ends it, and keeps what is known.
    Returns `proof`.
    """
    k = problem.most(k)

    def limit_of(loss):
        return loss + DEVIANCE / 2 if tolerance is None else loss * (1.0 + tolerance)

    search = Search(problem, k, limit_of, Effort(max_nodes, max_seconds))
    place = {int(g): i for i, g in enumerate(problem.groups)}
    first = tuple(place[int(g)] for g in ([] if begin is None else begin) if int(g) in place)
    n_panels = count_panels(problem, k)
    if k:
        _begin(search, first)
    search.run(report)
    return _describe(problem, search, limit_of(search.best), n_panels)


def _begin(search, first):
    """Find good panels to begin with; at least one, even if nothing may be spent."""
    problem, rules, effort = search.problem, search.rules, search.effort
    try:
        if len(first) == rules.k and rules.allows(rules.first_copies(first)):
            search.add([first])
        for start in dict.fromkeys((first, ())):
            if not search.found or effort.left(FIRST_SHARE) > 0:
                search.add([find_good_panel(problem, rules, effort, start)])
    except KeyboardInterrupt:
        effort.interrupt()
        if not search.found:
            search.add([find_good_panel(problem, rules, effort, first)])


def panel_loss(problem: FitProblem, groups: NDArray) -> float:
    """Loss F of one panel; groups that are constant do not matter."""
    panel = np.flatnonzero(np.isin(problem.groups, groups))
    return float(fit_panels(problem, panel[None], np.inf)[0])


def count_panels(problem: FitProblem, k: int) -> int:
    """Number of panels of k groups that the limits allow."""
    sizes = np.bincount(problem.set_of, minlength=problem.room.size)
    counts = [1] + [0] * k
    for size, room in zip(sizes.tolist(), problem.room.tolist(), strict=True):
        binomials = [1]
        for i in range(min(size, room, k)):
            binomials.append(binomials[-1] * (size - i) // (i + 1))
        counts = [
            sum(counts[j - i] * binomials[i] for i in range(min(j, len(binomials) - 1) + 1))
            for j in range(k + 1)
        ]
    return counts[k]


def _describe(problem, search, limit, n_panels):
    """The proof, with groups by their numbers outside."""
    within = limit * (1.0 + SLACK)
    found = sorted((loss, panel) for panel, loss in search.found.items() if loss <= within)
    names = search.problem.groups
    least, most = _usage(problem, search, [panel for _, panel in found])
    of_class = np.bincount(problem.twin, minlength=1)[problem.twin]
    classes = (np.flatnonzero(problem.twin == t) for t in np.unique(problem.twin[of_class > 1]))
    unknown = search.unknown_from
    return Proof(
        [np.sort(names[list(panel)]) for _, panel in found],
        np.array([loss for loss, _ in found]),
        limit,
        search.lower_bound,
        min(unknown, search.best) if search.is_full else unknown,
        problem.groups[least[problem.twin] == of_class],
        problem.groups[most[problem.twin] > 0],
        [problem.groups[some] for some in classes],
        n_panels,
        search.effort.n_nodes,
        search.effort.n_fitted,
        search.effort.is_interrupted,
    )


def _usage(problem, search, panels):
    """Least and largest number of copies of each class in a panel of the list.

    Groups that stand for each other count together: a panel with the first could have the second.
    """
    n_classes = int(problem.twin.max(initial=-1)) + 1
    least, most = np.full(n_classes, problem.n_groups), np.zeros(n_classes, dtype=np.int64)
    twin = search.problem.twin

    def count(groups):
        return np.bincount(twin[np.asarray(groups, dtype=np.intp)], minlength=n_classes)

    for panel in panels:
        of_panel = count(panel)
        np.minimum(least, of_panel, out=least)
        np.maximum(most, of_panel, out=most)
    return least, most
