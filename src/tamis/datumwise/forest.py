"""Forests of extremely randomised trees, whose cells serve for classes and for values alike.

The trees are those of Geurts, Ernst and Wehenkel (2006): at every node the best of a few random
cuts of random columns, and no bootstrap. A cell is where a row ends in a tree; an estimate at x is
the mean, over the trees, of the mean of the training rows that share its cell. So one forest
gives the probabilities of the classes, from its finest cells, and the expected value of anything
else that is known of the training rows, from cells of at least a few rows.

Values may be missing: every split sends missing values to the side that is purer with them, or,
if it saw none, to the larger one.
"""

from dataclasses import dataclass

import numpy as np

from tamis.datumwise import _forest_kernels as kernels

__all__ = ["Forest", "grow"]


@dataclass(frozen=True)
class Forest:
    """The nodes of all trees, in one table: see `_forest_kernels`.

    Attributes
    ----------
    offsets : ndarray of int64 of shape (n_trees + 1,)
        First node of every tree.
    feature, threshold, left, missing_left : ndarray of shape (n_nodes,)
        Splits.
    sizes : ndarray of int32 of shape (n_nodes,)
        Training rows in every node.
    shares : ndarray of shape (n_nodes, n_classes)
        Shares of the classes in every node.
    """

    offsets: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    missing_left: np.ndarray
    sizes: np.ndarray
    shares: np.ndarray

    @property
    def n_nodes(self):
        """Number of nodes of all trees."""
        return self.feature.size

    def cells(self, XT, rows, *smallest):
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
        cells = np.empty((len(smallest), rows.size, self.offsets.size - 1), dtype=np.int32)
        kernels.find_cells(XT, rows, *self._splits(), self.sizes, np.array(smallest), cells)
        return cells

    def feature_gains(self, n_features, class_mass):
        """How much each feature clears up the classes, over all rows and trees."""
        masses = self._masses(class_mass)
        return kernels.node_gains(self.feature, self.left, masses, self.shares, n_features)

    def path_gains(self, XT, class_mass):
        """How much each feature clears up the class of each row: (n_samples, n_features)."""
        return kernels.path_gains(XT, *self._splits(), self._masses(class_mass), self.shares)

    def _masses(self, class_mass):
        """Weight of the rows of every node, for the weights that the shares were made with."""
        return self.sizes / (self.shares / class_mass).sum(axis=1)

    def _splits(self):
        return self.offsets, self.feature, self.threshold, self.left, self.missing_left


def grow(XT, codes, class_mass, rows, columns, n_trees, seed, smallest=2):
    """Grow a forest on some rows and columns.

    At every node the square root of the number of columns, rounded, are tried.

    Parameters
    ----------
    XT : ndarray of shape (n_features, n_samples)
        Features in rows; NaN where a value is missing.
    codes : ndarray of int64 of shape (n_samples,)
        Classes.
    class_mass : ndarray of shape (n_classes,)
        Weight of a sample of each class.
    rows, columns : ndarray of int64
        Training rows; features that may be split.
    n_trees, seed, smallest : int
        Number of trees; seed; nodes with fewer rows are not split.

    Returns
    -------
    forest : Forest
    """
    n_tries = max(1, round(np.sqrt(columns.size)))
    *nodes, counts = kernels.grow_forest(
        XT, codes, class_mass, rows, columns, n_trees, n_tries, smallest, seed
    )
    counts /= counts.sum(axis=1, keepdims=True)
    return Forest(*nodes, counts)
