r"""Forward selection: each feature by what it adds to those already chosen, out of fold.

The features are screened first by the gain of the sparse centers (one pass over the data). Let z
be the screened features, standardised, and S those chosen so far. In every fold f, and for every
class c against the rest, there is a ridge-logistic model of S, fitted on the other folds,

.. math:: \min_b \sum_{i \notin f} w_i \log(1 + e^{-t_{ci} (b_0 + z_{iS}^\top b)})
   + \frac{\alpha_S}2 \|b\|^2,

with :math:`t_{ci} = \pm 1` and, by default, weights of equal sum for all classes. The next feature
is the one for which the log loss of the left-out rows, summed over folds, is smallest. With more
than two classes, the margins :math:`\eta_{ci} = b_0 + z_{iS}^\top b` are logits there: the loss of
a row of class y is :math:`\log \sum_c e^{\eta_{ci}} - \eta_{yi}`, so that a feature counts for
what it does to the decision among all of them.

The ridge is strong at first, because a few rows say little about which of many correlated features
is the best: a weak model leaves something to gain for features that tell much the same as the
chosen ones, and means of them are less noisy. Where the signal is strong that would do harm. So
after each step the ridge is :math:`\alpha \max(0.1, (L_S / L_\emptyset)^2)`, with the loss
:math:`L_S` of the model so far and :math:`L_\emptyset` of that before the first step. Copies would
gain, too: a feature is passed over, while there are others, if least squares on the chosen ones
explain more than nine tenths of its variance.

The idea that makes it fast: a candidate j is judged by one Newton step from the optimum for S.
There the slope is zero except in j, so the step only borders the Hessian
:math:`H = Z_S^\top D Z_S + \alpha_S I`:

.. math:: \delta_j = \frac{z_j^\top r}{z_j^\top D z_j + \alpha_S - h_j^\top H^{-1} h_j}, \qquad
   h_j = Z_S^\top D z_j, \qquad
   \eta_i \leftarrow \eta_i + \delta_j \, (z_{ij} - z_{iS}^\top H^{-1} h_j).

All :math:`h_j` and all new margins are two matrix products, so a step for p candidates costs
O(n p k) for each fold and class, whatever their number of Newton iterations would be. Only the
chosen feature is refitted. A feature group is a block of columns, bordered together.

The loss that chooses is not a score: the features were chosen to make it small. Scores, heads and
temperatures come from folds in which all of this is repeated (`tamis.panel.outer`).

Shapes: n rows, p screened columns in blocks, C problems (one for two classes), F folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse, take_columns
from tamis.heads import Head, KernelHead, LinearHead, decide_kernels
from tamis.heads.head import standardize
from tamis.panel.forward_steps import Limits, Problems, StepCandidates, forward_steps
from tamis.paths.hashing import hash_rows, mix
from tamis.paths.row_keys import row_keys

__all__ = [
    "Choices",
    "ForwardData",
    "content_folds",
    "decide",
    "decide_all",
    "dense_columns",
    "judging_folds",
    "keys_of",
    "lay_out_forward",
    "members",
    "sample_rows",
    "select_forward",
    "weigh_classes",
]


@dataclass(frozen=True)
class Choices:
    """What can be selected."""

    # (n_columns,): group of each column; columns of a group are selected together.
    group_of: NDArray
    kept: NDArray  # (n_groups,): groups that are always in the model and not counted
    cost: NDArray  # (n_groups,)
    set_of: NDArray  # (n_groups,): set of each group
    most: int  # how many groups of a set may be selected, kept ones included

    @property
    def room(self) -> NDArray[np.int64]:
        """How many groups of each set may be selected beside the kept ones."""
        n_kept = np.bincount(self.set_of[self.kept], minlength=int(self.set_of.max()) + 1)
        return np.maximum(self.most - n_kept, 0)

    @property
    def free(self) -> NDArray[np.bool_]:
        """Groups that may be selected."""
        return ~self.kept & (self.room[self.set_of] > 0)

    @property
    def n_choices(self) -> int:
        """Number of groups to choose from."""
        return int(np.count_nonzero(self.free))

    @property
    def first_columns(self) -> NDArray[np.intp]:
        """The first column of each group."""
        return np.unique(self.group_of, return_index=True)[1]


def weigh_classes(
    codes: NDArray, weights: NDArray, n_classes: int, class_weight: str | NDArray | None
) -> NDArray:
    """Weights of the rows times those of the classes; the total stays the same.

    `codes` (n_rows,): class indices; `weights` (n_rows,): sample weights; `class_weight`
    (n_classes,) or None: "balanced": equal sums for all classes. Returns `weights` (n_rows,).
    """
    if class_weight is None:
        return weights
    of_class = np.bincount(codes, weights=weights, minlength=n_classes)
    if isinstance(class_weight, str):
        factor = np.divide(1.0, of_class, out=np.zeros(n_classes), where=of_class > 0)
    else:
        factor = class_weight
    weighed = weights * factor[codes]
    return weighed * (weights.sum() / weighed.sum())


def keys_of(X: Matrix, weights: NDArray) -> NDArray[np.uint64]:
    """Keys of rows (`tamis.paths.row_keys`) among those with a positive weight; 0 for others."""
    used = weights > 0
    if used.all():
        return row_keys(X)
    keys = np.zeros(weights.size, dtype=np.uint64)
    keys[used] = row_keys(X[used])
    return keys


def content_folds(
    X: Matrix,
    codes: NDArray,
    n_folds: int,
    groups: NDArray | None = None,
    seed: int = 0,
    keys: NDArray | None = None,
) -> NDArray[np.int64]:
    """Fold of each row, from what the row holds.

    Equal rows share a fold, and neither the order of rows and columns, nor units, nor how often a
    row is repeated changes the folds, so a weight of 2 is the row twice. In each class the
    distinct rows go to the folds in turn, in the order of a hash of their keys.

    `X` (n_rows, n_columns). `codes` (n_rows,): class indices. `groups` (n_rows,) or None: sample
    groups, which stay together. `keys` (n_rows,) or None: keys of the rows, among these or more
    rows; None: found here. Returns `folds` (n_rows,).
    """
    key = row_keys(X) if keys is None else keys
    key = mix(key ^ mix(np.array([seed], dtype=np.uint64)))
    if groups is not None:
        _, group = np.unique(groups, return_inverse=True)
        # A group has the smallest hash and the smallest class of its rows.
        smallest = np.full(group.max() + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
        np.minimum.at(smallest, group, key)
        classes = np.full(group.max() + 1, np.iinfo(np.int64).max)
        np.minimum.at(classes, group, codes)
        key, codes = smallest[group], classes[group]
    folds = np.empty(codes.size, dtype=np.int64)
    turn = 0
    for c in np.unique(codes):
        rows = np.flatnonzero(codes == c)
        distinct, place = np.unique(key[rows], return_inverse=True)
        folds[rows] = (place + turn) % n_folds
        turn += distinct.size  # classes continue where the last one ended
    return folds


def judging_folds(
    X: Matrix,
    codes: NDArray,
    n_folds: int,
    groups: NDArray | None = None,
    seed: int = 0,
    keys: NDArray | None = None,
) -> NDArray[np.int64]:
    """Folds that judge models; the parameters are those of `content_folds`.

    Where there are no more distinct rows than folds (a single yes/no question), folds of distinct
    rows would train models that know nothing of most of a class. Equal rows are coincidences
    then, and go to the folds in turn, so here a weight of 2 is not the row twice.
    """
    keys = row_keys(X) if keys is None else keys
    n_distinct = np.unique(keys).size
    if groups is not None or n_distinct > n_folds or n_distinct == codes.size:
        return content_folds(X, codes, n_folds, groups, seed, keys)
    folds = np.empty(codes.size, dtype=np.int64)
    folds[np.lexsort((keys, codes))] = np.arange(codes.size) % n_folds
    return folds


def sample_rows(
    X: Matrix,
    codes: NDArray,
    most: int,
    groups: NDArray | None = None,
    seed: int = 0,
    keys: NDArray | None = None,
) -> NDArray[np.intp]:
    """About `most` rows at most, chosen by what they hold: a share of each class, groups whole.

    If no more than `most` rows are distinct (six yes/no questions have 64 patterns), equal rows
    are coincidences, and every pattern has its share in the sample.
    """
    if codes.size <= most:
        return np.arange(codes.size)
    n_parts = -(-codes.size // most)
    keys = row_keys(X) if keys is None else keys
    if groups is None and np.unique(keys).size <= most:
        return np.sort(np.lexsort((hash_rows([X], codes.size), keys, codes))[::n_parts])
    return np.flatnonzero(content_folds(X, codes, n_parts, groups, seed, keys) == 0)


def select_forward(
    X: Matrix,
    codes: NDArray,
    weights: NDArray,
    n_classes: int,
    screened: NDArray,
    choices: Choices,
    n_steps: int,
    *,
    alpha: float,
    n_folds: int,
    class_weight: str | NDArray | None = "balanced",
    groups: NDArray | None = None,
    seed: int = 0,
    keys: NDArray | None = None,
) -> NDArray[np.int64]:
    """Order in which forward selection chooses groups of columns.

    `X` (n_rows, n_columns); `codes` (n_rows,): class indices; `weights` (n_rows,): sample weights;
    `screened`: groups that are candidates, best first, without kept ones; `n_steps`: how many
    groups to choose; `alpha`: ridge; `class_weight` (n_classes,) or None; `groups` (n_rows,) or
    None: sample groups; `keys` (n_rows,) or None: as in `content_folds`. Returns `order`: chosen
    groups, first to last; at most `n_steps`.
    """
    laid = lay_out_forward(
        X,
        codes,
        weights,
        n_classes,
        screened,
        choices,
        alpha=alpha,
        n_folds=n_folds,
        class_weight=class_weight,
        groups=groups,
        seed=seed,
        keys=keys,
    )
    sets, set_of = np.unique(choices.set_of[screened], return_inverse=True)
    order, _ = forward_steps(
        laid.kept,
        laid.candidates,
        laid.problems,
        Limits(set_of, choices.room[sets]),
        min(n_steps, len(screened)),
    )
    return np.asarray(screened)[order]


class ForwardData(NamedTuple):
    """What the forward steps see: rows in the order of their folds, columns standardised."""

    rows: NDArray  # rows of the data, in the order of their folds; none of weight 0
    kept: NDArray  # (n_kept, n_rows): columns that are always in the model
    candidates: StepCandidates  # one block for each screened group
    problems: Problems


def lay_out_forward(
    X: Matrix,
    codes: NDArray,
    weights: NDArray,
    n_classes: int,
    screened: NDArray,
    choices: Choices,
    *,
    alpha: float,
    n_folds: int,
    class_weight: str | NDArray | None = "balanced",
    groups: NDArray | None = None,
    seed: int = 0,
    keys: NDArray | None = None,
) -> ForwardData:
    """Folds and standardised columns of the forward steps; parameters as in `select_forward`."""
    blocks = members(choices.group_of, screened)
    kept = np.flatnonzero(choices.kept[choices.group_of])
    columns = np.concatenate([*blocks, kept]).astype(np.int64)
    used = np.flatnonzero(weights > 0)  # a row of weight 0 must not take a turn in the folds
    if used.size < codes.size:
        X, codes, weights = X[used], codes[used], weights[used]
        groups = None if groups is None else groups[used]
        keys = None if keys is None else keys[used]
    folds = judging_folds(X, codes, n_folds, groups, seed, keys)
    rows = np.argsort(folds, kind="stable")
    fold_starts = np.searchsorted(folds[rows], np.arange(n_folds + 1))
    weighed = weigh_classes(codes[rows], weights[rows], n_classes, class_weight)
    values = dense_columns(X, columns)[rows]
    Z = np.ascontiguousarray(standardize(values, weighed)(values).T)
    n_free = columns.size - kept.size
    is_class = codes[rows] == (
        np.array([[1]]) if n_classes == 2 else np.arange(n_classes)[:, None]
    )
    starts = np.cumsum([0, *(block.size for block in blocks)])
    return ForwardData(
        used[rows],
        Z[n_free:],
        StepCandidates(Z[:n_free], starts, choices.cost[screened]),
        Problems(is_class.astype(np.float64), weighed, fold_starts, float(alpha)),
    )


def decide(head: Head, X: Matrix, columns: NDArray) -> NDArray[np.float64]:
    """Decisions of a head of some columns; linear ones leave sparse columns sparse."""
    linear = isinstance(head, LinearHead)
    return head.decisions(take_columns(X, columns) if linear else dense_columns(X, columns))


def decide_all(heads: Sequence[Head], X: Matrix, columns: NDArray) -> list[NDArray[np.float64]]:
    """Decisions of several heads of the same columns; kernels must have the same landmarks."""
    kernels = [head for head in heads if isinstance(head, KernelHead)]
    of_kernels = iter(decide_kernels(kernels, dense_columns(X, columns)) if kernels else [])
    part = take_columns(X, columns)
    return [
        next(of_kernels) if isinstance(head, KernelHead) else head.decisions(part)
        for head in heads
    ]


def dense_columns(X: Matrix, columns: NDArray) -> NDArray[np.float64]:
    """Some columns as a dense array of float64."""
    part = take_columns(X, columns)
    part = part.toarray() if is_sparse(part) else part
    return np.asarray(part, dtype=np.float64)


def members(group_of: NDArray, some: NDArray) -> list[NDArray]:
    """Columns of each of some groups, ascending."""
    order = np.argsort(group_of, kind="stable")
    starts = np.searchsorted(group_of[order], np.stack([some, some + 1]))
    return [order[first:last] for first, last in starts.T]
