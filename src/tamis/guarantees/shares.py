r"""Shares of the spread that the classes explain, for many labellings of the same rows.

A labelling gives each row a class, or leaves it out (-1). For feature i and labelling b, with
classes of :math:`n_c` rows,

.. math:: R_{ib} = 1 - \frac{\sum_c n_c^{-1} \sum_{j \in c} |x_{ji} - \theta_{ci}|^p}
                            {\sum_c n_c^{-1} \sum_{j \in c} |x_{ji} - \tilde\theta_i|^p},

with class means and the mean of the class means (l2, p = 2), or class medians and the weighted
median of all rows (l1, p = 1). This is the gain of the sparse centers with scaling="spread": it
lies between 0 and 1 whatever the units of a feature, and ranks features as the classifier does.
Shapes: X (n, m), labels (w, n), shares (m, w).

The ideas that make it fast. For l2, all class sums are matrix products of indicators of the
labellings with X and its squares, and the sums of the last class come from the totals. For l1,
columns are sorted once for all labellings, and with :math:`f_c(t)` the share of class c up to t,

.. math:: \sum_c \frac1{n_c} \sum_{j \in c} |x_j - \theta_c| = \int \sum_c \min(f_c, 1 - f_c) dt,
   \qquad \text{spread} = \int \min\Bigl(\sum_c f_c, C - \sum_c f_c\Bigr) dt,

so one walk through the sorted values gives the share, and no median is searched for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis.guarantees._share_kernels import median_shares

__all__ = [
    "column_blocks",
    "columns_first",
    "median_shares_of_sets",
    "rescale",
    "shares_of_labellings",
]

# Numbers per block of shares: a few such blocks fit into the cache.
_BLOCK = 1 << 17
# Labels that are looked at together: labellings of many rows would need gigabytes otherwise.
_BLOCK_LABELS = 1 << 22
# Shares that differ by less are equal: rounding must not decide about ties.
_DIGITS = 10


def column_blocks(n_columns: int, n_labellings: int) -> Iterator[slice]:
    """Slices of columns whose shares fit into a block of bounded size."""
    width = max(16, _BLOCK // max(1, n_labellings))
    return (slice(first, first + width) for first in range(0, n_columns, width))


def rescale(values: NDArray, axis: int) -> None:
    """Rescale features in place: 0 in the first row, at most 1 elsewhere; constant ones are 0.

    Parameters
    ----------
    values : ndarray of float64
    axis : int
        The axis of the rows.
    """
    first = (slice(0, 1), slice(None)) if axis == 0 else (slice(None), slice(0, 1))
    _divide_by_size(values, axis)  # so that differences do not overflow
    values -= values[first].copy()
    _divide_by_size(values, axis)


def _divide_by_size(values, axis):
    size = np.maximum(values.max(axis=axis, keepdims=True), -values.min(axis=axis, keepdims=True))
    values /= np.where(size > 0, size, 1.0)


def columns_first(X: Matrix) -> NDArray[np.float64]:
    """A rescaled copy of dense or sparse columns, of shape (n_columns, n_rows)."""
    values = X.toarray() if is_sparse(X) else np.asarray(X)
    values = np.array(values.T, dtype=np.float64, order="C")
    rescale(values, axis=1)
    return values


def shares_of_labellings(
    X: Matrix, labels: NDArray, n_classes: int, metric: str
) -> NDArray[np.float64]:
    """Share of each column's spread that each labelling explains.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_rows, n_columns)
        A block of columns, finite.
    labels : ndarray of int of shape (n_labellings, n_rows)
        Class indices; negative for rows that are left out.
    n_classes : int
    metric : {"l2", "l1"}

    Returns
    -------
    shares : ndarray of shape (n_columns, n_labellings)
        Between 0 and 1, rounded to 10 digits; 0 for constant columns.
    """
    values = columns_first(X)
    if metric == "l1":
        result = median_shares_of_sets(values, labels, n_classes, 1)[:, :, 0]
    else:
        values -= values.mean(axis=1, keepdims=True)
        result = np.empty((values.shape[0], labels.shape[0]))
        for some in _labelling_blocks(labels):
            result[:, some] = _mean_shares(values, labels[some], n_classes)
    np.round(result, _DIGITS, out=result)
    return np.clip(result, 0.0, 1.0, out=result)


def _labelling_blocks(labels):
    """Slices of labellings whose weights fit into memory of bounded size."""
    step = max(1, _BLOCK_LABELS // max(1, labels.shape[1]))
    return (slice(first, first + step) for first in range(0, labels.shape[0], step))


def _mean_shares(values, labels, n_classes):
    """Shares of centred columns, for means."""
    present = labels >= 0
    rest = None if present.all() else values @ present.T.astype(np.float64)
    weights = np.zeros(labels.shape)
    total = np.zeros((values.shape[0], labels.shape[0]))  # sum of the class means
    between = np.zeros_like(total)
    for c in range(n_classes):
        members = labels == c
        count = members.sum(axis=1)
        weight = np.divide(1.0, count, out=np.zeros(count.size), where=count > 0)
        weights += members * weight[:, None]
        if c < n_classes - 1:
            sums = values @ members.T.astype(np.float64)
            rest = -sums if rest is None else np.subtract(rest, sums, out=rest)
        else:
            sums = rest  # from the totals, which are 0 if no row is left out
        sums *= weight
        total += sums
        sums *= sums
        between += sums
    spread = (values * values) @ weights.T
    total *= total
    total /= n_classes
    spread -= total
    between -= total
    between[spread <= 1e-14] = 0.0
    return np.divide(between, np.maximum(spread, 1e-14, out=spread), out=between)


def median_shares_of_sets(
    values: NDArray, labels: NDArray, n_classes: int, n_sets: int
) -> NDArray[np.float64]:
    """Shares for medians, in disjoint sets of the rows in one walk.

    Parameters
    ----------
    values : ndarray of shape (n_columns, n_rows)
        Rescaled columns.
    labels : ndarray of int of shape (n_labellings, n_rows)
        s n_classes + c for class c of set s; negative for rows that are left out.
    n_classes, n_sets : int

    Returns
    -------
    shares : ndarray of shape (n_columns, n_labellings, n_sets)
    """
    order = np.argsort(values, axis=1)
    values = np.take_along_axis(values, order, axis=1)
    order = order.astype(np.uint32)
    shares = np.empty((values.shape[0], labels.shape[0], n_sets))
    n_labels = n_sets * n_classes
    for some in _labelling_blocks(labels):
        places = np.where(labels[some] < 0, n_labels, labels[some]).astype(np.uint32)
        sizes = np.stack([(places == c).sum(axis=1) for c in range(n_labels + 1)], axis=1)
        weights = np.divide(1.0, sizes, out=np.zeros(sizes.shape), where=sizes > 0)
        weights[:, n_labels] = 0.0
        part = np.empty((values.shape[0], places.shape[0], n_sets))
        median_shares(values, order, places, sizes, weights, n_classes, part)
        shares[:, some] = part
    return shares
