r"""Which configurations join an ensemble, and how their votes are counted.

Members are ranked r = 0, 1, ... from the best. With ``vote="majority"`` member r gives its label
the weight :math:`1 + 2^{-(r+1)}`: the additions sum to less than one vote, so they never overrule
a majority, and if classes have equally many votes, the better members decide (the paper breaks
ties at random). With ``vote="soft"`` probabilities are averaged. Either way the normalised sums
are the probabilities, so that predictions and probabilities agree.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix
from tamis.landmarks.evaluation import balanced_errors
from tamis.landmarks.model import PreparedRows, model_shares

# Sizes that "auto" tries: odd, as far as consensus takes the paper (Fig. 4).
_SIZES = range(1, 32, 2)
_TIE = 1e-12


def member_weights(size: int, vote: str) -> NDArray[np.float64]:
    """Weights of the members, best first."""
    if vote == "soft":
        return np.ones(size)
    return 1.0 + 0.5 ** np.arange(1.0, size + 1.0)


def combine(weights: NDArray, shares: Iterable[NDArray], vote: str) -> NDArray[np.float64]:
    """Combine the probabilities of the members, one array after the other.

    `weights` (n_members,), `shares` (n_samples, n_classes). Returns `probabilities` (n_samples,
    n_classes).
    """
    total = None
    for weight, share in zip(weights, shares, strict=True):
        if vote == "majority":
            share = _one_hot(share.argmax(axis=1), share.shape[1])
        total = weight * share if total is None else total + weight * share
    total = total / weights.sum()
    top = total.max(axis=1, keepdims=True)
    return np.where(top - total <= _TIE, top, total)


def ensemble_shares(members: list[dict], X: Matrix, vote: str) -> NDArray[np.float64]:
    """Probabilities of an ensemble for rows that have its columns.

    `X` (n_samples, n_features). Returns `probabilities` (n_samples, n_classes).
    """
    weights = np.array([member["weight"] for member in members])
    prepared = PreparedRows(X)
    return combine(
        weights, (model_shares(member["model"], X, prepared) for member in members), vote
    )


def _one_hot(labels, n_classes):
    return (labels[:, None] == np.arange(n_classes)).astype(np.float64)


def choose_size(labels: NDArray, truth: NDArray, importance: NDArray) -> int:
    """Size of the ensemble of best members with the fewest errors by majority; ties: the smallest.

    `labels` (n_configurations, n_samples): out-of-fold predictions, best configuration first;
    `truth` (n_samples,); `importance` (n_classes,): weights of the classes in the error.
    """
    most = min(labels.shape[0], max(_SIZES))
    weights = member_weights(most, "majority")
    votes = np.zeros((truth.size, importance.size))
    rows = np.arange(truth.size)
    errors = {}
    for r in range(most):
        votes[rows, labels[r]] += weights[r]
        if r + 1 in _SIZES:
            errors[r + 1] = balanced_errors(votes.argmax(axis=1)[None], truth, importance)[0]
    return min(errors, key=lambda size: (errors[size], size))


def pick_greedily(
    probabilities: NDArray, truth: NDArray, importance: NDArray, size: int
) -> tuple[NDArray, NDArray]:
    """Pick members one at a time, with repetition, each the one that improves the average most.

    The loss is the mean over classes of the mean squared distance between the average of the
    members' out-of-fold probabilities and the truth: it weights the classes like the balanced
    error, but depends smoothly on the probabilities.

    `probabilities` (n_configurations, n_samples, n_classes), `truth` (n_samples,), `importance`
    (n_classes,).
    """
    n_classes = importance.size
    count = np.bincount(truth, minlength=n_classes)
    weight = importance[truth] / (importance[count > 0].sum() * count[truth])
    flat = probabilities.reshape(probabilities.shape[0], -1).astype(np.float64)
    root = np.repeat(np.sqrt(weight), n_classes)
    flat = flat * root
    goal = _one_hot(truth, n_classes).ravel() * root
    # The squared distance of an average of p's to the goal is a quadratic form of their products.
    products = flat @ flat.T
    to_goal = flat @ goal
    picked = np.zeros(flat.shape[0], dtype=np.int64)
    for step in range(1, size + 1):
        # Without the constant |goal|^2, for each candidate added to those picked.
        squares = picked @ products @ picked + 2.0 * (products @ picked) + np.diag(products)
        loss = squares / step**2 - 2.0 * (picked @ to_goal + to_goal) / step
        best = int(np.flatnonzero(loss <= loss.min() + _TIE)[0])
        picked[best] += 1
    places = np.flatnonzero(picked)
    return places, picked[places]
