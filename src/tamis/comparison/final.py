"""Train the model of one level on all rows, reduced to the columns it needs."""

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
        Descriptions of its features: see `describe_features`.
    """
    problem, settings = comparison.problem, comparison.settings
    result, place = comparison.result(choice.method), choice.place
    method, level = result.method, result.levels[place]
    part = comparison.whole
    # All levels, as in the folds: a level may depend on the others of its path.
    trained = method.train(part, list(result.levels))
    columns, estimator = method.shrink(trained, place)
    estimator.classes_ = problem.classes[part.known[estimator.classes_]]
    used = part.columns[columns]
    everything = np.union1d(problem.missing, used)
    preparation = problem.preparation.learn(problem.encoded, everything, problem.weights).restrict(
        used
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
        model.threshold = _tempered(result, place, model.temperature)
    return model, describe_features(comparison, choice, trained)


def _tempered(result, at, temperature):
    """Adjust a threshold to probabilities with a temperature, for the same sensitivity.

    Exact for two classes, where a temperature keeps the order of the probabilities; approximate
    for more.
    """
    p = result.thresholds[at]
    n_classes = result.probabilities.shape[3]
    with np.errstate(divide="ignore"):
        logs = np.log([max(p, 0.0), max(1 - p, 0.0) / (n_classes - 1)]) / temperature
    share, other = np.exp(logs - logs.max())
    return float(share / (share + (n_classes - 1) * other))
