"""Compiled loops of `tamis.panel.forward`.

Rows are in the order of their folds, so that the test rows of a fold are a slice. Named tuples
hold what does not change from step to step.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis._compile import compiled
from tamis.heads._logistic_kernels import fit_binary

__all__ = ["Candidates", "Limits", "Problems", "forward_steps", "joined_losses"]

_LEAST_CURVATURE = 1e-10
_REFITS, _REFIT_TOL = 6, 1e-3
_EXACT_REFITS, _EXACT_TOL = 50, 1e-7


class Problems(NamedTuple):
    """One class against the rest, for each class; for two classes the second against the first.

    Attributes
    ----------
    is_class : ndarray of shape (n_problems, n_rows)
        1 for rows of the class, 0 for others.
    weights : ndarray of shape (n_rows,)
        Weights of the rows, those of the classes included.
    fold_starts : ndarray of int of shape (n_folds + 1,)
        Where the test rows of each fold begin.
    alpha : float
        Ridge.
    """

    is_class: NDArray
    weights: NDArray
    fold_starts: NDArray
    alpha: float


class Candidates(NamedTuple):
    """Blocks of standardised columns that are selected together.

    Attributes
    ----------
    columns : ndarray of shape (n_rows, n_columns)
    squares : ndarray of shape (n_rows, n_columns)
    block_starts : ndarray of int of shape (n_blocks + 1,)
    cost : ndarray of shape (n_blocks,)
    """

    columns: NDArray
    squares: NDArray
    block_starts: NDArray
    cost: NDArray


class Limits(NamedTuple):
    """How many blocks of each set may be selected.

    Attributes
    ----------
    set_of : ndarray of int of shape (n_blocks,)
    most : ndarray of int of shape (n_sets,)
        At least 1.
    """

    set_of: NDArray
    most: NDArray


@compiled
def _softplus(x):
    return (x if x > 0 else 0.0) + np.log1p(np.exp(-abs(x)))


@compiled
def _fold_weights(problems, fold):
    weights = problems.weights.copy()
    weights[problems.fold_starts[fold] : problems.fold_starts[fold + 1]] = 0.0
    return weights


@compiled
def _candidate_losses(design, penalty, margins, candidates, problems, losses):
    """Out-of-fold loss of each candidate block after one Newton step that borders the Hessian."""
    n_rows, m = design.shape
    Z = candidates.columns
    starts = candidates.block_starts
    n_blocks = starts.size - 1
    losses[:] = 0.0
    curvature = np.empty(n_rows)
    residual = np.empty(n_rows)
    for fold in range(problems.fold_starts.size - 1):
        low, high = problems.fold_starts[fold], problems.fold_starts[fold + 1]
        weights = _fold_weights(problems, fold)
        for c in range(problems.is_class.shape[0]):
            for i in range(n_rows):
                p = 1.0 / (1.0 + np.exp(-margins[fold, c, i]))
                curvature[i] = weights[i] * max(p * (1.0 - p), _LEAST_CURVATURE)
                residual[i] = weights[i] * (problems.is_class[c, i] - p)
            weighted = design * curvature.reshape(-1, 1)
            hessian = weighted.T @ design
            for a in range(m):
                hessian[a, a] += penalty[a]
            border = weighted.T @ Z
            solved = np.linalg.solve(hessian, border)
            slope = Z.T @ residual
            diagonal = candidates.squares.T @ curvature
            rest = Z[low:high] - design[low:high] @ solved
            for j in range(n_blocks):
                first, last = starts[j], starts[j + 1]
                size = last - first
                step = np.empty(size)
                if size == 1:
                    schur = diagonal[first] + problems.alpha
                    for a in range(m):
                        schur -= border[a, first] * solved[a, first]
                    step[0] = slope[first] / max(schur, problems.alpha)
                else:
                    block = np.ascontiguousarray(Z[:, first:last])
                    matrix = (block * curvature.reshape(-1, 1)).T @ block
                    for a in range(size):
                        for b in range(size):
                            for e in range(m):
                                matrix[a, b] -= border[e, first + a] * solved[e, first + b]
                        matrix[a, a] += problems.alpha
                    step[:] = np.linalg.solve(matrix, slope[first:last])
                loss = 0.0
                for i in range(low, high):
                    margin = margins[fold, c, i]
                    for a in range(size):
                        margin += step[a] * rest[i - low, first + a]
                    if problems.is_class[c, i] > 0.5:
                        margin = -margin
                    loss += problems.weights[i] * _softplus(margin)
                losses[j] += loss


@compiled
def _refit(design, penalty, coef, margins, problems):
    """Fit all problems in all folds, from their last coefficients; returns the loss."""
    total = 0.0
    m = design.shape[1]
    for fold in range(problems.fold_starts.size - 1):
        low, high = problems.fold_starts[fold], problems.fold_starts[fold + 1]
        weights = _fold_weights(problems, fold)
        for c in range(problems.is_class.shape[0]):
            fit_binary(
                design,
                problems.is_class[c],
                weights,
                penalty,
                coef[fold, c, :m],
                margins[fold, c],
                _REFITS,
                _REFIT_TOL,
            )
            for i in range(low, high):
                margin = margins[fold, c, i]
                if problems.is_class[c, i] > 0.5:
                    margin = -margin
                total += problems.weights[i] * _softplus(margin)
    return total


@compiled
def _remaining(candidates, free):
    """The candidates that can still be chosen."""
    starts = candidates.block_starts
    columns = np.zeros(starts[-1], np.bool_)
    sizes = np.zeros(free.sum() + 1, np.int64)
    place = 0
    for j in range(free.size):
        if free[j]:
            columns[starts[j] : starts[j + 1]] = True
            place += 1
            sizes[place] = starts[j + 1] - starts[j]
    kept = np.flatnonzero(columns)
    return Candidates(
        candidates.columns[:, kept],
        candidates.squares[:, kept],
        np.cumsum(sizes),
        candidates.cost[free],
    )


@compiled
def forward_steps(kept, candidates, problems, limits, n_steps):
    """Choose blocks one after the other by their out-of-fold loss.

    Parameters
    ----------
    kept : ndarray of shape (n_rows, n_kept)
        Standardised columns that are always in the model.
    candidates : Candidates
    problems : Problems
    limits : Limits
    n_steps : int

    Returns
    -------
    order : ndarray of int
        Chosen blocks, in order; fewer than `n_steps` if the limits allow no more.
    losses : ndarray of shape (n_chosen + 1,)
        Out-of-fold loss per unit of weight before the first step and after each one.
    """
    n_rows = candidates.columns.shape[0]
    n_problems, n_folds = problems.is_class.shape[0], problems.fold_starts.size - 1
    widest = 1 + kept.shape[1] + candidates.columns.shape[1]
    total = problems.weights.sum()
    design = np.ones((n_rows, 1 + kept.shape[1]))
    design[:, 1:] = kept
    penalty = np.full(design.shape[1], problems.alpha)
    penalty[0] = 1e-6 * total
    coef = np.zeros((n_folds, n_problems, widest))
    margins = np.zeros((n_folds, n_problems, n_rows))
    order = np.empty(n_steps, np.int64)
    history = np.empty(n_steps + 1)
    taken = np.zeros(limits.most.size, np.int64)
    blocks = np.arange(limits.set_of.size)  # those that can still be chosen
    current = _refit(design, penalty, coef, margins, problems)
    history[0] = current / total
    n_chosen = 0
    while n_chosen < n_steps and blocks.size:
        losses = np.empty(blocks.size)
        _candidate_losses(design, penalty, margins, candidates, problems, losses)
        best, best_value = -1, -np.inf
        for j in range(blocks.size):
            gain = current - losses[j]
            value = gain / candidates.cost[j] if gain > 0 else gain * candidates.cost[j]
            if value > best_value:
                best, best_value = j, value
        if best < 0:
            break
        first, last = candidates.block_starts[best], candidates.block_starts[best + 1]
        m = design.shape[1]
        wider = np.empty((n_rows, m + last - first))
        wider[:, :m] = design
        wider[:, m:] = candidates.columns[:, first:last]
        longer = np.full(m + last - first, problems.alpha)
        longer[:m] = penalty
        design, penalty = wider, longer
        current = _refit(design, penalty, coef, margins, problems)
        order[n_chosen] = blocks[best]
        taken[limits.set_of[blocks[best]]] += 1
        n_chosen += 1
        history[n_chosen] = current / total
        free = np.ones(blocks.size, np.bool_)
        for j in range(blocks.size):
            of_set = limits.set_of[blocks[j]]
            free[j] = j != best and taken[of_set] < limits.most[of_set]
        candidates = _remaining(candidates, free)
        blocks = blocks[free]
    return order[:n_chosen], history[: n_chosen + 1]


@compiled
def joined_losses(present, candidates, problems):
    """Out-of-fold loss of every row when each candidate block joins the same columns.

    Parameters
    ----------
    present : ndarray of shape (n_rows, n_present)
        Standardised columns.
    candidates : Candidates
    problems : Problems

    Returns
    -------
    losses : ndarray of shape (n_blocks, n_rows)
        Summed over classes, without the weights of the rows.
    """
    n_rows, m = present.shape[0], 1 + present.shape[1]
    n_problems, n_folds = problems.is_class.shape[0], problems.fold_starts.size - 1
    starts = candidates.block_starts
    losses = np.zeros((starts.size - 1, n_rows))
    for fold in range(n_folds):
        low, high = problems.fold_starts[fold], problems.fold_starts[fold + 1]
        weights = _fold_weights(problems, fold)
        for c in range(n_problems):
            is_class = problems.is_class[c]
            design = np.ones((n_rows, m))
            design[:, 1:] = present
            penalty = np.full(m, problems.alpha)
            penalty[0] = 1e-6 * problems.weights.sum()
            coef, margins = np.zeros(m), np.zeros(n_rows)
            fit_binary(
                design, is_class, weights, penalty, coef, margins, _EXACT_REFITS, _EXACT_TOL
            )
            for j in range(starts.size - 1):
                size = starts[j + 1] - starts[j]
                wider = np.empty((n_rows, m + size))
                wider[:, :m] = design
                wider[:, m:] = candidates.columns[:, starts[j] : starts[j + 1]]
                longer = np.full(m + size, problems.alpha)
                longer[:m] = penalty
                moved, begun = margins.copy(), np.zeros(m + size)
                begun[:m] = coef
                fit_binary(
                    wider, is_class, weights, longer, begun, moved, _EXACT_REFITS, _EXACT_TOL
                )
                for i in range(low, high):
                    losses[j, i] += _softplus(-moved[i] if is_class[i] > 0.5 else moved[i])
    return losses
