"""The comparison: every method on the same folds, a recommendation, and its honest score."""

from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tamis.comparison.choice import Candidates, Choice, Draws, Honest, estimate, n_draws_for
from tamis.comparison.methods import BASELINES, METHODS, find_method
from tamis.comparison.nested import estimate_nested, is_nested, pair_folds
from tamis.comparison.results import collect, judge
from tamis.comparison.units import Unit, run_units, shuffle_labels
from tamis.paths.folds import leave_one_batch_out, make_folds
from tamis.paths.rule import TOLERANCE

__all__ = ["Comparison", "Settings", "compare", "estimate_seconds", "leave_out"]

# By default, a method that would take longer than this is left out, whatever the machine.
PATIENCE = 600.0
_NOMINAL_CORES = 2


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
    tolerance : float
        A difference in score that is not worth a feature.
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
    tolerance: float = TOLERANCE
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
    candidates : Candidates or None
        All levels of the finished methods.
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
    candidates: Candidates | None = None
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

    @cached_property
    def lower_band(self):
        """Lower limits of the scores of all candidates that hold together."""
        return self.candidates.lower_band(_draws(self))

    @property
    def chosen(self):
        """Result and level of the recommendation."""
        return self.result(self.choice.method), self.choice.at


def estimate_seconds(problem, method, n_units):
    """Rough seconds of a method on one core: what its rule says of the size, times its units."""
    n_rows, n_columns = problem.encoded.shape
    n_stored = getattr(problem.encoded, "nnz", n_rows * n_columns)
    return n_units * find_method(method).seconds(n_rows, n_columns, n_stored, problem.classes.size)


def leave_out(problem, names, n_units):
    """Methods that would take too long, with their estimated seconds.

    Which ones depends on the sizes alone, so that a run does not depend on the machine.

    Parameters
    ----------
    problem : Problem
    names : sequence of str
    n_units : int
        Units of work of each.

    Returns
    -------
    left_out : dict of str to float
    """
    seconds = {name: estimate_seconds(problem, name, n_units) / _NOMINAL_CORES for name in names}
    left_out = {name: t for name, t in seconds.items() if t > PATIENCE}
    ours = [method.name for method in METHODS if method.name in seconds]
    if ours and all(name in left_out for name in ours):
        del left_out[min(ours, key=seconds.get)]  # at least one of ours
    return left_out


def plan(problem, settings):
    """The folds, and all units of work in the order they are done: the cheapest method first."""
    folds = make_folds(
        problem.codes, problem.groups, settings.n_folds, settings.n_repeats, settings.seed
    )
    pairs = []
    if is_nested(problem.n_rows, settings.n_folds):
        pairs = pair_folds(folds, settings.seed)
    units = []
    for name in sorted(settings.methods, key=lambda name: estimate_seconds(problem, name, 1)):
        units += _units(problem, settings, [name], folds, "cv")
        units += _units(problem, settings, [name], pairs, "pair")
    if problem.batches is not None:
        batches = leave_one_batch_out(problem.batches, problem.groups, settings.seed)
        units += _units(problem, settings, settings.methods, batches, "batch")
    for p in range(settings.permutations):
        codes = shuffle_labels(problem, [settings.seed, 11, p])
        shuffled = make_folds(
            codes, problem.groups, settings.n_folds, settings.n_repeats, settings.seed
        )
        units += _units(problem, settings, settings.methods, shuffled, f"shuffled{p}", p)
    return folds, units


def _units(problem, settings, names, folds, stage, shuffled=None):
    units = []
    for name in names:
        levels = tuple(find_method(name).levels(problem, settings.max_features))
        units += [
            Unit(f"{stage}-{name}-r{fold.repeat}-f{fold.number}", name, levels, fold, shuffled)
            for fold in folds
        ]
    return units


def compare(
    problem,
    settings,
    *,
    store=None,
    n_jobs=1,
    stop=lambda: False,
    at_least_one=True,
    begin=None,
    report=None,
):
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
        True starts no more units.
    at_least_one : bool
        Whether the units that the cheapest method needs are started in any case, so that there is
        always a model.
    begin, report : callable or None
        Called with every unit that is started, and with every finished one and its seconds.

    Returns
    -------
    comparison : Comparison
    why_stopped : str or None
        What ended it early: Ctrl-C, or a worker process that was killed.
    """
    folds, units = plan(problem, settings)
    first = next(u.method for u in units if not find_method(u.method).is_baseline)

    def skip(unit):
        is_needed = unit.method == first and unit.stage in ("cv", "pair")
        return not (at_least_one and is_needed) and stop()

    done, failed, why_stopped = {}, {}, None
    try:
        for unit, outcome in run_units(
            problem,
            units,
            seed=settings.seed,
            store=store,
            n_jobs=n_jobs,
            skip=skip,
            begin=begin,
        ):
            if isinstance(outcome, str):
                failed.setdefault(unit.method, outcome)
            else:
                done[unit.key] = (unit, outcome)
            if report is not None:
                report(unit, None if isinstance(outcome, str) else outcome.seconds)
    except KeyboardInterrupt:
        why_stopped = "stopped"
    except BrokenProcessPool:
        why_stopped = "a worker process was killed (out of memory? --n-jobs 1 needs less)"
    n_left = len([u for u in units if u.key not in done and u.method not in failed])
    comparison = Comparison(problem, settings, folds, failed=failed, n_left=n_left)
    pairs = [unit.method for unit in units if unit.stage == "pair" and unit.key not in done]
    results, unfinished = _gather(comparison, units, done, "cv", folds)
    comparison.results = [r for r in results if r.method.name not in pairs]
    comparison.unfinished = unfinished + [
        r.method.name for r in results if r not in comparison.results
    ]
    if any(not result.method.is_baseline for result in comparison.results):
        _conclude(comparison, units, done)
    return comparison, why_stopped


def _gather(comparison, units, done, stage, folds, codes=None):
    """Judged results of the methods all whose units are done; names of the others."""
    problem, settings = comparison.problem, comparison.settings
    codes = problem.codes if codes is None else codes
    results, unfinished = [], []
    n_repeats = max(fold.repeat for fold in folds) + 1
    for name in settings.methods:
        keys = [u.key for u in units if u.method == name and u.stage == stage]
        if not all(key in done for key in keys):
            unfinished.append(name)
            continue
        pairs = [done[key] for key in keys]
        result = collect(find_method(name), pairs, problem.n_rows, n_repeats, problem.kept)
        judge(
            result,
            codes,
            settings.scoring,
            settings.positive,
            settings.min_sensitivity,
            weights=problem.weights,
        )
        results.append(result)
    return results, unfinished


def _candidates(comparison, results, codes):
    problem, settings = comparison.problem, comparison.settings
    return Candidates(
        results,
        codes,
        problem.classes.size,
        scoring=settings.scoring,
        minimize=settings.minimize,
        tolerance=settings.tolerance,
        groups=problem.groups,
        weights=problem.weights,
        seed=settings.seed,
    )


def _conclude(comparison, units, done):
    """Recommendation, honest score, batches and permutations."""
    problem, settings = comparison.problem, comparison.settings
    comparison.candidates = _candidates(comparison, comparison.results, problem.codes)
    comparison.choice = comparison.candidates.choice()
    comparison.honest = estimate(
        comparison.candidates,
        _draws(comparison),
        positive=settings.positive,
        min_sensitivity=settings.min_sensitivity,
    )
    if is_nested(problem.n_rows, settings.n_folds):
        pairs = {
            name: [done[u.key] for u in units if u.method == name and u.stage == "pair"]
            for name in (result.method.name for result in comparison.results)
        }
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
                    problem.weights,
                )
    _permute(comparison, units, done)


def _permute(comparison, units, done):
    """P-value of the chosen score among those of shuffled labels."""
    problem, settings = comparison.problem, comparison.settings
    for p in range(settings.permutations):
        codes = shuffle_labels(problem, [settings.seed, 11, p])
        stage = f"shuffled{p}"
        folds = [unit.fold for unit in units if unit.stage == stage]
        folds = folds[: settings.n_folds * settings.n_repeats]
        results, unfinished = _gather(comparison, units, done, stage, folds, codes)
        if {*unfinished, *comparison.unfinished} - set(comparison.failed):
            return
        candidates = _candidates(comparison, results, codes)
        result, at = candidates.find(candidates.choose()[0])
        comparison.shuffled_scores.append(float(result.scores[at]))
    if settings.permutations:
        result, at = comparison.chosen
        reached = sum(s >= result.scores[at] for s in comparison.shuffled_scores)
        comparison.p_value = (1 + reached) / (1 + settings.permutations)


def _draws(comparison):
    problem = comparison.problem
    return Draws(
        problem.codes,
        problem.classes.size,
        problem.groups,
        n_draws_for(problem.n_rows),
        comparison.settings.seed,
        problem.weights,
    )


def all_names():
    """Names of all methods, ours first."""
    return [method.name for method in (*METHODS, *BASELINES)]


def batch_scores(comparison, result, at):
    """Accuracy of a level on every batch that was left out, by the number of the batch."""
    problem = comparison.problem
    right = result.labels[at, 0] == problem.codes
    return {int(b): float(right[problem.batches == b].mean()) for b in np.unique(problem.batches)}
