"""From which probability on a model decides for a class."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from tamis.tables.classifying.table_model import TableModel

# An error that costs nothing.
_SMALLEST = 1e-9


def own_limit(model: TableModel, c: int) -> float | None:
    """The model's own probability of a class from which on it decides for it.

    None where that depends on the probabilities of the other classes.
    """
    if model.misclassification is None and model.threshold is not None:
        if c == model.positive_index:
            return float(model.threshold)
        return 1 - float(model.threshold) if model.classes_.size == 2 else None
    if model.classes_.size > 2:
        return None
    share = _cost_share(model, c)
    if share is None:
        return 0.5
    assert model.frequencies is not None
    return _rebased(share, model.frequencies[c], model.priors[c])


def limit_at(model: TableModel, c: int, prevalence: float) -> float | None:
    """As `own_limit`, for the probabilities that are shown where the class has a prevalence.

    The limit of an expected cost is the same risk everywhere; others move with the risks. A
    threshold is one of the probabilities before a recalibration.
    """
    share, limit = _cost_share(model, c), own_limit(model, c)
    if share is not None or limit is None:
        return share
    if model.threshold is not None and model.recalibration is not None:
        if model.classes_.size > 2:
            return None
        pair = np.where(np.arange(2) == c, limit, 1 - limit)
        limit = float(model.recalibration.apply(pair[None])[0, c])
    return _rebased(limit, model.priors[c], prevalence)


def _cost_share(model, c):
    """The risk from which on a class of two has the smaller expected cost; None without costs."""
    if model.misclassification is None or model.classes_.size > 2:
        return None
    missed, alarm = model.misclassification[[c, 1 - c], [1 - c, c]]
    return float(np.clip(alarm / (missed + alarm), _SMALLEST, 1 - _SMALLEST))


def _rebased(share, old, new):
    return float(expit(logit(share) + logit(new) - logit(old)))
