"""Medians of one column with whole-number weights, in integers of any size."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from math import lcm

import numpy as np
from numpy.typing import NDArray


def exact_intervals(
    x: NDArray, codes: NDArray, sample_weight: NDArray | None, n_classes: int
) -> NDArray[np.float64]:
    """Median intervals of a column: of each class, and of all classes with equal weight.

    `x` (n_samples,). `codes` (n_samples,). `sample_weight` (n_samples,) or None: whole numbers >=
    0; None is 1. Returns `lower`, `upper` (n_classes + 1,): ends of the intervals; the last is
    that of all classes together.
    """
    order = np.argsort(x, kind="stable")
    if sample_weight is None:
        masses = np.ones(x.size, dtype=object)
    else:
        order = order[sample_weight[order] > 0]
        masses = np.array([int(w) for w in sample_weight[order]], dtype=object)
    x, codes = x[order], codes[order]
    totals = [sum(masses[codes == c].tolist()) for c in range(n_classes)]
    whole = lcm(*totals)
    shares = np.array([whole // total for total in totals], dtype=object)
    intervals = [_interval(x[codes == c], masses[codes == c]) for c in range(n_classes)]
    intervals.append(_interval(x, masses * shares[codes]))
    return np.array(intervals, dtype=np.float64).T


def _interval(values, masses):
    """Lower and upper median of sorted values, eq. (16)."""
    reached = list(accumulate(masses.tolist()))
    lower = values[bisect_left(reached, -(-reached[-1] // 2))]
    after = int(np.searchsorted(values, lower, side="right"))
    return lower, values[after] if 2 * reached[after - 1] == reached[-1] else lower
