"""Baselines that every method is compared with, from scikit-learn; never recommended."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from tamis._array import is_sparse, multiply_transposed, take_columns
from tamis._base import largest
from tamis.comparison.methods import METHODS, Method, Trained
from tamis.paths.path import Path

__all__ = ["BASELINES", "ModelsPath", "estimate_seconds", "find_method"]


class ModelsPath(Path):
    """A path of models that were trained one by one.

    Parameters
    ----------
    levels : sequence of float
    models : list of classifier
        With `predict_proba`.
    features : list of ndarray of int
        Columns of every model, ascending.
    n_classes : int
    """

    def __init__(self, levels, models, features, n_classes):
        self.levels, self.classes = np.asarray(levels), np.arange(n_classes)
        self.n_features = np.array([columns.size for columns in features])
        self._models, self._features = models, features

    def features(self, level):
        """Columns of one model."""
        return self._features[level]

    def decisions(self, X, places=slice(None)):
        """Logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(np.stack([model.predict_proba(X) for model in self._models[places]]))

    def model(self, level):
        """One model."""
        return self._models[level]


# Most rows that each tree of a forest is grown from.
_TREE_ROWS = 10_000


class MostFrequent(Method):
    """No feature at all: always the largest class."""

    name, title, is_baseline = "most-frequent", "most frequent class", True
    takes_weights = True

    def levels(self, problem, limit):
        """One level, with no features."""
        return [0]

    def train(self, part, levels):
        """Count the classes."""
        model = DummyClassifier(strategy="most_frequent").fit(part.X, part.codes, part.weights)
        path = ModelsPath(levels, [model], [np.zeros(0, dtype=np.intp)], part.known.size)
        return Trained(path, part, np.zeros(1, dtype=np.intp))

    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """Practically no time."""
        return 0.01


class L1Logistic(Method):
    """Logistic regression with an l1 penalty, from scikit-learn, at several penalties."""

    name, title, is_baseline = "l1-logistic", "l1 logistic regression", True
    takes_weights = True
    level_name = "C"

    def levels(self, problem, limit):
        """Inverse penalties, from the strongest penalty; 0.01 to 10 for 500 rows."""
        return [c * 500 / problem.n_rows for c in (0.01, 0.03, 0.1, 0.3, 1.0, 10.0)]

    def train(self, part, levels):
        """One class against the rest, for every penalty."""
        scaler = StandardScaler(with_mean=not is_sparse(part.X))
        X = scaler.fit_transform(part.X, sample_weight=part.weights)
        chosen = [1] if part.known.size == 2 else range(part.known.size)
        fits = [
            fit_l1_logistic(X, part.codes == c, _balance(part.codes == c, part), levels, part.seed)
            for c in chosen
        ]
        models = [OneAgainstRest(scaler, list(one)) for one in zip(*fits, strict=True)]
        path = ModelsPath(levels, models, [m.columns for m in models], part.known.size)
        return Trained(path, part, np.arange(len(levels)))

    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """Coordinate descent, six times per class."""
        rate = 4e-6 if n_stored < 0.5 * n_rows * n_columns else 5e-7
        return 0.1 + rate * n_stored * (1 if n_classes == 2 else n_classes)


def fit_l1_logistic(X, is_class, weights, penalties, seed):
    """Coefficients and intercepts of l1 logistic regressions, each on the columns it may need.

    With the inverse penalty C, the coefficient of a column is 0 where the slope of the loss along
    it is below 1 / C. So scikit-learn solves a problem of a few columns only: those that have a
    coefficient for the last penalty, and the steepest of the others. Columns that turn out to be
    needed are added until there are none left. The result is the solution for all columns.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_rows, n_columns)
        Standardised.
    is_class : ndarray of bool of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
    penalties : sequence of float
        Values of C, ascending.
    seed : int

    Returns
    -------
    solutions : list of (ndarray of shape (n_columns,), float)
    """
    solutions, coef = [], np.zeros(X.shape[1])
    residual = weights * (is_class - weights @ is_class / weights.sum())
    slopes = _slopes(X, residual)
    for C in penalties:
        n_active = np.count_nonzero(coef)
        working = np.union1d(np.flatnonzero(coef), _steepest(slopes, 20 + 2 * n_active))
        while True:
            model = LogisticRegression(
                l1_ratio=1.0, C=C, solver="liblinear", max_iter=200, random_state=seed
            )
            some = take_columns(X, working)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about iterations; they show in the score
                model.fit(some, is_class, weights)
            slopes = _slopes(X, weights * (is_class - model.predict_proba(some)[:, 1]))
            needed = np.where(slopes > 1.001 / C, slopes, 0.0)
            needed[working] = 0.0
            if not needed.any():
                break
            working = np.union1d(working, _steepest(needed, 20 + working.size))
        coef = np.zeros(X.shape[1])
        coef[working] = model.coef_[0]
        solutions.append((coef, float(model.intercept_[0])))
    return solutions


def _slopes(X, residual):
    """Absolute slope of the loss along each column."""
    return np.abs(multiply_transposed(X, residual[:, None])[:, 0])


def _steepest(slopes, count):
    """Columns with the largest slopes, at most `count`; columns with slope 0 are left out."""
    chosen = largest(slopes, min(count, slopes.size))
    chosen = chosen[slopes[chosen] > 0]
    return chosen if chosen.size else np.zeros(1, dtype=np.intp)


class OneAgainstRest:
    """Logistic regressions of one class against the rest; one for two classes.

    Parameters
    ----------
    scaler : StandardScaler
    solutions : list of (ndarray of shape (n_columns,), float)
        Coefficients and intercept of each class.
    """

    def __init__(self, scaler, solutions):
        coef = np.stack([coef for coef, _ in solutions], axis=1)
        self.columns = np.flatnonzero(coef.any(axis=1))
        scale = scaler.scale_[self.columns]
        self.coef = coef[self.columns] / scale[:, None]
        self.intercept = np.array([intercept for _, intercept in solutions])
        if scaler.with_mean:
            self.intercept = self.intercept - scaler.mean_[self.columns] @ self.coef

    def predict_proba(self, X):
        """Probabilities, normalised over the classes."""
        logits = np.asarray(take_columns(X, self.columns) @ self.coef) + self.intercept
        shares = np.exp(-np.logaddexp(0.0, -logits))
        if shares.shape[1] == 1:
            return np.column_stack([1 - shares, shares])
        total = shares.sum(axis=1, keepdims=True)
        return np.where(total > 0, shares / np.where(total > 0, total, 1.0), 1 / shares.shape[1])


class Forest(Method):
    """A random forest on all features, from scikit-learn with its default number of trees."""

    name, title, is_baseline = "random-forest", "random forest, all features", True

    def levels(self, problem, limit):
        """One level, with all features."""
        return [problem.n_features]

    def train(self, part, levels):
        """One forest."""
        n_rows = part.codes.size
        model = RandomForestClassifier(
            100,
            class_weight=part.class_weight,
            max_samples=_TREE_ROWS if n_rows > _TREE_ROWS else None,
            random_state=part.seed,
        ).fit(part.X, part.codes)
        path = ModelsPath(levels, [model], [np.arange(part.columns.size)], part.known.size)
        return Trained(path, part, np.zeros(1, dtype=np.intp))

    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """A hundred trees of at most 10,000 rows, on the square root of the columns."""
        n_rows = min(n_rows, _TREE_ROWS)
        return 0.2 + 1e-6 * n_rows * np.sqrt(n_columns) * np.log2(n_rows + 2)


BASELINES = (MostFrequent(), L1Logistic(), Forest())


def find_method(name):
    """Find a method or baseline by its name."""
    return next(method for method in (*METHODS, *BASELINES) if method.name == name)


def estimate_seconds(problem, name):
    """Rough seconds of one task of a method on one core: its rule for the size of the data."""
    n_rows, n_columns = problem.encoded.shape
    n_stored = getattr(problem.encoded, "nnz", n_rows * n_columns)
    return find_method(name).seconds(n_rows, n_columns, n_stored, problem.classes.size)


def _balance(is_class, part):
    """Sample weights that give a class and the rest equal weight, if classes are balanced."""
    weights = np.ones(is_class.size) if part.weights is None else part.weights
    if part.class_weight is None:
        return weights
    sizes = np.bincount(is_class, weights=weights)
    return weights * (weights.sum() / (2 * sizes))[is_class.astype(np.intp)]
