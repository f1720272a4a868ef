"""The model of one point of a path, trained on all rows, and nothing in it that it can spare."""

import numpy as np

from tamis import __version__
from tamis.comparison.features import describe_features
from tamis.comparison.results import calibrate
from tamis.tables.table_model import TableModel

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
    trained = method.train(part, list(result.levels))
    columns, estimator = method.shrink(trained, place)
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
        is_dense=trained.columns is not None,
        temperature=calibrate(result, place, problem.codes, problem.balanced, problem.row_weights),
        descriptions={k: v for k, v in descriptions.items() if k in preparation.required},
        version=__version__,
    )
    if settings.positive is not None:
        model.positive = problem.classes[settings.positive].item()
    if result.thresholds is not None:
        model.threshold = _tempered(result, place, settings.positive, model.temperature)
    return model, describe_features(comparison, choice, trained)


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
