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


def choose(candidates):
    """The sparsest of ours within one standard error of the best, one candidate at a time.

    Candidates are tuples (name, score, error, size, is ours).
    """
    best = max(candidates, key=lambda c: c[1])
    wanted = best[1] - best[2]
    ours = [c for c in candidates if c[4]]
    if max(c[1] for c in ours) < wanted:
        own = max(ours, key=lambda c: c[1])
        wanted = own[1] - own[2]
    enough = [c for c in ours if c[1] >= wanted]
    fewest = min(c[3] for c in enough)
    return max((c for c in enough if c[3] == fewest), key=lambda c: c[1])


def bootstrap_bias_corrected(predictions, y, sizes, errors, rng, n_draws):
    """Tsamardinos et al. 2018, one draw at a time; predictions (n_places, n_rows), all ours."""
    n = y.size
    scores = []
    for _ in range(n_draws):
        rows = rng.integers(n, size=n)
        left = np.setdiff1d(np.arange(n), rows)
        if np.unique(y[rows]).size < 2 or np.unique(y[left]).size < 2:
            continue
        inside = [balanced_accuracy_score(y[rows], p[rows]) for p in predictions]
        candidates = [(i, inside[i], errors[i], sizes[i], True) for i in range(len(sizes))]
        chosen = choose(candidates)[0]
        scores.append(balanced_accuracy_score(y[left], predictions[chosen][left]))
    return np.array(scores)


def nested_predictions(X, y, tests, fit, levels):
    """Nested cross-validation, one model at a time; of equal scores the first level counts.

    `tests` are the test rows of the folds, `fit(X, y, level)` gives a classifier.
    """
    every = np.arange(y.size)
    labels = np.empty(y.size, dtype=y.dtype)
    for outer in tests:
        inner = [rows for rows in tests if rows is not outer]
        rest = np.concatenate(inner)
        scores = []
        for level in levels:
            found = np.empty(y.size, dtype=y.dtype)
            for rows in inner:
                train = np.setdiff1d(every, np.concatenate([outer, rows]))
                found[rows] = fit(X[train], y[train], level).predict(X[rows])
            scores.append(balanced_accuracy_score(y[rest], found[rest]))
        level = levels[int(np.argmax(scores))]
        train = np.setdiff1d(every, outer)
        labels[outer] = fit(X[train], y[train], level).predict(X[outer])
    return labels
