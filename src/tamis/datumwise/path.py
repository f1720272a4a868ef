"""DatumWisePath: the policies of many cost weights, from few questions to many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tamis.datumwise.costs import mean_paid, paid
from tamis.datumwise.process import Process, Run, find_status
from tamis.paths.path import Path, Usage

if TYPE_CHECKING:
    from tamis.datumwise.classifier import DatumWiseClassifier

__all__ = ["DatumWisePath", "Habits"]

# Number of rows that go through all policies together.
_ROWS = 4096


class Habits:
    """What a policy does with its training rows.

    Attributes
    ----------
    asked : ndarray of shape (n_blocks,)
        Share of the rows that are asked for each feature, or feature group.
    mean_n_features, mean_cost : float
        Mean number of features asked for, and mean cost.
    risk : float
        Mean loss plus cost weight times mean cost.
    """

    def __init__(self, run: Run, process: Process, codes: NDArray):
        is_asked = run.order >= 0
        counts = np.bincount(run.order[is_asked], minlength=process.n_blocks)
        wrong = run.decisions.argmax(axis=1) != codes
        loss = float(np.where(wrong, process.class_losses[codes], 0.0).mean())
        self.asked = counts / codes.size
        self.mean_n_features = float(is_asked.sum(axis=1).mean())
        self.mean_cost = float(mean_paid(run.order, process.costs))
        self.risk = loss + process.cost_weight * self.mean_cost


class DatumWisePath(Path):
    """Policies that were trained on the same rows, one per cost weight.

    Attributes
    ----------
    levels : ndarray of shape (n_levels,)
        Cost weights, from the largest (few questions) to the smallest.
    classes : ndarray of shape (n_classes,)
        Classes of the training rows.
    n_features : ndarray of int of shape (n_levels,)
        Features that at least one training row is asked for; a feature group counts as one.
    policies : list of ForestPolicy or LinearPolicy
        One policy per level.
    habits : list of Habits
        What each of them does with the training rows.
    uncounted : ndarray of bool of shape (n_groups,) or None
        Features, or feature groups, that `usage` does not count.
    """

    uncounted: NDArray | None = None

    def __init__(
        self,
        policies: Sequence,
        process: Process,
        levels: Sequence[float],
        classes: NDArray,
        X: NDArray,
        codes: NDArray,
        make_model: Callable,
    ):
        self.policies = list(policies)
        self.levels, self.classes = np.array(levels, dtype=np.float64), classes
        self._processes = [replace(process, cost_weight=weight) for weight in levels]
        self._make_model = make_model
        status = find_status(process.block_of, process.n_blocks, X)
        runs = type(self.policies[0]).run_all(self.policies, X, status)
        self.habits = [
            Habits(run, own, codes) for run, own in zip(runs, self._processes, strict=True)
        ]
        self.n_features = np.array([np.count_nonzero(habit.asked) for habit in self.habits])

    def features(self, level: int) -> NDArray[np.intp]:
        """Columns that at least one training row is asked for, ascending."""
        return np.flatnonzero(self.importances(level))

    def importances(self, level: int) -> NDArray[np.float64]:
        """Share of the training rows that are asked for each column."""
        return self.habits[level].asked[self._processes[level].block_of]

    def process(self, level: int) -> Process:
        """Costs, budgets and losses, with the cost weight of one level."""
        return self._processes[level]

    def model(self, level: int) -> DatumWiseClassifier:
        """The fitted classifier at one place of the path."""
        model = self._make_model(float(self.levels[level]))
        return model._take(self, level)

    def decisions(self, X: NDArray, places: slice = slice(None)) -> NDArray[np.float64]:
        """Log-probabilities, up to a constant per row: (n_levels, n_rows, n_classes)."""
        return self.decisions_and_usage(X, places)[0]

    def usage(self, X: NDArray, places: slice = slice(None)) -> Usage:
        """Number of features that each row is asked for, and their cost."""
        return self.labels_and_usage(X, places)[1]

    def labels(self, X: NDArray, places: slice = slice(None)) -> NDArray[np.intp]:
        """Class indices, of shape (n_levels, n_rows); ties go to the first class."""
        return self.labels_and_usage(X, places)[0]

    def decisions_and_usage(
        self, X: NDArray, places: slice = slice(None)
    ) -> tuple[NDArray[np.float64], Usage]:
        """`decisions` and `usage` of some levels; each policy runs once."""
        return self._collect(X, places, (len(self.classes),), lambda run: run.decisions)

    def labels_and_usage(
        self, X: NDArray, places: slice = slice(None)
    ) -> tuple[NDArray[np.intp], Usage]:
        """`labels` and `usage` of some levels; each policy runs once."""
        labels, usage = self._collect(X, places, (), lambda run: run.decisions.argmax(axis=1))
        return labels.astype(np.intp), usage

    def _collect(self, X, places, shape, read):
        """The results of `read` for each run, as an array, and the usage."""
        policies, processes = self.policies[places], self._processes[places]
        values = np.empty((len(policies), X.shape[0], *shape))
        n_features = np.empty((len(policies), X.shape[0]), dtype=np.int64)
        cost = np.empty((len(policies), X.shape[0]))
        for rows, level, run in self._runs(policies, X):
            values[level, rows] = read(run)
            is_counted = run.order >= 0
            if self.uncounted is not None:
                is_counted &= ~self.uncounted[run.order]
            n_features[level, rows] = is_counted.sum(axis=1)
            cost[level, rows] = paid(run.order, processes[level].costs)
        return values, Usage(n_features, cost)

    def _runs(self, policies, X) -> Iterator[tuple[slice, int, Run]]:
        """Run all policies on chunks of rows."""
        if not policies:
            return
        process = self._processes[0]
        for start in range(0, X.shape[0], _ROWS):
            rows = slice(start, start + _ROWS)
            status = find_status(process.block_of, process.n_blocks, X[rows])
            for level, run in enumerate(type(policies[0]).run_all(policies, X[rows], status)):
                yield rows, level, run
