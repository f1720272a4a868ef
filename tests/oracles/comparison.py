"""Slow, obvious versions of what a comparison computes; no code shared with tamis."""

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    matthews_corrcoef,
    roc_auc_score,
)


def score(scoring, y, labels, probabilities):
    if scoring == "balanced_accuracy":
        return balanced_accuracy_score(y, labels)
    if scoring == "accuracy":
        return accuracy_score(y, labels)
    if scoring == "f1_macro":
        return f1_score(y, labels, average="macro")
    if scoring == "mcc":
        return matthews_corrcoef(y, labels)
    if probabilities.shape[1] == 2:
        return roc_auc_score(y, probabilities[:, 1])
    areas = [roc_auc_score(y == c, probabilities[:, c]) for c in range(probabilities.shape[1])]
    return np.mean(areas)


def bootstrap_bias_corrected(predictions, y, choose, rng, n_draws):
    """Tsamardinos et al. 2018, one draw at a time; predictions (n_places, n_rows), all ours.

    `choose(rows)` gives the place that is chosen from the rows drawn.
    """
    n = y.size
    scores = []
    for _ in range(n_draws):
        rows = rng.integers(n, size=n)
        left = np.setdiff1d(np.arange(n), rows)
        if np.unique(y[rows]).size < 2 or np.unique(y[left]).size < 2:
            continue
        scores.append(balanced_accuracy_score(y[left], predictions[choose(rows)][left]))
    return np.array(scores)


def nested_predictions(X, y, tests, fit, levels, choose):
    """Nested cross-validation, one model at a time.

    `tests` are the test rows of the folds, `fit(X, y, level)` gives a classifier, and
    `choose(right, y)` the place of a level from right and wrong predictions, (n_levels, n_rows).
    """
    every = np.arange(y.size)
    labels = np.empty(y.size, dtype=y.dtype)
    for outer in tests:
        inner = [rows for rows in tests if rows is not outer]
        rest = np.concatenate(inner)
        right = []
        for level in levels:
            found = np.empty(y.size, dtype=y.dtype)
            for rows in inner:
                train = np.setdiff1d(every, np.concatenate([outer, rows]))
                found[rows] = fit(X[train], y[train], level).predict(X[rows])
            right.append(found[rest] == y[rest])
        level = levels[choose(np.array(right), y[rest])]
        train = np.setdiff1d(every, outer)
        labels[outer] = fit(X[train], y[train], level).predict(X[outer])
    return labels
