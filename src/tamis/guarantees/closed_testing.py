r"""Simultaneous bounds on the number of false features in any set, by closed testing.

A feature is false if its distribution is the same in all classes. Both bounds have one form: for
critical values :math:`l_1 \le l_2 \le \dots`, with confidence :math:`1 - \alpha` and for all sets
S at once, however they were chosen,

.. math:: \text{false}(S) \le \min_u \bigl(\#\{i \in S: p_i > l_u\} + u - 1\bigr).

Simes (Goeman and others 2019): :math:`l_u = u \alpha / h`, h Hommel's value, the size of the
largest set of features that Simes' test does not reject; exact closed testing, valid if Simes'
inequality holds for the false features. Permutations (Hemerik, Solari and Goeman 2019):
:math:`l_u = u \lambda / m`, with :math:`\lambda` small enough that in at least :math:`1 - \alpha`
of the permutations the u-th smallest value is nowhere below :math:`l_u`. False features are
exchangeable with their permutations if their joint distribution is the same in all classes, and
are at most as many as all features, so no other assumption on their dependence is needed, and the
:math:`p_i` need not be p-values: any fixed decreasing function of a statistic serves. A value is
then counted as large if it *equals* :math:`l_u`.

The idea that makes it fast: closed testing looks at :math:`2^m` sets, but both local tests only
ask for order statistics, so the minimum over u replaces them.
Shapes: p_values (m,), critical (depth,), smallest (w, depth), one row per permutation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def hommel_value(p_values: NDArray, alpha: float) -> int:
    r"""Hommel's h: the largest number of features that are not rejected together.

    .. math:: h = \max\{i : \alpha j < i \, p_{(m - i + j)} \text{ for } j = 1, \dots, i\}

    O(m) per step of a bisection: if some i largest p-values are not rejected, neither are i - 1.

    `p_values` (n_features,). Returns `h`: 0 if even the largest p-value is rejected.
    """
    ascending = np.sort(p_values)
    low, high = 0, ascending.size
    while low < high:
        middle = (low + high + 1) // 2
        ranks = np.arange(1, middle + 1)
        if (middle * ascending[ascending.size - middle :] > alpha * ranks).all():
            low = middle
        else:
            high = middle - 1
    return low


def simes_critical(p_values: NDArray, alpha: float) -> NDArray[np.float64]:
    """Critical values of closed testing with Simes' test: u alpha / h, at most 1.

    `p_values` (n_features,). Returns `critical` (n_features,).
    """
    ranks = np.arange(1, p_values.size + 1)
    return np.minimum(ranks * alpha / max(hommel_value(p_values, alpha), alpha), 1.0)


def calibrate(smallest: NDArray, n_features: int, alpha: float) -> NDArray[np.float64]:
    r"""Critical values from permutations: :math:`u \lambda / m` for u = 1, ..., depth.

    With :math:`c_b = \min_u p_{(u), b} \, m / u` and w permutations, the true labels among them,
    :math:`\lambda` is the :math:`(\lfloor \alpha w \rfloor + 1)`-th smallest of the :math:`c_b`.

    `smallest` (n_permutations, depth): the smallest values of each permutation, ascending; the
    first row has the true labels. Returns `critical` (depth,).
    """
    n_permutations, depth = smallest.shape
    slopes = np.arange(1, depth + 1) / n_features
    place = min(int(alpha * n_permutations * (1 + 1e-12)), n_permutations - 1)
    # A little smaller, so that rounding makes no value smaller than its own critical value.
    return slopes * np.sort((smallest / slopes).min(axis=1))[place] * (1 - 1e-12)


def count_true_along(
    values: NDArray, critical: NDArray, *, strict: bool = False
) -> NDArray[np.int64]:
    """Lower bounds on the number of true features among the first k, for every k.

    `values` (n_chosen,): P-values of the chosen features, in any order; the k-th bound is about
    the first k. `critical` (depth,): critical values, ascending. `strict`: count only values
    strictly below a critical value as small, as permutations need. Returns `bounds` (n_chosen,).
    """
    bounds = np.zeros(values.size, dtype=np.int64)
    for u, level in enumerate(critical[: values.size]):
        small = values < level if strict else values <= level
        np.maximum(bounds, np.cumsum(small) - u, out=bounds)
        if small.all():  # larger u find no more
            break
    return bounds


def max_t_p_values(largest: NDArray, features: NDArray, statistic: NDArray) -> NDArray[np.float64]:
    r"""Family-wise p-values of Westfall and Young: step-down, by the largest statistics.

    For the features in the order of their statistic, the r-th is compared with the maximum over
    all features but the r - 1 before it, in each permutation; p-values then never decrease. Only
    the `depth` largest statistics of a permutation are known, hence the maximum without any of
    the first depth - 1 features; those after them are compared with that last maximum, which is
    conservative.

    `largest` (n_permutations, depth): largest statistics of each permutation; the first row has
    the true labels. `features` (n_permutations, depth): which features they belong to. `statistic`
    (n_features,): the statistics with the true labels. Returns `p_values` (n_features,).
    """
    n_permutations, depth = largest.shape
    order = np.argsort(-statistic, kind="stable")
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    maxima = np.full((n_permutations, depth), -np.inf)
    where = (np.arange(n_permutations)[:, None], np.minimum(rank[features], depth - 1))
    np.maximum.at(maxima, where, largest)
    maxima = np.maximum.accumulate(maxima[:, ::-1], axis=1)[:, ::-1]
    ordered = np.empty(order.size)
    for r in range(order.size):
        ordered[r] = (maxima[:, min(r, depth - 1)] >= statistic[order[r]]).mean()
        if ordered[r] == 1.0:  # and so are all that follow
            ordered[r:] = 1.0
            break
    p_values = np.empty(order.size)
    p_values[order] = np.maximum.accumulate(ordered)
    return p_values
