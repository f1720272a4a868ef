"""Predictions: sets that contain the true class, and thresholds that miss few positives."""

from dataclasses import replace

import numpy as np
from scipy.special import ndtr
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from simulations.engine import Measure, Simulation, each
from simulations.features import as_seed
from tamis.guarantees import ConformalClassifier, find_sensitivity_threshold

ALPHA = 0.1


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


class Neighbors(ClassifierMixin, BaseEstimator):
    """Class shares around a row, which remember the rows that the model was trained on."""

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.X_, self.member_ = X, np.eye(self.classes_.size)[codes]
        return self

    def predict_proba(self, X):
        squares = (X**2).sum(axis=1)[:, None] + (self.X_**2).sum(axis=1) - 2 * X @ self.X_.T
        shares = np.exp(-2 * (squares - squares.min(axis=1, keepdims=True))) @ self.member_ + 0.01
        return shares / shares.sum(axis=1, keepdims=True)


def misses_of(model, X, y):
    """Share of the rows of each class whose set lacks it."""
    sets = model.predict_set(X)
    return [1 - sets[y == c, c].mean() for c in range(len(model.classes_))]


def repeat_equal(method, sizes, shift=0.0):
    """Models of 200 noise features, or of 199 and a signal; one of them is chosen and trained."""

    def repeat(rng):
        y, labels = (np.repeat([0, 1], n) for n in (sizes, (200, 200)))
        X, new = rng.normal(size=(y.size, 200)), rng.normal(size=(400, 200))
        X[:, 0], new[:, 0] = X[:, 0] + shift * y, new[:, 0] + shift * labels
        model = ConformalClassifier(BestFeature(), ALPHA, method=method, random_state=as_seed(rng))
        return misses_of(model.fit(X, y), new, labels)

    return repeat


def repeat_small(rng):
    """A model from elsewhere, calibrated on 5, 10 and 20 rows; classes of unequal variance."""

    def draw(sizes):
        y = np.repeat([0, 1, 2], sizes)
        return (y + rng.normal(size=y.size) * (1 + y))[:, None], y

    frozen = FrozenEstimator(BestFeature().fit(*draw([50, 50, 50])))
    model = ConformalClassifier(frozen, 0.2).fit(*draw([5, 10, 20]))
    return misses_of(model, *draw([300, 300, 300]))


def draw_patients(rng, n_patients, most):
    """Rows of patients, nearly alike, and with more of them in the second class."""
    y = np.arange(n_patients) % 2
    sizes = rng.integers(1, most + 1, n_patients) + 3 * y
    patients = np.repeat(np.arange(n_patients), sizes)
    own = rng.normal(size=(n_patients, 3)) + 0.7 * y[:, None]
    return own[patients] + 0.1 * rng.normal(size=(patients.size, 3)), y[patients], patients


def repeat_patients(rng):
    """A new row is a row of a new patient; groups told, and withheld."""
    X, y, patients = draw_patients(rng, 80, 6)
    new, labels, owners = draw_patients(rng, 300, 1)
    some = np.unique(owners, return_index=True)[1]
    seed, misses = as_seed(rng), []
    for groups in (patients, None):
        model = ConformalClassifier(Neighbors(), ALPHA, random_state=seed).fit(X, y, groups)
        misses.append(np.mean(misses_of(model, new[some], labels[some])))
    return misses


# What is not offered, with scores that say how strange the true class of a row looks.


def largest_kept(scores, alpha):
    """The largest of the calibration scores that a set still contains; rows are repetitions."""
    n = scores.shape[-1]
    return np.sort(scores, axis=-1)[..., n - int(np.floor(alpha * (n + 1)))]


def run_same_rows(rng, n, n_candidates=96, n_rows=60):
    """Equal models with standard normal scores: the one that suits the calibration rows best."""
    scores = rng.normal(size=(n, n_candidates, n_rows))
    chosen = scores[np.arange(n), scores.mean(axis=2).argmin(axis=1)]
    return 1 - ndtr(largest_kept(chosen, ALPHA))[:, None]


def strangeness(X, y, new, labels):
    """How much further each new row is from the center of its class than from the other.

    For each feature on its own, (features, rows).
    """
    centers = np.array([X[y == c].mean(axis=0) for c in (0, 1)])
    distances = (new[None] - centers[:, None]) ** 2  # (classes, rows, features)
    rows = np.arange(labels.size)
    return (distances[labels, rows] - distances[1 - labels, rows]).T


def repeat_pooled(rng, n=60, n_candidates=96):
    """Pooled out-of-fold scores choose a feature and calibrate it; it is refitted on all rows."""
    y, fold_of = np.arange(n) % 2, np.arange(n) // 2 % 5
    X, new = rng.normal(size=(n, n_candidates)), rng.normal(size=(400, n_candidates))
    labels = np.arange(400) % 2
    scores = np.empty((n_candidates, n))
    for fold in range(5):
        train, test = fold_of != fold, fold_of == fold
        scores[:, test] = strangeness(X[train], y[train], X[test], y[test])
    best = [(scores > 0).mean(axis=1).argmin()]
    fresh = strangeness(X[:, best], y, new[:, best], labels)[0]
    return [(fresh > largest_kept(scores[best][0], ALPHA)).mean()]


# Thresholds: scores of positives are uniform, so the miss rate at a threshold is the threshold.


def repeat_threshold(n, sensitivity):
    def repeat(rng):
        found = find_sensitivity_threshold(rng.random(n), sensitivity=sensitivity)
        return [found.threshold > 1 - sensitivity + 1e-12]

    return repeat


def repeat_ties(rng):
    """Scores are whole numbers from 0 to 19, so the miss rate is the threshold / 20."""
    found = find_sensitivity_threshold(rng.integers(20, size=100), sensitivity=0.9)
    return [found.threshold / 20 > 0.1]


def repeat_threshold_groups(rng):
    """Patients with high scores have up to nine equal rows; a new row is one of a new patient."""
    own = rng.random(45)
    sizes = 1 + np.floor(9 * rng.random(45) * np.where(own < 0.3, 0.3, 1)).astype(int)
    scores, patients = np.repeat(own, sizes), np.repeat(np.arange(45), sizes)
    return [
        find_sensitivity_threshold(
            scores, sensitivity=0.9, groups=groups, random_state=0
        ).threshold
        > 0.1
        for groups in (patients, None)
    ]


def repeat_threshold_chosen(rng):
    """Of 20 equal models, the one whose threshold on the calibration rows is the largest."""
    found = [find_sensitivity_threshold(rng.random(100), sensitivity=0.9) for _ in range(20)]
    return [max(one.threshold for one in found) > 0.1]


SPLIT = Measure('`ConformalClassifier("split")`, true class missing', ALPHA, is_mean=True)
CROSS = Measure('`ConformalClassifier("cross")`, true class missing', 2 * ALPHA, is_mean=True)
THRESHOLD = Measure("`find_sensitivity_threshold`, sensitivity too low", 0.05)


def of_classes(measure, names):
    return tuple(replace(measure, procedure=f"{measure.procedure}, {name}") for name in names)


SIMULATIONS = (
    Simulation(
        "split, 200 equal",
        "200 equal candidates, classes of 40 and 80",
        of_classes(SPLIT, ("class of 40", "class of 80")),
        each(repeat_equal("split", (40, 80))),
        2000,
    ),
    Simulation(
        "cross, 200 equal",
        "200 equal candidates, classes of 100 and 150",
        of_classes(CROSS, ("class of 100", "class of 150")),
        each(repeat_equal("cross", (100, 150))),
        2000,
    ),
    Simulation(
        "cross, signal",
        "a signal and 199 equal candidates, classes of 100 and 150",
        of_classes(CROSS, ("class of 100", "class of 150")),
        each(repeat_equal("cross", (100, 150), 2.0)),
        2000,
    ),
    Simulation(
        "split, small classes",
        "5, 10 and 20 calibration rows, classes of unequal variance",
        of_classes(replace(SPLIT, nominal=0.2), ("5 rows", "10 rows", "20 rows")),
        each(repeat_small),
        2000,
    ),
    Simulation(
        "split, groups",
        "80 patients with 1 to 9 rows, more in one class; a model that remembers its rows",
        (
            SPLIT,
            replace(SPLIT, procedure="`ConformalClassifier`, groups withheld", is_control=True),
        ),
        each(repeat_patients),
        2000,
    ),
    Simulation(
        "pooled out of fold",
        "96 equal candidates, 60 rows",
        (
            replace(
                SPLIT,
                procedure="pooled out-of-fold scores, refitted model, true class missing",
                is_control=True,
            ),
        ),
        each(repeat_pooled),
        2000,
    ),
    Simulation(
        "calibrated on the rows that chose",
        "96 equal candidates, 60 rows",
        (
            replace(
                SPLIT,
                procedure="split scores of the rows that chose, true class missing",
                is_control=True,
            ),
        ),
        run_same_rows,
        2000,
    ),
    Simulation(
        "sensitivity, fewest rows",
        "59 positives, sensitivity 0.95",
        (THRESHOLD,),
        each(repeat_threshold(59, 0.95)),
    ),
    Simulation(
        "sensitivity, more rows",
        "153 positives, sensitivity 0.9",
        (THRESHOLD,),
        each(repeat_threshold(153, 0.9)),
    ),
    Simulation(
        "sensitivity, ties",
        "100 positives with 20 different scores",
        (THRESHOLD,),
        each(repeat_ties),
    ),
    Simulation(
        "sensitivity, groups",
        "45 patients, those with high scores with more rows",
        (
            THRESHOLD,
            replace(
                THRESHOLD,
                procedure="`find_sensitivity_threshold`, groups withheld",
                is_control=True,
            ),
        ),
        each(repeat_threshold_groups),
    ),
    Simulation(
        "sensitivity, chosen",
        "20 equal models, 100 positives",
        (
            replace(
                THRESHOLD,
                procedure="`find_sensitivity_threshold` on the rows that chose the model",
                is_control=True,
            ),
        ),
        each(repeat_threshold_chosen),
        500,
    ),
)
