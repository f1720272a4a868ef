"""Votes of the nearest rows.

Each neighbour votes with the weight of its class, or with that weight divided by its distance; if
a neighbour is at distance 0, only those at 0 vote. Votes of all numbers of neighbours are
cumulative sums over one list.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Shares of the votes that differ by less than this are equal.
_TIE = 1e-12


def vote_shares(
    indices: NDArray,
    distances: NDArray,
    codes: NDArray,
    class_weight: NDArray,
    ks: NDArray,
    by_distance: bool,
) -> NDArray[np.float64]:
    """Votes of the k nearest rows for each class, summing to 1, for each k; ks ascend.

    Shares that agree to 12 digits are made equal. Returns `shares` (len(ks), n_queries,
    n_classes).
    """
    votes = _count_votes(indices, distances, codes, class_weight, ks, by_distance)
    total, top = votes.sum(axis=1, keepdims=True), votes.max(axis=1, keepdims=True)
    leads = top - votes <= _TIE * total
    return (np.where(leads, top, votes) / total).swapaxes(1, 2)


def _count_votes(indices, distances, codes, class_weight, ks, by_distance):
    """Votes of the k nearest for each k, (len(ks), n_classes, n_queries)."""
    most = ks[-1]
    label = codes[indices[:, :most].T]
    mass = class_weight[label]
    if by_distance:
        d = distances[:, :most].T
        nearest = d[0]
        # Relative to the nearest: 1 / d alone may overflow. 0 / 0 is 1, and 0 / d is 0.
        share = np.divide(nearest, d, out=np.ones(d.shape), where=d != 0)
        mass = mass * share
    votes = np.empty((ks.size, class_weight.size, indices.shape[0]))
    for c in range(class_weight.size):
        votes[:, c] = np.cumsum(np.where(label == c, mass, 0.0), axis=0)[ks - 1]
    return votes
