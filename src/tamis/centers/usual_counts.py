"""Sparse counts: most stored values are the same number, so count them.

Counters of one byte need a sixteenth of the memory of two float sums, so more of them stay in the
cache, and memory access takes most of the time. A counter that overflows carries into a larger
one.
Values that differ from the usual one are listed; callers correct the counts for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis._compile import WORTH_COMPILING, compiled

# Sums of squares of whole numbers up to this are exact for eight thousand rows and more.
_LARGEST = 2**20


@dataclass
class UsualCounts:
    """Stored values of a sparse matrix that are nearly all the same number."""

    usual: float  # that number
    count: NDArray  # (n_features, n_classes): number of stored values, usual or not
    # where, what: (n_unusual,): the others: flat index into `count`, and value.
    where: NDArray
    what: NDArray
    canonical: bool  # whether indices are sorted and distinct in each row

    def sums(self) -> tuple[NDArray, NDArray]:
        """Sums of x and of x squared, each of shape (n_classes, n_features)."""
        usual, what = self.usual, self.what
        excess = [what - usual, what * what - usual * usual]
        sums, squares = (
            np.bincount(self.where, part, self.count.size).reshape(self.count.shape).T
            for part in excess
        )
        count = self.count.T
        return (
            np.ascontiguousarray(sums + usual * count),
            np.ascontiguousarray(squares + usual * usual * count),
        )


def count_usual_values(X: Matrix, codes: NDArray, n_classes: int) -> UsualCounts | None:
    """Counts of the stored values per column and class, or None if counting does not pay."""
    if not is_sparse(X) or X.format != "csr" or X.nnz == 0 or n_classes > 256:
        return None
    if X.shape[1] * n_classes >= 2**32:
        return None
    sample = X.data[:: max(1, X.nnz // 1024)][:1024]
    usual = max(sample[:5].tolist(), key=lambda value: np.count_nonzero(sample == value))
    # Whole numbers only: then counting gives the same bits as summing.
    if not _sum_exactly(np.array(usual)) or np.mean(sample == usual) < 0.8:
        return None
    room = X.nnz // 8 + 1024
    if max(X.nnz, X.shape[1] * n_classes) < WORTH_COMPILING:
        return _count_few(X, codes, n_classes, usual, room)
    low = np.zeros((X.shape[1], n_classes), dtype=np.uint8)
    count = np.zeros(low.shape, dtype=np.uint32)
    where, what = np.empty(room, dtype=np.uint32), np.empty(room)
    n_unusual, canonical = _csr_counts(
        X.data, unsigned(X.indices), X.indptr, codes, usual, low, count, where, what
    )
    if n_unusual < 0 or not _sum_exactly(what[:n_unusual]):
        return None
    count *= 256
    count += low
    return UsualCounts(usual, count, where[:n_unusual], what[:n_unusual], canonical)


def _sum_exactly(values):
    """Whether all are whole numbers whose squares can be summed without rounding."""
    return bool(np.all((values == np.floor(values)) & (np.abs(values) <= _LARGEST)))


def _count_few(X, codes, n_classes, usual, room):
    """The same counts without compiled code."""
    size = np.diff(X.indptr)
    row = np.repeat(np.arange(size.size), size)
    place = X.indices * np.int64(n_classes) + codes[row]
    unusual = X.data != usual
    seen = np.concatenate([[0], np.cumsum(unusual)])[X.indptr[:-1]]
    if np.any(seen + size >= room) or not _sum_exactly(X.data[unusual]):
        return None  # too many unusual values
    count = np.bincount(place, minlength=X.shape[1] * n_classes).astype(np.uint32)
    canonical = bool(np.all((np.diff(X.indices) > 0) | (np.diff(row) > 0)))
    return UsualCounts(
        usual,
        count.reshape(X.shape[1], n_classes),
        place[unusual].astype(np.uint32),
        X.data[unusual].astype(np.float64),
        canonical,
    )


def unsigned(indices: NDArray) -> NDArray:
    """The same indices as unsigned integers: numba then skips the wrap-around of negatives."""
    if indices.dtype.itemsize < 4:
        return indices.astype(np.uint32)
    return indices.view(np.uint32 if indices.dtype.itemsize == 4 else np.uint64)


@compiled
def _csr_counts(data, indices, indptr, codes, usual, low, high, where, what):
    # low counts modulo 256, high the overflows. Every value is noted as if it were unusual; the
    # next one replaces it unless it is. That costs less than a branch that is hard to predict.
    n_classes = np.uint32(low.shape[1])
    low, high = low.reshape(-1), high.reshape(-1)
    n_unusual = np.uint64(0)
    canonical = True
    p = np.uint64(indptr[0])
    for i in range(indptr.size - 1):
        c = np.uint32(codes[np.uint64(i)])
        end = np.uint64(indptr[np.uint64(i + 1)])
        if n_unusual + (end - p) >= np.uint64(where.size):
            return -1, False  # too many unusual values
        previous = np.int64(-1)
        while p < end:
            j = indices[p]
            canonical &= np.int64(j) > previous
            previous = np.int64(j)
            a = np.uint64(np.uint32(j) * n_classes + c)
            reached = np.uint8(low[a] + np.uint8(1))
            low[a] = reached
            if reached == 0:
                high[a] += np.uint32(1)
            where[n_unusual] = np.uint32(a)
            what[n_unusual] = data[p]
            n_unusual += np.uint64(data[p] != usual)
            p += np.uint64(1)
    return np.int64(n_unusual), canonical
