"""The fit whose best panel is sought: standardised columns in groups, targets, weights, ridge."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis.heads.head import row_blocks, standardize
from tamis.panel.forward import Choices, dense_columns, members, weigh_classes

__all__ = ["FitProblem", "lay_out_fit"]


@dataclass(frozen=True)
class FitProblem:
    """What a panel is fitted to; groups are numbered from 0, without kept and constant ones."""

    # (n_columns + n_kept + 2, n_rows): standardised columns, group by group; those of the kept
    # groups; a row of ones; a row of zeros, which pads lists of columns.
    columns: NDArray
    table: NDArray  # (G, size of the largest group): places of the columns of each group
    starts: NDArray  # (G + 1,): where the columns of each group begin
    always: NDArray  # places of kept columns, and, last, of the ones
    targets: NDArray  # (C, n_rows): 1 for rows of the class, 0 for others
    weights: NDArray  # (n_rows,): of rows and classes; none is 0
    ridge: float
    set_of: NDArray  # (G,): set of each group
    room: NDArray  # (n_sets,): how many groups of each set a panel may have
    twin: NDArray  # (G,): class of copies of each group, from 0
    groups: NDArray  # (G,): what the groups are called outside

    @property
    def n_groups(self) -> int:
        """Number of groups to choose from."""
        return len(self.table)

    @property
    def padding(self) -> int:
        """Place of the row of zeros."""
        return len(self.columns) - 1

    @property
    def free_columns(self) -> NDArray:
        """Columns of the groups: (n_columns, n_rows), a view."""
        return self.columns[: self.starts[-1]]

    @property
    def log_odds(self) -> NDArray[np.float64]:
        """Intercepts (C,) of the best fit without features."""
        return np.log(self.targets @ self.weights) - np.log((1.0 - self.targets) @ self.weights)

    @property
    def has_limits(self) -> bool:
        """Whether some set may not be selected whole."""
        return bool((np.bincount(self.set_of, minlength=self.room.size) > self.room).any())

    def most(self, k: int) -> int:
        """How many groups a panel of k can have."""
        sizes = np.bincount(self.set_of, minlength=self.room.size)
        return min(k, int(np.minimum(sizes, self.room).sum()))

    def group_sums(self, values: NDArray) -> NDArray[np.float64]:
        """Sums over the columns of each group: (..., n_columns) to (..., G)."""
        if self.n_groups == values.shape[-1]:
            return values
        return np.add.reduceat(values, self.starts[:-1], axis=-1)

    def places(self, groups: NDArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Columns of lists of groups, padded; with those that are always there.

        `groups` (B, g): -1 pads. Returns `places` (B, a): rows of `columns`; `of` (B, a): which of
        the g groups each one is of; -1: none, a penalised column; -2: the ones.
        """
        width = self.table.shape[1]
        table = np.vstack([self.table, np.full((1, width), self.padding)])
        places = table[groups].reshape(len(groups), -1)
        of = np.repeat(np.arange(groups.shape[1]), width)[None, :].repeat(len(groups), axis=0)
        empty = places == self.padding
        of[empty] = -1
        if width > 1:
            order = np.argsort(empty, axis=1, kind="stable")[:, : int((~empty).sum(axis=1).max())]
            places = np.take_along_axis(places, order, axis=1)
            of = np.take_along_axis(of, order, axis=1)
        always = np.broadcast_to(self.always, (len(groups), self.always.size))
        none = np.full(always.shape, -1)
        none[:, -1] = -2
        return np.hstack([places, always]), np.hstack([of, none])

    def subset(self, some: NDArray) -> FitProblem:
        """The problem of some of the groups."""
        columns = np.concatenate([np.arange(self.starts[g], self.starts[g + 1]) for g in some])
        sizes = np.diff(self.starts)[some]
        rest = np.arange(self.starts[-1], len(self.columns))
        return _arranged(
            self.columns[np.concatenate([columns, rest])],
            sizes,
            rest.size - 2,
            self.targets,
            self.weights,
            self.ridge,
            self.set_of[some],
            self.room,
            self.twin[some],
            self.groups[some],
        )


def _arranged(columns, sizes, n_kept, targets, weights, ridge, set_of, room, twin, groups):
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    table = starts[:-1, None] + np.arange(sizes.max(initial=1))
    table = np.where(np.arange(table.shape[1]) < sizes[:, None], table, len(columns) - 1)
    always = starts[-1] + np.arange(n_kept + 1)
    return FitProblem(
        columns, table, starts, always, targets, weights, ridge, set_of, room, twin, groups
    )


def lay_out_fit(
    X: Matrix,
    codes: NDArray,
    weights: NDArray,
    n_classes: int,
    choices: Choices,
    alpha: float,
    class_weight: str | NDArray | None,
) -> FitProblem:
    """The fit of the forward steps, on all rows at once.

    `X` (n_rows, n_columns); `codes` (n_rows,): class indices; `weights` (n_rows,): sample weights;
    `alpha`: ridge; `class_weight` (n_classes,) or None. Constant groups, and those for which there
    is no room, are left out.
    """
    weighed = weigh_classes(codes, weights, n_classes, class_weight)
    used = np.flatnonzero(weighed > 0)
    codes, weighed = codes[used], weighed[used]
    read = _reader(X, used)
    varies = _find_varying(read, X.shape[1], used.size)
    free = np.flatnonzero(choices.free)
    blocks = members(choices.group_of, free)
    useful = np.array([varies[block].any() for block in blocks], dtype=bool)
    free, blocks = free[useful], [b for b, u in zip(blocks, useful, strict=True) if u]
    kept = np.flatnonzero(choices.kept[choices.group_of])
    kept = kept[varies[kept]]
    order = np.concatenate([*blocks, kept]).astype(np.intp)
    columns = np.empty((order.size + 2, codes.size))
    for some in row_blocks(order.size, codes.size):
        columns[:-2][some] = _standardized(read(order[some]), weighed, varies[order[some]]).T
    columns[-2], columns[-1] = 1.0, 0.0
    known = np.array([1]) if n_classes == 2 else np.unique(codes)
    sizes = np.array([block.size for block in blocks], dtype=np.intp)
    return _arranged(
        columns,
        sizes,
        kept.size,
        (codes == known[:, None]).astype(np.float64),
        weighed,
        float(alpha),
        choices.set_of[free],
        choices.room,
        _twins(columns, sizes, choices.set_of[free]),
        free,
    )


def _reader(X, used):
    """A function that reads some columns in the rows that are used, dense, as a copy.

    Tables are never copied whole.
    """
    if is_sparse(X):
        X = X.tocsc()
    every = used.size == X.shape[0]

    def read(columns):
        values = dense_columns(X, columns)
        return values if every else values[used]

    return read


def _find_varying(read, n_columns, n_rows):
    """Which columns are not constant: (n_columns,)."""
    varies = np.empty(n_columns, dtype=bool)
    for some in row_blocks(n_columns, n_rows):
        values = read(np.arange(n_columns)[some])
        varies[some] = values.min(axis=0) < values.max(axis=0)
    return varies


def _standardized(values, weights, varies):
    """Columns with weighted mean 0 and variance 1, in place; constant ones are 0."""
    # Powers of two are exact; without them squares of small units vanish and large ones overflow.
    _, exponent = np.frexp(np.maximum(np.abs(values.min(axis=0)), np.abs(values.max(axis=0))))
    np.ldexp(values, -exponent, out=values)
    center_scale = standardize(values, weights)
    values -= center_scale.center
    values /= center_scale.scale
    values[:, ~varies] = 0.0
    return values


def _twins(columns, sizes, set_of):
    """Groups of the same set with the same columns, up to units and signs, share a number."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    known: dict[tuple, int] = {}
    twin = np.empty(sizes.size, dtype=np.intp)
    for g, (low, high) in enumerate(itertools.pairwise(starts.tolist())):
        digest = blake2b()
        for column in columns[low:high]:
            rounded = np.round(column, 9)
            rounded *= np.sign(rounded[np.abs(rounded).argmax()])
            digest.update((rounded + 0.0).tobytes())  # no negative zeros
        twin[g] = known.setdefault((int(set_of[g]), digest.digest()), len(known))
    return twin
