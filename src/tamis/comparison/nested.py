"""Nested cross-validation for small data, with models that serve twice.

In small data the rows that are left to score a choice have helped to train the models that it was
made among: what looks good by chance looks good to them, too, and a bootstrap of out-of-fold
predictions remains too optimistic. So for every fold f the whole choice of method and level is
made again from models that have never seen f: fold g is predicted by models trained without f and
g, which serve twice, for f and for g. What is chosen without f is then scored on f. K folds cost
K (K - 1) / 2 more trainings; it is done for fewer than 500 rows and 3 to 6 folds.
"""

import numpy as np

from tamis.comparison.choice import Draws, Honest, choose, measure_errors
from tamis.comparison.folds import Fold, unit_seed
from tamis.comparison.results import MethodResult, judge
from tamis.comparison.scores import area_under_curve, confusion, score_confusion
from tamis.preparation.table_classifier import decide

__all__ = ["estimate_nested", "is_nested", "pair_folds"]

_MOST_ROWS = 500
_FOLDS = range(3, 7)
# Draws for standard errors.
_N_DRAWS = 200


def is_nested(n_rows, n_folds):
    """Whether the honest score is nested, by the number of rows and folds."""
    return n_rows < _MOST_ROWS and n_folds in _FOLDS


def pair_folds(folds, seed):
    """A fold for every pair of folds of the first repeat: trained without both.

    Parameters
    ----------
    folds : list of Fold
    seed : int

    Returns
    -------
    pairs : list of Fold
        `repeat` and `number` are the numbers of the two; `test` has the rows of both.
    """
    first = [fold for fold in folds if fold.repeat == 0]
    pairs = []
    for at, one in enumerate(first):
        for other in first[at + 1 :]:
            train = np.setdiff1d(one.train, other.test)
            test = np.sort(np.concatenate([one.test, other.test]))
            mark = unit_seed(seed, 13, one.number, other.number)
            pairs.append(Fold(one.number, other.number, train, test, mark))
    return pairs


def estimate_nested(problem, settings, results, pairs, folds, spread):
    """Honest score of `choose`, where the choice is made again without every fold.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    results : list of MethodResult
        Judged; of all folds.
    pairs : dict of str to list of (Unit, Outcome)
        Of every method, for `pair_folds`.
    folds : list of Fold
        Those of the first repeat are used.
    spread : Honest
        The bootstrap's estimate. The interval is the smallest that has in it the bootstrap's,
        where it is and moved to the nested score: a nested score of few rows is unbiased, and
        varies much with the folds.

    Returns
    -------
    honest : Honest
    """
    codes, groups, n_classes = problem.codes, problem.groups, problem.classes.size
    labels = np.zeros(codes.size, dtype=np.intp)
    probabilities = np.zeros((codes.size, n_classes))
    for fold in [fold for fold in folds if fold.repeat == 0]:
        inner = [_without(r, pairs[r.method.name], fold, problem.kept) for r in results]
        rows = fold.train
        for result in inner:
            judge(
                result,
                codes[rows],
                settings.scoring,
                settings.positive,
                settings.min_sensitivity,
            )
        of_rows = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
        draws = Draws(codes[rows], n_classes, of_rows, _N_DRAWS, settings.seed)
        measure_errors(inner, draws, settings.scoring)
        choice = choose(inner, settings.minimize)
        chosen = next(r for r in results if r.method.name == choice.method)
        threshold = None
        if settings.min_sensitivity is not None:
            made = next(r for r in inner if r.method.name == choice.method)
            threshold = made.thresholds[choice.at]
        found = chosen.probabilities[choice.at, 0, fold.test]
        probabilities[fold.test] = found
        labels[fold.test] = decide(found, settings.positive, threshold)
    if settings.scoring == "roc_auc":
        score = area_under_curve(codes, probabilities)
    else:
        score = float(score_confusion(confusion(codes, labels, n_classes), settings.scoring))
    sensitivity = None
    if settings.min_sensitivity is not None:
        sensitivity = float(np.mean(labels[codes == settings.positive] == settings.positive))
    smallest = -1.0 if settings.scoring == "mcc" else 0.0
    low = max(min(spread.low, score - (spread.score - spread.low)), smallest)
    high = min(max(spread.high, score + (spread.high - spread.score)), 1.0)
    return Honest(score, low, high, sensitivity, spread.n_draws, True)


def _without(result, pairs, fold, kept):
    """A method's result on the rows outside of a fold, from models that have not seen it."""
    n_levels, _, n_rows, n_classes = result.probabilities.shape
    probabilities = np.zeros((n_levels, 1, n_rows, n_classes), dtype=np.float32)
    n_used = np.zeros((n_levels, 1, n_rows), dtype=np.float32)
    overall = []
    mine = np.zeros(n_rows, dtype=bool)
    mine[fold.test] = True
    for unit, outcome in pairs:
        if fold.number in (unit.fold.repeat, unit.fold.number):
            other = ~mine[unit.fold.test]
            rows = unit.fold.test[other]
            probabilities[:, 0, rows] = outcome.probabilities[:, other]
            n_used[:, 0, rows] = outcome.n_used[:, other]
            overall.append(np.count_nonzero(outcome.used & ~kept, axis=1))
    return MethodResult(
        result.method,
        result.levels,
        probabilities[:, :, fold.train],
        result.selected,
        np.mean(overall, axis=0),
        n_used[:, :, fold.train],
        result.seconds,
    )
