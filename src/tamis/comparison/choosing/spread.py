"""Scores of some rows, with intervals by a bootstrap of the rows.

Sample groups are drawn as a whole. If all rows are predicted correctly, they are so in every draw,
so an interval is never narrower than `cautious_interval` or `cautious_area`, where a sample group
counts as one row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamis.comparison.choosing.scores import (
    area_under_curve,
    cautious_area,
    cautious_interval,
    confusion,
    effective_sizes,
    score_confusion,
    within_range,
)
from tamis.paths.intervals import draw_rows, n_draws_for, wilson
from tamis.paths.seeds import make_generator

if TYPE_CHECKING:
    from tamis.comparison.problem.problem import Problem

__all__ = ["FEWEST_ROWS", "ScoredRows"]

# Fewer rows than this are not scored.
FEWEST_ROWS = 10


@dataclass(frozen=True)
class ScoredRows:
    """Rows with their true classes, of which predictions are scored."""

    codes: NDArray  # (n_rows,)
    n_classes: int
    scoring: str
    groups: NDArray | None = None  # (n_rows,) or None: rows that are drawn together
    weights: NDArray | None = None  # (n_rows,) or None: sample weights
    seed: int = 0

    @classmethod
    def of(cls, problem: Problem, scoring: str, seed: int) -> ScoredRows:
        """All rows of a problem."""
        n_classes = problem.classes.size
        return cls(problem.codes, n_classes, scoring, problem.groups, problem.weights, seed)

    def take(self, rows: NDArray) -> ScoredRows:
        """Some of the rows."""
        groups = None if self.groups is None else self.groups[rows]
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, codes=self.codes[rows], groups=groups, weights=weights)

    @property
    def sizes(self) -> NDArray[np.float64]:
        """Effective numbers of independent rows of each class."""
        return effective_sizes(self.codes, self.n_classes, self.groups, self.weights)

    def draws(self) -> Iterator[NDArray[np.float64]]:
        """Weights of the rows in bootstrap draws, in chunks of shape (n, n_rows)."""
        generator = make_generator(self.seed, "rows of a subgroup")
        n_rows = self.codes.size
        for drawn in draw_rows(generator, n_draws_for(n_rows), n_rows, self.groups):
            yield drawn if self.weights is None else drawn * self.weights

    def score(self, labels: NDArray, probabilities: NDArray) -> float:
        """Score of predictions."""
        weights = np.ones(self.codes.size) if self.weights is None else self.weights
        return float(self.scores(labels, probabilities, weights[None])[0])

    def scores(self, labels: NDArray, probabilities: NDArray, drawn: NDArray) -> NDArray:
        """Score of predictions under every weighting of the rows."""
        if self.scoring == "roc_auc":
            return area_under_curve(self.codes, probabilities, drawn, nothing=np.nan)
        counts = confusion(self.codes, labels, self.n_classes, drawn)
        return score_confusion(counts, self.scoring)

    def drawn_scores(self, labels: NDArray, probabilities: NDArray) -> NDArray[np.float64]:
        """Scores in all bootstrap draws."""
        return np.concatenate(
            [self.scores(labels, probabilities, drawn) for drawn in self.draws()]
        )

    def interval(self, labels: NDArray, probabilities: NDArray) -> list[float]:
        """95 % interval of the score of predictions."""
        low, high = np.nanpercentile(self.drawn_scores(labels, probabilities), [2.5, 97.5])
        if self.scoring == "roc_auc":
            least, most = cautious_area(self.score(labels, probabilities), self.sizes)
        else:
            counts = confusion(self.codes, labels, self.n_classes, self.weights)
            least, most = cautious_interval(counts, self.scoring, self.seed, self.sizes)
        limits = min(low, least), max(high, most)
        return [within_range(limit, self.scoring) for limit in limits]

    def describe(
        self,
        labels: NDArray,
        probabilities: NDArray,
        classes: NDArray,
        positive: int | None = None,
    ) -> dict[str, Any]:
        """Counts and score of predictions as plain values; no score for too few rows.

        `labels` (n_rows,). `probabilities` (n_rows, n_classes). `classes` (n_classes,): names of
        the classes. `positive`: class whose sensitivity and specificity are added; None: the
        second of two. Returns `described`: "rows", "classes" (rows of each), "score",
        "interval_95", and "not_scored": why there is no score, or None.
        """
        if self.weights is not None and (self.weights == 0).any():
            rows = np.flatnonzero(self.weights)
            return self.take(rows).describe(labels[rows], probabilities[rows], classes, positive)
        if positive is None and self.n_classes == 2:
            positive = 1
        counts = np.bincount(self.codes, minlength=self.n_classes)
        names = [str(label) for label in classes.tolist()]
        absent = [name for name, n in zip(names, counts.tolist(), strict=True) if not n]
        why = None
        if self.codes.size < FEWEST_ROWS:
            why = f"fewer than {FEWEST_ROWS} rows"
        elif absent:
            why = f"no row of class {absent[0]}"
        described: dict[str, Any] = {
            "rows": int(self.codes.size),
            "classes": dict(zip(names, counts.tolist(), strict=True)),
            "score": None if why else self.score(labels, probabilities),
            "interval_95": None if why else self.interval(labels, probabilities),
            "not_scored": why,
        }
        if positive is not None and not why:
            described["positive"] = names[positive]
            is_positive = self.codes == positive
            right = (labels == positive) == is_positive
            for name, some in (("sensitivity", is_positive), ("specificity", ~is_positive)):
                share, interval = self.rate(right, some)
                described[name] = {"share": share, "interval_95": interval}
        return described

    def rate(self, right: NDArray, some: NDArray) -> tuple[float | None, list[float] | None]:
        """Share of some rows that are right, and Wilson's 95 % interval of it.

        Its number of rows is the effective one: a sample group counts as one row.

        `right`, `some` (n_rows,). Returns `share`: None if there is no such row; `interval`.
        """
        rows = self.take(np.flatnonzero(some))
        size = rows.size_of_all
        if not size:
            return None, None
        share = float(np.average(right[some], weights=rows.weights))
        return share, wilson(share * size, size)

    @property
    def size_of_all(self) -> float:
        """Effective number of independent rows, whatever their class."""
        nothing = np.zeros(self.codes.size, dtype=np.intp)
        return float(effective_sizes(nothing, 1, self.groups, self.weights)[0])
