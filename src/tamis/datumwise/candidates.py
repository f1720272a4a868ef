"""Standardize columns, and preselect the blocks worth asking for if there are many."""

import numpy as np

from tamis._base import order_by_score

# Ridge of the regression that ranks columns, per row.
_RIDGE = 0.1


def find_scaling(X):
    """Origin, unit and center of each column, from the values that are not missing.

    A standardized value is ``(x / 4 - origin) / unit - center``: differences from a value of the
    column avoid cancellation with large offsets, and quarters avoid overflow of the largest
    numbers.

    `X` (n_samples, n_columns): each column has at least one value that is not NaN. Returns
    `scaling` (3, n_columns).
    """
    has = ~np.isnan(X)
    count = np.maximum(has.sum(axis=0), 1)
    origin = 0.25 * X[has.argmax(axis=0), np.arange(X.shape[1])]
    apart = np.where(has, 0.25 * X - origin, 0.0)
    largest = np.abs(apart).max(axis=0, initial=0.0)
    largest[largest == 0] = 1.0
    relative = apart / largest
    mean = relative.sum(axis=0) / count
    deviation = np.sqrt((np.where(has, relative - mean, 0.0) ** 2).sum(axis=0) / count)
    deviation[~(deviation * largest > 0)] = 1.0
    return np.stack([origin, largest * deviation, mean / deviation])


def standardize(X, scaling):
    """Standardized values, 0 where missing."""
    origin, unit, center = scaling
    return np.where(np.isnan(X), 0.0, (0.25 * X - origin) / unit - center)


def choose_candidates(X, codes, process, n_candidates):
    """Blocks with values, at most `n_candidates` of them, ascending.

    Columns have two ranks: by the F statistic of the classes, and by the l2 norm of their weights
    in a ridge regression of the classes on all columns (a missing value counts as the mean). A
    block has the best rank of its columns in either, so that half of the candidates are good alone
    and half are good together with others; ties go to the lower block.
    """
    usable = np.unique(process.block_of[(~np.isnan(X)).any(axis=0)])
    if usable.size <= n_candidates:
        return usable
    columns = np.flatnonzero(np.isin(process.block_of, usable))
    X = X[:, columns]
    values = standardize(X, find_scaling(X))
    targets = (codes[:, None] == np.arange(process.n_classes)).astype(np.float64)
    alone = _f_statistics(values, ~np.isnan(X), targets)
    beside = np.linalg.norm(_ridge_weights(values, targets), axis=1)
    rank = np.full(process.n_blocks, 2 * columns.size)
    for place, scores in enumerate((alone, beside)):
        order = order_by_score(scores)
        np.minimum.at(rank, process.block_of[columns[order]], 2 * np.arange(order.size) + place)
    return np.sort(usable[np.argsort(rank[usable], kind="stable")[:n_candidates]])


def _f_statistics(values, has, targets):
    """Variance between the classes over that within them, of the values that are not missing."""
    count = targets.T @ has
    mean = (targets.T @ values) / np.maximum(count, 1)
    total = values.sum(axis=0) / np.maximum(has.sum(axis=0), 1)
    between = (count * (mean - total) ** 2).sum(axis=0)
    whole = (has * (values - total) ** 2).sum(axis=0)
    within = np.maximum(whole - between, 1e-12 * whole)
    return np.where(whole > 0, between / np.where(whole > 0, within, 1.0), 0.0)


def _ridge_weights(values, targets):
    """Ridge regression of centered targets, in the smaller of the two forms."""
    n_samples, n_columns = values.shape
    targets = targets - targets.mean(axis=0)
    ridge = _RIDGE * n_samples
    if n_columns <= n_samples:
        gram = values.T @ values + ridge * np.eye(n_columns)
        return np.linalg.solve(gram, values.T @ targets)
    gram = values @ values.T + ridge * np.eye(n_samples)
    return values.T @ np.linalg.solve(gram, targets)
