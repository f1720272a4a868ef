"""Class moments together with counts of non-zeros: what a table of features per class needs.

Summaries of chunks of rows merge, also if a chunk has only some of the classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis._compile import WORTH_COMPILING
from tamis.centers._nonzero_kernels import csc_nonzeros, csr_nonzeros
from tamis.centers.statistics import ClassMoments, summarise
from tamis.centers.usual_counts import unsigned

_BLOCK = 4_000_000


@dataclass
class ClassCounts:
    """What is known of each class."""

    labels: NDArray  # (n_classes,): the classes, in order
    moments: ClassMoments  # number of rows, mean and variance
    # (n_classes, n_features), or None: number of rows in which a feature is not zero; None if it
    # is unknown.
    nonzeros: NDArray | None

    def merge(self, other: ClassCounts) -> ClassCounts:
        """Of the rows and classes of both, which have the same features."""
        labels = np.union1d(self.labels, other.labels)
        one, two = self._spread(labels), other._spread(labels)
        assert one.nonzeros is not None and two.nonzeros is not None
        return ClassCounts(labels, one.moments.merge(two.moments), one.nonzeros + two.nonzeros)

    def _spread(self, labels):
        places = np.searchsorted(labels, self.labels)
        if places.size == labels.size:
            return self
        nonzeros = np.zeros((labels.size, self.nonzeros.shape[1]), dtype=np.int64)
        nonzeros[places] = self.nonzeros
        return ClassCounts(labels, self.moments.spread(places, labels.size), nonzeros)


def count_and_summarise(X: Matrix, labels: NDArray, codes: NDArray) -> ClassCounts:
    """Moments and non-zeros of a chunk of rows, without making sparse data dense.

    `X` (n_samples, n_features): float32 or float64. NaN and infinity raise ValueError. `labels`
    (n_classes,). `codes` (n_samples,): class index of each row.
    """
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()  # a sum of two stored values is one value
    moments = summarise(X, codes, labels.size)
    return ClassCounts(labels, moments, _count_nonzeros(X, labels.size, codes))


def _count_nonzeros(X, n_classes, codes):
    count = np.zeros((n_classes, X.shape[1]), dtype=np.int64)
    rows = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[rows], np.arange(n_classes + 1))
    if not is_sparse(X):
        step = max(1, _BLOCK // max(1, X.shape[1]))
        for c, (first, last) in enumerate(pairwise(starts)):
            for start in range(first, last, step):
                some = rows[start : min(start + step, last)]
                count[c] += np.count_nonzero(X[some], axis=0)
    elif max(X.nnz, count.size) < WORTH_COMPILING:
        owner = np.repeat(np.arange(X.indptr.size - 1), np.diff(X.indptr))
        row, column = (X.indices, owner) if X.format == "csc" else (owner, X.indices)
        place = (codes[row] * X.shape[1] + column)[X.data != 0]
        count = np.bincount(place, minlength=count.size).reshape(count.shape)
    elif X.format == "csc":
        csc_nonzeros(X.data, unsigned(X.indices), X.indptr, codes, count)
    else:
        csr_nonzeros(X.data, unsigned(X.indices), X.indptr, rows, starts, count)
    return count


def rest_of_each_class(moments: ClassMoments) -> Iterator[ClassMoments]:
    """Moments of all rows outside class 0, then outside class 1, and so on.

    Total minus class would lose digits: a gene that only one class has is all but constant in the
    rest. Here the classes before and after are merged instead, in O(C m) for all C classes.
    """
    n_classes = moments.weight.size
    each = [moments.take(slice(c, c + 1)) for c in range(n_classes)]
    nothing = replace(
        each[0],
        weight=np.zeros(1),
        mean=np.zeros_like(each[0].mean),
        variance=np.zeros_like(each[0].variance),
        n_rows=0,
    )
    after = [nothing]
    for part in each[:0:-1]:
        after.append(part.merge(after[-1]))
    before = nothing
    for part in each:
        yield before.merge(after.pop())
        before = before.merge(part)
