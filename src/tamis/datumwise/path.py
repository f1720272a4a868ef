"""DatumWisePath: the policies of many cost weights, from few questions to many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamis._base import encode_labels, name_some, validate
from tamis.datumwise.calibration import CalibratedQuestions, calibrate_levels
from tamis.datumwise.costs import mean_paid, paid
from tamis.datumwise.process import Process, Run, find_status
from tamis.paths.calibration_rows import number_groups, one_row_per_group
from tamis.paths.fixed_sequence import make_limits
from tamis.paths.path import Path, Usage
from tamis.paths.seeds import as_seed

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

    def calibrate(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        max_error: float | None = None,
        max_misses: float | Mapping | None = None,
        confidence: float = 0.95,
        groups: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> CalibratedQuestions:
        """Find the model with the fewest questions whose errors are shown to be rare.

        Models are tested on calibration rows, from the smallest cost weight to the largest, until
        the first that fails.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Calibration rows, which trained and chose nothing; NaN means unavailable.
        y : array-like of shape (n_samples,)
            Their labels.
        max_error : float or None, default=None
            Largest error rate.
        max_misses : float, dict or None, default=None
            Largest miss rate of each class (share of its rows with another label), or of the
            classes that a dict names. With `max_error`, both hold.
        confidence : float, default=0.95
            Probability, at least, that the answer keeps these limits or is none.
        groups : array-like of shape (n_samples,), default=None
            Sample groups: one random row of each is counted.
        random_state : int, RandomState instance or None, default=None
            Seed of the rows of the sample groups.

        Returns
        -------
        calibrated : CalibratedQuestions
        """
        model = self.model(0)
        X, y = validate(model, X, y, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        unknown = np.setdiff1d(y, self.classes)
        if unknown.size:
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, which is not among the classes of the "
                f"training rows, {name_some(self.classes.tolist())}."
            )
        _, codes = encode_labels(y, self.classes)
        numbers = number_groups(groups, codes.size)
        rng = np.random.default_rng(as_seed(random_state))
        limits = make_limits(codes, self.classes, max_error, max_misses, numbers, rng)
        rows = one_row_per_group(np.arange(codes.size), numbers, rng)
        labels, usage = self.labels_and_usage(X)
        test, n_questions, cost = calibrate_levels(
            labels != codes, usage, limits, rows, confidence
        )
        model, cost_weight = None, None
        if test.chosen is not None:
            model = self.model(len(self) - 1 - test.chosen)
            cost_weight = model.cost_weight
        return CalibratedQuestions(
            model, cost_weight, n_questions, cost, self.levels[::-1].copy(), test
        )

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
