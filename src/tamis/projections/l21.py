"""The l2,1 ball (group lasso): whole rows become zero."""

import numpy as np
from numpy.typing import ArrayLike

from tamis.projections._checks import (
    as_matrix,
    check_radius,
    inside,
    matrix_exponent,
    project_scaled,
)
from tamis.projections._sums import survey
from tamis.projections.simplex import project_magnitudes

# The squares of longer rows are added in pairs, so that rounding grows with the logarithm only.
_LONG_ROW = 64


def project_l21_ball(V: ArrayLike, radius: float = 1.0) -> np.ndarray:
    r"""Project a matrix on the l2,1 ball of its rows.

    .. math:: \operatorname*{argmin}_{\sum_i \|w_i\|_2 \le \eta} \tfrac12 \|W - V\|_F^2

    The row norms are projected on the l1 ball and each row is rescaled to its new norm, eq. (3) of
    [1]_, in O(d k) for d rows and k columns. For groups of columns, project the transpose.

    Parameters
    ----------
    V : array_like of shape (n_rows, n_columns)
        Matrix to project; not changed. Computed in float64.
    radius : float
        Radius :math:`\eta \ge 0` of the ball.

    Returns
    -------
    W : ndarray of shape (n_rows, n_columns)
        The closest point of the ball, float32 for float32 and float64 otherwise; a copy of `V`
        when `V` is inside or outside by no more than 4 units in the last place. From outside, the
        norm is `radius` to within 4 units in the last place (relative 9e-16 or, for float32,
        2.4e-7). Dropped rows are exactly zero.

    References
    ----------
    .. [1] Barlaud, Chambolle and Caillau, "Classification and feature selection using a
       primal-dual method and projection on structured constraints", ICPR 2020.
    .. [2] Yuan and Lin, "Model selection and estimation in regression with grouped variables",
       J. R. Stat. Soc. B 68(1), 2006.

    Examples
    --------
    >>> from tamis.projections import project_l21_ball
    >>> project_l21_ball([[3.0, 4.0], [0.0, 1.0]], radius=4.0)
    array([[2.4, 3.2],
           [0. , 0. ]])
    """
    V, radius = as_matrix(V), check_radius(radius)
    if exponent := matrix_exponent(V):
        return project_scaled(project_l21_ball, V, radius, exponent)
    norms = row_norms(V)
    if inside(survey(norms, True, radius)[0], radius, V.dtype, units=4):
        return V.copy()
    if radius == 0:
        return np.zeros_like(V)
    return _rescale_rows(V, norms, project_magnitudes(norms, radius))


def row_norms(V):
    """The l2 norm of each row, in float64."""
    V = V.astype(np.float64, copy=False)
    if V.shape[1] <= _LONG_ROW:
        return np.sqrt(np.einsum("ij,ij->i", V, V))
    return np.sqrt((V * V).sum(axis=1))


def _rescale_rows(V, norms, new_norms):
    factor = np.divide(new_norms, norms, out=np.zeros_like(norms), where=new_norms > 0.0)
    return (V * factor[:, None]).astype(V.dtype, copy=False) + 0.0
