r"""A learning curve: what twice as many rows would add to the score.

The chosen method is trained at its level on an eighth, a quarter and a half of the training rows
of each fold (whole sample groups, the same share of every class, each part inside the next), and
predicts the same test rows. The scores are fitted by

.. math:: s(n) = a - b\, n^{-c}, \qquad b \ge 0,\ a \le 1,\ c \in [0.2, 1.5],

by least squares [1]_, again in every bootstrap draw of the test rows. What is reported is an
extrapolation, ``s(2 N) - s(N)`` for N rows. The interval does not contain the luck of the training
rows, so it is somewhat too short.

References
----------
.. [1] Figueroa et al., "Predicting sample size required for classification performance", BMC
   Medical Informatics and Decision Making 12, 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamis.comparison.choosing.decisions import decide_rows
from tamis.comparison.choosing.results import calibrate
from tamis.comparison.choosing.spread import ScoredRows
from tamis.paths.folds import Fold, make_folds
from tamis.paths.seeds import derive_seed
from tamis.tables.errors import InputError

if TYPE_CHECKING:
    from tamis.comparison.choosing.results import MethodResult
    from tamis.comparison.problem.problem import Problem
    from tamis.comparison.running.tasks import TaskOutcome
    from tamis.comparison.settings import Settings

__all__ = ["describe_curve", "extrapolate", "fewer_rows"]

_FEWEST_ROWS = 40
_EIGHTHS = (1, 2, 4)
_FEWEST_OF_CLASS = 2
_EXPONENTS = np.linspace(0.2, 1.5, 14)
# A gain below this is called flat.
_FLAT = 0.01


def fewer_rows(problem: Problem, folds: Sequence[Fold], seed: int) -> dict[int, list[Fold]]:
    """Parts of the training rows of each fold of the first repeat.

    Returns `parts`: by the number of eighths. Shares in which a class would have a single row are
    left out.
    """
    if problem.n_rows < _FEWEST_ROWS:
        raise InputError(
            f"--learning-curve needs at least {_FEWEST_ROWS} rows; there are {problem.n_rows}."
        )
    parts: dict[int, list[Fold]] = {eighths: [] for eighths in _EIGHTHS}
    for fold in folds:
        if fold.repeat > 0:
            continue
        rows = fold.train
        codes, groups = problem.codes[rows], None
        if problem.groups is not None:
            groups = problem.groups[rows]
        n_units = min(
            np.unique(rows[codes == c] if groups is None else groups[codes == c]).size
            for c in np.unique(codes)
        )
        if n_units < 8:
            raise InputError(
                "--learning-curve: every class needs at least 8 rows, or sample groups, in the "
                f"training rows of each fold; one has {n_units}."
            )
        eighth = make_folds(codes, groups, 8, 1, derive_seed(seed, 37, fold.number))
        for n, made in parts.items():
            some = np.sort(np.concatenate([rows[part.test] for part in eighth[:n]]))
            made.append(Fold(0, fold.number, some, fold.test, derive_seed(fold.seed, n)))
    n_classes = problem.classes.size
    enough = {
        n: made
        for n, made in parts.items()
        if all(
            np.bincount(problem.codes[fold.train], minlength=n_classes).min() >= _FEWEST_OF_CLASS
            for fold in made
        )
    }
    if len(enough) < 2:
        raise InputError(
            "--learning-curve: a class has too few rows to train on a quarter of them."
        )
    return enough


def describe_curve(
    problem: Problem,
    settings: Settings,
    result: MethodResult,
    place: int,
    parts: dict[int, list[Fold]],
    outcomes: dict[int, list[TaskOutcome]],
) -> dict[str, Any]:
    """The scores by number of training rows, and the extrapolated gain, as plain values.

    `result`, `place`: the chosen method and level; `parts`, `outcomes`: of `fewer_rows`, and what
    training on them gave, in the same order.
    """
    rows = ScoredRows.of(problem, settings.scoring, settings.seed)
    threshold = None if result.thresholds is None else result.thresholds[place]
    whole = result.probabilities[place, 0].astype(np.float64)
    # Every row is in one test fold of the first repeat.
    n_folds = len(next(iter(parts.values())))
    sizes, predicted = [], []
    for eighths in sorted(parts):
        p = np.zeros_like(whole)
        for fold, outcome in zip(parts[eighths], outcomes[eighths], strict=True):
            p[fold.test] = outcome.probabilities[place]
        sizes.append(float(np.mean([fold.train.size for fold in parts[eighths]])))
        predicted.append(p)
    sizes.append(problem.n_rows * (1 - 1 / n_folds))
    predicted.append(whole)
    temperature = calibrate(result, place, problem)
    labels = [
        decide_rows(p, problem, settings, threshold=threshold, temperature=temperature)
        for p in predicted
    ]
    made = list(zip(labels, predicted, strict=True))
    scores = np.array([[rows.score(*one) for one in made]])
    drawn = np.stack([rows.drawn_scores(*one) for one in made], axis=1)
    n = problem.n_rows
    gain = float(_gain(np.array(sizes), scores, n)[0])
    low, high = np.percentile(_gain(np.array(sizes), drawn, n), [2.5, 97.5])
    verdict = "flat" if high < _FLAT else "rising" if low >= _FLAT else "unclear"
    return {
        "scoring": settings.scoring,
        "points": [
            {
                "training_rows": float(size),
                "score": float(score),
                "interval_95": rows.interval(*one),
            }
            for size, score, one in zip(sizes, scores[0], made, strict=True)
        ],
        "rows": n,
        "twice_the_rows": 2 * n,
        "gain": gain,
        "gain_interval_95": [float(low), float(high)],
        "verdict": verdict,
        "is": "an extrapolation by an inverse power law; the interval does not include variation "
        "in the training sample. The model size was chosen on all rows",
    }


def _gain(sizes, scores, n):
    return extrapolate(sizes, scores, 2 * n) - extrapolate(sizes, scores, n)


def extrapolate(sizes: NDArray, scores: NDArray, size: float) -> NDArray[np.float64]:
    """Scores at another number of rows, by the power law of least squares.

    `sizes` (n_sizes,): numbers of training rows; `scores` (n_curves, n_sizes). Returns `scores`
    (n_curves,).
    """
    best = np.full(len(scores), np.inf)
    found = np.zeros(len(scores))
    for exponent in _EXPONENTS:
        x = (sizes / sizes[-1]) ** -exponent
        away = x - x.mean()
        mean = scores.mean(axis=1)
        b = np.maximum(-(scores @ away) / (away @ away), 0.0)
        a = mean + b * x.mean()
        is_above = a > 1.0
        b = np.where(is_above, ((1.0 - scores) @ x) / (x @ x), b)
        a = np.where(is_above, 1.0, a)
        error = ((scores - a[:, None] + b[:, None] * x) ** 2).sum(axis=1)
        is_better = error < best
        best = np.where(is_better, error, best)
        found = np.where(is_better, a - b * (size / sizes[-1]) ** -exponent, found)
    return found
