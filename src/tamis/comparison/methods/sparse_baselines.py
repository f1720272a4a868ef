"""Sparse baselines: l1 logistic regression, relaxed l1, and recursive feature elimination.

Their models are linear, and saved as the linear model of a `PanelClassifier`. Shapes:
coefficients (n_classes, n_selected).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn import config_context  # type: ignore[attr-defined]
from sklearn.linear_model import LogisticRegression, lasso_path
from sklearn.preprocessing import StandardScaler

from tamis._array import is_sparse, multiply_transposed, take_columns
from tamis._base import RECORD_VERSION, largest, softmax
from tamis.comparison.methods.method import MANY_ROWS, Trained, count_levels
from tamis.comparison.methods.panel import PanelModels, described_columns
from tamis.comparison.problem.problem import Part, Problem
from tamis.heads import LinearHead, fit_logistic, fit_sparse_logistic
from tamis.panel import PanelClassifier, PanelPath
from tamis.panel.forward import content_folds, weigh_classes
from tamis.panel.importances import measure_importances
from tamis.panel.selection import is_rare

__all__ = ["L1Logistic", "L1Path", "RelaxedL1", "Rfe", "SparseBaseline"]

# Most features of l1 logistic regression, and most words.
_L1_FEATURES, _L1_WORDS = 512, 2_000
# How much weaker each penalty is than the one before: while there are few features, then, and when
# there are all.
_SMALL_STEP, _FEW, _STEP, _LAST_STEP = 0.93, 10, 0.85, 0.3
# The weakest penalty, as a share of the strongest; and the share of the loss at which a path ends.
_WEAKEST, _LEAST_LOSS = 1e-3, 0.01
# Expansions for one penalty, how often a step is halved, and the gain, as a share of the loss, at
# which they end; the least curvature of a row.
_MOST_EXPANSIONS, _MOST_HALVINGS, _PRECISION, _LASSO_TOL, _LEAST_CURVATURE = (
    30,
    10,
    1e-5,
    1e-5,
    1e-5,
)
# Ridges of relaxed l1, the folds that choose one, and numbers of features that are refitted.
_RIDGES, _RIDGE_FOLDS = (0.3, 3.0, 30.0), 3
_REFITTED = (1, 2, 3, 4, 5, 6, 8, 10, 14, 20, 32, 56, 100)
# Most features of a model of the elimination, and the share that is dropped in one step: of more
# than so many features, and of fewer.
_ELIMINATION_FEATURES, _MANY = 128, 120
_DROPPED_OF_MANY, _DROPPED = 0.25, 0.08


class SparseBaseline(PanelModels):
    """Base of the sparse baselines, which may be recommended."""

    is_sparse_baseline = takes_weights = is_readable = True
    head_name = "logistic"
    ranks = "path"

    def choose(self, part: Part, k: int, model: Any) -> NDArray:
        """The features of the level k, without kept ones."""
        features = self.train(part, [k]).features(0)
        return features[~part.problem.kept[features]]

    def choice_seconds(self, part: Part, k: int) -> float:
        """Rough seconds of `choose` on half of the rows of a part: of the penalties up to k."""
        n_problems = 1 if part.known.size == 2 else part.known.size
        n_values = part.X.nnz if is_sparse(part.X) else part.X.size
        return (k + 1) * n_problems * (1e-3 + 1.5e-8 * n_values)


class L1Logistic(SparseBaseline):
    """Logistic regression with an l1 penalty: the weakest that leaves so many features."""

    name, title = "l1-logistic", "lasso"

    def levels(self, problem: Problem, limit: int | None) -> Sequence[float]:
        """Numbers of features, up to 512 and the number of rows; of words up to 2,000."""
        words = is_rare(problem.encoded)
        most = _L1_WORDS if words else min(_L1_FEATURES, problem.n_rows)
        n_rows = MANY_ROWS + 1 if words else problem.n_rows
        return count_levels(problem.n_features, min(limit or most, most), n_rows)

    def train(self, part: Part, levels: Sequence[float]) -> Trained:
        """One class against the rest, along one path of penalties."""
        heads, columns = fit_l1_path(part, levels)
        return linear_path(part, levels, heads, columns, [0.0] * len(levels))

    def seconds(self, n_rows: int, n_columns: int, n_stored: int, n_classes: int) -> float:
        """Coordinate descent along a path, for each class."""
        rate = 4e-6 if n_stored < 0.5 * n_rows * n_columns else 5e-7
        return 0.1 + rate * n_stored * (1 if n_classes == 2 else n_classes)


class RelaxedL1(SparseBaseline):
    """The features of l1 logistic regression, refitted with a ridge chosen in folds."""

    name, title = "relaxed-l1", "relaxed lasso"

    def levels(self, problem: Problem, limit: int | None) -> Sequence[float]:
        """Numbers of features, up to 100."""
        most = min(problem.n_features, limit or problem.n_features, _REFITTED[-1])
        return [k for k in _REFITTED if k < most] + [most]

    def train(self, part: Part, levels: Sequence[float]) -> Trained:
        """Refit every level."""
        kept = part.problem.kept[part.feature_of]
        columns: list[NDArray] = []
        refitted, ridges = [], []
        folds = content_folds(part.X, part.codes, _RIDGE_FOLDS, part.groups, part.seed, part.keys)
        for some in fit_l1_path(part, levels)[1]:
            features = np.unique(part.feature_of[some])
            every = np.flatnonzero(np.isin(part.feature_of, features) | kept)
            if not columns or not np.array_equal(every, columns[-1]):
                tuned, ridge = _tune_ridge(part, every, folds)
            columns.append(every)
            refitted.append(tuned)
            ridges.append(ridge)
        return linear_path(part, levels, refitted, columns, ridges)

    def choose(self, part: Part, k: int, model: Any) -> NDArray:
        """Those of l1 logistic regression, which are not refitted."""
        features = np.unique(part.feature_of[fit_l1_path(part, [k])[1][0]])
        return features[~part.problem.kept[features]]

    def seconds(self, n_rows: int, n_columns: int, n_stored: int, n_classes: int) -> float:
        """Coordinate descent along a path, and three ridges in three folds for each level."""
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

    def choice_seconds(self, part: Part, k: int) -> float:
        """All of the elimination."""
        n_values = part.X.nnz if is_sparse(part.X) else part.X.size
        return self.seconds(part.codes.size // 2, part.X.shape[1], n_values // 2, part.known.size)

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
                    **described_columns(part),
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


def fit_l1_path(part: Part, counts: Sequence[float]) -> tuple[list[LinearHead], list[NDArray]]:
    """L1 logistic regressions of each class against the rest, and the columns of each.

    For each number of features, ascending, the weakest penalty before there are more; kept
    features do not count. Decisions of several classes are the log odds of each against the rest.
    """
    most = max(counts)
    known = part.shared.get("l1 path")  # of the method that asked before
    if known is None or known[0] < most:
        known = part.shared["l1 path"] = most, _follow_to(most, part)
    path = iter(known[1])
    head, some, _ = following = next(path)
    heads, columns = [], []
    for count in counts:
        while following is not None and following[2] <= count:
            head, some, _ = following
            following = next(path, None)
        heads.append(head)
        columns.append(some)
    return heads, columns


def _follow_to(most, part):
    """What `_follow` gives, up to the first step with more than so many features."""
    scaler = StandardScaler(with_mean=not is_sparse(part.X))
    X = scaler.fit_transform(part.X, sample_weight=part.weights)
    chosen = [1] if part.known.size == 2 else range(part.known.size)
    fits = [L1Path(X, part.codes == c, _balance(part.codes == c, part)) for c in chosen]
    steps = []
    for step in _follow(fits, part, scaler):
        steps.append(step)
        if step[2] > most:
            break
    return steps


def _follow(fits, part, scaler):
    """Heads from strong penalties to weak ones, their columns, and their numbers of features."""
    is_free = ~part.problem.kept
    penalty = strongest = max(fit.strongest for fit in fits)
    while True:
        head, some = _head_of(fits, scaler)
        size = np.count_nonzero(is_free[np.unique(part.feature_of[some])])
        yield head, some, size
        penalty *= _step(size, np.count_nonzero(is_free[part.present]))
        if penalty <= strongest * _WEAKEST or all(fit.is_exact for fit in fits):
            return
        with config_context(skip_parameter_validation=True):  # takes as long as the lasso itself
            for fit in fits:
                fit.move(penalty)


def _step(size, n_features):
    """How much weaker the next penalty is."""
    if size == n_features:
        return _LAST_STEP
    return _SMALL_STEP if size < _FEW else _STEP


def _head_of(fits, scaler):
    """The head of the present coefficients, and its columns."""
    coef = np.stack([fit.coef for fit in fits])
    some = np.flatnonzero(coef.any(axis=0))
    intercept = np.array([fit.intercept for fit in fits])
    return _in_units(coef[:, some], intercept, scaler, some), some


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


def _tune_ridge(part, columns, folds):
    """Ridge-logistic regression on some columns, with the ridge of the least loss in folds."""
    X, codes, n_classes = take_columns(part.X, columns), part.codes, part.known.size
    fit = fit_sparse_logistic if is_sparse(X) else fit_logistic
    weights = np.ones(codes.size) if part.weights is None else part.weights
    weights = weigh_classes(codes, weights, n_classes, part.class_weight)
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


class L1Path:
    """L1 logistic regression of one class against the rest, from strong penalties to weak ones.

    With the penalty p, the coefficient of a column is 0 where the slope of the loss along it is
    below p. So each problem is solved on a few columns only: those that have a coefficient, and
    the steepest of the others; those that turn out to be needed are added until there are none
    left. On these, the loss is replaced by its second-order expansion, a lasso of scikit-learn,
    again and again. The intercept is not penalised.

    `X` (n_rows, n_columns): standardised, dense or sparse; `is_class` (n_rows,); `weights`
    (n_rows,).
    """

    def __init__(self, X, is_class, weights):
        self.X, self.is_class, self.weights = X, is_class.astype(np.float64), weights
        self.coef, share = np.zeros(X.shape[1]), weights @ self.is_class / weights.sum()
        self.intercept = float(np.log(share / (1 - share)))
        self.margins = np.full(len(weights), self.intercept)
        self.null_loss = self.loss = self._loss(self.margins)
        self.slopes = self._slopes()
        # The penalty at which the first coefficient appears.
        self.strongest = float(self.slopes.max())

    @property
    def is_exact(self):
        """Whether there is hardly any loss left: weaker penalties only enlarge coefficients."""
        return self.loss < _LEAST_LOSS * self.null_loss

    def move(self, penalty):
        """Minimise the loss with a penalty, from the present coefficients."""
        active = np.flatnonzero(self.coef)
        working = np.union1d(active, _steepest(self.slopes, 20 + 2 * active.size))
        while True:
            self._descend(working, penalty)
            self.slopes = self._slopes()
            needed = np.where(self.slopes > 1.001 * penalty, self.slopes, 0.0)
            needed[working] = 0.0
            if not needed.any():
                return
            working = np.union1d(working, _steepest(needed, 20 + working.size))

    def _descend(self, working, penalty):
        """Minimise on some columns."""
        X = take_columns(self.X, working)
        coef = self.coef[working]
        value = self.loss + penalty * np.abs(coef).sum()
        for _ in range(_MOST_EXPANSIONS):
            aim, intercept, margins = self._expand(X, coef, penalty)
            for _ in range(_MOST_HALVINGS):
                loss = self._loss(margins)
                after = loss + penalty * np.abs(aim).sum()
                if after <= value:
                    break
                aim, intercept = (aim + coef) / 2, (intercept + self.intercept) / 2
                margins = (margins + self.margins) / 2
            else:
                return
            self.intercept, self.margins, self.loss = intercept, margins, loss
            self.coef[working] = coef = aim
            if value - after <= _PRECISION * self.null_loss:
                return
            value = after

    def _expand(self, X, coef, penalty):
        """Coefficients, intercept and margins that minimise the expansion with the penalty."""
        share = expit(self.margins)
        curvature = np.maximum(share * (1 - share), _LEAST_CURVATURE)
        aims = self.margins + (self.is_class - share) / curvature
        curvature = self.weights * curvature
        total, root = curvature.sum(), np.sqrt(curvature)
        if is_sparse(X):  # stays sparse: the intercept is that of the coefficients before
            shift = curvature @ (aims - X @ coef) / total
            scaled = X.multiply(root[:, None]).tocsc()
        else:
            shift = curvature @ aims / total
            scaled = np.asfortranarray(X - curvature @ X / total)
            scaled *= root[:, None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about iterations; the next expansion continues
            _, path, _ = lasso_path(
                scaled,
                root * (aims - shift),
                alphas=np.array([penalty / root.size]),
                coef_init=coef,
                precompute=False,
                tol=_LASSO_TOL,
                check_input=False,
            )
        coef = path[:, 0]
        products = X @ coef
        intercept = float(curvature @ (aims - products) / total)
        return coef, intercept, products + intercept

    def _loss(self, margins):
        return float(self.weights @ np.logaddexp(0.0, np.where(self.is_class, -margins, margins)))

    def _slopes(self):
        """Absolute slope of the loss along each column."""
        residual = self.weights * (self.is_class - expit(self.margins))
        return np.abs(multiply_transposed(self.X, residual[:, None])[:, 0])


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
