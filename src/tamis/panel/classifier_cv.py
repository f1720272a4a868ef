"""PanelClassifierCV: the number of features and the head chosen by the same outer folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike

from tamis._base import steps, with_callbacks
from tamis.panel._fitted import FittedPanel
from tamis.panel.classifier import check_levels, make_classifier
from tamis.panel.forward import keys_of
from tamis.panel.judging import choose_selection, judge_selections
from tamis.panel.outer import (
    check_groups,
    choose_heads,
    fit_fold,
    outer_splits,
)
from tamis.panel.path import make_paths, path_of
from tamis.panel.selection import store
from tamis.paths.engine import CrossValidation, check_rule, evaluate, tabulate_folds
from tamis.paths.rule import TOLERANCE
from tamis.paths.scoring import ScoringMixin, check_scoring

if TYPE_CHECKING:
    from sklearn.model_selection import BaseCrossValidator

__all__ = ["PanelClassifierCV"]


class PanelClassifierCV(ScoringMixin, FittedPanel):
    """Panel whose number of features is chosen by cross-validation.

    In each fold the features are prefiltered and selected, and all heads fitted, without the rows
    of the fold; the head of every number of features, its temperature and the number of features
    are chosen from the decisions of these rows. See `PanelClassifier` for the model.

    Parameters
    ----------
    levels : array-like of int or None, default=None
        Numbers of features, or groups, to try. None: all up to 12, then about five for each
        doubling, up to 50.
    selection : {"auto", "forward", "centers", "medians", "primal-dual", "optimal"}, default="auto"
        How features are selected, as in `PanelClassifier`.
    head : {"auto", "linear", "lda", "logistic", "kernel"}, default="auto"
        Classifier of the selected features; "auto" prefers those that can be read, as in
        `PanelClassifier`.
    alpha : float, default=30.0
        Ridge of the forward steps.
    n_screened : int, default=100
        How many features the prefilter leaves for the forward steps.
    feature_groups : dict, list of lists, array-like or None, default=None
        Features that are selected together, or with `max_per_group` limited in number. (`groups`
        of `fit` are sample groups.)
    max_per_group : int or None, default=None
        At most so many features of each group, those to keep included.
    keep : str, int, list of them or None, default=None
        Features, or groups, that are always selected and not counted.
    feature_costs : array-like of shape (n_features,) or None, default=None
        Cost of each feature.
    class_weight : {"balanced"}, dict or None, default="balanced"
        Weights of the classes; "balanced" gives all of them the same say.
    cv : int, splitter or iterable of (train, test), default=5
        Outer folds. An integer: stratified folds of distinct rows.
    scoring : str or callable, default="balanced_accuracy"
        Score to maximise.
    rule : {"best", "sparsest"}, default="best"
        "best": the number of features with the best score, the smallest one if there are ties.
        "sparsest": the smallest number of features whose score, averaged over similar sizes, is
        within `tolerance` of the best.
    tolerance : float, default=0.01
        For rule="sparsest": a difference in score this small is not worth a feature.
    max_seconds : float or None, default=10.0
        As in `PanelClassifier`; of each search, of which there is one for every level and fold.
    n_jobs : int or None, default=None
        Number of threads for the folds. Results do not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds and of the rows that serve as landmarks of a kernel.

    Attributes
    ----------
    path_ : dict of ndarray
        One value per level: "level" (number of features, or groups), "n_features", "score",
        "standard_error", "cost" and "head" (the head chosen for the level).
    cv_results_ : dict
        Scores of the folds in the form of scikit-learn's `GridSearchCV`, for the parameter
        `n_features_to_select`.
    best_score_ : float
        Cross-validated score of the chosen level; used to select it, so it is optimistic.
    stability_ : ndarray of shape (n_features_in_,)
        Proportion of folds that select each feature at the chosen model size.
    classes_, support_, feature_order_, n_features_, selection_, head_, temperature_, \
feature_importances_, coef_, intercept_, lower_bound_, gap_, is_proved_, n_features_in_, \
feature_names_in_
        As in `PanelClassifier`, trained on all data.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamis import PanelClassifierCV
    >>> data = load_wine(as_frame=True)
    >>> model = PanelClassifierCV([1, 2, 3, 4], head="lda").fit(data.data, data.target)
    >>> model.path_["score"].round(3).tolist()
    [0.821, 0.913, 0.931, 0.954]
    >>> model.get_feature_names_out().tolist()
    ['alcohol', 'flavanoids', 'hue', 'proline']
    """

    def __init__(
        self,
        levels: ArrayLike | None = None,
        *,
        selection: str = "auto",
        head: str = "auto",
        alpha: float = 30.0,
        n_screened: int = 100,
        feature_groups: ArrayLike | Mapping[str, Any] | None = None,
        max_per_group: int | None = None,
        keep: ArrayLike | None = None,
        feature_costs: ArrayLike | None = None,
        class_weight: str | Mapping[Any, float] | None = "balanced",
        cv: int | BaseCrossValidator | Iterable = 5,
        scoring: str | Callable | None = "balanced_accuracy",
        rule: str = "best",
        tolerance: float = TOLERANCE,
        max_seconds: float | None = 10.0,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.levels = levels
        self.selection = selection
        self.head = head
        self.alpha = alpha
        self.n_screened = n_screened
        self.feature_groups = feature_groups
        self.max_per_group = max_per_group
        self.keep = keep
        self.feature_costs = feature_costs
        self.class_weight = class_weight
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.tolerance = tolerance
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> PanelClassifierCV:
        """Choose the number of features and the head, then train on all data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights for training and scores, read as by `PanelClassifier`.
        groups : array-like of shape (n_samples,), default=None
            Sample groups (patients), which stay together in all folds and count as one row in the
            standard errors.

        Returns
        -------
        self : PanelClassifierCV
        """
        self._check_parameters()
        check_rule(self.rule)
        check_scoring(self.scoring)
        X, codes, weights = self._validate(X, y, sample_weight)
        groups = check_groups(groups, codes)
        choices = self._make_choices()
        X, selection = store(X), self._make_selection(choices)
        levels = check_levels(self.levels, choices.n_choices)
        settings = self._settings(self.head, X, selection, levels)
        n_classes = len(self.classes_)
        keys = keys_of(X, weights)
        splits = outer_splits(self.cv, X, codes, weights, groups, selection.seed, keys=keys)

        data = (X, codes, weights, n_classes)
        in_folds = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")
        names = [
            f"{what} of fold {f}" for what in ("features", "heads") for f in range(len(splits))
        ]
        progress = steps(self, names, X=X, y=y)
        candidates = selection.candidates(X)
        selected = in_folds(
            delayed(judge_selections)(*data, candidates, levels, groups, split) for split in splits
        )
        judged = [next(selected) for _ in islice(progress, len(splits))]
        selected.close()
        splits = splits[: len(judged)]
        place = choose_selection(judged, splits, codes, weights, selection.class_weight, groups)
        selection = candidates[place]
        fitted_heads = in_folds(
            delayed(fit_fold)(*data, selection, levels, settings, fold.found[place], split)
            for fold, split in zip(judged, splits, strict=True)
        )
        # A callback that stops the selection leaves no steps: the folds that are known get heads.
        results = [next(fitted_heads) for _ in progress] or list(fitted_heads)
        fitted_heads.close()
        splits = splits[: len(results)]
        rows = np.concatenate([test for _, test in splits])
        chosen = choose_heads(
            np.concatenate([decisions for _, decisions in results], axis=2),
            codes[rows],
            weights[rows],
            settings,
            selection.class_weight,
            None if groups is None else groups[rows],
            np.repeat(np.arange(len(splits)), [test.size for _, test in splits]),
        )
        cross_validation = CrossValidation(
            X,
            codes,
            self.classes_,
            splits,
            "accuracy" if self.scoring is None else self.scoring,
            None if sample_weight is None else weights,
            groups,
        )
        evaluations = []
        for (fitted, _), (train, test) in zip(results, splits, strict=True):
            heads = [of_level[c.place] for of_level, c in zip(fitted.heads, chosen, strict=True)]
            path = path_of(
                self,
                X[train],
                weights[train],
                fitted,
                heads,
                levels,
                np.arange(n_classes),
                selection,
                settings,
                chosen,
            )
            evaluations.append(
                evaluate(
                    path,
                    X,
                    test,
                    codes,
                    self.classes_,
                    cross_validation.scoring,
                    cross_validation.sample_weight,
                )
            )
        scores = cross_validation.gather(evaluations)
        place = scores.choose(self.rule, self.tolerance)
        (path,) = make_paths(
            [self],
            X,
            codes,
            weights,
            levels[place : place + 1],
            self.classes_,
            selection,
            [settings],
            [chosen[place : place + 1]],
            groups,
            keys,
        )
        self._take_over(path.model(0))
        kinds = np.array([settings[c.place].head for c in chosen])
        self.path_ = scores.as_path(head=kinds)
        self._fold_scores = scores.fold_scores
        self.best_score_ = float(scores.scores[place])
        self.stability_ = scores.stability(place)
        self._pass_on_interrupt(path.is_interrupted)
        return self

    def _with_size(self, k):
        return make_classifier(self, k)

    @property
    def cv_results_(self) -> dict:
        """Scores of the folds, in the form of scikit-learn's `GridSearchCV`."""
        return self._attribute(
            "cv_results_",
            lambda: tabulate_folds("n_features_to_select", self.path_["level"], self._fold_scores),
        )
