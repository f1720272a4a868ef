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
from tamis._compile import compiled

__all__ = ["UsualCounts", "count_usual_values", "unsigned"]

_CHUNK = 1 << 12


@dataclass
class UsualCounts:
    """Stored values of a sparse matrix that are nearly all the same number.

    Attributes
    ----------
    usual : float
        That number.
    count : ndarray of uint32 of shape (n_features, n_classes)
        Number of stored values, usual or not.
    where, what : ndarray of shape (n_unusual,)
        The others: flat index into `count`, and value.
    canonical : bool
        Whether indices are sorted and distinct in each row.
    """

    usual: float
    count: NDArray
    where: NDArray
    what: NDArray
    canonical: bool

    def sums(self) -> tuple[NDArray, NDArray]:
        """Sums of x and of x squared, each of shape (n_classes, n_features)."""
        sums, squares = np.zeros((2, *self.count.T.shape))
        _sum_counts(self.usual, self.count, self.where, self.what, sums, squares)
        return sums, squares


def count_usual_values(X: Matrix, codes: NDArray, n_classes: int) -> UsualCounts | None:
    """Counts of the stored values per column and class, or None if counting does not pay."""
    if not is_sparse(X) or X.format != "csr" or X.nnz == 0 or n_classes > 256:
        return None
    if X.shape[1] * n_classes >= 2**32:
        return None
    sample = X.data[:: max(1, X.nnz // 1024)][:1024]
    usual = max(sample[:5].tolist(), key=lambda value: np.count_nonzero(sample == value))
    # Whole numbers only: then counting gives the same bits as summing.
    if not usual.is_integer() or abs(usual) > 2**20 or np.mean(sample == usual) < 0.8:
        return None
    low = np.zeros((X.shape[1], n_classes), dtype=np.uint8)
    count = np.zeros(low.shape, dtype=np.uint32)
    room = X.nnz // 8 + 2 * _CHUNK
    where, what = np.empty(room, dtype=np.uint32), np.empty(room)
    n_unusual, canonical = _csr_counts(
        X.data, unsigned(X.indices), X.indptr, codes, usual, low, count, where, what
    )
    if n_unusual < 0:
        return None
    count *= 256
    count += low
    return UsualCounts(usual, count, where[:n_unusual], what[:n_unusual], canonical)


def unsigned(indices: NDArray) -> NDArray:
    """The same indices as unsigned integers: numba then skips the wrap-around of negatives."""
    if indices.dtype.itemsize < 4:
        return indices.astype(np.uint32)
    return indices.view(np.uint32 if indices.dtype.itemsize == 4 else np.uint64)


@compiled
def _count_descents(indices):
    here, before = indices[1:], indices[:-1]
    descents = 0
    for t in range(here.size):
        descents += here[t] <= before[t]
    return descents


@compiled
def _csr_counts(data, indices, indptr, codes, usual, low, high, where, what):
    # low counts modulo 256, high the overflows.
    # Short rows end unpredictably, and a mispredicted branch costs as much
    # as several values; so the class of every stored value is first written out for a chunk of
    # rows, sixteen at a time (the next row overwrites the excess), and one long loop
    # counts. Values other than the usual one are noted without a branch.
    n_samples = indptr.size - 1
    n_classes = np.uint64(low.shape[1])
    low, high = low.reshape(-1), high.reshape(-1)
    label = np.empty(_CHUNK, np.uint8)
    others = np.empty(_CHUNK, np.uint32)
    n_unusual = 0
    descents = 0  # steps down inside a row: none when its indices are sorted and distinct
    row = 0
    while row < n_samples:
        base = indptr[row]
        stop = row
        while stop < n_samples and stop < row + 2048 and indptr[stop + 1] - base <= _CHUNK - 16:
            stop += 1
        if n_unusual + max(_CHUNK, indptr[min(row + 1, n_samples)] - base) > where.size:
            return -1, False  # too many unusual values
        if stop == row:  # a row longer than the buffer: one class, no buffer needed
            stop = row + 1
            descents -= base > 0 and indices[base] <= indices[base - 1]
            c = np.uint64(codes[row])
            for p in range(base, indptr[stop]):
                a = np.uint64(indices[np.uint64(p)]) * n_classes + c
                low[a] += np.uint8(1)
                high[a] += np.uint32(low[a] == 0)
                if data[np.uint64(p)] != usual:
                    where[n_unusual] = np.uint32(a)
                    what[n_unusual] = data[np.uint64(p)]
                    n_unusual += 1
        else:
            for i in range(row, stop):
                c = np.uint8(codes[np.uint64(i)])
                at = np.uint64(indptr[np.uint64(i)] - base)
                end = np.uint64(indptr[np.uint64(i + 1)] - base)
                for t in range(16):
                    label[at + np.uint64(t)] = c
                if at < end and indptr[np.uint64(i)] > 0:
                    p = np.uint64(indptr[np.uint64(i)])
                    descents -= indices[p] <= indices[p - np.uint64(1)]
                at += np.uint64(16)
                while at < end:
                    label[at] = c
                    at += np.uint64(1)
            n_others = np.uint64(0)
            for t in range(indptr[stop] - base):
                p = np.uint64(t + base)
                a = np.uint64(indices[p]) * n_classes + np.uint64(label[np.uint64(t)])
                reached = np.uint8(low[a] + np.uint8(1))
                low[a] = reached
                if reached == 0:
                    high[a] += np.uint32(1)
                others[n_others] = np.uint32(t)
                n_others += np.uint64(data[p] != usual)
            for u in range(n_others):
                t = np.uint64(others[np.uint64(u)])
                p = t + np.uint64(base)
                a = np.uint64(indices[p]) * n_classes + np.uint64(label[t])
                where[n_unusual] = np.uint32(a)
                what[n_unusual] = data[p]
                n_unusual += 1
        descents += _count_descents(indices[max(base, 1) - 1 : indptr[stop]])
        row = stop
    return n_unusual, descents == 0


@compiled
def _sum_counts(usual, count, where, what, sums, squares):
    n_classes = np.uint32(count.shape[1])
    for u in range(where.size):
        v = what[u]
        j = where[u] // n_classes
        c = where[u] - j * n_classes
        sums[c, j] += v - usual
        squares[c, j] += v * v - usual * usual
    for c in range(count.shape[1]):
        for j in range(count.shape[0]):
            sums[c, j] += usual * count[j, c]
            squares[c, j] += usual * usual * count[j, c]
