"""Sparse centers by definition: one feature, one class, one candidate at a time."""

from fractions import Fraction
from itertools import combinations

import numpy as np


def weighted_median(values, weights):
    """Eq. (16) to the letter, with exact weights."""
    weights = [Fraction(float(w)) if not isinstance(w, Fraction) else w for w in weights]
    total = sum(weights)
    for zeta in sorted(set(values)):
        reached = sum(w for z, w in zip(values, weights, strict=True) if z <= zeta)
        if 2 * reached > total:
            return zeta
        if 2 * reached == total:
            following = min(z for z, w in zip(values, weights, strict=True) if z > zeta and w > 0)
            return (zeta + following) / 2
    raise AssertionError("unreachable: the largest value has all the weight")


def class_weights(y, sample_weight):
    """w_j / W_c as fractions."""
    sample_weight = np.ones(len(y)) if sample_weight is None else sample_weight
    totals = {c: sum(Fraction(float(w)) for w in sample_weight[y == c]) for c in set(y)}
    return [Fraction(float(w)) / totals[c] for c, w in zip(y, sample_weight, strict=True)]


def feature_cost(x, y, metric, selected, sample_weight=None):
    """The objective's term of one feature, eq. (8) and (10)."""
    weights = class_weights(y, sample_weight)
    groups = [np.flatnonzero(y == c) for c in np.unique(y)]
    cost = 0.0
    for group in groups if selected else [np.arange(len(y))]:
        z, w = x[group], [weights[j] for j in group]
        if metric == "l1":
            center = weighted_median(list(z), w)
            cost += sum(float(wj) * abs(zj - center) for zj, wj in zip(z, w, strict=True))
        else:
            center = sum(float(wj) * zj for zj, wj in zip(z, w, strict=True)) / float(sum(w))
            cost += sum(float(wj) * (zj - center) ** 2 for zj, wj in zip(z, w, strict=True))
    return cost


def objective(X, y, support, metric, sample_weight=None):
    """J of the best centers that differ on `support` only."""
    return sum(
        feature_cost(X[:, j], y, metric, j in support, sample_weight) for j in range(X.shape[1])
    )


def best_objective(X, y, k, metric, sample_weight=None):
    """Brute force over all supports of at most k features."""
    m = X.shape[1]
    costs = [
        [feature_cost(X[:, j], y, metric, chosen, sample_weight) for chosen in (False, True)]
        for j in range(m)
    ]
    return min(
        sum(costs[j][j in support] for j in range(m))
        for size in range(min(k, m) + 1)
        for support in combinations(range(m), size)
    )


def best_grouped_objective(X, y, groups, kept, k, metric, sample_weight=None):
    """Brute force over all sets of at most k groups besides those kept; groups are lists."""
    free = [group for g, group in enumerate(groups) if g not in kept]
    always = [j for g in kept for j in groups[g]]
    costs = [
        [feature_cost(X[:, j], y, metric, chosen, sample_weight) for chosen in (False, True)]
        for j in range(X.shape[1])
    ]
    best = np.inf
    for size in range(min(k, len(free)) + 1):
        for chosen in combinations(free, size):
            support = {*always, *(j for group in chosen for j in group)}
            best = min(best, sum(costs[j][j in support] for j in range(X.shape[1])))
    return best
