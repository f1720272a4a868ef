"""Compiled votes of the nearest rows."""

import numpy as np

from tamis._compile import compiled

__all__ = ["vote_codes", "vote_shares"]

# Shares of the votes that differ by less than this are equal.
TIE = 1e-12


@compiled
def vote_shares(indices, distances, codes, class_weight, k, by_distance):
    """Votes of the k nearest rows for each class, (n_queries, n_classes), summing to 1.

    Shares that agree to 12 digits are made equal.
    """
    n = indices.shape[0]
    C = class_weight.size
    votes = np.zeros((n, C))
    start = np.int64(0)  # a plain 0 would have a type of its own, and a second compilation
    for i in range(n):
        row = votes[i]
        _count_votes(row, indices[i], distances[i], codes, class_weight, start, k, by_distance)
        total = 0.0
        top = 0.0
        for c in range(C):
            total += row[c]
            top = max(top, row[c])
        for c in range(C):
            row[c] = (top if top - row[c] <= TIE * total else row[c]) / total
    return votes


@compiled
def vote_codes(indices, distances, codes, class_weight, ks, by_distance):
    """Class with most votes for each number of neighbours, (len(ks), n_queries); ks ascend."""
    n = indices.shape[0]
    C = class_weight.size
    out = np.empty((ks.size, n), np.int16)
    votes = np.empty(C)
    for i in range(n):
        for c in range(C):
            votes[c] = 0.0
        index = indices[i]
        distance = distances[i]
        done = np.int64(0)
        for s in range(ks.size):
            _count_votes(votes, index, distance, codes, class_weight, done, ks[s], by_distance)
            done = ks[s]
            total = 0.0
            top = 0.0
            for c in range(C):
                total += votes[c]
                top = max(top, votes[c])
            for c in range(C):
                if top - votes[c] <= TIE * total:
                    out[s, i] = c
                    break
    return out


@compiled
def _count_votes(votes, index, distance, codes, class_weight, start, stop, by_distance):
    """Add the votes of neighbours `start` to `stop`."""
    nearest = distance[0]
    if not by_distance or nearest == 0.0:
        # Rows at distance 0 outweigh all others.
        for r in range(start, stop):
            if not by_distance or distance[r] == 0.0:
                c = codes[index[r]]
                votes[c] += class_weight[c]
    else:
        for r in range(start, stop):
            # Relative to the nearest: 1 / d alone may overflow.
            c = codes[index[r]]
            votes[c] += class_weight[c] * (nearest / distance[r])
