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

import numpy as np
from numpy.typing import NDArray

from tamis.datumwise import _forest_kernels as kernels
from tamis.datumwise._growth_kernels import Sample, grow_forest

__all__ = ["Forest", "grow", "grow_with_cells"]

_NO_CELLS = np.empty((0, 0), dtype=np.int32)
_NO_ROWS, _NO_TABLE = np.empty(0, dtype=np.int32), np.empty((0, 0), dtype=np.float32)


@dataclass(frozen=True)
class Forest:
    """The nodes of all trees, in one table: see `_forest_kernels`.

    Attributes
    ----------
    offsets : ndarray of int64 of shape (n_trees + 1,)
        First node of each tree.
    nodes : ndarray of int32 of shape (n_nodes, 4)
        Column that is split, first child, number of training rows, whether missing values go to
        the first child.
    threshold : ndarray of shape (n_nodes,)
        Largest value that goes to the first child.
    shares : ndarray of float32 of shape (n_nodes, n_classes)
        Shares of the classes in each node.
    """

    offsets: np.ndarray
    nodes: np.ndarray
    threshold: np.ndarray
    shares: np.ndarray

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

    def cells(self, XT: NDArray, rows: NDArray, *smallest: int) -> NDArray[np.int32]:
        """Cells of some rows, at one or more resolutions.

        Parameters
        ----------
        XT : ndarray of shape (n_features, n_samples)
            Features in rows.
        rows : ndarray of int64
            Which samples.
        *smallest : int
            Nodes with fewer training rows count as leaves; ascending.

        Returns
        -------
        cells : ndarray of int32 of shape (len(smallest), n_rows, n_trees)
            Nodes.
        """
        cells = np.empty((len(smallest), rows.size, self.n_trees), dtype=np.int32)
        kernels.find_cells(XT, rows, self._trees(), np.array(smallest), cells)
        return cells

    def mean_shares(self, XT: NDArray, rows: NDArray) -> NDArray[np.float64]:
        """Mean shares of the classes in the leaves of some rows: (n_rows, n_classes)."""
        return kernels.mean_values(
            XT, rows, self._trees(), self.shares, np.array([0]), _NO_ROWS, _NO_TABLE
        )[0]

    def mean_shares_and_values(
        self, XT: NDArray, rows: NDArray, coarse: int, row_of: NDArray, table: NDArray
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean shares of the classes, and means of the values of coarse cells.

        Parameters
        ----------
        XT : ndarray of shape (n_features, n_samples)
            Features in rows.
        rows : ndarray of int64
            Which samples.
        coarse : int
            Means of the values treat nodes with fewer training rows as leaves.
        row_of : ndarray of int32 of shape (n_nodes,)
            Row of the table for each coarse cell.
        table : ndarray of float32 of shape (n_cells, n_values)

        Returns
        -------
        shares : ndarray of shape (n_rows, n_classes)
        values : ndarray of shape (n_rows, n_values)
        """
        smallest = np.array([0, coarse])
        return kernels.mean_values(XT, rows, self._trees(), self.shares, smallest, row_of, table)

    def feature_gains(self, n_features: int, class_mass: NDArray) -> NDArray[np.float64]:
        """Total decrease of impurity by each feature, over all rows and trees."""
        masses = self._masses(class_mass)
        return kernels.node_gains(self.nodes, masses, self.shares, n_features)

    def path_gains(self, XT: NDArray, class_mass: NDArray) -> NDArray[np.float64]:
        """Decrease of impurity by each feature for each row: (n_samples, n_features)."""
        return kernels.path_gains(XT, self._trees(), self._masses(class_mass), self.shares)

    def _masses(self, class_mass):
        """Weight of the rows of each node, with the weights used for its shares."""
        return self.sizes / (self.shares / class_mass).sum(axis=1)

    def _trees(self):
        return kernels.Trees(self.offsets, self.nodes, self.threshold)


def grow(sample: Sample, n_trees: int, seed: int, smallest: int = 2) -> Forest:
    """Grow a forest.

    Each node tries as many columns as the rounded square root of their number.

    Parameters
    ----------
    sample : Sample
        Training data.
    n_trees, seed, smallest : int
        Number of trees; seed; nodes with fewer rows are not split.

    Returns
    -------
    forest : Forest
    """
    return _grow(sample, n_trees, seed, smallest, 0, _NO_CELLS)


def grow_with_cells(
    sample: Sample, n_trees: int, seed: int, smallest: int, coarse: int
) -> tuple[Forest, NDArray[np.int32]]:
    """Grow a forest, and find the cells of its training rows in the same pass.

    Parameters
    ----------
    sample, n_trees, seed, smallest
        As in `grow`.
    coarse : int
        Nodes with fewer rows are leaves, for the cells.

    Returns
    -------
    forest : Forest
    cells : ndarray of int32 of shape (n_rows, n_trees)
        The same as ``forest.cells(XT, rows, coarse)[0]``.
    """
    cells = np.empty((sample.codes.size, n_trees), dtype=np.int32)
    forest = _grow(sample, n_trees, seed, smallest, coarse, cells)
    return forest, cells[sample.rows]


def _grow(sample, n_trees, seed, smallest, coarse, cells):
    n_tries = max(1, round(np.sqrt(sample.columns.size)))
    return Forest(*grow_forest(sample, n_trees, n_tries, smallest, seed, coarse, cells))
