"""The comparison: every method on the same folds, a recommendation, and its honest score."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tamis.comparison.choice import (
    Choice,
    Draws,
    Honest,
    choose,
    estimate,
    measure_errors,
    n_draws_for,
)
from tamis.comparison.folds import leave_one_batch_out, make_folds
from tamis.comparison.methods import BASELINES, METHODS, find_method
from tamis.comparison.nested import estimate_nested, is_nested, pair_folds
from tamis.comparison.results import collect, judge
from tamis.comparison.units import Unit, run_units, shuffle_labels

__all__ = ["Comparison", "Settings", "compare", "estimate_seconds", "leave_out"]

# By default, a method that would take longer than this is left out.
PATIENCE = 600.0
# Draws of a bootstrap that needs standard errors only.
_SHUFFLED_DRAWS = 200


@dataclass(frozen=True)
class Settings:
    """What is compared, and how.

    Attributes
    ----------
    methods : tuple of str
        Names of methods and baselines.
    n_folds, n_repeats, seed : int
    scoring : str
    minimize : {"overall", "per-sample"}
    max_features : int or None
        Largest number of features of a model.
    positive : int or None
        Index of the class that `min_sensitivity` is about.
    min_sensitivity : float or None
    permutations : int
        How often everything is done again with shuffled labels.
    """

    methods: tuple
    n_folds: int = 5
    n_repeats: int = 1
    seed: int = 0
    scoring: str = "balanced_accuracy"
    minimize: str = "overall"
    max_features: int | None = None
    positive: int | None = None
    min_sensitivity: float | None = None
    permutations: int = 0


@dataclass
class Comparison:
    """What was found.

    Attributes
    ----------
    problem : Problem
    settings : Settings
    folds : list of Fold
    results : list of MethodResult
        Of the methods that were finished, ours first.
    unfinished : list of str
        Methods that were not.
    failed : dict of str to str
        What was wrong, for methods that cannot deal with these data.
    choice : Choice or None
        The recommendation.
    honest : Honest or None
        Its honest score.
    batches : list of MethodResult
        With one batch left out at a time.
    p_value : float or None
        Of the permutations.
    shuffled_scores : list of float
        Scores of what is chosen with shuffled labels.
    n_left : int
        Units of work that were not done.
    """

    problem: object
    settings: Settings
    folds: list
    results: list = field(default_factory=list)
    unfinished: list = field(default_factory=list)
    failed: dict = field(default_factory=dict)
    choice: Choice | None = None
    honest: Honest | None = None
    batches: list = field(default_factory=list)
    p_value: float | None = None
    shuffled_scores: list = field(default_factory=list)
    n_left: int = 0

    def result(self, name):
        """Result of a method, or None."""
        return next((r for r in self.results if r.method.name == name), None)

    @cached_property
    def whole(self):
        """All rows as a `Part`, for the final model and for what is said about its features."""
        rows = np.arange(self.problem.n_rows)
        return self.problem.train_part(rows, self.problem.codes, self.settings.seed)

    @property
    def chosen(self):
        """Result and level of the recommendation."""
        return self.result(self.choice.method), self.choice.at


def estimate_seconds(problem, method, n_units):
    """Rough seconds of a method on one core: what its rule says of the size, times its units."""
    n_rows, n_columns = problem.encoded.shape
    n_stored = getattr(problem.encoded, "nnz", n_rows * n_columns)
    return n_units * find_method(method).seconds(n_rows, n_columns, n_stored, problem.classes.size)


def leave_out(problem, names, n_units, n_jobs, patience=PATIENCE):
    """Methods that would take too long, with their estimated seconds.

    Parameters
    ----------
    problem : Problem
    names : sequence of str
    n_units : int
        Units of work of each.
    n_jobs : int
    patience : float
        Seconds that one method may take.

    Returns
    -------
    estimates, left_out : dict of str to float
        Seconds of all methods, and of those that are left out.
    """
    estimates = {name: estimate_seconds(problem, name, n_units) / n_jobs for name in names}
    left_out = {name: t for name, t in estimates.items() if t > patience}
    ours = [method.name for method in METHODS if method.name in estimates]
    if ours and all(name in left_out for name in ours):
        del left_out[min(ours, key=estimates.get)]  # at least one of ours
    return estimates, left_out


def plan(problem, settings):
    """The folds, and all units of work in the order they are done."""
    folds = make_folds(
        problem.codes, problem.groups, settings.n_folds, settings.n_repeats, settings.seed
    )
    units = _units(problem, settings, folds, "cv")
    if is_nested(problem.n_rows, settings.n_folds):
        units += _units(problem, settings, pair_folds(folds, settings.seed), "pair")
    if problem.batches is not None:
        batches = leave_one_batch_out(problem.batches, problem.groups, settings.seed)
        units += _units(problem, settings, batches, "batch")
    for p in range(settings.permutations):
        codes = shuffle_labels(problem, [settings.seed, 11, p])
        shuffled = make_folds(
            codes, problem.groups, settings.n_folds, settings.n_repeats, settings.seed
        )
        units += _units(problem, settings, shuffled, f"shuffled{p}", p)
    return folds, units


def _units(problem, settings, folds, stage, shuffled=None):
    units = []
    for name in settings.methods:
        levels = tuple(find_method(name).levels(problem, settings.max_features))
        units += [
            Unit(f"{stage}-{name}-r{fold.repeat}-f{fold.number}", name, levels, fold, shuffled)
            for fold in folds
        ]
    return units


def compare(problem, settings, *, store=None, n_jobs=1, stop=lambda: False, report=None):
    """Compare methods by cross-validation, and recommend one.

    Ctrl-C, or `stop`, ends with the methods that are finished by then.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    store : Store or None
        Where finished units are kept, and found again.
    n_jobs : int
        Processes. Results do not depend on it.
    stop : callable
        True begins no more units.
    report : callable or None
        Called with every finished unit.

    Returns
    -------
    comparison : Comparison
    interrupted : bool
        Whether Ctrl-C ended it.
    """
    folds, units = plan(problem, settings)
    done, failed, interrupted = {}, {}, False
    try:
        for unit, outcome in run_units(
            problem, units, seed=settings.seed, store=store, n_jobs=n_jobs, stop=stop
        ):
            if isinstance(outcome, str):
                failed.setdefault(unit.method, outcome)
            else:
                done[unit.key] = (unit, outcome)
            if report is not None:
                report(unit)
    except KeyboardInterrupt:
        interrupted = True
    n_left = len([u for u in units if u.key not in done and u.method not in failed])
    comparison = Comparison(problem, settings, folds, failed=failed, n_left=n_left)
    comparison.results, comparison.unfinished = _gather(comparison, units, done, "cv", folds)
    if any(not result.method.is_baseline for result in comparison.results):
        _conclude(comparison, units, done)
    return comparison, interrupted


def _gather(comparison, units, done, stage, folds, codes=None):
    """Judged results of the methods all whose units are done; names of the others."""
    problem, settings = comparison.problem, comparison.settings
    codes = problem.codes if codes is None else codes
    results, unfinished = [], []
    n_repeats = max(fold.repeat for fold in folds) + 1
    for name in settings.methods:
        keys = [u.key for u in units if u.method == name and u.key.startswith(f"{stage}-")]
        if not all(key in done for key in keys):
            unfinished.append(name)
            continue
        pairs = [done[key] for key in keys]
        result = collect(find_method(name), pairs, problem.n_rows, n_repeats, problem.kept)
        judge(result, codes, settings.scoring, settings.positive, settings.min_sensitivity)
        results.append(result)
    return results, unfinished


def _conclude(comparison, units, done):
    """Recommendation, honest score, batches and permutations."""
    problem, settings = comparison.problem, comparison.settings
    draws = _draws(comparison, problem.codes, n_draws_for(problem.n_rows))
    scores = measure_errors(comparison.results, draws, settings.scoring)
    comparison.choice = choose(comparison.results, settings.minimize)
    comparison.honest = estimate(
        comparison.results,
        draws,
        scores,
        scoring=settings.scoring,
        minimize=settings.minimize,
        positive=settings.positive,
        min_sensitivity=settings.min_sensitivity,
    )
    pairs = _pairs(comparison, units, done)
    if pairs is not None:
        comparison.honest = estimate_nested(
            problem, settings, comparison.results, pairs, comparison.folds, comparison.honest
        )
    if problem.batches is not None:
        folds = leave_one_batch_out(problem.batches, problem.groups, settings.seed)
        comparison.batches, _ = _gather(comparison, units, done, "batch", folds)
        for result in comparison.batches:
            # The labels of a batch that is left out must not move the threshold.
            known = comparison.result(result.method.name)
            if known is not None and known.thresholds is not None:
                judge(
                    result,
                    problem.codes,
                    settings.scoring,
                    settings.positive,
                    settings.min_sensitivity,
                    known.thresholds,
                )
    for p in range(settings.permutations):
        codes = shuffle_labels(problem, [settings.seed, 11, p])
        stage = f"shuffled{p}"
        folds = [unit.fold for unit in units if unit.key.startswith(f"{stage}-")]
        folds = folds[: settings.n_folds * settings.n_repeats]
        results, unfinished = _gather(comparison, units, done, stage, folds, codes)
        if {*unfinished, *comparison.unfinished} - set(comparison.failed):
            break
        draws = _draws(comparison, codes, _SHUFFLED_DRAWS)
        measure_errors(results, draws, settings.scoring)
        chosen = choose(results, settings.minimize)
        result = next(r for r in results if r.method.name == chosen.method)
        comparison.shuffled_scores.append(float(result.scores[chosen.at]))
    else:
        if settings.permutations:
            result, at = comparison.chosen
            reached = sum(s >= result.scores[at] for s in comparison.shuffled_scores)
            comparison.p_value = (1 + reached) / (1 + settings.permutations)


def _pairs(comparison, units, done):
    """Outcomes of all pairs of folds, by method; None where there are none, or not all."""
    pairs = {}
    for result in comparison.results:
        name = result.method.name
        keys = [u.key for u in units if u.method == name and u.key.startswith("pair-")]
        if not keys or not all(key in done for key in keys):
            return None
        pairs[name] = [done[key] for key in keys]
    return pairs


def _draws(comparison, codes, n_draws):
    problem = comparison.problem
    seed = comparison.settings.seed
    return Draws(codes, problem.classes.size, problem.groups, n_draws, seed)


def all_names():
    """Names of all methods, ours first."""
    return [method.name for method in (*METHODS, *BASELINES)]


def batch_scores(comparison, result, at):
    """Accuracy of a level on every batch that was left out, by the number of the batch."""
    problem = comparison.problem
    right = result.labels[at, 0] == problem.codes
    return {int(b): float(right[problem.batches == b].mean()) for b in np.unique(problem.batches)}
