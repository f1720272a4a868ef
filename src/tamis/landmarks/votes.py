"""Votes of the nearest rows.

Each neighbour votes with the weight of its class, or with that weight divided by its distance; if
a neighbour is at distance 0, only those at 0 vote. One pass over a list counts the votes of all
numbers of neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis._compile import compiled

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
    shares = np.empty((ks.size, indices.shape[0], class_weight.size))
    _fill_shares(indices, distances, codes, class_weight, ks, by_distance, shares)
    return shares


@compiled
def _fill_shares(indices, distances, codes, class_weight, ks, by_distance, shares):
    votes = np.empty(class_weight.size)
    for i in range(indices.shape[0]):
        votes[:] = 0.0
        nearest = distances[i, 0]
        n_counted = 0
        for place in range(ks.size):
            for t in range(n_counted, ks[place]):
                c = codes[indices[i, t]]
                mass = class_weight[c]
                d = distances[i, t]
                # Relative to the nearest: 1 / d alone may overflow. 0 / 0 is 1, and 0 / d is 0.
                if by_distance and d != 0.0:
                    mass *= nearest / d
                votes[c] += mass
            n_counted = ks[place]
            total, top = 0.0, votes[0]
            for c in range(votes.size):
                total += votes[c]
                top = max(top, votes[c])
            for c in range(votes.size):
                vote = top if top - votes[c] <= _TIE * total else votes[c]
                shares[place, i, c] = vote / total if total != 0.0 else np.nan
