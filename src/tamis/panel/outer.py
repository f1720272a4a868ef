r"""Outer folds: everything is repeated without the rows that judge it.

In each outer fold the features are screened and chosen (`tamis.panel.judging` says by which
selection) and the heads fitted on the other rows; the rows of the fold get the decisions of every
head, with every setting, at every level. From these decisions alone come the head, its ridge or
width, and its temperature.

The loss of a head is the log loss at its best temperature, weighted like the training. Linear
heads can be read, so a kernel must be better than the best of them by more than one standard error
of the paired difference, and by more than `KERNEL_MARGIN`. Shapes: L levels, H settings, n rows, C
classes; decisions (L, H, n, C).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length

from tamis._array import Matrix, take_columns
from tamis.heads import Head
from tamis.panel.forward import (
    decide,
    decide_all,
    dense_columns,
    judging_folds,
    keys_of,
    sample_rows,
    weigh_classes,
)
from tamis.panel.selection import ChosenPanels, Selection
from tamis.panel.settings import Setting, fit_settings
from tamis.panel.tempered import tempered_losses
from tamis.paths.splits import make_splits
from tamis.paths.temperature import hottest, least_loss, match_folds

if TYPE_CHECKING:
    from sklearn.model_selection import BaseCrossValidator

    from tamis.panel.proof.prove import Proof

__all__ = [
    "KERNEL_MARGIN",
    "Chosen",
    "FittedHeads",
    "bound_temperatures",
    "check_groups",
    "choose_heads",
    "fit_fold",
    "fit_heads",
    "outer_decisions",
    "outer_splits",
    "paired_error",
    "row_losses",
]

#: A kernel must also lower the log loss (in nats) by more than this to be preferred to a head that
#: can be read. Chosen on tuning sets alone (benchmarks/accuracy/readable_heads.py): 0.1 points of
#: balanced accuracy are lost for a quarter fewer kernels; with more, single sets lose a point.
KERNEL_MARGIN = 0.03
# The decision of classes that a fold has not seen.
_FAR = -1e3
# Losses that differ by less are equal: the difference may be rounding.
_TIE = 1e-6


@dataclass(frozen=True)
class FittedHeads:
    """Selected features and heads of some rows, at all levels."""

    panels: list[NDArray]  # groups of columns of each level, first to last, without kept ones
    columns: list[NDArray]  # selected columns of each level, ascending
    heads: list[list[Head]]  # for each level, one head per setting
    proofs: list[Proof | None]  # what is proved about the panel of each level


@dataclass(frozen=True)
class Chosen:
    """The head of one level."""

    place: int  # of the setting
    temperature: float  # calibrates its decisions
    loss: float  # log loss of the outer decisions


def check_groups(groups: ArrayLike | None, codes: NDArray) -> NDArray | None:
    """Sample groups, one per row."""
    if groups is None:
        return None
    check_consistent_length(codes, groups)
    return np.asarray(groups)


def outer_splits(
    cv: int | BaseCrossValidator | Iterable,
    X: Matrix,
    codes: NDArray,
    weights: NDArray,
    groups: NDArray | None,
    seed: int,
    most: int | None = None,
    keys: NDArray | None = None,
) -> list[tuple[NDArray, NDArray]]:
    """Training and test rows of the outer folds.

    `X` (n_rows, n_columns); `codes` (n_rows,): class indices; `weights` (n_rows,): rows of weight
    0 are in no fold; `groups` (n_rows,) or None: sample groups; `most`: if `cv` is an integer:
    about so many rows at most are in the folds; `keys` (n_rows,) or None: as in
    `tamis.panel.forward.content_folds`. Returns `splits`: without folds whose training rows are
    all of one class.
    """
    used = np.flatnonzero(weights > 0)
    if isinstance(cv, int | np.integer):
        if cv < 2:  # True too
            raise ValueError(f"cv must be at least 2 folds, a splitter or splits, got {cv!r}.")
        keys = keys_of(X, weights) if keys is None else keys
        if most is not None and used.size > most:
            groups_used = _rows(groups, used)
            used = used[sample_rows(X, codes[used], most, groups_used, seed, keys[used])]
        folds = judging_folds(X, codes[used], int(cv), _rows(groups, used), seed + 1, keys[used])
        splits = [(used[folds != f], used[folds == f]) for f in range(int(cv))]
    else:
        splits = [
            (train[weights[train] > 0], test[weights[test] > 0])
            for train, test in make_splits(cv, X, codes, groups)
        ]
    splits = [(a, b) for a, b in splits if b.size and np.unique(codes[a]).size > 1]
    if not splits:
        raise ValueError(
            "No outer fold leaves two classes to train on. At least two distinct rows of two "
            "classes are needed, in different sample groups if there are any."
        )
    return splits


def _rows(groups, rows):
    return None if groups is None else groups[rows]


def fit_heads(
    X: Matrix,
    codes: NDArray,
    weights: NDArray,
    n_classes: int,
    selection: Selection,
    levels: NDArray,
    settings: Sequence[Sequence[Setting]],
    groups: NDArray | None = None,
    keys: NDArray | None = None,
    found: ChosenPanels | None = None,
) -> FittedHeads:
    """Select features and fit heads on some rows.

    `X` (n_rows, n_columns); `codes` (n_rows,): class indices; `weights` (n_rows,): sample weights;
    `levels` (n_levels,): numbers of features, or groups; `settings`: settings to fit at each
    level; `groups` (n_rows,) or None: sample groups; `keys` (n_rows,) or None: as in
    `tamis.panel.forward.content_folds`; `found`: what is selected, if that is known.
    """
    if found is None:
        found = selection.choose(X, codes, weights, n_classes, levels, groups, keys)
    columns = [selection.columns(panel) for panel in found.panels]
    every = np.unique(np.concatenate(columns))
    keeps_sparse = any(setting.keeps_sparse for of_level in settings for setting in of_level)
    values = take_columns(X, every) if keeps_sparse else dense_columns(X, every)
    heads = [
        fit_settings(
            values[:, np.searchsorted(every, some)],
            codes,
            weights,
            n_classes,
            of_level,
            selection.class_weight,
            selection.seed,
        )
        for some, of_level in zip(columns, settings, strict=True)
    ]
    return FittedHeads(found.panels, columns, heads, found.proofs)


def outer_decisions(fitted: FittedHeads, X: Matrix) -> NDArray[np.float64]:
    """Decisions of new rows by every head, of shape (n_levels, n_settings, n_rows, n_classes)."""
    of_levels = [
        decide_all(heads, X, columns)
        for heads, columns in zip(fitted.heads, fitted.columns, strict=True)
    ]
    decisions = np.array(of_levels)
    decisions[np.isneginf(decisions)] = _FAR
    return decisions


def fit_fold(
    X: Matrix,
    codes: NDArray,
    weights: NDArray,
    n_classes: int,
    selection: Selection,
    levels: NDArray,
    settings: Sequence[Setting],
    found: ChosenPanels,
    split: tuple[NDArray, NDArray],
) -> tuple[FittedHeads, NDArray[np.float64]]:
    """Heads of every setting on the training rows of a fold, and their decisions on its test rows.

    The parameters are those of `fit_heads`, for all rows; `found`: what is selected on the
    training rows; `split` are the two sets of rows.
    """
    train, test = split
    fitted = fit_heads(
        X[train],
        codes[train],
        weights[train],
        n_classes,
        selection,
        levels,
        [settings] * levels.size,
        found=found,
    )
    return fitted, outer_decisions(fitted, X[test])


def choose_heads(
    decisions: NDArray,
    codes: NDArray,
    weights: NDArray,
    settings: Sequence[Setting],
    class_weight: str | NDArray | None = "balanced",
    groups: NDArray | None = None,
    fold_of: NDArray | None = None,
    margin: float = KERNEL_MARGIN,
) -> list[Chosen]:
    """Choose the head of each level by the loss of its outer decisions.

    `decisions` (n_levels, n_settings, n_rows, n_classes). `codes` (n_rows,). `weights` (n_rows,):
    sample weights. `class_weight` (n_classes,) or None. `groups` (n_rows,) or None: sample groups,
    which count as one row in the standard error. `fold_of` (n_rows,) or None: fold of each row;
    None if all are of one. `margin`: a kernel is taken only if its loss is smaller than that of
    the best linear head by more than this, and by more than one standard error of the difference.
    """
    share = weigh_classes(codes, weights, decisions.shape[3], class_weight)
    share = share / share.sum()
    fold_of = np.zeros(codes.size, dtype=np.int64) if fold_of is None else fold_of
    linear = np.array([setting.is_linear for setting in settings])
    found = []
    for of_level in decisions:
        losses, temperatures = row_losses(of_level, codes, weights, share, fold_of)
        total = losses @ share
        best = _first_of_the_best(total)
        if linear.any() and not linear[best]:
            plain = int(np.flatnonzero(linear)[_first_of_the_best(total[linear])])
            error = paired_error(losses[plain] - losses[best], share, groups, weights)
            if total[plain] - total[best] <= max(error, margin) + _TIE:
                best = plain
        found.append(Chosen(best, float(temperatures[best]), float(total[best])))
    return found


def row_losses(
    decisions: NDArray, codes: NDArray, weights: NDArray, share: NDArray, fold_of: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log losses of outer decisions at their best temperatures, and these.

    `decisions` (n_settings, n_rows, n_classes). `codes` (n_rows,). `weights` (n_rows,): sample
    weights. `share` (n_rows,): weights of the losses. `fold_of` (n_rows,): fold of each row.
    """
    matched = np.stack([match_folds(d, fold_of, weights) for d in decisions])
    return tempered_losses(matched, codes, share, least_loss(float(weights.sum())))


def bound_temperatures(
    chosen: list[Chosen],
    heads: Sequence[Head],
    columns: Sequence[NDArray],
    X: Matrix,
    codes: NDArray,
    weights: NDArray,
) -> list[Chosen]:
    """The chosen heads of a handful of rows, none hotter than the final ones may be.

    `heads`: one per level; `columns`: of each.
    """
    bounded = []
    for one, head, some in zip(chosen, heads, columns, strict=True):
        decisions, values = decide(head, X, some), dense_columns(X, some)
        decisions = np.where(np.isneginf(decisions), _FAR, decisions)
        most = hottest(decisions, codes, weights, values, X.shape[1])
        bounded.append(replace(one, temperature=min(one.temperature, most)))
    return bounded


def _first_of_the_best(losses):
    return int(np.argmax(losses <= losses.min() + _TIE))


def paired_error(gain: NDArray, share: NDArray, groups: NDArray | None, weights: NDArray) -> float:
    """Standard error of a weighted mean over rows, or over groups of rows.

    `gain` (n_rows,): difference of two losses. `share` (n_rows,): weights; they sum to 1. `groups`
    (n_rows,) or None. `weights` (n_rows,): sample weights; whole numbers are counts of equal rows.
    """
    parts = share * (gain - share @ gain)
    if groups is not None:
        parts = np.bincount(np.unique(groups, return_inverse=True)[1], weights=parts)
    are_counts = groups is None and (weights == np.round(weights)).all()
    times = np.maximum(weights, 1) if are_counts else np.ones(parts.size)
    n = times[parts != 0].sum()
    return float(np.sqrt((parts**2 / times).sum() * n / max(n - 1, 1)))
