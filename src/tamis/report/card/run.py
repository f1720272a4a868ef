"""The card of a run, and its cross-validated score beside the model's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import is_sparse
from tamis.comparison.choosing.scores import area_under_curve, cautious_area
from tamis.comparison.methods.baselines import BASELINES
from tamis.comparison.methods.families import METHODS
from tamis.comparison.options import Options
from tamis.comparison.prepare import prepare, set_aside
from tamis.comparison.problem.problem import Problem
from tamis.comparison.run import plan
from tamis.comparison.settings import make_settings
from tamis.paths.folds import Fold
from tamis.report.card.card import learn_card
from tamis.tables.classifying.decision_limit import limit_at, own_limit
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.classifying.unusual import observe
from tamis.tables.columns.table import Table
from tamis.tables.errors import InputError

# A threshold is the probability of a row, which the run keeps in single precision.
_ROUNDED = 1 - 1e-6


@dataclass(frozen=True)
class CardScores:
    """Scores of a card and of its model on the same test rows of the same folds.

    Selecting features, cutting, weighing and rounding are repeated in every fold; the method and
    the number of features are those of the model.
    """

    # card_area, model_area: area under the ROC curve, mean over repeats.
    card_area: float
    model_area: float
    # card_interval, model_interval: their 95 % confidence intervals.
    card_interval: tuple[float, float]
    model_interval: tuple[float, float]
    # card_accuracy, model_accuracy: balanced accuracy of deciding for the positive class where the
    # saved model does: by its threshold, by costs of errors, or by probability. Of several
    # classes, from the share of the class in training on, unless it has a threshold.
    card_accuracy: float
    model_accuracy: float
    n_folds: int
    n_repeats: int


@dataclass(frozen=True)
class Experiment:
    """The rows that a model was fitted to, and how it was fitted."""

    table: Table  # training rows
    problem: Problem  # the same, encoded
    folds: list[Fold]  # those of the run
    method: Any
    levels: tuple[float, ...]  # levels of its path
    place: int  # which of them is the model's
    model: TableModel  # the saved one


def find_experiment(table: Table, options: Options, model: TableModel) -> Experiment:
    """How a model of a run was fitted.

    Returns `experiment`: InputError is raised if the run cannot have made this model.
    """
    prepared = prepare(set_aside(table, options)[0], options)  # never calibration rows
    settings = make_settings(options, prepared.problem, prepared.table.notes)
    planned = plan(prepared.problem, settings)
    for task in planned.tasks:
        if task.stage == "cv" and task.method == model.method and model.level in task.levels:
            method = next(m for m in (*METHODS, *BASELINES) if m.name == model.method)
            place = task.levels.index(model.level)
            return Experiment(
                prepared.table, prepared.problem, planned.folds, method, task.levels, place, model
            )
    raise InputError(
        f"these data and options do not lead to {model.method} with the size of this model; are "
        "they its training data?"
    )


def score_card(experiment: Experiment, positive: Any) -> CardScores:
    """Cross-validate the card of a model."""
    problem, folds, saved = experiment.problem, experiment.folds, experiment.model
    at = int(np.flatnonzero(saved.classes_ == positive)[0])
    limit = own_limit(saved, at)
    y = problem.classes[problem.codes] == positive
    shape = (1 + max(fold.repeat for fold in folds), y.size)
    # The card, then the model.
    risks, said = np.zeros((2, *shape)), np.zeros((2, *shape), dtype=bool)
    for fold in folds:
        model, used, encoded = _fit_rows(experiment, fold)
        weights = None if problem.weights is None else problem.weights[fold.train]
        train, test = (_values(encoded, rows, used) for rows in (fold.train, fold.test))
        card = learn_card(model, train, y[fold.train], positive, weights)
        is_positive = model.classes_ == positive
        shares = saved.tempered(_model_shares(model, test))[:, is_positive].sum(axis=1)
        found = (
            (card.risk(card.score_values(test)), limit_at(saved, at, card.prevalence)),
            (shares, limit),
        )
        own = card.prevalence, model.priors[is_positive].sum()
        for k, (risk, least) in enumerate(found):
            risks[k, fold.repeat, fold.test] = risk
            least = own[k] if least is None else least
            said[k, fold.repeat, fold.test] = risk >= least * _ROUNDED
    weights = np.ones(y.size) if problem.weights is None else problem.weights
    areas = [float(np.mean([_area(y, one, weights) for one in risk])) for risk in risks]
    n_independent = y.size if problem.groups is None else np.unique(problem.groups).size
    sizes = np.array([(~y).sum(), y.sum()]) * n_independent / y.size
    intervals = [cautious_area(area, sizes) for area in areas]
    accuracies = [float(np.mean([_balanced(y, one, weights) for one in each])) for each in said]
    return CardScores(
        card_area=areas[0],
        model_area=areas[1],
        card_interval=intervals[0],
        model_interval=intervals[1],
        card_accuracy=accuracies[0],
        model_accuracy=accuracies[1],
        n_folds=len(folds) // shape[0],
        n_repeats=shape[0],
    )


def _fit_rows(experiment, fold):
    """The model that the rows of a fold give, as the final one is made of all; its columns.

    And the encoded rows of the problem, with the categories pooled that are rare in the fold.
    """
    problem, rows = experiment.problem, fold.train
    part = problem.train_part(rows, problem.codes, fold.seed)
    trained = experiment.method.train(part, list(experiment.levels))
    columns, estimator = experiment.method.shrink(trained, experiment.place)
    estimator.classes_ = problem.classes[part.known[estimator.classes_]]
    used = part.columns[columns]
    encoded, weights = problem.encoded[rows], part.weights
    learned = problem.preparation.learn(encoded, np.union1d(problem.missing, used), weights)
    preparation = observe(learned.restrict(used), encoded[:, used])
    counts = np.bincount(part.codes, weights, part.known.size)
    shares = np.full(counts.size, 1 / counts.size) if problem.balanced else counts / counts.sum()
    level, is_dense = float(experiment.levels[experiment.place]), trained.columns is not None
    name = experiment.method.name
    model = TableModel(name, level, "", preparation, estimator, shares, is_dense=is_dense)
    return model, used, learned.pool(problem.encoded)


def _values(encoded, rows, used) -> NDArray:
    values = encoded[rows][:, used]
    return values.toarray() if is_sparse(values) else values


def _model_shares(model, values):
    """Probabilities of rows of the encoded columns."""
    if model.preparation.is_sparse:
        values = sparse.csr_array(values)
    X = model.preparation.finish(values)
    return model.estimator.predict_proba(X.toarray() if model.is_dense and is_sparse(X) else X)


def _area(y, risk, weights):
    return area_under_curve(y.astype(int), np.column_stack([1 - risk, risk]), weights)


def _balanced(y, said, weights):
    """Mean of sensitivity and specificity."""
    return 0.5 * (
        np.average(said[y], weights=weights[y]) + np.average(~said[~y], weights=weights[~y])
    )
