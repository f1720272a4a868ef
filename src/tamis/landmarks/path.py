"""The paths of the landmarks: over the number of landmarks, and over that of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamis._array import Matrix, is_sparse
from tamis._base import order_by_score
from tamis.landmarks._parameters import as_rows
from tamis.landmarks.ensemble import ensemble_shares
from tamis.landmarks.heads import decide, shares
from tamis.landmarks.kernels import apply_kernel
from tamis.landmarks.model import PreparedRows, landmark_distances
from tamis.landmarks.plan import Ranking
from tamis.paths.path import Path

if TYPE_CHECKING:
    from tamis.landmarks.classifier import LandmarkClassifier
    from tamis.landmarks.search import LandmarkSearchCV


def log_shares(probabilities: NDArray) -> NDArray[np.float64]:
    """Decisions from probabilities: their logarithms, -inf for a class without votes."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


class LandmarkPath(Path):
    """Classifiers that differ only in the number of landmarks.

    `levels` (n_levels,). `classes` (n_classes,). `build`: ``build(level, record)`` makes the
    fitted classifier of a level.
    """

    def __init__(
        self,
        levels: NDArray,
        models: list[dict],
        classes: NDArray,
        n_columns: int,
        build: Callable,
    ) -> None:
        self.levels, self.classes = levels, classes
        self.n_features = np.full(levels.size, n_columns)
        self._models, self._build = models, build

    def features(self, level: int) -> NDArray[np.intp]:
        """All columns."""
        return np.arange(self.n_features[level])

    def decisions(self, X: Matrix, places: slice = slice(None)) -> NDArray[np.float64]:
        """Log-probabilities of some levels; see `tamis.paths.path.Path`.

        The levels share the scaled rows and, if the landmarks of one level start with those of
        another, the distances.
        """
        models = self._models[places]
        X = as_rows(X, is_new=True)
        prepared = PreparedRows(X)
        out = np.empty((len(models), X.shape[0], len(self.classes)))
        points: Any = None
        D: Any = None
        for place in range(len(models) - 1, -1, -1):
            record, head = models[place]["map"], models[place]["head"]
            k = record["sigma"].size
            if points is None or not np.array_equal(points[:k], record["points"]):
                points, D = record["points"], landmark_distances(record, X, prepared)
            some = np.ascontiguousarray(D[:, :k])
            Z = apply_kernel(record["kernel"], some, record["sigma"])
            decisions = decide(head, Z)
            is_vote = head["classifier"] == "knn"
            out[place] = log_shares(shares(head, decisions)) if is_vote else decisions
        return out

    def model(self, level: int) -> LandmarkClassifier:
        """The fitted `LandmarkClassifier` of one level."""
        return self._build(int(self.levels[level]), self._models[level])


@dataclass(frozen=True)
class SearchLevel:
    """The ensemble that was trained on some columns."""

    columns: NDArray[np.intp]  # columns that it uses, ascending
    members: list[dict]
    ranking: Ranking


class LandmarkSearchPath(Path):
    """Ensembles of landmark classifiers on increasing numbers of features.

    `levels` (n_levels,): numbers of features; `classes` (n_classes,); `build`: ``build(search,
    narrow)`` makes the fitted classifier of a level.
    """

    def __init__(
        self,
        levels: NDArray,
        searches: list[SearchLevel],
        classes: NDArray,
        vote: str,
        build: Callable,
    ) -> None:
        self.levels = self.n_features = levels
        self.classes = classes
        self._searches, self._vote, self._build = searches, vote, build

    def features(self, level: int) -> NDArray[np.intp]:
        """Columns that the ensemble of one level uses, ascending."""
        return self._searches[level].columns

    def decisions(self, X: Matrix, places: slice = slice(None)) -> NDArray[np.float64]:
        """Log-probabilities of some levels; see `tamis.paths.path.Path`."""
        X = as_rows(X, is_new=True)
        return np.stack(
            [
                log_shares(ensemble_shares(one.members, take_columns(X, one.columns), self._vote))
                for one in self._searches[places]
            ]
        )

    def model(self, level: int) -> LandmarkSearchCV:
        """The fitted `LandmarkSearchCV` of one level, for samples with all columns."""
        return self._build(self._searches[level], False)

    def narrow_model(self, level: int) -> LandmarkSearchCV:
        """The same, for samples that have only the columns of this level.

        It has no `feature_importances_`, which take longer than building it.
        """
        return self._build(self._searches[level], True)


def take_columns(X: Matrix, columns: NDArray) -> Matrix:
    """Some columns in C order, or as a CSR array."""
    if columns.size == X.shape[1]:
        return X
    return X[:, columns] if is_sparse(X) else np.ascontiguousarray(X[:, columns])


def check_levels(levels: ArrayLike, most: int, name: str) -> NDArray[np.int64]:
    """Distinct counts from 1 to `most`, ascending; larger ones mean all."""
    counts = np.asarray(levels)
    is_list = counts.ndim == 1 and counts.size and counts.dtype.kind in "iu"
    if not is_list or counts.min() < 1:
        raise ValueError(f"levels must be a list of {name} >= 1, or None, got {levels!r}.")
    return np.unique(np.minimum(counts, most)).astype(np.int64)


def double_up_to(most: int, first: int = 1) -> NDArray[np.int64]:
    """first, twice that, ... and `most`."""
    counts = [min(first, most)]
    while counts[-1] < most:
        counts.append(min(2 * counts[-1], most))
    return np.array(counts, dtype=np.int64)


def check_feature_order(feature_order: ArrayLike, n_features: int) -> NDArray[np.intp]:
    """Check distinct columns of X, best first; absent columns are never used."""
    order = np.asarray(feature_order)
    is_list = order.ndim == 1 and order.size and order.dtype.kind in "iu"
    if not is_list or order.min() < 0 or order.max() >= n_features:
        raise ValueError(
            f"feature_order must list columns of X, from 0 to {n_features - 1} and best first, "
            f"got {feature_order!r}."
        )
    if np.unique(order).size < order.size:
        raise ValueError("feature_order has a column more than once.")
    return order.astype(np.intp)


def order_features(X: Matrix, codes: NDArray) -> NDArray[np.intp]:
    """Columns by the share of their variance that lies between the classes, largest first."""
    present = np.unique(codes)
    if not is_sparse(X):
        X = X - X.mean(axis=0)
        total = np.einsum("ij,ij->j", X, X)
    else:
        mean = np.asarray(X.mean(axis=0)).reshape(-1)
        total = np.asarray(X.multiply(X).sum(axis=0)).reshape(-1) - X.shape[0] * mean**2
    overall = np.asarray(X.mean(axis=0)).reshape(-1)
    between = np.zeros(X.shape[1])
    for c in present:
        rows = np.flatnonzero(codes == c)
        mean = np.asarray(X[rows].mean(axis=0)).reshape(-1)
        between += rows.size * (mean - overall) ** 2
    varies = total > 0
    shares = np.divide(between, total, out=np.zeros_like(total), where=varies)
    return order_by_score(shares)
