"""Out-of-fold evidence of the training rows about a set of blocks.

For a set z of blocks and its columns x_z, one forest is grown in each of a few folds. They give,
for each training row i, from trees that have not seen it,

* the probabilities P(y | x_z), at the resolution (smallest node that is split) and temperature
  with the best likelihood;
* the expected loss of naming a class now, ``S_i = W_i (1 - max_y P_iy)``, where P weights each
  class by its loss and ``W_i = 1 / sum_y (P_iy / loss_y)`` turns its share back into a loss;
* ``loss_i``, a mixture of S_i and the actual loss: the first has little noise, the second no bias;
* the local mean of any other quantity of the rows, over coarser cells of the same trees.

None of this depends on the cost weight, so all policies of a path share it.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple
from zlib import crc32

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from tamis._base import softmax
from tamis.datumwise._forest_kernels import FEATURE
from tamis.datumwise.forest import Forest, Sample, grow, grow_together, mean_rows, membership

# Nodes with fewer rows are leaves: the choices for the probabilities, multiplied by the factor if
# there are more rows than this. The coarsest cells are those of local means.
_RESOLUTIONS, _MANY_ROWS = (2, 6, 16), 2000
# Share of the expected loss in `loss`; see the module's docstring.
_EXPECTED = 0.75
# Trees of one fold, as a share of the trees of a final forest; and at least so many.
_FOLD_TREES, _FEWEST = 0.4, 10
# Smaller probabilities are raised to this.
_FLOOR = 1e-3
# Trees of the forest that measures how informative each block is.
_GAIN_TREES = 300
_TEMPERATURES = (0.05, 3.0)
# Thresholds are this much above quantiles of the expected loss: many rows have exactly the same
# expected loss, that of pure cells, and their side must not depend on the last bit of a logarithm.
_QUANTILES, _SLACK = np.linspace(0.05, 0.95, 16), 1e-9


@dataclass(frozen=True)
class SetForest:
    """The final forest of a set, grown on all rows."""

    forest: Forest | None  # None for the empty set
    prior: np.ndarray  # (n_classes,): shares of the classes, each weighted by its loss
    temperature: float  # what log probabilities are divided by
    coarse: int  # nodes with fewer rows are leaves, for local means

    @property
    def n_trees(self):
        """Number of trees."""
        return 0 if self.forest is None else self.forest.n_trees

    def renumber(self, column):
        """The same forest for other columns: `column` has the new number of each."""
        if self.forest is None:
            return self
        nodes = self.forest.nodes.copy()
        inner = nodes[:, FEATURE] >= 0
        nodes[inner, FEATURE] = column[nodes[inner, FEATURE]]
        return replace(self, forest=replace(self.forest, nodes=nodes))

    def decisions(self, XT, rows, work=None):
        """Log probabilities of the classes, up to a constant; `work` as in `Forest.cells`."""
        if self.forest is None:
            return np.tile(_logarithm(self.prior, 1.0), (rows.size, 1))
        return _logarithm(self.forest.mean_shares(XT, rows, work), self.temperature)

    def judge(self, leaves):
        """The decisions of rows that end in these leaves, of shape (n_rows, n_trees)."""
        return _logarithm(mean_rows(leaves, self.forest.shares), self.temperature)

    def decisions_and_cells(self, XT, rows, work=None):
        """The decisions and the coarse cells of the rows."""
        fine, coarse = self.forest.cells(XT, rows, 0, self.coarse, work=work)
        return self.judge(fine), coarse

    def decisions_and_values(self, XT, rows, row_of, table, work=None):
        """The decisions and the means over the table's rows of the coarse cells."""
        shares, values = self.forest.mean_shares_and_values(
            XT, rows, self.coarse, row_of, table, work
        )
        return _logarithm(shares, self.temperature), values


class Answers(NamedTuple):
    """What a final forest says of some rows."""

    decisions: np.ndarray  # (n_rows, n_classes)
    cells: np.ndarray | None  # (n_rows, n_trees): coarse cells; None for the empty set


class Cells(NamedTuple):
    """Coarse cells of the trees of all folds, one fold after the other."""

    # rows, others: training rows of each fold, and the rows that are held out of it: (n_rows,),
    # (n_samples,).
    rows: np.ndarray
    others: np.ndarray
    # (n_cells, n_rows): the cells of the training rows: see `forest.membership`.
    inside: csc_matrix
    outside: csr_matrix  # (n_samples, n_cells): the cells of the rows that are held out
    sizes: np.ndarray  # (n_cells,): number of training rows in each cell
    n_trees: int  # trees of one fold


@dataclass(frozen=True)
class Evidence:
    """What is known, out of fold, about one set of blocks."""

    stop: np.ndarray  # (n_samples,): expected loss S of naming a class now
    outcome: np.ndarray  # (n_samples,): actual loss of naming a class now
    loss: np.ndarray  # (n_samples,): the loss used for naming a class now: a mixture of the two
    resolution: int  # nodes with fewer rows are leaves, for the probabilities
    temperature: float
    cells: Cells | None  # cells of the trees of all folds; None if there are none

    def local_means(self, values):
        """Out-of-fold local means of each column of `values`: (n_samples, n_values)."""
        if self.cells is None:
            return np.tile(values.mean(axis=0), (len(values), 1))
        rows, others, inside, outside, sizes, n_trees = self.cells
        of_cells = inside @ values[rows]
        of_cells /= sizes[:, None]
        means = np.empty_like(values)
        means[others] = (outside @ of_cells) / n_trees
        return means

    @cached_property
    def thresholds(self):
        """Values of `stop` that a threshold rule may stop at, ascending."""
        return stop_thresholds(self.stop)


class Gatherer:
    """Grows the forest of each set of blocks, once.

    `X` (n_samples, n_features): training rows; NaN means unavailable. `codes` (n_samples,).
    `most_fold_trees`: largest number of trees in a fold.
    """

    def __init__(self, X, codes, process, n_trees, n_folds, seed, most_fold_trees=np.inf):
        self.XT = np.array(X.T, dtype=np.float64, order="C")  # kernels want writable arrays
        self.codes, self.block_of, self.n_trees, self.seed = codes, process.block_of, n_trees, seed
        wanted = max(_FEWEST, round(_FOLD_TREES * n_trees))
        self.n_fold_trees = int(min(wanted, most_fold_trees))
        self.class_losses, self.n_blocks = process.class_losses, process.n_blocks
        mass = np.bincount(codes, minlength=process.n_classes) * process.class_losses
        self.prior = mass / mass.sum()
        self.fold_of = deal_folds(codes, min(n_folds, codes.size), seed)
        larger = max(1, codes.size // _MANY_ROWS)
        self.resolutions = tuple(larger * size for size in _RESOLUTIONS)
        self._evidence, self._final = {}, {}

    @property
    def n_samples(self):
        """Number of training rows."""
        return self.codes.size

    def gains_of_blocks(self):
        """How informative each block is about the class of each row: (n_samples, n_blocks)."""
        n_columns = self.XT.shape[0]
        sample = self._sample(np.arange(self.n_samples), np.arange(n_columns))
        everything, (leaves,) = grow(sample, _GAIN_TREES, self._seed("gains"), resolutions=(0,))
        member = self.block_of[:, None] == np.arange(self.n_blocks)
        gains = everything.path_gains(leaves, n_columns, self.class_losses)
        return gains @ member.astype(np.float64)

    def evidence(self, blocks):
        """Evidence of a set, a tuple of blocks in ascending order."""
        if blocks not in self._evidence:
            self._evidence[blocks] = self._gather(blocks)
        return self._evidence[blocks]

    def final(self, blocks):
        """The forest of a set, grown on all rows, and its `Answers` for them."""
        if blocks not in self._final:
            evidence, coarse = self.evidence(blocks), self.resolutions[-1]
            rows = np.arange(self.n_samples)
            final = SetForest(None, self.prior, evidence.temperature, coarse)
            if blocks:
                forest, (fine, cells) = grow(
                    self._sample(rows, self._columns(blocks)),
                    self.n_trees,
                    self._seed(blocks),
                    evidence.resolution,
                    (0, coarse),
                )
                final = replace(final, forest=forest.copy())
                decisions = final.judge(fine.T)
                answers = Answers(decisions, np.ascontiguousarray(cells.T))
            else:
                answers = Answers(final.decisions(self.XT, rows), None)
            self._final[blocks] = final, answers
        return self._final[blocks]

    @property
    def answers(self):
        """What the final forests so far say of the training rows, by the forests' ids."""
        return {id(forest): answers for forest, answers in self._final.values()}

    @cached_property
    def _folds(self):
        """The rows that are held out of each fold.

        Returns `rows` (n_folds, n_samples), `n_training` (n_folds,): as `grow_together` takes
        them; `inside`, `outside`: fold and row of all training rows, and of all held out.
        """
        held_out = self.fold_of == np.arange(self.fold_of.max() + 1)[:, None]
        rows = np.argsort(held_out, axis=1, kind="stable")
        n_training = np.count_nonzero(~held_out, axis=1)
        return rows, n_training, np.nonzero(~held_out), np.nonzero(held_out)

    def _columns(self, blocks):
        chosen = np.zeros(self.n_blocks, dtype=bool)
        chosen[list(blocks)] = True
        return np.flatnonzero(chosen[self.block_of])

    def _sample(self, rows, columns):
        return Sample(self.XT, self.codes, self.class_losses, rows, columns)

    def _seed(self, name):
        """Seed of a forest; it depends only on the name."""
        return crc32(repr((self.seed, name)).encode())

    def _gather(self, blocks):
        losses = self.class_losses
        if not blocks:
            shares = np.tile(self.prior, (self.n_samples, 1))
            return self._judge(shares, self.resolutions[0], 1.0, None)
        out_of_fold, cells = self._grow_folds(blocks)
        weights = losses[self.codes]
        errors = [_brier(share, self.codes, weights) for share in out_of_fold]
        best = int(np.argmin(errors))
        decisions = _logarithm(out_of_fold[best], 1.0)
        temperature = _fit_temperature(decisions, self.codes, weights / losses.max())
        calibrated = softmax(decisions / temperature)
        return self._judge(calibrated, self.resolutions[best], temperature, cells)

    def _grow_folds(self, blocks):
        """Grow a forest in each fold.

        Returns `out_of_fold` (n_resolutions, n_samples, n_classes): shares of the classes in the
        cells of each row, from the trees that have not seen it; `cells`.
        """
        everyone, n_training, (fold, rows), (other_fold, others) = self._folds
        seeds = [self._seed((*blocks, "fold", number)) for number in range(len(everyone))]
        n_trees = self.n_fold_trees
        forests, cells = grow_together(
            self._sample(everyone, self._columns(blocks)),
            n_training,
            n_trees,
            np.array(seeds, dtype=np.int64),
            resolutions=self.resolutions,
        )
        cells = cells.reshape(len(cells), -1, n_trees, self.n_samples)
        inside, outside = cells[-1, fold, :, rows], cells[:, other_fold, :, others]
        out_of_fold = np.empty((len(self.resolutions), self.n_samples, self.class_losses.size))
        for r in range(len(self.resolutions)):
            out_of_fold[r, others] = mean_rows(outside[:, r], forests.shares)
        number, sizes = number_cells(inside, forests.n_nodes)
        inside = membership(number[inside], sizes.size).T
        outside = membership(number[outside[:, -1]], sizes.size)
        return out_of_fold, Cells(rows, others, inside, outside, sizes, n_trees)

    def _judge(self, shares, resolution, temperature, cells):
        """Evidence of out-of-fold probabilities."""
        losses = self.class_losses
        stop = expected_loss(shares, losses)
        wrong = shares.argmax(axis=1) != self.codes
        outcome = np.where(wrong, losses[self.codes], 0.0)
        loss = _EXPECTED * stop + (1 - _EXPECTED) * outcome
        return Evidence(stop, outcome, loss, resolution, temperature, cells)


def expected_loss(shares, class_losses):
    """Expected loss of naming the largest class, with classes weighted by their losses."""
    return (1.0 - shares.max(axis=1)) / (shares / class_losses).sum(axis=1)


def stop_thresholds(stop):
    """Values of the expected loss that a threshold rule may stop at, ascending."""
    # np.quantile, which takes most of its time for what is not needed here.
    ordered, place = np.sort(stop), (stop.size - 1) * _QUANTILES
    below = place.astype(np.int64)
    low, high = ordered[below], ordered[np.minimum(below + 1, stop.size - 1)]
    part, gap = place - below, high - low
    quantiles = np.where(part >= 0.5, high - gap * (1 - part), low + gap * part)
    return np.unique(quantiles) * (1 + _SLACK)


def number_cells(cells, n_nodes):
    """Number the nodes that are cells of training rows 0, 1, ..., and count the rows in each.

    Returns `number` (n_nodes,): -1 for nodes that are not cells; `sizes` (n_cells,).
    """
    sizes = np.bincount(cells.ravel(), minlength=n_nodes)
    used = np.flatnonzero(sizes)
    number = np.full(n_nodes, -1, dtype=np.int32)
    number[used] = np.arange(used.size)
    return number, sizes[used]


def _fit_temperature(decisions, codes, weights):
    """Temperature with the largest likelihood within bounds: the log loss is convex in 1 / T."""
    margins = np.ascontiguousarray((decisions - decisions.max(axis=1, keepdims=True)).T)
    squares, own = margins**2, margins[codes, np.arange(codes.size)]

    def slope_at(beta):
        """First and second derivatives of the weighted log loss in beta, which is 1 / T."""
        shares = np.exp(beta * margins)
        shares /= shares.sum(axis=0)
        mean = (shares * margins).sum(axis=0)
        spread = (shares * squares).sum(axis=0) - mean**2
        return (weights * (mean - own)).sum(), (weights * np.maximum(spread, 0.0)).sum()

    low, high = 1.0 / _TEMPERATURES[1], 1.0 / _TEMPERATURES[0]
    if slope_at(low)[0] >= 0:
        return _TEMPERATURES[1]
    if slope_at(high)[0] <= 0:
        return _TEMPERATURES[0]
    beta = 1.0
    for _ in range(60):
        slope, curvature = slope_at(beta)
        low, high = (beta, high) if slope < 0 else (low, beta)
        step = slope / curvature if curvature > 0 else np.inf
        newton = beta - step
        following = newton if low < newton < high else 0.5 * (low + high)
        if abs(following - beta) <= 1e-9 * beta:
            break
        beta = following
    return float(1.0 / beta)


def deal_folds(codes, n_folds, seed):
    """Fold of each row: the rows of each class, in random order, dealt out in turn."""
    rng = np.random.default_rng(seed)
    fold_of = np.empty(codes.size, dtype=np.int64)
    mixed = rng.permutation(codes.size)
    by_class = mixed[np.argsort(codes[mixed], kind="stable")]
    fold_of[by_class] = np.arange(codes.size) % n_folds
    return fold_of


def _logarithm(shares, temperature):
    return np.log(np.maximum(shares, _FLOOR)) / temperature


def _brier(shares, codes, weights):
    """Mean squared distance of the probabilities from the outcomes."""
    squares = (shares**2).sum(axis=1) - 2.0 * shares[np.arange(codes.size), codes]
    return float((weights * squares).sum())
