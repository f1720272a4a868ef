"""LandmarkSearchCV: KMS and KMSE, the search for good configurations and their ensemble."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tamis._base import steps, with_callbacks
from tamis._base.threads import limit_threads
from tamis.landmarks._fitted import FittedLandmarks, NearestLandmarks, find_nearest
from tamis.landmarks._parameters import as_rows
from tamis.landmarks._search_parameters import check_search, make_plan
from tamis.landmarks.ensemble import ensemble_shares
from tamis.landmarks.path import (
    LandmarkSearchPath,
    check_feature_order,
    check_levels,
    double_up_to,
    log_shares,
    order_features,
    take_columns,
)
from tamis.landmarks.record import read_search, write_search
from tamis.landmarks.supports import search_supports
from tamis.landmarks.tables import as_cv_results, as_path, as_table
from tamis.paths.scoring import ScoringMixin
from tamis.paths.seeds import as_seed

# Features of the fullest level of a path, unless levels are given.
_MOST_FEATURES = 128


class LandmarkSearchCV(ScoringMixin, FittedLandmarks):
    """Ensemble of the landmark classifiers that cross-validation finds best: KMS and KMSE.

    Evaluates many configurations of `LandmarkClassifier` (how landmarks are chosen, how many,
    their kind, distance, kernel, the classifier and its parameters) by the score of their
    out-of-fold predictions, and trains the best ones on all data. Configurations are evaluated as
    a tree of shared work: the paper's whole space takes about as long as 128 configurations one at
    a time, with identical results.

    Parameters
    ----------
    space : {"paper", "extended"} or dict, default="paper"
        Configurations to choose from: Table 1 of [1]_ (3,900 distinct ones); or scaled features,
        128 to 512 landmarks, also per class, and neighbours, ridge regression and discriminant
        analysis, best with ``selection="greedy"``. A dict has lists of values for some
        parameters; the others are as in the paper.
    search : {"random", "grid"}, default="random"
        Draw configurations (each parameter separately), or evaluate all of them.
    n_configurations : int or None, default=None
        Number of configurations to draw; None: 128. With ``search="random"`` only.
    ensemble_size : int or "auto", default=15
        Number of members: 1 is the paper's KMS, 15 its KMSE. "auto": the odd number up to 31
        whose majority errs least on out-of-fold predictions.
    selection : {"best", "greedy"}, default="best"
        The members with the fewest errors; or picked one at a time, with repetition, each the one
        that brings the average of out-of-fold probabilities closest to the truth (needs
        ``vote="soft"``; `ensemble_size` is then the number of picks).
    vote : {"majority", "soft"}, default="majority"
        Whether members vote or their probabilities are averaged. Ties are decided by the
        better-ranked members.
    class_weight : {"balanced"}, dict or None, default="balanced"
        Weights of the classes in every member, and in the balanced accuracy that ranks the
        configurations: None and "balanced" give all classes equal weight there, a dict weights the
        recalls.
    cv : int, splitter or iterable of (train, test), default=5
        Folds; an integer means that many shuffled stratified folds. Landmarks are chosen anew in
        each fold.
    scoring : str or callable, default="balanced_accuracy"
        Score that ranks the configurations, and that `score` returns. Balanced accuracy and
        accuracy are those of all out-of-fold predictions together, other scores the mean over
        folds.
    max_samples : int or None, default=None
        Use at most this many rows, drawn by class, for search and members, with a warning. None:
        all rows.
    warm_start : bool, default=False
        Keep all out-of-fold predictions, and resume from those of the last `fit` on the same data
        with the same seed: after a stop, or with more configurations.
    n_jobs : int or None, default=None
        Number of threads. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of folds, draws and landmarks.
    device : str or None, default=None
        Where neighbours are searched, the largest part of a search with many rows: None for the
        processor, or a name of torch such as "cuda". The results are the same.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    configurations_ : dict of ndarray
        The evaluated configurations, best first: one column per parameter, "score", and
        "split0_test_score" and so on for the folds. Pass it to ``pandas.DataFrame``.
    cv_results_ : dict of ndarray
        The same in scikit-learn's form.
    best_configuration_ : dict
        Parameters of the best configuration, for ``LandmarkClassifier(**best_configuration_)``.
    best_score_ : float
        Its out-of-fold score; used to select a model and therefore optimistic.
    members_ : list of dict
        "configuration", "seed", "weight" and "model" of each member, as plain records.
    path_ : dict of ndarray
        The best "score" for each number of landmarks ("level"), its "standard_error" over the
        folds, and "n_features" and "cost", which are the same for all.
    support_ : ndarray of bool of shape (n_features_in_,)
        Mask of the features in use; all of them, except in the models of `fit_path`.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Drop in out-of-fold balanced accuracy of the best configuration when the feature is
        permuted among the test rows of each fold; 0 where the score does not drop.
    feature_order_ : ndarray of int of shape (n_features_in_,)
        Features in use first, by importance.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all of them are strings.

    Notes
    -----
    A callback that asks to stop ends the search; the members are then chosen among the
    configurations evaluated so far. A keyboard interrupt does the same and is then raised again,
    so that in an interactive session the estimator is ready for use, and with ``warm_start=True``
    another `fit` resumes the search.

    References
    ----------
    .. [1] Ortiz-Bejar, Tellez and Graff, "Improving classification performance by feature space
       transformations and model selection", arXiv 1907.06258.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import LandmarkSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = LandmarkSearchCV(n_configurations=20, random_state=0).fit(X, y)
    >>> round(search.best_score_, 3), len(search.members_)
    (0.987, 15)
    >>> search.best_configuration_["classifier"]
    'knn'
    """

    _fitted_attribute = "members_"
    _write_record, _read_record = write_search, read_search

    def __init__(
        self,
        *,
        space: str | dict = "paper",
        search: str = "random",
        n_configurations: int | None = None,
        ensemble_size: int | str = 15,
        selection: str = "best",
        vote: str = "majority",
        class_weight: str | dict | None = "balanced",
        cv: Any = 5,
        scoring: str | Callable = "balanced_accuracy",
        max_samples: int | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        device: str | None = None,
    ) -> None:
        self.space = space
        self.search = search
        self.n_configurations = n_configurations
        self.ensemble_size = ensemble_size
        self.selection = selection
        self.vote = vote
        self.class_weight = class_weight
        self.cv = cv
        self.scoring = scoring
        self.max_samples = max_samples
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.device = device

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> LandmarkSearchCV:
        """Search, then train the members on all data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; sparse ones stay sparse.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        groups : array-like of shape (n_samples,), default=None
            Sample groups (patients, duplicate rows): an integer `cv` keeps them together, a
            splitter receives them.

        Returns
        -------
        self : LandmarkSearchCV
        """
        X, codes = self._validate_search(X, y)
        seed = self._seed()
        plan = make_plan(self, X, codes, self.classes_, groups, seed)
        X = plan.take_rows(X)
        outcomes, key = plan.start(), None
        if self.warm_start:
            key = joblib.hash((X, plan.codes, plan.splits, plan.class_weight, seed))
            self._resume(outcomes, key)
        # Products and factorizations are small: threads inside them would only wait for each
        # other.
        with limit_threads("blas"):
            try:
                tasks = plan.tasks(outcomes)
                results = plan.run(X, tasks, plan.scalings(X) if tasks else {})
                waiting = iter(tasks)
                names = [f"{task.branch}: fold {task.fold}" for task in tasks]
                for _ in steps(self, names, X=X, y=plan.codes):
                    task = next(waiting)
                    outcomes.add(task.places, task.fold, *next(results))
            finally:
                # Also after an interrupt: the model is built from the results so far.
                self._seed_used = seed
                self._known = {"key": key, **outcomes.as_record()} if self.warm_start else None
                if outcomes.done.any():
                    self._finish(plan, outcomes, X)
        return self

    def fit_path(
        self,
        X: ArrayLike,
        y: ArrayLike,
        levels: ArrayLike | None = None,
        *,
        feature_order: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> LandmarkSearchPath:
        """Search on increasing numbers of features; `self` is not changed.

        Each level is the search on the best columns, with the same configurations, folds and
        seeds: the result of `fit` on these columns alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Labels.
        levels : list of int or None, default=None
            Numbers of features. None: 1, 2, 4, ... up to all features or 128.
        feature_order : list of int or None, default=None
            Columns of X, best first. None: in the order of the proportion of their variance that
            lies between the classes.
        groups : array-like of shape (n_samples,), default=None
            Sample groups, as in `fit`.

        Returns
        -------
        path : LandmarkSearchPath
        """
        fitted = clone(self)
        X, codes = fitted._validate_search(X, y)
        if feature_order is None:
            order = order_features(X, codes)
        else:
            order = check_feature_order(feature_order, X.shape[1])
        if levels is None:
            levels = double_up_to(min(order.size, _MOST_FEATURES))
        else:
            levels = check_levels(levels, order.size, "numbers of features")
        supports = [np.sort(order[:k]) for k in levels]
        return fitted._fit_supports(X, codes, fitted.classes_, supports, groups)

    def _fit_supports(self, X, codes, classes, supports, groups=None) -> LandmarkSearchPath:
        """Make a path from validated rows and class indices: one search per set of columns."""
        X = as_rows(X)
        plan = make_plan(self, X, codes, classes, groups, self._seed())
        return search_supports(self, plan, plan.take_rows(X), supports)

    def _validate_search(self, X, y):
        check_search(self)
        return self._validate(X, y)

    def _seed(self):
        going_on = self.warm_start and getattr(self, "_known", None) is not None
        if going_on and self.random_state is None:
            return self._seed_used
        return as_seed(self.random_state)

    def _resume(self, outcomes, key):
        known = getattr(self, "_known", None)
        if known is None:
            return
        if known["key"] != key:
            warnings.warn(
                "warm_start=True, but data, folds, class weights or seed differ from those of the "
                "last fit: the search starts again.",
                UserWarning,
                stacklevel=4,
            )
            return
        outcomes.adopt(known)

    def _finish(self, plan, outcomes, X):
        """Build the ensemble from the results so far."""
        ranking = plan.rank(outcomes, X)
        self._support = np.ones(X.shape[1], dtype=bool)
        members = plan.train_members(X, *plan.choose_members(outcomes, ranking))
        self._set_ensemble(plan, ranking, members)
        self.feature_importances_ = plan.importances(X, ranking)

    def _set_ensemble(self, plan, ranking, members):
        ranked = [plan.configurations[p] for p in ranking.places]
        self.configurations_ = as_table(ranked, ranking)
        self.best_configuration_ = ranked[0].as_dict()
        self.best_score_ = float(ranking.scores[0])
        self.path_ = as_path(self.configurations_, self._support.sum())
        self.members_ = members
        self._vote = plan.vote  # the parameter may change after fit

    @property
    def support_(self) -> NDArray[np.bool_]:
        """Mask of the features that the ensemble uses."""
        check_is_fitted(self, "members_")
        return self._support

    @property
    def cv_results_(self) -> dict:
        """The evaluated configurations in scikit-learn's form, best first."""
        check_is_fitted(self, "members_")
        return as_cv_results(self.configurations_)

    def _check_X(self, X):
        X = super()._check_X(X)
        return take_columns(X, np.flatnonzero(self._support))

    def _shares(self, X):
        return ensemble_shares(self.members_, X, self._vote)

    def _decide(self, X):
        return self._shares(X)

    def _scored(self, X):
        return log_shares(self.predict_proba(X))

    def explain(self, X: ArrayLike, n_nearest: int = 3, member: int = 0) -> NearestLandmarks:
        """The nearest landmarks of each sample, among those of one member.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        n_nearest : int, default=3
            Number of landmarks.
        member : int, default=0
            Which member; 0 is the best.

        Returns
        -------
        explanation : NearestLandmarks
            Training rows, their labels, and distances.
        """
        check_is_fitted(self, "members_")
        if not isinstance(member, Integral) or not 0 <= member < len(self.members_):
            raise ValueError(
                f"member must be an integer from 0 to {len(self.members_) - 1}, got {member!r}."
            )
        chosen = self.members_[member]
        labels = self.classes_[chosen["row_codes"]]
        kind = chosen["configuration"]["kind"]
        return find_nearest(chosen["model"]["map"], self._check_X(X), labels, n_nearest, kind)
