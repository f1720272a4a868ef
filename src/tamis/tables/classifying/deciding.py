"""Decisions from probabilities, and the class frequencies that probabilities stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def decide_by_cost(probabilities, costs):
    """Class indices of the smallest expected cost, ties to the first."""
    return (probabilities @ costs).argmin(axis=1)


def decide(probabilities, positive=None, threshold=None):
    """Class indices: the largest probability, ties to the first; or by a threshold.

    With a threshold, the positive class is predicted where its probability reaches it, and the
    largest of the others elsewhere.
    """
    if threshold is None:
        return probabilities.argmax(axis=1)
    others = probabilities.copy()
    others[:, positive] = -1.0
    return np.where(probabilities[:, positive] >= threshold, positive, others.argmax(axis=1))


def assumed_frequencies(estimator: Any, frequencies: NDArray) -> NDArray[np.float64]:
    """Class frequencies that the probabilities of a fitted classifier stand for.

    The priors that it was given, or those of its training rows with the weights of the classes.
    """
    parameters = estimator.get_params(deep=False)
    priors, weights = parameters.get("priors"), parameters.get("class_weight")
    shares = np.array(frequencies, dtype=np.float64)
    if isinstance(weights, str) or (isinstance(priors, str) and priors == "uniform"):
        shares = np.ones(shares.size)  # "balanced" is the only word for weights
    elif isinstance(weights, Mapping):
        shares *= [weights.get(label, 1.0) for label in estimator.classes_.tolist()]
    elif priors is not None and not isinstance(priors, str):
        shares = np.asarray(priors, dtype=np.float64)
    return shares / shares.sum()
