"""Sparse baselines: l1 logistic regression, relaxed l1, and recursive feature elimination.

Their models are linear, so with `allow_baselines` they are recommended and saved as the linear
model of a `PanelClassifier`. Shapes: coefficients (n_classes, n_selected).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from tamis._array import is_sparse, multiply_transposed, take_columns
from tamis._base import RECORD_VERSION, largest, softmax
from tamis.comparison.methods.method import Trained, count_levels
from tamis.comparison.methods.panel import PanelModels
from tamis.comparison.problem.problem import Part, Problem
from tamis.heads import LinearHead, fit_logistic, fit_sparse_logistic
from tamis.panel import PanelClassifier, PanelPath
from tamis.panel.forward import content_folds, weigh_classes
from tamis.panel.importances import measure_importances

__all__ = ["L1Logistic", "RelaxedL1", "Rfe", "SparseBaseline", "fit_l1_logistic"]

# Ridges of relaxed l1, the folds that choose one, and how many features are refitted at most.
_RIDGES, _RIDGE_FOLDS, _REFITTED = (0.3, 3.0, 30.0), 3, 100
# Most features of a model of the elimination, and the share that is dropped in one step: of more
# than so many features, and of fewer.
_ELIMINATION_FEATURES, _MANY = 128, 120
_DROPPED_OF_MANY, _DROPPED = 0.25, 0.08


class SparseBaseline(PanelModels):
    """Base of the sparse baselines."""

    is_baseline = can_be_allowed = takes_weights = is_readable = True
    head_name = "logistic"


class L1Logistic(SparseBaseline):
    """Logistic regression with an l1 penalty, from scikit-learn, at several penalties."""

    name, title = "l1-logistic", "lasso"
    takes_weights = True
    level_name = "C"

    def levels(self, problem, limit):
        """Inverse penalties, from the strongest penalty; 0.01 to 10 for 500 rows."""
        return [c * 500 / problem.n_rows for c in (0.01, 0.03, 0.1, 0.3, 1.0, 10.0)]

    def train(self, part, levels):
        """One class against the rest, for every penalty."""
        heads, columns = fit_l1_path(part, levels)
        return linear_path(part, levels, heads, columns, [0.0] * len(levels))

    def seconds(self, n_rows, n_columns, n_stored, n_classes):
        """Coordinate descent, six times per class."""
        rate = 4e-6 if n_stored < 0.5 * n_rows * n_columns else 5e-7
        return 0.1 + rate * n_stored * (1 if n_classes == 2 else n_classes)


class RelaxedL1(SparseBaseline):
    """The features of l1 logistic regression, refitted with a ridge chosen in folds."""

    name, title = "relaxed-l1", "relaxed lasso"
    level_name = "C"

    def levels(self, problem: Problem, limit: int | None) -> Sequence[float]:
        """Inverse penalties, from the strongest penalty; 0.01 to 1 for 500 rows."""
        return [c * 500 / problem.n_rows for c in (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 1.0)]

    def train(self, part: Part, levels: Sequence[float]) -> Trained:
        """Refit every level."""
        kept = part.problem.kept[part.feature_of]
        columns, refitted, ridges = [], [], []
        for head, some in zip(*fit_l1_path(part, levels), strict=True):
            if some.size > _REFITTED:
                size = np.abs(head.coef).sum(axis=0)
                some = some[np.sort(largest(size, _REFITTED))]
            features = np.unique(part.feature_of[some])
            columns.append(np.flatnonzero(np.isin(part.feature_of, features) | kept))
            tuned, ridge = _tune_ridge(part, columns[-1])
            refitted.append(tuned)
            ridges.append(ridge)
        return linear_path(part, levels, refitted, columns, ridges)

    def seconds(self, n_rows: int, n_columns: int, n_stored: int, n_classes: int) -> float:
        """Coordinate descent, eight times per class, and three ridges in three folds."""
        rate = 5e-6 if n_stored < 0.5 * n_rows * n_columns else 2e-7
        n_problems = 1 if n_classes == 2 else n_classes
        return 0.2 + (rate * n_stored + 2e-4 * n_rows) * n_problems


class Rfe(SparseBaseline):
    """Recursive feature elimination with logistic regression: the smallest weights are dropped."""

    name, title = "rfe", "RFE"
    size_varies = False

    def levels(self, problem: Problem, limit: int | None) -> Sequence[float]:
        """Numbers of features, up to 128."""
        limit = min(limit or _ELIMINATION_FEATURES, _ELIMINATION_FEATURES)
        return count_levels(problem.n_features, limit, problem.n_rows)

    def train(self, part: Part, levels: Sequence[float]) -> Trained:
        """Eliminate features down to the smallest level; each fit starts from the one before."""
        n_classes = part.known.size
        weights = np.ones(part.codes.size) if part.weights is None else part.weights
        weights = weigh_classes(part.codes, weights, n_classes, part.class_weight)
        scaler = StandardScaler(with_mean=not is_sparse(part.X))
        X = scaler.fit_transform(part.X, sample_weight=part.weights)
        X = X.tocsc() if is_sparse(X) else np.asfortranarray(X)
        kept = part.problem.kept
        left, columns = part.present, np.arange(part.columns.size)
        model = LogisticRegression(C=1.0, tol=1e-3, max_iter=100, warm_start=True)
        wanted = sorted({int(k) for k in levels}, reverse=True)
        heads: dict[int, tuple[LinearHead, NDArray]] = {}
        while True:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about iterations; they show in the score
                model.fit(take_columns(X, columns), part.codes, weights)
            free = left[~kept[left]]
            while wanted and wanted[0] >= free.size:
                heads[wanted.pop(0)] = _unscaled(model, scaler, columns), columns
            if not wanted:
                break
            size = np.bincount(
                part.feature_of[columns], weights=(model.coef_**2).sum(axis=0), minlength=kept.size
            )
            share = _DROPPED_OF_MANY if free.size > _MANY else _DROPPED
            n_left = max(wanted[0], min(free.size - 1, int(free.size * (1 - share))))
            best = free[np.argsort(-size[free], kind="stable")[:n_left]]
            is_left = kept.copy()
            is_left[best] = True
            remain = is_left[part.feature_of[columns]]
            left, columns = np.flatnonzero(is_left), columns[remain]
            model.coef_ = np.ascontiguousarray(model.coef_[:, remain])
        found = [heads[int(k)] for k in levels]
        return linear_path(
            part, levels, [h for h, _ in found], [c for _, c in found], [1.0] * len(levels)
        )

    def seconds(self, n_rows: int, n_columns: int, n_stored: int, n_classes: int) -> float:
        """About fifty fits, most of them on few features."""
        return 0.1 + 2e-7 * n_stored + 2e-5 * n_rows * n_classes


def linear_path(
    part: Part,
    levels: Sequence[float],
    heads: Sequence[LinearHead],
    columns: Sequence[NDArray],
    ridges: Sequence[float],
) -> Trained:
    """The path of linear models that were fitted one by one.

    `heads`: one per level, in the units of the part; `columns`: columns of every head, ascending;
    `ridges`: ridge of each head, which its record states.
    """
    m, classes = part.columns.size, np.arange(part.known.size)

    def build(place):
        coef, some = heads[place].coef, columns[place]
        weights = np.ones(part.codes.size) if part.weights is None else part.weights
        share = weights / weights.sum()
        means, importances = measure_importances(heads[place], part.X, some, share)
        size = np.full(m, -1.0)
        size[some] = importances
        return PanelClassifier.from_record(
            {
                "version": RECORD_VERSION,
                "parameters": {
                    "n_features_to_select": max(int(some.size), 1),
                    "head": "logistic",
                    "class_weight": part.class_weight,
                },
                "classes": classes.tolist(),
                "label_type": classes.dtype.name,
                "n_features_in": m,
                "feature_names": None,
                "features": some.tolist(),
                "feature_order": np.argsort(-size, kind="stable").tolist(),
                "importances": importances.tolist(),
                "means": means.tolist(),
                "head": "logistic",
                "setting": [float(ridges[place])],
                "temperature": 1.0,
                "coef": coef.tolist(),
                "intercept": heads[place].intercept.tolist(),
            }
        )

    path = PanelPath(
        np.asarray(levels),
        classes,
        np.array([some.size for some in columns]),
        columns,
        heads,
        [1.0] * len(heads),
        build,
    )
    return Trained(path, part, np.arange(len(levels)))


def fit_l1_path(part: Part, penalties: Sequence[float]) -> tuple[list[LinearHead], list[NDArray]]:
    """L1 logistic regressions of each class against the rest, and the columns of each penalty.

    Decisions of several classes are the log odds of each against the rest.
    """
    scaler = StandardScaler(with_mean=not is_sparse(part.X))
    X = scaler.fit_transform(part.X, sample_weight=part.weights)
    chosen = [1] if part.known.size == 2 else range(part.known.size)
    fits = [
        fit_l1_logistic(X, part.codes == c, _balance(part.codes == c, part), penalties, part.seed)
        for c in chosen
    ]
    heads, columns = [], []
    for solutions in zip(*fits, strict=True):
        coef = np.stack([coef for coef, _ in solutions])
        some = np.flatnonzero(coef.any(axis=0))
        intercept = np.array([intercept for _, intercept in solutions])
        heads.append(_in_units(coef[:, some], intercept, scaler, some))
        columns.append(some)
    return heads, columns


def _in_units(coef, intercept, scaler, columns):
    """The head for unscaled columns; a single margin becomes two decisions."""
    coef = coef / scaler.scale_[columns]
    if scaler.with_mean:
        intercept = intercept - coef @ scaler.mean_[columns]
    if len(coef) == 1:
        coef, intercept = (
            np.vstack([-coef / 2, coef / 2]),
            np.append(-intercept / 2, intercept / 2),
        )
    return LinearHead(coef, intercept)


def _unscaled(model, scaler, columns):
    return _in_units(model.coef_, model.intercept_, scaler, columns)


def _tune_ridge(part, columns):
    """Ridge-logistic regression on some columns, with the ridge of the least loss in folds."""
    X, codes, n_classes = take_columns(part.X, columns), part.codes, part.known.size
    fit = fit_sparse_logistic if is_sparse(X) else fit_logistic
    weights = np.ones(codes.size) if part.weights is None else part.weights
    weights = weigh_classes(codes, weights, n_classes, part.class_weight)
    folds = content_folds(part.X, codes, _RIDGE_FOLDS, part.groups, part.seed)
    losses = np.zeros(len(_RIDGES))
    for fold in range(_RIDGE_FOLDS):
        train, test = folds != fold, folds == fold
        if not test.any() or np.unique(codes[train]).size < 2:
            continue
        heads = fit(X[train], codes[train], weights[train], n_classes, _RIDGES)
        for place, head in enumerate(heads):
            shares = softmax(head.decisions(X[test]))[np.arange(test.sum()), codes[test]]
            losses[place] -= weights[test] @ np.log(np.maximum(shares, 1e-12))
    ridge = _RIDGES[int(np.argmin(losses))]
    return fit(X, codes, weights, n_classes, [ridge])[0], ridge


def fit_l1_logistic(X, is_class, weights, penalties, seed):
    """Coefficients and intercepts of l1 logistic regressions, each on the columns it may need.

    With the inverse penalty C, the coefficient of a column is 0 where the slope of the loss along
    it is below 1 / C. So scikit-learn solves a problem of a few columns only: those that have a
    coefficient for the last penalty, and the steepest of the others. Columns that turn out to be
    needed are added until there are none left. The result is the solution for all columns.

    `X` (n_rows, n_columns): standardised; `is_class` (n_rows,); `weights` (n_rows,); `penalties`:
    values of C, ascending. Returns `solutions` (n_columns,), float).
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


def _balance(is_class, part):
    """Sample weights that give a class and the rest equal weight, if classes are balanced."""
    weights = np.ones(is_class.size) if part.weights is None else part.weights
    if part.class_weight is None:
        return weights
    sizes = np.bincount(is_class, weights=weights)
    return weights * (weights.sum() / (2 * sizes))[is_class.astype(np.intp)]
