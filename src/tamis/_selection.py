"""What selecting has in common: rules over folds."""

import numpy as np

__all__ = ["choose_level", "standard_error"]


def standard_error(scores):
    """Standard error of the mean over folds (rows); 0 with a single fold."""
    n_folds = len(scores)
    if n_folds < 2:
        return np.zeros(np.shape(scores)[1:])
    return np.std(scores, axis=0, ddof=1) / np.sqrt(n_folds)


def choose_level(mean, error, rule):
    """Index of the chosen level; levels go from the sparsest to the fullest.

    "best" is the first of the largest means; "1se" the first whose mean is within one standard
    error, that of the best, of the largest.
    """
    if rule not in ("best", "1se"):
        raise ValueError(f"rule must be 'best' or '1se', got {rule!r}.")
    if np.all(np.isnan(mean)):
        raise ValueError("Every score is NaN: this scoring cannot be used on these folds.")
    best = int(np.nanargmax(mean))
    if rule == "best":
        return best
    return int(np.flatnonzero(mean >= mean[best] - error[best])[0])
