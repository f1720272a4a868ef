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
from tamis.centers._device_sums import device_sums
from tamis.centers._moment_kernels import (
    csc_sums,
    csr_sums,
    dense_sums,
    dense_sums_by_column,
    mean_and_variance,
)
from tamis.centers.units import LARGE, divide, heavy_rows, units_of
from tamis.centers.usual_counts import count_usual_values, unsigned

__all__ = ["ClassMoments", "summarise"]

# Below this share of the mean square a variance has lost too many digits to cancellation.
_CANCELLATION = 1e-3
_NOTHING = np.zeros((1, 0), dtype=np.uint32).T


@dataclass
class ClassMoments:
    """Weight, mean and variance of each class, mergeable.

    Attributes
    ----------
    weight : ndarray of shape (n_classes,)
        Sum of the sample weights.
    offset : ndarray of shape (n_features,)
        Origin that `mean` is relative to: zero, or the first row if digits would be lost.
    mean : ndarray of shape (n_classes, n_features)
        Class means minus `offset`; zero for a class without weight.
    variance : ndarray of shape (n_classes, n_features)
        Weighted mean of squared deviations from the class mean.
    n_rows : int
        Rows seen, for the bound on rounding errors.
    unit : ndarray of shape (n_features,) or None
        Powers of two that columns were divided by if squares would overflow or vanish.
    """

    weight: NDArray
    offset: NDArray
    mean: NDArray
    variance: NDArray
    n_rows: int
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

    Parameters
    ----------
    X : ndarray, CSR or CSC container, or array on a device, of shape (n_samples, n_features)
        float32 or float64; sums are float64. NaN and infinity raise ValueError; they are detected
        in the sums, not in `X`.
    codes : ndarray of shape (n_samples,)
        Class index of each row, integers in 0..n_classes-1.
    n_classes : int
        Number of classes.
    sample_weight : ndarray of shape (n_samples,) or None
        Non-negative weights.

    Returns
    -------
    moments : ClassMoments
    """
    if is_on_device(X):
        return _summarise_on_device(X, codes, n_classes, sample_weight)
    moments, unsafe = _summarise_as_it_is(X, codes, n_classes, sample_weight)
    columns = np.flatnonzero(unsafe)
    if columns.size:
        _recompute_in_own_units(moments, X, codes, sample_weight, columns)
    return moments


def _summarise_on_device(X, codes, n_classes, sample_weight):
    origin, sums, squares = device_sums(X, codes, n_classes, sample_weight)
    check_finite((sums, squares), X)
    weight = np.bincount(codes, sample_weight, n_classes).astype(np.float64)
    mean, variance, _, _ = mean_and_variance(sums, squares, 0.0, _NOTHING, weight, 0.0, np.inf)
    return ClassMoments(weight, origin, mean, variance, codes.size)


def _summarise_as_it_is(X, codes, n_classes, sample_weight):
    """Moments in the units of X, and the columns in which squares overflow or vanish."""
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
    mean, variance, lost, unsafe = mean_and_variance(
        sums, squares, usual, count, weight, _CANCELLATION, LARGE**2
    )
    moments = ClassMoments(weight, np.zeros(X.shape[1]), mean, variance, X.shape[0])
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
    weights, step = (np.ones(1), 0) if sample_weight is None else (sample_weight, 1)
    if is_sparse(X):
        return _sparse_sums(X, codes, n_classes, weights, step)
    shape = (n_classes, X.shape[1])
    sums, squares = np.zeros(shape), np.zeros(shape)
    rows = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[rows], np.arange(n_classes + 1))
    by_column = abs(X.strides[0]) < abs(X.strides[1])
    kernel = dense_sums_by_column if by_column else dense_sums
    kernel.choose(X.size)(X, rows, starts, weights, step, sums, squares)
    return sums, squares


def _sparse_sums(X, codes, n_classes, weights, step):
    # Columns first: the classes of a column are on one cache line.
    sums, squares = np.zeros((X.shape[1], n_classes)), np.zeros((X.shape[1], n_classes))
    indices = unsigned(X.indices)
    if X.format == "csc":
        canonical = csc_sums(X.data, indices, X.indptr, codes, weights, step, sums, squares)
    else:
        canonical = csr_sums(X.data, indices, X.indptr, codes, weights, step, sums, squares)
    if not canonical and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()  # the square of a sum is not the sum of the squares
        return _sparse_sums(X, codes, n_classes, weights, step)
    return sums.T, squares.T


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
        mean, variance, _, _ = mean_and_variance(
            sums, squares, 0.0, _NOTHING, moments.weight, 0.0, np.inf
        )
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
