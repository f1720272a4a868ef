"""Baselines that every method is compared with; the sparse ones are in `sparse_baselines`.

The sparse ones may be recommended like any method; the others are not.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier

from tamis._array import take_columns
from tamis.comparison.methods.families import METHODS
from tamis.comparison.methods.method import Method, Trained, dense
from tamis.comparison.methods.panel import choose_folds
from tamis.comparison.methods.sparse_baselines import L1Logistic, RelaxedL1, Rfe
from tamis.panel import PanelClassifier
from tamis.paths.path import Path

__all__ = [
    "BASELINES",
    "KEPT_ALONE",
    "ModelsPath",
    "MostFrequent",
    "estimate_seconds",
    "find_method",
]


class ModelsPath(Path):
    """A path of models that were trained one by one.

    `models`: with `predict_proba`; `features`: columns of every model, ascending.
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
    size_varies = False
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


class RandomForest(Method):
    """A random forest on all features, from scikit-learn with its default number of trees."""

    name, title, is_baseline = "random-forest", "random forest", True
    size_varies = False

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


class KeptAlone(Method):
    """The kept columns alone, with the head of a panel; only run where columns are kept."""

    name, title, is_baseline = "kept", "kept columns alone", True
    size_varies = False
    takes_weights = True

    def levels(self, problem, limit):
        """One level, with no other features."""
        return [0]

    def train(self, part, levels):
        """Choose and fit the head."""
        columns = np.flatnonzero(part.problem.kept[part.feature_of])
        path = PanelClassifier(
            keep=list(range(columns.size)),
            class_weight=part.class_weight,
            cv=choose_folds(part),
            random_state=part.seed,
        )._fit_path(
            dense(take_columns(part.X, columns)),
            part.codes,
            None,
            part.weights,
            part.known.size,
            part.groups,
        )
        return Trained(path, part, np.zeros(1, dtype=np.intp), columns)

    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """Heads of up to 200 bumps, in three folds."""
        return 0.1 + 1e-4 * n_rows


BASELINES = (MostFrequent(), L1Logistic(), RelaxedL1(), Rfe(), RandomForest())
KEPT_ALONE = KeptAlone()


def find_method(name: str, beside: Sequence[str] = ()) -> Method:
    """Find a method or baseline by its name.

    `beside`: names of sparse baselines that are only compared, and not recommended.
    """
    known = (*METHODS, *BASELINES, KEPT_ALONE)
    method = next(method for method in known if method.name == name)
    if name in beside:
        method = copy.copy(method)
        method.is_baseline = True
    return method


def estimate_seconds(problem, name):
    """Rough seconds of one task of a method on one core: its rule for the size of the data."""
    n_rows, n_columns = problem.encoded.shape
    n_stored = getattr(problem.encoded, "nnz", n_rows * n_columns)
    return find_method(name).seconds(n_rows, n_columns, n_stored, problem.classes.size)
