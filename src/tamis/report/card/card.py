"""A points card: whole points for each answer, and a line from their sum to a risk.

The features are those of a model. Numbers are cut into ranges, and a ridge logistic regression
weighs ranges and categories; along a number, points grow in the direction that the model has. The
weights are rounded to whole points, and single points are changed as long as the fit improves. The
sum is turned into a risk by a logistic curve.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.model_selection import StratifiedKFold

from tamis._array import is_sparse
from tamis.comparison.choosing.readable import CARD_FEATURES as MOST_FEATURES
from tamis.report.card.answers import Levels, make_levels
from tamis.report.questionnaire.engines import InOrder, make_engine, refuse_rows
from tamis.report.questionnaire.fields import Field, fields_of
from tamis.report.questionnaire.terms import make_terms
from tamis.tables.classifying.prevalence import Prevalence, find_prevalence
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.columns.table import Columns
from tamis.tables.errors import InputError, NotReadable, listed

# Largest number of points for an answer; the smallest of them that fits nearly as well is used.
_LARGEST_POINTS = (2, 3, 4, 5, 6, 8, 10)
_AS_GOOD = 1.005
_PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)
_SWEEPS = 10


@dataclass(frozen=True)
class Card:
    """A points card."""

    # target, positive: what is predicted, and the class whose risk the card gives.
    target: str
    positive: Any
    levels: list[Levels]  # the answers, one entry per feature
    points: list[np.ndarray]  # their points; the smallest of each feature is 0
    # intercept, slope: the risk of a sum of points s is ``expit(intercept + slope * s)``.
    intercept: float
    slope: float
    # Share of the positive class where the risks hold: that in the training rows, or of `at`.
    prevalence: float
    n_rows: int  # number of training rows
    model: TableModel  # the model that it was made of
    told: str = ""  # where the risks hold, in words

    @property
    def largest(self) -> int:
        """The largest sum of points."""
        return int(sum(points.max() for points in self.points))

    def at(self, prevalence: Prevalence) -> Card:
        """The card with risks for another prevalence, by Bayes' rule."""
        share = float(prevalence.shares[self.model.classes_ == self.positive].sum())
        change = logit(share) - logit(self.prevalence)
        told = prevalence.sentence(on_page=True).replace("Probabilities", "Risks", 1)
        return replace(self, intercept=self.intercept + float(change), prevalence=share, told=told)

    def score(self, table: Columns) -> NDArray[np.intp]:
        """Sum of the points of each row."""
        return self.score_values(_columns(self.model, table))

    def score_values(self, values: NDArray) -> NDArray[np.intp]:
        """As `score`, of the columns of the model."""
        total = np.zeros(len(values), dtype=np.intp)
        for levels, points in zip(self.levels, self.points, strict=True):
            total += points[levels.assign(values[:, levels.field.columns])]
        return total

    def risk(self, score: ArrayLike) -> NDArray[np.float64]:
        """Risk of the positive class for sums of points."""
        return expit(self.intercept + self.slope * np.asarray(score, dtype=float))


def find_positive(classes: NDArray, positive: Any) -> Any:
    """The class that a card is about; the second of two unless another one is named."""
    labels = classes.tolist()
    if positive is None:
        if len(labels) == 2:
            return labels[1]
        raise InputError(
            f"a card gives the risk of one class, and there are {len(labels)}; name it with "
            f"--positive: {listed(labels)}."
        )
    found = [label for label in labels if label == positive or str(label) == str(positive)]
    if not found:
        raise InputError(f"--positive {positive}: the classes are {listed(labels)}.")
    return found[0]


def make_card(
    model: TableModel,
    table: Columns,
    labels: ArrayLike,
    *,
    positive: Any = None,
    weights: NDArray | None = None,
    prevalence: Prevalence | None = None,
) -> Card:
    """Make a points card of the features of a model.

    `model`: with decisions that are sums over at most 12 features. `labels` (n_rows,). `positive`:
    the class whose risk the card gives; None: the second of two. `weights` (n_rows,) or None:
    sample weights. `prevalence`: class frequencies of the risks; None: those in training. Returns
    `card`: InputError is raised for models that have none.
    """
    n_fields = len(card_fields(model))
    if not 0 < n_fields <= MOST_FEATURES:
        raise NotReadable(
            f"a card has at most {MOST_FEATURES} features, and this model uses {n_fields}."
        )
    positive = find_positive(model.classes_, positive)
    is_positive = np.asarray(labels) == positive
    card = learn_card(model, _columns(model, table), is_positive, positive, weights)
    return card.at(prevalence or find_prevalence(replace(model, positive=positive)))


def card_fields(model: TableModel) -> list[Field]:
    """The fields of a card; InputError if the model's decision is not a sum over features."""
    refuse_rows(model, "written as points")
    engine = make_engine(model) if not model.asks else None
    if not isinstance(engine, InOrder) or engine.terms is None:
        raise NotReadable(
            "a card needs a model whose decision is a sum over its features, which that of "
            f"{model.method} is not."
        )
    return [question.fields[0] for question in engine.questions]


def _directions(model, positive):
    """The fields of a model, and the sign of the change of the positive class as each grows.

    0 for categories, and for a model (of a fold) that does not say.
    """
    terms = make_terms(model)
    if terms is None:
        return [(one, 0.0) for one in fields_of(model, range(model.preparation.n_columns))]
    is_positive = model.classes_ == positive
    found = []
    for one in terms.fields:
        sign = 0.0
        if one.field.kind != "choice":
            low = 0.0 if one.field.low is None else one.field.low
            high = low + 1.0 if one.field.high is None else one.field.high
            change = one.of_columns([high]) - one.of_columns([low])
            sign = float(np.sign(change[is_positive].sum() - change[~is_positive].mean()))
        found.append((one.field, sign))
    return found


def learn_card(
    model: TableModel,
    values: NDArray,
    is_positive: NDArray,
    positive: Any,
    weights: NDArray | None = None,
) -> Card:
    """Learn a card from rows of the model's columns.

    `values` (n_rows, n_columns): columns of the model before words are weighted, NaN where
    missing; `is_positive` (n_rows,); `weights` (n_rows,) or None.
    """
    y = np.asarray(is_positive, dtype=float)
    weights = np.ones(y.size) if weights is None else weights / weights.mean()
    fields = _directions(model, positive)
    levels = [make_levels(one, values[:, one.columns], sign) for one, sign in fields]
    rows = [one.assign(values[:, one.field.columns]) for one in levels]
    points = _round(_weigh(levels, rows, y, weights), levels, rows, y, weights)
    slope, intercept = _fit_curve(_total(points, rows, y.size), y, weights)
    prevalence = float(np.average(y, weights=weights))
    return Card(
        model.target, positive, levels, points, intercept, slope, prevalence, y.size, model
    )


def _columns(model, table):
    """The model's columns before words are weighted, NaN where missing."""
    values = model.preparation.encode(table.select(model.preparation.required))
    return values.toarray() if is_sparse(values) else np.asarray(values)


def _weigh(levels, rows, y, weights):
    """The weight of each level: ridge logistic regression, its penalty chosen in folds."""
    parts = [one.design(row) for one, row in zip(levels, rows, strict=True)]
    X = np.hstack([np.zeros((y.size, 0)), *parts])
    signs = np.concatenate([np.zeros(0), *(one.signs() for one in levels)])
    penalty = _choose_penalty(X, y, weights, signs)
    coefficients = _fit_ridge(X, y, weights, signs, penalty)[0]
    ends = np.cumsum([part.shape[1] for part in parts])[:-1]
    # A fold's model may have no feature: then there is nothing to split.
    pairs = zip(levels, np.split(coefficients, ends)[: len(levels)], strict=True)
    return [one.weights(own) for one, own in pairs]


def _fit_ridge(X, y, weights, signs, penalty):
    """Coefficients, of the given signs where they are not 0, and the intercept."""

    def loss(theta):
        decisions = X @ theta[:-1] + theta[-1]
        gap = weights * (expit(decisions) - y)
        ridge = 0.5 * penalty * theta[:-1] @ theta[:-1]
        return _loss(decisions, y, weights) + ridge, np.append(
            X.T @ gap + penalty * theta[:-1], gap.sum()
        )

    bounds = [(0 if s > 0 else None, 0 if s < 0 else None) for s in (*signs, 0)]
    found = minimize(loss, np.zeros(len(bounds)), jac=True, bounds=bounds, method="L-BFGS-B")
    return found.x[:-1], float(found.x[-1])


def _choose_penalty(X, y, weights, signs):
    n_folds = int(min(5, y.sum(), (1 - y).sum()))
    if n_folds < 2:
        return 1.0
    losses = np.zeros(len(_PENALTIES))
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y):
        for at, penalty in enumerate(_PENALTIES):
            found, intercept = _fit_ridge(X[train], y[train], weights[train], signs, penalty)
            losses[at] += _loss(intercept + X[test] @ found, y[test], weights[test])
    return _PENALTIES[int(losses.argmin())]


def _loss(decisions, y, weights):
    """Sum of the log losses."""
    return float(weights @ np.logaddexp(0.0, np.where(y > 0, -decisions, decisions)))


def _round(wanted, levels, rows, y, weights):
    """Whole points: the coarsest that fit nearly as well as the finest."""
    reach = max((float(w.max()) for w in wanted), default=0.0)
    if reach == 0:
        return [np.zeros(w.size, dtype=np.intp) for w in wanted]
    found = []
    for most in _LARGEST_POINTS:
        points = [np.rint(w * (most / reach)).astype(np.intp) for w in wanted]
        found.append(_improve(points, levels, rows, y, weights, most))
    best = min(loss for loss, _ in found)
    return next(points for loss, points in found if loss <= _AS_GOOD * best)


def _improve(points, levels, rows, y, weights, most):
    """Change single points by one as long as the fit improves; returns the loss too."""
    points = [one.copy() for one in points]
    total = _total(points, rows, y.size)
    slope, intercept = _fit_curve(total, y, weights)
    loss = _loss(intercept + slope * total, y, weights)
    for _ in range(_SWEEPS):
        before = loss
        for one, row, asked in zip(points, rows, levels, strict=True):
            for level in range(one.size):
                for step in (-1, 1):
                    new = one.copy()
                    new[level] += step
                    if not 0 <= new[level] <= most or not asked.allows(new):
                        continue
                    tried = total + step * (row == level)
                    found = _loss(intercept + slope * tried, y, weights)
                    if found < loss - 1e-9:
                        one[level] += step  # in place: `points` holds it
                        total, loss = tried, found
        slope, intercept = _fit_curve(total, y, weights)
        loss = _loss(intercept + slope * total, y, weights)
        if loss >= before - 1e-6 * y.size:
            break
    for one in points:
        one -= one.min()
    return loss, points


def _total(points, rows, n_rows):
    return sum((one[row] for one, row in zip(points, rows, strict=True)), np.zeros(n_rows))


def _fit_curve(total, y, weights):
    """Slope and intercept of the logistic curve from sums of points to risks.

    Newton's method on the targets of Platt (1999), which keep risks away from 0 and 1 where the
    points separate the training rows.
    """
    n_positive, n_negative = weights @ y, weights @ (1 - y)
    target = np.where(y > 0, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    spread = total.std() or 1.0
    z = (total - total.mean()) / spread
    slope, level = 0.0, float(np.log((n_positive + 1) / (n_negative + 1)))

    def loss(slope, level):
        decisions = slope * z + level
        return float(weights @ (np.logaddexp(0.0, decisions) - target * decisions))

    now = loss(slope, level)
    for _ in range(50):
        risk = expit(slope * z + level)
        gap, curve = weights * (risk - target), weights * risk * (1 - risk)
        gradient = np.array([gap @ z, gap.sum()])
        hessian = np.array([[curve @ z**2, curve @ z], [curve @ z, curve.sum()]])
        step = np.linalg.solve(hessian + 1e-9 * np.eye(2), gradient)
        length = 1.0
        while loss(slope - length * step[0], level - length * step[1]) > now and length > 1e-6:
            length /= 2
        slope, level = slope - length * step[0], level - length * step[1]
        new = loss(slope, level)
        if now - new <= 1e-10 * abs(now):
            break
        now = new
    return slope / spread, level - slope * total.mean() / spread
