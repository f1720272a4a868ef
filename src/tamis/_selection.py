"""What selecting has in common: orders, folds, rules, scores, temperature, half-samples."""

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

from tamis._base import softmax
from tamis._input import decode_labels

__all__ = [
    "ScoringMixin",
    "check_scoring",
    "choose_level",
    "fit_temperature",
    "half_samples",
    "largest",
    "order_by_score",
    "score_decisions",
    "standard_error",
]


def order_by_score(scores):
    """Features from the largest score to the smallest; equal scores: lower index first."""
    return np.argsort(-scores, kind="stable")


def largest(scores, k):
    """Indices, ascending, of the k largest scores; equal scores: lower index first. O(m)."""
    if k <= 0 or k >= scores.size:
        return np.arange(scores.size if k > 0 else 0)
    threshold = np.partition(scores, scores.size - k)[scores.size - k]
    above = np.flatnonzero(scores > threshold)
    tied = np.flatnonzero(scores == threshold)[: k - above.size]
    return np.sort(np.concatenate([above, tied]))


def check_scoring(scoring):
    """Raise unless `scoring` is None, a name that scikit-learn knows, or callable."""
    if isinstance(scoring, str):
        get_scorer(scoring)
    elif scoring is not None and not callable(scoring):
        raise ValueError(f"scoring must be a name, a callable or None, got {scoring!r}.")


def standard_error(scores):
    """Standard error of the mean over folds (rows); 0 with a single fold."""
    n_folds = len(scores)
    if n_folds < 2:
        return np.zeros(np.shape(scores)[1:])
    return np.std(scores, axis=0, ddof=1) / np.sqrt(n_folds)


def choose_level(mean, error, rule):
    """Index of the chosen level; levels go from the sparsest to the fullest.

    "best" is the first of the largest means; "1se" the first whose mean is within one standard
    error, that of the best, of the largest.
    """
    if rule not in ("best", "1se"):
        raise ValueError(f"rule must be 'best' or '1se', got {rule!r}.")
    if np.all(np.isnan(mean)):
        raise ValueError("Every score is NaN: this scoring cannot be used on these folds.")
    best = int(np.nanargmax(mean))
    if rule == "best":
        return best
    return int(np.flatnonzero(mean >= mean[best] - error[best])[0])


class _GivenDecisions(ClassifierMixin, BaseEstimator):
    """Answers a scorer's questions with decisions that are there already."""

    def __init__(self, decisions=None, classes=None):
        self.decisions = decisions
        self.classes = classes

    @property
    def classes_(self):
        return self.classes

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y):
        """Do nothing: there is nothing to learn."""
        return self

    def decision_function(self, X):
        """Decisions; one column for two classes."""
        decisions = self.decisions
        return decisions[:, 1] - decisions[:, 0] if decisions.shape[1] == 2 else decisions

    def predict_proba(self, X):
        """Probabilities of the decisions."""
        return softmax(self.decisions)

    def predict(self, X):
        """Label of the largest decision."""
        return self.classes[self.decisions.argmax(axis=1)]


def score_decisions(scoring, decisions, classes, known, X, y, sample_weight=None):
    """Score of decisions as if a classifier had made them.

    Parameters
    ----------
    scoring : str or callable
        As in scikit-learn.
    decisions : ndarray of shape (n_samples, len(known))
        Decisions for the classes that the model knows.
    classes : ndarray
        All classes.
    known : ndarray of int
        Which of them the model knows.
    X, y : samples and their labels
    sample_weight : ndarray or None
        Passed to the scorer when given.
    """
    full = np.full((decisions.shape[0], len(classes)), -np.inf)
    full[:, known] = decisions
    # Scorers want finite numbers: a class that is never predicted is far below the others.
    finite = np.isfinite(full)
    lowest = np.where(finite, full, np.inf).min(axis=1, keepdims=True)
    full = np.where(finite, full, lowest - 1e3)
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    try:
        return scorer(_GivenDecisions(full, classes), X, y, **weights)
    except ValueError as error:
        if len(np.unique(y)) < len(classes):
            raise ValueError(
                f"scoring={scoring!r} cannot score test samples that lack a class ({error}). Use "
                "fewer or stratified folds, or a scoring that can, as 'balanced_accuracy'."
            ) from error
        raise
    except TypeError as error:
        if weights and "sample_weight" in str(error):
            raise ValueError(
                f"scoring={scoring!r} does not take sample_weight, and sample weights were given. "
                "Leave them out, or use a scorer that takes them."
            ) from error
        raise


class ScoringMixin:
    """`score` by the `scoring` of the estimator, which has decisions for all its classes."""

    def score(self, X, y, sample_weight=None):
        """Score by `scoring` on new data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        score : float
        """
        decisions, known = self._decisions(X), np.arange(len(self.classes_))
        scoring, y = self.scoring or "accuracy", np.asarray(decode_labels(y))
        return float(
            score_decisions(scoring, decisions, self.classes_, known, X, y, sample_weight)
        )


def fit_temperature(decisions, codes, weights):
    """Temperature T that makes softmax(decisions / T) most likely for the true classes.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_classes)
        Out-of-fold decisions.
    codes : ndarray of shape (n_samples,)
        True classes.
    weights : ndarray of shape (n_samples,)
        Weight of each sample in the likelihood.

    Returns
    -------
    temperature : float
        Between 1/20 and 10^8; 1 when there is nothing to go by.
    """
    usable = (weights > 0) & np.isfinite(decisions[np.arange(codes.size), codes])
    decisions, codes, weights = decisions[usable], codes[usable], weights[usable]
    if codes.size == 0:
        return 1.0
    # What the other classes have over the true one: a column each.
    true = np.arange(decisions.shape[1]) == codes[:, None]
    margins = (decisions[~true].reshape(codes.size, -1) - decisions[true][:, None]).T.copy()

    def loss(log_temperature, every=1):
        scaled = margins[:, ::every] / np.exp(log_temperature)
        total = np.zeros(scaled.shape[1])
        for column in scaled:
            total = np.logaddexp(total, column)
        mass = weights[::every]
        return float((mass * total).sum() / mass.sum())

    bounds = (np.log(0.05), np.log(1e8))
    # The likelihood is quasi-concave in T; a coarse look first keeps flat ends out of the way.
    # Some of the rows are enough for that, if their weight is.
    every = max(1, codes.size // 20_000)
    every = every if weights[::every].any() else 1
    grid = np.linspace(*bounds, 101)
    at = int(np.argmin([loss(t, every) for t in grid]))
    low, high = grid[max(at - 2, 0)], grid[min(at + 2, grid.size - 1)]
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x if found.fun <= loss(grid[at]) else grid[at]))


def half_samples(codes, n_resamples, random_state):
    """Rows of stratified half-samples, in complementary pairs.

    A class with a single row is in every half.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Class of every row.
    n_resamples : int
        Number of halves.
    random_state : numpy.random.RandomState

    Yields
    ------
    rows : ndarray of int
    """
    groups = [np.flatnonzero(codes == c) for c in np.unique(codes)]
    for start in range(0, n_resamples, 2):
        first, second = [], []
        for g, group in enumerate(groups):
            mixed = random_state.permutation(group)
            half = mixed.size // 2 + (mixed.size % 2) * ((g + start // 2) % 2)
            if mixed.size == 1:
                first.append(mixed)
                second.append(mixed)
            else:
                first.append(mixed[:half])
                second.append(mixed[half:])
        for half in (first, second)[: n_resamples - start]:
            member = np.zeros(codes.size, dtype=bool)
            member[np.concatenate(half)] = True
            yield np.flatnonzero(member)
