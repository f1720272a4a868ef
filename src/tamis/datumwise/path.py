"""DatumWisePath: the policies of many cost weights, from few questions to many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamis._base import encode_labels, name_some, validate
from tamis.datumwise.calibration import CalibratedQuestions, Estimate, calibrate_levels
from tamis.datumwise.costs import mean_paid, paid
from tamis.datumwise.process import Process, Run, find_status
from tamis.paths.calibration_rows import number_groups, one_row_per_group
from tamis.paths.fixed_sequence import SequenceTest, make_limits
from tamis.paths.path import Path, Usage
from tamis.paths.seeds import as_seed

if TYPE_CHECKING:
    from tamis.datumwise.classifier import DatumWiseClassifier

__all__ = ["DatumWisePath", "Habits", "calibrate_family", "collect", "fewest_questions"]

# Number of rows that go through all policies together.
_ROWS = 4096


class Habits:
    """What a policy does with its training rows.

    `asked` (n_blocks,): share of the rows that are asked for each feature, or feature group;
    `mean_n_features`, `mean_cost`: mean number of features asked for, and mean cost; `risk`: mean
    loss plus cost weight times mean cost.
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
        runs: Iterable[Run],
        process: Process,
        levels: Sequence[float],
        classes: NDArray,
        codes: NDArray,
        make_model: Callable,
    ):
        self.policies = list(policies)
        self.levels, self.classes = np.array(levels, dtype=np.float64), classes
        self._processes = [replace(process, cost_weight=weight) for weight in levels]
        self._make_model = make_model
        self.habits = [
            Habits(run, own, codes) for run, own in zip(runs, self._processes, strict=True)
        ]
        self.n_features = np.array([np.count_nonzero(habit.asked) for habit in self.habits])

    def features(self, level: int) -> NDArray[np.intp]:
        """Columns that at least one training row is asked for, ascending."""
        return np.flatnonzero(self.importances(level))

    def required(self, level: int) -> NDArray[np.intp]:
        """Columns that some row can be asked for, ascending.

        They are more than those of `features`: a policy is sure of the rows that trained it, so
        other rows are asked for more; and where a value is missing, another is asked for.
        """
        block_of = self._processes[level].block_of
        return np.flatnonzero(np.isin(block_of, self.policies[level].reachable))

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

        Models are tested on a conformal calibration set, from the smallest cost weight to the
        largest, until the first that fails.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Conformal calibration set: rows that trained and chose nothing; NaN means unavailable.
        y : array-like of shape (n_samples,)
            Their labels.
        max_error : float or None, default=None
            Largest error rate.
        max_misses : float, dict or None, default=None
            Largest false-negative rate of each class (the proportion of its rows with another
            label), or of the classes that a dict names. With `max_error`, both hold.
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
        test, n_questions, cost = fewest_questions(
            self.model(0),
            self.labels_and_usage,
            X,
            y,
            max_error=max_error,
            max_misses=max_misses,
            confidence=confidence,
            groups=groups,
            random_state=random_state,
        )
        model = None if test.chosen is None else self.model(len(self) - 1 - test.chosen)
        cost_weight = None if model is None else model.cost_weight
        levels = self.levels[::-1].copy()
        return CalibratedQuestions(model, cost_weight, n_questions, cost, levels, test)

    def _collect(self, X, places, shape, read):
        """The results of `read` for each run, as an array, and the usage."""
        policies, processes = self.policies[places], self._processes[places]
        return collect(policies, processes, X, shape, read, self.uncounted)


def collect(
    policies: Sequence,
    processes: Sequence[Process],
    X: NDArray,
    shape: tuple[int, ...],
    read: Callable[[Run], NDArray],
    uncounted: NDArray | None = None,
) -> tuple[NDArray, Usage]:
    """Run the policies of one path on the same rows.

    `processes`: of each policy; `X` (n_rows, n_features); `shape`: shape of what `read` returns
    for a row; `read`: what to keep of a run; `uncounted`: blocks that are not counted as
    questions. Returns `values` (n_policies, n_rows, *shape); `usage`.
    """
    values = np.empty((len(policies), X.shape[0], *shape))
    n_features = np.empty((len(policies), X.shape[0]), dtype=np.int64)
    cost = np.empty((len(policies), X.shape[0]))
    for rows, level, run in _runs(policies, processes, X):
        values[level, rows] = read(run)
        is_counted = run.order >= 0
        if uncounted is not None:
            is_counted &= ~uncounted[run.order]
        n_features[level, rows] = is_counted.sum(axis=1)
        cost[level, rows] = paid(run.order, processes[level].costs)
    return values, Usage(n_features, cost)


def _runs(policies, processes, X) -> Iterator[tuple[slice, int, Run]]:
    """Run all policies on chunks of rows."""
    if not policies:
        return
    process = processes[0]
    for start in range(0, X.shape[0], _ROWS):
        rows = slice(start, start + _ROWS)
        status = find_status(process.block_of, process.n_blocks, X[rows])
        for level, run in enumerate(type(policies[0]).run_all(policies, X[rows], status)):
            yield rows, level, run


def fewest_questions(
    model: Any,
    answer: Callable[[NDArray], tuple[NDArray[np.intp], Usage]],
    X: ArrayLike,
    y: ArrayLike,
    *,
    max_error: float | None,
    max_misses: float | Mapping | None,
    confidence: float,
    groups: ArrayLike | None,
    random_state: int | np.random.RandomState | None,
) -> tuple[SequenceTest, Estimate | None, Estimate | None]:
    """Test models on calibration rows, from many questions to few.

    `model`: any of the models, which knows the features and classes; `answer`: class indices and
    usage of checked rows, for all models from few questions to many; `X`, `y`, `max_error`,
    `max_misses`, `confidence`, `groups`, `random_state`: as in `DatumWisePath.calibrate`. Returns
    `test`, `n_questions`, `cost`: as in `calibrate_levels`.
    """
    X, y = validate(model, X, y, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
    classes = model.classes_
    unknown = np.setdiff1d(y, classes)
    if unknown.size:
        raise ValueError(
            f"y has the label {unknown.tolist()[0]!r}, which is not among the classes of the "
            f"training rows, {name_some(classes.tolist())}."
        )
    _, codes = encode_labels(y, classes)
    numbers = number_groups(groups, codes.size)
    rng = np.random.default_rng(as_seed(random_state))
    limits = make_limits(codes, classes, max_error, max_misses, numbers, rng)
    rows = one_row_per_group(np.arange(codes.size), numbers, rng)
    labels, usage = answer(X)
    return calibrate_levels(labels != codes, usage, limits, rows, confidence)


def calibrate_family(
    paths: Sequence[DatumWisePath],
    budgets: Sequence[int | None],
    X: ArrayLike,
    y: ArrayLike,
    **options: Any,
) -> CalibratedQuestions:
    """`DatumWisePath.calibrate` for the models of several paths, one per budget.

    Models are tested from the largest mean cost on their training rows to the smallest.
    """
    if len(paths) == 1:
        return paths[0].calibrate(X, y, **options)
    members = [(b, level) for b, path in enumerate(paths) for level in range(len(path))]
    habits = [paths[b].habits[level] for b, level in members]
    order = np.lexsort([[h.mean_n_features for h in habits], [h.mean_cost for h in habits]])
    members = [members[i] for i in order]

    def answer(X):
        labels, usages = zip(*(path.labels_and_usage(X) for path in paths), strict=True)
        n_features, cost = zip(*((u.n_features, u.cost) for u in usages), strict=True)
        usage = Usage(np.concatenate(n_features)[order], np.concatenate(cost)[order])
        return np.concatenate(labels)[order], usage

    test, n_questions, cost = fewest_questions(paths[0].model(0), answer, X, y, **options)
    model = None
    if test.chosen is not None:
        b, level = members[-1 - test.chosen]
        model = paths[b].model(level)
    return CalibratedQuestions(
        model,
        None if model is None else model.cost_weight,
        n_questions,
        cost,
        np.array([paths[b].levels[level] for b, level in members[::-1]]),
        test,
        tuple(budgets[b] for b, _ in members[::-1]),
    )
