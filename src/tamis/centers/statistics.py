r"""Class moments: what one pass over the data must keep for the l2 centers.

For every class c and feature i a chunk of rows is summarised by the weight
:math:`W_c = \sum_{j \in c} w_j`, the mean :math:`\bar x_{ci}` and the variance
:math:`v_{ci} = \sum_{j \in c} w_j (x_{ji} - \bar x_{ci})^2 / W_c`; shapes (C,), (C, m), (C, m).
Summaries of two chunks merge exactly (Chan, Golub, LeVeque), which is all that `partial_fit`,
cross-validation and out-of-core training need.

The one idea that makes it fast: sums of :math:`x` and :math:`x^2` per class, straight from memory,
whatever scaling or sparsity is asked for later. Rows are taken in their order, so dense and
sparse data give the same bits (a zero adds nothing). Cancellation is handled where it can happen
and nowhere else: a column whose variance is far below its mean square is summed once more,
relative to its value in the first row. So constant columns come out exactly constant, and a large
offset costs no digits. In sparse counts most stored values are one and the same number, so there
they are counted, not summed, and only the others are corrected.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tamis._base import check_finite, count_classes
from tamis._compile import compiled, prange, twins

__all__ = ["ClassMoments", "count_usual_values", "summarise", "unsigned"]

# Below this share of the mean square a variance has lost too many digits to cancellation.
_CANCELLATION = 1e-3
_COLUMNS = 2048
_CHUNK = 1 << 15
_NOTHING = np.zeros((1, 0), dtype=np.uint32).T


@dataclass
class ClassMoments:
    """Weight, mean and variance of every class, mergeable.

    Attributes
    ----------
    weight : ndarray of shape (n_classes,)
        Sum of the sample weights.
    offset : ndarray of shape (n_features,)
        Origin that `mean` is relative to: zero, or the first row where digits would be lost.
    mean : ndarray of shape (n_classes, n_features)
        Class means minus `offset`; zero for a class without weight.
    variance : ndarray of shape (n_classes, n_features)
        Weighted mean of squared deviations from the class mean.
    n_rows : int
        Rows seen, for the bound on rounding errors.
    """

    weight: np.ndarray
    offset: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    n_rows: int

    def merge(self, other):
        """Moments of the rows of both, relative to the origin of `self`."""
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        step = (other.offset - self.offset) + other.mean - self.mean
        mean = self.mean + step * share[:, None]
        variance = self.variance + (other.variance - self.variance) * share[:, None]
        variance += step**2 * (share * (1 - share))[:, None]
        # A class that only one side has seen keeps that side's numbers as they are.
        alone = (self.weight == 0) & (other.weight > 0)
        mean[alone] = (other.mean + (other.offset - self.offset))[alone]
        return ClassMoments(weight, self.offset, mean, variance, self.n_rows + other.n_rows)

    def take(self, classes):
        """Moments of some of the classes."""
        return ClassMoments(
            self.weight[classes],
            self.offset,
            self.mean[classes],
            self.variance[classes],
            self.n_rows,
        )


def summarise(X, codes, n_classes, sample_weight=None):
    """Class moments of a chunk of rows, in one pass.

    Parameters
    ----------
    X : ndarray, CSR or CSC container of shape (n_samples, n_features)
        float32 or float64; sums are float64. NaN, infinity and values whose squares overflow
        raise ValueError; they are looked for in the sums, not in `X`.
    codes : ndarray of shape (n_samples,)
        Class index of every row, integers in 0..n_classes-1.
    n_classes : int
        Number of classes.
    sample_weight : ndarray of shape (n_samples,) or None
        Non-negative weights.

    Returns
    -------
    moments : ClassMoments
    """
    if sample_weight is None:
        weight = count_classes(codes, n_classes).astype(np.float64)
    else:
        weight = np.bincount(codes, weights=sample_weight, minlength=n_classes)
    counted = count_usual_values(X, codes, n_classes) if sample_weight is None else None
    if counted is not None and counted.canonical:
        sums, squares = counted.corrections()
        usual, count = counted.usual, counted.count.T
    else:
        sums, squares = _sums(X, codes, n_classes, sample_weight)
        usual, count = 0.0, _NOTHING
    check_finite((squares,), X)
    mean, variance, lost = _mean_and_variance(sums, squares, usual, count, weight, _CANCELLATION)
    moments = ClassMoments(weight, np.zeros(X.shape[1]), mean, variance, X.shape[0])
    columns = np.flatnonzero(lost)
    if columns.size:
        _recompute_relative_to_first_row(moments, X, codes, sample_weight, columns)
    return moments


def _sums(X, codes, n_classes, sample_weight):
    """Weighted sums of x and of x squared per class, each of shape (n_classes, n_features)."""
    weights, step = (np.ones(1), 0) if sample_weight is None else (sample_weight, 1)
    if sparse.issparse(X):
        return _sparse_sums(X, codes, n_classes, weights, step)
    shape = (n_classes, X.shape[1])
    sums, squares = np.zeros(shape), np.zeros(shape)
    rows = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[rows], np.arange(n_classes + 1))
    by_column = abs(X.strides[0]) < abs(X.strides[1])
    kernel = _dense_sums_by_column if by_column else _dense_sums
    kernel.choose(X.size)(X, rows, starts, weights, step, sums, squares)
    return sums, squares


def _sparse_sums(X, codes, n_classes, weights, step):
    # Columns first: the classes of a column lie on one cache line.
    sums, squares = np.zeros((X.shape[1], n_classes)), np.zeros((X.shape[1], n_classes))
    indices = unsigned(X.indices)
    if X.format == "csc":
        canonical = _csc_sums(X.data, indices, X.indptr, codes, weights, step, sums, squares)
    else:
        canonical = _csr_sums(X.data, indices, X.indptr, codes, weights, step, sums, squares)
    if not canonical and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()  # the square of a sum is not the sum of the squares
        return _sparse_sums(X, codes, n_classes, weights, step)
    return sums.T, squares.T


@dataclass
class UsualCounts:
    """Stored values of a sparse matrix that are nearly all the same number.

    Attributes
    ----------
    usual : float
        That number.
    count : ndarray of uint32 of shape (n_features, n_classes)
        Stored values, whatever they are.
    where, what : ndarray of shape (n_unusual,)
        The others: place in `count`, as a flat index, and value.
    canonical : bool
        Whether indices are sorted and distinct in every row.
    """

    usual: float
    count: np.ndarray
    where: np.ndarray
    what: np.ndarray
    canonical: bool

    def corrections(self):
        """What the unusual values add to the sums of x and of x squared: (n_classes, m)."""
        sums, squares = np.zeros(self.count.shape), np.zeros(self.count.shape)
        _correct_sums(self.usual, self.where, self.what, sums.ravel(), squares.ravel())
        return sums.T, squares.T


def count_usual_values(X, codes, n_classes):
    """Counts of the stored values per column and class, or None where counting does not pay."""
    if not sparse.issparse(X) or X.format != "csr" or X.nnz == 0 or n_classes > 256:
        return None
    if X.shape[1] * n_classes >= 2**32:
        return None
    sample = X.data[:: max(1, X.nnz // 1024)][:1024]
    usual = max(sample[:5].tolist(), key=lambda value: np.count_nonzero(sample == value))
    # Whole numbers only: then counting gives the bits that summing gives.
    if not usual.is_integer() or abs(usual) > 2**20 or np.mean(sample == usual) < 0.8:
        return None
    count = np.zeros((X.shape[1], n_classes), dtype=np.uint32)
    room = X.nnz // 8 + 2 * _CHUNK
    where, what = np.empty(room, dtype=np.uint32), np.empty(room)
    n_unusual, canonical = _csr_counts(
        X.data, unsigned(X.indices), X.indptr, codes, usual, count, where, what
    )
    if n_unusual < 0:
        return None
    return UsualCounts(usual, count, where[:n_unusual], what[:n_unusual], canonical)


def unsigned(indices):
    """The same indices without a sign: numba then leaves out the wrap-around of negatives."""
    if indices.dtype.itemsize < 4:
        return indices.astype(np.uint32)
    return indices.view(np.uint32 if indices.dtype.itemsize == 4 else np.uint64)


def _recompute_relative_to_first_row(moments, X, codes, sample_weight, columns):
    """Replace the moments of `columns` by ones without cancellation."""
    n_classes = moments.weight.size
    width = max(1, 4_000_000 // X.shape[0])
    for start in range(0, columns.size, width):
        some = columns[start : start + width]
        if sparse.issparse(X):
            origin, sums, squares = _shifted_sparse_sums(X, codes, moments, sample_weight, some)
        else:
            block = X[:, some].astype(np.float64, copy=False)
            origin = block[0].copy()
            sums, squares = _sums(block - origin, codes, n_classes, sample_weight)
        mean, variance, _ = _mean_and_variance(sums, squares, 0.0, _NOTHING, moments.weight, 0.0)
        moments.offset[some] = origin
        moments.mean[:, some] = mean
        moments.variance[:, some] = variance


def _shifted_sparse_sums(X, codes, moments, sample_weight, columns):
    block = X[:, columns].tocsc()
    block.sum_duplicates()
    origin = np.asarray(block[[0]].todense(), dtype=np.float64).ravel()
    owner = np.repeat(np.arange(columns.size), np.diff(block.indptr))
    shifted = sparse.csc_array(
        (block.data - origin[owner], block.indices, block.indptr), shape=block.shape
    )
    stored = sparse.csc_array((np.ones(block.nnz), block.indices, block.indptr), shape=block.shape)
    sums, squares = _sums(shifted, codes, moments.weight.size, sample_weight)
    present, _ = _sums(stored, codes, moments.weight.size, sample_weight)
    absent = moments.weight[:, None] - present  # zeros, each of them at -origin
    return origin, sums - absent * origin, squares + absent * origin**2


@twins
def _dense_sums(X, rows, starts, weights, step, sums, squares):
    # Eight rows of one class at a time, so that the accumulators are read and written once for
    # eight values; each sum still takes its rows in order.
    n_features = X.shape[1]
    for b in prange((n_features + _COLUMNS - 1) // _COLUMNS):
        first = b * _COLUMNS
        last = min(first + _COLUMNS, n_features)
        # One array for both, so that the compiler needs few overlap checks to vectorise.
        both = np.empty(2 * _COLUMNS)
        for c in range(starts.size - 1):
            both[:] = 0.0
            r = starts[c]
            while r + 8 <= starts[c + 1]:
                i0, i1, i2, i3 = rows[r], rows[r + 1], rows[r + 2], rows[r + 3]
                i4, i5, i6, i7 = rows[r + 4], rows[r + 5], rows[r + 6], rows[r + 7]
                w0, w1, w2, w3 = (
                    weights[i0 * step],
                    weights[i1 * step],
                    weights[i2 * step],
                    weights[i3 * step],
                )
                w4, w5, w6, w7 = (
                    weights[i4 * step],
                    weights[i5 * step],
                    weights[i6 * step],
                    weights[i7 * step],
                )
                x0, x1, x2, x3 = (
                    X[i0, first:last],
                    X[i1, first:last],
                    X[i2, first:last],
                    X[i3, first:last],
                )
                x4, x5, x6, x7 = (
                    X[i4, first:last],
                    X[i5, first:last],
                    X[i6, first:last],
                    X[i7, first:last],
                )
                for j in range(last - first):
                    s = both[j]
                    q = both[j + _COLUMNS]
                    v = np.float64(x0[j])
                    s += w0 * v
                    q += w0 * v * v
                    v = np.float64(x1[j])
                    s += w1 * v
                    q += w1 * v * v
                    v = np.float64(x2[j])
                    s += w2 * v
                    q += w2 * v * v
                    v = np.float64(x3[j])
                    s += w3 * v
                    q += w3 * v * v
                    v = np.float64(x4[j])
                    s += w4 * v
                    q += w4 * v * v
                    v = np.float64(x5[j])
                    s += w5 * v
                    q += w5 * v * v
                    v = np.float64(x6[j])
                    s += w6 * v
                    q += w6 * v * v
                    v = np.float64(x7[j])
                    s += w7 * v
                    q += w7 * v * v
                    both[j] = s
                    both[j + _COLUMNS] = q
                r += 8
            while r < starts[c + 1]:
                w = weights[rows[r] * step]
                x = X[rows[r], first:last]
                for j in range(last - first):
                    v = np.float64(x[j])
                    both[j] += w * v
                    both[j + _COLUMNS] += w * v * v
                r += 1
            for j in range(last - first):
                sums[c, first + j] = both[j]
                squares[c, first + j] = both[j + _COLUMNS]


@twins
def _dense_sums_by_column(X, rows, starts, weights, step, sums, squares):
    # For columns that are contiguous: four of them at a time, so that sums need not wait.
    n_features = X.shape[1]
    for b in prange((n_features + 3) // 4):
        j0 = 4 * b
        j1, j2 = min(j0 + 1, n_features - 1), min(j0 + 2, n_features - 1)
        j3 = min(j0 + 3, n_features - 1)
        for c in range(starts.size - 1):
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            q0, q1, q2, q3 = 0.0, 0.0, 0.0, 0.0
            for r in range(starts[c], starts[c + 1]):
                i = rows[r]
                w = weights[i * step]
                v0, v1 = np.float64(X[i, j0]), np.float64(X[i, j1])
                v2, v3 = np.float64(X[i, j2]), np.float64(X[i, j3])
                s0 += w * v0
                s1 += w * v1
                s2 += w * v2
                s3 += w * v3
                q0 += w * v0 * v0
                q1 += w * v1 * v1
                q2 += w * v2 * v2
                q3 += w * v3 * v3
            # The last group repeats its last column, with the same sums.
            sums[c, j0], sums[c, j1], sums[c, j2], sums[c, j3] = s0, s1, s2, s3
            squares[c, j0], squares[c, j1], squares[c, j2], squares[c, j3] = q0, q1, q2, q3


@compiled
def _count_descents(indices):
    here, before = indices[1:], indices[:-1]
    descents = 0
    for t in range(here.size):
        descents += here[t] <= before[t]
    return descents


@compiled
def _csr_counts(data, indices, indptr, codes, usual, count, where, what):
    # Counters need a quarter of the memory of two float sums, and their memory is what the
    # processor waits for. Short rows end unpredictably, and a mispredicted branch costs as much
    # as several values; so the class of every stored value is first written out for a chunk of
    # rows, sixteen at a time (the next row overwrites what is too much), and one long loop
    # counts. Values other than the usual one are noted without a branch.
    n_samples = indptr.size - 1
    n_classes = np.uint64(count.shape[1])
    flat = count.reshape(-1)
    label = np.empty(_CHUNK, np.uint8)
    found = np.empty(_CHUNK, np.uint32)
    n_unusual = 0
    descents = 0  # steps down inside a row: none when its indices are sorted and distinct
    row = 0
    while row < n_samples:
        base = indptr[row]
        stop = row
        while stop < n_samples and stop < row + 2048 and indptr[stop + 1] - base <= _CHUNK - 16:
            stop += 1
        if n_unusual + max(_CHUNK, indptr[min(row + 1, n_samples)] - base) > where.size:
            return -1, False  # not so usual after all
        if stop == row:  # a row longer than the buffer: one class, no buffer needed
            stop = row + 1
            descents -= base > 0 and indices[base] <= indices[base - 1]
            c = np.uint64(codes[row])
            for p in range(base, indptr[stop]):
                a = np.uint64(indices[np.uint64(p)]) * n_classes + c
                flat[a] += np.uint32(1)
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
            n_found = np.uint64(0)
            for t in range(indptr[stop] - base):
                p = np.uint64(t + base)
                a = np.uint64(indices[p]) * n_classes + np.uint64(label[np.uint64(t)])
                flat[a] += np.uint32(1)
                found[n_found] = np.uint32(t)
                n_found += np.uint64(data[p] != usual)
            for u in range(n_found):
                t = np.uint64(found[np.uint64(u)])
                p = t + np.uint64(base)
                a = np.uint64(indices[p]) * n_classes + np.uint64(label[t])
                where[n_unusual] = np.uint32(a)
                what[n_unusual] = data[p]
                n_unusual += 1
        descents += _count_descents(indices[max(base, 1) - 1 : indptr[stop]])
        row = stop
    return n_unusual, descents == 0


@compiled
def _correct_sums(usual, where, what, sums, squares):
    for u in range(where.size):
        v = what[u]
        sums[where[u]] += v - usual
        squares[where[u]] += v * v - usual * usual


@compiled
def _csr_sums(data, indices, indptr, codes, weights, step, sums, squares):
    n_classes = np.uint64(sums.shape[1])
    flat_sums = sums.reshape(-1)
    flat_squares = squares.reshape(-1)
    canonical = True
    for i in range(indptr.size - 1):
        c = np.uint64(codes[i])
        w = weights[i * step]
        previous = np.int64(-1)
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[np.uint64(p)]
            canonical &= np.int64(j) > previous
            previous = np.int64(j)
            a = np.uint64(j) * n_classes + c
            v = np.float64(data[np.uint64(p)])
            flat_sums[a] += w * v
            flat_squares[a] += w * v * v
    return canonical


@compiled
def _csc_sums(data, indices, indptr, codes, weights, step, sums, squares):
    canonical = True
    for j in range(indptr.size - 1):
        s = sums[j]
        q = squares[j]
        previous = np.int64(-1)
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[np.uint64(p)]
            canonical &= np.int64(i) > previous
            previous = np.int64(i)
            c = codes[np.uint64(i)]
            w = weights[np.int64(i) * step]
            v = np.float64(data[np.uint64(p)])
            s[c] += w * v
            q[c] += w * v * v
    return canonical


@compiled
def _mean_and_variance(sums, squares, usual, count, weight, tolerance):
    # One class after the other: the inner loop is then simple enough for vector instructions.
    n_classes, n_features = sums.shape
    mean = np.empty((n_classes, n_features))
    variance = np.empty((n_classes, n_features))
    all_sums = np.zeros(n_features)
    all_squares = np.zeros(n_features)
    for c in range(n_classes):
        w = weight[c] if weight[c] > 0 else 1.0
        inverse = 1.0 / w
        for j in range(n_features):
            s = sums[c, j]
            q = squares[c, j]
            if count.size:
                s += usual * count[c, j]
                q += usual * usual * count[c, j]
            all_sums[j] += s
            all_squares[j] += q
            # A true division: equal shares of the same value must give equal means.
            average = s / w
            deviation = (q - s * average) * inverse
            mean[c, j] = average
            # Rounding can leave a tiny negative number; NaN stays NaN.
            variance[c, j] = 0.0 if deviation < 0 else deviation
    total = weight.sum()
    lost = np.empty(n_features, np.bool_)
    for j in range(n_features):
        s, q = all_sums[j], all_squares[j] * total
        lost[j] = q - s * s < tolerance * q
    return mean, variance, lost
