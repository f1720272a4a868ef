"""PrimalDualClassifierCV: the radius chosen by cross-validation along a warm-started path."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tamis._array import choose_rows
from tamis._base import check_device, resolve_n_features, send_to_device, steps, with_callbacks
from tamis.paths.engine import CrossValidation, check_rule, tabulate_folds
from tamis.paths.rule import TOLERANCE
from tamis.paths.scoring import ScoringMixin, check_scoring
from tamis.paths.splits import weighted_splits
from tamis.primal_dual._fitted import FittedPrimalDual
from tamis.primal_dual._parameters import check_radii
from tamis.primal_dual.head import fit_head
from tamis.primal_dual.path import PrimalDualPath
from tamis.primal_dual.radii import (
    Level,
    add_wanted,
    choose_radii,
    fill_jumps,
    follow,
    many_features,
)
from tamis.primal_dual.records import record_of

if TYPE_CHECKING:
    from sklearn.model_selection import BaseCrossValidator


class PrimalDualClassifierCV(ScoringMixin, FittedPrimalDual):
    """Primal-dual classifier with the radius that cross-validation finds best.

    Each fold follows the path of radii from the sparsest model to the fullest, each started from
    the last. See `PrimalDualClassifier` for the model.

    Parameters
    ----------
    radii : int or array-like of float, default=20
        Radii to try. An integer chooses that many from the data, from a few features to many (a
        quarter as many as samples, at least 100) for the balls that select features, and adds at
        most half as many where the number of features jumps by more than one and more than a
        tenth.
    n_features_to_select : int or float or None, default=None
        Select the largest radius with at most this many features instead of the best score; scores
        are computed anyway. If `radii` is an integer, a radius is added that comes as close as
        possible.
    ball : {"l1", "l21", "l12", "nuclear"}, default="l1"
        Norm of W.
    loss : {"huber", "l1", "frobenius"}, default="huber"
        Huber's loss, absolute values, or half the squares.
    huber_delta : float, default=0.25
        Residual where Huber's loss turns from quadratic to linear.
    rho : float or "auto", default="auto"
        How strongly the centers are held to I.
    adaptive_centers : bool, default=True
        False fixes the centers at I.
    standardize : bool, default=True
        Standardize the features, inside the folds.
    feature_weights : array-like of shape (n_features,) or None, default=None
        Positive factors of the standardized features; features with larger ones enter sooner.
    class_weight : {"balanced"}, dict or None, default="balanced"
        Weights of the classes in the loss and in the head.
    head : {"auto", "lda", "logistic", "projection"}, default="auto"
        What decides, given the selected features: see `PrimalDualClassifier`.
    tol : float, default=1e-4
        Relative duality gap to stop at, for each solution.
    max_iter : int or None, default=None
        Largest number of iterations per solution; None is 20,000.
    cv : int, splitter or iterable of (train, test), default=5
        Folds; an integer means that many stratified folds.
    scoring : str or callable, default="balanced_accuracy"
        Score to maximise.
    rule : {"best", "sparsest"}, default="best"
        "best": the radius with the best score, the sparsest one if there are ties. "sparsest": the
        sparsest whose score, averaged over similar sizes, is within `tolerance` of the best.
    tolerance : float, default=0.01
        For ``rule="sparsest"``: a difference in score this small is not worth a feature.
    n_jobs : int or None, default=None
        Number of threads for the folds. Results do not depend on it.
    device : str or None, default=None
        Where to train, by a name of torch such as "cuda": X, which must be dense, is copied there
        once for all folds. None: on the processor.

    Attributes
    ----------
    path_ : dict of ndarray
        One value per radius: "level" (the radius), "n_features" and "cost" (means over the
        folds), "score", "standard_error" and "gap" (relative, largest of all data and the
        folds).
    cv_results_ : dict
        Scores of the folds in the form of scikit-learn's `GridSearchCV`.
    radius_ : float
        The chosen radius.
    stability_ : ndarray of shape (n_features_in_,)
        Proportion of folds that select each feature at the chosen radius.
    temperature_ : float
        Divisor of the decisions, calibrated on out-of-fold decisions.
    best_score_ : float
        Score of the chosen radius over all folds; used to select a model, so it is optimistic.
    classes_, weights_, centers_, support_, feature_importances_, feature_order_, coef_, \
intercept_, head_, n_features_, dual_, objective_, gap_, relative_gap_, \
rho_, class_weight_, mean_, scale_, dispersion_, n_iter_, n_features_in_, feature_names_in_
        As in `PrimalDualClassifier`, trained on all data.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis import PrimalDualClassifierCV
    >>> data = load_breast_cancer(as_frame=True)
    >>> model = PrimalDualClassifierCV([0.1, 0.3, 1.0, 3.0], rule="sparsest", cv=3, tol=1e-8)
    >>> model = model.fit(data.data, data.target)
    >>> model.path_["score"].round(2).tolist(), model.n_features_
    ([0.91, 0.92, 0.96, 0.96], 19)
    >>> model.with_n_features(4).get_feature_names_out().tolist()
    ['mean concave points', 'worst radius', 'worst concave points']
    """

    def __init__(
        self,
        radii: int | ArrayLike = 20,
        *,
        n_features_to_select: int | float | None = None,
        ball: str = "l1",
        loss: str = "huber",
        huber_delta: float = 0.25,
        rho: float | str = "auto",
        adaptive_centers: bool = True,
        standardize: bool = True,
        feature_weights: ArrayLike | None = None,
        class_weight: str | dict | None = "balanced",
        head: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
        cv: int | BaseCrossValidator | Iterable = 5,
        scoring: str | Callable | None = "balanced_accuracy",
        rule: str = "best",
        tolerance: float = TOLERANCE,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.radii = radii
        self.n_features_to_select = n_features_to_select
        self.ball = ball
        self.loss = loss
        self.huber_delta = huber_delta
        self.rho = rho
        self.adaptive_centers = adaptive_centers
        self.standardize = standardize
        self.feature_weights = feature_weights
        self.class_weight = class_weight
        self.head = head
        self.tol = tol
        self.max_iter = max_iter
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.tolerance = tolerance
        self.n_jobs = n_jobs
        self.device = device

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> PrimalDualClassifierCV:
        """Follow the path on all data and in each fold, and choose the radius.

        A callback that asks to stop, or Ctrl-C, ends the work early: the choice is then made
        from the radii and the folds that are done.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; sparse ones stay sparse unless one value in ten is stored.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights for training and scores, read as by `PrimalDualClassifier`.
        groups : array-like of shape (n_samples,), default=None
            Sample groups (patients, duplicate rows). They stay together if `cv` is an integer; a
            splitter receives them. In the standard errors, a group counts as one row.

        Returns
        -------
        self : PrimalDualClassifierCV
        """
        self._check_parameters()
        check_rule(self.rule)
        check_scoring(self.scoring)
        check_device(self.device)
        radii = check_radii(self.radii)
        self._forget()
        X, codes, weights = self._validate(X, y, sample_weight)
        given = None if sample_weight is None else weights
        splits = weighted_splits(self.cv, X, self.classes_[codes], groups, given)
        cross_validation = CrossValidation(
            X,
            codes,
            self.classes_,
            splits,
            self.scoring or "accuracy",
            given,
            None if groups is None else np.asarray(groups),
        )
        there = send_to_device(X, self.device)
        data, self.class_weight_ = self._prepare(there, codes, weights)
        problem = self._problem(data, 1.0)
        wanted = self._check_wanted(problem)

        levels: list[Level] = []
        evaluations = []
        names = ["path", *(f"fold {f}" for f in range(len(splits)))]
        try:
            for name in steps(self, names, X=X, y=y):
                if name == "path":
                    self._follow_all(problem, radii, wanted, levels)
                    folds = cross_validation.walk(
                        lambda rows, _: self._train_fold(there, codes, weights, rows, levels),
                        self.n_jobs,
                    )
                else:
                    evaluations.append(next(folds))
        finally:
            # An interrupt keeps the levels and the folds so far.
            if levels:
                self._keep_data(data, problem)
                self._levels = self._records(data, self.class_weight_, levels, codes.size)
                mass = np.bincount(codes, weights * self.class_weight_[codes])
                self._choose(cross_validation, evaluations, mass, wanted)
        self._warn_of_gap(float(self.path_["gap"].max()), self._iterations)
        self._warn_of_collapse()
        return self

    @property
    def cv_results_(self) -> dict:
        """Scores of the folds, in the form of scikit-learn's `GridSearchCV`."""
        check_is_fitted(self, "support_")
        if not len(self._fold_scores):
            raise AttributeError("The fit was stopped before the first fold was scored.")
        return tabulate_folds("radius", self.path_["level"], self._fold_scores)

    def _check_wanted(self, problem):
        """The wanted number of features, or None."""
        if self.n_features_to_select is None:
            return None
        wanted = resolve_n_features(self.n_features_to_select, problem.matrix.shape[1])
        self._require_features(f"n_features_to_select={wanted}")
        return wanted

    def _follow_all(self, problem, radii, wanted, levels):
        """Follow the path on all data, appending to `levels`."""
        limits = {"tol": self.tol, "max_iter": self._iterations}
        n_classes, n_features = problem.n_classes, problem.matrix.shape[1]
        largest = min(n_features, max(many_features(problem), 2 * (wanted or 0)))
        if radii is None:
            radii = choose_radii(
                problem,
                self.radii,
                fewest=min(wanted or n_classes, n_classes),
                largest=largest,
                max_iter=self._iterations,
                **({} if wanted is None else {"slight": 0.0}),
            )
        for level in follow(problem, radii, **limits):
            levels.append(level)
        if isinstance(self.radii, Integral) and problem.ball.selects_rows:
            fill_jumps(levels, int(self.radii) // 2, largest, **limits)
            if wanted is not None:
                add_wanted(levels, wanted, **limits)

    def _train_fold(self, X, codes, weights, rows, levels):
        """Train the path of one fold, with class indices as its classes."""
        rows = rows[weights[rows] > 0]
        known, inner = np.unique(codes[rows], return_inverse=True)
        if known.size < 2:
            raise ValueError(
                "A training fold has samples of only one class. Use fewer or stratified folds."
            )
        template = clone(self)
        template.classes_ = self.classes_
        data, of_class = template._prepare(choose_rows(X, rows), inner, weights[rows], known)
        problem = template._problem(data, 1.0)
        template._keep_data(data, problem)
        radii = [level.radius for level in levels]
        followed = follow(problem, radii, tol=self.tol, max_iter=self._iterations)
        records = self._records(data, of_class, followed, rows.size, keep_dual=False)
        return PrimalDualPath(template, records, radii, known)

    def _records(self, data, of_class, levels, n_samples, **keep):
        """Solutions and heads of all levels."""
        records = [
            record_of(data, level.problem, level.solution, n_samples, **keep) for level in levels
        ]
        return [
            record | fit_head(self.head, data, of_class, record["selected"]) for record in records
        ]

    def _choose(self, cross_validation, evaluations, mass, wanted):
        """Choose the level by the rule or the wanted number of features."""
        n_levels = len(self._levels)
        gap = [[record["relative_gap_"] for record in self._levels]]
        gap = np.max(gap + [evaluation.path.gaps for evaluation in evaluations], axis=0)
        if evaluations:
            scores = cross_validation.gather(evaluations)
            self._fold_scores = scores.fold_scores
            self.path_ = scores.as_path(gap=gap)
        else:  # stopped before the first fold
            sizes = np.array([float(record["selected"].size) for record in self._levels])
            self._fold_scores = np.empty((0, n_levels))
            nothing = np.full(n_levels, np.nan)
            self.path_ = {
                "level": np.array([record["radius"] for record in self._levels]),
                "n_features": sizes,
                "score": nothing,
                "standard_error": nothing,
                "cost": sizes,
                "gap": gap,
            }
        for place, record in enumerate(self._levels):
            record["best_score_"] = float(self.path_["score"][place])
            record["stability_"] = np.zeros(self.n_features_in_)
            if evaluations:
                record["stability_"] = scores.stability(place)
                record["temperature_"] = scores.temperature(place, mass)
        if wanted is not None:
            chosen = self._place_of(wanted)
        elif evaluations:
            chosen = scores.choose(self.rule, self.tolerance)
        else:
            chosen = n_levels - 1  # no scores to choose by
        for place, record in enumerate(self._levels):
            if place != chosen:
                del record["dual_"]
        self._select(chosen)

    def _select(self, place):
        """Become the model of one level of the path."""
        vars(self).pop("dual_", None)  # kept only for the chosen level
        self._be(self._levels[place])
        self.radius_ = self._levels[place]["radius"]

    def _place_of(self, wanted):
        """The largest radius with at most `wanted` features; the smallest when all have more."""
        sizes = np.array([record["selected"].size for record in self._levels])
        few = np.flatnonzero(sizes <= wanted)
        if not few.size:
            warnings.warn(
                f"The model of the smallest radius has {sizes[0]} features, more than the "
                f"{wanted} wanted; it is used anyway. Give smaller radii.",
                UserWarning,
                stacklevel=3,
            )
            return 0
        return int(few[-1])

    def with_n_features(self, n_features: int | float | None) -> PrimalDualClassifierCV:
        """The model of the largest radius with at most this many features; nothing is trained.

        Parameters
        ----------
        n_features : int, float or None
            As `n_features_to_select`.

        Returns
        -------
        classifier : PrimalDualClassifierCV
            Fitted; shares the path with this one. `dual_` is kept for the chosen radius only.
        """
        check_is_fitted(self, "support_")
        self._require_features(f"n_features={n_features!r}")
        wanted = resolve_n_features(n_features, self.n_features_in_, "n_features")
        other = copy.copy(self)
        other._select(self._place_of(wanted))
        return other
