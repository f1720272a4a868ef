r"""The simplex and the level of soft thresholding: the search behind most of the balls.

The projection of v on :math:`\{w \ge 0, \sum_i w_i = \eta\}` is :math:`\max(v_i - \tau, 0)` with
the unique level :math:`\tau` that gives the right sum. For any set of entries that contains all
positive ones of the solution, :math:`(\sum_{set} v_i - \eta) / |set|` is at most :math:`\tau`, so
entries at or below it can be dropped repeatedly until none is left to drop: Michelot's algorithm
[1]_. It is Newton's method on the convex function :math:`\sum_i \max(v_i - \tau, 0) - \eta`: a
step halves the excess or the number of entries, whatever the data, so steps are few and, in
practice, their cost falls off like a geometric series.

What makes it exact in floating point:

- Entries are dropped only when they are below the level by more than the rounding of its sum.
- The last level is kept in two parts, high + low, the second from the compensated sum of
  the result itself. The level would otherwise be off by half a unit in its last place, once for
  every positive entry.
- For a small radius, candidates are measured from the largest entry; these differences are exact
  (Sterbenz), so even a radius of 1e-30 with entries near 1 comes out right.

References
----------
.. [1] Michelot, "A finite algorithm for finding the projection of a point onto the canonical
   simplex of R^n", J. Optim. Theory Appl. 50(1), 1986.
.. [2] Condat, "Fast projection onto the simplex and the l1 ball", Math. Program. 158, 2016.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from tamis._compile import compiled
from tamis.projections._checks import (
    HEADROOM,
    as_real,
    check_finite,
    check_radius,
    flatten,
    project_scaled,
)
from tamis.projections._sums import EPSILON, add_exactly, is_large, plain_sum, survey


def project_simplex(v: ArrayLike, radius: float = 1.0) -> np.ndarray:
    r"""Project an array on the simplex.

    .. math:: \operatorname*{argmin}_{w \ge 0,\ \sum_i w_i = \eta} \tfrac12 \|w - v\|_2^2

    Michelot's algorithm in O(p) expected time: see the module.

    Parameters
    ----------
    v : array_like of any shape
        Point to project, as one vector; not changed. Computed in float64.
    radius : float
        Sum :math:`\eta \ge 0` of the result.

    Returns
    -------
    w : ndarray of the shape of `v`
        The closest point of the simplex, float32 for float32 and float64 otherwise. Its exact
        sum is `radius` to within one unit in the last place (relative 2.3e-16 or, for float32,
        1.2e-7). Zeros are exact.

    References
    ----------
    .. [1] Michelot, "A finite algorithm for finding the projection of a point onto the canonical
       simplex of R^n", J. Optim. Theory Appl. 50(1), 1986.

    Examples
    --------
    >>> from tamis.projections import project_simplex
    >>> project_simplex([0.5, 1.0, -1.0])
    array([0.25, 0.75, 0.  ])
    """
    v, radius = as_real(v), check_radius(radius)
    if v.size == 0 and radius > 0:
        raise ValueError(
            f"the simplex of radius {radius} has no point without entries: "
            f"v must have at least one, got shape {v.shape}."
        )
    if v.size == 0 or radius == 0:
        check_finite(v)
        return np.zeros_like(v)
    flat, order = flatten(v)
    total, largest, finite = survey(flat, False, radius)
    if not finite:
        check_finite(v)
        return project_scaled(project_simplex, v, radius, HEADROOM)
    level = find_level(flat, False, radius, total, largest)
    return shrink(flat, False, *level).reshape(v.shape, order=order)


def simplex_threshold(magnitudes, radius):
    """The level that projects non-negative magnitudes on the l1 ball.

    `magnitudes` (n,).
    """
    total, largest, _ = survey(magnitudes, True, radius)
    if total <= radius:
        return 0.0
    shift, high, low = find_level(magnitudes, True, radius, total, largest)
    return max(shift + (high + low), 0.0)


def project_magnitudes(magnitudes, radius):
    """Project non-negative float64 magnitudes outside the l1 ball on its sphere."""
    total, largest, _ = survey(magnitudes, True, radius)
    return shrink(magnitudes, True, *find_level(magnitudes, True, radius, total, largest))


def find_level(v, absolute, radius, total, largest):
    """The level as (shift, high, low): entry a becomes ``((a - shift) - high) - low``.

    `total` and `largest` are those of `survey`; the radius is positive and, for magnitudes,
    smaller than their sum.
    """
    if is_large(v):
        return _find_level(v, absolute, radius, total, largest)
    a = np.abs(v) if absolute else v
    near = 2.0 * radius <= abs(largest)
    shift = largest if near else 0.0
    slack = v.size * EPSILON * (abs(largest - shift) + radius)
    bound = -radius if near else max(largest - radius, (total - radius) / v.size) - slack
    x = a.astype(np.float64, copy=False) - shift
    x = x[x > bound]
    count = x.size + 1
    while x.size < count:
        count = x.size
        x = x[x > (float(x.sum()) - radius) / count - slack]
    low, count = 0.0, x.size + 1
    while 0 < x.size < count:
        count = x.size
        high = (float(x.sum()) - radius) / count
        left = x - high
        low = math.fsum([-radius, *left.tolist()]) / count
        x = x[left - low > 0.0]
    return shift, high, low


@compiled
def _find_level(v, absolute, radius, total, largest):
    near = 2.0 * radius <= abs(largest)
    shift = np.float64(largest if near else 0.0)
    slack = v.size * EPSILON * (abs(largest - shift) + radius)
    # Nothing below the largest entry by the radius or more survives.
    bound = -radius if near else max(largest - radius, (total - radius) / v.size) - slack
    x = np.empty(v.size)
    count = 0
    for i in range(v.size):  # no branch: random data would mispredict it
        a = abs(v[i]) if absolute else v[i]
        x[count] = a - shift
        count += a - shift > bound

    dropped = True
    while dropped:
        high = (plain_sum(x[:count]) - radius) / count
        kept = _keep_above(x[:count], high - slack, 0.0)
        dropped = kept < count
        count = kept

    low = 0.0
    dropped = True
    while dropped and count > 0:
        high = (plain_sum(x[:count]) - radius) / count
        low = _excess(x[:count], high, radius) / count
        kept = _keep_above(x[:count], high, low)
        dropped = kept < count
        count = kept
    return shift, high, low


def shrink(v, absolute, shift, high, low):
    """Apply the level of `find_level`; magnitudes get their signs back, zeros are +0."""
    if is_large(v):
        return _shrink(v, absolute, shift, high, low)
    left = (np.abs(v) if absolute else v).astype(np.float64)
    left -= shift
    left -= high
    left -= low
    np.maximum(left, 0.0, out=left)
    if absolute:
        np.copysign(left, v, out=left)
        left += 0.0  # no -0
    return left.astype(v.dtype, copy=False)


@compiled
def _shrink(v, absolute, shift, high, low):
    w = np.empty_like(v)
    for i in range(v.size):
        a = abs(v[i]) if absolute else v[i]
        left = ((a - shift) - high) - low
        left = left if left > 0.0 else 0.0
        w[i] = -left if absolute and v[i] < 0 and left > 0.0 else left
    return w


@compiled
def _keep_above(x, high, low):
    """Move the entries above the level to the front; returns their number."""
    count = 0
    for i in range(x.size):
        a = x[i]
        x[count] = a
        count += (a - high) - low > 0.0
    return count


@compiled
def _excess(x, high, radius):
    """How much the sum of ``x - high``, rounded as in `shrink`, exceeds the radius."""
    total = -radius
    lost = 0.0
    for i in range(x.size):
        total, lost = add_exactly(total, lost, x[i] - high)
    return total + lost
