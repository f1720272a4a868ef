"""Medians, dispersions and gains of columns from sorted segments, one per (column, class).

See `tamis.centers.medians` for the mathematics. A segment is a run of sorted values with their
cumulated weights; the weight of the values to its left is one number, `below`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis._compile import WORTH_COMPILING
from tamis.centers import _small_medians as small
from tamis.centers._median_kernels import ColumnMedians, Halves, Segments, medians_of_segments
from tamis.centers.exact_medians import exact_intervals


@dataclass
class ClassMedians:
    """Medians, dispersions and gains of each feature."""

    weight: NDArray  # (n_classes,): sum of the sample weights
    median: NDArray  # (n_classes, n_features): class medians, eq. (16)
    # (n_features,): weighted median of all samples, all classes with the same total weight.
    common: NDArray
    # (n_classes, n_features): mean absolute deviation from the class median, eq. (18).
    dispersion: NDArray
    # (n_features,): cost of dropping the feature, d - sum_c d_c >= 0; exactly 0 if it costs
    # nothing.
    gain: NDArray
    # (n_features,) or None: powers of two that columns were divided by if sums would overflow or
    # vanish.
    unit: NDArray | None = None


class HalfRule:
    """How sums of weights are compared with one half: exactly for whole-number weights.

    `weight` (n_classes,).
    """

    def __init__(self, weight: NDArray, whole: bool, n_rows: int) -> None:
        n_classes = weight.size
        self.weight = weight
        self.whole = whole
        # Whether every sum over weights is exact.
        self.sums_exactly = self.whole and weight.sum() < 2**53
        common = lcm(*(int(w) for w in weight)) if self.sums_exactly else 0
        exact = self.sums_exactly and 2 * common * n_classes < 2**53
        rounding = max(1e-12, 2 * n_rows * np.finfo(np.float64).eps)
        # sum_c share_c W_c(t) is compared with `half`, up to `slack`.
        if exact:
            self.share = np.array([2.0 * (common // int(w)) for w in weight])
            self.half = float(common * n_classes)
            self.slack = 0.0
        else:
            self.share = 2.0 / weight
            self.half = float(n_classes)
            self.slack = rounding * n_classes
        self.class_slack = np.zeros(n_classes) if self.sums_exactly else rounding * weight
        # Whether ties that come within rounding are decided in integers.
        self.settles_ties = self.whole and not exact

    def compare_exactly(self, reached: NDArray) -> int:
        """Sign of the common share minus one half, for whole weights reached in each class."""
        shares = zip(reached.tolist(), self.weight.tolist(), strict=True)
        total = sum(Fraction(int(part), int(whole)) for part, whole in shares)
        half = Fraction(self.weight.size, 2)
        return (total > half) - (total < half)


class TieRule(HalfRule):
    """`HalfRule` of data in memory.

    `X` (n_samples, n_features); `codes` (n_samples,): class index of each row; `sample_weight`
    (n_samples,) or None; `weight` (n_classes,): sums of the sample weights.
    """

    def __init__(
        self, X: Matrix, codes: NDArray, sample_weight: NDArray | None, weight: NDArray
    ) -> None:
        whole = sample_weight is None or bool(np.all(sample_weight == np.floor(sample_weight)))
        super().__init__(weight, whole, codes.size)
        self.data = X, codes, sample_weight

    def exact_intervals(self, columns: NDArray) -> Iterator[NDArray[np.float64]]:
        """`exact_intervals` of several columns, one after the other."""
        X, codes, sample_weight = self.data
        block = X[:, columns]
        block = block.tocsc() if is_sparse(block) else block
        for j in range(columns.size):
            x = block[:, [j]]
            x = x.toarray() if is_sparse(x) else x
            yield exact_intervals(x.ravel(), codes, sample_weight, self.weight.size)


def fill_columns(
    columns: NDArray, segments: Segments, sums: NDArray | None, rule: TieRule, result: ClassMedians
) -> None:
    """Fill in the statistics of columns from their sorted segments.

    `segments`: one segment per (column, class). `sums` (n_segments,) or None: sums of the absolute
    deviations from the class medians; None: computed here. `result`: changed in place.
    """
    n_classes = rule.weight.size
    medians = ColumnMedians(
        np.empty((columns.size, n_classes)),
        np.empty((columns.size, 2)),
        np.empty(columns.size),
        np.zeros(columns.size, dtype=np.bool_),
    )
    halves = Halves(rule.weight, rule.class_slack, rule.share, rule.half, rule.slack)
    if segments.values.size * n_classes < WORTH_COMPILING:
        small.medians_of_segments(segments, halves, medians)
    else:
        medians_of_segments.choose(8 * segments.values.size)(segments, halves, medians)
    if rule.settles_ties:
        _settle_ties(columns, segments, rule, medians)
    if sums is None:
        sums = small.weighted_deviations(segments, medians.median.ravel())
    result.median[:, columns] = medians.median.T
    result.dispersion[:, columns] = sums.reshape(-1, n_classes).T / rule.weight[:, None]
    result.common[columns] = 0.5 * medians.common[:, 0] + 0.5 * medians.common[:, 1]
    result.gain[columns] = medians.gain


def _settle_ties(columns, segments, rule, medians):
    """Replace the results of columns that are within rounding of a tie."""
    n_classes = rule.weight.size
    tied = np.flatnonzero(medians.close)
    for j, (lower, upper) in zip(tied, rule.exact_intervals(columns[tied]), strict=True):
        medians.median[j] = 0.5 * lower[:-1] + 0.5 * upper[:-1]
        medians.common[j] = lower[-1], upper[-1]
        medians.gain[j] = small.gains_of_columns(
            _segments_of_column(segments, j, n_classes),
            rule.weight,
            lower[None, :-1],
            upper[None, :-1],
            lower[-1:],
        )[0]


def _segments_of_column(segments, j, n_classes):
    places = slice(j * n_classes, (j + 1) * n_classes)
    starts = segments.starts[places.start : places.stop + 1]
    return Segments(
        segments.values[starts[0] : starts[-1]],
        starts - starts[0],
        segments.cumulated,
        segments.cumulated_starts[places],
        segments.below[places],
    )
