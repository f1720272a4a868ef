"""The model of one point of a path, trained on all rows, and nothing in it that it can spare."""

import copy

import numpy as np

from tamis import __version__
from tamis.centers import SparseCenterClassifier
from tamis.comparison.features import describe_features
from tamis.comparison.results import calibrate
from tamis.tables import TableModel

__all__ = ["fit_final"]


def fit_final(comparison, choice):
    """Train one method at one level on all rows.

    Parameters
    ----------
    comparison : Comparison
    choice : Choice

    Returns
    -------
    model : TableModel
    records : list of dict
        What there is to say about its features: `describe_features`.
    """
    problem, settings = comparison.problem, comparison.settings
    result, place = comparison.result(choice.method), choice.place
    method, level = result.method, result.levels[place]
    part = comparison.whole
    # All levels, as in the folds: what a level is may depend on the others of its path.
    fitted = method.train(part, list(result.levels))[place]
    columns, estimator = _shrink(method, part, fitted)
    estimator.classes_ = problem.classes[part.known[estimator.classes_]]
    own = part.columns[columns]
    everything = np.union1d(problem.missing, own)
    preparation = problem.preparation.learn(problem.encoded, everything, problem.weights).restrict(
        own
    )
    counts = np.bincount(problem.codes, problem.weights, problem.classes.size)
    shares = np.full(counts.size, 1 / counts.size) if problem.balanced else counts / counts.sum()
    descriptions = comparison.descriptions
    model = TableModel(
        method=choice.method,
        level=float(level),
        target=comparison.data.target or "target",
        preparation=preparation,
        estimator=estimator,
        priors=shares,
        temperature=calibrate(result, place, problem.codes, problem.balanced, problem.row_weights),
        descriptions={k: v for k, v in descriptions.items() if k in preparation.required},
        version=__version__,
    )
    if settings.positive is not None:
        model.positive = problem.classes[settings.positive].item()
    if result.thresholds is not None:
        model.threshold = _tempered(result, place, settings.positive, model.temperature)
    return model, describe_features(comparison, choice, fitted)


def _tempered(result, at, positive, temperature):
    """The threshold for probabilities that have a temperature, with the same sensitivity.

    For two classes a temperature keeps the order of the probabilities, and the threshold goes
    with them; for more it is close.
    """
    p = result.thresholds[at]
    n_classes = result.probabilities.shape[3]
    with np.errstate(divide="ignore"):
        logs = np.log([max(p, 0.0), max(1 - p, 0.0) / (n_classes - 1)]) / temperature
    own, other = np.exp(logs - logs.max())
    return float(own / (own + (n_classes - 1) * other))


def _shrink(method, part, fitted):
    """Columns of the part that a model needs, and the model of these columns alone."""
    if fitted.columns is not None:
        return fitted.columns, _trim(fitted.estimator)
    support = fitted.estimator.support_
    support = support if support.size else np.zeros(1, dtype=np.intp)
    if method.name == "primal-dual":
        return support, _shrink_projection(fitted.estimator, support)
    # Centers are found column by column: fewer columns change none of them.
    estimator = SparseCenterClassifier(
        None, metric=fitted.estimator.metric, priors=fitted.estimator.priors
    )
    return support, estimator.fit(part.X[:, support], part.codes, part.weights)


def _trim(estimator):
    """A copy without what prediction does not need: the dual point, and the times of training."""
    small = copy.copy(estimator)
    for name in ("dual_", "history_"):
        vars(small).pop(name, None)
    return small


def _shrink_projection(estimator, support):
    small = _trim(estimator)
    for name in ("weights_", "mean_", "scale_"):
        setattr(small, name, getattr(estimator, name)[support])
    small.support_ = np.flatnonzero(small.weights_.any(axis=1))
    small.n_features_in_ = int(support.size)
    if estimator.feature_weights is not None:
        small.feature_weights = np.asarray(estimator.feature_weights)[support]
    return small
