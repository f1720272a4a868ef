"""Margins, losses and feasible duals of many ridge-logistic problems at once.

Shapes: B fits (of different columns) of C problems (classes against the rest) on n rows, each with
a columns, the ones last; padded with rows of zeros.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.panel.proof.problem import FitProblem

__all__ = ["DualPoints", "look", "margins_of", "normal_matrices", "slopes_of"]

_LEAST_CURVATURE = 1e-10
# Values that are gathered together.
_BLOCK = 1 << 18
# Up to so many columns, margins come from one product with all of them.
_FEW_COLUMNS = 96
# A dual that needs no more repair than this gets the simpler, lower bound of its entropy.
_SMALL_REPAIR = 1e-5


class DualPoints(NamedTuple):
    """What is known at the margins of some fits."""

    loss: NDArray  # (B,): weighted, summed over classes
    entropy: NDArray  # (B,): of the repaired dual
    slope: NDArray  # (B, C, n): negative slope of the loss in the margins
    dual: NDArray  # (B, C, n): the slope, repaired: it sums to 0 in each problem
    curvature: NDArray  # (B, C, n)


def margins_of(problem: FitProblem, places: NDArray, coef: NDArray) -> NDArray[np.float64]:
    """Margins (B, C, n) of coefficients (B, C, a) at some places (B, a)."""
    columns = problem.columns
    B, C, _ = coef.shape
    if len(columns) <= _FEW_COLUMNS:
        spread = np.zeros((B, C, len(columns)))
        spread[np.arange(B)[:, None, None], np.arange(C)[:, None], places[:, None, :]] = coef
        return (spread.reshape(B * C, -1) @ columns).reshape(B, C, -1)
    return np.matmul(coef, columns[places])


def slopes_of(problem: FitProblem, places: NDArray, slope: NDArray) -> NDArray[np.float64]:
    """Slopes (B, C, a) in the coefficients at some places (B, a), from those in the margins."""
    columns = problem.columns
    B, C, n = slope.shape
    if len(columns) <= _FEW_COLUMNS:  # the chosen ones would be a copy of most of the table
        every = (slope.reshape(B * C, n) @ columns.T).reshape(B, C, -1)
        return np.take_along_axis(every, places[:, None, :], axis=2)
    chosen = np.empty((B, C, places.shape[1]))
    for row, some in enumerate(places):
        np.matmul(slope[row], columns[some].T, out=chosen[row])
    return chosen


def look(
    problem: FitProblem, margins: NDArray, least_curvature: float = _LEAST_CURVATURE
) -> DualPoints:
    """Losses, slopes and curvatures at some margins, and the feasible dual next to them.

    The loss of a row is ``log(1 + exp(z))`` with z the margin times -1 for rows of the class. Its
    slope a lies in [0, 1] and its conjugate is the entropy of a, which is ``loss - a z`` there.
    The dual is a, scaled down on the rows of the class or on the others, whichever weigh more.
    """
    targets, weights = problem.targets, problem.weights
    sign = 1.0 - 2.0 * targets
    z = margins * sign
    e = np.exp(-np.abs(z))
    row_loss = np.log1p(e)
    row_loss += np.maximum(z, 0.0)
    share = np.where(z > 0, 1.0, e)
    share /= 1.0 + e
    row_entropy = row_loss - share * z
    np.maximum(row_entropy, 0.0, out=row_entropy)
    curvature = e / (1.0 + e) ** 2
    np.maximum(curvature, least_curvature, out=curvature)
    curvature *= weights
    loss = (row_loss @ weights).sum(axis=1)
    weighed = share * weights
    inside = np.einsum("bcn,cn->bc", weighed, targets)
    outside = np.einsum("bcn,cn->bc", weighed, 1.0 - targets)  # a difference would cancel
    least = np.minimum(inside, outside)
    tiny = np.finfo(float).tiny
    factor_in = (least / np.maximum(inside, tiny))[..., None]
    factor_out = (least / np.maximum(outside, tiny))[..., None]
    factor = np.where(targets > 0, factor_in, factor_out)
    slope = weighed * -sign
    if np.minimum(factor_in, factor_out).min() > 1 - _SMALL_REPAIR:
        row_entropy *= factor  # concave, and 0 at 0: no more than that of the scaled dual
    else:
        row_entropy = _entropy(share * factor)
    entropy = (row_entropy @ weights).sum(axis=1)
    return DualPoints(loss, entropy, slope, slope * factor, curvature)


def _entropy(a):
    tiny = np.finfo(float).tiny
    rest = np.maximum(1.0 - a, tiny)
    # log1p: heavy rows that are told well have a next to 0.
    log_rest = np.log1p(-np.minimum(a, 1.0 - np.finfo(float).epsneg))
    return -(a * np.log(np.maximum(a, tiny)) + rest * log_rest)


def normal_matrices(
    problem: FitProblem, places: NDArray, curvature: NDArray
) -> NDArray[np.float64]:
    """Products (B, C, a, a) of columns, weighted by curvatures (B, C, n)."""
    B, C, n = curvature.shape
    a = places.shape[1]
    products = np.zeros((B, C, a, a))
    if a * n <= _BLOCK:
        step = max(1, _BLOCK // (a * n))
        for first in range(0, B, step):
            some = slice(first, first + step)
            gathered = problem.columns[places[some]]
            turned = gathered.transpose(0, 2, 1)
            for c in range(C):
                np.matmul(gathered * curvature[some, c, None, :], turned, out=products[some, c])
        return products
    height = max(1, _BLOCK // a)
    for b in range(B):
        for low in range(0, n, height):
            rows = slice(low, low + height)
            gathered = problem.columns[places[b], rows]
            for c in range(C):
                products[b, c] += (gathered * curvature[b, c, rows]) @ gathered.T
    return products
