"""Compiled loops of `tamis.panel.l1_path`: block coordinate descent on columns that may be sparse.

Columns are in compressed form (values, rows, starts). Margins and residuals are kept up to date,
row by row, so that a block costs as many operations as it has stored values.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis._compile import compiled

__all__ = ["ColumnBlocks", "SparseRows", "State", "block_slopes", "descend", "fit_intercepts"]

_LEAST_CURVATURE = 1e-10


class ColumnBlocks(NamedTuple):
    """Columns that enter together, in compressed form."""

    values: NDArray  # (n_stored,)
    rows: NDArray  # (n_stored,)
    column_starts: NDArray  # (n_columns + 1,)
    block_starts: NDArray  # (n_blocks + 1,): first column of each block
    curvature: NDArray  # (n_blocks,): upper bound of the second derivatives, with the ridge
    factor: NDArray  # (n_blocks,): the penalty of a block in units of the common one; 0 for none
    ridge: float  # of all columns


class SparseRows(NamedTuple):
    """Class indices and weights; one problem for two classes, else one class against the rest."""

    codes: NDArray  # (n_rows,)
    weights: NDArray  # (n_rows,)
    first: int  # class of the first problem


class State(NamedTuple):
    """What changes; C problems."""

    coef: NDArray  # (n_columns, C)
    intercept: NDArray  # (C,)
    # margins, residuals: (n_rows, C).
    margins: NDArray
    residuals: NDArray


@compiled
def _residual(rows, i, c, margin):
    target = 1.0 if rows.codes[i] == rows.first + c else 0.0
    return rows.weights[i] * (target - 1.0 / (1.0 + np.exp(-margin)))


@compiled
def fit_intercepts(rows, state):
    """One Newton step for every intercept; also sets the residuals."""
    n_rows, n_problems = state.margins.shape
    for c in range(n_problems):
        slope, curvature = 0.0, _LEAST_CURVATURE
        for i in range(n_rows):
            share = 1.0 / (1.0 + np.exp(-state.margins[i, c]))
            target = 1.0 if rows.codes[i] == rows.first + c else 0.0
            slope += rows.weights[i] * (target - share)
            curvature += rows.weights[i] * share * (1.0 - share)
        step = min(max(slope / curvature, -1.0), 1.0)
        state.intercept[c] += step
        for i in range(n_rows):
            state.margins[i, c] += step
            state.residuals[i, c] = _residual(rows, i, c, state.margins[i, c])


@compiled
def _slope(blocks, state, j, out):
    """Negative slope of the loss and the ridge in one column, for every problem."""
    out[:] = -blocks.ridge * state.coef[j]
    for s in range(blocks.column_starts[j], blocks.column_starts[j + 1]):
        for c in range(out.size):
            out[c] += blocks.values[s] * state.residuals[blocks.rows[s], c]


@compiled
def block_slopes(blocks, state):
    """Length of the slope in every block, divided by its factor; 0 for blocks without penalty."""
    n_blocks, n_problems = blocks.factor.size, state.coef.shape[1]
    slope, lengths = np.empty(n_problems), np.zeros(n_blocks)
    for b in range(n_blocks):
        if blocks.factor[b] > 0:
            total = 0.0
            for j in range(blocks.block_starts[b], blocks.block_starts[b + 1]):
                _slope(blocks, state, j, slope)
                total += (slope**2).sum()
            lengths[b] = np.sqrt(total) / blocks.factor[b]
    return lengths


@compiled
def descend(blocks, rows, state, working, penalty, max_passes, tol):
    """Descend in the blocks of `working`, one after the other, until steps are small.

    `state`: changed in place; `tol`: largest change of a slope at the end.
    """
    n_problems = state.coef.shape[1]
    widest = 0
    for b in working:
        widest = max(widest, blocks.block_starts[b + 1] - blocks.block_starts[b])
    moved = np.empty((widest, n_problems))
    for _ in range(max_passes):
        fit_intercepts(rows, state)
        largest = 0.0
        for b in working:
            first, last = blocks.block_starts[b], blocks.block_starts[b + 1]
            curvature = blocks.curvature[b]
            total = 0.0
            for a in range(last - first):
                _slope(blocks, state, first + a, moved[a])
                moved[a] += curvature * state.coef[first + a]
                total += (moved[a] ** 2).sum()
            length = np.sqrt(total)
            limit = penalty * blocks.factor[b]
            share = (1.0 - limit / length) / curvature if length > limit else 0.0
            change = 0.0
            for a in range(last - first):
                for c in range(n_problems):
                    new = share * moved[a, c]
                    moved[a, c] = new - state.coef[first + a, c]
                    state.coef[first + a, c] = new
                    change += moved[a, c] ** 2
            if change == 0.0:
                continue
            largest = max(largest, curvature * np.sqrt(change))
            for a in range(last - first):
                column = first + a
                for s in range(blocks.column_starts[column], blocks.column_starts[column + 1]):
                    i = blocks.rows[s]
                    for c in range(n_problems):
                        state.margins[i, c] += blocks.values[s] * moved[a, c]
                        state.residuals[i, c] = _residual(rows, i, c, state.margins[i, c])
        if largest <= tol:
            return
