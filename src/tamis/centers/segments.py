"""Medians, dispersions and gains of columns from sorted segments, one for every (column, class).

See `tamis.centers.medians` for the mathematics. A segment is a run of sorted values with their
cumulated weights; what it leaves out on its left is one number, `below`.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from tamis.centers._median_kernels import (
    gain_of_column,
    medians_of_segments,
    weighted_deviations,
)

__all__ = ["ClassMedians", "TieRule", "fill_columns"]


@dataclass
class ClassMedians:
    """Medians, dispersions and gains of every feature.

    Attributes
    ----------
    weight : ndarray of shape (n_classes,)
        Sum of the sample weights.
    median : ndarray of shape (n_classes, n_features)
        Class medians, eq. (16).
    common : ndarray of shape (n_features,)
        Weighted median of all samples, every class with the same total weight.
    dispersion : ndarray of shape (n_classes, n_features)
        Mean absolute deviation from the class median, eq. (18).
    gain : ndarray of shape (n_features,)
        What leaving the feature out costs, d - sum_c d_c >= 0; exactly 0 where nothing.
    """

    weight: np.ndarray
    median: np.ndarray
    common: np.ndarray
    dispersion: np.ndarray
    gain: np.ndarray


class TieRule:
    """How sums of weights are compared with one half: exactly where that is possible."""

    def __init__(self, weight, whole):
        n_classes = weight.size
        self.weight = weight
        self.whole = whole
        common = lcm(*(int(w) for w in weight)) if whole else 0
        self.exact = whole and 2 * common * n_classes < 2**53
        # sum_c share_c W_c(t) is compared with `half`, up to `slack`.
        if self.exact:
            self.share = np.array([2.0 * (common // int(w)) for w in weight])
            self.half = float(common * n_classes)
            self.slack = 0.0
        else:
            self.share = 2.0 / weight
            self.half = float(n_classes)
            self.slack = 1e-12 * n_classes
        self.class_slack = np.zeros(n_classes) if whole else 1e-12 * weight

    @property
    def needs_fractions(self):
        """Whether a tie may be too close for floats."""
        return self.whole and not self.exact


def fill_columns(columns, values, starts, cumulated, cumulated_starts, below, sums, rule, result):
    """Statistics of columns from their sorted segments, one for every (column, class).

    `below` is the weight of what a segment leaves out on its left (None: nothing), `sums` the
    sums of the absolute deviations from the class medians (None: yet to be made).
    """
    n_classes = rule.weight.size
    below = np.zeros(starts.size - 1) if below is None else below
    median = np.empty((columns.size, n_classes))
    common = np.empty((columns.size, 2))  # lower and upper end of the common median interval
    gain = np.empty(columns.size)
    close = np.zeros(columns.size, dtype=np.bool_)
    arguments = (
        values,
        starts,
        cumulated,
        cumulated_starts,
        below,
        rule.weight,
        rule.class_slack,
    )
    medians_of_segments.choose(8 * values.size)(
        *arguments, rule.share, rule.half, rule.slack, median, common, gain, close
    )
    if rule.needs_fractions:
        for j in np.flatnonzero(close):
            low, high = common_median_by_fractions(j, *arguments[:5], rule.weight)
            common[j] = low, high
            gain[j] = gain_of_column(j, *arguments, low)
    if sums is None:
        sums = np.empty(starts.size - 1)
        weighted_deviations(values, starts, cumulated, median.ravel(), sums)
    result.median[:, columns] = median.T
    result.dispersion[:, columns] = sums.reshape(-1, n_classes).T / rule.weight[:, None]
    result.common[columns] = 0.5 * common[:, 0] + 0.5 * common[:, 1]
    result.gain[columns] = gain


def common_median_by_fractions(j, values, starts, cumulated, cumulated_starts, below, weight):
    """Lower and upper common median of one column, in exact arithmetic."""
    n_classes = weight.size
    candidates, masses = [], []
    for c in range(n_classes):
        s = j * n_classes + c
        size = starts[s + 1] - starts[s]
        at = cumulated_starts[s]
        candidates.append(values[starts[s] : starts[s + 1]])
        masses.append(np.diff(cumulated[at : at + size], prepend=below[s]))
    labels = np.repeat(np.arange(n_classes), [v.size for v in candidates])
    merged = np.concatenate(candidates)
    order = np.argsort(merged, kind="stable")
    merged, labels, masses = merged[order], labels[order], np.concatenate(masses)[order]
    # Floats bring the search near the middle; only the last steps need fractions.
    before = below[j * n_classes : (j + 1) * n_classes]
    approximate = np.cumsum(masses / weight[labels]) + (before / weight).sum()
    half = Fraction(n_classes, 2)
    first = int(np.searchsorted(approximate, n_classes / 2 - 1e-6))
    reached = sum(
        (
            Fraction(int(before[c] + masses[:first][labels[:first] == c].sum()), int(weight[c]))
            for c in range(n_classes)
        ),
        Fraction(0),
    )
    position = first
    while True:
        value = merged[position]
        while position < merged.size and merged[position] == value:
            reached += Fraction(int(masses[position]), int(weight[labels[position]]))
            position += 1
        if reached > half:
            return value, value
        if reached == half:
            return value, merged[position]
