r"""Shares of the spread that the classes explain, for many labellings of the same rows.

A labelling gives each row a class, and all labellings have as many rows of each. For feature i,

.. math:: R_i = \frac{\sum_c a_c \sum_{j \in c} (|x_{ji} - \theta_i|^p - |x_{ji} - \theta_{ci}|^p)}
                    {\sum_j |x_{ji} - \theta_i|^p},
   \qquad a_c = \Bigl(\frac{n_c}{n_c + 5}\Bigr)^2 \Big/ \max_d \Bigl(\frac{n_d}{n_d + 5}\Bigr)^2,

with the means of all rows and of the classes (l2, p = 2), or their medians (l1, p = 1). It lies
between 0 and 1 whatever the units of a feature; with classes of equal size it is the share of an
analysis of variance, and the gain of the sparse centers with scaling="spread". With unequal ones
every row has the same say and not every class, and rows of a class of few have less: the mean of
five rows is where it is by chance, and of thousands of features that are zero in most rows some
always have a row in these five that is not. In permutations they would be the largest shares, and
hide what the other classes show. The say :math:`a_c` is that of a mean drawn to the mean of all
rows as if five rows there were added to each class.
Shapes: X (n, m), labels (w, n), shares (m, w).

The ideas that make it fast. For l2, all class sums are matrix products of indicators of the
labellings with X, and those of the last class follow from the others. For l1, columns are sorted
once for all labellings: going through the sorted values, the rank of a row in its class tells on
which side of the median of the class it is, so that no median is searched for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis.guarantees._share_kernels import median_gains, median_shares

# Numbers per block of shares: a few such blocks fit into the cache.
_BLOCK = 1 << 17
# Labels that are looked at together: labellings of many rows would need gigabytes otherwise.
_BLOCK_LABELS = 1 << 22
# Shares that differ by less are equal: rounding must not decide about ties.
_DIGITS = 10
# A class of so many rows has a quarter of the say of a large one.
_FEW_ROWS = 5


def column_blocks(n_columns: int, n_labellings: int) -> Iterator[slice]:
    """Slices of columns whose shares fit into a block of bounded size."""
    width = max(16, _BLOCK // max(1, n_labellings))
    return (slice(first, first + width) for first in range(0, n_columns, width))


def rescale(values: NDArray, axis: int) -> None:
    """Rescale features in place: 0 in the first row, at most 1 elsewhere; constant ones are 0."""
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

    `X` (n_rows, n_columns). `labels` (n_labellings, n_rows). Returns `shares` (n_columns,
    n_labellings): between 0 and 1, rounded to 10 digits; 0 for constant columns.
    """
    values = columns_first(X)
    sizes = np.bincount(labels[0], minlength=n_classes)
    explained = _explained_by_means if metric == "l2" else _explained_by_medians
    result, spread = explained(values, labels, sizes, _says(sizes))
    result /= np.where(spread > 1e-14, spread, np.inf)
    np.round(result, _DIGITS, out=result)
    return np.clip(result, 0.0, 1.0, out=result)


def _says(sizes):
    """What the part of each class in the share is multiplied by; 1 for the largest."""
    says = (sizes / (sizes + _FEW_ROWS)) ** 2
    return says / says.max()


def _labelling_blocks(labels):
    """Slices of labellings whose weights fit into memory of bounded size."""
    step = max(1, _BLOCK_LABELS // max(1, labels.shape[1]))
    return (slice(first, first + step) for first in range(0, labels.shape[0], step))


def _explained_by_means(values, labels, sizes, says):
    """Numerators (n_columns, n_labellings) and denominators (n_columns, 1) of the shares."""
    values -= values.mean(axis=1, keepdims=True)
    result = np.zeros((values.shape[0], labels.shape[0]))
    for some in _labelling_blocks(labels):
        part = result[:, some]
        last = np.zeros(part.shape)  # sums of the last class: those of all rows are 0
        for c, weight in enumerate(says / np.maximum(sizes, 1)):
            sums = last
            if c < sizes.size - 1:
                sums = values @ (labels[some] == c).T.astype(np.float64)
                last -= sums
            sums *= sums
            sums *= weight
            part += sums
    return result, (values * values).sum(axis=1, keepdims=True)


def _explained_by_medians(values, labels, sizes, says):
    """The same for medians."""
    order = np.argsort(values, axis=1)
    values = np.take_along_axis(values, order, axis=1)
    distances = np.abs(values - np.median(values, axis=1, keepdims=True))
    order = order.astype(np.uint32)
    result = np.empty((values.shape[0], labels.shape[0]))
    for some in _labelling_blocks(labels):
        places = labels[some].astype(np.uint32)
        part = np.empty((values.shape[0], places.shape[0]))
        median_gains(values, distances, order, places, sizes, says, part)
        result[:, some] = part
    return result, distances.sum(axis=1, keepdims=True)


def median_shares_of_sets(
    values: NDArray, labels: NDArray, n_classes: int, n_sets: int
) -> NDArray[np.float64]:
    """Shares for medians, in disjoint sets of the rows in one walk.

    `values` (n_columns, n_rows), `labels` (n_labellings, n_rows). Returns `shares` (n_columns,
    n_labellings, n_sets).
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
