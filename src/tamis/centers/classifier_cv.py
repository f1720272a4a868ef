"""SparseCenterClassifierCV: the number of features chosen by cross-validation."""

from dataclasses import replace
from functools import reduce
from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.utils import check_random_state

from tamis._base import steps, with_callbacks
from tamis._selection import choose_level, standard_error
from tamis.centers._fitted import FittedCenters
from tamis.centers.path import path_grid
from tamis.centers.scoring import is_counted, score_path
from tamis.centers.statistics import ClassMoments, summarise
from tamis.paths.scoring import ScoringMixin, check_scoring
from tamis.paths.splits import make_splits, weighted_splits
from tamis.paths.temperature import fit_temperature
from tamis.stability.halves import half_samples

__all__ = ["SparseCenterClassifierCV"]

# Folds whose rows fall into more parts than this are trained one by one.
_MOST_PARTS = 40


class SparseCenterClassifierCV(ScoringMixin, FittedCenters):
    """Sparse center classifier with as many features as cross-validation finds best.

    Every fold is trained once and evaluated for every number of features in one pass; with l2
    distances even the folds share one pass over the data, because class moments merge. See
    `SparseCenterClassifier` for the model.

    Parameters
    ----------
    metric : {"l2", "l1"}, default="l2"
        Means and squared Euclidean distances, or medians and absolute distances.
    scaling : {"spread", "std", "variance"} or None, default="spread"
        What each feature is divided by.
    covariance : {"empirical", "shrunk"} or None, default=None
        Mahalanobis distances by the pooled within-class covariance.
    priors : {"uniform", "empirical"} or array-like of shape (n_classes,), default="uniform"
        Class probabilities that enter the decision.
    feature_groups : dict, list of lists, array-like or None, default=None
        Features that are selected together and count as one. (`groups` of `fit` are groups of
        samples.)
    keep : str, int, list of them or None, default=None
        Features, or groups, that are always selected and not counted.
    ks : array-like of int or None, default=None
        Numbers of features, or groups, to try. None: all from 1 to the number of them for dense
        data; a few hundred, geometrically spaced beyond the first 128, for sparse data and for
        scores other than accuracy and balanced accuracy.
    cv : int, splitter or iterable of (train, test), default=5
        Folds; an integer means that many stratified ones.
    scoring : str or callable, default="balanced_accuracy"
        What is to be large.
    rule : {"best", "1se"}, default="best"
        The best number of features (the smallest of equals), or the smallest whose score is
        within one standard error of the best.
    n_resamples : int, default=50
        Half-samples for `stability_`; 0 for none.
    n_jobs : int or None, default=None
        Threads for folds and half-samples. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the half-samples.

    Attributes
    ----------
    path_ : dict of ndarray
        "k" (groups where there are groups, without those to keep), "mean", "se" (standard error
        of the mean) and "scores" (one row per fold).
    n_features_, n_groups_ : int
        The number of selected features, and of their groups.
    stability_ : ndarray of shape (n_features_in_,)
        How often each feature is among the chosen number of best ones in half-samples of the
        data, between 0 and 1.
    temperature_ : float
        What decisions are divided by, calibrated on out-of-fold decisions.
    best_score_ : float
        Mean score of the chosen number of features over the folds: good for choosing, too
        optimistic as an estimate.
    classes_, support_, gains_, ranking_, group_of_, group_gains_, centers_, class_centers_, \
common_center_, scale_, objective_, dispersion_, class_prior_, class_count_, n_features_in_, \
feature_names_in_
        As in `SparseCenterClassifier`, trained on all data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import SparseCenterClassifierCV
    >>> data = load_iris(as_frame=True)
    >>> model = SparseCenterClassifierCV(rule="1se", random_state=0).fit(data.data, data.target)
    >>> model.get_feature_names_out().tolist()
    ['petal length (cm)']
    >>> [round(float(score), 2) for score in model.path_["mean"]]
    [0.95, 0.96, 0.9, 0.87]
    """

    def __init__(
        self,
        *,
        metric="l2",
        scaling="spread",
        covariance=None,
        priors="uniform",
        feature_groups=None,
        keep=None,
        ks=None,
        cv=5,
        scoring="balanced_accuracy",
        rule="best",
        n_resamples=50,
        n_jobs=None,
        random_state=None,
    ):
        self.metric = metric
        self.scaling = scaling
        self.covariance = covariance
        self.priors = priors
        self.feature_groups = feature_groups
        self.keep = keep
        self.ks = ks
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.n_resamples = n_resamples
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(self, X, y, sample_weight=None, groups=None):
        """Choose the number of features, then train on all data.

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
        self : SparseCenterClassifierCV
        """
        self._check_parameters()
        choose_level(np.zeros(1), np.zeros(1), self.rule)  # a wrong rule is told before the work
        check_scoring(self.scoring)
        vars(self).pop("stability_", None)
        if not isinstance(self.n_resamples, Integral) or self.n_resamples < 0:
            raise ValueError(f"n_resamples must be an integer >= 0, got {self.n_resamples!r}.")
        X, codes, weights = self._validate(X, y, sample_weight)
        self._check_class_weights(codes, weights)
        n_classes = len(self.classes_)
        splits = weighted_splits(make_splits(self.cv, X, self.classes_[codes], groups), weights)
        ks = self._levels(X)
        row_sets = [train for train, _ in splits]
        *fold_moments, moments = self._moments_of(
            X, codes, weights, [*row_sets, np.arange(codes.size)]
        )
        model = self._train_rows(X, codes, weights, np.arange(codes.size), moments)

        # One task a fold, then one a pair of half-samples; each is reported when it is done.
        rows = np.arange(codes.size) if weights is None else np.flatnonzero(weights)
        random_state = check_random_state(self.random_state)
        halves = [rows[h] for h in half_samples(codes[rows], self.n_resamples, random_state)]
        pairs = [halves[h : h + 2] for h in range(0, len(halves), 2)]
        names = [f"fold {f}" for f in range(len(splits))]
        names += [f"half-samples {h}" for h in range(len(pairs))]
        folds = self._in_threads(
            delayed(self._evaluate_fold)(X, codes, weights, split, part, ks)
            for split, part in zip(splits, fold_moments, strict=True)
        )
        evaluated, orders, n_done = [], None, 0
        for name in steps(self, names, X=X, y=y):
            if name.startswith("fold"):
                evaluated.append(next(folds))
                continue
            if orders is None:
                k = self._choose(evaluated, ks)
                counts = np.zeros(X.shape[1])
                orders = self._in_threads(
                    delayed(self._select_from_halves)(X, codes, weights, pair, k) for pair in pairs
                )
            for support in next(orders):
                counts[support] += 1
                n_done += 1
        if orders is None:
            k = self._choose(evaluated, ks)

        self._store(model)
        self._select(k)
        if n_done:
            self.stability_ = counts / n_done
        self.temperature_ = self._calibrate(X, codes, weights, splits, evaluated, n_classes, k)
        self._warn_of_few_features(k, k)
        return self

    def _in_threads(self, tasks):
        return Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(tasks)

    def _levels(self, X):
        if self.ks is not None:
            ks = np.asarray(self.ks)
            if ks.ndim != 1 or ks.size == 0 or ks.dtype.kind not in "iu" or ks.min() < 1:
                raise ValueError(f"ks must be a list of integers >= 1, got {self.ks!r}.")
            return np.unique(np.minimum(ks, self._n_choices))
        if self._n_choices == 0:  # all is to be kept
            return np.zeros(1, dtype=np.int64)
        if sparse.issparse(X) or not is_counted(self.scoring):
            return path_grid(self._n_choices)
        return np.arange(1, self._n_choices + 1)

    def _train_rows(self, X, codes, weights, rows, moments):
        """Model of some rows: from their moments, or where there are none from the rows."""
        if moments is not None:
            return self._train_moments(moments)
        if rows.size == X.shape[0] and np.array_equal(rows, np.arange(rows.size)):
            return self._train(X, codes, len(self.classes_), weights)
        part_weights = None if weights is None else weights[rows]
        return self._train(X[rows], codes[rows], len(self.classes_), part_weights)

    def _moments_of(self, X, codes, weights, row_sets):
        """Moments of every set of rows, from one pass over X; None where moments do not suffice.

        Rows that are in the same sets form a part; parts are summarised together, as if each were
        a set of classes of its own, and merged for every set.
        """
        nothing = [None] * len(row_sets)
        if self.metric == "l1" or self.covariance is not None or len(row_sets) > _MOST_PARTS:
            return nothing
        key = np.zeros(X.shape[0], dtype=np.int64)
        for f, rows in enumerate(row_sets):
            member = np.zeros(X.shape[0], dtype=bool)
            member[rows] = True
            if np.count_nonzero(member) < rows.size:  # a row twice
                return nothing
            key[member] |= 1 << f
        patterns, part = np.unique(key, return_inverse=True)
        n_classes, n_parts = len(self.classes_), patterns.size
        if n_parts > _MOST_PARTS:
            return nothing
        pooled = summarise(X, part * n_classes + codes, n_parts * n_classes, weights)
        pieces = [pooled.take(slice(p * n_classes, (p + 1) * n_classes)) for p in range(n_parts)]
        moments = []
        for f in range(len(row_sets)):
            chosen = [piece for piece, bits in zip(pieces, patterns, strict=True) if bits >> f & 1]
            merged = reduce(ClassMoments.merge, chosen)
            moments.append(replace(merged, n_rows=X.shape[0]))
        return moments

    def _evaluate_fold(self, X, codes, weights, split, moments, ks):
        """Model of one fold, and its scores for every k."""
        train, test = split
        model = self._train_rows(X, codes, weights, train, moments)
        known = np.arange(len(self.classes_))
        test_weights = None if weights is None else weights[test]
        scores = score_path(
            model, X[test], codes[test], self.classes_, known, ks, self.scoring, test_weights
        )
        return model, scores

    def _select_from_halves(self, X, codes, weights, halves, k):
        """The k best features of every half."""
        supports = []
        for rows, moments in zip(halves, self._moments_of(X, codes, weights, halves), strict=True):
            try:
                model = self._train_rows(X, codes, weights, rows, moments)
            except ValueError as error:
                raise ValueError(
                    f"A half-sample for stability_ ({rows.size} rows) cannot be trained: {error} "
                    "n_resamples=0 leaves the half-samples out."
                ) from error
            supports.append(model.select(k))
        return supports

    def _choose(self, evaluated, ks):
        scores = np.stack([score for _, score in evaluated])
        mean, error = scores.mean(axis=0), standard_error(scores)
        level = choose_level(mean, error, self.rule)
        self.path_ = {"k": ks, "mean": mean, "se": error, "scores": scores}
        self.best_score_ = float(mean[level])
        return int(ks[level])

    def _calibrate(self, X, codes, weights, splits, evaluated, n_classes, k):
        """Temperature of the out-of-fold decisions, every class with its prior as weight."""
        decisions, truth, mass = [], [], []
        for (_, test), (model, _) in zip(splits, evaluated, strict=False):
            decisions.append(model.decisions(X[test], model.select(k)))
            truth.append(codes[test])
            mass.append(np.ones(test.size) if weights is None else weights[test])
        truth, mass = np.concatenate(truth), np.concatenate(mass)
        of_class = np.bincount(truth, weights=mass, minlength=n_classes)
        mass = mass * self.class_prior_[truth] / np.where(of_class > 0, of_class, 1.0)[truth]
        return fit_temperature(np.concatenate(decisions), truth, mass)
