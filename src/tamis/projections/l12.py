r"""The l1,2 ball (exclusive lasso): the entries of a row compete, rows do not.

For a multiplier :math:`\lambda \ge 0` each row is soft-thresholded at :math:`\lambda` times its
new l1 norm :math:`n_i`. With the magnitudes of the row in decreasing order,
:math:`u_{i1} \ge u_{i2} \ge \dots`, and their prefix sums :math:`S_{ip}`,

.. math:: n_i(\lambda) = \max_p \frac{S_{ip}}{1 + \lambda p}, \qquad
          \sum_i n_i(\lambda)^2 = \eta^2,

where the best p is the number of entries that stay: entry p does while :math:`\lambda \sum_{j<p}
(u_{ij} - u_{ip}) < u_{ip}`. Each :math:`1 / n_i` is a minimum of lines, so

.. math:: G(\lambda) = \Big( \sum_i n_i(\lambda)^2 \Big)^{-1/2}

is concave, increasing, and nearly a line. Newton's method on :math:`G = 1 / \eta` climbs from any
point on the left without passing the root, and is exact in one step when all rows keep the same
number of entries. It starts at the largest of the roots for p = 1, ..., k kept in every row, where
the squared norm is at most :math:`k \eta^2`. Algorithm 2 of the paper takes Newton steps on
:math:`\sum_i n_i^2 = \eta^2` from 0 instead: 7 to 30 of them, measured, where this takes 2 to 6.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from tamis._compile import compiled
from tamis.projections._checks import (
    as_matrix,
    check_radius,
    inside,
    matrix_exponent,
    project_scaled,
)
from tamis.projections._sums import (
    EPSILON,
    add_exactly,
    exact_sum,
    is_large,
    row_sums,
    sum_exactly,
)

_MAX_STEPS = 200
_STEP_TOLERANCE = 16 * EPSILON
# Beyond it, only ties with the largest entry of a row remain, whatever the multiplier.
_LARGEST_MULTIPLIER = 1e300
# Sorting and Newton steps make numpy slower than a sum of magnitudes by this factor and more.
_FACTOR = 4


def project_l12_ball(V: ArrayLike, radius: float = 1.0) -> np.ndarray:
    r"""Project a matrix on the l1,2 ball of its rows (exclusive lasso).

    .. math:: \operatorname*{argmin}_{\sum_i \|w_i\|_1^2 \le \eta^2} \tfrac12 \|W - V\|_F^2

    Rows are sorted, and the multiplier is found by Newton's method on a nearly linear function
    in 2 to 6 steps, guarded by bisection: O(d k log k) for d rows and k columns. See the module.

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
        2.4e-7). Zeros are exact.

    Notes
    -----
    The text of [1]_ says that the features of one class (a column of a features x classes matrix)
    compete, while its Algorithm 2 sorts rows. This function follows the algorithm: the entries of
    a row compete. For the other form, ``project_l12_ball(V.T, radius).T``.

    The authors' published code is off by one in the number of entries kept, so its results are
    not projections; here p counts them as in the paper.

    References
    ----------
    .. [1] Barlaud, Chambolle and Caillau, "Classification and feature selection using a
       primal-dual method and projection on structured constraints", ICPR 2020.
    .. [2] Zhou, Jin and Hoi, "Exclusive lasso for multi-task feature selection", AISTATS 2010.

    Examples
    --------
    >>> from tamis.projections import project_l12_ball
    >>> project_l12_ball([[4.0, 1.0], [0.0, -3.0]], radius=2.5)
    array([[ 2. ,  0. ],
           [ 0. , -1.5]])
    """
    V, radius = as_matrix(V), check_radius(radius)
    if exponent := matrix_exponent(V):
        return project_scaled(project_l12_ball, V, radius, exponent)
    ordered, sums, ends = sorted_rows(V)
    if V.size == 0 or inside(_norm(ordered, sums, radius), radius, V.dtype, units=4):
        return V.copy()
    if radius == 0:
        return np.zeros_like(V)
    multiplier, _ = l12_multiplier(sums, ends, radius)
    return _shrink_rows(V, ordered, sums, ends, multiplier, radius)


def sorted_rows(V):
    """Magnitudes of each row in decreasing order, prefix sums, and where entries vanish."""
    ordered = np.abs(V).astype(np.float64, copy=False)
    ordered.sort(axis=1)
    ordered = np.ascontiguousarray(ordered[:, ::-1])
    if is_large(V, _FACTOR):
        return ordered, *_prefix_sums(ordered)
    sums = ordered.cumsum(axis=1)
    # sum_{j<p} (u_j - u_p): no cancellation, exactly 0 for ties
    distance = np.zeros_like(ordered)
    steps = np.arange(1, V.shape[1]) * (ordered[:, :-1] - ordered[:, 1:])
    steps.cumsum(axis=1, out=distance[:, 1:])
    ends = np.full_like(ordered, np.inf)
    np.divide(ordered, distance, out=ends, where=distance > 0.0)
    return ordered, sums, ends


@compiled
def _prefix_sums(ordered):
    n_rows, n_columns = ordered.shape
    sums = np.empty((n_rows, n_columns))
    ends = np.empty((n_rows, n_columns))
    for i in range(n_rows):
        total = 0.0
        distance = 0.0  # sum_{j<p} (u_j - u_p): no cancellation, exactly 0 for ties
        for p in range(n_columns):
            u = ordered[i, p]
            if p > 0:
                distance += p * (ordered[i, p - 1] - u)
            total += u
            sums[i, p] = total
            ends[i, p] = u / distance if distance > 0.0 else np.inf
    return sums, ends


def l12_multiplier(sums, ends, radius):
    """The multiplier that reduces the norm to the positive radius, and the number of steps.

    `sums` and `ends` come from `sorted_rows`; the matrix is outside the ball.
    """
    if is_large(sums, _FACTOR):
        return _l12_multiplier(sums, ends, radius)
    with np.errstate(over="ignore"):
        return _small_multiplier(sums, ends, radius)


def _small_multiplier(sums, ends, radius):
    norms = np.sqrt(np.einsum("ij,ij->j", sums, sums)) / radius - 1.0
    below = min(max(float((norms / np.arange(1, norms.size + 1)).max()), 0.0), _LARGEST_MULTIPLIER)
    above = max(below, min(float(norms[-1]), _LARGEST_MULTIPLIER))
    multiplier, n_steps, step = below, 0, np.inf
    while n_steps < _MAX_STEPS and step > _STEP_TOLERANCE * multiplier:
        n_steps += 1
        kept, shares = _shares(sums, ends, radius, multiplier)
        squares = shares * shares
        squared = float(squares.sum())
        slope = float((squares * (kept / (1.0 + multiplier * kept))).sum())
        if squared >= 1.0:
            below = multiplier
        else:
            above = multiplier
        # G = squared ** -0.5 and G' = slope * squared ** -1.5, in units of 1 / radius.
        new = multiplier + squared * (math.sqrt(squared) - 1.0) / slope
        if not below <= new <= above:
            new = 0.5 * (below + above)
        multiplier, step = new, abs(new - multiplier)
    return multiplier, n_steps


def _shares(sums, ends, radius, multiplier):
    """Number of entries that each row keeps, and its new norm in units of the radius."""
    kept = np.maximum((ends > multiplier).sum(axis=1), 1)
    norms = _entries(sums, kept - 1)
    return kept, norms / (1.0 + multiplier * kept) / radius


def _entries(X, columns):
    """One entry of each row."""
    return X.ravel()[np.arange(0, X.size, X.shape[1]) + columns]


@compiled
def _l12_multiplier(sums, ends, radius):
    n_rows, n_columns = sums.shape
    multiplier = 0.0
    norm = 0.0
    squares = np.zeros(n_columns)
    for i in range(n_rows):
        for p in range(n_columns):
            squares[p] += sums[i, p] * sums[i, p]
    for p in range(n_columns):
        norm = np.sqrt(squares[p])
        multiplier = max(multiplier, (norm / radius - 1.0) / (p + 1))
    below = min(multiplier, _LARGEST_MULTIPLIER)
    above = max(below, min(norm / radius - 1.0, _LARGEST_MULTIPLIER))
    multiplier = below

    kept = np.full(n_rows, n_columns)
    n_steps = 0
    while n_steps < _MAX_STEPS:
        n_steps += 1
        squared, slope = _norm_and_slope(sums, ends, radius, multiplier, kept)
        if squared >= 1.0:
            below = multiplier
        else:
            above = multiplier
            kept[:] = n_columns  # the next multiplier is smaller
        # G = squared ** -0.5 and G' = slope * squared ** -1.5, in units of 1 / radius.
        new = multiplier + squared * (np.sqrt(squared) - 1.0) / slope
        if not below <= new <= above:
            new = 0.5 * (below + above)
        step = abs(new - multiplier)
        multiplier = new
        if step <= _STEP_TOLERANCE * new:
            break
    return multiplier, n_steps


@compiled
def _norm_and_slope(sums, ends, radius, multiplier, kept):
    """Squared norm in units of the radius and minus half its derivative; lowers `kept`."""
    squared = 0.0
    slope = 0.0
    for i in range(sums.shape[0]):
        p = _count_kept(ends[i], multiplier, kept[i])
        kept[i] = p
        shrinkage = 1.0 + multiplier * p
        share = (sums[i, p - 1] / shrinkage / radius) ** 2
        squared += share
        slope += share * p / shrinkage
    return squared, slope


@compiled
def _count_kept(ends, multiplier, p):
    while p > 1 and multiplier >= ends[p - 1]:
        p -= 1
    return p


def _shrink_rows(V, ordered, sums, ends, multiplier, radius):
    """Shrink each row to its new l1 norm; norms are rescaled to the sphere to the last bit."""
    if is_large(V, _FACTOR):
        return _shrink_large(V, ordered, sums, ends, multiplier, radius)
    kept, norms = _shares(sums, ends, radius, multiplier)
    norms *= radius / math.sqrt(sum_exactly(norms * norms))
    # The level of each row, in the three parts of `tamis.projections.simplex.find_level`.
    shift = np.where(2.0 * norms <= ordered[:, 0], ordered[:, 0], 0.0)
    away = ordered - shift[:, None]
    places = np.arange(V.shape[1])
    while True:
        used = places < kept[:, None]
        high = (np.where(used, away, 0.0).sum(axis=1) - norms) / kept
        left = np.where(used, away - high[:, None], 0.0)
        low = row_sums(left, -norms) / kept
        last = _entries(left, kept - 1) - low
        wrong = (kept > 1) & ~(last > 0.0)
        if not wrong.any():
            break
        kept = kept - wrong  # rounding had kept one too many
    W = np.abs(V).astype(np.float64) - shift[:, None]
    W -= high[:, None]
    W -= low[:, None]
    W[norms == 0.0] = 0.0
    np.maximum(W, 0.0, out=W)
    np.copysign(W, V, out=W)
    W += 0.0  # no -0
    return W.astype(V.dtype, copy=False)


@compiled
def _shrink_large(V, ordered, sums, ends, multiplier, radius):
    n_rows, n_columns = V.shape
    norms = np.empty(n_rows)
    kept = np.empty(n_rows, dtype=np.int64)
    for i in range(n_rows):
        kept[i] = _count_kept(ends[i], multiplier, n_columns)
        norms[i] = sums[i, kept[i] - 1] / (1.0 + multiplier * kept[i]) / radius
    scale = radius / np.sqrt(_sum_of_squares(norms))
    W = np.zeros_like(V)
    for i in range(n_rows):
        norm = norms[i] * scale
        if norm > 0.0:
            shift, high, low = _row_level(ordered[i], kept[i], norm)
            for j in range(n_columns):
                left = ((abs(V[i, j]) - shift) - high) - low
                if left > 0.0:
                    W[i, j] = left if V[i, j] > 0 else -left
    return W


@compiled
def _row_level(u, p, norm):
    """Level of the row, in the three parts of `tamis.projections.simplex.find_level`."""
    shift = u[0] if 2.0 * norm <= u[0] else 0.0
    while True:
        total = 0.0
        for j in range(p):
            total += u[j] - shift
        high = (total - norm) / p
        excess = -norm
        lost = 0.0
        for j in range(p):
            excess, lost = add_exactly(excess, lost, (u[j] - shift) - high)
        low = (excess + lost) / p
        if p == 1 or ((u[p - 1] - shift) - high) - low > 0.0:
            return shift, high, low
        p -= 1  # rounding had kept one too many


def _norm(ordered, sums, radius):
    """The l1,2 norm, with compensated sums if it is so close to the radius that they matter."""
    if is_large(ordered, _FACTOR):
        return _norm_large(ordered, sums, radius)
    norm = math.sqrt(sum_exactly(sums[:, -1] ** 2))
    if abs(norm - radius) <= ordered.shape[1] * EPSILON * radius:
        norm = math.sqrt(sum_exactly(row_sums(ordered, np.zeros(len(ordered))) ** 2))
    return norm


@compiled
def _norm_large(ordered, sums, radius):
    norm = np.sqrt(_sum_of_squares(sums[:, -1]))
    if abs(norm - radius) <= ordered.shape[1] * EPSILON * radius:
        row_sums = np.empty(ordered.shape[0])
        for i in range(ordered.shape[0]):
            row_sums[i] = exact_sum(ordered[i])
        norm = np.sqrt(_sum_of_squares(row_sums))
    return norm


@compiled
def _sum_of_squares(x):
    total = 0.0
    lost = 0.0
    for i in range(x.size):
        total, lost = add_exactly(total, lost, x[i] * x[i])
    return total + lost
