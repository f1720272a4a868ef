"""A good panel to begin with: forward steps on the loss itself, then swaps while they help.

Candidates are ranked by their scores at the dual of the fitted panel, which says how fast the loss
falls when a group joins; only the first ones are fitted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis.panel.proof.effort import Effort
from tamis.panel.proof.fits import fit_dual, fit_panels
from tamis.panel.proof.problem import FitProblem
from tamis.panel.proof.rules import Panel, Rules

__all__ = ["FIRST_SHARE", "find_good_panel"]

#: Share of all work that may be spent on the first panel.
FIRST_SHARE = 0.5
_MOST_SWEEPS = 20
# Candidates of a step: as many as fit this many values, within limits.
_VALUES, _FEWEST, _MOST = 2_000_000, 6, 60


def find_good_panel(problem: FitProblem, rules: Rules, effort: Effort, begin: Panel = ()) -> Panel:
    """A panel of `rules.k` groups that no single swap of a likely candidate improves.

    `effort`: pays for it; without any left, the likeliest candidates join without swaps; `begin`:
    groups that a first panel has, such as those of a forward selection.
    """
    panel = tuple(g for g in begin[: rules.k] if rules.allows((g,)) or rules.twins)
    panel = rules.first_copies(panel)
    if not rules.allows(panel):
        panel = ()
    while len(panel) < rules.k:
        best = _best_joined(problem, rules, effort, panel, np.inf)
        if best is None:
            return panel
        panel = best[1]
    loss = float(fit_panels(problem, np.array([panel]), np.inf)[0])
    for _ in range(_MOST_SWEEPS):
        found = None
        for left_out in panel:
            if effort.left(FIRST_SHARE) <= 0:
                break
            rest = tuple(g for g in panel if g != left_out)
            limit = loss if found is None else found[0]
            best = _best_joined(problem, rules, effort, rest, limit)
            if best is not None and best[0] < limit * (1.0 - 1e-12):
                found = best
        if found is None:
            break
        loss, panel = found
    return panel


def _best_joined(problem, rules, effort, panel, limit):
    """The least loss of a panel with one more group, and that panel; None if above the limit."""
    dual = fit_dual(problem, panel)
    c = dual @ problem.free_columns.T
    scores = problem.group_sums(np.einsum("cp,cp->p", c, c))
    n_values = problem.weights.size * len(problem.targets)
    n_most = int(np.clip(_VALUES // n_values, _FEWEST, _MOST))
    if effort.left(FIRST_SHARE) <= 0:
        n_most = 1
    candidates: dict[Panel, None] = {}
    for g in np.argsort(-scores, kind="stable").tolist():
        if g in panel:
            continue
        joined = rules.first_copies((*panel, g))
        if rules.allows(joined):
            candidates[joined] = None
        if len(candidates) == n_most:
            break
    if not candidates:
        return None
    table: NDArray = np.array(list(candidates), dtype=np.intp)
    effort.n_fitted += len(table)
    # The likeliest first: its loss drops most of the others after one step.
    losses = fit_panels(problem, table[:1], limit)
    rest = fit_panels(problem, table[1:], min(limit, float(losses[0])))
    losses = np.concatenate([losses, rest])
    best = int(losses.argmin())
    if not losses[best] <= limit:
        return None
    return float(losses[best]), tuple(table[best].tolist())
