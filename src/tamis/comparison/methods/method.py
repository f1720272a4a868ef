"""What a method of the comparison is: levels, and the training of a path at all of them.

A level is a number of features, except where `level_name` says otherwise; levels go from the
sparsest to the fullest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse, take_columns
from tamis._base import softmax
from tamis._passes import Passes
from tamis.comparison.problem.problem import Part, Problem
from tamis.paths.path import Path, Usage

__all__ = [
    "MANY_ROWS",
    "Decide",
    "Method",
    "RankingMethod",
    "StreamingMethod",
    "Trained",
    "WholeTable",
    "count_levels",
    "dense",
]

#: Decisions of all classes for rows of all columns.
Decide = Callable[[Matrix], NDArray]

# Numbers of features to try; after the last one the number doubles.
_COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 100, 128)
_FEW_COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
# Data with more rows than this get fewer levels.
MANY_ROWS = 100_000


@dataclass
class Trained:
    """The path of a method, trained on a part."""

    path: Path
    part: Part  # training rows
    places: NDArray  # (n_levels,): place on the path of each level that was requested
    # Columns of the part that the path uses, dense; None: all, unchanged.
    columns: NDArray | None = None
    takes_missing: bool = False  # whether missing values stay missing

    def predict(self, X: Matrix, with_missing: Matrix) -> tuple[NDArray, Usage]:
        """Probabilities of the known classes, and the features each row needs, at all levels.

        `X`, `with_missing` (n_rows, n_columns): rows of the columns of the part: imputed, and with
        missing values. Returns `probabilities` (n_levels, n_rows, n_classes); `usage`.
        """
        X = with_missing if self.takes_missing else X
        if self.columns is not None:
            X = dense(take_columns(X, self.columns))
        decisions, usage = self.path.decisions_and_usage(X)
        places = self.places
        usage = Usage(usage.n_features[places], usage.cost[places])
        return softmax(decisions)[places], usage

    def columns_of(self, level: int) -> NDArray:
        """Columns of the part that the model of a level can need for a row, ascending."""
        used = self.path.required(self.places[level])
        return used if self.columns is None else self.columns[used]

    def features(self, level: int) -> NDArray:
        """Counted features that the model of a level can need, including kept ones, ascending."""
        return np.unique(self.part.feature_of[self.columns_of(level)])

    def model(self, level: int) -> Any:
        """The fitted classifier of a level."""
        return self.path.model(self.places[level])


class Method(ABC):
    """Base of the methods.

    `name`, `title`: name for the command line, and title for people. `is_baseline`: whether it is
    only compared, and not recommended. `is_sparse_baseline`: whether it is a baseline that may be
    recommended. `asks`: whether each sample is asked for its own features.
    `takes_weights`: whether a sample weight of 2 is exactly equivalent to repeating the row.
    `has_medians`: whether its class centers are medians. `metric`: whether features are compared
    by means or by medians.
    `level_name`: what a level is. `importance_name`: which of
    `tamis.comparison.fitted.importance.IMPORTANCES` its `gains` are. `size_varies`: whether the
    number of features of a level depends on the rows, so that it must be trained on all rows to
    know how many features its model has. `is_readable`: whether all of its models can be
    explained, asked, turned into a points card and exported to SQL. (A card needs few features,
    and SQL columns without free text.). `head_name`: kind of classifier on the selected features,
    if it is a part of its own. `trains_with`: name of the method that it shares a training with
    (`train_with`); itself if empty. `ranks`: how a method that can choose again quickly does
    so: each feature "one by one", "forward" by what it adds to others (both: a `RankingMethod`),
    or along a "path" of models. None for other methods.
    """

    name = title = ""
    is_baseline = False
    is_sparse_baseline = False
    asks = False
    takes_weights = False
    has_medians = False
    metric = "l2"
    level_name = "features"
    importance_name = "explained_spread"
    size_varies = True
    is_readable = False
    head_name = ""
    trains_with = ""
    ranks: str | None = None

    def levels(self, problem: Problem, limit: int | None) -> Sequence[float]:
        """Levels for a problem, with at most `limit` features."""
        return count_levels(problem.n_features, limit, problem.n_rows)

    def suits(self, problem: Problem) -> bool:
        """Whether it can be used for a problem of this size and kind."""
        return True

    def uses_device(self, problem: Problem) -> bool:
        """Whether it can train on the device of a problem of this kind."""
        return False

    @abstractmethod
    def train(self, part: Part, levels: Sequence[float]) -> Trained:
        """Train the path on a part."""

    def train_with(
        self, others: Sequence[Method], part: Part, levels: Sequence[float]
    ) -> list[Trained]:
        """Train this method and others of the same `trains_with`, which have the same levels."""
        return [method.train(part, levels) for method in (self, *others)]

    @abstractmethod
    def seconds(self, n_rows: int, n_columns: int, n_stored: int, n_classes: int) -> float:
        """Rough seconds of one `train`, on one core of an ordinary machine."""

    def gains(self, trained: Trained, level: int) -> NDArray:
        """How much each counted feature matters to the model of a level."""
        return np.zeros(len(trained.part.problem.names))

    def shrink(self, trained: Trained, level: int) -> tuple[NDArray, Any]:
        """Columns of the part that a model needs, and the fitted model reduced to them."""
        raise ValueError(f"{self.name} is only compared; it is never used as a model.")


class RankingMethod(Method):
    """A method that can quickly choose features again, or train without choosing: see `ranks`."""

    @abstractmethod
    def choose(self, part: Part, k: int, model: Any) -> NDArray:
        """The k features that are chosen on a part as for a trained model, without kept ones."""

    @abstractmethod
    def refit(self, trained: Trained, level: int, part: Part, columns: NDArray) -> Decide:
        """Train the model of a level on other rows and columns, without choosing anything."""


@dataclass(frozen=True)
class WholeTable:
    """All rows of a table, of which some have chosen a model."""

    passes: Passes  # over chunks (X, codes, weights), with the columns of the part
    n_rows: int
    class_weights: NDArray  # (n_classes,): sums of the weights of the rows; without, their number
    max_bytes: float  # memory for training, besides a chunk


class StreamingMethod(Method):
    """A method that can train a model on chunks of rows; `trained` is its path on some of them.

    `keeps_features`: whether the features stay those that some of the rows have chosen.
    """

    keeps_features = False

    @abstractmethod
    def fit_chunks(self, trained: Trained, level: int, whole: WholeTable) -> dict[str, NDArray]:
        """Train the model of a level on all rows: arrays for a file, which `path_of` reads."""

    @abstractmethod
    def path_of(self, arrays: dict[str, NDArray], trained: Trained, level: int) -> Trained:
        """A path like `trained`, in which the model of a level is that of all rows."""

    def identify(self, trained: Trained, level: int) -> tuple[NDArray, ...]:
        """What `fit_chunks` depends on, besides the rows and the columns of the part."""
        return ()


def count_levels(n_features, limit, n_rows=0):
    """Numbers of features along a path: few and close together at first, then doubling."""
    most = max(1, min(n_features, limit or n_features))
    counts = list(_FEW_COUNTS if n_rows > MANY_ROWS else _COUNTS)
    while counts[-1] < most:
        counts.append(2 * counts[-1])
    return [k for k in counts if k < most] + [most]


def dense(X: Matrix) -> NDArray:
    """A matrix as a dense array."""
    return X.toarray() if is_sparse(X) else X
