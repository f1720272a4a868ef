r"""The cross-validation engine: paths over folds, one score, one standard error, one rule.

For each fold, a family trains a path on the training rows; the engine gets the labels (or
decisions) of the test rows at all levels, in chunks of bounded size, and records which levels are
right on which rows. With :math:`z_{ai}` the share of the folds testing row i in which level a is
right on it, the score of a level is

.. math:: S_a = \sum_i w_i z_{ai}, \qquad w_i = \frac{s_i}{C \sum_{j: y_j = y_i} s_j} \text{ or }
   \frac{s_i}{\sum_j s_j}

for balanced accuracy or accuracy, and its standard errors are those of `tamis.paths.rule`. Other
scorings have one score per fold, their mean, and standard errors over the folds, paired too.

Shapes: `right` (L, n) for L levels and the n rows that were tested, `fold_scores` (F, L).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from tamis._array import Matrix
from tamis._base.shared import Shared, call
from tamis.paths.path import Path
from tamis.paths.rule import TOLERANCE, Counted, Neighbours, PerFold, best_of, choose
from tamis.paths.scoring import is_counted, score_decisions
from tamis.paths.temperature import fit_temperature, match_folds

__all__ = [
    "CrossValidation",
    "Evaluation",
    "PathScores",
    "check_rule",
    "evaluate",
    "tabulate_folds",
]

# Number of decision values held in memory at a time.
_BLOCK = 8_000_000


def check_rule(rule: str) -> None:
    """Raise unless `rule` is one of the selection rules."""
    if not isinstance(rule, str) or rule not in ("best", "sparsest"):
        told = "(the fewest features that are good enough)"
        raise ValueError(f"rule must be 'best' or 'sparsest' {told}, got {rule!r}.")


@dataclass(frozen=True)
class Evaluation:
    """The scores of all levels of a path in one fold."""

    path: Path  # trained on the training rows
    test: NDArray  # test rows
    scores: NDArray  # (n_levels,): scores of the test rows
    # (n_levels, n_test) or None: which levels are right on which test rows; None if the scoring is
    # not a mean over rows.
    right: NDArray | None
    # n_features, cost: (n_levels,): counted features, and their cost, mean over the test rows.
    n_features: NDArray
    cost: NDArray
    # (n_levels, n_test, n_classes of the path) or None: decisions for the test rows, if they were
    # to be kept.
    decisions: NDArray | None = None


def evaluate(
    path: Path,
    X: Matrix,
    test: NDArray,
    codes: NDArray,
    classes: NDArray,
    scoring: str | Callable,
    sample_weight: NDArray | None = None,
    keep_decisions: bool = False,
) -> Evaluation:
    """Score all levels of a path on test rows.

    `path`: its classes are indices into `classes`; `X` (n_rows, n_columns): all rows; `test`: test
    rows; `codes` (n_rows,): class index of each row; `classes`: labels, for the scorers;
    `scoring`: as in scikit-learn; `sample_weight` (n_rows,) or None; `keep_decisions`: keep the
    decisions of all levels: for paths that take long to decide.
    """
    known = np.asarray(path.classes, dtype=np.intp)
    n_levels, weights = len(path), None if sample_weight is None else sample_weight[test]
    n_features, cost = np.zeros(n_levels), np.zeros(n_levels)
    kept = np.empty((n_levels, test.size, known.size)) if keep_decisions else None
    if is_counted(scoring):
        right = np.empty((n_levels, test.size), dtype=bool)
        size = max(1, _BLOCK // max(1, n_levels * known.size))
        place = np.full(len(classes), -1)  # of each class among those of the path
        place[known] = np.arange(known.size)
        truth = place[codes[test]]
        for start in range(0, test.size, size):
            rows = slice(start, start + size)
            if kept is None:
                labels, usage = path.labels_and_usage(X[test[rows]])
            else:
                kept[:, rows], usage = path.decisions_and_usage(X[test[rows]])
                labels = kept[:, rows].argmax(axis=2)
            right[:, rows] = labels == truth[rows].astype(labels.dtype)
            n_features += usage.n_features.sum(axis=1) / test.size
            cost += usage.cost.sum(axis=1) / test.size
        errors = Counted.of(
            right, codes[test], balanced=scoring == "balanced_accuracy", weight=weights
        )
        return Evaluation(path, test, errors.scores(), right, n_features, cost, kept)
    samples, y, scores = X[test], classes[codes[test]], np.empty(n_levels)
    size = max(1, _BLOCK // max(1, test.size * known.size))
    for start in range(0, n_levels, size):
        some = slice(start, start + size)
        decisions, usage = path.decisions_and_usage(samples, some)
        n_features[some] = usage.n_features.mean(axis=1)
        cost[some] = usage.cost.mean(axis=1)
        if kept is not None:
            kept[some] = decisions
        scores[some] = [
            score_decisions(scoring, d, classes, known, samples, y, weights) for d in decisions
        ]
    return Evaluation(path, test, scores, None, n_features, cost, kept)


@dataclass(frozen=True)
class CrossValidation:
    """Rows, labels and folds of a cross-validation."""

    X: Matrix  # (n_rows, n_columns)
    codes: NDArray  # (n_rows,): class indices
    classes: NDArray  # (n_classes,): labels
    splits: Sequence[tuple[NDArray, NDArray]]
    scoring: str | Callable
    sample_weight: NDArray | None = None  # (n_rows,) or None
    # (n_rows,) or None: sample groups, which count as one row in the standard errors.
    groups: NDArray | None = None
    keep_decisions: bool = False  # as in `evaluate`

    def walk(
        self, fit_path: Callable, n_jobs: int | None = None
    ) -> Generator[Evaluation, None, None]:
        """Yield the evaluations of the folds, computed as they are needed.

        `fit_path`: ``fit_path(rows, fold)`` trains a path on some rows; `fold` is the number of
        the fold. `n_jobs`: number of threads. Results do not depend on it.
        """

        def one(fold, train, test):
            return evaluate(
                fit_path(train, fold),
                self.X,
                test,
                self.codes,
                self.classes,
                self.scoring,
                self.sample_weight,
                self.keep_decisions,
            )

        shared = Shared(one)
        return Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(call)(shared, fold, *split) for fold, split in enumerate(self.splits)
        )

    def gather(self, evaluations: Sequence[Evaluation]) -> PathScores:
        """Combine the evaluations of the folds; at least one."""
        fold_scores = np.stack([e.scores for e in evaluations])
        n_features = np.mean([e.n_features for e in evaluations], axis=0)
        cost = np.mean([e.cost for e in evaluations], axis=0)
        if evaluations[0].right is None:
            errors = PerFold(fold_scores)
            scores = fold_scores.mean(axis=0)
        else:
            errors = self._count(evaluations)
            scores = errors.scores()
        return PathScores(self, list(evaluations), scores, errors, fold_scores, n_features, cost)

    def _count(self, evaluations):
        """Which levels are right on which rows, as a share of the folds that test a row."""
        times = np.zeros(self.codes.size)
        for evaluation in evaluations:
            np.add.at(times, evaluation.test, 1.0)
        if self.sample_weight is not None:  # weight 0 ignores a row
            times[self.sample_weight == 0] = 0.0
        rows = np.flatnonzero(times)
        place = np.cumsum(times > 0) - 1
        right = np.zeros((len(evaluations[0].path), rows.size), dtype=np.float32)
        for evaluation in evaluations:
            counted = times[evaluation.test] > 0
            tested = place[evaluation.test[counted]]
            if np.unique(tested).size == tested.size:
                right[:, tested] += evaluation.right[:, counted]
            else:  # a row may be tested twice
                np.add.at(right.T, tested, evaluation.right[:, counted].T)
        right /= times[rows]
        return Counted.of(
            right,
            self.codes[rows],
            balanced=self.scoring == "balanced_accuracy",
            groups=None if self.groups is None else self.groups[rows],
            weight=None if self.sample_weight is None else self.sample_weight[rows],
        )


@dataclass(frozen=True)
class PathScores:
    """Scores of all levels of a path, and what follows from them."""

    cross_validation: CrossValidation
    evaluations: list[Evaluation] = field(repr=False)  # one per fold
    # (n_levels,): of all out-of-fold predictions together, or the mean over folds (see the
    # module).
    scores: NDArray
    # Standard errors of scores and of their differences.
    errors: Counted | PerFold = field(repr=False)
    fold_scores: NDArray  # (n_folds, n_levels)
    # n_features, cost: (n_levels,): number of counted features, and their cost, mean over folds
    # and their test rows.
    n_features: NDArray
    cost: NDArray

    def choose(self, rule: str = "best", tolerance: float = TOLERANCE) -> int:
        """Place of the level that the rule selects.

        `rule`: the best score, ties to the sparsest; or the sparsest level that is good enough
        (`tamis.paths.rule`). `tolerance`: for "sparsest": difference in score that is not worth
        another feature.
        """
        check_rule(rule)
        if np.isnan(self.scores).all():
            raise ValueError("Every score is NaN: this scoring cannot be used on these folds.")
        scores = np.where(np.isnan(self.scores), -np.inf, self.scores)
        if rule == "best":
            return best_of(scores, self.n_features)
        neighbours = Neighbours.of(self.n_features, self.errors)
        return choose(scores, self.n_features, neighbours, tolerance=tolerance)[0]

    def stability(self, level: int) -> NDArray[np.float64]:
        """Share of folds whose model uses each column, at one level."""
        counts = np.zeros(self.cross_validation.X.shape[1])
        for evaluation in self.evaluations:
            counts[evaluation.path.features(level)] += 1
        return counts / len(self.evaluations)

    def temperature(self, level: int, class_mass: NDArray | None = None) -> float:
        """Temperature of the out-of-fold decisions of one level.

        `class_mass` (n_classes,) or None: total weight of the rows of each class; None: rows have
        their sample weights.
        """
        cv = self.cross_validation
        decisions, tests = [], []
        for evaluation in self.evaluations:
            known = np.asarray(evaluation.path.classes, dtype=np.intp)
            of_fold = np.full((evaluation.test.size, len(cv.classes)), -np.inf)
            if evaluation.decisions is not None:
                of_fold[:, known] = evaluation.decisions[level]
            else:
                some = slice(level, level + 1)
                of_fold[:, known] = evaluation.path.decisions(cv.X[evaluation.test], some)[0]
            decisions.append(of_fold)
            tests.append(evaluation.test)
        rows = np.concatenate(tests)
        weights = np.ones(rows.size) if cv.sample_weight is None else cv.sample_weight[rows]
        mass, n_rows = weights, weights.sum()
        truth = cv.codes[rows]
        if class_mass is not None:
            of_class = np.bincount(truth, weights=mass, minlength=len(cv.classes))
            mass = mass * (class_mass / np.where(of_class > 0, of_class, 1.0))[truth]
        fold_of = np.repeat(np.arange(len(tests)), [test.size for test in tests])
        matched = match_folds(np.concatenate(decisions), fold_of, weights)
        return fit_temperature(matched, truth, mass, n_rows)

    def as_path(self, **more: NDArray) -> dict[str, NDArray]:
        """The `path_` of the CV classes: the same keys in every family, plus additional ones."""
        return {
            "level": np.asarray(self.evaluations[0].path.levels),
            "n_features": self.n_features,
            "score": self.scores,
            "standard_error": self.errors.alone(),
            "cost": self.cost,
            **more,
        }

    def as_cv_results(self, parameter: str) -> dict:
        """`cv_results_` in scikit-learn's form, with the levels as values of one parameter."""
        levels = np.asarray(self.evaluations[0].path.levels)
        return tabulate_folds(parameter, levels, self.fold_scores)


def tabulate_folds(parameter: str, levels: NDArray, fold_scores: NDArray) -> dict:
    """Scores of the folds in the form of scikit-learn's `cv_results_`.

    `parameter`: name of the parameter whose values are the levels; `levels` (n_levels,);
    `fold_scores` (n_folds, n_levels).
    """
    mean = fold_scores.mean(axis=0)
    rank = np.ones(levels.size, dtype=np.int32)
    rank += (np.nan_to_num(mean, nan=-np.inf)[:, None] < mean).sum(axis=1, dtype=np.int32)
    results = {
        f"param_{parameter}": np.ma.MaskedArray(levels, mask=np.zeros(levels.size, dtype=bool)),
        "params": [{parameter: level} for level in levels.tolist()],
    }
    for fold, scores in enumerate(fold_scores):
        results[f"split{fold}_test_score"] = scores
    results["mean_test_score"] = mean
    results["std_test_score"] = fold_scores.std(axis=0)
    results["rank_test_score"] = rank
    return results
