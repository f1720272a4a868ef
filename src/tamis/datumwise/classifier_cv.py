"""DatumWiseClassifierCV: the cost weight chosen by cross-validation along a path."""

import copy
import warnings
from dataclasses import replace
from fractions import Fraction
from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from tamis._base import is_real, steps, with_callbacks
from tamis._selection import choose_level, standard_error
from tamis.datumwise._fitted import FittedDatumWise
from tamis.datumwise.learners import DEFAULT_LEARNER, check_learner
from tamis.datumwise.prices import exact_sum, mean_paid
from tamis.datumwise.process import check_cost_weights, find_class_losses, find_status
from tamis.paths.scoring import ScoringMixin, check_scoring, score_decisions
from tamis.paths.seeds import as_seed
from tamis.paths.splits import make_splits
from tamis.paths.temperature import fit_temperature

__all__ = ["DatumWiseClassifierCV"]

# The smallest cost weight of a default path, as a share of the largest.
_SPAN = 1e-3


class DatumWiseClassifierCV(ScoringMixin, FittedDatumWise):
    """Datum-wise classifier with the cost weight that cross-validation finds best.

    Each fold, and all data, learn one path of policies, from few questions to many. See
    `DatumWiseClassifier` for the model.

    Parameters
    ----------
    cost_weights : int or array-like of float, default=12
        Cost weights to try. A number lets the data choose that many, geometrically spaced: from
        half the error of the prior a question of mean price, down to a thousandth of that.
    n_features : float or None, default=None
        Take the level of the best score among those with at most this many questions in the mean
        over out-of-fold samples (a group is one question).
    min_score : float or None, default=None
        Take the level with the fewest questions among those whose mean score is at least this.
        At most one of `n_features` and `min_score` may be given; without them `rule` chooses.
    learner : {"forest", "linear"}, default="forest"
        How policies are learned.
    feature_costs : array-like, dict or None, default=None
        Price of every feature, or of every group.
    feature_groups : dict, list of lists, array-like or None, default=None
        Features that are bought together, for one price.
    order : {"free", "fixed"}, default="free"
        "fixed" asks all samples in the same order.
    max_features : int or None, default=None
        Most questions for a sample.
    max_cost : float or None, default=None
        Largest sum of prices for a sample.
    class_weight : {"balanced"}, dict or None, default=None
        Loss of a wrong label for a sample of each class.
    n_iterations, n_states, mixture, n_trees, n_sets, n_candidates : default=None
        Parameters of the learners, as in `DatumWiseClassifier`.
    cv : int, splitter or iterable of (train, test), default=5
        Folds; an integer means that many stratified ones.
    scoring : str, callable or None, default=None
        What is to be large; None: accuracy.
    rule : {"best", "1se"}, default="best"
        The best cost weight (the largest of equals), or the largest whose score is within one
        standard error of the best.
    random_state : int, RandomState instance or None, default=None
        Seed of the learner.
    n_jobs : int or None, default=None
        Threads for the folds. Results do not depend on it.

    Attributes
    ----------
    path_ : dict of ndarray
        "cost_weight", from the largest to the smallest; "mean", "se" (standard error of the mean)
        and "scores" (one row per fold); "n_features" and "cost", the mean number of questions and
        the mean price of out-of-fold samples.
    cost_weight_ : float
        The chosen cost weight.
    best_score_ : float
        Its mean score over the folds: good for choosing, too optimistic as an estimate.
    temperature_ : float
        What the decisions are divided by, calibrated on out-of-fold decisions.
    classes_, policy_, process_, mean_n_features_, mean_cost_, risk_, n_features_in_, \
feature_names_in_
        As in `DatumWiseClassifier`, trained on all data.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamis import DatumWiseClassifierCV
    >>> X, y = load_wine(return_X_y=True)
    >>> model = DatumWiseClassifierCV(6, cv=3, n_features=4, learner="linear", random_state=0)
    >>> model.fit(X, y).path_["n_features"][0] <= 4
    np.True_
    >>> model.with_n_features(2).mean_n_features_ <= model.mean_n_features_
    True
    """

    def __init__(
        self,
        cost_weights=12,
        *,
        n_features=None,
        min_score=None,
        learner=DEFAULT_LEARNER,
        feature_costs=None,
        feature_groups=None,
        order="free",
        max_features=None,
        max_cost=None,
        class_weight=None,
        n_iterations=None,
        n_states=None,
        mixture=None,
        n_trees=None,
        n_sets=None,
        n_candidates=None,
        cv=5,
        scoring=None,
        rule="best",
        random_state=None,
        n_jobs=None,
    ):
        self.cost_weights = cost_weights
        self.n_features = n_features
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
        self.random_state = random_state
        self.n_jobs = n_jobs

    @with_callbacks
    def fit(self, X, y, groups=None):
        """Learn the path on all data and in every fold, and choose the cost weight.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples; NaN cannot be had.
        y : array-like of shape (n_samples,)
            Labels of any type, two classes or more.
        groups : array-like of shape (n_samples,), default=None
            Sample groups (patients, copies of a row): with a number of folds they stay whole, a
            splitter of yours gets them.

        Returns
        -------
        self : DatumWiseClassifierCV
        """
        learn, options = check_learner(self)
        self._check_choice()
        X, codes = self._validate(X, y)
        process = self._make_process(codes, 0.0)
        weights = self._find_weights(process, codes)
        splits = make_splits(self.cv, X, self.classes_[codes], groups)
        seed = as_seed(self.random_state)

        def train(rows, inner, process):
            return learn(X[rows], inner, process, weights, **options, random_state=seed)

        evaluated, policies = [], None
        names = ["path", *(f"fold {f}" for f in range(len(splits)))]
        with threadpool_limits(1, user_api="blas"):  # folds on threads must not disturb each other
            folds = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
                delayed(self._evaluate_fold)(X, codes, split, process, train) for split in splits
            )
            for name in steps(self, names, X=X, y=y):
                if name == "path":
                    policies = train(slice(None), codes, process)
                else:
                    evaluated.append(next(folds))
            folds.close()
        self._summarise(weights, process, policies, evaluated, splits, X, codes)
        return self

    def _check_choice(self):
        """Wrong parameters are told before the work."""
        choose_level(np.zeros(1), np.zeros(1), self.rule)
        check_scoring(self.scoring)
        if self.n_features is not None and self.min_score is not None:
            raise ValueError(
                f"n_features={self.n_features!r} and min_score={self.min_score!r} were both "
                "given. One of them chooses the level: leave the other out."
            )
        if self.n_features is not None:
            _check_wanted("n_features", self.n_features)
        if self.min_score is not None and (
            not is_real(self.min_score) or not np.isfinite(self.min_score)
        ):
            raise ValueError(f"min_score must be a number or None, got {self.min_score!r}.")

    def _find_weights(self, process, codes):
        """The cost weights, from the largest to the smallest."""
        given = self.cost_weights
        if not isinstance(given, Integral) or isinstance(given, bool):
            return check_cost_weights(given)
        if given < 1:
            raise ValueError(f"cost_weights must be at least 1 cost weight, got {given!r}.")
        sizes = np.bincount(codes, minlength=process.n_classes) * process.class_losses
        prior = (sizes.sum() - sizes.max()) / codes.size
        priced = process.costs[process.costs > 0]
        price = exact_sum(priced.tolist()) / priced.size if priced.size else 1.0
        largest = 0.5 * prior / price
        return [float(w) for w in np.geomspace(largest, _SPAN * largest, given)]

    def _evaluate_fold(self, X, codes, split, process, train):
        """Scores, decisions, questions and prices of every level in one fold."""
        rows, test = split
        known, inner = np.unique(codes[rows], return_inverse=True)
        if known.size < 2:
            raise ValueError(
                "A training fold has samples of one class only. Use fewer or stratified folds."
            )
        losses = process.class_losses[known]
        if isinstance(self.class_weight, str):  # "balanced" is a matter of the rows
            losses = find_class_losses(self.class_weight, self.classes_[known], inner)
        inside = replace(process, class_losses=losses)
        status = find_status(process.block_of, process.n_blocks, X[test])
        fold = {"scores": [], "decisions": [], "n_features": [], "cost": []}
        for policy in train(rows, inner.astype(np.int64), inside):
            run = policy.run(X[test], status)
            score = score_decisions(
                self.scoring or "accuracy",
                run.decisions,
                self.classes_,
                known,
                X[test],
                self.classes_[codes[test]],
            )
            everything = np.full((test.size, len(self.classes_)), -np.inf)
            everything[:, known] = run.decisions
            fold["scores"].append(score)
            fold["decisions"].append(everything)
            fold["n_features"].append(Fraction(np.count_nonzero(run.order >= 0), test.size))
            fold["cost"].append(mean_paid(run.order, process.costs))
        return fold

    def _summarise(self, weights, process, policies, evaluated, splits, X, codes):
        """The path as a table, calibrated policies, and the level that is chosen."""
        n_levels = len(weights)
        scores = np.array([fold["scores"] for fold in evaluated]).reshape(-1, n_levels)
        nothing = np.full(n_levels, np.nan)  # stopped before the first fold
        self.path_ = {
            "cost_weight": np.array(weights),
            "mean": scores.mean(axis=0) if evaluated else nothing,
            "se": standard_error(scores) if evaluated else nothing,
            "scores": scores,
            "n_features": _mean_of_folds(evaluated, "n_features") if evaluated else nothing,
            "cost": _mean_of_folds(evaluated, "cost") if evaluated else nothing,
        }
        self._levels = []
        for at, (weight, policy) in enumerate(zip(weights, policies, strict=True)):
            factor = _find_temperature(evaluated, splits, codes, process.class_losses, at)
            policy = replace(policy, temperature=policy.temperature * factor)
            self._keep(policy, replace(process, cost_weight=weight), X, codes)
            record = {
                name: getattr(self, name)
                for name in ("policy_", "process_", "mean_n_features_", "mean_cost_", "risk_")
            }
            record.update(
                cost_weight_=weight,
                temperature_=float(policy.temperature),
                best_score_=float(self.path_["mean"][at]),
            )
            self._levels.append(record)
        if not evaluated:
            at = n_levels - 1
        elif self.n_features is not None:
            at = self._level_of(self.n_features)
        elif self.min_score is not None:
            at = self._level_reaching(self.min_score)
        else:
            at = choose_level(self.path_["mean"], self.path_["se"], self.rule)
        self._select(at)

    def _select(self, at):
        """Be the model of one level of the path."""
        for name, value in self._levels[at].items():
            setattr(self, name, value)

    def _level_of(self, wanted):
        """The level of the best score with at most `wanted` questions; else the fewest."""
        sizes, mean = self.path_["n_features"], self.path_["mean"]
        few = np.flatnonzero(sizes <= wanted)
        if not few.size:
            fewest = int(np.argmin(sizes))
            warnings.warn(
                f"At most {wanted:g} features were asked for, but every level of the path uses "
                f"more, {sizes[fewest]:.3g} at least; that one is taken. Give larger "
                "cost_weights.",
                UserWarning,
                stacklevel=3,
            )
            return fewest
        return int(few[choose_level(mean[few], np.zeros(few.size), "best")])

    def _level_reaching(self, score):
        """The level with the fewest questions whose score is at least `score`; else the best."""
        sizes, mean = self.path_["n_features"], self.path_["mean"]
        good = np.flatnonzero(mean >= score)
        if not good.size:
            best = choose_level(mean, np.zeros(mean.size), "best")
            warnings.warn(
                f"A score of {score:g} was asked for, but the best level of the path has "
                f"{mean[best]:.3g}; that one is taken. Give smaller cost_weights, or ask for "
                "less.",
                UserWarning,
                stacklevel=3,
            )
            return best
        return int(good[np.argmin(sizes[good])])

    def with_n_features(self, n_features):
        """The level of the best score with at most so many questions, without training again.

        Parameters
        ----------
        n_features : float
            Mean number of questions over out-of-fold samples.

        Returns
        -------
        classifier : DatumWiseClassifierCV
            Fitted; shares the path with this one.
        """
        check_is_fitted(self, "policy_")
        _check_wanted("n_features", n_features)
        other = copy.copy(self)
        other._select(self._level_of(n_features))
        return other


def _mean_of_folds(evaluated, name):
    """Means of the fractions of all folds, one per level, rounded once."""
    levels = zip(*(fold[name] for fold in evaluated), strict=True)
    return np.array([float(sum(level) / len(level)) for level in levels])


def _find_temperature(evaluated, splits, codes, losses, at):
    """Temperature of the out-of-fold decisions of one level, with the weights of the loss."""
    if not evaluated:
        return 1.0
    rows = np.concatenate([test for (_, test), _ in zip(splits, evaluated, strict=False)])
    decisions = np.concatenate([fold["decisions"][at] for fold in evaluated])
    return fit_temperature(decisions, codes[rows], losses[codes[rows]] / losses.max())


def _check_wanted(name, value):
    if not is_real(value) or not 0 <= value < np.inf:
        raise ValueError(f"{name} must be a number >= 0, got {value!r}.")
