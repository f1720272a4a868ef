r"""Decisions for many numbers of features in one pass over the data.

A feature outside the support adds the same to the distance of each class, so the decision for
class c with the k best features is a cumulative sum in rank order,

.. math:: D_c(x, k) = \frac1{\sigma_k} \sum_{r < k} t_{rc}(x_r) + \log \pi_c, \qquad
   t_{rc}(x) = a_{rc} (x - o_r) - h_{rc} \ (l_2), \quad -|x - \theta_{rc}| / s_r \ (l_1),

and all k together take about as long as the largest. In sparse rows only stored values differ from
:math:`t_{rc}(0)`, whose cumulative sums are computed once: the cost of a row is its stored values
plus the number of levels. For two classes the labels need one sum instead of two. Shapes: `slope`,
`shift` (R, C) for R ranked features; `stops`, `sharpness` (K,) for K levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis._compile import WORTH_COMPILING
from tamis.centers import _small_paths as small
from tamis.centers._path_kernels import (
    DifferenceTerms,
    PathLevels,
    StoredRows,
    ZeroTerms,
    csr_path,
    csr_two_labels,
    dense_path,
    dense_two_labels,
)
from tamis.centers.usual_counts import unsigned

# Far outside the centers, in multiples of their range.
_REACH = 2.0**20


class PathTerms(NamedTuple):
    """The summands of the decisions, in rank order."""

    columns: NDArray  # (n_ranked,): column of the r-th best feature
    origin: NDArray  # (n_ranked,): l2: subtracted from each value; l1: zero
    # (n_ranked, n_classes): l2: factor of the value; l1: reciprocal of the scale, the same for all
    # classes.
    slope: NDArray
    shift: NDArray  # (n_ranked, n_classes): l2: constant part; l1: the class center
    bounds: NDArray  # (n_ranked, 2): l1: limits to which values are clipped; see `bounds_of`
    absolute: bool  # True for l1
    sharpness: NDArray  # (n_ranked + 1,): one over the dispersion with the k best features
    # (n_classes,): logarithms of the class priors, -inf for a class that was not seen.
    log_prior: NDArray
    # (n_ranked + 1,): decisions with the k best features that differ by less are tied.
    tolerance: NDArray

    def at_zero(self) -> NDArray:
        """Terms of a value 0, of shape (n_ranked, n_classes)."""
        if self.absolute:
            zero = np.clip(np.zeros(self.columns.size), *self.bounds.T)
            return -np.abs(zero[:, None] - self.shift) * self.slope
        return -self.origin[:, None] * self.slope - self.shift

    def differences(self) -> DifferenceTerms:
        """Two classes: the summands of the second decision minus the first."""
        if self.absolute:
            factor, shift = np.ascontiguousarray(self.slope[:, 0]), self.shift
        else:
            factor = np.ascontiguousarray(self.slope[:, 1] - self.slope[:, 0])
            shift = np.zeros_like(self.shift)
            shift[:, 0] = self.shift[:, 1] - self.shift[:, 0]
        return DifferenceTerms(
            self.columns, self.origin, factor, shift, self.bounds, self.absolute
        )


def bounds_of(centers: NDArray) -> tuple[NDArray, NDArray]:
    """Where values may be clipped without changing differences of l1 distances.

    Beyond the outermost centers the distances to all centers grow alike. Clipping far outside
    keeps the digits of their differences next to values of any size.

    `centers` (n_classes, n_features). Returns `low`, `high` (n_features,).
    """
    low, high = centers.min(axis=0), centers.max(axis=0)
    reach = _REACH * (high - low)
    return low - reach, high + reach


def require_finite_decisions(decisions: NDArray, X: Matrix) -> None:
    """Raise if decisions overflowed."""
    if not np.isfinite(decisions).all():
        _raise_overflow(X)


def _raise_overflow(X):
    values = X.data if is_sparse(X) else X
    raise ValueError(
        f"X has values up to {np.abs(values).max():.3g}, so far from the training data that their "
        "distances to the class centers overflow. Correct or remove these rows."
    )


def path_decisions(
    X: Matrix, terms: PathTerms, ks: Sequence[int] | NDArray
) -> NDArray[np.float64]:
    """Decisions of each row for each number of ranked features.

    `X` (n_samples, n_features). Returns `decisions` (n_samples, len(ks), n_classes).
    """
    decisions = np.empty((X.shape[0], len(ks), terms.log_prior.size))
    if decisions.size == 0:
        return decisions
    _run(X, terms, _levels(terms, ks), np.empty((0, 0), dtype=np.int32), decisions)
    require_finite_decisions(decisions[..., np.isfinite(terms.log_prior)], X)
    return decisions


def path_labels(X: Matrix, terms: PathTerms, ks: Sequence[int] | NDArray) -> NDArray:
    """Class index of each row for each number of ranked features.

    `X` (n_samples, n_features). Returns `labels` (n_samples, len(ks)).
    """
    if X.shape[0] == 0 or len(ks) == 0:
        return np.empty((X.shape[0], len(ks)), dtype=np.int8)
    levels = _levels(terms, ks)
    if terms.log_prior.size == 2 and np.isfinite(terms.log_prior).all():
        labels = np.empty((X.shape[0], len(ks)), dtype=np.int8)
        _label_two_classes(X, terms, levels, labels)
    else:
        labels = np.empty((X.shape[0], len(ks)), dtype=np.int32)
        _run(X, terms, levels, labels, np.empty((0, 0, 0)))
    if labels.min(initial=0) < 0:
        _raise_overflow(X)
    return labels


def _levels(terms, ks):
    """Levels in ascending order, as the kernels need them."""
    stops = np.minimum(np.asarray(ks, dtype=np.int64), terms.columns.size)
    place = np.argsort(stops, kind="stable").astype(np.int64)
    stops = stops[place]
    sharpness, tolerance = terms.sharpness[stops], terms.tolerance[stops]
    threshold = np.empty(0)
    if terms.log_prior.size == 2:
        # (sum * sharpness + difference of log priors >= tolerance) is (sum > threshold).
        with np.errstate(invalid="ignore"):  # a class that was not seen: not used
            threshold = (terms.log_prior[0] - terms.log_prior[1] + tolerance) / sharpness
    return PathLevels(stops, place, sharpness, tolerance, threshold)


def _zero_terms(terms, stops, n_features):
    """First level and rank of each column, terms of 0 and their sums."""
    ranks = np.arange(terms.columns.size)
    level = np.full(n_features, stops.size, dtype=np.int64)
    level[terms.columns] = np.searchsorted(stops, ranks, side="right")
    rank = np.zeros(n_features, dtype=np.int64)
    rank[terms.columns] = ranks
    zero = terms.at_zero()
    base = np.zeros((terms.columns.size + 1, terms.log_prior.size))
    np.cumsum(zero, axis=0, out=base[1:])
    return ZeroTerms(level, rank, zero, base[stops])


def _stored_rows(X):
    X = X.tocsr()
    return StoredRows(X.data, unsigned(X.indices), X.indptr)


def _is_small(X, terms, levels):
    """Whether numpy is quick enough: see `tamis.centers._small_paths`."""
    n_summands = X.nnz if is_sparse(X) else X.shape[0] * terms.columns.size
    n_sums = X.shape[0] * levels.stops.size
    return max(n_summands, n_sums) * terms.log_prior.size < WORTH_COMPILING


def _run(X, terms, levels, labels, decisions):
    if _is_small(X, terms, levels):
        _run_small(X, terms, levels, labels, decisions)
    elif is_sparse(X):
        zeros = _zero_terms(terms, levels.stops, X.shape[1])
        kernel = csr_path.choose(X.nnz + X.shape[0] * levels.stops.size)
        kernel(_stored_rows(X), terms, zeros, levels, labels, decisions)
    else:
        kernel = dense_path.choose(X.shape[0] * terms.columns.size)
        kernel(X, terms, levels, labels, decisions)


def _run_small(X, terms, levels, labels, decisions):
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if is_sparse(X):
            zeros = _zero_terms(terms, levels.stops, X.shape[1])
            parts = small.csr_sums(_stored_rows(X), terms, zeros, levels)
            sums = zeros.base + parts
        else:
            sums = parts = small.dense_sums(X, terms, levels)
        if not labels.size:
            small.write_decisions(sums, terms.log_prior, levels, decisions)
            return
        small.write_labels(sums, terms.log_prior, levels, labels)
        labels[~np.isfinite(parts[:, -1]).all(axis=1)] = -1


def _label_two_classes(X, terms, levels, labels):
    differences = terms.differences()
    is_small = _is_small(X, terms, levels)
    if not is_sparse(X):
        if is_small:
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                sums = small.dense_difference_sums(X, differences, levels)
            small.write_two_labels(sums, levels, labels)
        else:
            kernel = dense_two_labels.choose(X.shape[0] * terms.columns.size)
            kernel(X, differences, levels, labels)
        return
    zeros = _zero_terms(terms, levels.stops, X.shape[1])
    columns = np.zeros((X.shape[1], 8 if terms.absolute else 2))
    columns[:, 0] = zeros.level
    columns[terms.columns, 1] = differences.factor
    if terms.absolute:
        columns[terms.columns, 2:4] = terms.shift
        columns[terms.columns, 4:6] = differences.bounds
        columns[terms.columns, 6] = zeros.zero[:, 1] - zeros.zero[:, 0]
    # The sums of the stored values are compared, without those of the zeros.
    base = zeros.base[:, 1] - zeros.base[:, 0]
    levels = levels._replace(threshold=levels.threshold - base)
    if is_small:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            sums = small.csr_difference_sums(_stored_rows(X), columns, levels, terms.absolute)
        small.write_two_labels(sums, levels, labels)
    else:
        kernel = csr_two_labels.choose(X.nnz + X.shape[0] * levels.stops.size)
        kernel(_stored_rows(X), columns, levels, terms.absolute, labels)
