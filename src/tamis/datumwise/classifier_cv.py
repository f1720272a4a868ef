"""DatumWiseClassifierCV: the cost weight chosen by cross-validation along a path."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tamis._base import is_real, steps, with_callbacks
from tamis._base.threads import limit_threads
from tamis.datumwise._fitted import FittedDatumWise
from tamis.datumwise.calibrating import CalibratedPathMixin
from tamis.datumwise.classifier import DatumWiseClassifier
from tamis.datumwise.learners import DEFAULT_LEARNER, check_learner
from tamis.datumwise.process import choose_cost_weights, find_class_losses
from tamis.paths.engine import CrossValidation, check_rule, tabulate_folds
from tamis.paths.rule import TOLERANCE, best_of
from tamis.paths.scoring import ScoringMixin, check_scoring
from tamis.paths.seeds import as_seed
from tamis.paths.splits import make_splits

if TYPE_CHECKING:
    from sklearn.model_selection import BaseCrossValidator


# Attributes that differ between levels.
_OF_LEVEL = (
    "policy_",
    "process_",
    "feature_importances_",
    "mean_n_features_",
    "mean_cost_",
    "risk_",
    "cost_weight_",
    "temperature_",
    "best_score_",
    "stability_",
)


class DatumWiseClassifierCV(CalibratedPathMixin, ScoringMixin, FittedDatumWise):
    """Datum-wise classifier whose cost weight is chosen by cross-validation.

    One path of policies, from few questions to many, is learned in each fold and on all data. See
    `DatumWiseClassifier` for the model.

    Parameters
    ----------
    cost_weights : int or array-like of float, default=12
        Cost weights to try. An integer chooses that many from the data, geometrically spaced: from
        the one at which a feature of mean cost is worth half of the prior's loss, down to a
        thousandth of it.
    n_features_to_select : float or None, default=None
        Selects the best score among the levels that ask out-of-fold samples for at most this many
        features on average (a feature group counts as one).
    min_score : float or None, default=None
        Selects the level that asks for the fewest features among those whose score is at least
        this. At most one of `n_features_to_select` and `min_score` may be given; without them,
        `rule` selects the level.
    learner : {"forest", "linear"}, default="forest"
        How policies are learned.
    feature_costs : array-like, dict or None, default=None
        Cost of each feature, or of each feature group.
    feature_groups : dict, list of lists, array-like or None, default=None
        Features that are asked for together, for one cost.
    order : {"free", "fixed"}, default="free"
        "fixed" asks all samples in the same order.
    max_features : int or None, default=None
        Largest number of features that a sample is asked for.
    max_cost : float or None, default=None
        Largest sum of costs for a sample.
    class_weight : {"balanced"}, dict or None, default="balanced"
        Loss of a wrong label for a sample of each class.
    n_iterations, n_states, mixture, n_trees, n_sets, n_candidates : default=None
        Parameters of the learners, as in `DatumWiseClassifier`.
    cv : int, splitter or iterable of (train, test), default=5
        Folds; an integer means that many stratified folds.
    scoring : str, callable or None, default="balanced_accuracy"
        Score to maximise; None: accuracy.
    rule : {"best", "sparsest"}, default="best"
        "best": the best score, ties to the fewest features. "sparsest": the fewest features whose
        score, averaged over similar sizes, is within `tolerance` of the best.
    tolerance : float, default=0.01
        For "sparsest": a difference in score this small is not worth a feature.
    n_jobs : int or None, default=None
        Number of threads for the folds. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the learner.

    Attributes
    ----------
    path_ : dict of ndarray
        One entry per level: "level" (the cost weights, from the largest to the smallest),
        "n_features" and "cost" (mean number of features that out-of-fold samples are asked for,
        and their mean cost), "score" and its "standard_error".
    cv_results_ : dict
        Scores of every fold, in scikit-learn's form.
    cost_weight_ : float
        The chosen cost weight.
    best_score_ : float
        Its out-of-fold score: used to select the level; optimistic as an estimate.
    stability_ : ndarray of shape (n_features_in_,)
        Proportion of folds that ask at least one training row for each feature, at the chosen
        model size.
    temperature_ : float
        The decisions are divided by it; calibrated on out-of-fold decisions.
    classes_, policy_, process_, feature_importances_, support_, feature_order_, \
mean_n_features_, mean_cost_, risk_, n_features_in_, feature_names_in_
        As in `DatumWiseClassifier`, trained on all data.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamis import DatumWiseClassifierCV
    >>> X, y = load_wine(return_X_y=True)
    >>> model = DatumWiseClassifierCV(
    ...     6, cv=3, n_features_to_select=4, learner="linear", random_state=0
    ... ).fit(X, y)
    >>> round(model.mean_n_features_, 1)
    2.9
    >>> round(model.with_n_features(2).mean_n_features_, 1)
    1.2
    """

    def __init__(
        self,
        cost_weights: int | Sequence[float] = 12,
        *,
        n_features_to_select: float | None = None,
        min_score: float | None = None,
        learner: str = DEFAULT_LEARNER,
        feature_costs: ArrayLike | dict | None = None,
        feature_groups: ArrayLike | dict | None = None,
        order: str = "free",
        max_features: int | None = None,
        max_cost: float | None = None,
        class_weight: str | dict | None = "balanced",
        n_iterations: int | None = None,
        n_states: int | None = None,
        mixture: float | None = None,
        n_trees: int | None = None,
        n_sets: int | None = None,
        n_candidates: int | None = None,
        cv: int | BaseCrossValidator | Iterable = 5,
        scoring: str | Callable | None = "balanced_accuracy",
        rule: str = "best",
        tolerance: float = TOLERANCE,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.cost_weights = cost_weights
        self.n_features_to_select = n_features_to_select
        self.min_score = min_score
        self.learner = learner
        self.feature_costs = feature_costs
        self.feature_groups = feature_groups
        self.order = order
        self.max_features = max_features
        self.max_cost = max_cost
        self.class_weight = class_weight
        self.n_iterations = n_iterations
        self.n_states = n_states
        self.mixture = mixture
        self.n_trees = n_trees
        self.n_sets = n_sets
        self.n_candidates = n_candidates
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.tolerance = tolerance
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> DatumWiseClassifierCV:
        """Learn the path in each fold and on all data, and choose the cost weight.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples; NaN means unavailable.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        groups : array-like of shape (n_samples,), default=None
            Sample groups (such as patients): an integer `cv` keeps them together, a splitter
            receives them.

        Returns
        -------
        self : DatumWiseClassifierCV
        """
        check_learner(self)
        self._check_choice()
        X, codes = self._validate(X, y)
        self._remember_rows(X, codes)
        process = self._make_process(codes, 0.0)
        levels = choose_cost_weights("cost_weights", self.cost_weights, process, codes)
        validation = CrossValidation(
            X,
            codes,
            self.classes_,
            make_splits(self.cv, X, self.classes_[codes], groups),
            self.scoring or "accuracy",
            groups=None if groups is None else np.unique(groups, return_inverse=True)[1],
            keep_decisions=True,  # every level is calibrated, and rows go through policies slowly
        )
        seed = as_seed(self.random_state)

        def fit_fold(rows, fold):
            return self._fit_fold(X[rows], codes[rows], process, levels, seed)

        evaluations, path = [], None
        names = ["path", *(f"fold {f}" for f in range(len(validation.splits)))]
        with limit_threads("blas"):  # folds on threads must not disturb each other
            folds = validation.walk(fit_fold, self.n_jobs)
            for name in steps(self, names, X=X, y=y):
                if name == "path":
                    path = self._learn_path(
                        X, codes, self.classes_, process, levels, seed, self._make_model
                    )
                else:
                    evaluations.append(next(folds))
            folds.close()
        scores = validation.gather(evaluations) if evaluations else None
        self._keep_levels(path, scores)
        self._select(self._choose(scores))
        return self

    def _check_choice(self):
        """Raise an error for invalid parameters before any work."""
        check_rule(self.rule)
        check_scoring(self.scoring)
        _check_number("tolerance", self.tolerance)
        if self.n_features_to_select is not None and self.min_score is not None:
            raise ValueError(
                f"n_features_to_select={self.n_features_to_select!r} and "
                f"min_score={self.min_score!r} were both given. Only one of them can set the "
                "model size: omit the other."
            )
        if self.n_features_to_select is not None:
            _check_number("n_features_to_select", self.n_features_to_select)
        if self.min_score is not None and (
            not is_real(self.min_score) or not np.isfinite(self.min_score)
        ):
            raise ValueError(f"min_score must be a number or None, got {self.min_score!r}.")

    def _fit_fold(self, X, codes, process, levels, seed):
        """Learn the path of the rows of one fold, which may lack classes."""
        known, own_codes = np.unique(codes, return_inverse=True)
        if known.size < 2:
            raise ValueError(
                "A training fold has samples of only one class. Use fewer or stratified folds."
            )
        losses = process.class_losses[known]
        if isinstance(self.class_weight, str):  # "balanced" depends on the rows
            losses = find_class_losses(self.class_weight, self.classes_[known], own_codes)
        process = replace(process, class_losses=losses)
        own_codes = own_codes.astype(np.int64)
        return self._learn_path(X, own_codes, known, process, levels, seed, self._make_model)

    def _make_model(self, cost_weight):
        """A classifier with these parameters."""
        names = DatumWiseClassifier._get_param_names()
        shared = {name: getattr(self, name) for name in names if name != "cost_weight"}
        model = DatumWiseClassifier(**shared, cost_weight=cost_weight)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        return model

    def _keep_levels(self, path, scores):
        """Keep the scores, and the calibrated policy of each level; no scores if stopped."""
        n_levels = len(path)
        unknown = np.full(n_levels, np.nan)  # stopped before the first fold
        self.path_ = (
            dict.fromkeys(("n_features", "score", "standard_error", "cost"), unknown)
            if scores is None
            else scores.as_path()
        )
        self.path_["level"] = path.levels
        self._fold_scores = np.empty((0, n_levels)) if scores is None else scores.fold_scores
        self._levels = []
        for level in range(n_levels):
            self._take(path, level)
            factor, self.stability_ = 1.0, np.full(self.n_features_in_, np.nan)
            if scores is not None:
                mass = self.process_.class_losses * np.bincount(scores.cross_validation.codes)
                factor = scores.temperature(level, mass)
                self.stability_ = scores.stability(level)
            self.policy_ = replace(self.policy_, temperature=self.policy_.temperature * factor)
            self.temperature_ = float(self.policy_.temperature)
            self.cost_weight_ = float(path.levels[level])
            self.best_score_ = float(self.path_["score"][level])
            self._levels.append({name: getattr(self, name) for name in _OF_LEVEL})

    @property
    def cv_results_(self) -> dict:
        """Scores of every fold, in scikit-learn's form."""
        check_is_fitted(self, "policy_")
        return tabulate_folds("cost_weight", self.path_["level"], self._fold_scores)

    def _choose(self, scores):
        """Place of the level that the parameters choose; the last one if there are no scores."""
        if scores is None:
            return len(self._levels) - 1
        if self.n_features_to_select is not None:
            return self._level_with(self.n_features_to_select)
        if self.min_score is not None:
            return self._level_reaching(self.min_score)
        return scores.choose(self.rule, self.tolerance)

    def _select(self, level):
        """Become the model of one level of the path."""
        for name, value in self._levels[level].items():
            setattr(self, name, value)

    def _level_with(self, n_features):
        """The best level with at most `n_features` on average; otherwise the one with fewest."""
        sizes, scores = self.path_["n_features"], self.path_["score"]
        few = np.flatnonzero(sizes <= n_features)
        if not few.size:
            fewest = int(np.argmin(sizes))
            warnings.warn(
                f"Every model of the path asks for more than {n_features:g} features on average. "
                f"The one with the fewest, {sizes[fewest]:.3g}, is used. Give larger "
                "cost_weights.",
                UserWarning,
                stacklevel=4,
            )
            return fewest
        return int(few[best_of(np.nan_to_num(scores[few], nan=-np.inf), sizes[few])])

    def _level_reaching(self, score):
        """The level with the fewest features whose score is at least `score`; else the best."""
        sizes, scores = self.path_["n_features"], self.path_["score"]
        good = np.flatnonzero(scores >= score)
        if not good.size:
            best = best_of(np.nan_to_num(scores, nan=-np.inf), sizes)
            warnings.warn(
                f"No model of the path has a score of {score:g}. The best one, with "
                f"{scores[best]:.3g}, is used. Give smaller cost_weights, or a smaller min_score.",
                UserWarning,
                stacklevel=4,
            )
            return best
        return int(good[np.argmin(sizes[good])])

    def with_n_features(self, n_features: float) -> DatumWiseClassifierCV:
        """The best level that asks for at most this many features, without training again.

        Parameters
        ----------
        n_features : float
            Mean number of features that out-of-fold samples are asked for.

        Returns
        -------
        classifier : DatumWiseClassifierCV
            Fitted; shares the path with this one.
        """
        check_is_fitted(self, "policy_")
        _check_number("n_features", n_features)
        other = copy.copy(self)
        other._select(self._level_with(n_features))
        return other


def _check_number(name, value):
    if not is_real(value) or not 0 <= value < np.inf:
        raise ValueError(f"{name} must be a number >= 0, got {value!r}.")
