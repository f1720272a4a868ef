"""Smoke simulations: guarantees hold, and what breaks their conditions is seen to fail.

200 repetitions each. There is evidence against a guarantee if the lower 99 % limit of the
violation rate is above the promised rate: there must be none for what we offer, and there must be
some for the positive controls, which break a condition. 200 repetitions are too few to ask for an
upper limit.
"""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import beta, binom
from sklearn.base import BaseEstimator, ClassifierMixin

from tamis.guarantees import ConformalClassifier, find_sensitivity_threshold
from tamis.paths.fixed_sequence import Limit, run_sequence

N_REPETITIONS = 200


def lower_limit(violations):
    """Lower 99 % limit of a rate, from the number of violations (Clopper-Pearson)."""
    return beta.ppf(0.01, violations, N_REPETITIONS - violations + 1) if violations else 0.0


def lower_limit_of_mean(rates):
    """Lower 99 % limit of a mean rate, from the rate in each repetition."""
    return np.mean(rates) - 2.33 * np.std(rates) / np.sqrt(len(rates))


# Prediction sets.


class BestFeature(ClassifierMixin, BaseEstimator):
    """The feature whose class centers differ most, and the distances to them."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        centers = np.array([X[y == c].mean(axis=0) for c in self.classes_])
        self.feature_ = np.ptp(centers, axis=0).argmax()
        self.centers_ = centers[:, self.feature_]
        return self

    def predict_proba(self, X):
        shares = np.exp(-0.1 * (X[:, [self.feature_]] - self.centers_) ** 2)
        return shares / shares.sum(axis=1, keepdims=True)


def draw_rows(rng, n):
    """Noise features and one that is informative; the second class is rarer and wider."""
    y = np.concatenate([[0, 1] * 3, (rng.random(n - 6) < 0.4).astype(int)])
    X = rng.normal(size=(n, 5)) * (1 + y[:, None])
    X[:, 0] += 2 * y
    return X, y


@pytest.mark.parametrize(("method", "n"), [("split", 90), ("cross", 60)])
def test_prediction_sets_cover_each_class(method, n):
    rng = np.random.default_rng(0)
    missed, sizes = [], []
    for seed in range(N_REPETITIONS):
        X, y = draw_rows(rng, n)
        new, labels = draw_rows(rng, 400)
        model = ConformalClassifier(BestFeature(), 0.2, method=method, random_state=seed)
        sets = model.fit(X, y).predict_set(new)
        missed.append([1 - sets[labels == c, c].mean() for c in range(2)])
        sizes.append(sets.mean())
    promised = 1 - model.coverage().guaranteed
    assert max(lower_limit_of_mean(rates) for rates in np.transpose(missed)) <= promised
    assert np.mean(missed) > 0.05  # sets do leave classes out
    assert np.mean(sizes) < 0.9


def choose_among_noise(rng, n_candidates, n):
    """Scores of n rows for many noise models, and the model with the best mean score.

    A row's score says how strange its true class looks to a model. Every model is right on average
    as often as any other, so the scores of new rows are standard normal.
    """
    scores = rng.normal(size=(N_REPETITIONS, n_candidates, n))
    best = scores.mean(axis=2).argmin(axis=1)
    return scores, best


def coverage_of(calibration, alpha):
    """True coverage of split sets with standard normal scores, for rows of `calibration`."""
    n = calibration.shape[1]
    place = n - int(np.floor(alpha * (n + 1)))  # the largest score that is not left out
    return ndtr(np.sort(calibration, axis=1)[:, place])


def test_calibrating_on_the_rows_that_chose_undercovers():
    rng = np.random.default_rng(0)
    scores, best = choose_among_noise(rng, 96, 60)
    on_the_same = 1 - coverage_of(scores[np.arange(N_REPETITIONS), best], 0.1)
    on_others = 1 - coverage_of(rng.normal(size=(N_REPETITIONS, 60)), 0.1)
    assert lower_limit_of_mean(on_others) <= 0.1
    assert lower_limit_of_mean(on_the_same) > 0.1


def out_of_fold_scores(X, y, fold_of):
    """Out-of-fold score of each row for each one-feature centroid model: (features, rows)."""
    scores = np.empty(X.shape[::-1])
    for fold in np.unique(fold_of):
        train, test = fold_of != fold, fold_of == fold
        scores[:, test] = strangeness(X[train], y[train], X[test], y[test])
    return scores


def strangeness(X, y, new, labels):
    """How much further each new row is from the center of its class than from the other."""
    centers = np.array([X[y == c].mean(axis=0) for c in (0, 1)])
    distances = (new[None] - centers[:, None]) ** 2  # (classes, rows, features)
    rows = np.arange(labels.size)
    return (distances[labels, rows] - distances[1 - labels, rows]).T


def test_pooled_out_of_fold_scores_with_a_refitted_model_undercover():
    rng = np.random.default_rng(0)
    n, alpha = 60, 0.1
    y, fold_of = np.arange(n) % 2, np.arange(n) // 2 % 5
    pooled, split = [], []
    for _ in range(N_REPETITIONS):
        X, new = rng.normal(size=(n, 96)), rng.normal(size=(400, 96))
        labels = np.arange(400) % 2
        scores = out_of_fold_scores(X, y, fold_of)
        best = (scores > 0).mean(axis=1).argmin()
        fresh = strangeness(X[:, [best]], y, new[:, [best]], labels)[0]
        pooled.append((fresh > largest_kept(scores[best], alpha)).mean())
        # Split: half of the rows choose and train, the others calibrate.
        half = np.arange(n) % 4 < 2
        best = (strangeness(X[half], y[half], X[half], y[half]) > 0).mean(axis=1).argmin()
        own = X[half][:, [best]], y[half]
        known = strangeness(*own, X[~half][:, [best]], y[~half])[0]
        fresh = strangeness(*own, new[:, [best]], labels)[0]
        split.append((fresh > largest_kept(known, alpha)).mean())
    assert lower_limit_of_mean(split) <= alpha
    assert lower_limit_of_mean(pooled) > alpha


def largest_kept(scores, alpha):
    n = scores.size
    return np.sort(scores)[n - int(np.floor(alpha * (n + 1)))]


# Thresholds.


def misses_too_many(rng, groups):
    """Whether the true miss rate at the threshold is above 0.1; uniform scores of positives."""
    shared = rng.random(40)[np.arange(200) // 5]  # five equal rows per patient
    found = find_sensitivity_threshold(
        shared, sensitivity=0.9, confidence=0.9, groups=groups, random_state=0
    )
    return found.threshold > 0.1


def test_sensitivity_holds_with_groups_and_fails_when_they_are_withheld():
    rng = np.random.default_rng(0)
    groups = np.arange(200) // 5
    told = sum(misses_too_many(rng, groups) for _ in range(N_REPETITIONS))
    withheld = sum(misses_too_many(rng, None) for _ in range(N_REPETITIONS))
    assert lower_limit(told) <= 0.1
    assert lower_limit(withheld) > 0.1


# Questions.

N_MODELS, N_ROWS, MAX_ERROR = 200, 300, 0.05


def passes(rng, order):
    """Whether any of 200 models with error rate 1.02 x the limit passes; `order` sorts them."""
    errors = binom.rvs(N_ROWS, 1.02 * MAX_ERROR, size=N_MODELS, random_state=rng)
    is_wrong = np.arange(N_ROWS) < order(errors)[:, None]
    limits = [Limit("error rate", MAX_ERROR, np.arange(N_ROWS))]
    return run_sequence(is_wrong, limits, 0.9).chosen is not None


def test_a_fixed_sequence_rarely_passes_models_that_err_too_often():
    rng = np.random.default_rng(0)
    fixed = sum(passes(rng, lambda errors: errors) for _ in range(N_REPETITIONS))
    assert fixed > 0
    assert lower_limit(fixed) <= 0.1


def test_an_order_from_the_calibration_rows_passes_them():
    rng = np.random.default_rng(0)
    sorted_by_errors = sum(passes(rng, np.sort) for _ in range(N_REPETITIONS))
    assert lower_limit(sorted_by_errors) > 0.1
