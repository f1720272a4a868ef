r"""Gains, order and support of the features: Propositions 1 and 3.

With the weights of each class normalised to one, the objective is a sum over features, so dropping
feature i costs the same whatever else is dropped:

.. math:: g_i = \sum_c (\bar x_{ci} - \tilde x_i)^2 \quad (l_2), \qquad
          g_i = d_i - \sum_c d_{ci} \quad (l_1),

with :math:`\tilde x` the mean of the class means. For two classes these are the paper's
:math:`\delta_i^2 / 2` and :math:`-e_i`. Keeping the k largest is therefore the global optimum.

Scaling is free: dividing feature i by :math:`s_i` divides its gain by :math:`s_i^2` (l2) or
:math:`s_i` (l1), and every :math:`s_i` comes from statistics that are already known. Shapes:
gains and scales (m,), centers and dispersions (C, m).

Features may have different units (`tamis.centers.units`). With the scales "spread" and "std", only
the units of the fitted attributes depend on them. Without a scale, or with the variance as scale,
scaled features must still be comparable with each other: :math:`x_i / u_i` is then divided by
:math:`s_i` times a ratio of units, so that the largest of the scaled features is of ordinary size.
Multiplying by the `reference` gives values in the units of X.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamis._base import largest
from tamis.centers.segments import ClassMedians
from tamis.centers.statistics import ClassMoments

# A column that is smaller than another by this factor is negligible.
NOTHING = 2.0**1000


@dataclass
class CenterStatistics:
    """The statistics of the data that training keeps, for either metric."""

    weight: NDArray  # (n_classes,): sum of the sample weights of each class
    offset: NDArray  # (n_features,): origin of `centers` and `common`: see `ClassMoments`
    centers: NDArray  # (n_classes, n_features): class means or medians
    common: NDArray  # (n_features,): the center that all classes share if a feature is dropped
    # (n_classes, n_features): mean squared (l2) or absolute (l1) deviation from the class center.
    dispersion: NDArray
    gain: NDArray  # (n_features,): increase of the objective if the feature is dropped
    # (n_features,) or None: units of the features, powers of two, if they are not all those of X.
    unit: NDArray | None = None

    @property
    def spread(self) -> NDArray:
        """Objective of the feature if it is dropped: within-class dispersions plus gain."""
        return self.dispersion.sum(axis=0) + self.gain

    def in_units_of_X(self, centers: NDArray) -> NDArray:
        """Convert centers relative to the offset and in these units to the units of X."""
        centers = centers + self.offset
        return centers if self.unit is None else centers * self.unit


def from_moments(moments: ClassMoments) -> CenterStatistics:
    """Statistics of the l2 centers from class moments.

    Differences of means within rounding of zero are zero: a sum of n numbers can be off by
    n units in its last place, and such noise must not rank features.
    """
    common, gain = _between_class_gain(moments.mean, moments.variance, moments.n_rows)
    return CenterStatistics(
        moments.weight, moments.offset, moments.mean, common, moments.variance, gain, moments.unit
    )


def from_medians(medians: ClassMedians) -> CenterStatistics:
    """Statistics of the l1 centers from class medians."""
    offset = np.zeros_like(medians.common)
    return CenterStatistics(
        medians.weight,
        offset,
        medians.median,
        medians.common,
        medians.dispersion,
        medians.gain,
        medians.unit,
    )


def _between_class_gain(mean, variance, n_rows):
    """Common centers, and gains of the class means."""
    # Squared, relative to the mean square: how far rounding can move the means.
    rounding = (n_rows * np.finfo(np.float64).eps) ** 2
    common = mean.sum(axis=0) / len(mean)
    gain = ((mean - common) ** 2).sum(axis=0)
    largest = (variance + mean**2).max(axis=0)
    gain[gain <= rounding * largest] = 0.0
    return common, gain


def total_variance(moments: ClassMoments) -> NDArray:
    """Variance of each feature over all rows, classes together."""
    share = (moments.weight / moments.weight.sum())[:, None]
    center = (share * moments.mean).sum(axis=0)
    return (share * (moments.variance + (moments.mean - center) ** 2)).sum(axis=0)


def scale_of(
    statistics: CenterStatistics,
    scaling: str | None,
    power: int,
    moments: ClassMoments | None = None,
) -> tuple[NDArray, float]:
    r"""Divisor of each feature.

    `statistics`: statistics of the raw data. `scaling`: "spread" makes :math:`g_i / s_i^p` the
    share of the feature's spread that the classes explain, between 0 and 1; "std" and "variance"
    are those of all rows; None is 1. `power`: the exponent p of the metric: 2 for l2, 1 for l1.
    `moments`: needed for "std" and "variance". Returns `scale` (n_features,): divisors of features
    in the units of `statistics`; 1 for constant features; `reference`: power of two: a scaled
    value times the reference is in the units of X.
    """
    if scaling is None:
        scale = np.ones_like(statistics.common)
    elif scaling == "spread":
        scale = statistics.spread if power == 1 else np.sqrt(statistics.spread)
    else:
        assert moments is not None
        scale = total_variance(moments)
        scale = np.sqrt(scale) if scaling == "std" else scale
    return _in_common_units(np.where(scale > 0, scale, 1.0), scaling, power, statistics)


def _in_common_units(scale, scaling, power, statistics):
    """Comparable scales of columns that have different units, and the reference."""
    unit = statistics.unit
    if unit is None or scaling in ("spread", "std"):
        return scale, 1.0
    varies = statistics.spread > 0
    if not varies.any():
        return scale, 1.0
    with np.errstate(over="ignore", under="ignore"):
        if scaling == "variance":
            _require_numbers(scale * unit * unit, varies, statistics)
            reference = 1.0 / unit[varies].min()
            ratio = unit * reference
        else:
            reference = unit[varies].max()
            ratio = reference / unit
        scale = np.where(varies, scale * np.minimum(ratio, NOTHING), 1.0)
        if scaling is None and power == 2:
            _require_squares(scale, reference, statistics)
    return scale, float(reference)


def _require_numbers(variance, varies, statistics):
    fine = (variance >= np.finfo(np.float64).tiny) & np.isfinite(variance)
    wrong = np.flatnonzero(varies & ~fine)
    if wrong.size:
        raise ValueError(
            f"The variance of column {wrong[0]} of X is too small or too large for a number: the "
            f"centers of the classes are about {_size(statistics)[wrong[0]]:.3g}. Multiply the "
            "column by a constant, or use scaling='spread', which does not depend on units."
        )


def _require_squares(scale, reference, statistics):
    spread = (statistics.spread / scale / scale).max() * reference * reference
    gain = (statistics.gain / scale / scale).max() * reference * reference
    if np.isfinite(spread) and (gain >= np.finfo(np.float64).tiny or not statistics.gain.any()):
        return
    raise ValueError(
        f"X has class centers up to {_size(statistics).max():.3g}, and squares of such numbers "
        "overflow or vanish. Multiply X by a constant, or use scaling='spread', which does "
        "not depend on units."
    )


def _size(statistics):
    return np.abs(statistics.centers + statistics.offset).max(axis=0) * statistics.unit


def scaled_by(values: NDArray, scale: NDArray, power: int) -> NDArray:
    """`values` divided by a power of the scale."""
    if np.all(scale == 1.0):
        return values
    # Not by scale**2, which can overflow where the quotient does not.
    return values / scale if power == 1 else values / scale / scale


def select_largest(gains: NDArray, k: int) -> NDArray[np.intp]:
    """Indices, ascending, of the k largest positive gains; equal gains: lower index first.

    O(m), where a full order would be O(m log m).
    """
    positive = np.flatnonzero(gains > 0)
    return positive[largest(gains[positive], k)]
