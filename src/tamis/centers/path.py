"""The path of the sparse centers: the same model with all numbers of features.

Training ranks all features, and the model with k features uses the first k of them. All levels
therefore share the statistics, the order and, in one pass over the rows, the sums of the
decisions (`tamis.centers.terms`). Levels are numbers of features, or of feature groups.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamis._array import Matrix
from tamis.centers.model import CenterModel
from tamis.centers.terms import path_decisions, path_labels
from tamis.paths.path import Path, path_grid
from tamis.paths.scoring import is_counted, score_decisions

if TYPE_CHECKING:
    from tamis.centers._fitted import FittedCenters


# Number of labels, or decisions, held in memory at a time.
_BLOCK = 4_000_000


class CentersPath(Path):
    """Sparse center classifiers with different numbers of features, trained once.

    `levels` (n_levels,), `classes` (n_classes,), `n_features` (n_levels,).
    """

    def __init__(
        self, model: CenterModel, levels: NDArray, classes: NDArray, template: FittedCenters
    ) -> None:
        self.levels = levels
        self.classes = classes
        self._model = model
        self._template = template
        self._terms, self._stops, self.n_features = model.along(levels)

    def features(self, level: int) -> NDArray[np.intp]:
        """Columns that the model at one place of the path uses, ascending."""
        if self._model.whitening is not None:
            return np.arange(self._model.scale.size)
        return self._model.select(int(self.levels[level]))

    def decisions(self, X: Matrix, places: slice = slice(None)) -> NDArray[np.float64]:
        """Log-probabilities, up to a constant per row, of some levels in one pass.

        `X` (n_rows, n_columns). Returns `decisions` (n_levels, n_rows, n_classes).
        """
        parts = [
            path_decisions(rows, self._terms, self._stops[places]) for rows in self._row_blocks(X)
        ]
        decisions = parts[0] if len(parts) == 1 else np.concatenate(parts)
        decisions /= self._model.temperature
        return np.moveaxis(decisions, 1, 0)

    def labels(self, X: Matrix, places: slice = slice(None)) -> NDArray:
        """Class indices of some levels in one pass; ties go to the first class.

        `X` (n_rows, n_columns). Returns `labels` (n_levels, n_rows).
        """
        parts = [
            path_labels(rows, self._terms, self._stops[places]) for rows in self._row_blocks(X)
        ]
        return (parts[0] if len(parts) == 1 else np.concatenate(parts)).T

    def model(self, level: int) -> FittedCenters:
        """The fitted classifier at one place of the path; nothing is retrained."""
        k = int(self.levels[level])
        classifier = copy.copy(self._template)
        if hasattr(classifier, "n_features_to_select"):
            classifier.n_features_to_select = max(k, 1)
        classifier.classes_ = self.classes
        classifier._keep(self._model, k)
        return classifier

    def score(
        self,
        X: Matrix,
        codes: NDArray,
        every: NDArray,
        known: NDArray,
        scoring: str | Callable,
        sample_weight: NDArray | None = None,
    ) -> NDArray[np.float64]:
        """Scores of all levels, in one pass.

        `X` (n_rows, n_columns), `codes` (n_rows,), `known` (n_classes,), `sample_weight` (n_rows,)
        or None. Returns `scores` (n_levels,).
        """
        if is_counted(scoring):
            return self._score_labels(X, codes, known, scoring, sample_weight)
        scores, y = np.empty(len(self)), every[codes]
        size = max(1, _BLOCK // max(1, X.shape[0] * len(every)))
        for start in range(0, len(self), size):
            some = slice(start, start + size)
            scores[some] = [
                score_decisions(scoring, decisions, every, known, X, y, sample_weight)
                for decisions in self.decisions(X, some)
            ]
        return scores

    def _score_labels(self, X, codes, known, scoring, weights):
        """Accuracy or balanced accuracy of each level, in chunks of rows of bounded size."""
        n_classes = max(codes.max(initial=0), known.max()) + 1
        place = np.full(n_classes, -1)
        place[known] = np.arange(known.size)
        truth = place[codes]
        hits = np.zeros((n_classes, len(self)))
        size = max(1, _BLOCK // max(1, len(self)))
        for start in range(0, codes.size, size):
            rows = slice(start, start + size)
            _add_hits(self.labels(X[rows]) == truth[rows], codes[rows], weights, rows, hits)
        total = np.bincount(codes, weights=weights, minlength=n_classes)
        if scoring == "accuracy":
            return hits.sum(axis=0) / total.sum()
        present = total > 0
        return (hits[present] / total[present, None]).mean(axis=0)

    def _row_blocks(self, X):
        """Rows as the decisions need them; with a covariance a few at a time, whitened."""
        return (self._model.transform(X[rows]) for rows in self._model.row_chunks(X))


def _add_hits(right, codes, weights, rows, hits):
    """Add the weight of the rows of each true class that each level labels correctly."""
    n_levels = hits.shape[1]
    if weights is None:
        for c in np.unique(codes):
            hits[c] += np.count_nonzero(right[:, codes == c], axis=1)
        return
    place = codes[:, None] * n_levels + np.arange(n_levels)
    mass = weights[rows][:, None] * right.T
    # The hits so far come first, so that sums do not depend on the chunks.
    place = np.concatenate([np.arange(hits.size), place.ravel()])
    hits[:] = np.bincount(place, np.concatenate([hits.ravel(), mass.ravel()])).reshape(hits.shape)


def check_levels(
    levels: ArrayLike | int | None, n_choices: int, *, many: bool
) -> NDArray[np.int64]:
    """Check the levels of a path: distinct numbers of features, ascending.

    `many`: for None: True for all numbers of features, False for a few hundred of them. Returns
    `levels` (n_levels,): the single level 0 if every feature is kept.
    """
    chosen = None if levels is None else np.asarray(levels)
    if chosen is not None and (
        chosen.ndim > 1 or chosen.dtype.kind not in "iu" or chosen.size == 0 or chosen.min() < 1
    ):
        raise ValueError(
            f"levels must be a list of integers >= 1, one integer >= 1, or None, got {levels!r}."
        )
    if n_choices == 0:
        return np.zeros(1, dtype=np.int64)
    if chosen is None:
        return np.arange(1, n_choices + 1) if many else path_grid(n_choices)
    if chosen.ndim == 0:
        chosen = np.rint(np.geomspace(1, n_choices, min(int(chosen), n_choices)))
    return np.unique(np.minimum(chosen, n_choices).astype(np.int64))
