"""Odds ratios and sparse naive Bayes by definition: one sample, feature, support at a time."""

from itertools import combinations
from math import inf, log

import numpy as np


def as_weights(y, weight):
    return [1.0] * len(y) if weight is None else [float(w) for w in weight]


def multinomial_parameters(X, y, support, weight=None):
    """The most likely parameters of every class that differ between classes on `support` only."""
    weight, m = as_weights(y, weight), X.shape[1]
    grand_total = sum(w * X[i, j] for i, w in enumerate(weight) for j in range(m))
    theta = {}
    for c in sorted(set(y)):
        members = [i for i in range(len(y)) if y[i] == c]
        own_inside = sum(weight[i] * X[i, j] for i in members for j in support)
        all_inside = sum(weight[i] * X[i, j] for i in range(len(y)) for j in support)
        theta[c] = []
        for j in range(m):
            if j not in support:
                count = sum(weight[i] * X[i, j] for i in range(len(y)))
                theta[c].append(count / grand_total)
            elif own_inside > 0:
                count = sum(weight[i] * X[i, j] for i in members)
                theta[c].append(all_inside / grand_total * count / own_inside)
            else:  # nothing seen of this class: any way to share out what is left will do
                theta[c].append(all_inside / grand_total / len(support))
    return theta


def multinomial_log_likelihood(X, y, theta, weight=None):
    total = 0.0
    for i, w in enumerate(as_weights(y, weight)):
        for j in range(X.shape[1]):
            if w * X[i, j] > 0:
                total += w * X[i, j] * (log(theta[y[i]][j]) if theta[y[i]][j] > 0 else -inf)
    return total


def bernoulli_parameters(X, y, support, weight=None):
    """The most likely probabilities of presence that differ between classes on `support` only."""
    weight = as_weights(y, weight)
    theta = {}
    for c in sorted(set(y)):
        theta[c] = []
        for j in range(X.shape[1]):
            members = [i for i in range(len(y)) if y[i] == c or j not in support]
            present = sum(weight[i] for i in members if X[i, j] > 0)
            theta[c].append(present / sum(weight[i] for i in members))
    return theta


def bernoulli_log_likelihood(X, y, theta, weight=None):
    total = 0.0
    for i, w in enumerate(as_weights(y, weight)):
        for j in range(X.shape[1]):
            p = theta[y[i]][j] if X[i, j] > 0 else 1 - theta[y[i]][j]
            total += w * (log(p) if p > 0 else -inf)
    return total


PARAMETERS = {"multinomial": multinomial_parameters, "bernoulli": bernoulli_parameters}
LIKELIHOODS = {"multinomial": multinomial_log_likelihood, "bernoulli": bernoulli_log_likelihood}


def log_likelihood(X, y, support, likelihood, weight=None):
    """Largest log-likelihood of the models that differ between classes on `support` only."""
    theta = PARAMETERS[likelihood](X, y, set(support), weight)
    return LIKELIHOODS[likelihood](X, y, theta, weight)


def best_log_likelihood(X, y, k, likelihood, weight=None):
    """Brute force over all supports of at most k features."""
    return max(
        log_likelihood(X, y, support, likelihood, weight)
        for size in range(min(k, X.shape[1]) + 1)
        for support in combinations(range(X.shape[1]), size)
    )


def multinomial_dual(X, y, k, alpha, weight=None):
    """The dual function at `alpha`, one positive number a class that sum to one."""
    weight, m = np.array(as_weights(y, weight)), X.shape[1]
    classes = sorted(set(y))
    f = [[weight[y == c] @ X[y == c, j] for j in range(m)] for c in classes]
    grand_total = sum(map(sum, f))
    constant, gains = 0.0, []
    for j in range(m):
        total = sum(f[c][j] for c in range(len(classes)))
        constant += total * log(total / grand_total) if total > 0 else 0.0
        gains.append(
            sum(
                f[c][j] * log(f[c][j] / total / alpha[c])
                for c in range(len(classes))
                if f[c][j] > 0
            )
        )
    return constant + sum(sorted(gains, reverse=True)[:k])


def log_odds_ratio(x, positive, weight=None, smoothing=0.0, threshold=0.0):
    """Log odds ratio of presence in the positive samples against the others, one feature.

    Smoothing is by pseudo-samples: some present, as many absent, for each side in proportion to
    its size.
    """
    weight = as_weights(x, weight)
    odds = []
    for side in (True, False):
        members = [i for i in range(len(x)) if bool(positive[i]) == side]
        size = sum(weight[i] for i in members)
        present = sum(weight[i] for i in members if x[i] > threshold)
        pseudo = 2 * smoothing * size / sum(weight)
        probability = (present + pseudo) / (size + 2 * pseudo)
        odds.append(probability / (1 - probability))
    return log(odds[0] / odds[1])
