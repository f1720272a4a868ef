r"""From data to a problem: weights, standardization, and the weight of the centers.

Columns are centered by the mean of the class means and divided by the class-balanced standard
deviation, so that a large class dominates neither the origin nor the unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamis._array import (
    Matrix,
    choose_rows,
    from_host,
    is_on_device,
    is_sparse,
    multiply_transposed,
    namespace,
    spread,
    take_columns,
    to_dense,
    to_host,
)
from tamis._base import check_finite
from tamis.primal_dual.balls import BALLS
from tamis.primal_dual.losses import make_loss
from tamis.primal_dual.problem import BallProblem
from tamis.primal_dual.standardized import Standardized

# A column this many of its own standard deviations away from 0 is centered before it is
# multiplied: centering the product would lose that many digits.
_FAR = 1e3
# Values of a block of columns that is read twice, and its least width.
_BLOCK_VALUES, _LEAST_WIDTH = 30_000, 8
# Limits for the norms of columns that are not standardized.
_LARGEST_NORM = 1e30


@dataclass(frozen=True)
class TrainingData:
    """Rows with weight, standardized."""

    matrix: Standardized
    codes: np.ndarray  # (n_rows,)
    n_classes: int
    weights: np.ndarray  # (n_rows,): products of sample and class weights, positive
    rows: np.ndarray  # (n_rows,): which samples these are
    # mean, scale: (n_features,): standardized (and weighted) columns are ``(X - mean) / scale``.
    # Constant columns have scale 1, those that vary by no more than rounding an infinite one:
    # neither has any influence.
    mean: np.ndarray
    scale: np.ndarray
    # (n_features, n_classes) or None: weighted sums of the columns of `matrix` over each class;
    # None where the sums of the original columns do not give them accurately.
    class_columns: np.ndarray | None = None


def prepare(
    X: Matrix,
    codes: NDArray,
    n_classes: int,
    weights: NDArray,
    *,
    standardize: bool = True,
    feature_weights: NDArray | None = None,
) -> TrainingData:
    """Standardize the rows with weight.

    `X` (n_samples, n_features). `codes` (n_samples,): classes; each must have a row with weight.
    `weights` (n_samples,): non-negative. `standardize`: False uses the columns unchanged.
    `feature_weights` (n_features,) or None: positive factors of the (standardized) columns: a
    feature of weight 10 needs a tenth of the coefficients, so that the ball is weighted.
    """
    rows = np.flatnonzero(weights > 0)
    if rows.size < codes.size:
        X, codes, weights = choose_rows(X, rows), codes[rows], weights[rows]
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if not is_on_device(X):
        X = X.astype(np.float64, copy=False)
    if not standardize:
        with np.errstate(over="ignore", invalid="ignore"):
            sums, squares = _moments(X, codes, n_classes, weights, centered=False)
            if feature_weights is not None:
                squares = squares * feature_weights**2
                sums = sums * feature_weights[:, None]
        check_finite((squares,), X)
        scaling = unscaled(squares, feature_weights)
        return TrainingData(
            scaling.standardize(X),
            codes,
            n_classes,
            weights,
            rows,
            scaling.mean,
            scaling.scale,
            sums,
        )

    sizes = np.bincount(codes, weights=weights, minlength=n_classes)
    with np.errstate(over="ignore", invalid="ignore"):
        sums, variance = _moments(X, codes, n_classes, weights, centered=True)
        mean = (sums / sizes).sum(axis=1) / n_classes
    check_finite((mean, variance), X)
    first = to_host(to_dense(X[:1, :]))[0].astype(np.float64)
    scaling = scale_columns(
        mean,
        variance,
        codes.size,
        first,
        lambda chosen: _differ_from(X, chosen, first),
        feature_weights,
    )
    mean, scale, inverse, far = scaling.mean, scaling.scale, scaling.inverse, scaling.far
    assert inverse is not None and far is not None
    # Far from 0, the difference of large sums would have few digits.
    sums = None if far.any() else (sums - np.multiply.outer(mean, sizes)) * inverse[:, None]
    matrix = scaling.standardize(X)
    return TrainingData(matrix, codes, n_classes, weights, rows, mean, scale, sums)


@dataclass(frozen=True)
class Scaling:
    """How columns are standardized."""

    # mean, scale: (n_features,): see `TrainingData`.
    mean: np.ndarray
    scale: np.ndarray
    # (n_features,) or None: factor of each column: 0 for one without influence; None for 1.
    inverse: np.ndarray | None
    # (n_features,) or None: columns that are centered at once; None: nothing is centered.
    far: np.ndarray | None

    def standardize(self, X: Matrix) -> Standardized:
        """The standardized matrix, with columns far from 0 centered at once."""
        if self.far is None:
            return Standardized(X, None, self.inverse)
        mean, inverse = self.mean, self.inverse
        if not self.far.any():
            return Standardized(X, mean, inverse)
        shift = np.where(self.far, mean, 0.0)
        if is_sparse(X):
            # Such a column has no zeros: with one it would be at most sqrt(n) deviations away from
            # 0. The shift of columns with zeros must stay implicit.
            csc = X.tocsc(copy=True)
            full = self.far & (np.diff(csc.indptr) == X.shape[0])
            shift = np.where(full, mean, 0.0)
            csc.data -= np.repeat(shift, np.diff(csc.indptr))
            return Standardized(csc.asformat(X.format), mean - shift, inverse)
        if is_on_device(X):
            xp = namespace(X)  # in 64 bits: the difference has no fewer digits than the data
            X = xp.astype(X, xp.float64)
        return Standardized(X - from_host(shift, X), mean - shift, inverse)

    def of_columns(self, columns: np.ndarray) -> Scaling:
        """The scaling of some columns."""
        inverse = None if self.inverse is None else self.inverse[columns]
        far = None if self.far is None else self.far[columns]
        return Scaling(self.mean[columns], self.scale[columns], inverse, far)


def scale_columns(
    mean: np.ndarray,
    variance: np.ndarray,
    n_rows: int,
    first: np.ndarray,
    differ: Callable[[np.ndarray], np.ndarray],
    feature_weights: np.ndarray | None,
) -> Scaling:
    """The scaling that follows from moments.

    `mean`, `variance` (n_features,): class-balanced moments; the mean is changed where a column is
    constant. `first` (n_features,).
    """
    rounding = n_rows * np.finfo(np.float64).eps
    smallest = np.finfo(np.float64).tiny
    constant = variance <= np.maximum((2 * rounding * mean) ** 2, smallest)
    # The mean of a constant is the constant, not its rounded average.
    mean[constant] = first[constant]
    scale = np.where(constant, 1.0, np.sqrt(variance))
    scale[differ(constant & (variance > 0))] = np.inf
    far = ~constant & (np.abs(mean) > _FAR * scale)
    if feature_weights is not None:
        scale = np.where(constant, scale, scale / feature_weights)
    return Scaling(mean, scale, np.where(constant, 0.0, 1.0 / scale), far)


def unscaled(squares: np.ndarray, feature_weights: np.ndarray | None) -> Scaling:
    """The scaling of columns that are used as they are, after a check of their norms.

    `squares` (n_features,).
    """
    largest = np.sqrt(squares.max(initial=0.0))
    if not (largest == 0 or 1 / _LARGEST_NORM <= largest <= _LARGEST_NORM):
        raise ValueError(
            f"X has columns of norm up to {largest:.3g}, and standardize=False uses them as "
            f"they are: between {1 / _LARGEST_NORM:g} and {_LARGEST_NORM:g} is allowed. "
            "Multiply X by a constant, or use standardize=True."
        )
    scale = np.ones(squares.size) if feature_weights is None else 1.0 / feature_weights
    return Scaling(np.zeros(squares.size), scale, feature_weights, None)


def _differ_from(X, chosen, row):
    """Those of the chosen columns that differ from `row` somewhere."""
    columns = np.flatnonzero(chosen)
    if is_on_device(X):
        block = to_host(take_columns(X, columns))
    else:
        block = X[:, columns]
    if is_sparse(block):
        block = block.tocsc()
        stored = np.repeat(np.arange(columns.size), np.diff(block.indptr))
        differ = np.bincount(stored, block.data != row[columns][stored], columns.size) > 0
        differ |= (np.diff(block.indptr) < X.shape[0]) & (row[columns] != 0)
    else:
        differ = (block != row[columns]).any(axis=0)
    return columns[differ]


def _moments(X, codes, n_classes, weights, *, centered):
    """Weighted sums of each column over each class, and its weighted mean square.

    The latter is about the mean of the class means, with equal weight for each class, if
    `centered`, else about 0, in units of the largest weight. Dense data are read once.
    """
    sizes = np.bincount(codes, weights=weights, minlength=n_classes)
    if centered:
        shares = weights / sizes[codes] / n_classes
        to_mean = 1.0 / (sizes * n_classes)
    else:
        shares, to_mean = weights / weights.max(), np.zeros(n_classes)
    indicator = np.where(codes[:, None] == np.arange(n_classes), weights[:, None], 0.0)
    if is_on_device(X):
        sums = to_host(multiply_transposed(X, from_host(indicator, X)))
        return sums, spread(X, sums @ to_mean, shares)
    if not is_sparse(X):
        return _moments_of_dense(X, indicator, shares, to_mean)
    sums = multiply_transposed(X, indicator)
    mean = sums @ to_mean
    csc = X.tocsc()
    column = np.repeat(np.arange(X.shape[1]), np.diff(csc.indptr))
    weight = shares[csc.indices]
    held = np.bincount(column, weight, minlength=X.shape[1])
    # Exactly no zeros in a full column: rounding would make a constant one appear to vary.
    zeros = np.where(np.diff(csc.indptr) == X.shape[0], 0.0, np.maximum(1 - held, 0))
    square = weight * (csc.data - mean[column]) ** 2
    return sums, np.bincount(column, square, minlength=X.shape[1]) + mean**2 * zeros


def _moments_of_dense(X, indicator, shares, to_mean):
    """Sums and mean squares, for blocks of columns or rows that stay in the cache."""
    n_rows, n_columns = X.shape
    width = max(_BLOCK_VALUES // n_rows, 1)
    if X.flags.f_contiguous or width >= _LEAST_WIDTH:
        sums, spread = np.empty((n_columns, to_mean.size)), np.empty(n_columns)
        for start in range(0, n_columns, width):
            block = slice(start, start + width)
            sums[block] = X[:, block].T @ indicator
            away = X[:, block] - sums[block] @ to_mean
            away *= away
            spread[block] = shares @ away
        return sums, spread
    height = max(_BLOCK_VALUES // n_columns, 1)
    sums, spread = X.T @ indicator, np.zeros(n_columns)
    mean = sums @ to_mean
    for start in range(0, n_rows, height):
        block = slice(start, start + height)
        away = X[block] - mean
        away *= away
        spread += shares[block] @ away
    return sums, spread


def make_problem(
    data: TrainingData,
    *,
    loss: str,
    huber_delta: float,
    ball: str,
    radius: float,
    rho: float | None,
) -> BallProblem:
    """Make the problem from training data and an estimator's parameters."""
    return BallProblem(
        data.matrix,
        data.codes,
        data.n_classes,
        from_host(data.weights, data.matrix.X),
        make_loss(loss, huber_delta),
        BALLS[ball](float(radius)),
        rho,
        data.class_columns,
    )
