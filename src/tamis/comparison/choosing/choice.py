r"""The recommendation, and an honest score of it.

The recommended model is the sparsest that is good enough by the rule of `tamis.paths.rule`; of
models with as many features, one that can be read; a kernel panel counts only where it is clearly
better than the linear panel of the same features. Baselines count when judging what is best. Its
score was used to select it among many, so it is optimistic. The honest score is bootstrap bias
corrected [1]_: rows are drawn with replacement, the whole choice of method and level is made again
on the rows drawn, from their out-of-fold predictions, and the model it selects is scored on the
rows that were not drawn. The mean over draws is the estimate, the 2.5th and 97.5th percentiles are
its interval. No model is trained again. Rows of a group are drawn together. For small data, where
that is still optimistic, see `tamis.comparison.choosing.nested`.

If all rows are predicted correctly, they are so in every draw, and the percentiles would coincide.
So the interval reaches down at least as far as that of the recommended model's own predictions
(`tamis.comparison.choosing.scores.cautious_interval`), where a sample group counts as one row.

References
----------
.. [1] Tsamardinos, Greasidou and Borboudakis, "Bootstrapping the out-of-sample predictions for
   efficient and accurate cross-validation", Machine Learning 107, 2018.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tamis.comparison.choosing.draws import Draws
from tamis.comparison.choosing.left_out import LeftOut
from tamis.comparison.choosing.predictions import Predictions
from tamis.comparison.choosing.results import find_twins, whole
from tamis.comparison.choosing.scores import (
    area_under_curve,
    cautious_area,
    cautious_interval,
    confusion,
    effective_sizes,
    score_confusion,
)
from tamis.paths.intervals import n_draws_for
from tamis.paths.rule import (
    TOLERANCE,
    Counted,
    Drawn,
    Neighbours,
    choose,
    choose_drawn,
    smoothing,
    without_twins,
)

__all__ = ["Behind", "Candidates", "Choice", "Draws", "Honest", "estimate", "n_draws_for"]

# Draws of a bootstrap for standard errors only.
_ERROR_DRAWS = 200
# Draws for limits that hold for all candidates together, each with standard errors of its own.
_BAND_DRAWS = 300
# Scores that are means over rows of correct (1) and wrong (0).
_COUNTED = ("balanced_accuracy", "accuracy")
_NORMAL_90 = 1.6448536269514722


@dataclass(frozen=True)
class Choice:
    """One model size of one method."""

    method: str
    place: int  # place of the level on the path of the method
    level: float  # the level: a number of features, or the parameter that the method's path varies
    n_features: float  # number of counted features of the model that is trained on all rows


@dataclass(frozen=True)
class Behind:
    """How far one candidate is behind another, from paired predictions."""

    difference: float  # score of the other minus that of this one
    error: float  # standard error of the difference

    @property
    def upper(self):
        """Upper 95 % limit of the difference."""
        return self.difference + _NORMAL_90 * self.error


@dataclass(frozen=True)
class Honest:
    """An honest score, of decisions as the saved model makes them."""

    # score, low, high: estimate and 95 % interval.
    score: float
    low: float
    high: float
    behind: float  # upper 95 % limit of how far the recommended model is behind the best one
    # sensitivity, specificity: with a minimal sensitivity: their values on the rows that were not
    # drawn.
    sensitivity: float | None = None
    specificity: float | None = None
    n_draws: int = 0
    # Whether the choice was repeated without each fold in turn (see `nested`).
    is_nested: bool = False
    # Of each row, by a choice in which it had no say.
    predictions: Predictions | None = field(default=None, repr=False, compare=False)
    # (n_classes,) or None: share of each class that is found, mean over draws; None: that of
    # `predictions`.
    found: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)


class Candidates:
    """All levels of all methods, one after the other, and the rule applied to them.

    `results`: results with scores. Their `errors` are set. `codes` (n_rows,): True classes.
    `groups` (n_rows,) or None. `weights` (n_rows,) or None: sample weights. `n_folds`: folds that
    the models were trained in; None: models that do not depend on rows.
    """

    def __init__(
        self,
        results,
        codes,
        n_classes,
        *,
        scoring,
        minimize="overall",
        tolerance=TOLERANCE,
        groups=None,
        weights=None,
        seed=0,
        n_folds=None,
    ):
        self.results, self.codes, self.n_classes = results, codes, n_classes
        self.scoring, self.tolerance = scoring, tolerance
        self.groups, self.weights, self.n_folds = groups, weights, n_folds
        self.draws = Draws(codes, n_classes, groups, seed=seed, weights=weights)
        self.ends = np.cumsum([len(r.levels) for r in results])
        self.scores = np.concatenate([r.scores for r in results])
        self.sparsity = np.concatenate([r.sparsity(minimize) for r in results])
        self.ours = np.concatenate(
            [np.full(len(r.levels), not r.method.is_baseline) for r in results]
        )
        self.readable = np.concatenate(
            [np.full(len(r.levels), r.method.is_readable) for r in results]
        )
        self.paths = np.repeat(np.arange(len(results)), [len(r.levels) for r in results])
        self.twins = find_twins(results)
        self.is_counted = scoring in _COUNTED
        if self.is_counted:
            self.errors = Counted.of(
                np.concatenate([_share_right(r.labels, codes) for r in results]),
                codes,
                balanced=scoring == "balanced_accuracy",
                groups=groups,
                weight=weights,
            )
        else:
            draws = Draws(codes, n_classes, groups, _ERROR_DRAWS, seed, weights)
            chunks = [self.scores_of(drawn) for drawn in draws]
            drawn = np.concatenate(chunks) if chunks else np.zeros((0, self.scores.size))
            self.errors = Drawn.of(drawn, self._smoothing())
        alone = self.errors.alone()
        for result, part in zip(results, np.split(alone, self.ends[:-1]), strict=True):
            result.errors = part

    @classmethod
    def of(cls, results, problem, settings, codes=None):
        """The candidates of a problem, for its true classes or others."""
        return cls(
            results,
            problem.codes if codes is None else codes,
            problem.classes.size,
            scoring=settings.scoring,
            minimize=settings.minimize,
            tolerance=settings.tolerance,
            groups=problem.groups,
            weights=problem.weights,
            seed=settings.seed,
            n_folds=settings.n_folds,
        )

    def _smoothing(self):
        """Uncertainty of a difference of 0, for scores that are not counts."""
        units = np.arange(self.codes.size) if self.groups is None else self.groups
        sizes = [np.unique(units[self.codes == c]).size for c in range(self.n_classes)]
        if self.scoring != "roc_auc":
            return smoothing(sizes) * (4 if self.scoring == "mcc" else 1)
        rest = np.unique(units).size - np.array(sizes)
        pairs = [smoothing([own, other]) for own, other in zip(sizes, rest, strict=True) if own]
        return pairs[0] if self.n_classes == 2 else sum(pairs) / len(pairs) ** 2

    def find(self, place):
        """Result and level at a place among all candidates."""
        which = int(np.searchsorted(self.ends, place, side="right"))
        return self.results[which], place - int(self.ends[which]) + len(self.results[which].levels)

    def place(self, method, at):
        """Place of a level of a method among all candidates."""
        which = next(i for i, r in enumerate(self.results) if r.method.name == method)
        return int(self.ends[which]) - len(self.results[which].levels) + at

    def choose(self, allowed=None):
        """Places of the choice of the rule and of the best.

        Of models with as many features, one that can be read is preferred. `allowed`
        (n_candidates,) or None: places that may be chosen; None: all but baselines.
        """
        return choose(
            self.scores,
            self.sparsity,
            self.neighbours,
            errors=self.errors,
            **self._words(allowed),
        )

    @cached_property
    def neighbours(self):
        """Of each candidate: similar sizes of its method."""
        return Neighbours.of(self.sparsity, self.errors, self.paths)

    def choose_all(self, drawn):
        """`choose` for each draw of rows."""
        errors = (self.errors.drawn(row) if self.is_counted else self.errors for row in drawn)
        scores = self.scores_of(drawn)
        return choose_drawn(scores, self.sparsity, self.neighbours, errors, **self._words())

    def _words(self, allowed=None):
        return {
            "tolerance": self.tolerance,
            "allowed": self.ours if allowed is None else allowed,
            "preferred": self.readable,
            "twins": self.twins,
        }

    def choice(self, allowed=None):
        """The recommendation; among some candidates, if not all of ours are allowed."""
        result, place = self.find(self.choose(allowed=allowed)[0])
        level, n_features = float(result.levels[place]), whole(result.overall[place])
        return Choice(result.method.name, place, level, n_features)

    def behind(self, place, other):
        """How far one place is behind another."""
        difference = float(self.scores[other] - self.scores[place])
        return Behind(difference, float(self.errors.against(other)[place]))

    def good_level(self, result):
        """The sparsest level of one method that is good enough compared with its best."""
        first = self.place(result.method.name, 0)
        of_method = np.zeros(self.scores.size, dtype=bool)
        of_method[first : first + len(result.levels)] = True
        scores = np.where(of_method, self.scores, -np.inf)
        chosen, _ = choose(
            scores,
            self.sparsity,
            self.neighbours,
            tolerance=self.tolerance,
            allowed=of_method,
        )
        return chosen - first

    @cached_property
    def counts(self):
        """Which candidates count: all but those hardly better than a twin that can be read."""
        scores = without_twins(self.scores, self.twins, self.errors, self.tolerance)
        return np.isfinite(scores)

    def lower_band(self):
        """Lower limits that hold for all scores together with 95 % confidence.

        Whichever candidate is picked after seeing all of them, its true score is above its limit.
        The limits are ``S_a - q se_a`` with q the 95th percentile over draws of the largest
        ``(S*_a - S_a) / se*_a``, and at least that of a normal variable. Each draw has standard
        errors of its own: a candidate that looks best by chance also has an error that looks too
        small. Scores that are not counts have no such errors, and use those of all rows.

        Rows that train vary as well as rows that test: with K folds, the variance is multiplied by
        ``1 + K / (K - 1)``, as Nadeau and Bengio propose (with the variance of the test rows
        alone, 24 patients gave limits above the truth in 13 of 100 simulated studies).
        """
        errors = self.errors.alone()
        draws = replace(self.draws, n_draws=min(_BAND_DRAWS, n_draws_for(self.codes.size)))
        largest = [self._largest_excess(drawn, errors) for drawn in draws]
        if not largest:
            return np.full(self.scores.size, np.nan)
        factor = max(np.percentile(np.concatenate(largest), 95), _NORMAL_90)
        if self.n_folds is not None:
            factor *= np.sqrt(1 + self.n_folds / (self.n_folds - 1))
        return self.scores - factor * errors

    def _largest_excess(self, drawn, errors):
        """For each draw, by how many standard errors a score is above that of all rows at most."""
        if not self.is_counted:
            return ((self.scores_of(drawn) - self.scores) / errors).max(axis=1)
        rows = [self.errors.drawn(row) for row in drawn]
        return np.array([((row.scores() - self.scores) / row.alone()).max() for row in rows])

    def scores_of(self, weights):
        """Scores of every place under every weighting of the rows: (n_draws, n_places)."""
        if self.is_counted:
            shares = np.stack([self.errors.drawn(row).shares() * row for row in weights])
            right, step = self.errors.right, 32  # a few candidates at a time: copied as floats
            starts = range(0, len(right), step)
            return np.hstack([shares @ right[i : i + step].T.astype(np.float64) for i in starts])
        if self.weights is not None:
            weights = weights * self.weights
        return np.hstack([_score_all(r, self.codes, weights, self.scoring) for r in self.results])


def _share_right(labels, codes):
    """Share of the repeats in which each level is right on each row; 0 or 1 with one repeat."""
    if labels.shape[1] == 1:
        return (labels[:, 0] == codes).view(np.int8)
    return (labels == codes).mean(axis=1, dtype=np.float32)


def estimate(candidates, problem=None, *, positive=None, min_sensitivity=None, decided=None):
    """Honest score of the rule's choice.

    `problem`: of the candidates; None: no predictions of rows are returned. `decided`: returns the
    labels of a level of a result as the saved model decides, if other than those that the choice
    is made by.
    """
    left_out = LeftOut(candidates, positive, min_sensitivity, decided)
    out, behind, rates, found = [], [], [], []
    for drawn in candidates.draws:
        if min_sensitivity is not None:  # a threshold needs positive rows, and so does its test
            is_drawn = drawn[:, candidates.codes == positive] > 0
            drawn = drawn[is_drawn.any(axis=1) & ~is_drawn.all(axis=1)]
        for row, (chosen, best) in zip(drawn, candidates.choose_all(drawn), strict=True):
            score, rate, of_class = left_out.score(chosen, row)
            left_out.predict(chosen, row)
            out.append(score)
            behind.append(0.0 if best == chosen else left_out.score(best, row)[0] - score)
            rates.append(rate)
            found.append(of_class)
    if not out:
        nothing = float("nan")
        return Honest(nothing, nothing, nothing, nothing)
    low, high = np.percentile(out, [2.5, 97.5])
    low = min(low, _cautious_low(candidates, left_out))
    rates = None if min_sensitivity is None else np.mean(rates, axis=0)
    return Honest(
        float(np.mean(out)),
        float(low),
        float(high),
        float(np.percentile(behind, 95)),
        None if rates is None else float(rates[0]),
        None if rates is None else float(rates[1]),
        len(out),
        predictions=None if problem is None else left_out.predictions(problem),
        found=_mean_known(np.array(found)),
    )


def _mean_known(values):
    """Means of columns over the values that are not NaN; NaN for columns without any."""
    known = ~np.isnan(values)
    n_known = np.where(known.any(axis=0), known.sum(axis=0), np.nan)
    return np.where(known, values, 0.0).sum(axis=0) / n_known


def _cautious_low(candidates, left_out):
    """Lower limit of the score of the recommended model, from its own predictions."""
    chosen = candidates.choose()[0]
    result, place = candidates.find(chosen)
    codes, n_classes = candidates.codes, candidates.n_classes
    weights = candidates.weights
    sizes = effective_sizes(codes, n_classes, candidates.groups, weights)
    if candidates.scoring == "roc_auc":
        return cautious_area(result.scores[place], sizes)[0]
    decided = left_out.labels_of(chosen)
    repeats = [confusion(codes, labels, n_classes, weights) for labels in decided]
    counts = np.mean(repeats, axis=0)
    return cautious_interval(counts, candidates.scoring, candidates.draws.seed, sizes)[0]


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
