"""Nested cross-validation for small data, in which each model is used twice.

In small data, the rows that score a choice have helped to train the models it was made among: what
looks good by chance also looks good on them, so a bootstrap of out-of-fold predictions remains
optimistic. So for each fold f, the whole choice of method and level is repeated with models that
have never seen f: fold g is predicted by models trained without f and g, which are used for both f
and g. The model chosen without f is then scored on f. K folds need K (K - 1) / 2 additional
trainings; this is done for fewer than 500 rows and 3 to 6 folds.
"""

from dataclasses import replace

import numpy as np

from tamis.comparison.choosing.choice import Behind, Candidates, Honest
from tamis.comparison.choosing.decisions import decide_rows
from tamis.comparison.choosing.predictions import Predictions, temper
from tamis.comparison.choosing.results import calibrate, judge, score_rows
from tamis.comparison.choosing.scores import within_range
from tamis.paths.folds import Fold
from tamis.paths.rule import Counted
from tamis.paths.seeds import derive_seed

__all__ = ["estimate_nested", "is_nested", "pair_folds"]

_MOST_ROWS = 500
_FOLDS = range(3, 7)


def is_nested(n_rows, n_folds):
    """Whether the honest score is nested, by the number of rows and folds."""
    return n_rows < _MOST_ROWS and n_folds in _FOLDS


def pair_folds(folds, seed):
    """One fold per pair of folds of the first repeat: training leaves out both.

    Returns `pairs`: `repeat` and `number` are the numbers of the two; `test` has the rows of both.
    """
    first = [fold for fold in folds if fold.repeat == 0]
    pairs = []
    for i, one in enumerate(first):
        for other in first[i + 1 :]:
            train = np.setdiff1d(one.train, other.test)
            test = np.sort(np.concatenate([one.test, other.test]))
            mark = derive_seed(seed, 13, one.number, other.number)
            pairs.append(Fold(one.number, other.number, train, test, mark))
    return pairs


def estimate_nested(problem, settings, results, pairs, folds, spread):
    """Honest score of the rule's choice, where the choice is repeated without each fold.

    `results`: results with scores, of all folds. `pairs`: of every method, for `pair_folds`.
    `folds`: those of the first repeat are used. `spread`: the bootstrap's estimate. The returned
    interval is the smallest that contains both the bootstrap's interval and the same interval
    moved to the nested score, because a nested score of few rows is unbiased but varies much with
    the folds.
    """
    codes, n_classes = problem.codes, problem.classes.size
    chosen, best = (Predictions.empty(codes.size, n_classes) for _ in range(2))
    calibrations = np.ones((2, codes.size, 1))
    for fold in [fold for fold in folds if fold.repeat == 0]:
        inner = [_without(r, pairs[r.method.name], fold) for r in results]
        rows = fold.train
        weights = None if problem.weights is None else problem.weights[rows]
        for result in inner:
            judge(
                result,
                codes[rows],
                settings.scoring,
                settings.positive,
                settings.min_sensitivity,
                weights=weights,
            )
        candidates = Candidates(
            inner,
            codes[rows],
            n_classes,
            scoring=settings.scoring,
            minimize=settings.minimize,
            tolerance=settings.tolerance,
            groups=None if problem.groups is None else problem.groups[rows],
            weights=weights,
            seed=settings.seed,
        )
        for place, predictions, temperatures in zip(
            candidates.choose(), (chosen, best), calibrations, strict=True
        ):
            made, level = candidates.find(place)
            whole = next(r for r in results if r.method.name == made.method.name)
            threshold = None if made.thresholds is None else made.thresholds[level]
            temperatures[fold.test] = temperature = calibrate(made, level, problem, rows)
            p = whole.probabilities[level, 0, fold.test]
            predictions.probabilities[fold.test] = p
            predictions.labels[fold.test] = decide_rows(
                p, problem, settings, threshold=threshold, temperature=temperature
            )
    score = score_rows(
        codes, chosen.labels, chosen.probabilities, settings.scoring, problem.weights
    )
    low = min(spread.low, score - (spread.score - spread.low))
    high = max(spread.high, score + (spread.high - spread.score))
    sensitivity = specificity = None
    if settings.min_sensitivity is not None:
        is_found, is_positive = chosen.labels == settings.positive, codes == settings.positive
        sensitivity = float(is_found[is_positive].mean())
        specificity = float(1 - is_found[~is_positive].mean())
    return Honest(
        score,
        within_range(low, settings.scoring),
        within_range(high, settings.scoring),
        _behind(chosen, best, problem, settings.scoring, spread.behind),
        sensitivity,
        specificity,
        spread.n_draws,
        True,
        Predictions(temper(chosen.probabilities, calibrations[0]), chosen.labels),
    )


def _behind(chosen, best, problem, scoring, otherwise):
    """Upper 95 % limit of how far the choice is behind the best, both nested."""
    if scoring not in ("balanced_accuracy", "accuracy"):
        return otherwise
    right = np.stack([p.labels == problem.codes for p in (chosen, best)]).astype(np.float32)
    errors = Counted.of(
        right,
        problem.codes,
        balanced=scoring == "balanced_accuracy",
        groups=problem.groups,
        weight=problem.weights,
    )
    score, best_score = errors.scores()
    return Behind(float(best_score - score), float(errors.against(1)[0])).upper


def _without(result, pairs, fold):
    """Result of a method on the rows outside a fold, from models that have not seen it.

    The model of all these rows is that of the fold itself, and so is its number of features.
    """
    n_levels, _, n_rows, n_classes = result.probabilities.shape
    probabilities = np.zeros((n_levels, 1, n_rows, n_classes), dtype=np.float32)
    n_used = np.zeros((n_levels, 1, n_rows), dtype=np.float32)
    mine = np.zeros(n_rows, dtype=bool)
    mine[fold.test] = True
    for task, outcome in pairs:
        if fold.number in (task.fold.repeat, task.fold.number):
            other = ~mine[task.fold.test]
            rows = task.fold.test[other]
            probabilities[:, 0, rows] = outcome.probabilities[:, other]
            n_used[:, 0, rows] = outcome.n_used[:, other]
    overall = result.fold_sizes[:, fold.number]
    asked = n_used[:, :, fold.train].mean(axis=(1, 2))
    return replace(
        result,
        probabilities=probabilities[:, :, fold.train],
        overall=overall,
        per_sample=asked if result.method.asks else overall,
    )
