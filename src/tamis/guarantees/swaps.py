r"""Panels that differ from a forward panel in one feature and are nearly as good.

Every selected feature is swapped with every screened candidate. A panel S is judged as the forward
steps judge theirs (`tamis.panel.forward`): by the log loss :math:`l_i(S)` of each row in the fold
that leaves it out, with models of each class against the rest and the ridge `alpha`. With weights
:math:`w_i` that sum to 1, a swap to S' loses :math:`D = \sum_i w_i (l_i(S') - l_i(S))`, and is
*near* if D is at most its paired standard error, from these differences over rows or sample
groups.

Panels that differ in several features are not tried, so the list is not exhaustive. The rows chose
the panel, so the losses say which panels are alike, not how good any of them is.

Shapes: n rows, k selected and p screened features: k (p - k) swaps, each a refit from the
coefficients without the removed feature.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tamis._base import check_weights, encode_labels
from tamis.panel import PanelClassifier, PanelClassifierCV
from tamis.panel.forward import lay_out_forward, sample_rows
from tamis.panel.forward_steps import StepCandidates, joined_losses
from tamis.panel.outer import check_groups, paired_error
from tamis.panel.selection import MOST_ROWS, is_rare
from tamis.paths.row_keys import row_keys


class Swap(NamedTuple):
    """A panel with one feature replaced.

    Attributes
    ----------
    removed, added : int
        Indices of the features.
    features : ndarray of int
        The panel after the swap, ascending, without kept features.
    loss : float
        How much out-of-fold loss it adds; negative if the swap is better.
    standard_error : float
        Paired, of `loss`.
    """

    removed: int
    added: int
    features: NDArray[np.intp]
    loss: float
    standard_error: float


@dataclass(frozen=True)
class SwapPanels:
    """The panels within one standard error that are one swap away; there may be others.

    Attributes
    ----------
    features : ndarray of int
        The panel itself, without kept features.
    near : list of Swap
        Swaps that lose at most one standard error, the best first.
    n_tried : int
        Number of swaps that were tried.
    is_exhaustive : bool
        False: panels that differ in several features were not tried.
    """

    features: NDArray[np.intp]
    near: list[Swap]
    n_tried: int
    n_features_in: int
    is_exhaustive: bool = False

    def status(self) -> NDArray[np.str_]:
        """Whether each feature is in "all", "some" or "none" of the panels that were found.

        Returns
        -------
        status : ndarray of str of shape (n_features,)
        """
        status = np.full(self.n_features_in, "none", dtype="<U4")
        status[self.features] = "all"
        for swap in self.near:
            status[[swap.removed, swap.added]] = "some"
        return status


def swap_panels(
    model: PanelClassifier | PanelClassifierCV,
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> SwapPanels:
    """Swap each feature of a forward panel with each candidate, and list those that lose little.

    Parameters
    ----------
    model : PanelClassifier or PanelClassifierCV
        Fitted, with forward steps (``selection_ == "forward"``) and without features of several
        columns.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows that it was fitted on; about 10,000 of many are used.
    y : array-like of shape (n_samples,)
        Their labels.
    sample_weight : array-like of shape (n_samples,), default=None
    groups : array-like of shape (n_samples,), default=None
        Sample groups: they stay in one fold, and the standard error counts each once.

    Returns
    -------
    panels : SwapPanels

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis import PanelClassifier
    >>> from tamis.guarantees import swap_panels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> panels = swap_panels(PanelClassifier(3).fit(X, y), X, y)
    >>> panels.n_tried
    81
    >>> [(swap.removed, swap.added) for swap in panels.near]
    [(21, 22)]
    """
    check_is_fitted(model, "support_")
    choices = model._make_choices()
    if model.selection_ != "forward":
        raise ValueError(
            f"swap_panels needs features of forward steps, got {model.selection_!r}; for features "
            "that are ranked one by one, near_optimal_panels lists all panels."
        )
    if choices.kept.size < choices.group_of.size:
        raise ValueError("swap_panels needs features of one column each; feature_groups has more.")
    X = model._check_X(X)
    X = X.tocsr() if hasattr(X, "tocsr") else X
    _, codes = encode_labels(y, model.classes_)
    weights = check_weights(sample_weight, X)
    weights = np.ones(codes.size) if weights is None else weights
    groups = check_groups(groups, codes)
    if is_rare(X):
        raise ValueError(
            "swap_panels needs forward steps, and rare words are chosen without them."
        )
    used = np.flatnonzero(weights > 0)
    X, codes, weights = X[used], codes[used], weights[used]
    groups = None if groups is None else groups[used]
    selection = replace(model._make_selection(choices), kind="forward")
    chosen = np.flatnonzero(model.support_ & ~choices.kept[choices.group_of])
    screened = selection.screen(X, codes, weights, chosen.size)
    screened = np.concatenate([chosen, screened[~np.isin(screened, chosen)]])
    keys = row_keys(X)
    if codes.size > MOST_ROWS:
        rows = sample_rows(X, codes, MOST_ROWS, groups, selection.seed, keys)
        X, codes, weights, keys = X[rows], codes[rows], weights[rows], keys[rows]
        groups = None if groups is None else groups[rows]
    laid = lay_out_forward(
        X,
        codes,
        weights,
        len(model.classes_),
        screened,
        choices,
        alpha=selection.alpha,
        n_folds=selection.n_folds,
        class_weight=selection.class_weight,
        groups=groups,
        seed=selection.seed,
        keys=keys,
    )
    share = laid.problems.weights / laid.problems.weights.sum()
    groups = None if groups is None else groups[laid.rows]
    near, n_tried = [], 0
    for place, removed in enumerate(chosen):
        rest = np.delete(np.arange(chosen.size), place)
        # The removed feature comes first: its "swap" is the panel itself.
        allowed = _allowed(choices, chosen[rest], screened[chosen.size :])
        joining = np.append(place, chosen.size + np.flatnonzero(allowed))
        losses = joined_losses(
            np.vstack([laid.kept, laid.candidates.columns[rest]]),
            _some(laid.candidates, joining),
            laid.problems,
        )
        n_tried += joining.size - 1
        for j, of_rows in zip(joining[1:], losses[1:] - losses[0], strict=True):
            loss, error = (
                float(share @ of_rows),
                paired_error(of_rows, share, groups, weights[laid.rows]),
            )
            if loss <= error:
                features = np.sort(np.append(chosen[rest], screened[j]))
                near.append(Swap(int(removed), int(screened[j]), features, loss, error))
    near.sort(key=lambda swap: (swap.loss, swap.removed, swap.added))
    return SwapPanels(chosen, near, n_tried, int(model.support_.size))


def _allowed(choices, rest, others):
    """Which other features may join without exceeding the limit of their set."""
    room = choices.room - np.bincount(choices.set_of[rest], minlength=choices.room.size)
    return room[choices.set_of[others]] > 0


def _some(candidates, places):
    return StepCandidates(
        candidates.columns[places], np.arange(places.size + 1), candidates.cost[places]
    )
