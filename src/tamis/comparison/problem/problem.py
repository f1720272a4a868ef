"""The problem that all methods are compared on: one matrix, counted features and labels.

A counted feature is what a user counts: a number, a categorical column with all its dummies, a
word, or a group of columns that are obtained together. `Part` is what a method sees of it:
training rows with everything that was learned from them alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis._base import decided
from tamis.centers import SparseCenterClassifier
from tamis.comparison.problem.redundancy import drop_redundant
from tamis.panel.forward import keys_of, sample_rows
from tamis.tables.preparing.preparation import Preparation

__all__ = ["Part", "Problem"]

# Fewest rows of each class in a sample.
_FEWEST_SAMPLED = 100


@dataclass(frozen=True)
class Problem:
    """Encoded data and what is known about them."""

    preparation: Preparation  # how the matrix was made, with nothing learned
    encoded: Matrix  # (n_rows, n_columns): with NaN where a value is missing
    codes: np.ndarray  # (n_rows,): class indices
    classes: np.ndarray  # (n_classes,): labels
    feature_of: np.ndarray  # (n_columns,): counted feature of each column
    names: list[str]  # names of the counted features
    kept: np.ndarray  # (n_features,): features that are always used and not counted
    costs: np.ndarray  # (n_features,): costs of the counted features
    missing: np.ndarray  # columns with missing values
    # groups, batches: (n_rows,) or None: sample groups, with copies of a row in one; batches that
    # rows come from.
    groups: np.ndarray | None = None
    batches: np.ndarray | None = None
    weights: np.ndarray | None = None  # (n_rows,) or None: sample weights
    # (n_rows,) or None: number of copies of each row; None if there are none.
    times: np.ndarray | None = None
    balanced: bool = True  # whether all classes have equal weight
    # Features more correlated than this with a better one are dropped.
    redundancy: float | None = None
    # Largest overall number of features of a model that asks for them one at a time.
    max_features: int | None = None
    # (n_features,): features that no model may use; none by default.
    excluded: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    # (n_rows,) or None: when each row was measured: places in the order of time.
    dates: np.ndarray | None = None
    # Where methods that can use a device train, by a name of torch; None: on the processor.
    device: str | None = None
    # n_rows, n_features: number of rows, and of features that can be counted.
    n_rows: int = field(init=False)
    n_features: int = field(init=False)

    def __post_init__(self):
        if not self.excluded.size:
            object.__setattr__(self, "excluded", np.zeros(self.kept.size, dtype=bool))
        n_features = int(np.count_nonzero(~self.kept & ~self.excluded))
        object.__setattr__(self, "n_rows", self.codes.size)
        object.__setattr__(self, "n_features", n_features)

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Share of each class among the rows, by their weights; copies of a row count once."""
        weights = self.weights
        if self.times is not None:
            weights = (1.0 if weights is None else weights) / self.times
        return _shares(self.codes, weights, self.classes.size)

    @property
    def priors(self) -> NDArray[np.float64]:
        """Class frequencies that probabilities stand for: equal ones if classes are balanced."""
        n_classes = self.classes.size
        if self.balanced:
            return np.full(n_classes, 1 / n_classes)
        return _shares(self.codes, self.weights, n_classes)  # as the rows are trained on

    def digest(self) -> str:
        """Hash of everything that the outcomes of tasks depend on, apart from the options."""
        hasher = hashlib.blake2b(digest_size=16)
        matrix = self.encoded
        is_dense = not is_sparse(matrix)
        parts = [matrix] if is_dense else [matrix.data, matrix.indices, matrix.indptr]
        parts += [self.codes, self.feature_of, self.kept, self.costs]
        parts += [self.groups, self.batches, self.weights, self.dates]
        for part in parts:
            if part is not None:
                hasher.update(str(part.shape).encode())
                hasher.update(np.ascontiguousarray(part).data)
        hasher.update(json.dumps([self.names, self.classes.tolist()]).encode())
        return hasher.hexdigest()

    def train_part(
        self, rows: NDArray, codes: NDArray, seed: int, shared: dict[str, Any] | None = None
    ) -> Part:
        """Prepare some rows for training.

        `rows`: training rows. `codes` (n_rows,): class of each row; shuffled in a permutation.
        `shared`: of the same part, if it was prepared before.
        """
        encoded = self.encoded if rows.size == self.n_rows else self.encoded[rows]
        weights = None if self.weights is None else self.weights[rows]
        preparation = self.preparation.learn(encoded, self.missing, weights)
        known, inner = np.unique(codes[rows], return_inverse=True)
        X = preparation.finish(encoded)
        columns = np.flatnonzero(~self.excluded[self.feature_of] & ~preparation.unused)
        X = X if columns.size == X.shape[1] else X[:, columns]
        if self.redundancy is not None:
            left = drop_redundant(
                X, inner, self.feature_of[columns], self.kept, self.redundancy, weights
            )
            X, columns = X if left.size == X.shape[1] else X[:, left], columns[left]
        return Part(
            problem=self,
            preparation=preparation,
            rows=rows,
            columns=columns,
            X=X,
            codes=inner.astype(np.int64),
            known=known,
            weights=weights,
            seed=seed,
            groups=None if self.groups is None else self.groups[rows],
            shared={} if shared is None else shared,
        )


@dataclass(frozen=True)
class Part:
    """Training rows, and what was learned from them before any method."""

    problem: Problem
    preparation: Preparation  # learned from these rows
    rows: np.ndarray  # (n_train,): rows of the problem
    columns: np.ndarray  # columns of the problem that were not dropped, ascending
    X: Matrix  # (n_train, len(columns)): the data, imputed
    codes: np.ndarray  # (n_train,): index into `known` for each row
    known: np.ndarray  # classes that occur in these rows
    weights: np.ndarray | None  # (n_train,) or None: sample weights
    seed: int
    groups: np.ndarray | None = None  # (n_train,) or None: sample groups
    # What methods have found out about these rows, by name. It may be kept longer than the rows.
    shared: dict[str, Any] = field(default_factory=dict, repr=False)
    # (len(columns),): counted feature of each remaining column.
    feature_of: np.ndarray = field(init=False)
    present: np.ndarray = field(init=False)  # remaining counted features, ascending
    # Value of the estimators' parameter `class_weight`.
    class_weight: str | None = field(init=False)

    def __post_init__(self):
        feature_of = self.problem.feature_of[self.columns]
        object.__setattr__(self, "feature_of", feature_of)
        object.__setattr__(self, "present", np.unique(feature_of))
        object.__setattr__(self, "class_weight", "balanced" if self.problem.balanced else None)

    def test_rows(self, rows: NDArray) -> tuple[Matrix, Matrix]:
        """Imputed rows, and rows with missing values, of the remaining columns."""
        encoded = self.problem.encoded[rows]
        X = self._present(self.preparation.finish(encoded))
        if not self._may_miss:
            return X, X
        return X, self._present(self.preparation.finish(encoded, impute=False))

    @cached_property
    def with_missing(self) -> Matrix:
        """The data with NaN where a value is missing; few methods need them."""
        return self.test_rows(self.rows)[1] if self._may_miss else self.X

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` returns, which methods with the same question share."""
        if name not in self.shared:
            self.shared[name] = make()
        return self.shared[name]

    @property
    def keys(self) -> NDArray[np.uint64]:
        """Keys of the rows, from which folds are made (`tamis.panel.forward.content_folds`)."""
        weights = np.ones(self.codes.size) if self.weights is None else self.weights
        return self.once("keys", lambda: keys_of(self.X, weights))

    def sample(self, most: int) -> NDArray[np.intp]:
        """About `most` of the rows at most, whole groups, drawn by what the rows hold.

        All rows if a class would have fewer than a hundred rows.
        """
        every = np.arange(self.codes.size)
        if every.size <= most:
            return every
        used = every if self.weights is None else np.flatnonzero(self.weights)
        groups = None if self.groups is None else self.groups[used]
        codes, keys = self.codes[used], self.keys[used]
        rows = used[sample_rows(self.X, codes, most, groups, self.seed, keys)]
        fewest = np.bincount(self.codes[rows], minlength=self.known.size).min()
        return rows if fewest >= _FEWEST_SAMPLED else every

    @property
    def _may_miss(self):
        """Whether values are missing, or rare categories that count as missing."""
        pools = self.preparation.pools.values()
        return bool(self.problem.missing.size) or any(p.rare and not p.is_other for p in pools)

    def _present(self, X):
        """The remaining columns."""
        return X if self.columns.size == X.shape[1] else X[:, self.columns]

    def columns_of(self, features: NDArray) -> NDArray:
        """Remaining columns of some counted features, ascending."""
        wanted = np.zeros(len(self.problem.names), dtype=bool)
        wanted[features] = True
        return np.flatnonzero(wanted[self.feature_of])

    @property
    def gains(self) -> NDArray:
        """Gains of sparse centers, of all counted features."""
        return self.once("gains", self._gains)

    def _gains(self):
        gains = SparseCenterClassifier(None).fit(self.X, self.codes, decided(self.weights)).gains_
        return np.bincount(self.feature_of, weights=gains, minlength=len(self.problem.names))

    def best_features(self, k: int) -> NDArray:
        """The kept features and the k others of largest gain, ascending; none without gain.

        If no feature has a gain and none is kept, the first k: a model needs at least one.
        """
        kept = self.problem.kept
        free = np.where(kept, 0.0, self.gains)
        order = np.argsort(-free, kind="stable")[: min(k, np.count_nonzero(free > 0))]
        if not order.size and not kept.any():
            order = self.present[:k]
        return np.sort(np.concatenate([np.flatnonzero(kept), order]))


def _shares(codes, weights, n_classes):
    counts = np.bincount(codes, weights, n_classes)
    return counts / counts.sum()
