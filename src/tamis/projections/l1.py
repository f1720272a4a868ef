"""The l1 ball: soft thresholding at the level of the simplex of the magnitudes."""

import numpy as np
from numpy.typing import ArrayLike

from tamis.projections._checks import (
    HEADROOM,
    as_real,
    check_finite,
    check_radius,
    flatten,
    inside,
    project_scaled,
)
from tamis.projections._sums import survey
from tamis.projections.simplex import find_level, shrink


def project_l1_ball(v: ArrayLike, radius: float = 1.0) -> np.ndarray:
    r"""Project an array on the l1 ball.

    .. math:: \operatorname*{argmin}_{\sum_i |w_i| \le \eta} \tfrac12 \|w - v\|_2^2

    Soft thresholding at the level that reduces the norm to the radius, found by
    Michelot's algorithm in O(p) expected time (module `tamis.projections.simplex`): Sec. 4 of
    [1]_ without the sort.

    Parameters
    ----------
    v : array_like of any shape
        Point to project, as one vector; not changed. Computed in float64.
    radius : float
        Radius :math:`\eta \ge 0` of the ball.

    Returns
    -------
    w : ndarray of the shape of `v`
        The closest point of the ball, float32 for float32 and float64 otherwise; a copy of `v`
        when `v` is inside or outside by no more than 2 units in the last place, so projecting
        twice gives the same bits. From outside, the exact norm is `radius` to within one unit in
        the last place (relative 2.3e-16 or, for float32, 1.2e-7). Zeros are exact.

    References
    ----------
    .. [1] Duchi et al., "Efficient projections onto the l1-ball for learning in high dimensions",
       ICML 2008.
    .. [2] Condat, "Fast projection onto the simplex and the l1 ball", Math. Program. 158, 2016.

    Examples
    --------
    >>> from tamis.projections import project_l1_ball
    >>> project_l1_ball([3.0, -2.0, 0.5], radius=3.0)
    array([ 2., -1.,  0.])
    """
    v, radius = as_real(v), check_radius(radius)
    flat, order = flatten(v)
    total, largest, finite = survey(flat, True, radius)
    if not finite:
        check_finite(v)
        return project_scaled(project_l1_ball, v, radius, HEADROOM)
    if inside(total, radius, v.dtype):
        return v.copy()
    if radius == 0:
        return np.zeros_like(v)
    level = find_level(flat, True, radius, total, largest)
    return shrink(flat, True, *level).reshape(v.shape, order=order)
