"""Sparse counts: most stored values are the same number, so count them.

Counters of one byte need a sixteenth of the memory of two float sums, so more of them stay in the
cache. A counter that overflows carries into a larger one. Values that differ from the usual one
are listed; callers correct the counts for them.

Rows have a dozen values and lengths that no processor can predict, so a loop over rows that loops
over values waits at the end of every row, for as long as counting takes. The kernel first writes
the class of each value of a block next to it, then counts without looking at rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis._compile import WORTH_COMPILING, compiled

# Sums of squares of whole numbers up to this are exact for eight thousand rows and more.
_LARGEST = 2**20
# Values that are counted together: the lists about them stay in the cache, and fit 16 bits.
_VALUES = 1 << 15
# The class of a row is written this often at once, more than most rows have values.
_LANES = 32


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
        sums, squares = np.empty((2, *self.count.T.shape))
        if max(what.size, self.count.size) >= WORTH_COMPILING:
            _sums_of_counts(self.count, self.where, what, usual, sums, squares)
            return sums, squares
        for total, one, value in ((sums, usual, what), (squares, usual * usual, what * what)):
            excess = np.bincount(self.where, value - one, self.count.size)
            total[:] = (excess.reshape(self.count.shape) + one * self.count).T
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
    if n_unusual < 0:
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
    if np.count_nonzero(unusual) > room or not _sum_exactly(X.data[unusual]):
        return None
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
def _sums_of_counts(count, where, what, usual, sums, squares):
    n_features, n_classes = count.shape
    for c in range(n_classes):
        for j in range(n_features):
            n = np.float64(count[j, c])
            sums[c, j], squares[c, j] = usual * n, usual * usual * n
    for t in range(where.size):
        a, value = where[np.uint64(t)], what[np.uint64(t)]
        j = np.uint64(a // np.uint32(n_classes))
        c = np.uint64(a % np.uint32(n_classes))
        sums[c, j] += value - usual
        squares[c, j] += value * value - usual * usual


@compiled
def _csr_counts(data, indices, indptr, codes, usual, low, high, where, what):
    # low counts modulo 256, high the overflows.
    n_rows, n_classes = indptr.size - 1, np.uint32(low.shape[1])
    low, high = low.reshape(-1), high.reshape(-1)
    owner = np.empty(_VALUES + _LANES, np.uint8)
    place = np.empty(_VALUES, np.uint32)
    position = np.empty(_VALUES, np.uint16)
    begin, stop = np.int64(indptr[0]), np.int64(indptr[n_rows])
    n_unusual, i = 0, 0
    sums_exactly = True
    # Indices ascend in all rows if they descend only between rows.
    descents, descents_of_rows = 0, 0
    for first in range(begin, stop, _VALUES):
        last = min(first + _VALUES, stop)
        while i < n_rows:
            row, end = np.int64(indptr[np.uint64(i)]), np.int64(indptr[np.uint64(i + 1)])
            c = np.uint8(codes[np.uint64(i)])
            t = max(row, first) - first
            while t < min(end, last) - first:  # the next row overwrites what is too much
                for s in range(_LANES):
                    owner[np.uint64(t + s)] = c
                t += _LANES
            # No branch here either.
            begins = (row >= first) & (row < last) & (row < end) & (row > begin)
            j = np.uint64(begins * row)
            descents_of_rows += begins & (indices[j] <= indices[j - np.uint64(begins)])
            if end > last:
                break  # the row continues in the next block
            i += 1
        size, base = last - first, np.uint64(first)
        for t in range(size):
            p, o = base + np.uint64(t), np.uint32(owner[np.uint64(t)])
            place[np.uint64(t)] = np.uint32(indices[p]) * n_classes + o
        for p in range(max(first, begin + 1), last):
            descents += indices[np.uint64(p)] <= indices[np.uint64(p - 1)]
        n_new = 0
        for t in range(size):  # the next value takes the place of a usual one
            position[np.uint64(n_new)] = t
            n_new += data[base + np.uint64(t)] != usual
        if n_unusual + n_new > where.size:
            return -1, False  # too many unusual values
        for t in range(n_new):
            at, new = np.uint64(position[np.uint64(t)]), np.uint64(n_unusual + t)
            value = np.float64(data[base + at])
            sums_exactly &= (value == np.floor(value)) & (abs(value) <= _LARGEST)
            where[new] = place[at]
            what[new] = value
        if not sums_exactly:
            return -1, False
        n_unusual += n_new
        for t in range(size):
            a = np.uint64(place[np.uint64(t)])
            reached = np.uint8(low[a] + np.uint8(1))
            low[a] = reached
            if reached == 0:
                high[a] += np.uint32(1)
    return n_unusual, descents == descents_of_rows
