r"""A path: the models of one family, from the sparsest to the fullest, trained on the same rows.

A family's ``fit_path(X, y, levels=None, **fit_params)`` returns one. What the levels are depends
on the family (numbers of features, radii, cost weights); the engine in `tamis.paths.engine` only
needs what is below. Shapes: L levels, n rows of new samples, C classes of the training rows.

The decisions of all levels are computed together, so that a family can share work between levels:
one cumulative sum, one product with the union of supports, one pass through the forests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix

__all__ = ["Path", "Usage", "path_grid"]


@dataclass(frozen=True)
class Usage:
    """The features and cost of each row at each level."""

    n_features: NDArray  # (n_levels, n_rows): counted features
    cost: NDArray  # (n_levels, n_rows): their cost


class Path(ABC):
    """Base of the paths of all families.

    Attributes
    ----------
    levels : ndarray of shape (n_levels,)
        Sparsest first.
    classes : ndarray of shape (n_classes,)
        Classes of the training rows, in the order of the decisions.
    n_features : ndarray of int of shape (n_levels,)
        Number of counted features per level: kept features do not count, a feature group is one.
    """

    levels: NDArray
    classes: NDArray
    n_features: NDArray

    def __len__(self) -> int:
        return len(self.levels)

    @abstractmethod
    def features(self, level: int) -> NDArray[np.intp]:
        """Columns that the model at one place of the path uses, ascending."""

    def required(self, level: int) -> NDArray[np.intp]:
        """Columns that the model at one place of the path can ask any row for, ascending.

        Those of `features`, unless the family asks each row for its own.
        """
        return self.features(level)

    @abstractmethod
    def decisions(self, X: Matrix, places: slice = slice(None)) -> NDArray[np.float64]:
        """Log-probabilities, up to a constant per row, of some levels.

        Parameters
        ----------
        X : {ndarray, sparse array} of shape (n_rows, n_columns)
            Validated samples.
        places : slice
            Places of the levels; all of them by default.

        Returns
        -------
        decisions : ndarray of shape (n_levels, n_rows, n_classes)
            ``decisions(X).argmax(axis=2)`` are the labels that `model` predicts.
        """

    @abstractmethod
    def model(self, level: int) -> Any:
        """The fitted classifier at one place of the path."""

    def labels(self, X: Matrix, places: slice = slice(None)) -> NDArray[np.intp]:
        """Class indices, of shape (n_levels, n_rows); ties go to the first class."""
        return self.decisions(X, places).argmax(axis=2)

    def usage(self, X: Matrix, places: slice = slice(None)) -> Usage:
        """Features and cost of each row, the same for all rows unless the family asks them."""
        counts = np.asarray(self.n_features)[places, None]
        n_features = np.broadcast_to(counts, (len(counts), X.shape[0]))
        return Usage(n_features, n_features.astype(np.float64))

    # Called by the engine. A family that asks each row for its own features overrides both, so
    # that they are asked for once.

    def decisions_and_usage(self, X: Matrix, places: slice = slice(None)) -> tuple[NDArray, Usage]:
        """`decisions` and `usage` of some levels."""
        return self.decisions(X, places), self.usage(X, places)

    def labels_and_usage(self, X: Matrix, places: slice = slice(None)) -> tuple[NDArray, Usage]:
        """`labels` and `usage` of some levels."""
        return self.labels(X, places), self.usage(X, places)


def path_grid(n_features: int, every: int = 128, per_doubling: int = 16) -> NDArray[np.int64]:
    """Every k up to `every`, then `per_doubling` values for each doubling: a few hundred."""
    if n_features <= every:
        return np.arange(1, n_features + 1)
    n_more = int(np.ceil(per_doubling * np.log2(n_features / every)))
    more = np.geomspace(every, n_features, n_more + 1)
    return np.unique(np.concatenate([np.arange(1, every + 1), np.rint(more).astype(np.int64)]))
