"""PrimalDualClassifierCV: the radius chosen by cross-validation along a warm-started path."""

import copy
import warnings
from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from tamis._base import resolve_n_features, steps, with_callbacks
from tamis._selection import choose_level, standard_error
from tamis.paths.scoring import ScoringMixin, check_scoring, score_decisions
from tamis.paths.splits import make_splits, weighted_splits
from tamis.paths.temperature import fit_temperature
from tamis.primal_dual._fitted import FittedPrimalDual, check_radii, dispersion_of
from tamis.primal_dual.path import add_wanted, choose_radii, follow, many_features
from tamis.primal_dual.prediction import decide, distances, project

__all__ = ["PrimalDualClassifierCV"]


class PrimalDualClassifierCV(ScoringMixin, FittedPrimalDual):
    """Primal-dual classifier with the radius that cross-validation finds best.

    Each fold follows the path of radii from the sparsest model to the fullest, every one started
    from the last. See `PrimalDualClassifier` for the model.

    Parameters
    ----------
    radii : int or array-like of float, default=20
        Radii to try. A number lets the data choose that many, from a few features to many (a
        quarter as many as samples, at least 100) for the balls that select features.
    n_features_to_select : int or float or None, default=None
        Take the largest radius with at most this many features instead of the best score; scores
        are there all the same. With a number of `radii` a radius is added that comes as close as
        it can.
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
        Positive factors of the standardized features: the larger, the sooner a feature enters.
    class_weight : {"balanced"}, dict or None, default="balanced"
        Weights of the classes in the loss.
    tol : float, default=1e-4
        Relative duality gap to stop at, for every solution.
    max_iter : int or None, default=None
        Most iterations for every solution; None is 20,000.
    cv : int, splitter or iterable of (train, test), default=5
        Folds; an integer means that many stratified ones.
    scoring : str or callable, default="balanced_accuracy"
        What is to be large.
    rule : {"best", "1se"}, default="best"
        The best radius (the smallest of equals), or the smallest whose score is within one
        standard error of the best.
    n_jobs : int or None, default=None
        Threads for the folds. Results do not depend on it.

    Attributes
    ----------
    path_ : dict of ndarray
        "radius", "n_features" (of all data; entries for "l12", rank for "nuclear"), "mean", "se"
        (standard error of the mean), "scores" (one row per fold) and "gap" (relative, largest of
        all data and the folds).
    radius_ : float
        The chosen radius.
    stability_ : ndarray of shape (n_features_in_,)
        Share of the folds that select each feature at the chosen radius.
    temperature_ : float
        What decisions are divided by, calibrated on out-of-fold decisions.
    best_score_ : float
        Mean score of the chosen radius over the folds: good for choosing, too optimistic as an
        estimate.
    classes_, weights_, centers_, support_, n_features_, dual_, objective_, gap_, relative_gap_, \
rho_, class_weight_, mean_, scale_, dispersion_, n_iter_, n_features_in_, feature_names_in_
        As in `PrimalDualClassifier`, trained on all data.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis import PrimalDualClassifierCV
    >>> data = load_breast_cancer(as_frame=True)
    >>> model = PrimalDualClassifierCV([0.1, 0.3, 1.0, 3.0], rule="1se", cv=3, tol=1e-8)
    >>> model = model.fit(data.data, data.target)
    >>> model.path_["n_features"].tolist(), model.n_features_
    ([2, 3, 19, 24], 19)
    >>> model.with_n_features(4).get_feature_names_out().tolist()
    ['mean concave points', 'worst radius', 'worst concave points']
    """

    def __init__(
        self,
        radii=20,
        *,
        n_features_to_select=None,
        ball="l1",
        loss="huber",
        huber_delta=0.25,
        rho="auto",
        adaptive_centers=True,
        standardize=True,
        feature_weights=None,
        class_weight="balanced",
        tol=1e-4,
        max_iter=None,
        cv=5,
        scoring="balanced_accuracy",
        rule="best",
        n_jobs=None,
    ):
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
        self.tol = tol
        self.max_iter = max_iter
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.n_jobs = n_jobs

    @with_callbacks
    def fit(self, X, y, sample_weight=None, groups=None):
        """Follow the path on all data and in every fold, and choose the radius.

        A callback that asks to stop, or Ctrl-C, ends the work early: the radii and the folds done
        until then choose.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; sparse ones stay sparse.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, for training and for the scores.
        groups : array-like of shape (n_samples,), default=None
            Sample groups (patients, copies of a row): with a number of folds they stay whole, a
            splitter of yours gets them.

        Returns
        -------
        self : PrimalDualClassifierCV
        """
        self._check_parameters()
        choose_level(np.zeros(1), np.zeros(1), self.rule)  # a wrong rule is told before the work
        check_scoring(self.scoring)
        radii = check_radii(self.radii)
        self._forget()
        X, codes, weights = self._validate(X, y, sample_weight)
        given = None if sample_weight is None else weights
        splits = weighted_splits(make_splits(self.cv, X, self.classes_[codes], groups), given)
        data, self.class_weight_ = self._prepare(X, codes, weights)
        problem = self._problem(data, 1.0)
        wanted = self._check_wanted(problem)

        levels, evaluated = [], []
        names = ["path", *(f"fold {f}" for f in range(len(splits)))]
        try:
            for name in steps(self, names, X=X, y=y):
                if name == "path":
                    self._follow_all(problem, radii, wanted, levels)
                    folds = self._evaluate_folds(X, codes, weights, given, splits, levels)
                else:
                    evaluated.append(next(folds))
        finally:
            # An interrupt leaves what is known: the levels so far, and the folds so far.
            if levels:
                self._keep(data, levels, codes.size)
                self._choose(evaluated, splits, codes, weights, wanted)
        self._warn_of_gap(float(self.path_["gap"].max()), self._iterations)
        self._warn_of_collapse()
        return self

    def _check_wanted(self, problem):
        """The number of features that is asked for; None for none."""
        if self.n_features_to_select is None:
            return None
        wanted = resolve_n_features(self.n_features_to_select, problem.matrix.shape[1])
        self._require_features(f"n_features_to_select={wanted}")
        return wanted

    def _follow_all(self, problem, radii, wanted, levels):
        """The path on all data, written to `levels` as it goes."""
        limits = {"tol": self.tol, "max_iter": self._iterations}
        if radii is None:
            n_classes, n_features = problem.n_classes, problem.matrix.shape[1]
            radii = choose_radii(
                problem,
                self.radii,
                fewest=min(wanted or n_classes, n_classes),
                largest=min(n_features, max(many_features(problem), 2 * (wanted or 0))),
                max_iter=self._iterations,
                **({} if wanted is None else {"slight": 0.0}),
            )
        for level in follow(problem, radii, **limits):
            levels.append(level)
        if wanted is not None and isinstance(self.radii, Integral):
            add_wanted(levels, wanted, **limits)

    def _keep(self, data, levels, n_samples):
        """The levels as plain arrays."""
        self._levels = [self._record(data, level, n_samples) for level in levels]
        self.path_ = {
            "radius": np.array([level.radius for level in levels]),
            "n_features": np.array([level.size for level in levels]),
            "gap": np.array([level.solution.relative_gap for level in levels]),
        }

    def _record(self, data, level, n_samples):
        """The fitted attributes of one level; weights as their non-zero rows."""
        self._store(data, level.problem, level.solution, n_samples)
        record = {
            name: getattr(self, name)
            for name in (
                "centers_",
                "support_",
                "objective_",
                "gap_",
                "relative_gap_",
                "dispersion_",
                "dual_",
            )
        }
        record["rows"] = self.weights_[self.support_]
        record["radius_"] = float(level.radius)
        record["n_iter_"] = int(level.solution.n_iter)
        return record

    def _select(self, at):
        """Be the model of one level of the path."""
        vars(self).pop("dual_", None)  # kept for the chosen level only
        record = self._levels[at]
        for name, value in record.items():
            if name.endswith("_"):
                setattr(self, name, value)
        self.n_features_ = int(self.support_.size)
        self.weights_ = np.zeros((self.n_features_in_, len(self.classes_)))
        self.weights_[self.support_] = record["rows"]

    def _evaluate_folds(self, X, codes, weights, given, splits, levels):
        """What every fold says, one after the other as they are ready."""
        radii = [level.radius for level in levels]
        return Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(self._evaluate_fold)(X, codes, weights, given, split, radii)
            for split in splits
        )

    def _evaluate_fold(self, X, codes, weights, given, split, radii):
        """Scores, decisions, supports and gaps of every radius in one fold."""
        train, test = split
        rows = train[weights[train] > 0]
        known, inner = np.unique(codes[rows], return_inverse=True)
        if known.size < 2:
            raise ValueError(
                "A training fold has samples of one class only. Use fewer or stratified folds."
            )
        data, _ = self._prepare(X[rows], inner, weights[rows], known)
        problem = self._problem(data, 1.0)
        scores, decisions, supports, gaps = [], [], [], []
        limits = {"tol": self.tol, "max_iter": self._iterations}
        for level in follow(problem, radii, **limits):
            primal = level.solution.pair.primal
            support = np.flatnonzero(primal.W.any(axis=1))
            P = project(X[test], primal.W, data.mean, data.scale, support)
            found = distances(P, primal.mu, problem.loss.euclidean)
            own = decide(found, problem.loss.euclidean, dispersion_of(problem, primal))
            mass = None if given is None else given[test]
            scores.append(
                score_decisions(
                    self.scoring or "accuracy",
                    own,
                    self.classes_,
                    known,
                    X[test],
                    self.classes_[codes[test]],
                    mass,
                )
            )
            everything = np.full((test.size, len(self.classes_)), -np.inf)
            everything[:, known] = own
            decisions.append(everything)
            supports.append(support)
            gaps.append(level.solution.relative_gap)
        return {"scores": scores, "decisions": decisions, "supports": supports, "gaps": gaps}

    def _choose(self, evaluated, splits, codes, weights, wanted):
        """The level that the rule, or the wanted number of features, picks."""
        n_levels = len(self._levels)
        scores = np.array([fold["scores"] for fold in evaluated]).reshape(-1, n_levels)
        mean = scores.mean(axis=0) if evaluated else np.full(n_levels, np.nan)
        error = standard_error(scores) if evaluated else np.full(n_levels, np.nan)
        self.path_.update(mean=mean, se=error, scores=scores)
        gaps = [self.path_["gap"], *(fold["gaps"] for fold in evaluated)]
        self.path_["gap"] = np.max(gaps, axis=0)
        for at, record in enumerate(self._levels):
            record["best_score_"] = float(mean[at])
            record["stability_"] = self._stability(evaluated, at)
            record["temperature_"] = self._temperature(evaluated, splits, codes, weights, at)
        if wanted is not None:
            at = self._level_of(wanted)
        elif evaluated:
            at = choose_level(mean, error, self.rule)
        else:
            at = n_levels - 1  # stopped before the first fold: nothing to choose by
        for other, record in enumerate(self._levels):
            if other != at:
                del record["dual_"]
        self._select(at)

    def _level_of(self, wanted):
        """The largest radius with at most `wanted` features; the smallest when all have more."""
        sizes = self.path_["n_features"]
        few = np.flatnonzero(sizes <= wanted)
        if not few.size:
            warnings.warn(
                f"At most {wanted} features were asked for, but the smallest radius of the path "
                f"selects {sizes[0]}; that model is taken. Give smaller radii.",
                UserWarning,
                stacklevel=3,
            )
            return 0
        return int(few[-1])

    def _stability(self, evaluated, at):
        """Share of the folds that select each feature at one level."""
        stability = np.zeros(self.n_features_in_)
        for fold in evaluated:
            stability[fold["supports"][at]] += 1.0 / len(evaluated)
        return stability

    def _temperature(self, evaluated, splits, codes, weights, at):
        """Temperature of the out-of-fold decisions of one level, with the weights of the loss."""
        if not evaluated:
            return 1.0
        tests = [test for (_, test), _ in zip(splits, evaluated, strict=False)]
        decisions = np.concatenate([fold["decisions"][at] for fold in evaluated])
        rows = np.concatenate(tests)
        mass = weights[rows] * self.class_weight_[codes[rows]]
        return fit_temperature(decisions, codes[rows], mass)

    def with_n_features(self, k):
        """The model of the largest radius with at most k features, without training again.

        Parameters
        ----------
        k : int, float or None
            As `n_features_to_select`.

        Returns
        -------
        classifier : PrimalDualClassifierCV
            Fitted; shares the path with this one. `dual_` is kept for the chosen radius only.
        """
        check_is_fitted(self, "support_")
        self._require_features(f"k={k!r}")
        other = copy.copy(self)
        other._select(self._level_of(resolve_n_features(k, self.n_features_in_, "k")))
        return other
