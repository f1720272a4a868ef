"""Validation on sites, and on times, that neither trained nor chose anything.

One batch at a time is held out (with more than ten batches, a tenth of them at a time); or the
future is held out: the later half of the rows in five blocks, each predicted by what came before
it. For each such split, the whole choice of method and level (and of threshold and temperature) is
repeated by cross-validation of its training rows alone, and what was chosen predicts the rows that
were held out. Sample groups with rows on both sides are left out of training.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tamis.comparison.choosing.choice import Candidates
from tamis.comparison.choosing.decisions import decide_rows
from tamis.comparison.choosing.predictions import Predictions, temper
from tamis.comparison.choosing.results import MethodResult, calibrate, count_features, judge
from tamis.paths.folds import Fold, GroupFolds, leave_one_batch_out, make_folds
from tamis.paths.seeds import derive_seed
from tamis.tables.errors import InputError

if TYPE_CHECKING:
    from tamis.comparison.methods.method import Method
    from tamis.comparison.problem.problem import Problem
    from tamis.comparison.running.tasks import Task, TaskOutcome
    from tamis.comparison.settings import Settings

__all__ = ["HeldOut", "Split", "make_splits", "predict_held_out"]

_MOST_PARTS, _N_BLOCKS, _ROWS_PER_BLOCK = 10, 5, 10
_INNER_FOLDS = 3


@dataclass(frozen=True)
class Split:
    """Rows that are held out, and the folds of the others by which the choice is made.

    `fold`: all other rows, and those that are held out. `inner`: folds of the training rows; none
    if they cannot be divided, and nothing is predicted. `inner_stage`: stage of the tasks of the
    inner folds.
    """

    stage: str
    fold: Fold
    inner: list[Fold]

    @property
    def inner_stage(self) -> str:
        """Stage of the tasks of the inner folds."""
        return f"inner-{self.stage}{self.fold.number}"


@dataclass(frozen=True)
class HeldOut:
    """Predictions of rows that were held out."""

    splits: list[Split]
    rows: NDArray  # rows that were predicted, ascending
    predictions: Predictions  # of these rows
    # Method and level that were chosen for each split; None if nothing could be.
    chosen: list[tuple[str, float] | None]


def make_splits(problem: Problem, settings: Settings) -> list[Split]:
    """The splits for the batches and times of a problem."""
    seed, splits = settings.seed, []
    if problem.batches is not None:
        parts = _parts(problem.batches, problem.codes)
        for fold in leave_one_batch_out(parts, problem.groups, seed):
            splits.append(Split("batch", fold, _inner_folds(problem, fold, seed)))
    if problem.dates is not None:
        blocks = [
            Split("time", fold, _inner_folds(problem, fold, seed))
            for fold in _time_folds(problem.dates, problem.groups, seed)
        ]
        if not any(split.inner for split in blocks):
            raise InputError(
                "--time: the earlier rows do not have two classes of at least two rows each, so "
                "the past cannot predict the future."
            )
        splits += blocks
    return splits


def _parts(batches, codes):
    """The batches themselves, or ten parts of whole batches if there are more."""
    if batches.max() < _MOST_PARTS:
        return batches
    part_of = np.zeros(batches.size, dtype=np.int64)
    folds = GroupFolds(_MOST_PARTS).split(batches, codes, batches)
    for number, (_, test) in enumerate(folds):
        part_of[test] = number
    return part_of


def _time_folds(dates, groups, seed):
    """The later half of the rows in blocks, each with all rows before it; equal times together."""
    n_rows = dates.size
    before = np.cumsum(np.bincount(dates)) - np.bincount(dates)  # rows before each time
    if before.size < 2:
        raise InputError("--time: all rows have the same time, so there is no past.")
    n_blocks = max(1, min(_N_BLOCKS, n_rows // (2 * _ROWS_PER_BLOCK)))
    wanted = n_rows * (0.5 + 0.5 * np.arange(n_blocks) / n_blocks)
    starts = np.unique([1 + np.argmin(np.abs(before[1:] - n)) for n in wanted])
    folds = []
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], before.size], strict=True)):
        test = (dates >= start) & (dates < end)
        train = dates < start
        if groups is not None:
            train &= ~np.isin(groups, groups[test])
        mark = derive_seed(seed, 29, number)
        folds.append(Fold(0, number, np.flatnonzero(train), np.flatnonzero(test), mark))
    return folds


def _inner_folds(problem, fold, seed):
    """Stratified folds of the training rows of a split; none without two classes to tell apart."""
    rows = fold.train
    codes, groups = problem.codes[rows], None
    units = rows
    if problem.groups is not None:
        groups = units = problem.groups[rows]
    sizes = np.array([np.unique(units[codes == c]).size for c in np.unique(codes)])
    if np.count_nonzero(sizes >= 2) < 2 or np.unique(units).size < _INNER_FOLDS:
        return []
    n_folds = _INNER_FOLDS if sizes.min() >= _INNER_FOLDS else 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a class with a single row
        inner = make_folds(codes, groups, n_folds, 1, derive_seed(seed, 31, fold.seed))
    return [Fold(0, f.number, rows[f.train], rows[f.test], f.seed) for f in inner]


def predict_held_out(
    problem: Problem,
    settings: Settings,
    splits: Sequence[Split],
    methods: Iterable[Method],
    done: Iterable[tuple[Task, TaskOutcome]],
    failed: Iterable[str] = (),
) -> HeldOut | None:
    """Repeat the choice in each split, and predict what it holds out.

    `splits`: of one stage. `methods`: those that the choice is among. `done`: finished tasks;
    those of the splits are used. `failed`: methods that are skipped where their tasks are not
    done. Returns `held_out`: None if tasks are left to do.
    """
    finished: dict = {}
    for task, outcome in done:
        finished[task.stage, task.method, task.fold.number] = outcome
    all_rows = Predictions.empty(problem.n_rows, problem.classes.size)
    is_predicted = np.zeros(problem.n_rows, dtype=bool)
    chosen: list[tuple[str, float] | None] = []
    for split in splits:
        if not split.inner:
            chosen.append(None)
            continue
        results = []
        for method in methods:
            keys = [(split.inner_stage, method.name, f.number) for f in split.inner]
            keys.append((split.stage, method.name, split.fold.number))
            if all(key in finished for key in keys):
                *inner, whole = (finished[key] for key in keys)
                results.append(_inner_result(problem, settings, method, split, inner, whole))
            elif method.name not in failed:
                return None
        if all(result.method.is_baseline for result in results):
            return None
        made, level = _choose(problem, settings, results, split.fold.train)
        outcome = finished[split.stage, made.method.name, split.fold.number]
        test = split.fold.test
        p = outcome.probabilities[level].astype(np.float64)
        threshold = None if made.thresholds is None else made.thresholds[level]
        temperature = calibrate(made, level, problem, split.fold.train)
        all_rows.probabilities[test] = temper(p, temperature)
        all_rows.labels[test] = decide_rows(
            p, problem, settings, threshold=threshold, temperature=temperature
        )
        is_predicted[test] = True
        chosen.append((made.method.name, float(made.levels[level])))
    rows = np.flatnonzero(is_predicted)
    found = Predictions(all_rows.probabilities[rows], all_rows.labels[rows])
    return HeldOut(list(splits), rows, found, chosen)


def _inner_result(problem, settings, method, split, outcomes, whole):
    """Result of a method on the training rows of a split; `whole` was trained on all of them."""
    rows = split.fold.train
    levels = tuple(method.levels(problem, settings.max_features))
    shape = len(levels), 1, rows.size
    probabilities = np.zeros((*shape, problem.classes.size), dtype=np.float32)
    n_used, overall = np.zeros(shape), count_features(whole, problem)
    for fold, outcome in zip(split.inner, outcomes, strict=True):
        places = np.searchsorted(rows, fold.test)
        probabilities[:, 0, places] = outcome.probabilities
        n_used[:, 0, places] = outcome.n_used
    nothing = np.zeros(len(levels))
    result = MethodResult(
        method,
        levels,
        probabilities,
        np.zeros((len(levels), len(problem.names))),
        overall,
        n_used.mean(axis=(1, 2)) if method.asks else overall,
        nothing,
        nothing,
        0.0,
    )
    weights = None if problem.weights is None else problem.weights[rows]
    minimal = settings.min_sensitivity
    if minimal is not None and not (problem.codes[rows] == settings.positive).any():
        minimal = None  # no threshold without rows of the class
    judge(
        result, problem.codes[rows], settings.scoring, settings.positive, minimal, weights=weights
    )
    return result


def _choose(problem, settings, results, rows):
    """Result and level that the rule chooses from the training rows of a split."""
    candidates = Candidates(
        results,
        problem.codes[rows],
        problem.classes.size,
        scoring=settings.scoring,
        minimize=settings.minimize,
        tolerance=settings.tolerance,
        groups=None if problem.groups is None else problem.groups[rows],
        weights=None if problem.weights is None else problem.weights[rows],
        seed=settings.seed,
    )
    return candidates.find(candidates.choose()[0])
