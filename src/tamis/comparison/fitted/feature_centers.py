"""The centers of the features of a model: means, medians, or shares of categories."""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse

from tamis._array import is_sparse
from tamis._base import weighted_median

__all__ = ["class_centers"]


def class_centers(part, features, has_medians, find=None):
    """The centers of some features, and for which class each speaks.

    `part`: all rows. `features`: counted features. `has_medians`: whether the centers of numbers
    are medians; those of categories are always shares. `find`: finds the centers of some columns,
    means or medians, in other rows than those of the part. Returns `told`: by feature: "centers"
    (by class a number, or a dict from categories to shares) and "stands_out".
    """
    problem = replace(part.problem, encoded=part.preparation.pool(part.problem.encoded))
    find = find or partial(_centers, problem)
    sources, names = problem.preparation.sources, problem.preparation.columns
    categories = problem.preparation.categories
    used = part.columns[np.isin(part.feature_of, features)]
    centers = find(used, has_medians)
    dummies = np.array([sources[j] in categories for j in used], dtype=bool)
    if has_medians and dummies.any():
        centers[:, dummies] = find(used[dummies], False)
    told = {}
    for feature in map(int, features):
        mine = np.flatnonzero(problem.feature_of[used] == feature)
        columns = used[mine]
        parts = _part_names([names[j] for j in columns], [sources[j] for j in columns], categories)
        told[feature] = {
            "centers": _tell_centers(problem.classes, centers[:, mine], parts),
            "stands_out": _stands_out(problem.classes, centers[:, mine], parts),
        }
    return told


def _centers(problem, columns, use_median):
    """Means (or medians) of some columns in each class, over known values: (n_classes, n)."""
    values = problem.encoded
    weights = np.ones(problem.n_rows) if problem.weights is None else problem.weights
    if is_sparse(values):
        values = values[:, columns]
        if not use_median and not np.isnan(values.data).any():
            share = weights / np.bincount(problem.codes, weights)[problem.codes]
            member = sparse.csr_array((share, (problem.codes, np.arange(problem.n_rows))))
            return (member @ values).toarray()
        values = values.tocsc()
    centers = np.full((problem.classes.size, columns.size), np.nan)
    for j in range(columns.size):
        if is_sparse(values):
            column = values[:, [j]].toarray().ravel()
        else:
            column = values[:, columns[j]]
        for c in range(problem.classes.size):
            known = (problem.codes == c) & ~np.isnan(column) & (weights > 0)
            # A column without any value in a class has no center there.
            if known.any():
                centers[c, j] = _center(column[known], weights[known], use_median)
    return centers


def _center(values, weights, use_median):
    """Weighted mean or median."""
    if not use_median:
        return np.average(values, weights=weights)
    return weighted_median(values, weights)


def _part_names(names, sources, categories):
    """Names of the columns of one feature, categories alone; None for a single number."""
    if len(names) == 1 and sources[0] not in categories:
        return None
    return [
        name.removeprefix(f"{source}=") if source in categories else name
        for name, source in zip(names, sources, strict=True)
    ]


def _tell_centers(classes, centers, parts):
    """Centers of one feature by class; by part as well if it has several columns."""
    by_class = {}
    for label, middle in zip(classes.tolist(), centers.tolist(), strict=True):
        by_part = middle[0] if parts is None else dict(zip(parts, middle, strict=True))
        by_class[str(label)] = by_part
    return by_class


def _stands_out(classes, centers, parts):
    """The class whose centers are furthest from the mean of all, and on which side."""
    away = np.nan_to_num(centers - np.nanmean(centers, axis=0))
    c, column = np.unravel_index(np.abs(away).argmax(), away.shape)
    side = f"{'high' if away[c, column] > 0 else 'low'} in {classes[c]}"
    return side if parts is None else f"{parts[column]} {side}"
