r"""The weighted l1 ball: each entry has its own weight.

With positive weights :math:`\omega`, the solution is :math:`|w_i| = \max(|v_i| - \lambda \omega_i,
0)`, and for any set of entries that contains those different from zero,
:math:`(\sum_{set} \omega_i |v_i| - \eta) / \sum_{set} \omega_i^2` is at most :math:`\lambda`: the
search of `tamis.projections.simplex` works with these sums. Products :math:`\lambda \omega_i` are
computed without rounding (Dekker), which matters for entries that nearly cancel.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from tamis._compile import compiled
from tamis.projections._checks import (
    as_real,
    check_finite,
    check_radius,
    flatten,
    inside,
    scale_exponent,
    times_power_of_two,
)
from tamis.projections._sums import EPSILON, add_exactly, is_large, survey

_SPLITTER = 134217729.0  # 2**27 + 1: Veltkamp's splitting of a float64 in two halves
# Products without rounding make numpy slower than a sum of magnitudes by this factor and more.
_FACTOR = 4
# The squares of smaller weights would vanish next to the largest.
_WEIGHT_RANGE = 1e150


def project_weighted_l1_ball(v: ArrayLike, weights: ArrayLike, radius: float = 1.0) -> np.ndarray:
    r"""Project an array on the weighted l1 ball.

    .. math:: \operatorname*{argmin}_{\sum_i \omega_i |w_i| \le \eta} \tfrac12 \|w - v\|_2^2

    Soft thresholding of entry i at :math:`\lambda \omega_i`, the multiplier found by Michelot's
    algorithm in O(p) expected time: see the module.

    Parameters
    ----------
    v : array_like of any shape
        Point to project, as one vector; not changed. Computed in float64.
    weights : array_like of the shape of `v`
        Positive weights :math:`\omega`, within a factor of 1e150 of each other.
    radius : float
        Radius :math:`\eta \ge 0` of the ball.

    Returns
    -------
    w : ndarray of the shape of `v`
        The closest point of the ball, float32 for float32 and float64 otherwise; a copy of `v`
        when `v` is inside or outside by no more than 2 units in the last place. From outside, the
        exact norm is `radius` to within 2 units in the last place (relative 4.5e-16 or, for
        float32, 1.2e-7). Zeros are exact.

    References
    ----------
    .. [1] Michelot, "A finite algorithm for finding the projection of a point onto the canonical
       simplex of R^n", J. Optim. Theory Appl. 50(1), 1986.
    .. [2] Dekker, "A floating-point technique for extending the available precision", Numer. Math.
       18, 1971.

    Examples
    --------
    >>> from tamis.projections import project_weighted_l1_ball
    >>> project_weighted_l1_ball([3.0, -2.0], weights=[1.0, 2.0], radius=3.0)
    array([ 2.2, -0.4])
    """
    v, radius = as_real(v), check_radius(radius)
    weights = _check_weights(weights, v.shape)
    check_finite(v)
    if v.size == 0:
        return v.copy()
    flat, order = flatten(v)
    # The weights may have another memory order, so both are read in the order of v.
    weights = np.require(weights.ravel(order=order), requirements=["A", "W"])
    weight_exponent = scale_exponent(weights.max())
    exponent = scale_exponent(np.abs(flat).max())
    scaled = times_power_of_two(flat, -exponent) if exponent else flat
    weights = times_power_of_two(weights, -weight_exponent) if weight_exponent else weights
    bound = float(times_power_of_two(radius, -exponent - weight_exponent))
    if inside(survey(weights * scaled, True, bound)[0], bound, v.dtype):
        return v.copy()
    if bound == 0:
        return np.zeros_like(v)
    w = _shrink(scaled, weights, *weighted_multiplier(scaled, weights, bound))
    w = times_power_of_two(w, exponent) if exponent else w
    return w.reshape(v.shape, order=order)


def _check_weights(weights, shape):
    weights = as_real(weights, "weights").astype(np.float64, copy=False)
    if weights.shape != shape:
        raise ValueError(
            f"weights must have the shape of v, {shape}, got {weights.shape}. "
            "numpy.broadcast_to(weights, v.shape) repeats them."
        )
    check_finite(weights, "weights")
    if weights.size and weights.min() <= 0:
        raise ValueError(
            f"weights must be > 0, got {weights.min()}. "
            "Remove entries without a weight from v: they do not change."
        )
    if weights.size and weights.min() < weights.max() / _WEIGHT_RANGE:
        raise ValueError(
            f"weights must lie within a factor of {_WEIGHT_RANGE:g} of each other, got "
            f"{weights.min()} and {weights.max()}. Raise the smallest: they hardly matter."
        )
    return weights


def weighted_multiplier(v, weights, radius):
    """The multiplier as (high, low): magnitude a of weight b becomes ``a - b high - b low``.

    The point is outside the ball of the positive radius.
    """
    if is_large(v, _FACTOR):
        return _weighted_multiplier(v, weights, radius)
    a, b = np.abs(v).astype(np.float64, copy=False), weights
    count = a.size + 1
    while a.size < count:
        count = a.size
        norm, squares = float(a @ b), float(b @ b)
        level = ((norm - radius) - count * EPSILON * (norm + radius)) / squares
        kept = a > level * b
        a, b = a[kept], b[kept]
    low, count = 0.0, a.size + 1
    while 0 < a.size < count:
        count = a.size
        squares = float(b @ b)
        high = (float(a @ b) - radius) / squares
        excess = b * _left.py_func(a, b, high, 0.0)
        low = math.fsum([-radius, *excess.tolist()]) / squares
        kept = _left.py_func(a, b, high, low) > 0.0
        a, b = a[kept], b[kept]
    return high, low


@compiled
def _weighted_multiplier(v, weights, radius):
    a = np.empty(v.size)
    b = np.empty(v.size)
    level = _level_below(v, weights, radius)
    count = 0
    for i in range(v.size):
        magnitude, weight = np.float64(abs(v[i])), weights[i]
        a[count], b[count] = magnitude, weight
        count += magnitude > level * weight

    dropped = True
    while dropped:
        level = _level_below(a[:count], b[:count], radius)
        kept = _keep_roughly_above(a[:count], b[:count], level)
        dropped = kept < count
        count = kept

    low = 0.0
    dropped = True
    while dropped and count > 0:
        norm, squares = _sums(a[:count], b[:count])
        high = (norm - radius) / squares
        low = _excess(a[:count], b[:count], high, radius) / squares
        kept = _keep_above(a[:count], b[:count], high, low)
        dropped = kept < count
        count = kept
    return high, low


@compiled
def _left(a, b, high, low):
    """``a - b * high - b * low``, the first product without rounding."""
    product = b * high
    t = _SPLITTER * b
    b_head = t - (t - b)
    b_tail = b - b_head
    t = _SPLITTER * high
    high_head = t - (t - high)
    high_tail = high - high_head
    lost = b_head * high_head - product
    lost = ((lost + b_head * high_tail) + b_tail * high_head) + b_tail * high_tail
    return ((a - product) - lost) - b * low


@compiled
def _sums(a, b):
    norm = 0.0
    squares = 0.0
    for i in range(a.size):
        norm += abs(a[i]) * b[i]
        squares += b[i] * b[i]
    return norm, squares


@compiled
def _level_below(a, b, radius):
    """A lower bound of the multiplier that allows for rounding."""
    norm, squares = _sums(a, b)
    return ((norm - radius) - a.size * EPSILON * (norm + radius)) / squares


@compiled
def _keep_roughly_above(a, b, level):
    count = 0
    for i in range(a.size):
        magnitude, weight = a[i], b[i]
        a[count], b[count] = magnitude, weight
        count += magnitude > level * weight
    return count


@compiled
def _keep_above(a, b, high, low):
    count = 0
    for i in range(a.size):
        magnitude, weight = a[i], b[i]
        a[count], b[count] = magnitude, weight
        count += _left(magnitude, weight, high, low) > 0.0
    return count


@compiled
def _excess(a, b, high, radius):
    total = -radius
    lost = 0.0
    for i in range(a.size):
        total, lost = add_exactly(total, lost, b[i] * _left(a[i], b[i], high, 0.0))
    return total + lost


def _shrink(v, weights, high, low):
    if is_large(v, _FACTOR):
        return _shrink_large(v, weights, high, low)
    left = _left.py_func(np.abs(v).astype(np.float64, copy=False), weights, high, low)
    np.maximum(left, 0.0, out=left)
    np.copysign(left, v, out=left)
    left += 0.0  # no -0
    return left.astype(v.dtype, copy=False)


@compiled
def _shrink_large(v, weights, high, low):
    w = np.empty_like(v)
    for i in range(v.size):
        left = _left(np.float64(abs(v[i])), weights[i], high, low)
        left = left if left > 0.0 else 0.0
        w[i] = -left if v[i] < 0 and left > 0.0 else left
    return w
