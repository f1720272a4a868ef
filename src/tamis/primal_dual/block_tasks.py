"""What is computed from one block of rows: moments, columns, and the sums of the certificate.

The objective, its gradient and the dual value are functions of sums over rows, of the size of W.
So a block is reduced to its sums where it is, and sums are merged (`tamis._passes`). Objects here
are sent to workers: they hold parameters and arrays only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from tamis._array import Matrix, is_sparse, take_columns, to_dense
from tamis._base import WeightSummary, check_finite, check_part_weights, encode_labels, validate
from tamis.primal_dual.standardized import Standardized
from tamis.primal_dual.training import Scaling


def add(one: Any, other: Any) -> Any:
    """Merge two results of blocks."""
    return one + other


@dataclass(frozen=True)
class BlockReader:
    """Checks a block, encodes its labels and drops rows without weight."""

    estimator: Any  # not fitted
    # The classes; None in the first pass, which finds them and looks for missing values.
    classes: NDArray | None = None
    class_weight: NDArray | None = None  # (n_classes,) or None
    # The sample weight that counts as one row; 1 in the first pass, which finds it.
    unit: float = 1.0

    def read(
        self, number: int, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, Matrix, NDArray, NDArray]:
        """An estimator that knows names and classes of the block; X, codes and weights."""
        checker = clone(self.estimator)
        try:
            X, y = validate(
                checker,
                X,
                y,
                accept_sparse=("csr", "csc"),
                dtype=[np.float64, np.float32],
                accept_large_sparse=True,
                ensure_all_finite=self.classes is None,
            )
            weights = check_part_weights(sample_weight, X)
            checker.classes_, codes = encode_labels(
                y, self.classes, " The chunks must be the same in every pass."
            )
        except ValueError as error:
            raise ValueError(f"Chunk {number}: {error}") from error
        weights = np.ones(codes.size) if weights is None else weights / self.unit
        rows = np.flatnonzero(weights > 0)
        if rows.size < codes.size:
            X, codes, weights = X[rows], codes[rows], weights[rows]
        if is_sparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        if self.class_weight is not None:
            weights = weights * self.class_weight[codes]
        return checker, X.astype(np.float64, copy=False), codes, weights


@dataclass
class Moments:
    """What the first pass finds in some blocks."""

    number: int  # the first block
    n_rows: int  # rows with weight
    names: list[str] | None  # names of the features
    classes: NDArray  # (n_classes,)
    weight: NDArray  # (n_classes,): sum of the sample weights
    # mean, square: (n_classes, n_features): mean, and sum of the squares about it.
    mean: NDArray
    square: NDArray
    # first, low, high: (n_features,) or None: first row, smallest and largest values; None without
    # rows.
    first: NDArray | None
    low: NDArray | None
    high: NDArray | None
    stored: NDArray  # (n_features,): number of stored values
    is_sparse: bool  # whether all blocks are sparse
    weights: WeightSummary

    def __add__(self, other: Moments) -> Moments:
        n_features, n_others = self.mean.shape[1], other.mean.shape[1]
        if n_features != n_others:
            raise ValueError(
                f"Chunks {self.number} and {other.number} have different numbers of features: "
                f"{n_features} and {n_others}."
            )
        if self.names != other.names:
            raise ValueError(
                f"Chunks {self.number} and {other.number} have different feature names."
            )
        classes = np.union1d(self.classes, other.classes)
        (a, mean_a, square_a), (b, mean_b, square_b) = (
            self._spread(classes),
            other._spread(classes),
        )
        weight = a + b
        share = b / np.where(weight > 0, weight, 1.0)
        away = mean_b - mean_a
        with np.errstate(over="ignore", invalid="ignore"):
            mean = mean_a + share[:, None] * away
            square = square_a + square_b + (a * share)[:, None] * away**2
        return Moments(
            self.number,
            self.n_rows + other.n_rows,
            self.names,
            classes,
            weight,
            mean,
            square,
            self.first if self.first is not None else other.first,
            _of_both(np.minimum, self.low, other.low),
            _of_both(np.maximum, self.high, other.high),
            self.stored + other.stored,
            self.is_sparse and other.is_sparse,
            self.weights.merge(other.weights),
        )

    def in_units(self) -> Moments:
        """With weights as they count (see `WeightSummary`)."""
        unit = self.weights.require_precise().unit
        return replace(self, weight=self.weight / unit, square=self.square / unit)

    def _spread(self, classes):
        """Weight, mean and square for all of these classes."""
        places = np.searchsorted(classes, self.classes)
        for part in (self.weight, self.mean, self.square):
            whole = np.zeros((classes.size, *part.shape[1:]))
            whole[places] = part
            yield whole


def _of_both(choose, one, other):
    if one is None or other is None:
        return one if other is None else other
    return choose(one, other)


@dataclass(frozen=True)
class Look:
    """The first pass."""

    reader: BlockReader

    def __call__(self, number: int, X: Any, y: Any, sample_weight: Any) -> Moments:
        """The moments of a block."""
        checker, X, codes, weights = self.reader.read(number, X, y, sample_weight)
        n_rows, n_features = X.shape
        n_classes = len(checker.classes_)
        sizes = np.bincount(codes, weights, n_classes)
        indicator = sparse.csr_array(
            (weights / sizes[codes], (codes, np.arange(n_rows))), shape=(n_classes, n_rows)
        )
        square = np.zeros((n_classes, n_features))
        with np.errstate(over="ignore", invalid="ignore"):
            mean = to_dense(indicator @ X)
            for c in range(n_classes):
                rows = np.flatnonzero(codes == c)
                square[c] = _squares_about(X[rows], mean[c], weights[rows])
        try:
            check_finite((mean, square), X)
        except ValueError as error:
            raise ValueError(f"Chunk {number}: {error}") from error
        stored = np.full(n_features, n_rows)
        if is_sparse(X):
            stored = np.diff(X.tocsc().indptr)
        first, low, high = None, None, None
        if n_rows:
            first = to_dense(X[:1])[0]
            low, high = (np.ravel(to_dense(part)) for part in (X.min(axis=0), X.max(axis=0)))
        names = list(checker.feature_names_in_) if hasattr(checker, "feature_names_in_") else None
        found = n_rows, names, checker.classes_, sizes, mean, square, first, low, high
        summary = WeightSummary.of(weights)
        return Moments(number, *found, stored.astype(np.int64), is_sparse(X), summary)


def _squares_about(X, mean, weights):
    """Weighted sum of the squared distances of each column from its mean."""
    if not is_sparse(X):
        return weights @ (X - mean) ** 2
    csc = X.tocsc()
    column = np.repeat(np.arange(X.shape[1]), np.diff(csc.indptr))
    weight = weights[csc.indices]
    held = np.bincount(column, weight, minlength=X.shape[1])
    # Exactly no zeros in a full column: rounding would make a constant one appear to vary.
    zeros = np.maximum(weights.sum() - held, 0.0)
    zeros[np.diff(csc.indptr) == X.shape[0]] = 0.0
    square = weight * (csc.data - mean[column]) ** 2
    return np.bincount(column, square, minlength=X.shape[1]) + mean**2 * zeros


@dataclass(frozen=True)
class Prepare:
    """Standardizes a block, or some of its columns."""

    reader: BlockReader
    scaling: Scaling  # of all columns
    columns: NDArray | None = None  # which to take, ascending; None for all

    def __call__(
        self, number: int, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Standardized, NDArray, NDArray]:
        """The matrix, codes and weights of a block."""
        _, X, codes, weights = self.reader.read(number, X, y, sample_weight)
        if self.columns is None:
            return self.scaling.standardize(X), codes, weights
        scaling = self.scaling.of_columns(self.columns)
        part = scaling.standardize(take_columns(X, self.columns))
        return part if part.is_sparse else part.columns(slice(None)), codes, weights


@dataclass(frozen=True)
class Gather:
    """Takes columns out of a block: sparse ones as they are, dense ones standardized."""

    prepare: Prepare  # with columns
    is_sparse: bool  # whether to leave sparse columns sparse

    def __call__(
        self, number: int, X: Any, y: Any, sample_weight: Any
    ) -> list[tuple[int, Matrix, NDArray, NDArray]]:
        """Number, columns, codes and weights of a block, as a list, so that results add up."""
        prepare = self.prepare
        if not self.is_sparse:
            part, codes, weights = prepare(number, X, y, sample_weight)
            dense = part.take_rows(np.ones(codes.size, dtype=bool)) if part.is_sparse else part.X
            return [(number, dense, codes, weights)]
        _, X, codes, weights = prepare.reader.read(number, X, y, sample_weight)
        return [(number, take_columns(X, prepare.columns), codes, weights)]


@dataclass(frozen=True)
class Square:
    """Product of A' diag(weights) A with a vector, for the matrix A of a block."""

    v: NDArray

    def __call__(
        self, number: int, matrix: Standardized, codes: NDArray, weights: NDArray
    ) -> NDArray:
        """The product."""
        return matrix.adjoint(weights[:, None] * matrix.apply(self.v[:, None]))[:, 0]


@dataclass
class Sums:
    """Sums over rows at two points: a primal point, and one that gives a dual point."""

    value: float  # loss at the primal point
    deviation: float  # weighted sum of the rows' mean magnitude (or square) of the residual there
    ahead: float  # loss at the other point
    # conjugate, largest: sum of the conjugates of U, and its largest magnitude.
    conjugate: float
    largest: float
    class_sums: NDArray  # (n_classes, n_classes): Y' Z
    G: NDArray  # (n_features, n_classes): X' Z

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.value + other.value,
            self.deviation + other.deviation,
            self.ahead + other.ahead,
            self.conjugate + other.conjugate,
            max(self.largest, other.largest),
            self.class_sums + other.class_sums,
            self.G + other.G,
        )


@dataclass(frozen=True)
class Evaluate:
    """The sums of a block: one product of its matrix with W, one of the transpose with Z."""

    loss: Any
    # point, ahead: W and mu of the primal point, and of the one whose gradient is the dual point.
    point: tuple[NDArray, NDArray]
    ahead: tuple[NDArray, NDArray]
    rows: NDArray | None = None  # which rows W has, the others are 0; None for all
    # The dual point of each block, if it is not the gradient.
    U: Mapping[int, NDArray] | None = None

    def __call__(
        self, number: int, matrix: Standardized, codes: NDArray, weights: NDArray
    ) -> Sums:
        """The sums."""
        (W, mu), (W_ahead, mu_ahead), loss = self.point, self.ahead, self.loss
        part = matrix if self.rows is None else matrix.columns(self.rows)
        k = mu.shape[0]
        both = part.apply(np.hstack([W, W_ahead]))
        R, R_ahead = mu[codes] - both[:, :k], mu_ahead[codes] - both[:, k:]
        size = R**2 if loss.euclidean else np.abs(R)
        U = loss.gradient(R_ahead) if self.U is None else self.U[number]
        Z = weights[:, None] * U
        return Sums(
            loss.value(R, weights),
            float(weights @ size.mean(axis=1)),
            loss.value(R_ahead, weights),
            loss.conjugate(U, weights),
            float(np.abs(U).max(initial=0.0)),
            np.stack([np.bincount(codes, z, k) for z in Z.T], axis=1),
            matrix.adjoint(Z),
        )
