r"""Orders of hundreds or thousands of features: one regularised path with a working set.

Forward steps cost as many operations per feature as there are candidates; for long panels the
features after the first ones come from a path of

.. math:: \min_{b, B} \sum_{c, i} w_i \log(1 + e^{-t_{ci} (b_c + z_i^\top B_{\cdot c})})
   + \lambda \sum_g \kappa_g \|B_g\|_F + \frac\alpha2 \|B\|_F^2,

one class against the rest, where g are groups of columns and :math:`\kappa_g` their costs; for
groups that are chosen already, and those to keep, there is only the ridge. A group enters at the
largest :math:`\lambda` of a descending grid at which its coefficients are not zero; groups that
enter together are ordered by their length.

The idea that makes it fast: at :math:`\lambda` only groups whose slope was above
:math:`2\lambda - \lambda_{before}` can enter (the strong rule), so coordinate descent visits those
and one pass over all candidates checks that none was missed. Columns are divided by their standard
deviations and stay sparse; a step costs as many operations as a column has stored values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import Matrix, is_sparse, take_columns
from tamis.panel._l1_kernels import (
    ColumnBlocks,
    SparseRows,
    State,
    block_slopes,
    descend,
    fit_intercepts,
)

__all__ = ["follow_path"]

_RATIO, _MOST_POINTS, _MAX_PASSES, _TOL = 0.85, 60, 20, 0.01


def follow_path(
    X: Matrix,
    codes: NDArray,
    weights: NDArray,
    n_classes: int,
    blocks: list[NDArray],
    factor: NDArray,
    n_wanted: int,
    alpha: float,
) -> NDArray[np.int64]:
    """Order in which blocks of columns enter the path.

    `X` (n_rows, n_columns). `codes` (n_rows,): class indices. `weights` (n_rows,): weights, those
    of the classes included. `blocks`: columns that enter together. `factor` (n_blocks,): penalty
    of each block; 0 for those that are in the model from the start. `n_wanted`: the path ends when
    so many blocks with a penalty have entered. `alpha`: ridge. Returns `order`: blocks with a
    penalty, first to last; those that have not entered come last, the largest slope first.
    """
    columns = _compress(X, np.concatenate(blocks), weights)
    starts = np.cumsum([0, *(block.size for block in blocks)])
    squares = 0.25 * (weights @ columns.power(2))
    made = ColumnBlocks(
        columns.data,
        columns.indices.astype(np.int64),
        columns.indptr.astype(np.int64),
        starts,
        np.add.reduceat(squares, starts[:-1]) + alpha,
        np.asarray(factor, dtype=np.float64),
        float(alpha),
    )
    n_rows, n_problems = X.shape[0], 1 if n_classes == 2 else n_classes
    rows = SparseRows(codes.astype(np.int64), weights, 1 if n_classes == 2 else 0)
    state = State(
        np.zeros((columns.shape[1], n_problems)),
        np.zeros(n_problems),
        np.zeros((n_rows, n_problems)),
        np.zeros((n_rows, n_problems)),
    )
    for _ in range(10):
        fit_intercepts(rows, state)
    free = np.flatnonzero(made.factor == 0)
    total = weights.sum()
    if free.size:
        descend(made, rows, state, free, 0.0, 10 * _MAX_PASSES, 1e-4 * total)
    slopes = block_slopes(made, state)
    penalty = slopes.max(initial=0.0)
    entered: list[int] = []
    for _ in range(_MOST_POINTS):
        if len(entered) >= n_wanted or penalty <= 0:
            break
        before, penalty = penalty, _RATIO * penalty
        working = _active(made, state) | (slopes >= 2 * penalty - before) | (made.factor == 0)
        while True:
            visited = np.flatnonzero(working)
            descend(made, rows, state, visited, penalty, _MAX_PASSES, _TOL * penalty)
            slopes = block_slopes(made, state)
            missed = (slopes > (1 + _TOL) * penalty) & ~working
            if not missed.any():
                break
            working |= missed
        lengths = _lengths(made, state)
        new = np.flatnonzero((lengths > 0) & (made.factor > 0))
        new = np.setdiff1d(new, entered)
        entered += new[np.argsort(-lengths[new], kind="stable")].tolist()
    rest = np.setdiff1d(np.flatnonzero(made.factor > 0), entered)
    rest = rest[np.argsort(-slopes[rest], kind="stable")]
    return np.concatenate([np.array(entered, dtype=np.int64), rest])


def _compress(X, columns, weights):
    """Columns divided by their standard deviations, compressed; dense ones are centered too."""
    part, share = take_columns(X, columns), weights / weights.sum()
    if is_sparse(part):
        part = sparse.csc_array(part, dtype=np.float64)
        mean, square = share @ part, share @ part.power(2)
    else:
        part = np.asarray(part, dtype=np.float64)
        part = part - share @ part
        mean, square = np.zeros(part.shape[1]), share @ part**2
        part = sparse.csc_array(part)
    deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
    deviation[deviation <= 1e-12 * np.sqrt(square)] = np.inf
    part.data /= np.repeat(deviation, np.diff(part.indptr))
    return part


def _lengths(blocks, state):
    squares = (state.coef**2).sum(axis=1)
    return np.sqrt(np.add.reduceat(squares, blocks.block_starts[:-1]))


def _active(blocks, state):
    return _lengths(blocks, state) > 0
