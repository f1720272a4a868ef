"""Combine the outcomes of tasks: out-of-fold predictions of each method and level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tamis.comparison.choosing.scores import area_under_curve, confusion, score_confusion
from tamis.paths.temperature import fit_temperature
from tamis.tables.classifying.deciding import decide

if TYPE_CHECKING:
    from tamis.comparison.methods.families import Method

__all__ = [
    "MethodResult",
    "calibrate",
    "collect",
    "count_features",
    "find_threshold",
    "find_twins",
    "judge",
    "score_rows",
    "whole",
]


@dataclass
class MethodResult:
    """Out-of-fold predictions of one method, at all its levels."""

    method: Method
    levels: tuple[float, ...]  # from the sparsest to the fullest
    probabilities: np.ndarray  # (n_levels, n_repeats, n_rows, n_classes)
    # (n_levels, n_features): share of folds whose model uses each counted feature.
    selected: np.ndarray
    # (n_levels,): number of counted features that the model trained on all rows can need.
    overall: np.ndarray
    # per_sample, most_per_sample, cost: (n_levels,): number of features per sample, its mean and
    # its 95th percentile, and their mean cost. A method that does not ask uses those of the model
    # for every sample.
    per_sample: np.ndarray
    most_per_sample: np.ndarray
    cost: np.ndarray
    seconds: float  # seconds of all tasks
    # (n_levels, n_folds) or None: number of counted features of the models of each fold, in the
    # first repeat.
    fold_sizes: np.ndarray | None = None
    labels: np.ndarray | None = None  # (n_levels, n_repeats, n_rows): predicted classes
    # (n_levels,) or None: thresholds for the probability of the positive class.
    thresholds: np.ndarray | None = None
    # (n_levels,): mean over repeats of the score of the pooled predictions.
    scores: np.ndarray | None = None
    errors: np.ndarray | None = None  # (n_levels,): standard errors

    def sparsity(self, minimize: str) -> NDArray:
        """The number of features to minimise: "overall" or "per-sample"."""
        return self.overall if minimize == "overall" else self.per_sample


def find_twins(results):
    """For each candidate that cannot be read, the one of the same training that can; or -1."""
    places, start = {}, 0
    for result in results:
        if result.method.is_readable and result.method.trains_with:
            at = {level: start + place for place, level in enumerate(result.levels)}
            places[result.method.trains_with] = at
        start += len(result.levels)
    twins = [
        -1 if r.method.is_readable else places.get(r.method.trains_with, {}).get(level, -1)
        for r in results
        for level in r.levels
    ]
    return np.array(twins, dtype=np.intp)


def count_features(outcome, problem):
    """Number of counted features that the models of a task use, without kept ones, per level."""
    return np.count_nonzero(outcome.used & ~problem.kept, axis=1).astype(np.float64)


def collect(method, pairs, problem, settings, codes=None, whole=None):
    """Combine the outcomes of a method's tasks, and judge them.

    `pairs`: all tasks of the method. `codes` (n_rows,) or None: True classes, if other than those
    of the problem. `whole`: of the training on all rows; None if the sizes do not depend on the
    rows (where some features are constant in a fold, the largest is that of all rows).
    """
    pairs = sorted(pairs, key=lambda pair: (pair[0].fold.repeat, pair[0].fold.number))
    levels = pairs[0][0].levels
    n_classes = pairs[0][1].probabilities.shape[2]
    n_repeats = pairs[-1][0].fold.repeat + 1
    shape = (len(levels), n_repeats, problem.n_rows)
    probabilities = np.zeros((*shape, n_classes), dtype=np.float32)
    used = np.zeros(pairs[0][1].used.shape)
    sizes = []
    for task, outcome in pairs:
        fold = task.fold
        probabilities[:, fold.repeat, fold.test] = outcome.probabilities
        used += outcome.used
        sizes.append(count_features(outcome, problem))
    seconds = sum(outcome.seconds for _, outcome in pairs)
    overall = np.max(sizes, axis=0) if whole is None else count_features(whole, problem)
    per_sample, most, cost = np.zeros((3, len(levels)), dtype=np.float32)
    of_rows = np.zeros(shape[1:], dtype=np.float32)
    for place in range(len(levels)):
        for task, outcome in pairs:
            # A fold's model may ask for more than the model of all rows can.
            n_used = np.minimum(outcome.n_used[place], overall[place])
            of_rows[task.fold.repeat, task.fold.test] = n_used
        per_sample[place], most[place] = of_rows.mean(), np.percentile(of_rows, 95)
        for task, outcome in pairs:
            of_rows[task.fold.repeat, task.fold.test] = outcome.cost[place]
        cost[place] = of_rows.mean()
    if not method.asks:
        per_sample = most = overall
    firsts = [size for (task, _), size in zip(pairs, sizes, strict=True) if not task.fold.repeat]
    result = MethodResult(
        method,
        levels,
        probabilities,
        used / len(pairs),
        overall,
        per_sample,
        most,
        cost,
        seconds,
        np.stack(firsts, axis=1),
    )
    judge(
        result,
        problem.codes if codes is None else codes,
        settings.scoring,
        settings.positive,
        settings.min_sensitivity,
        weights=problem.weights,
    )
    return result


def find_threshold(scores, positive, wanted):
    """Find the largest threshold, up to one half, with a sensitivity of at least `wanted`.

    A threshold above one half would miss rows that are found otherwise: nearly all of them if the
    classes are so far apart that probabilities are 1 within rounding.
    """
    positive_scores = np.sort(scores[positive])
    n_missed = int(np.floor((1 - wanted) * positive_scores.size + 1e-9))
    return min(float(positive_scores[min(n_missed, positive_scores.size - 1)]), 0.5)


def score_rows(codes, labels, probabilities, scoring, weights=None):
    """Score of predictions.

    `codes`, `labels` (n_rows,): True and predicted classes; `probabilities` (n_rows, n_classes);
    `weights` (n_rows,) or None.
    """
    if scoring == "roc_auc":
        return area_under_curve(codes, probabilities, weights)
    counts = confusion(codes, labels, probabilities.shape[1], weights)
    return float(score_confusion(counts, scoring))


def judge(
    result, codes, scoring, positive=None, min_sensitivity=None, thresholds=None, weights=None
):
    """Set the labels, thresholds and scores of a result.

    `result`: changed in place. `codes` (n_rows,): True classes. `positive`: class whose
    sensitivity must be at least `min_sensitivity`. `thresholds` (n_levels,) or None: known
    thresholds; None: find them. `weights` (n_rows,) or None: sample weights.
    """
    n_levels, n_repeats, n_rows, n_classes = result.probabilities.shape
    result.thresholds = None
    shape = n_levels, n_repeats, n_rows
    result.labels = np.empty(shape, dtype=np.min_scalar_type(n_classes - 1))
    if min_sensitivity is None:
        for labels, p in zip(result.labels, result.probabilities, strict=True):
            labels[:] = p.argmax(axis=2)
    else:
        is_positive = np.tile(codes == positive, n_repeats)
        result.thresholds = thresholds
        if thresholds is None:
            result.thresholds = np.array(
                [
                    find_threshold(p[:, :, positive].ravel(), is_positive, min_sensitivity)
                    for p in result.probabilities
                ]
            )
        for place, threshold in enumerate(result.thresholds):
            p = result.probabilities[place].reshape(-1, n_classes)
            result.labels[place] = decide(p, positive, threshold).reshape(n_repeats, n_rows)
    result.scores = np.array(
        [
            np.mean(
                [
                    score_rows(codes, labels, probabilities, scoring, weights)
                    for labels, probabilities in zip(
                        result.labels[place], result.probabilities[place], strict=True
                    )
                ]
            )
            for place in range(n_levels)
        ]
    )


def calibrate(result, at, problem, rows=slice(None)):
    """Find the temperature that calibrates the out-of-fold probabilities of a level.

    `at`: place of the level; `rows`: rows of the problem that the result is about.
    """
    n_repeats, _, n_classes = result.probabilities.shape[1:]
    p = result.probabilities[at].astype(np.float64).reshape(-1, n_classes)
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(p), -50.0)
    codes = problem.codes[rows]
    weights = np.ones(codes.size) if problem.weights is None else problem.weights[rows]
    if problem.times is not None:
        weights = weights / problem.times[rows]  # all copies of one row count once together
    n_rows = float(weights.sum())
    if problem.balanced:
        weights = weights / np.bincount(codes, weights, n_classes)[codes]
    return fit_temperature(logs, np.tile(codes, n_repeats), np.tile(weights, n_repeats), n_rows)


def whole(n_features: float) -> float:
    """A number of features as an int where it is whole; means over rows need not be."""
    return int(n_features) if float(n_features).is_integer() else float(n_features)
