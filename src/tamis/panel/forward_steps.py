"""The steps of `tamis.panel.forward`, on standardised columns in memory.

Rows are in the order of their folds, so that the test rows of a fold are a slice. A problem is one
class against the rest without the rows of one fold; the problems of all folds and classes are
solved together. Arrays of columns have one row per column. Shapes: n rows, C classes against the
rest (one for two classes), F folds, B = F C problems, m columns of the model, p of the candidates.
"""

from __future__ import annotations

import copy
import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.heads.newton import curvatures, fit_binary, weighted_products

__all__ = [
    "Limits",
    "Model",
    "Problems",
    "StepCandidates",
    "candidate_losses",
    "forward_steps",
    "joined_losses",
]

_REFITS, _REFIT_TOL = 6, 1e-3
_EXACT_REFITS, _EXACT_TOL = 50, 1e-7
# Gains that differ by less, relative to the gain and to the loss, are equal: rounding must not
# choose between features that tell the same.
_TIED_GAINS, _TIED_LOSSES = 1e-9, 1e-12
# The ridge falls with the square of the loss that is left, down to this share of it.
LEAST_RIDGE = 0.1
# A block is passed over while the model explains a larger share of its variance.
_MOST_EXPLAINED = 0.9
# A column of which no more than this share is left adds no direction.
_NOTHING_LEFT = 1e-9
# Values that are worked on together: a block of them fits into the cache.
_BLOCK = 1 << 17
# Above it, exp overflows.
_LARGEST_EXPONENT = 700.0


class Problems(NamedTuple):
    """One class against the rest, for each class; for two classes the second against the first."""

    is_class: NDArray  # (C, n_rows): 1 for rows of the class, 0 for others
    weights: NDArray  # (n_rows,): weights of the rows, those of the classes included
    fold_starts: NDArray  # (n_folds + 1,): where the test rows of each fold begin
    alpha: float  # ridge

    @property
    def folds(self) -> list[slice]:
        """Test rows of each fold."""
        bounds = self.fold_starts.tolist()
        return [slice(low, high) for low, high in itertools.pairwise(bounds)]

    def targets(self) -> NDArray[np.float64]:
        """What each problem is to find: (B, n_rows)."""
        return np.tile(self.is_class, (self.fold_starts.size - 1, 1))

    def training_weights(self) -> NDArray[np.float64]:
        """Weights of the rows in each problem, 0 for the test rows of its fold: (B, n_rows)."""
        folds = self.folds
        weights = np.tile(self.weights, (len(folds), 1))
        for row, test in zip(weights, folds, strict=True):
            row[test] = 0.0
        return np.repeat(weights, len(self.is_class), axis=0)


class StepCandidates(NamedTuple):
    """Blocks of standardised columns that are selected together."""

    columns: NDArray  # (n_columns, n_rows)
    block_starts: NDArray  # (n_blocks + 1,)
    cost: NDArray  # (n_blocks,)

    def block(self, j: int) -> NDArray:
        """Columns of one block."""
        return self.columns[self.block_starts[j] : self.block_starts[j + 1]]

    def some(self, free: NDArray[np.bool_]) -> StepCandidates:
        """Some of the blocks."""
        sizes = np.diff(self.block_starts)
        return StepCandidates(
            self.columns[np.repeat(free, sizes)],
            np.concatenate([[0], np.cumsum(sizes[free])]),
            self.cost[free],
        )

    def by_size(self) -> list[tuple[NDArray, NDArray]]:
        """Blocks of several columns, size by size.

        Returns `blocks`: of shapes (n_blocks, size) and (n_blocks, size, n_rows).
        """
        sizes = np.diff(self.block_starts)
        found = []
        for size in np.unique(sizes[sizes > 1]):
            places = self.block_starts[:-1][sizes == size][:, None] + np.arange(size)
            found.append((places, self.columns[places]))
        return found


class Limits(NamedTuple):
    """How many blocks of each set may be selected."""

    set_of: NDArray  # (n_blocks,)
    most: NDArray  # (n_sets,): at least 1


def forward_steps(
    kept: NDArray, candidates: StepCandidates, problems: Problems, limits: Limits, n_steps: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Choose blocks one after the other by their out-of-fold loss.

    Blocks of which the columns of the model explain too much are passed over while there are
    others. The ridge falls with the loss.

    `kept` (n_kept, n_rows): standardised columns that are always in the model. Returns `order`:
    chosen blocks, in order; fewer than `n_steps` if the limits allow no more; `losses` (n_chosen +
    1,): out-of-fold loss per unit of weight before the first step and after each one.
    """
    model = Model(kept, problems)
    model.refit(_REFITS, _REFIT_TOL)
    order: list[int] = []
    losses = [model.loss()]
    taken = np.zeros(limits.most.size, dtype=np.int64)
    blocks = np.arange(limits.set_of.size)  # those that can still be chosen
    rest = _unexplained(kept, candidates, problems.weights)
    while len(order) < n_steps and blocks.size:
        gains = losses[-1] - candidate_losses(model, candidates)
        apart = _by_block((rest**2).sum(axis=1), candidates) >= 1.0 - _MOST_EXPLAINED
        if apart.any():
            gains[~apart] = -np.inf
        best = _largest(gains, candidates.cost, losses[-1])
        if best < 0:
            break
        _remove(rest, range(candidates.block_starts[best], candidates.block_starts[best + 1]))
        model = model.joined_by(candidates.block(best))
        model.refit(_REFITS, _REFIT_TOL)
        model.set_ridge(model.loss() / losses[0])
        model.refit(_REFITS, _REFIT_TOL)
        order.append(int(blocks[best]))
        losses.append(model.loss())
        taken[limits.set_of[blocks[best]]] += 1
        free = taken[limits.set_of[blocks]] < limits.most[limits.set_of[blocks]]
        free[best] = False
        rest = rest[np.repeat(free, np.diff(candidates.block_starts))]
        candidates, blocks = candidates.some(free), blocks[free]
    return np.array(order, dtype=np.int64), np.array(losses) / problems.weights.sum()


def _unexplained(kept, candidates, weights):
    """What least squares on the kept columns leaves of the columns of each block.

    The rows of the data are multiplied by the root of their weights, and blocks divided by the
    root of their variance: the sum of squares of a block is the share of it that is left.
    """
    share = weights / weights.sum()
    rest = np.vstack([kept, candidates.columns])
    rest -= (rest @ share)[:, None]
    rest *= np.sqrt(share)
    variance = _by_block((rest[len(kept) :] ** 2).sum(axis=1), candidates)
    size = np.sqrt(np.where(variance > _NOTHING_LEFT, variance, 1.0))
    rest[len(kept) :] /= np.repeat(size, np.diff(candidates.block_starts))[:, None]
    _remove(rest, range(len(kept)))
    return rest[len(kept) :]


def _by_block(values, candidates):
    """Sums of the values of the columns of each block."""
    return np.add.reduceat(values, candidates.block_starts[:-1])


def _remove(rest, columns):
    """Make all rows of `rest` orthogonal to some of them (Gram and Schmidt), in place."""
    for j in columns:
        column = rest[j].copy()
        size = column @ column
        if size > _NOTHING_LEFT:
            rest -= np.outer(rest @ column / size, column)


def _largest(gains, cost, loss):
    """The first of the largest gains per cost; -1 if there is none."""
    values = np.where(gains > 0, gains / cost, gains * cost)
    values[np.isnan(values)] = -np.inf
    best = int(np.argmax(values))
    if values[best] == -np.inf:
        return -1
    slack = _TIED_GAINS * abs(values[best]) + _TIED_LOSSES * loss / cost[best]
    return int(np.argmax(values >= values[best] - slack))


def joined_losses(
    present: NDArray, candidates: StepCandidates, problems: Problems
) -> NDArray[np.float64]:
    """Out-of-fold loss of every row when each candidate block joins the same columns.

    `present` (n_present, n_rows): standardised columns. Returns `losses` (n_blocks, n_rows):
    without the weights of the rows.
    """
    model = Model(present, problems)
    model.refit(_EXACT_REFITS, _EXACT_TOL)
    losses = np.empty((candidates.cost.size, problems.weights.size))
    for j, of_block in enumerate(losses):
        joined = model.joined_by(candidates.block(j))
        joined.refit(_EXACT_REFITS, _EXACT_TOL)
        of_block[:] = joined.row_losses()
    return losses


class Model:
    """The same columns in all problems: coefficients (B, m) and margins (B, n)."""

    def __init__(self, columns, problems):
        self.problems, self.alpha = problems, problems.alpha
        self.targets, self.weights = problems.targets(), problems.training_weights()
        self.columns = np.vstack([np.ones((1, columns.shape[1])), columns])
        self.penalty = np.full(len(self.columns), self.alpha)
        self.penalty[0] = 1e-6 * problems.weights.sum()  # for classes without rows in a fold
        self.coef = np.zeros((len(self.targets), self.penalty.size))
        self.margins = np.zeros(self.targets.shape)

    def joined_by(self, columns):
        """A model of more columns, with coefficients of 0 for these."""
        wider = copy.copy(self)
        wider.columns = np.vstack([self.columns, columns])
        wider.penalty = np.append(self.penalty, np.full(len(columns), self.alpha))
        wider.coef = np.hstack([self.coef, np.zeros((len(self.coef), len(columns)))])
        wider.margins = self.margins.copy()
        return wider

    def set_ridge(self, left):
        """The ridge for a given share of the loss that is left."""
        self.alpha = self.problems.alpha * min(max(left**2, LEAST_RIDGE), 1.0)
        self.penalty[1:] = self.alpha

    def refit(self, max_iter, tol):
        """Fit all problems, from their last coefficients."""
        step = max(1, _BLOCK // self.margins.shape[1])
        for first in range(0, len(self.coef), step):
            some = slice(first, first + step)
            fit_binary(
                self.columns,
                self.targets[some],
                self.weights[some],
                self.penalty,
                self.coef[some],
                self.margins[some],
                max_iter,
                tol,
            )

    def row_losses(self):
        """Loss of every row in the fold that leaves it out: (n,)."""
        of_folds = np.split(self.margins, self.problems.fold_starts.size - 1)
        pairs = zip(of_folds, self.problems.folds, strict=True)
        margins = np.hstack([of_fold[:, test] for of_fold, test in pairs])
        return _log_losses(margins, self.problems.is_class)

    def loss(self):
        """Loss of all rows, weighted."""
        return float(self.row_losses() @ self.problems.weights)


def _log_losses(margins, is_class):
    """Log losses of rows, the margins of several classes being logits.

    `margins` (C, ..., n_rows): used up; `is_class` (C, n_rows). Returns `losses` (..., n_rows).
    """
    if len(margins) == 1:
        margins *= 1.0 - 2.0 * is_class
        return _softplus(margins[0])
    margins -= np.einsum("c...n,cn->...n", margins, is_class)  # those of the rows' own classes
    if margins.max(initial=0.0) < _LARGEST_EXPONENT:
        return np.log(np.exp(margins, out=margins).sum(axis=0))
    largest = margins.max(axis=0)
    margins -= largest
    return np.log(np.exp(margins, out=margins).sum(axis=0)) + largest


def _softplus(x):
    """``log(1 + exp(x))``, in place."""
    if x.max(initial=0.0) < _LARGEST_EXPONENT:
        np.exp(x, out=x)
        return np.log1p(x, out=x)
    above = np.maximum(x, 0.0)
    np.abs(x, out=x)
    np.negative(x, out=x)
    np.exp(x, out=x)
    np.log1p(x, out=x)
    x += above
    return x


@np.errstate(over="ignore")
def candidate_losses(model: Model, candidates: StepCandidates) -> NDArray[np.float64]:
    """Out-of-fold loss of each candidate block after one Newton step that borders the Hessian.

    `model`: the columns so far, fitted. Returns `losses` (n_blocks,).
    """
    Z, m = candidates.columns, model.penalty.size
    n_classes, alpha = len(model.problems.is_class), model.alpha
    both, squares = np.vstack([model.columns, Z]), Z * Z
    wide = candidates.by_size()
    losses = np.zeros(candidates.cost.size)
    # Whole folds, as many as fit into the cache.
    size = n_classes * max(Z.shape[1], m * (m + len(Z)))
    folds = model.problems.folds
    step = max(1, _BLOCK // size)
    for first in range(0, len(folds), step):
        some = slice(first * n_classes, (first + step) * n_classes)
        curvature, residual = curvatures(
            model.margins[some], model.targets[some], model.weights[some]
        )
        products = weighted_products(model.columns, curvature, both)
        hessian, border = products[:, :, :m].copy(), products[:, :, m:]
        hessian.reshape(-1, m * m)[:, :: m + 1] += model.penalty
        solved = np.linalg.solve(hessian, border)
        slope = residual @ Z.T
        schur = curvature @ squares.T
        schur += alpha
        schur -= np.einsum("bmp,bmp->bp", border, solved)
        steps = slope / np.maximum(schur, alpha)
        for places, stack in wide:
            steps[:, places] = _block_steps(
                stack,
                curvature,
                border[:, :, places],
                solved[:, :, places],
                slope[:, places],
                alpha,
            )
        for f, test in enumerate(folds[first : first + step]):
            of_fold = slice(f * n_classes, (f + 1) * n_classes)
            losses += _test_losses(
                model,
                some.start + of_fold.start,
                test,
                candidates,
                solved[of_fold],
                steps[of_fold],
            )
    return losses


def _test_losses(model, first, test, candidates, solved, steps):
    """Loss of the test rows of a fold after the steps; its problems begin at `first`."""
    is_class, weights = model.problems.is_class[:, test], model.problems.weights[test]
    margins = model.margins[first : first + len(steps), None, test]
    columns, starts = model.columns[:, test], candidates.block_starts
    losses = np.empty(candidates.cost.size)
    width = max(1, _BLOCK // max(1, margins.size))
    low = 0
    while low < losses.size:  # as many blocks as fit into the cache
        high = max(low + 1, int(np.searchsorted(starts, starts[low] + width, side="right")) - 1)
        some = slice(starts[low], starts[high])
        # What is left of the candidates beside the model, times the steps.
        moves = solved[:, :, some].transpose(0, 2, 1) @ columns
        np.subtract(candidates.columns[some, test], moves, out=moves)
        moves *= steps[:, some, None]
        if moves.shape[1] > high - low:
            moves = np.add.reduceat(moves, starts[low:high] - starts[low], axis=1)
        moves += margins
        losses[low:high] = _log_losses(moves, is_class) @ weights
        low = high
    return losses


def _block_steps(stack, curvature, border, solved, slope, alpha):
    """Newton steps of blocks of equal size: (B, n_blocks, size)."""
    matrices = np.array([(stack * of_rows) @ stack.transpose(0, 2, 1) for of_rows in curvature])
    matrices -= np.einsum("cmba,cmbe->cbae", border, solved)
    places = np.arange(stack.shape[1])
    matrices[:, :, places, places] += alpha
    return np.linalg.solve(matrices, slope[..., None])[..., 0]
