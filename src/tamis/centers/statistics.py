r"""Class moments: the statistics that the l2 centers need from one pass over the data.

For each class c and feature i, a chunk of rows is summarised by the weight
:math:`W_c = \sum_{j \in c} w_j`, the mean :math:`\bar x_{ci}` and the variance
:math:`v_{ci} = \sum_{j \in c} w_j (x_{ji} - \bar x_{ci})^2 / W_c`; shapes (C,), (C, m), (C, m).
Summaries of two chunks merge exactly (Chan, Golub, LeVeque), which is all that `partial_fit`,
cross-validation and out-of-core training need.

The idea that makes it fast: sums of :math:`x` and :math:`x^2` per class, straight from memory, for
any scaling or number of features later. Rows are added in their order, so dense and sparse data
give the same bits (a zero adds nothing). Cancellation is handled only where it can happen: a
column whose variance is far below its mean square is summed once more, relative to its value in
the first row. So constant columns come out exactly constant, and a large offset costs no digits.
In sparse counts most stored values are the same number, so they are counted, not summed, and only
the others are corrected.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import assert_all_finite

from tamis._array import Matrix, is_on_device, is_sparse
from tamis._base import check_finite, count_classes
from tamis._compile import WORTH_COMPILING
from tamis.centers._device_sums import device_moments
from tamis.centers._moment_kernels import (
    csc_sums,
    csr_sums,
    csr_sums_by_class,
    dense_sums,
    dense_sums_by_column,
    finish_moments,
)
from tamis.centers.units import LARGE, divide, heavy_rows, units_of
from tamis.centers.usual_counts import count_usual_values, unsigned

# Below this share of the mean square a variance has lost too many digits to cancellation.
_CANCELLATION = 1e-3
# Columns that are finished together, so that their totals stay in the cache.
_BLOCK = 1024
# Sums of all classes and features that stay in the cache while rows come in any order.
_CACHED_SUMS = 1 << 16
# Rows with more stored values than this are worth reading in the order of classes.
_LONG_ROW = 64


@dataclass
class ClassMoments:
    """Weight, mean and variance of each class, mergeable."""

    weight: NDArray  # (n_classes,): sum of the sample weights
    # (n_features,): origin that `mean` is relative to: zero, or the first row if digits would be
    # lost.
    offset: NDArray
    # (n_classes, n_features): class means minus `offset`; zero for a class without weight.
    mean: NDArray
    # (n_classes, n_features): weighted mean of squared deviations from the class mean.
    variance: NDArray
    n_rows: int  # rows seen, for the bound on rounding errors
    # (n_features,) or None: powers of two that columns were divided by if squares would overflow
    # or vanish.
    unit: NDArray | None = None

    def merge(self, other: ClassMoments) -> ClassMoments:
        """Moments of the rows of both, relative to the origin of `self`."""
        if self.unit is not other.unit:
            unit = np.maximum(self._size_of_unit(), other._size_of_unit())
            unit[unit == 0] = 1.0
            self, other = self._in(unit), other._in(unit)
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        step = (other.offset - self.offset) + other.mean - self.mean
        mean = self.mean + step * share[:, None]
        variance = self.variance + (other.variance - self.variance) * share[:, None]
        variance += step**2 * (share * (1 - share))[:, None]
        # A class that only one side has seen keeps that side's numbers unchanged.
        alone = (self.weight == 0) & (other.weight > 0)
        mean[alone] = (other.mean + (other.offset - self.offset))[alone]
        n_rows = self.n_rows + other.n_rows
        return ClassMoments(weight, self.offset, mean, variance, n_rows, self.unit)

    def _size_of_unit(self):
        """Units, and 0 for columns of zeros, which fit any unit."""
        unit = np.ones_like(self.offset) if self.unit is None else self.unit
        empty = (self.offset == 0) & ~self.mean.any(axis=0) & ~self.variance.any(axis=0)
        return np.where(empty, 0.0, unit)

    def _in(self, unit):
        """The same moments in other units, at least as large."""
        ratio = (1.0 if self.unit is None else self.unit) / unit
        with np.errstate(under="ignore"):
            return ClassMoments(
                self.weight,
                self.offset * ratio,
                self.mean * ratio,
                self.variance * ratio * ratio,
                self.n_rows,
                unit,
            )

    def spread(self, places: NDArray, n_classes: int) -> ClassMoments:
        """The same moments with their classes at other places among more classes."""
        weight = np.zeros(n_classes)
        mean, variance = np.zeros((2, n_classes, self.offset.size))
        weight[places], mean[places], variance[places] = self.weight, self.mean, self.variance
        return ClassMoments(weight, self.offset, mean, variance, self.n_rows, self.unit)

    def take(self, classes: NDArray | slice) -> ClassMoments:
        """Moments of some of the classes."""
        return ClassMoments(
            self.weight[classes],
            self.offset,
            self.mean[classes],
            self.variance[classes],
            self.n_rows,
            self.unit,
        )


def summarise(
    X: Matrix, codes: NDArray, n_classes: int, sample_weight: NDArray | None = None
) -> ClassMoments:
    """Class moments of a chunk of rows, in one pass.

    `X` (n_samples, n_features): float32 or float64; sums are float64. NaN and infinity raise
    ValueError; they are detected in the sums, not in `X`. `codes` (n_samples,): class index of
    each row, integers in 0..n_classes-1. `n_classes`: number of classes. `sample_weight`
    (n_samples,) or None: non-negative weights.
    """
    if is_on_device(X):
        return _summarise_on_device(X, codes, n_classes, sample_weight)
    moments, unsafe = _summarise_as_it_is(X, codes, n_classes, sample_weight)
    columns = np.flatnonzero(unsafe)
    if columns.size:
        _recompute_in_own_units(moments, X, codes, sample_weight, columns)
    return moments


def _summarise_on_device(X, codes, n_classes, sample_weight):
    weight, *moments = device_moments(X, codes, n_classes, sample_weight)
    check_finite(moments[2:], X)  # a variance is not finite if anything else is not
    return ClassMoments(weight, *moments, codes.size)


def _summarise_as_it_is(X, codes, n_classes, sample_weight):
    """Moments in the units of X, and the columns in which squares overflow or vanish."""
    if sample_weight is None:
        weight = count_classes(codes, n_classes).astype(np.float64)
    else:
        weight = np.bincount(codes, weights=sample_weight, minlength=n_classes)
    sums, squares = _sums(X, codes, n_classes, sample_weight)
    lost, unsafe = _finish(sums, squares, weight)
    moments = ClassMoments(weight, np.zeros(X.shape[1]), sums, squares, X.shape[0])
    columns = np.flatnonzero(lost)
    if columns.size:
        _recompute_relative_to_first_row(moments, X, codes, sample_weight, columns)
    return moments, unsafe


def _recompute_in_own_units(moments, X, codes, sample_weight, columns):
    """Replace the moments of `columns` by those of the columns divided by powers of two."""
    block = X[:, columns]
    assert_all_finite(block.data if is_sparse(block) else block, input_name="X")
    block, codes, sample_weight = heavy_rows(block, codes, sample_weight)
    unit = units_of(block)
    block = divide(block, unit)
    part, _ = _summarise_as_it_is(block, codes, moments.weight.size, sample_weight)
    moments.unit = np.ones(X.shape[1])
    moments.unit[columns] = unit
    moments.offset[columns] = part.offset
    moments.mean[:, columns] = part.mean
    moments.variance[:, columns] = part.variance


def _sums(X, codes, n_classes, sample_weight):
    """Weighted sums of x and of x squared per class, each of shape (n_classes, n_features)."""
    size = X.nnz if is_sparse(X) else X.size
    if max(size, n_classes * X.shape[1]) < WORTH_COMPILING:
        return _sums_of_few(X, codes, n_classes, sample_weight)
    weights, step = (np.ones(1), 0) if sample_weight is None else (sample_weight, 1)
    if is_sparse(X):
        return _sparse_sums(X, codes, n_classes, weights, step)
    sums, squares = np.zeros((2, n_classes, X.shape[1]))
    by_column = abs(X.strides[0]) < abs(X.strides[1])
    kernel = dense_sums_by_column if by_column else dense_sums
    rows, starts = _rows_by_class(codes, n_classes)
    kernel.choose(X.size)(X, rows, starts, weights, step, sums, squares)
    return sums, squares


def _sums_of_few(X, codes, n_classes, sample_weight):
    """The same sums without compiled code; `bincount` adds in the same order."""
    n_features = X.shape[1]
    if is_sparse(X):
        X = _without_duplicates(X)
        rows, columns = np.repeat(np.arange(X.indptr.size - 1), np.diff(X.indptr)), X.indices
        rows, columns = (columns, rows) if X.format == "csc" else (rows, columns)
        values = X.data.astype(np.float64)
    else:
        rows = np.repeat(np.arange(X.shape[0]), n_features)
        columns = np.tile(np.arange(n_features), X.shape[0])
        values = X.ravel().astype(np.float64)
    weighted = values if sample_weight is None else sample_weight[rows] * values
    place = codes[rows] * n_features + columns
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        both = [
            np.bincount(place, w, n_classes * n_features) for w in (weighted, weighted * values)
        ]
    # Without any value, `bincount` counts in integers.
    sums, squares = np.asarray(both, dtype=np.float64).reshape(2, n_classes, n_features)
    return sums, squares


def _rows_by_class(codes, n_classes):
    """Rows in the order of their classes, and where each class begins."""
    # Numpy sorts 16 bits in linear time.
    rows = np.argsort(codes.astype(np.uint16) if n_classes <= 2**16 else codes, kind="stable")
    return rows, np.concatenate([[0], np.cumsum(count_classes(codes, n_classes))])


def _sparse_sums(X, codes, n_classes, weights, step):
    n_rows, n_features = X.shape
    n_sums = n_classes * n_features
    # Rows in another order must be worth finding, or sums in any order slower than memory.
    long = X.nnz > _LONG_ROW * n_rows
    by_class = n_sums > _CACHED_SUMS and (long or n_sums > 64 * _CACHED_SUMS)
    if step == 0 and not (long or by_class):
        counted = count_usual_values(X, codes, n_classes)
        if counted is not None and counted.canonical:
            return counted.sums()
    arrays = X.data, unsigned(X.indices), X.indptr
    if X.format == "csc" or by_class:
        sums, squares = np.zeros((2, n_classes, n_features))
        if X.format == "csc":
            canonical = csc_sums(*arrays, codes, weights, step, sums, squares)
        else:
            rows, starts = _rows_by_class(codes, n_classes)
            both = np.zeros((n_features, 2))
            canonical = csr_sums_by_class(
                *arrays, rows, starts, weights, step, both, sums, squares
            )
    else:
        both = np.zeros((n_features, n_classes, 2))
        canonical = csr_sums(*arrays, codes, weights, step, both)
        sums, squares = np.ascontiguousarray(both.transpose(2, 1, 0))
    if not canonical and not X.has_canonical_format:
        return _sparse_sums(_without_duplicates(X), codes, n_classes, weights, step)
    return sums, squares


def _without_duplicates(X):
    # The square of a sum is not the sum of the squares.
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _finish(sums, squares, weight):
    """Turn sums into means and sums of squares into variances.

    Returns `lost` (n_features,): where digits are lost to cancellation; `unsafe` (n_features,):
    where squares overflow or vanish.
    """
    n_features = sums.shape[1]
    if sums.size >= WORTH_COMPILING:
        lost, unsafe = np.empty((2, n_features), dtype=bool)
        totals = np.empty((3, min(_BLOCK, n_features)))
        finish_moments(sums, squares, weight, _CANCELLATION, LARGE**2, totals, lost, unsafe)
        return lost, unsafe
    divisor = np.where(weight > 0, weight, 1.0)[:, None]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        s, q, size = sums.sum(axis=0), squares.sum(axis=0), np.abs(sums).sum(axis=0)
        total = weight.sum()
        mean = sums / divisor
        squares -= sums * mean
        squares *= 1.0 / divisor
        squares[squares < 0] = 0.0
        sums[:] = mean
        safe = (total / LARGE**2 <= q) & (q <= total * LARGE**2)
        lost = q * total - s * s < _CANCELLATION * (q * total)
    return lost, ~(safe | ((q == 0) & (size == 0)))


def _recompute_relative_to_first_row(moments, X, codes, sample_weight, columns):
    """Replace the moments of `columns` by ones without cancellation."""
    n_classes = moments.weight.size
    width = max(1, 4_000_000 // X.shape[0])
    for start in range(0, columns.size, width):
        some = columns[start : start + width]
        if is_sparse(X):
            origin, sums, squares = _shifted_sparse_sums(X, codes, moments, sample_weight, some)
        else:
            block = X[:, some].astype(np.float64, copy=False)
            origin = block[0].copy()
            sums, squares = _sums(block - origin, codes, n_classes, sample_weight)
        _finish(sums, squares, moments.weight)
        moments.offset[some] = origin
        moments.mean[:, some] = sums
        moments.variance[:, some] = squares


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
