r"""Which selection: candidates are judged in the outer folds, before any head is fitted.

`selection="auto"` stands for two orders of features. Forward steps know what the chosen features
tell already, but the best of a hundred candidates is partly the luckiest one; the gains of the
centers look at one feature at a time, so they repeat what is known, with less luck. Which one is
better depends on the data, so the data decide.

In every outer fold each candidate s orders the features on the training rows. A linear
discriminant of its first k features decides the rows of the fold, for each judged size k. Let
:math:`\ell_{ski}` be the log loss of row i at the best temperature of (s, k), and
:math:`\bar\ell_{si}` its mean over the sizes. Candidate s takes the place of the first one if

.. math:: \sum_i w_i d_i > \tfrac12 \, \mathrm{SE}(d), \qquad d_i = \bar\ell_{0i} - \bar\ell_{si},

with weights of sum 1 that give all classes the same say, and the paired standard error of
`tamis.panel.outer.paired_error`. The sizes do not depend on the number of features that is wanted:
panels of all sizes come from one order.

The idea that makes it fast: the discriminant needs no iterations, and the orders of the candidate
that is taken are those from which the heads of the fold are fitted. Shapes: S candidates, K judged
sizes, n rows of the folds, C classes; decisions (S, K, n, C).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix
from tamis.panel.forward import weigh_classes
from tamis.panel.outer import fit_heads, outer_decisions, paired_error, row_losses
from tamis.panel.selection import ChosenPanels, Selection
from tamis.panel.settings import Setting

__all__ = ["JudgedSelections", "choose_selection", "judge_selections", "judged_sizes"]

# Sizes at which orders are judged: few features count as much as many.
_SIZES = (1, 2, 3, 5, 8, 12)
# By how many standard errors a candidate must be better than the first one.
_ERRORS = 0.5
_TIE = 1e-6


class JudgedSelections(NamedTuple):
    """What each candidate selects on the training rows of one fold."""

    found: list[ChosenPanels]  # of each candidate, at all levels
    decisions: NDArray | None  # (S, K, n of the fold, C); None if there is one candidate


def judged_sizes(selection: Selection) -> NDArray[np.int64]:
    """Sizes at which orders are judged: no longer than the prefilter is sure to allow."""
    most = min(selection.choices.n_choices - 1, selection.n_screened // 2)
    return np.array([k for k in _SIZES if k <= most] or [1])


def judge_selections(
    X: Matrix,
    codes: NDArray,
    weights: NDArray,
    n_classes: int,
    candidates: Sequence[Selection],
    levels: NDArray,
    groups: NDArray | None,
    split: tuple[NDArray, NDArray],
) -> JudgedSelections:
    """Select on the training rows of a fold, and decide its test rows if there is a choice.

    `candidates`: selections; the other parameters are those of `tamis.panel.outer.fit_heads`, for
    all rows; `split` are the two sets of rows.
    """
    train, test = split
    data = (X[train], codes[train], weights[train], n_classes)
    groups = None if groups is None else groups[train]
    if len(candidates) == 1:
        return JudgedSelections([candidates[0].choose(*data, levels, groups)], None)
    first, *others = candidates
    if first.gains is None and (weights[train] > 0).all():  # of the same centers for all of them
        gains = first.find_gains(*data[:3])
        candidates = [replace(first, gains=gains), *(replace(o, gains=gains[:1]) for o in others)]
    sizes = judged_sizes(first)
    every = np.concatenate([levels, sizes])
    found, decisions = [], []
    for selection in candidates:
        panels = selection.choose(*data, every, groups)
        ends = (slice(levels.size), slice(levels.size, None))
        wanted, judged = (ChosenPanels(panels.panels[e], panels.proofs[e]) for e in ends)
        settings = [[Setting("lda")]] * sizes.size
        fitted = fit_heads(*data, selection, sizes, settings, found=judged)
        found.append(wanted)
        decisions.append(outer_decisions(fitted, X[test])[:, 0])
    return JudgedSelections(found, np.array(decisions))


def choose_selection(
    judged: Sequence[JudgedSelections],
    splits: Sequence[tuple[NDArray, NDArray]],
    codes: NDArray,
    weights: NDArray,
    class_weight: str | NDArray | None = "balanced",
    groups: NDArray | None = None,
) -> int:
    """Place of the candidate that is taken.

    `judged`: of each fold; `splits`: training and test rows of each fold; `codes`, `weights`,
    `groups`: of all rows; `class_weight` (n_classes,) or None.
    """
    if judged[0].decisions is None:
        return 0
    rows = np.concatenate([test for _, test in splits])
    fold_of = np.repeat(np.arange(len(splits)), [test.size for _, test in splits])
    decisions = np.concatenate([fold.decisions for fold in judged], axis=2)
    codes, weights = codes[rows], weights[rows]
    share = weigh_classes(codes, weights, decisions.shape[3], class_weight)
    share = share / share.sum()
    losses = np.array(
        [row_losses(one, codes, weights, share, fold_of)[0].mean(axis=0) for one in decisions]
    )
    total = losses @ share
    best = int(np.argmin(total))
    error = paired_error(
        losses[0] - losses[best], share, None if groups is None else groups[rows], weights
    )
    return best if total[0] - total[best] > _ERRORS * error + _TIE else 0
