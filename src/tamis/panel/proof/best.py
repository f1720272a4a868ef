"""best_panels: the best panel of k features, with a proof; certify: how far a panel is from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tamis._base import (
    check_class_weight,
    check_weights,
    encode_labels,
    is_real,
    resolve_n_features,
)
from tamis.panel._fitted import FittedPanel, check_seconds
from tamis.panel.classifier import PanelClassifier
from tamis.panel.forward import Choices, members
from tamis.panel.forward_steps import LEAST_RIDGE
from tamis.panel.proof.problem import FitProblem, lay_out_fit
from tamis.panel.proof.prove import Proof, panel_loss, prove
from tamis.panel.proof.search import SLACK, ProofProgress

if TYPE_CHECKING:
    from tamis.panel.classifier_cv import PanelClassifierCV

__all__ = ["BestPanels", "Certificate", "best_panels", "certify", "describe_proof"]


@dataclass(frozen=True)
class BestPanels:
    """The best panels of k features that a search found, and what it proved.

    Attributes
    ----------
    panels : list of ndarray of int
        Indices of the features of each panel, ascending, without kept ones; the best panel first.
        At most `max_panels` are listed. Every panel has exactly k features (or groups), unless
        fewer vary: more features never fit worse, so this is the best with at most k, too.
    losses : ndarray of float
        Loss F of each of them.
    n_within : int
        Number of panels within the tolerance that were found, listed or not.
    limit : float
        Largest loss within the tolerance.
    lower_bound : float
        No panel of k features has a smaller loss.
    gap : float
        By how much, relative to its loss, a panel could fit better than the first one; 0 if none
        can.
    is_proved : bool
        Whether no panel fits better than the first one.
    is_complete : bool
        Whether all panels within the tolerance were found.
    complete_below : float
        All panels with a smaller loss were found; at least `limit` if the list is complete.
    in_all, in_none : ndarray of int
        Features that are in every panel within the tolerance, and in none; empty if the list is
        not complete, since nothing is known then.
    copies : list of list of ndarray
        Features, or groups of features, that are copies of each other. Panels that differ only in
        which copy they have are listed once, with the first.
    n_panels : int
        Number of all panels of k features.
    n_nodes, n_fitted : int
        Work done: nodes of the search, and panels that were fitted.
    is_interrupted : bool
        Whether Ctrl-C ended the search. All that is said here holds nevertheless.
    feature_names : ndarray of str
        Names of all features.
    """

    panels: list[NDArray[np.intp]]
    losses: NDArray[np.float64]
    n_within: int
    limit: float
    lower_bound: float
    gap: float
    is_proved: bool
    is_complete: bool
    complete_below: float
    in_all: NDArray[np.intp]
    in_none: NDArray[np.intp]
    copies: list[list[NDArray[np.intp]]] = field(repr=False)
    n_panels: int
    n_nodes: int
    n_fitted: int
    is_interrupted: bool
    feature_names: NDArray = field(repr=False)

    def table(self) -> dict[str, list]:
        """Columns of a table with one row per listed panel.

        Returns
        -------
        columns : dict of list
            "features" (their names), "loss", and "extra_deviance", twice the difference from the
            loss of the first panel.
        """
        return {
            "features": [self.feature_names[panel].tolist() for panel in self.panels],
            "loss": self.losses.tolist(),
            "extra_deviance": (2.0 * (self.losses - self.losses[0])).tolist(),
        }


@dataclass(frozen=True)
class Certificate:
    """How far the fit of a panel is from that of the best panel of as many features.

    Attributes
    ----------
    loss : float
        Loss F of the panel.
    lower_bound : float
        No panel of as many features has a smaller loss.
    gap : float
        ``(loss - lower_bound) / loss``: no panel can fit better by more than that.
    is_proved : bool
        Whether no panel fits better than this one.
    best : BestPanels
        The search that shows it.
    """

    loss: float
    lower_bound: float
    gap: float
    is_proved: bool
    best: BestPanels


def best_panels(
    X: ArrayLike,
    y: ArrayLike,
    n_features_to_select: int | float | None = 5,
    *,
    tolerance: float | None = None,
    max_seconds: float | None = 10.0,
    max_nodes: int | None = None,
    max_panels: int = 100,
    feature_groups: ArrayLike | Mapping[str, Any] | None = None,
    max_per_group: int | None = None,
    keep: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    class_weight: str | Mapping[Any, float] | None = "balanced",
    alpha: float = 30.0,
    callbacks: Iterable[Callable[[ProofProgress], object]] = (),
) -> BestPanels:
    r"""Find the panel of k features that fits best, prove it, and list all that fit as well.

    The fit is ridge-logistic regression of each class against the rest on standardised features,
    with the weights of the forward steps of `PanelClassifier` and the ridge to which they fall, a
    tenth of `alpha`. It says how well
    panels fit these rows, not how well they predict others.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples; a sparse matrix is made dense.
    y : array-like of shape (n_samples,)
        Labels, of two classes or more.
    n_features_to_select : int, float or None, default=5
        Number of features k (groups with `feature_groups`), without those to keep.
    tolerance : float or None, default=None
        Which panels are listed: those whose loss is larger than the least by at most this share
        of it. None: by at most 2 units of deviance (1 unit of loss), whatever the number of rows:
        a difference in AIC of 2, which does not tell models apart.
    max_seconds : float or None, default=10.0
        The search stops after so many seconds, and says how far it came; None: no limit.
    max_nodes : int or None, default=None
        The search stops after about so many nodes, unlike seconds the same on every machine. The
        panels that are fitted meanwhile count, too: eight of them as a node.
    max_panels : int, default=100
        How many panels are listed; more are counted.
    feature_groups, max_per_group, keep, class_weight, alpha
        As in `PanelClassifier`.
    sample_weight : array-like of shape (n_samples,), default=None
        As in `PanelClassifier.fit`.
    callbacks : iterable of callable, default=()
        Each is called with a `ProofProgress` (n_nodes, n_fitted, best, lower_bound, seconds) now
        and then; if one returns something true, the search stops. So it does on Ctrl-C: what was
        proved is returned, with `is_interrupted`.

    Returns
    -------
    best : BestPanels

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis.panel import best_panels
    >>> data = load_breast_cancer()
    >>> best = best_panels(data.data, data.target, 3)
    >>> best.is_proved, best.n_panels
    (True, 4060)
    >>> data.feature_names[best.panels[0]].tolist()
    ['worst radius', 'worst texture', 'worst concave points']
    """
    trainer = PanelClassifier(
        n_features_to_select,
        alpha=alpha,
        feature_groups=feature_groups,
        max_per_group=max_per_group,
        keep=keep,
        class_weight=class_weight,
    )
    _check_limits(tolerance, max_seconds, max_nodes, max_panels)
    report = _report_to(callbacks)
    trainer._check_parameters()
    X, codes, weights = trainer._validate(X, y, sample_weight)
    problem, choices = _lay_out(trainer, X, codes, weights)
    k = resolve_n_features(n_features_to_select, choices.n_choices) if choices.n_choices else 0
    proof = prove(
        problem,
        k,
        tolerance=tolerance,
        max_nodes=np.inf if max_nodes is None else max_nodes,
        max_seconds=np.inf if max_seconds is None else max_seconds,
        report=report,
    )
    return describe_proof(proof, choices, trainer._feature_names(), max_panels)


def certify(
    panel: PanelClassifier | PanelClassifierCV,
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    max_seconds: float | None = 10.0,
    max_nodes: int | None = None,
    tolerance: float | None = None,
    callbacks: Iterable[Callable[[ProofProgress], object]] = (),
) -> Certificate:
    """How far the fit of a panel is from that of the best panel of as many features.

    Whatever chose the panel and whatever head it has: its features are judged by the fit of
    `best_panels`.

    Parameters
    ----------
    panel : PanelClassifier or PanelClassifierCV
        A fitted panel.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples, such as those it was fitted on.
    y : array-like of shape (n_samples,)
        Their labels.
    sample_weight : array-like of shape (n_samples,), default=None
    max_seconds, max_nodes, tolerance, callbacks
        As in `best_panels`.

    Returns
    -------
    certificate : Certificate

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis import PanelClassifier
    >>> from tamis.panel import certify
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> certificate = certify(PanelClassifier(2, selection="centers").fit(X, y), X, y)
    >>> certificate.is_proved, round(certificate.gap, 3)
    (False, 0.025)
    """
    if not isinstance(panel, FittedPanel):
        raise TypeError(
            f"panel must be a PanelClassifier or a PanelClassifierCV, got {type(panel).__name__}. "
            "To find the best panel without one, use best_panels."
        )
    check_is_fitted(panel, "support_")
    _check_limits(tolerance, max_seconds, max_nodes, 1)
    report = _report_to(callbacks)
    X = panel._check_X(X)
    _, codes = encode_labels(y, panel.classes_)
    if codes.size != X.shape[0]:
        raise ValueError(
            f"y must have one label for each of the {X.shape[0]} samples, got {codes.size}. "
            "Pass X and y of the same rows."
        )
    weights = check_weights(sample_weight, X)
    weights = np.ones(codes.size) if weights is None else weights
    known = np.unique(codes[weights > 0])
    if known.size < 2:
        raise ValueError(
            f"y has one class only, {panel.classes_[known[0]].item()!r}, in the rows with a "
            "positive weight; a panel is judged by rows of at least 2 classes. Pass rows of other "
            "classes, too, such as those on which the panel was fitted."
        )
    problem, choices = _lay_out(panel, X, codes, weights)
    selected = np.unique(choices.group_of[panel.support_])
    selected = selected[~choices.kept[selected]]
    proof = prove(
        problem,
        selected.size,
        tolerance=tolerance,
        begin=selected,
        max_nodes=np.inf if max_nodes is None else max_nodes,
        max_seconds=np.inf if max_seconds is None else max_seconds,
        report=report,
    )
    loss = panel_loss(problem, selected)
    gap = _gap(loss, proof.lower_bound)
    best = describe_proof(proof, choices, panel._feature_names(), 100)
    return Certificate(loss, proof.lower_bound, gap, gap == 0.0, best)


def describe_proof(
    proof: Proof, choices: Choices, feature_names: ArrayLike, max_panels: int
) -> BestPanels:
    """A proof in terms of features."""
    group_of = choices.group_of
    in_none = ~choices.kept[group_of] & ~np.isin(group_of, proof.in_some)

    def features(groups):
        return np.flatnonzero(np.isin(group_of, groups))

    return BestPanels(
        [features(panel) for panel in proof.panels[:max_panels]],
        proof.losses[:max_panels],
        len(proof.panels),
        proof.limit,
        proof.lower_bound,
        proof.gap,
        proof.is_proved,
        proof.is_complete,
        proof.unknown_from,
        features(proof.in_all if proof.is_complete else []),
        np.flatnonzero(in_none & proof.is_complete),
        [members(group_of, some) for some in proof.copies],
        proof.n_panels,
        proof.n_nodes,
        proof.n_fitted,
        proof.is_interrupted,
        np.asarray(feature_names),
    )


def _lay_out(estimator, X, codes, weights) -> tuple[FitProblem, Choices]:
    """The fit of an estimator's parameters, and what it can choose from."""
    choices = estimator._make_choices()
    class_weight = check_class_weight(estimator.class_weight, estimator.classes_)
    n_classes = len(estimator.classes_)
    alpha = LEAST_RIDGE * float(estimator.alpha)
    return lay_out_fit(X, codes, weights, n_classes, choices, alpha, class_weight), choices


def _gap(loss, lower_bound):
    """Relative; 0 if it is within rounding."""
    gap = (loss - lower_bound) / loss
    return float(gap) if gap > SLACK else 0.0


def _check_limits(tolerance, max_seconds, max_nodes, max_panels):
    if tolerance is not None and (not is_real(tolerance) or not 0 <= tolerance < np.inf):
        raise ValueError(
            f"tolerance must be a number >= 0, or None for 2 units of deviance, got {tolerance!r}."
        )
    check_seconds(max_seconds)
    for name, value, least in (("max_nodes", max_nodes, 0), ("max_panels", max_panels, 1)):
        if value is None and name == "max_nodes":
            continue
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name} must be an integer >= {least}, got {value!r}.")


def _report_to(callbacks):
    """One function that tells all callbacks; None if there are none."""
    if not isinstance(callbacks, Iterable):
        raise TypeError(
            f"callbacks must be a list of functions, got {callbacks!r}. Put one in a list."
        )
    callbacks = list(callbacks)
    for callback in callbacks:
        if not callable(callback):
            raise TypeError(
                f"callbacks must be functions that take a ProofProgress, got {callback!r}."
            )
    if not callbacks:
        return None

    def report(progress):
        answers = [callback(progress) for callback in callbacks]  # all of them hear
        return any(answers)

    return report
