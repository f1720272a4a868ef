r"""Welch's t-test of every class and feature, from class moments.

.. math:: t = \frac{\bar x - \bar z}{\sqrt{a + b}}, \quad a = \frac{s_x^2}{n_x}, \quad
          b = \frac{s_z^2}{n_z}, \quad
          \nu = \frac{(a + b)^2}{a^2 / (n_x - 1) + b^2 / (n_z - 1)}

with the means, unbiased variances and numbers of rows of a class and of the rows that it is
compared with.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from tamis.centers.class_counts import ClassCounts, rest_of_each_class
from tamis.centers.statistics import ClassMoments

# Added to both means of a fold change, as in scanpy, so that a mean of 0 gives a finite number.
_TINY = 1e-9


def compare_classes(
    counts: ClassCounts, chosen: Collection[int], reference: int | None, log_base: float | None
) -> Iterator[tuple[int, dict[str, NDArray]]]:
    """Compare classes with all other rows, or with the rows of one class.

    `reference`: place of the class to compare with; None: all other rows. Yields `place`: one of
    `chosen`, ascending; `columns` (n_features,): as in the table of `rank_features_by_class`,
    features in their order.
    """
    moments, nonzeros = counts.moments, counts.nonzeros
    n_classes = moments.weight.size
    if reference is None:
        others = rest_of_each_class(moments)
        total = None if nonzeros is None else nonzeros.sum(axis=0)
    else:
        others = iter([moments.take(slice(reference, reference + 1))] * n_classes)
    for place, other in enumerate(others):
        if place not in chosen:
            continue
        own = moments.take(slice(place, place + 1))
        scores, pvals = welch_test(own, other)
        columns = {
            "scores": scores,
            "logfoldchanges": _log_fold_change(own, other, log_base),
            "pvals": pvals,
            "pvals_adj": adjust_pvalues(pvals),
        }
        if nonzeros is not None:
            inside = nonzeros[place]
            outside = total - inside if reference is None else nonzeros[reference]
            columns["pct_nz_group"] = inside / own.weight[0]
            columns["pct_nz_reference"] = outside / other.weight[0]
        yield place, columns


def welch_test(own: ClassMoments, other: ClassMoments) -> tuple[NDArray, NDArray]:
    """Welch's t of each feature and its two-sided p-value, from the moments of one class each."""
    n, m = own.weight[0] - 1, other.weight[0] - 1
    a, b = own.variance[0] / n, other.variance[0] / m
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (own.mean[0] - other.mean[0]) / np.sqrt(a + b)
        share = a / (a + b)  # squares of shares do not overflow
        freedom = 1.0 / (share**2 / n + (1.0 - share) ** 2 / m)
    t[np.isnan(t)] = 0.0  # neither difference nor variance
    freedom[np.isnan(freedom)] = 1.0
    return t, 2.0 * stdtr(freedom, -np.abs(t))


def adjust_pvalues(pvals: NDArray) -> NDArray:
    """p-values adjusted for the false discovery rate, by Benjamini and Hochberg (1995)."""
    falling = np.argsort(pvals)[::-1]
    adjusted = np.empty_like(pvals)
    ranks = np.arange(pvals.size, 0, -1)
    adjusted[falling] = np.minimum.accumulate(pvals[falling] * (pvals.size / ranks))
    return adjusted  # the largest one is the largest p-value, so none is above 1


def _log_fold_change(own, other, log_base):
    unit = 1.0 if own.unit is None else own.unit
    means = [(part.mean[0] + part.offset) * unit for part in (own, other)]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if log_base is not None:
            means = [np.expm1(mean * math.log(log_base)) for mean in means]
        return np.log2((means[0] + _TINY) / (means[1] + _TINY))
