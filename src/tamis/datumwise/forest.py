"""Forests of extremely randomised trees, whose cells predict classes and other values.

The trees are those of Geurts, Ernst and Wehenkel (2006): at each node the best of a few random
cuts of random columns, and no bootstrap. A cell is where a row ends in a tree; an estimate at x is
the mean, over the trees, of the mean of the training rows that share its cell. So one forest gives
the probabilities of the classes, from its finest cells, and the expected value of anything else
that is known of the training rows, from cells of at least a few rows.

Values may be missing: each split sends missing values to the side that is purer with them, or, if
there were none in training, to the larger side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from tamis.datumwise import _forest_kernels as kernels
from tamis.datumwise._growth_kernels import N_PLACES, grow_trees

# Numpy sends this many rows down trees in about a tenth of a second.
WORTH_COMPILING = 1 << 20
# Rows that descend together: their values of a column, and their numbers, stay in the cache.
_TILE = 8192
# Values that are averaged at once.
_CHUNK = 1 << 20


class Sample(NamedTuple):
    """The training data of trees."""

    XT: np.ndarray  # (n_features, n_samples): features in rows; NaN where a value is missing
    codes: np.ndarray  # (n_samples,): classes
    class_mass: np.ndarray  # (n_classes,): weight of a sample of each class
    rows: np.ndarray  # training rows
    columns: np.ndarray  # features that may be split


@dataclass(frozen=True)
class Forest:
    """The nodes of all trees, in one table: see `_forest_kernels`."""

    offsets: np.ndarray  # (n_trees + 1,): first node of each tree
    # (n_nodes, 4): column that is split, first child, number of training rows, whether missing
    # values go to the first child.
    nodes: np.ndarray
    threshold: np.ndarray  # (n_nodes,): largest value that goes to the first child
    shares: np.ndarray  # (n_nodes, n_classes): shares of the classes in each node

    def copy(self) -> Forest:
        """A copy that takes no more memory than its nodes need."""
        return Forest(*(array.copy() for array in vars(self).values()))

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return self.threshold.size

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.offsets.size - 1

    @property
    def feature(self) -> NDArray[np.int32]:
        """Column that each node splits; -1 for a leaf."""
        return self.nodes[:, kernels.FEATURE]

    @property
    def left(self) -> NDArray[np.int32]:
        """First child of each node; the other one follows it."""
        return self.nodes[:, kernels.LEFT]

    @property
    def sizes(self) -> NDArray[np.int32]:
        """Number of training rows of each node."""
        return self.nodes[:, kernels.SIZE]

    @property
    def missing_left(self) -> NDArray[np.bool_]:
        """Whether missing values go to the first child."""
        return self.nodes[:, kernels.MISSING_LEFT] != 0

    def cells(
        self, XT: NDArray, rows: NDArray, *smallest: int, work: int | None = None
    ) -> NDArray[np.int32]:
        """Cells of some rows, at one or more resolutions.

        `XT` (n_features, n_samples). `smallest`: nodes with fewer training rows count as leaves;
        ascending. `work`: number of rows times number of trees, of this call and others like it:
        decides whether compiling pays. The result is the same. None: of this call.
        """
        if (rows.size * self.n_trees if work is None else work) < WORTH_COMPILING:
            return self._cells_by_numpy(XT, rows, smallest)
        cells = np.empty((len(smallest), self.n_trees, rows.size), dtype=np.int32)
        for begin in range(0, rows.size, _TILE):
            some = rows[begin : begin + _TILE]
            part = np.empty((len(smallest), self.n_trees, some.size), dtype=np.int32)
            kernels.find_cells(
                XT,
                some,
                self.offsets,
                self.nodes,
                self.threshold,
                np.array(smallest, dtype=np.int64),
                np.empty((XT.shape[0], some.size)),
                np.empty(2 * some.size, dtype=np.int32),
                np.empty((some.size, 4), dtype=np.int64),
                part,
            )
            cells[:, :, begin : begin + some.size] = part
        return cells.transpose(0, 2, 1)

    def _cells_by_numpy(self, XT, rows, smallest):
        """All rows go down all trees together, one step at a time."""
        v = np.repeat(self.offsets[:-1], rows.size)
        row = np.tile(rows, self.n_trees)
        values, n_samples = XT.ravel(), XT.shape[1]
        # `take` from flat arrays is several times faster than indexing.
        nodes, some_missing = self.nodes.ravel(), np.isnan(values).any()
        cells = np.empty((len(smallest), v.size), dtype=np.int32)
        for r in reversed(range(len(smallest))):
            going, at, own = np.arange(v.size), v, row
            while True:
                place = 4 * at
                column = nodes.take(place + kernels.FEATURE)
                on = np.flatnonzero(
                    (column >= 0) & (nodes.take(place + kernels.SIZE) >= smallest[r])
                )
                if not on.size:
                    break
                going, at, own, place = (some.take(on) for some in (going, at, own, place))
                value = values.take(column.take(on) * np.int64(n_samples) + own)
                stays = value <= self.threshold.take(at)
                if some_missing:
                    missing_left = nodes.take(place + kernels.MISSING_LEFT) != 0
                    stays |= np.isnan(value) & missing_left
                at = nodes.take(place + kernels.LEFT) + ~stays
                v[going] = at
            cells[r] = v
        return cells.reshape(len(smallest), self.n_trees, rows.size).transpose(0, 2, 1)

    def mean_shares(
        self, XT: NDArray, rows: NDArray, work: int | None = None
    ) -> NDArray[np.float64]:
        """Mean shares of the classes in the leaves of some rows: (n_rows, n_classes)."""
        means = np.empty((rows.size, self.shares.shape[1]))
        for begin in range(0, rows.size, _TILE):
            (cells,) = self.cells(XT, rows[begin : begin + _TILE], 0, work=work)
            means[begin : begin + _TILE] = mean_rows(cells, self.shares)
        return means

    def mean_shares_and_values(
        self,
        XT: NDArray,
        rows: NDArray,
        coarse: int,
        row_of: NDArray,
        table: NDArray,
        work: int | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean shares of the classes, and means of the values of coarse cells.

        `XT` (n_features, n_samples), `row_of` (n_nodes,), `table` (n_cells, n_values). Returns
        `shares` (n_rows, n_classes), `values` (n_rows, n_values).
        """
        means = np.empty((rows.size, self.shares.shape[1]))
        values = np.empty((rows.size, table.shape[1]))
        for begin in range(0, rows.size, _TILE):
            some = rows[begin : begin + _TILE]
            fine, wide = self.cells(XT, some, 0, coarse, work=work)
            means[begin : begin + _TILE] = mean_rows(fine, self.shares)
            values[begin : begin + _TILE] = mean_rows(row_of[wide], table)
        return means, values

    def feature_gains(self, n_features: int, class_mass: NDArray) -> NDArray[np.float64]:
        """Total decrease of impurity by each feature, over all rows and trees."""
        split, gains, _ = self._gains(class_mass)
        total = np.bincount(self.feature[split], weights=gains, minlength=n_features)
        return total.astype(np.float64, copy=False)

    def path_gains(
        self, leaves: NDArray, n_features: int, class_mass: NDArray
    ) -> NDArray[np.float64]:
        """Decrease of impurity by each feature along the paths of rows down the trees.

        `leaves` (n_trees, n_rows), `class_mass` (n_classes,). Returns `gains` (n_rows,
        n_features).
        """
        split, gains, masses = self._gains(class_mass)
        decrease, parent = np.zeros(self.n_nodes), np.full(self.n_nodes, -1)
        decrease[split] = gains / masses[split] / self.n_trees
        parent[self.left[split]] = parent[self.left[split] + 1] = split
        n_rows = leaves.shape[1]
        total = np.zeros(n_rows * n_features)
        at = parent[leaves.ravel()]
        first = np.tile(np.arange(n_rows) * n_features, self.n_trees)
        while at.size:  # one step up
            going = at >= 0
            at, first = at[going], first[going]
            total += np.bincount(first + self.feature[at], decrease[at], minlength=total.size)
            at = parent[at]
        return total.reshape(n_rows, n_features)

    def _gains(self, class_mass):
        """Nodes that are split, decrease of mass times Gini index there, masses of all nodes.

        The mass of a node is the weight of its rows, with the weights used for its shares.
        """
        masses = self.sizes / (self.shares / class_mass).sum(axis=1)
        impurity = masses * (1.0 - (self.shares**2).sum(axis=1, dtype=np.float64))
        split = np.flatnonzero(self.feature >= 0)
        child = self.left[split]
        return split, impurity[split] - impurity[child] - impurity[child + 1], masses


def grow(
    sample: Sample,
    n_trees: int,
    seed: int,
    smallest: int = 2,
    resolutions: tuple[int, ...] = (),
) -> tuple[Forest, NDArray[np.int32]]:
    """Grow a forest, and find the cells of its training rows in the same pass.

    Returns `cells` (n_resolutions, n_trees, n_samples).
    """
    n_training, seeds = np.array([[sample.rows.size], [seed]], dtype=np.int64)
    sample = sample._replace(rows=sample.rows[None])
    return grow_together(sample, n_training, n_trees, seeds, smallest, resolutions)


def grow_together(
    sample: Sample,
    n_training: NDArray,
    n_trees: int,
    seeds: NDArray,
    smallest: int = 2,
    resolutions: tuple[int, ...] = (),
) -> tuple[Forest, NDArray[np.int32]]:
    """Grow forests of `n_trees` trees each, one after the other in one table.

    Each node tries as many columns as the rounded square root of their number.

    `sample`: its rows have the shape (n_forests, n_rows). The first ``n_training[f]`` are those
    that forest f is grown on, the others only go down its trees. `seeds` (n_forests,). Returns
    `cells` (n_resolutions, n_forests * n_trees, n_samples).
    """
    XT, codes, mass, rows, columns = sample
    n_forests, n_rows = rows.shape
    n_classes, largest = mass.size, int(n_training.max())
    offsets = np.zeros(n_forests * n_trees + 1, dtype=np.int64)
    capacity = 2 * int(n_training.sum()) * n_trees
    nodes, threshold = np.empty((capacity, 4), dtype=np.int32), np.empty(capacity)
    shares = np.empty((capacity, n_classes), dtype=np.float32)
    cells = np.empty((len(resolutions), n_forests * n_trees, codes.size), dtype=np.int32)
    grow_trees(
        XT,
        codes,
        mass,
        columns,
        rows,
        n_training,
        max(1, round(np.sqrt(columns.size))),
        smallest,
        seeds,
        np.array(resolutions, dtype=np.int64),
        np.empty_like(columns),
        np.empty(2 * n_rows, dtype=np.int32),
        np.empty(largest),
        np.empty(largest, dtype=np.int32),
        np.empty((3, n_classes), dtype=np.int64),
        np.empty((2 * largest, N_PLACES + n_classes), dtype=np.int64),
        offsets,
        nodes,
        threshold,
        shares,
        cells,
    )
    end = offsets[-1]
    return Forest(offsets, nodes[:end], threshold[:end], shares[:end]), cells


def mean_rows(cells: NDArray, table: NDArray) -> NDArray[np.float64]:
    """Mean over the trees of the table's rows of the cells.

    `cells` (n_rows, n_trees), `table` (n_cells, n_values). Returns `means` (n_rows, n_values).
    """
    n_rows, n_trees = cells.shape
    means = np.empty((n_rows, table.shape[1]))
    step = max(1, _CHUNK // n_trees)
    for begin in range(0, n_rows, step):
        some = means[begin : begin + step]
        values = np.take(table, cells[begin : begin + step].T, axis=0)
        values = values.reshape(n_trees, -1).astype(np.float64)
        if some.size == 1:  # numpy adds up one column pairwise, and several in order
            values = np.repeat(values, 2, axis=1)
        some[:] = np.add.reduce(values, axis=0)[: some.size].reshape(some.shape)
    return means / n_trees


def membership(cells: NDArray, n_cells: int) -> csr_matrix:
    """The matrix of shape (n_rows, n_cells) that has a one for each cell of each row.

    Its products are sums in order: over the cells of a row, or, transposed, over the rows of a
    cell.
    """
    n_rows, n_trees = cells.shape
    first = np.arange(0, cells.size + 1, n_trees, dtype=np.int32)
    return csr_matrix((_ones(cells.size), cells.ravel(), first), shape=(n_rows, n_cells))


@lru_cache(maxsize=8)  # all sets have as many rows and trees: they share the ones
def _ones(size):
    ones = np.ones(size)
    ones.flags.writeable = False
    return ones
