"""Accuracy at a level of sparsity, read off the curves."""

import numpy as np

LEVELS = (0.8, 0.6, 0.4)


def accuracy_at(points, empty, n_features, sparsity):
    """Accuracy of a curve where a share `sparsity` of the features is not used, on average.

    Linear between the points, as in the paper; points with the same number of features count
    with their mean. At the ends: a curve that never uses as many features counts with its
    fullest point, which is within what is allowed; a curve that never gets as sparse is drawn on
    to the classifier without features.

    Parameters
    ----------
    points : list of (mean number of features, accuracy)
    empty : float
        Accuracy of the constant majority class.
    n_features : int
    sparsity : float
    """
    numbers, accuracies = np.array(points, dtype=float).T
    grid = np.unique(numbers)
    heights = np.array([accuracies[numbers == k].mean() for k in grid])
    if grid[0] > 0:
        grid, heights = np.append(0, grid), np.append(empty, heights)
    return float(np.interp((1 - sparsity) * n_features, grid, heights))


def levels_of(results, name, fraction, method, n_features, splits=None):
    """Accuracies in percent, an array (splits, levels), of the splits wanted (all by default)."""
    runs = results.runs(name, fraction, method)
    empty = results.runs(name, fraction, "majority")
    chosen = sorted(runs) if splits is None else splits
    table = [
        [
            100 * accuracy_at(runs[s]["points"], empty[s]["points"][0][1], n_features, level)
            for level in LEVELS
        ]
        for s in chosen
    ]
    return np.array(table).reshape(-1, len(LEVELS))


def standard_error(table):
    """Of the mean over splits; NaN for one split."""
    if len(table) < 2:
        return np.full(table.shape[1], np.nan)
    return table.std(axis=0, ddof=1) / np.sqrt(len(table))
