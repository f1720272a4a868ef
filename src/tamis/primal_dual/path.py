"""PrimalDualPath: the models of many radii, from the sparsest to the fullest."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamis._array import Matrix, center_columns
from tamis.paths.path import Path
from tamis.primal_dual.prediction import decide, decide_linear, distances

if TYPE_CHECKING:
    from tamis.primal_dual.classifier import PrimalDualClassifier


class PrimalDualPath(Path):
    """The path that `PrimalDualClassifier.fit_path` returns.

    Attributes
    ----------
    levels : ndarray of shape (n_levels,)
        Radii, ascending; numbers of features after `at_most`.
    classes : ndarray of shape (n_classes,)
        Classes of the training rows.
    n_features : ndarray of int of shape (n_levels,)
        Number of features used; after `at_most`, as counted there.
    gaps, objectives : ndarray of shape (n_levels,)
        Relative duality gaps and objectives.
    """

    def __init__(
        self,
        template: PrimalDualClassifier,
        records: Sequence[dict[str, Any]],
        levels: ArrayLike,
        classes: NDArray,
        retrain: Callable | None = None,
        fit_head: Callable | None = None,
    ) -> None:
        self._template = template
        self._records = list(records)
        self._retrain = retrain
        self._fit_head = fit_head
        self._models: dict = {}
        self.levels = np.asarray(levels)
        self.classes = classes
        self.n_features = np.array([record["selected"].size for record in self._records])

    @property
    def gaps(self) -> NDArray[np.float64]:
        """Relative duality gap of each level."""
        return np.array([record["relative_gap_"] for record in self._records])

    @property
    def objectives(self) -> NDArray[np.float64]:
        """Objective of each level."""
        return np.array([record["objective_"] for record in self._records])

    def features(self, level: int) -> NDArray[np.intp]:
        """Columns that the model at one place of the path uses, ascending."""
        return self._records[level]["selected"]

    def decisions(self, X: Matrix, places: slice = slice(None)) -> NDArray[np.float64]:
        """Decisions of some levels, from one product with the union of their features.

        Parameters
        ----------
        X : {ndarray, sparse array} of shape (n_rows, n_columns)
            Validated samples.
        places : slice
            Places of the levels; all of them by default.

        Returns
        -------
        decisions : ndarray of shape (n_levels, n_rows, n_classes)
        """
        records = [self._with_head(record) for record in self._records[places]]
        fitted, n_classes = self._template, len(self.classes)
        union = np.unique(
            np.concatenate([np.zeros(0, np.intp), *(r["selected"] for r in records)])
        )
        stacked = np.zeros((union.size, len(records) * n_classes))
        for place, record in enumerate(records):
            rows = np.searchsorted(union, record["selected"])
            columns = slice(place * n_classes, (place + 1) * n_classes)
            inner = record["rows"] if record["head_coef"] is None else record["head_coef"].T
            stacked[rows, columns] = inner / fitted.scale_[record["selected"], None]
        P = center_columns(X, union, fitted.mean_[union], stacked)
        decisions = np.empty((len(records), X.shape[0], n_classes))
        for place, record in enumerate(records):
            one = P[:, place * n_classes : (place + 1) * n_classes]
            if record["head_coef"] is None:
                away = distances(one, record["centers_"], fitted._euclidean)
                decisions[place] = decide(away, fitted._euclidean, record["dispersion_"])
            else:
                decisions[place] = decide_linear(one, record["head_intercept"])
            decisions[place] /= record["temperature_"]
        return decisions

    def _with_head(self, record):
        """The record, with its head, which is fitted when it is needed first."""
        if "head_" not in record:
            record.update(self._fit_head(record["selected"]))
        return record

    def model(self, level: int) -> PrimalDualClassifier:
        """The fitted `PrimalDualClassifier` at one place of the path; nothing is trained again."""
        record = self._with_head(self._records[level])
        if id(record) not in self._models:
            one = copy.copy(self._template)
            one.radius = float(record["radius"])
            one._be(record)
            one.history_ = {
                "n_iter": np.array([one.n_iter_]),
                "objective": np.array([one.objective_]),
                "relative_gap": np.array([one.relative_gap_]),
                "n_features": np.array([record["size"]]),
                "seconds": np.array([0.0]),
            }
            self._models[id(record)] = one
        return self._models[id(record)]

    def at_most(
        self,
        counts: Sequence[int],
        feature_of: ArrayLike | None = None,
        kept: ArrayLike | None = None,
    ) -> PrimalDualPath:
        """The path by number of features: for each count, the fullest model within it.

        If even the sparsest model has more features than wanted, its features with the largest
        weights are trained again, alone.

        Parameters
        ----------
        counts : sequence of int
            Wanted numbers of features, ascending.
        feature_of : array-like of int of shape (n_columns,) or None
            Feature of each column, if several columns (the dummies of a category) are one feature;
            None if each column is a feature.
        kept : array-like of bool of shape (n_features,) or None
            Features that are always available and not counted.

        Returns
        -------
        path : PrimalDualPath
            With `counts` as levels.
        """
        n_columns = self._template.scale_.size
        feature_of = np.arange(n_columns) if feature_of is None else np.asarray(feature_of)
        n_features = int(feature_of.max(initial=-1)) + 1
        kept = np.zeros(n_features, dtype=bool) if kept is None else np.asarray(kept)
        records = [record for record in self._records if record["selected"].size]
        records = records or self._records
        sizes = np.array([_count(record, feature_of, kept) for record in records])
        chosen = []
        for count in counts:
            few = np.flatnonzero(sizes <= count)
            if few.size:
                chosen.append(records[few[-1]])
            else:
                chosen.append(self._heaviest(records[0], int(count), feature_of, kept))
        path = PrimalDualPath(
            self._template, chosen, counts, self.classes, self._retrain, self._fit_head
        )
        path.n_features = np.array([_count(record, feature_of, kept) for record in chosen])
        return path

    def _heaviest(self, record, count, feature_of, kept):
        """A model of the kept features and those with the largest weights in a record."""
        total = np.bincount(
            feature_of[record["selected"]],
            weights=np.abs(record["rows"]).sum(axis=1),
            minlength=kept.size,
        )
        total[kept] = 0.0
        heaviest = np.argsort(-total, kind="stable")[:count]
        wanted = kept.copy()
        wanted[heaviest[total[heaviest] > 0]] = True
        return self._retrain(np.flatnonzero(wanted[feature_of]))


def _count(record, feature_of, kept):
    """Number of counted features of a record."""
    used = np.zeros(kept.size, dtype=bool)
    used[feature_of[record["selected"]]] = True
    return int(np.count_nonzero(used & ~kept))
