"""SparseCenterClassifierCV: the number of features chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tamis._array import is_sparse
from tamis._base import steps, with_callbacks
from tamis.centers._fitted import FittedCenters
from tamis.centers.classifier import make_path
from tamis.centers.fold_moments import moments_of_row_sets
from tamis.centers.path import check_levels
from tamis.paths.engine import CrossValidation, check_rule, tabulate_folds
from tamis.paths.rule import TOLERANCE
from tamis.paths.scoring import ScoringMixin, check_scoring, is_counted
from tamis.paths.splits import weighted_splits

if TYPE_CHECKING:
    from sklearn.model_selection import BaseCrossValidator


class SparseCenterClassifierCV(ScoringMixin, FittedCenters):
    """Sparse center classifier whose number of features is chosen by cross-validation.

    Each fold is trained once and evaluated for all numbers of features in one pass; with l2
    distances even the folds share one pass over the data, because class moments merge. See
    `SparseCenterClassifier` for the model.

    Parameters
    ----------
    levels : array-like of int, int or None, default=None
        Numbers of features, or groups, to try. An integer: that many of them, geometrically
        spaced. None: all of them for dense data; a few hundred, geometrically spaced beyond the
        first 128, for sparse data and for scores other than accuracy and balanced accuracy.
    metric : {"l2", "l1"}, default="l2"
        Means and squared Euclidean distances, or medians and absolute distances.
    scaling : {"spread", "std", "variance"} or None, default="spread"
        How features are scaled.
    covariance : {"empirical", "shrunk"} or None, default=None
        Mahalanobis distances by the pooled within-class covariance.
    priors : {"uniform", "empirical"} or array-like of shape (n_classes,), default="uniform"
        Class probabilities that enter the decision.
    feature_groups : dict, list of lists, array-like or None, default=None
        Features that are selected together and count as one. (`groups` of `fit` are sample
        groups.)
    keep : str, int, list of them or None, default=None
        Features, or groups, that are always selected and not counted.
    cv : int, splitter or iterable of (train, test), default=5
        Folds; an integer means that many stratified folds.
    scoring : str or callable, default="balanced_accuracy"
        Score to maximise.
    rule : {"best", "sparsest"}, default="best"
        "best": the number of features with the best score, the smallest one if there are ties.
        "sparsest": the smallest number of features whose score, averaged over similar sizes, is
        within `tolerance` of the best.
    tolerance : float, default=0.01
        For rule="sparsest": a difference in score this small is not worth a feature.
    n_jobs : int or None, default=None
        Number of threads for the folds. Results do not depend on it.

    Attributes
    ----------
    path_ : dict of ndarray
        One value per level: "level" (number of features, or groups), "n_features" (mean number
        selected in the folds), "score", "standard_error" and "cost".
    cv_results_ : dict
        Scores of the folds in the form of scikit-learn's `GridSearchCV`, for the parameter
        `n_features_to_select`.
    n_features_, n_groups_ : int
        Number of selected features, and of their groups.
    stability_ : ndarray of shape (n_features_in_,)
        Proportion of folds that select each feature at the chosen model size.
    temperature_ : float
        Divisor of the decisions, calibrated on out-of-fold decisions.
    best_score_ : float
        Cross-validated score of the chosen level; used to select it, so it is optimistic.
    classes_, support_, gains_, feature_order_, feature_importances_, coef_, intercept_, \
group_of_, group_gains_, centers_, class_centers_, common_center_, scale_, objective_, \
dispersion_, class_prior_, class_count_, n_features_in_, feature_names_in_
        As in `SparseCenterClassifier`, trained on all data.

    See Also
    --------
    tamis.stability.selection_frequencies : How often half-samples select each feature.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import SparseCenterClassifierCV
    >>> data = load_iris(as_frame=True)
    >>> model = SparseCenterClassifierCV(rule="sparsest").fit(data.data, data.target)
    >>> model.get_feature_names_out().tolist()
    ['petal length (cm)']
    >>> model.path_["score"].round(2).tolist()
    [0.95, 0.96, 0.9, 0.87]
    """

    def __init__(
        self,
        levels: ArrayLike | int | None = None,
        *,
        metric: str = "l2",
        scaling: str | None = "spread",
        covariance: str | None = None,
        priors: str | ArrayLike = "uniform",
        feature_groups: ArrayLike | Mapping[str, Any] | None = None,
        keep: ArrayLike | None = None,
        cv: int | BaseCrossValidator | Iterable = 5,
        scoring: str | Callable | None = "balanced_accuracy",
        rule: str = "best",
        tolerance: float = TOLERANCE,
        n_jobs: int | None = None,
    ) -> None:
        self.levels = levels
        self.metric = metric
        self.scaling = scaling
        self.covariance = covariance
        self.priors = priors
        self.feature_groups = feature_groups
        self.keep = keep
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.tolerance = tolerance
        self.n_jobs = n_jobs

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> SparseCenterClassifierCV:
        """Choose the number of features, then train on all data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; sparse ones stay sparse.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights for training and scores, read as by `SparseCenterClassifier`.
        groups : array-like of shape (n_samples,), default=None
            Sample groups (patients, duplicate rows). They stay together if `cv` is an integer; a
            splitter receives them. In the standard errors, a group counts as one row.

        Returns
        -------
        self : SparseCenterClassifierCV
        """
        check_rule(self.rule)
        check_scoring(self.scoring)
        X, codes, weights = self._validate(X, y, sample_weight)
        scoring = "accuracy" if self.scoring is None else self.scoring
        levels = check_levels(
            self.levels, self._n_choices, many=not is_sparse(X) and is_counted(scoring)
        )
        splits = weighted_splits(self.cv, X, self.classes_[codes], groups, weights)
        cross_validation = CrossValidation(
            X,
            codes,
            self.classes_,
            splits,
            scoring,
            weights,
            None if groups is None else np.asarray(groups),
        )
        everything = np.arange(codes.size)
        *moments, all_moments = self._moments_of(
            X, codes, weights, [*(train for train, _ in splits), everything]
        )
        model = self._train_rows(X, codes, weights, everything, all_moments)

        def fit_fold(rows, fold):
            fold_model = self._train_rows(X, codes, weights, rows, moments[fold])
            return make_path(self, fold_model, levels, np.arange(len(self.classes_)), rows.size)

        evaluations, folds = [], cross_validation.walk(fit_fold, self.n_jobs)
        for _ in steps(self, [f"fold {f}" for f in range(len(splits))], X=X, y=y):
            evaluations.append(next(folds))
        scores = cross_validation.gather(evaluations)
        place = scores.choose(self.rule, self.tolerance)

        self._keep(model, int(levels[place]), levels[place])
        self.path_ = scores.as_path()
        self._fold_scores = scores.fold_scores
        self.best_score_ = float(scores.scores[place])
        self.stability_ = scores.stability(place)
        self.temperature_ = scores.temperature(place, self.class_prior_)
        return self

    @property
    def cv_results_(self) -> dict:
        """Scores of the folds, in the form of scikit-learn's `GridSearchCV`."""
        return self._attribute(
            "cv_results_",
            lambda: tabulate_folds("n_features_to_select", self.path_["level"], self._fold_scores),
        )

    def _moments_of(self, X, codes, weights, row_sets):
        """Moments of each set of rows; None if a model needs more than moments."""
        if self.metric == "l1" or self.covariance is not None:
            return [None] * len(row_sets)
        return moments_of_row_sets(X, codes, len(self.classes_), weights, row_sets)

    def _train_rows(self, X, codes, weights, rows, moments):
        """Model of some rows: from their moments, or from the rows if there are none."""
        if moments is not None:
            return self._train_moments(moments)
        if rows.size == X.shape[0] and np.array_equal(rows, np.arange(rows.size)):
            return self._train(X, codes, weights)
        part_weights = None if weights is None else weights[rows]
        return self._train(X[rows], codes[rows], part_weights)
