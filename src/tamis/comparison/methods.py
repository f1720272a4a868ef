"""The methods that are compared: each goes along its sparsity path for little more than one fit.

A method gives, for training rows and a list of levels, a `Fitted` for every level: a classifier,
the columns it takes, and the counted features that a new sample must have. Levels go from the
sparsest to the fullest. For all methods but the datum-wise one a level is a number of features;
there it is what a feature costs, in errors.
"""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from tamis.centers import SparseCenterClassifier
from tamis.datumwise import DatumWiseClassifier
from tamis.landmarks import LandmarkSearchCV
from tamis.primal_dual import PrimalDualClassifier

__all__ = ["BASELINES", "METHODS", "Fitted", "find_method"]

# Numbers of features that are tried; after the last one the number doubles.
_COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 100, 128)
_FEW_COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
# More rows than this have fewer levels.
_MANY_ROWS = 100_000
# The landmarks and the datum-wise classifier see at most so many features.
_LANDMARK_FEATURES = 128
_ASKED_FEATURES = 60
_PRIMAL_DUAL_FEATURES = 500
# Kept features cost a tenth in the ball.
_KEPT_WEIGHT = 10.0


@dataclass
class Fitted:
    """A classifier of some level.

    Attributes
    ----------
    estimator : classifier
        Its classes are indices into the classes of its training rows.
    columns : ndarray of int or None
        Columns of the part that it takes, dense; None for all as they are.
    features : ndarray of int
        Counted features that it uses, kept ones among them.
    gains : ndarray of shape (len(features),)
        How much each of them matters to it.
    asks : bool
        Whether it takes missing values, and asks every sample for other features.
    free : ndarray of bool or None
        Where it asks: which of the features it can ask for are kept, and not counted.
    """

    estimator: object
    columns: np.ndarray | None
    features: np.ndarray
    gains: np.ndarray
    asks: bool = False
    free: np.ndarray | None = None

    def apply(self, X, with_gaps):
        """Probabilities of the known classes; features and cost of every row, or None."""
        X = with_gaps if self.asks else X
        if self.columns is not None:
            X = _dense(X[:, self.columns])  # few, and trained so
        if not self.asks:
            return self.estimator.predict_proba(X), None
        acquired = self.estimator.acquire(X)
        is_counted = (acquired.order >= 0) & ~self.free[acquired.order]
        return acquired.probabilities, (is_counted.sum(axis=1), acquired.cost)


class Method(ABC):
    """Base of the methods.

    Attributes
    ----------
    name, title : str
        For the command line, and for people.
    is_baseline : bool
        Whether it is there to be compared with, and never recommended.
    asks : bool
        Whether every sample has features of its own.
    takes_weights : bool
        Whether a sample weight of 2 is exactly the row twice.
    has_medians : bool
        Whether its centers are medians.
    unit : str
        What a level is.
    """

    name = title = ""
    is_baseline = False
    asks = False
    takes_weights = False
    has_medians = False
    unit = "features"

    def levels(self, problem, limit):
        """Levels for a problem, with at most `limit` features."""
        return count_levels(problem.n_features, limit, problem.n_rows)

    @abstractmethod
    def train(self, part, levels):
        """A `Fitted` for every level."""

    @abstractmethod
    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """Rough seconds of one `train`, on one core of an ordinary machine."""


def count_levels(n_features, limit, n_rows=0):
    """Numbers of features along a path: few and close together at first, then doubling."""
    most = max(1, min(n_features, limit or n_features))
    counts = list(_FEW_COUNTS if n_rows > _MANY_ROWS else _COUNTS)
    while counts[-1] < most:
        counts.append(2 * counts[-1])
    return [k for k in counts if k < most] + [most]


class Centers(Method):
    """Sparse centers: the k features of largest gain, every k from one sort."""

    takes_weights = True

    def __init__(self, name, title, metric, seconds_per_value):
        self.name, self.title, self.metric = name, title, metric
        self.has_medians = metric == "l1"
        self._rate = seconds_per_value

    def train(self, part, levels):
        """One training, then a selection for every level."""
        problem = part.problem
        grouped = part.present.size < part.columns.size
        estimator = SparseCenterClassifier(
            None,
            metric=self.metric,
            priors="uniform" if problem.balanced else "empirical",
            feature_groups=part.feature_of if grouped else None,
            keep=_kept_columns(part),
        ).fit(part.X, part.codes, part.weights)
        return [self._at(part, estimator, k) for k in levels]

    def _at(self, part, estimator, k):
        chosen = estimator.with_n_features(int(k))
        total = np.bincount(
            part.feature_of[chosen.support_],
            weights=estimator.gains_[chosen.support_],
            minlength=len(part.problem.names),
        )
        features = np.flatnonzero(total > 0)
        return Fitted(chosen, None, features, total[features])

    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """One pass over the values, and one more for every level."""
        return 0.05 + self._rate * n_stored


class PrimalDual(Method):
    """Primal-dual: a warm-started path over the radius of the l1 ball."""

    name, title = "primal-dual", "primal-dual, l1 ball"
    takes_weights = True

    def levels(self, problem, limit):
        """Numbers of features, up to a few hundred."""
        limit = min(limit or _PRIMAL_DUAL_FEATURES, _PRIMAL_DUAL_FEATURES)
        return count_levels(problem.n_features, limit, problem.n_rows)

    def train(self, part, levels):
        """The models of a path; each level has the fullest with at most so many features."""
        problem = part.problem
        weights = None
        if problem.kept.any():
            weights = np.where(problem.kept[part.feature_of], _KEPT_WEIGHT, 1.0)
        estimator = PrimalDualClassifier(
            ball="l1",
            huber_delta=0.1,
            class_weight=part.class_weight,
            feature_weights=weights,
            tol=1e-3,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # gaps and collapses show in the scores
            n_radii = 20 if part.codes.size <= _MANY_ROWS else 10
            path = estimator.fit_path(
                part.X,
                part.codes,
                n_radii,
                max_features=int(max(levels)),
                sample_weight=part.weights,
            )
            models = [self._model(part, one) for one in path]
            models = [one for one in models if one.features.size] or models
            counts = np.array([np.count_nonzero(~problem.kept[one.features]) for one in models])
            fitted = []
            for k in levels:
                few = np.flatnonzero(counts <= k)
                full = (
                    models[few[-1]] if few.size else self._best_of(part, estimator, models[0], k)
                )
                fitted.append(full)
        return fitted

    def _best_of(self, part, estimator, model, k):
        """Where a path begins with more than k features: the k that weigh most, trained again."""
        kept = part.problem.kept
        free = ~kept[model.features]
        order = np.argsort(-model.gains[free], kind="stable")[: int(k)]
        features = np.union1d(model.features[free][order], np.flatnonzero(kept))
        columns = part.columns_of(features)
        weights = estimator.feature_weights
        again = clone(estimator).set_params(
            feature_weights=None if weights is None else weights[columns]
        )
        X = _dense(part.X[:, columns])
        last = again.fit_path(
            X, part.codes, 5, max_features=columns.size, sample_weight=part.weights
        )[-1]
        total = np.bincount(
            part.feature_of[columns],
            weights=np.abs(last.weights_).sum(axis=1),
            minlength=kept.size,
        )
        return Fitted(last, columns, features, total[features])

    def _model(self, part, estimator):
        total = np.bincount(
            part.feature_of[estimator.support_],
            weights=np.abs(estimator.weights_[estimator.support_]).sum(axis=1),
            minlength=len(part.problem.names),
        )
        features = np.flatnonzero(total > 0)
        return Fitted(estimator, None, features, total[features])

    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """Twenty radii, ten for many rows; sparse values take longer to come by."""
        rate = 2e-5 if _is_sparse(n_rows, n_columns, n_stored) else 1e-6
        return 0.5 + rate * n_stored * (0.5 if n_rows > _MANY_ROWS else 1.0)


class Landmarks(Method):
    """Landmarks on the features of largest gain: an ensemble of configurations for every k."""

    name, title = "landmarks", "landmarks on the best features"

    def levels(self, problem, limit):
        """Powers of two, up to 128 features."""
        most = min(problem.n_features, limit or _LANDMARK_FEATURES, _LANDMARK_FEATURES)
        return [k for k in (1, 2, 4, 8, 16, 32, 64, 128) if k < most] + [most]

    def train(self, part, levels):
        """Rank the features once; search configurations for every level."""
        fitted = []
        for k in levels:
            features = part.best_features(int(k))
            columns = part.columns_of(features)
            estimator = LandmarkSearchCV(
                space={"scaling": ["standard"]},
                n_configurations=64,
                vote="soft",
                class_weight=part.class_weight,
                cv=_inner_folds(part.codes),
                random_state=part.seed,
            ).fit(_dense(part.X[:, columns]), part.codes)
            fitted.append(Fitted(estimator, columns, features, part.gains[features]))
        return fitted

    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """Distances of the rows to some hundred references, for eight levels."""
        return 0.5 + 1e-3 * n_rows + 2e-7 * n_rows**2 * n_classes


class DatumWise(Method):
    """Datum-wise: every sample is asked for its own features; a path over what they cost."""

    name, title, asks = "datum-wise", "datum-wise, forests", True
    unit = "cost weight"

    def levels(self, problem, limit):
        """Cost weights, from the largest."""
        return [0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001]

    def train(self, part, levels):
        """The forests are shared by all cost weights."""
        problem = part.problem
        features = part.best_features(min(_ASKED_FEATURES, problem.max_features or np.inf))
        columns = part.columns_of(features)
        names = [problem.names[f] for f in features]
        members = {
            name: np.flatnonzero(part.feature_of[columns] == f).tolist()
            for name, f in zip(names, features, strict=True)
        }
        costs = {
            name: 0.0 if problem.kept[f] else float(problem.costs[f])
            for name, f in zip(names, features, strict=True)
        }
        estimator = DatumWiseClassifier(
            feature_groups=members,
            feature_costs=costs,
            class_weight=part.class_weight,
            n_trees=50,
            random_state=part.seed,
        )
        X = _dense(part.with_gaps[:, columns])
        path = estimator.fit_path(X, part.codes, levels)
        fitted = []
        for one in path:
            asked = one.acquire(X).order
            shares = np.bincount(asked[asked >= 0], minlength=features.size) / X.shape[0]
            used = shares > 0
            free = problem.kept[features]
            fitted.append(Fitted(one, columns, features[used], shares[used], True, free))
        return fitted

    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """Forests for some tens of sets of features, of at most 10,000 rows."""
        return 1.0 + 6e-3 * min(n_rows, 10_000) * np.sqrt(min(n_columns, _ASKED_FEATURES) / 30)


class MostFrequent(Method):
    """No feature at all: always the largest class."""

    name, title, is_baseline = "most-frequent", "most frequent class", True
    takes_weights = True

    def levels(self, problem, limit):
        """One level: nothing."""
        return [0]

    def train(self, part, levels):
        """Count the classes."""
        estimator = DummyClassifier(strategy="most_frequent")
        estimator.fit(part.X, part.codes, part.weights)
        nothing = np.zeros(0, dtype=np.intp)
        return [Fitted(estimator, None, nothing, np.zeros(0)) for _ in levels]

    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """Nothing."""
        return 0.01


class L1Logistic(Method):
    """Logistic regression with an l1 penalty, from scikit-learn, for some penalties."""

    name, title, is_baseline = "l1-logistic", "l1 logistic regression", True
    takes_weights = True
    unit = "C"

    def levels(self, problem, limit):
        """Inverse penalties, from the strongest; those of 500 rows are 0.01 to 10."""
        return [c * 500 / problem.n_rows for c in (0.01, 0.03, 0.1, 0.3, 1.0, 10.0)]

    def train(self, part, levels):
        """One fit for every penalty."""
        fitted = []
        for C in levels:
            one = LogisticRegression(
                l1_ratio=1.0,
                C=C,
                solver="liblinear",
                max_iter=200,
                random_state=part.seed,
            )
            scaler = StandardScaler(with_mean=not sparse.issparse(part.X))
            X = scaler.fit_transform(part.X, sample_weight=part.weights)
            models = []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of iterations; the score tells
                for c in [1] if part.known.size == 2 else range(part.known.size):
                    is_class = part.codes == c
                    weights = _balance(is_class, part)
                    models.append(clone(one).fit(X, is_class, weights))
            estimator = _OneAgainstRest(scaler, models)
            size = sum(np.abs(model.coef_[0]) for model in models)
            total = np.bincount(part.feature_of, weights=size, minlength=len(part.problem.names))
            features = np.flatnonzero(total > 0)
            fitted.append(Fitted(estimator, None, features, total[features]))
        return fitted

    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """Coordinate descent, six times for every class."""
        rate = 4e-6 if _is_sparse(n_rows, n_columns, n_stored) else 5e-7
        return 0.1 + rate * n_stored * (1 if n_classes == 2 else n_classes)


class _OneAgainstRest:
    """Logistic regressions of one class against the rest; one for two classes.

    Parameters
    ----------
    scaler : StandardScaler
    models : list of LogisticRegression
        Their classes are False and True.
    """

    def __init__(self, scaler, models):
        self.scaler, self.models = scaler, models

    def predict_proba(self, X):
        """Probabilities, normalised over the classes."""
        X = self.scaler.transform(X)
        shares = np.column_stack([model.predict_proba(X)[:, 1] for model in self.models])
        if shares.shape[1] == 1:
            return np.column_stack([1 - shares, shares])
        total = shares.sum(axis=1, keepdims=True)
        return np.where(total > 0, shares / np.where(total > 0, total, 1.0), 1 / shares.shape[1])


class Forest(Method):
    """A random forest on all features, from scikit-learn."""

    name, title, is_baseline = "random-forest", "random forest, all features", True

    def levels(self, problem, limit):
        """One level: everything."""
        return [problem.n_features]

    def train(self, part, levels):
        """One forest."""
        estimator = RandomForestClassifier(
            200, class_weight=part.class_weight, random_state=part.seed
        ).fit(part.X, part.codes)
        features = part.present
        return [Fitted(estimator, None, features, np.zeros(features.size)) for _ in levels]

    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """Two hundred trees on the square root of the columns."""
        return 0.4 + 2e-6 * n_rows * np.sqrt(n_columns) * np.log2(n_rows + 2)


METHODS = (
    Centers("centers", "sparse centers, means", "l2", 3e-8),
    Centers("medians", "sparse centers, medians", "l1", 2e-7),
    PrimalDual(),
    Landmarks(),
    DatumWise(),
)
BASELINES = (MostFrequent(), L1Logistic(), Forest())


def find_method(name):
    """The method or baseline of a name."""
    return next(method for method in (*METHODS, *BASELINES) if method.name == name)


def _balance(is_class, part):
    """Sample weights that give a class and the rest the same say, if classes are balanced."""
    weights = np.ones(is_class.size) if part.weights is None else part.weights
    if part.class_weight is None:
        return weights
    sizes = np.bincount(is_class, weights=weights)
    return weights * (weights.sum() / (2 * sizes))[is_class.astype(np.intp)]


def _is_sparse(n_rows, n_columns, n_stored):
    return n_stored < 0.5 * n_rows * n_columns


def _dense(X):
    return X.toarray() if sparse.issparse(X) else X


def _kept_columns(part):
    kept = np.flatnonzero(part.problem.kept[part.feature_of])
    return kept.tolist() if kept.size else None


def _inner_folds(codes):
    """Three folds inside of a fold, or two where a class is that small.

    One row of every class cannot be split: the search then sees the rows that it learns from.
    """
    counts = np.bincount(codes)
    if counts.max() < 2:
        rows = np.arange(codes.size)
        return [(rows, rows)]
    return max(2, min(3, int(counts.min())))
