r"""The recommendation, and an honest score of it.

Recommended is the sparsest model whose score is within one standard error of the best, baselines
included when judging what is best. Its own score was used for choosing it, among many, and is too
good. The honest one is bootstrap bias corrected [1]_: rows are drawn with replacement, the whole
choice of method and level is made again on the rows drawn, from their out-of-fold predictions, and
what it chose is scored on the rows that were not drawn. The mean over draws is the estimate, the
2.5th and 97.5th percentiles are its interval. The standard errors are those of the scores of the
rows drawn. No model is trained again. Rows of a group are drawn together. For small data, where
that is still too good, see `tamis.comparison.nested`.

Rows that are all predicted right are so in every draw, and the percentiles would be a point: the
interval reaches down at least to where that of the recommended model's own predictions does
(`tamis.comparison.scores.cautious_interval`), a group counting as one row.

References
----------
.. [1] Tsamardinos, Greasidou and Borboudakis, "Bootstrapping the out-of-sample predictions for
   efficient and accurate cross-validation", Machine Learning 107, 2018.
"""

from dataclasses import dataclass

import numpy as np

from tamis.comparison.results import find_threshold
from tamis.comparison.scores import (
    area_under_curve,
    cautious_area,
    cautious_interval,
    confusion,
    score_confusion,
)
from tamis.preparation.table_classifier import decide

__all__ = ["Choice", "Draws", "Honest", "choose", "estimate", "measure_errors", "n_draws_for"]

# Values of a chunk of the bootstrap.
_CHUNK = 20_000_000
# Where fewer draws than this share have all classes on both sides, two classes are enough.
_FEW_WHOLE = 0.1


@dataclass(frozen=True)
class Choice:
    """A point of a path.

    Attributes
    ----------
    method : str
    at : int
        Place of the level.
    behind : float
        How far it is behind the best of all, baselines included, beyond one standard error; 0
        where it is within.
    """

    method: str
    at: int
    behind: float = 0.0


@dataclass(frozen=True)
class Honest:
    """An honest score.

    Attributes
    ----------
    score, low, high : float
        Estimate and 95% interval.
    sensitivity : float or None
        With a minimal sensitivity: what it was on the rows that were not drawn.
    n_draws : int
    is_nested : bool
        Whether the choice was made again without every fold (`tamis.comparison.nested`).
    """

    score: float
    low: float
    high: float
    sensitivity: float | None
    n_draws: int
    is_nested: bool = False


def choose(results, minimize):
    """The sparsest within one standard error of the best.

    Parameters
    ----------
    results : list of MethodResult
        Judged, with standard errors.
    minimize : {"overall", "per-sample"}

    Returns
    -------
    choice : Choice
    """
    table = _Table(results, minimize)
    places, behind = table.choose(table.scores[None, :])
    result, at = table.result(int(places[0]))
    return Choice(result.method.name, at, float(behind[0]))


class _Table:
    """All levels of all methods, one after the other."""

    def __init__(self, results, minimize):
        self.results = results
        self.ends = np.cumsum([len(r.levels) for r in results])
        self.scores = np.concatenate([r.scores for r in results])
        self.errors = np.concatenate([r.errors for r in results])
        self.sparsity = np.concatenate([r.sparsity(minimize) for r in results])
        self.ours = np.concatenate(
            [np.full(len(r.levels), not r.method.is_baseline) for r in results]
        )

    def result(self, place):
        """Result and level of a place."""
        at = int(np.searchsorted(self.ends, place, side="right"))
        return self.results[at], place - int(self.ends[at]) + len(self.results[at].levels)

    def choose(self, scores):
        """Places of the choices by some scores, (n_draws, n_places); and how far behind."""
        rows = np.arange(len(scores))
        best = scores.argmax(axis=1)
        wanted = scores[rows, best] - self.errors[best]
        mine = np.where(self.ours, scores, -np.inf)
        own_best = mine.argmax(axis=1)
        # A baseline may be out of reach: then the best of ours is the measure.
        reach = mine[rows, own_best]
        behind = np.maximum(wanted - reach, 0.0)
        wanted = np.where(behind > 0, reach - self.errors[own_best], wanted)
        enough = mine >= wanted[:, None] - 1e-12
        sparsity = np.where(enough, self.sparsity, np.inf)
        fewest = sparsity.min(axis=1, keepdims=True)
        among = np.where(sparsity <= fewest + 1e-9, mine, -np.inf)
        return among.argmax(axis=1), behind


def n_draws_for(n_rows):
    """Fewer draws for more rows: their scores hardly vary."""
    return 1000 if n_rows <= 5000 else 400 if n_rows <= 50_000 else 50


@dataclass(frozen=True)
class Draws:
    """Rows drawn with replacement, again and again; the same ones whenever they are asked for.

    Attributes
    ----------
    codes : ndarray of int of shape (n_rows,)
    n_classes : int
    groups : ndarray of int of shape (n_rows,) or None
        Rows that are drawn together.
    n_draws, seed : int
    """

    codes: np.ndarray
    n_classes: int
    groups: np.ndarray | None
    n_draws: int
    seed: int

    def __iter__(self):
        """Chunks of weights, (n, n_rows): how often every row was drawn.

        Draws in which a class has no row, or leaves no row behind, are left out. Many small
        classes would leave hardly any draw: then two classes on both sides are enough, and a
        class without rows takes no part in the scores of that draw.
        """
        generator = np.random.default_rng([self.seed, 3])
        n_rows = self.codes.size
        units = np.arange(n_rows) if self.groups is None else self.groups
        n_units = int(units.max()) + 1
        n_needed = self._n_classes_needed(units)
        size = max(1, min(self.n_draws, _CHUNK // n_rows))
        for start in range(0, self.n_draws, size):
            drawn = np.stack(
                [
                    np.bincount(generator.integers(n_units, size=n_units), minlength=n_units)
                    for _ in range(min(size, self.n_draws - start))
                ]
            )
            drawn = drawn[:, units].astype(np.float64)
            n_both = _classes_on_both_sides(drawn, self.codes, self.n_classes)
            drawn = drawn[n_both >= n_needed]
            if len(drawn):
                yield drawn

    def _n_classes_needed(self, units):
        """Classes that a draw must have on both sides: all, or two where that is too rare.

        A class of m units is not drawn at all with probability exp(-m), and drawn whole with
        (1 - 1/e)^m, about.
        """
        sizes = [np.unique(units[self.codes == c]).size for c in range(self.n_classes)]
        m = np.array(sizes, dtype=np.float64)
        share = np.prod(1 - np.exp(-m) - (1 - np.exp(-1.0)) ** m)
        return self.n_classes if share >= _FEW_WHOLE else 2


def measure_errors(results, draws, scoring):
    """Give all results their standard errors, and return the scores of every draw.

    Parameters
    ----------
    results : list of MethodResult
        Judged; changed in place.
    draws : Draws
    scoring : str

    Returns
    -------
    scores : ndarray of shape (n_draws, n_places)
        Of the rows drawn, for all levels of all methods.
    """
    n_places = sum(len(r.levels) for r in results)
    scores = [
        np.hstack([_score_all(r, draws.codes, weights, scoring) for r in results])
        for weights in draws
    ]
    scores = np.concatenate(scores) if scores else np.zeros((0, n_places))
    errors = scores.std(axis=0, ddof=1) if len(scores) > 1 else np.zeros(n_places)
    first = 0
    for result in results:
        result.errors = errors[first : first + len(result.levels)]
        first += len(result.levels)
    return scores


def estimate(results, draws, scores, *, scoring, minimize, positive=None, min_sensitivity=None):
    """Honest score of `choose`.

    Parameters
    ----------
    results : list of MethodResult
        Judged, with standard errors.
    draws : Draws
    scores : ndarray of shape (n_draws, n_places)
        From `measure_errors` with the same draws.
    scoring : str
    minimize : {"overall", "per-sample"}
    positive, min_sensitivity : int, float, or None

    Returns
    -------
    honest : Honest
    """
    if not len(scores):
        nothing = float("nan")
        return Honest(nothing, nothing, nothing, None, 0)
    table = _Table(results, minimize)
    chosen, _ = table.choose(scores)
    out, sensitivity = np.zeros(len(scores)), []
    at = 0
    for weights in draws:
        for row in weights:
            result, level = table.result(int(chosen[at]))
            out[at], found = _score_left_out(
                result, level, draws.codes, row, scoring, positive, min_sensitivity
            )
            sensitivity.append(found)
            at += 1
    low, high = np.percentile(out, [2.5, 97.5])
    low = min(low, _cautious_low(table, draws, scoring))
    mean_sensitivity = None if min_sensitivity is None else float(np.mean(sensitivity))
    return Honest(float(out.mean()), float(low), float(high), mean_sensitivity, len(out))


def _cautious_low(table, draws, scoring):
    """Lower limit of the score of the recommended model, from its own predictions."""
    places, _ = table.choose(table.scores[None, :])
    result, at = table.result(int(places[0]))
    # A row of a group of ten says a tenth.
    share = 1.0 if draws.groups is None else np.unique(draws.groups).size / draws.codes.size
    if scoring == "roc_auc":
        sizes = np.bincount(draws.codes, minlength=draws.n_classes)
        return cautious_area(result.scores[at], share * sizes)[0]
    counts = np.mean(
        [confusion(draws.codes, labels, draws.n_classes) for labels in result.labels[at]], axis=0
    )
    return cautious_interval(share * counts, scoring, draws.seed)[0]


def _classes_on_both_sides(drawn, codes, n_classes):
    """Number of classes that are among the rows drawn and among the others, for every draw."""
    n_both = np.zeros(len(drawn), dtype=np.intp)
    for c in range(n_classes):
        part = drawn[:, codes == c] > 0
        n_both += part.any(axis=1) & ~part.all(axis=1)
    return n_both


def _score_all(result, codes, weights, scoring):
    """Scores of every level under every weighting, mean over repeats: (n_draws, n_levels)."""
    n_levels, n_repeats, _, n_classes = result.probabilities.shape
    scores = np.zeros((len(weights), n_levels))
    for at in range(n_levels):
        for r in range(n_repeats):
            if scoring == "roc_auc":
                scores[:, at] += area_under_curve(codes, result.probabilities[at, r], weights)
            else:
                counts = confusion(codes, result.labels[at, r], n_classes, weights)
                scores[:, at] += score_confusion(counts, scoring)
    return scores / n_repeats


def _score_left_out(result, at, codes, weights, scoring, positive, min_sensitivity):
    """Score of a level on the rows that were not drawn, and the sensitivity there."""
    n_repeats, _, n_classes = result.probabilities.shape[1:]
    rows, drawn = np.flatnonzero(weights == 0), np.flatnonzero(weights > 0)
    scores, found = [], []
    for r in range(n_repeats):
        probabilities = result.probabilities[at, r]
        labels = result.labels[at, r, rows]
        if min_sensitivity is not None:
            # The threshold, too, is made again on the rows that were drawn.
            again = np.repeat(drawn, weights[drawn].astype(np.intp))
            threshold = find_threshold(
                probabilities[again, positive], codes[again] == positive, min_sensitivity
            )
            labels = decide(probabilities[rows], positive, threshold)
            found.append(np.mean(labels[codes[rows] == positive] == positive))
        if scoring == "roc_auc":
            scores.append(area_under_curve(codes[rows], probabilities[rows]))
        else:
            scores.append(score_confusion(confusion(codes[rows], labels, n_classes), scoring))
    return float(np.mean(scores)), float(np.mean(found)) if found else None
