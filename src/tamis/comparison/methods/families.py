"""The methods that are compared: each trains the path of a family on the rows of a fold.

To add a method, write a class like those below (levels, `train`, and what differs from the base in
`method`) and put an instance into `METHODS`, or into `BASELINES` if it is not recommended by
default.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from tamis._array import is_sparse, take_columns
from tamis._base import decided, require_class_weights
from tamis.centers import SparseCenterClassifier
from tamis.centers.chunks import train_passes
from tamis.centers.classifier import make_path
from tamis.comparison.methods.center_arrays import read_fitted, write_fitted
from tamis.comparison.methods.method import (
    MANY_ROWS,
    Method,
    RankingMethod,
    StreamingMethod,
    Trained,
    count_levels,
    dense,
)
from tamis.comparison.methods.panel import KernelPanel, PanelMethod, forward_features
from tamis.comparison.problem.problem import Problem
from tamis.primal_dual import PrimalDualClassifier
from tamis.tables.classifying.narrow import narrow_centers, narrow_datum_wise, narrow_primal_dual

__all__ = ["METHODS", "Method", "Trained"]

# The landmarks and the datum-wise classifier see at most this many features.
_LANDMARK_FEATURES = 128
_ASKED_FEATURES = 60
# With more rows than the first number, the datum-wise classifier is trained on about the second.
_MANY_ASKED, _ASKED_ROWS = 10_000, 2_500
_PRIMAL_DUAL_FEATURES = 500
# Largest memory for counts of digits, with medians of chunks.
_COUNT_BYTES = 2e8
# Weight of kept features in the ball: a tenth of the others'.
_KEPT_WEIGHT = 10.0


class Centers(RankingMethod, StreamingMethod):
    """Sparse centers: the k features of largest gain, every k from one sort."""

    takes_weights = True
    size_varies = False
    is_readable = True
    ranks = "one by one"

    def __init__(self, name, title, metric, seconds_per_value):
        self.name, self.title, self.metric = name, title, metric
        self.has_medians = metric == "l1"
        self._rate = seconds_per_value

    def train(self, part, levels):
        """One training for all levels."""
        if part.weights is not None:
            require_class_weights(part.problem.classes[part.known], part.codes, part.weights)
        estimator = self._estimator(part)
        path = estimator._fit_path(part.X, part.codes, levels, part.weights)
        return _at_levels(path, part, levels)

    def _estimator(self, part):
        grouped = part.present.size < part.columns.size
        kept = np.flatnonzero(part.problem.kept[part.feature_of])
        return SparseCenterClassifier(
            None,
            metric=self.metric,
            priors="uniform" if part.problem.balanced else "empirical",
            feature_groups=part.feature_of if grouped else None,
            keep=kept.tolist() if kept.size else None,
        )

    def fit_chunks(self, trained, level, whole):
        """Centers and gains of all rows, which give the features of every level anew."""
        classes, most = np.arange(trained.part.known.size), min(_COUNT_BYTES, whole.max_bytes)
        estimator = self._estimator(trained.part)
        train_passes(estimator, whole.passes, classes, most)
        return write_fitted(estimator)

    def path_of(self, arrays, trained, level):
        """The path of these centers."""
        estimator = read_fitted(self._estimator(trained.part), arrays)
        levels = trained.path.levels
        path = make_path(
            estimator, estimator._model, levels, estimator.classes_, estimator._n_rows
        )
        return Trained(path, trained.part, trained.places)

    def gains(self, trained, level):
        """Gains of the selected features."""
        gains, part = trained.model(level).feature_importances_, trained.part
        return np.bincount(part.feature_of, weights=gains, minlength=len(part.problem.names))

    def choose(self, part, k, model):
        """The k features of largest gain."""
        features = self.train(part, [k]).features(0)
        return features[~part.problem.kept[features]]

    def refit(self, trained, level, part, columns):
        """Centers of the columns."""
        path = self._fit_columns(part, columns)
        return lambda X: path.decisions(take_columns(X, columns))[0]

    def _fit_columns(self, part, columns):
        priors = "uniform" if part.problem.balanced else "empirical"
        return SparseCenterClassifier(None, metric=self.metric, priors=priors)._fit_path(
            take_columns(part.X, columns), part.codes, [columns.size], part.weights
        )

    def shrink(self, trained, level):
        """Centers are computed column by column, so dropping columns changes none of them."""
        columns = trained.columns_of(level)
        columns = columns if columns.size else np.zeros(1, dtype=np.intp)
        return columns, narrow_centers(trained.model(level), columns)

    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """One pass over the values, and one more for all model sizes."""
        return 0.05 + self._rate * n_stored


def _at_levels(path, part, levels):
    most = np.minimum(np.asarray(levels, dtype=np.int64), path.levels[-1])
    return Trained(path, part, np.searchsorted(path.levels, most))


class PrimalDual(Method):
    """Primal-dual: a warm-started path over the radius of the l1 ball, with a head per model."""

    name, title = "primal-dual", "primal-dual, l1 ball"
    importance_name = "coefficient_size"
    takes_weights = True
    is_readable = True
    head_name = "linear"

    def levels(self, problem: Problem, limit: int | None) -> Sequence[float]:
        """Numbers of features, up to a few hundred."""
        limit = min(limit or _PRIMAL_DUAL_FEATURES, _PRIMAL_DUAL_FEATURES)
        return count_levels(problem.n_features, limit, problem.n_rows)

    def uses_device(self, problem):
        """Sparse data stay on the processor."""
        return not is_sparse(problem.encoded)

    def train(self, part, levels):
        """Train a path; each level is the fullest model with at most that many features.

        Of more than `MANY_ROWS`, a sample of at most about so many is trained on.
        """
        problem, X, codes, sample_weight = part.problem, part.X, part.codes, part.weights
        rows = part.sample(MANY_ROWS)
        if rows.size < codes.size:
            X, codes = X[rows], codes[rows]
            sample_weight = None if sample_weight is None else sample_weight[rows]
        weights = None
        if problem.kept.any():
            weights = np.where(problem.kept[part.feature_of], _KEPT_WEIGHT, 1.0)
        estimator = PrimalDualClassifier(
            ball="l1",
            huber_delta=0.1,
            class_weight=part.class_weight,
            feature_weights=weights,
            tol=1e-3,
            device=None if is_sparse(X) else problem.device,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about convergence: it shows in the scores
            path = estimator._fit_path(
                X,
                codes,
                20 if part.codes.size <= MANY_ROWS else 10,
                max_features=int(max(levels)),
                sample_weight=decided(sample_weight),
                keep_dual=False,
            ).at_most(levels, part.feature_of, problem.kept)
        return Trained(path, part, np.arange(len(levels)))

    def gains(self, trained, level):
        """Size of the coefficients of each feature in the decision."""
        sizes, part = trained.model(level).feature_importances_, trained.part
        return np.bincount(part.feature_of, weights=sizes, minlength=len(part.problem.names))

    def shrink(self, trained, level):
        """Keep the rows of the weights that are not zero."""
        columns = trained.columns_of(level)
        columns = columns if columns.size else np.zeros(1, dtype=np.intp)
        return columns, _without_device(narrow_primal_dual(trained.model(level), columns))

    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """About thirty radii, each with a head; half for many rows; sparse data are slower."""
        rate = 3e-5 if n_stored < 0.5 * n_rows * n_columns else 1.5e-6
        n_stored = min(n_stored, n_stored * MANY_ROWS / n_rows)
        heads = 5e-5 * min(n_rows, MANY_ROWS) * n_classes if n_classes > 2 else 0.0
        return 0.1 + (rate * n_stored + heads) * (0.5 if n_rows > MANY_ROWS else 1.0)


class Landmarks(Method):
    """Landmarks on the features the panel chooses first: one ensemble of configurations per k."""

    name, title = "landmarks", "landmarks on the best features"
    size_varies = False

    def levels(self, problem: Problem, limit: int | None) -> Sequence[float]:
        """Powers of two, up to 128 features."""
        most = min(problem.n_features, limit or _LANDMARK_FEATURES, _LANDMARK_FEATURES)
        return [k for k in (1, 2, 4, 8, 16, 32, 64, 128) if k < most] + [most]

    def uses_device(self, problem):
        """Neighbours are searched there."""
        return True

    def train(self, part, levels):
        """Rank the features once; search configurations for each level."""
        from tamis.landmarks import LandmarkSearchCV  # here, so that other methods start faster

        columns = [part.columns_of(forward_features(part, int(k))) for k in levels]
        used = np.unique(np.concatenate(columns))
        estimator = LandmarkSearchCV(
            space={"scaling": ["standard"]},
            n_configurations=64,
            vote="soft",
            class_weight=part.class_weight,
            cv=_inner_folds(part.codes),
            random_state=part.seed,
            device=part.problem.device,
        )
        path = estimator._fit_supports(
            dense(take_columns(part.X, used)),
            part.codes,
            np.arange(part.codes.max() + 1),
            [np.searchsorted(used, some) for some in columns],
        )
        return Trained(path, part, np.arange(len(levels)), used)

    def gains(self, trained, level):
        """Gains of sparse centers."""
        gains = np.zeros(len(trained.part.problem.names))
        features = trained.features(level)
        gains[features] = trained.part.gains[features]
        return gains

    def shrink(self, trained, level):
        """Keep the ensemble of the level and its columns."""
        model = trained.path.narrow_model(trained.places[level])
        return trained.columns_of(level), _without_device(model)

    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """One forward selection, and distances to a few hundred landmarks for eight sizes."""
        forward = 1e-7 * n_stored + 5e-6 * n_rows * n_classes * min(n_columns, 100)
        return 0.2 + forward + 1e-3 * n_rows + 2e-7 * n_rows**2 * n_classes


class DatumWise(Method):
    """Datum-wise: each sample is asked for its own features; a path over the cost weight."""

    name, title, asks = "datum-wise", "datum-wise, forests", True
    level_name = "cost weight"
    importance_name = "proportion_asked"

    def levels(self, problem: Problem, limit: int | None) -> Sequence[float]:
        """Cost weights, from the largest."""
        return [0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001]

    def train(self, part, levels):
        """The forests are shared by all cost weights; those of many rows are of a sample."""
        from tamis.datumwise import DatumWiseClassifier  # here for the same reason

        problem = part.problem
        features = part.best_features(min(_ASKED_FEATURES, problem.max_features or np.inf))
        columns = part.columns_of(features)
        names = [problem.names[f] for f in features]
        members = {
            name: np.flatnonzero(part.feature_of[columns] == f).tolist()
            for name, f in zip(names, features, strict=True)
        }
        costs = np.where(problem.kept, 0.0, problem.costs)[features]
        X, codes = dense(take_columns(part.with_missing, columns)), part.codes
        if codes.size > _MANY_ASKED:
            rows = part.sample(_ASKED_ROWS)
            X, codes = X[rows], codes[rows]
        path = DatumWiseClassifier(
            feature_groups=members,
            feature_costs=dict(zip(names, costs.tolist(), strict=True)),
            class_weight=part.class_weight,
            n_trees=50,
            random_state=part.seed,
        ).fit_path(X, codes, levels)
        path.uncounted = problem.kept[features]
        return Trained(path, part, np.arange(len(levels)), columns, takes_missing=True)

    def gains(self, trained, level):
        """Proportion of the training rows that are asked for each feature."""
        gains, part = np.zeros(len(trained.part.problem.names)), trained.part
        shares = trained.path.importances(trained.places[level])
        np.maximum.at(gains, part.feature_of[trained.columns], shares)
        return gains

    def shrink(self, trained, level):
        """Keep the columns that the policy can ask for."""
        place = trained.places[level]
        columns = trained.path.required(place)
        if not columns.size:  # a model needs at least one
            first = trained.path.policies[place].blocks[0]
            columns = trained.path.process(place).columns_of(first)
        return trained.columns[columns], narrow_datum_wise(trained.model(level), columns)

    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """Forests for a few dozen feature sets, on some of the rows if there are many."""
        n_rows = n_rows if n_rows <= _MANY_ASKED else _ASKED_ROWS
        return 0.3 + 2.5e-3 * n_rows * np.sqrt(min(n_columns, _ASKED_FEATURES) / 30)


METHODS = (
    Centers("centers", "sparse centers, means", "l2", 3e-8),
    Centers("medians", "sparse centers, medians", "l1", 2e-7),
    PrimalDual(),
    PanelMethod(),
    KernelPanel(),
    Landmarks(),
    DatumWise(),
)


def _without_device(model):
    """The model, for machines without the device that it was trained on."""
    return model.set_params(device=None)


def _inner_folds(codes):
    """Three folds inside a fold, or two if a class is too small.

    A class with a single row cannot be split: the search then tests on its training rows.
    """
    counts = np.bincount(codes)
    if counts.max() < 2:
        rows = np.arange(codes.size)
        return [(rows, rows)]
    return max(2, min(3, int(counts.min())))
