"""The classifiers on the map: naive Bayes, neighbours, ridge regression, discriminants.

A trained head is a dict of arrays, numbers and strings. `decide` gives the decisions of all
classes, `shares` their probabilities; both have their largest entry at the same class.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis._base import softmax
from tamis.landmarks.linear import linear_decisions, train_discriminant, train_ridge
from tamis.landmarks.naive_bayes import naive_bayes_decisions, train_naive_bayes
from tamis.landmarks.neighbors import nearest_rows
from tamis.landmarks.votes import vote_shares

# Decisions that agree to this precision count as equal: differences are only rounding.
_TIE = 1e-12


def class_weights(class_weight, codes: NDArray, n_classes: int) -> NDArray[np.float64]:
    """Weight of each class, by its index.

    `class_weight` (n_classes,): "balanced" gives all classes that have rows equal weight; `codes`
    (n_samples,): classes of the training rows.
    """
    if class_weight is None:
        return np.ones(n_classes)
    if isinstance(class_weight, str):
        count = np.bincount(codes, minlength=n_classes)
        return codes.size / (np.count_nonzero(count) * np.maximum(count, 1))
    return class_weight


def log_priors(weights: NDArray, codes: NDArray) -> NDArray[np.float64]:
    """Logarithms of the shares of the classes, each row with its class's weight."""
    mass = weights * np.bincount(codes, minlength=weights.size)
    with np.errstate(divide="ignore"):
        return np.log(mass / mass.sum())


def train_head(configuration, Z: NDArray, codes: NDArray, weights: NDArray) -> dict:
    """Train the classifier that `configuration` names on a map.

    `Z` (n_samples, n_landmarks), `codes` (n_samples,), `weights` (n_classes,).
    """
    if configuration.classifier == "nb":
        return {"classifier": "nb", **train_naive_bayes(Z, codes, log_priors(weights, codes))}
    if configuration.classifier == "knn":
        return {
            "classifier": "knn",
            "map": np.ascontiguousarray(Z),
            "codes": codes,
            "class_weight": weights,
            "n_neighbors": min(configuration.n_neighbors, codes.size),
            "weights": configuration.weights,
            "metric": configuration.metric,
        }
    train = train_ridge if configuration.classifier == "ridge" else train_discriminant
    return {
        "classifier": configuration.classifier,
        **train(Z, codes, weights, configuration.regularization),
    }


def decide(head: dict, Z: NDArray) -> NDArray[np.float64]:
    """Decisions of all classes, (n_samples, n_classes)."""
    if head["classifier"] == "nb":
        return settle(naive_bayes_decisions(head, Z))
    if head["classifier"] == "knn":
        k = head["n_neighbors"]
        by_distance = head["weights"] == "distance"
        # Arrays from a memory map are read-only, for which kernels would be compiled again.
        rows, codes, weight = (
            np.require(head[name], requirements=["C", "W"])
            for name in ("map", "codes", "class_weight")
        )
        indices, distances = nearest_rows(Z, rows, k, [head["metric"]])[head["metric"]]
        return vote_shares(indices, distances, codes, weight, np.array([k]), by_distance)[0]
    return settle(linear_decisions(head, Z))


def shares(head: dict, decisions: NDArray) -> NDArray[np.float64]:
    """Probabilities of decisions."""
    return decisions if head["classifier"] == "knn" else softmax(decisions)


def settle(decisions: NDArray) -> NDArray[np.float64]:
    """Make decisions that agree with the largest to 12 digits equal to it."""
    top = decisions.max(axis=1, keepdims=True)
    return np.where(top - decisions <= _TIE * np.maximum(1.0, np.abs(top)), top, decisions)
