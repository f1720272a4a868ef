"""Run a comparison: plan its tasks, and conclude from their outcomes."""

from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from tamis.comparison.baselines import find_method
from tamis.comparison.choice import Candidates, estimate
from tamis.comparison.comparison import Comparison
from tamis.comparison.methods import METHODS
from tamis.comparison.nested import estimate_nested, is_nested, pair_folds
from tamis.comparison.options import Settings, without_methods
from tamis.comparison.results import collect, judge
from tamis.comparison.tasks import Task, run_tasks, shuffle_labels
from tamis.paths.folds import leave_one_batch_out, make_folds

__all__ = ["Plan", "estimate_seconds", "leave_out", "plan", "run"]

# By default, methods that would take longer than this are skipped, whatever the machine.
PATIENCE = 600.0
_NOMINAL_CORES = 2


def estimate_seconds(problem, method, n_tasks):
    """Rough seconds of a method on one core: its rule for this size, times its tasks."""
    n_rows, n_columns = problem.encoded.shape
    n_stored = getattr(problem.encoded, "nnz", n_rows * n_columns)
    return n_tasks * find_method(method).seconds(n_rows, n_columns, n_stored, problem.classes.size)


def leave_out(problem, names, n_tasks):
    """Find the methods that would take too long, with their estimated seconds.

    They depend on the sizes alone, so that the result does not depend on the machine.

    Parameters
    ----------
    problem : Problem
    names : sequence of str
    n_tasks : int
        Number of tasks of each.

    Returns
    -------
    left_out : dict of str to float
    """
    seconds = {name: estimate_seconds(problem, name, n_tasks) / _NOMINAL_CORES for name in names}
    left_out = {name: t for name, t in seconds.items() if t > PATIENCE}
    ours = [method.name for method in METHODS if method.name in seconds]
    if ours and all(name in left_out for name in ours):
        del left_out[min(ours, key=seconds.get)]  # keep at least one that is not a baseline
    return left_out


@dataclass(frozen=True)
class Plan:
    """Folds and tasks of a comparison.

    Attributes
    ----------
    settings : Settings
    folds : list of Fold
    tasks : list of Task
        In the order of execution: the cheapest method first.
    """

    settings: Settings
    folds: list
    tasks: list

    def without(self, methods):
        """The plan without some methods."""
        return Plan(
            without_methods(self.settings, methods),
            self.folds,
            [task for task in self.tasks if task.method not in methods],
        )


def plan(problem, settings):
    """Plan the folds and tasks for some data.

    Parameters
    ----------
    problem : Problem
    settings : Settings

    Returns
    -------
    plan : Plan
    """
    folds = make_folds(
        problem.codes, problem.groups, settings.n_folds, settings.n_repeats, settings.seed
    )
    pairs = []
    if is_nested(problem.n_rows, settings.n_folds):
        pairs = pair_folds(folds, settings.seed)
    tasks = []
    for name in sorted(settings.methods, key=lambda name: estimate_seconds(problem, name, 1)):
        tasks += _tasks(problem, settings, [name], folds, "cv")
        tasks += _tasks(problem, settings, [name], pairs, "pair")
    if problem.batches is not None:
        batches = leave_one_batch_out(problem.batches, problem.groups, settings.seed)
        tasks += _tasks(problem, settings, settings.methods, batches, "batch")
    for p in range(settings.permutations):
        codes = shuffle_labels(problem, settings.seed, p)
        shuffled = make_folds(
            codes, problem.groups, settings.n_folds, settings.n_repeats, settings.seed
        )
        tasks += _tasks(problem, settings, settings.methods, shuffled, f"shuffled{p}", p)
    return Plan(settings, folds, tasks)


def _tasks(problem, settings, names, folds, stage, shuffled=None):
    tasks = []
    for name in names:
        levels = tuple(find_method(name).levels(problem, settings.max_features))
        tasks += [
            Task(f"{stage}-{name}-r{fold.repeat}-f{fold.number}", name, levels, fold, shuffled)
            for fold in folds
        ]
    return tasks


def run(
    problem,
    planned,
    *,
    store=None,
    n_jobs=1,
    stop=lambda: False,
    at_least_one=True,
    begin=None,
    report=None,
):
    """Compare methods by cross-validation, and recommend one.

    Ctrl-C or `stop` ends the run with the methods finished by then.

    Parameters
    ----------
    problem : Problem
    planned : Plan
    store : Store or None
        Where finished tasks are saved and found again.
    n_jobs : int
        Number of processes. Results do not depend on it.
    stop : callable
        Returns True to start no more tasks.
    at_least_one : bool
        Whether the tasks of the cheapest method are always started, so that there is a model.
    begin, report : callable or None
        Called with each task that starts, and with each finished task and its seconds.

    Returns
    -------
    comparison : Comparison
        `why_stopped` says why it ended early: Ctrl-C, or a worker process that was killed.
    """
    settings, folds, tasks = planned.settings, planned.folds, planned.tasks
    first = next(u.method for u in tasks if not find_method(u.method).is_baseline)

    def skip(task):
        is_needed = task.method == first and task.stage in ("cv", "pair")
        return not (at_least_one and is_needed) and stop()

    done, failed, why_stopped = {}, {}, None
    try:
        for task, outcome in run_tasks(
            problem,
            tasks,
            seed=settings.seed,
            store=store,
            n_jobs=n_jobs,
            skip=skip,
            begin=begin,
        ):
            if isinstance(outcome, str):
                failed.setdefault(task.method, outcome)
            else:
                done[task.key] = (task, outcome)
            if report is not None:
                report(task, None if isinstance(outcome, str) else outcome.seconds)
    except KeyboardInterrupt:
        why_stopped = "stopped"
    except BrokenProcessPool:
        why_stopped = "a worker process was killed (out of memory? --n-jobs 1 needs less)"
    n_left = len([u for u in tasks if u.key not in done and u.method not in failed])
    comparison = Comparison(
        problem, settings, folds, failed=failed, n_left=n_left, why_stopped=why_stopped
    )
    pairs = [task.method for task in tasks if task.stage == "pair" and task.key not in done]
    results, unfinished = _gather(comparison, tasks, done, "cv", folds)
    comparison.results = [r for r in results if r.method.name not in pairs]
    comparison.unfinished = unfinished + [
        r.method.name for r in results if r not in comparison.results
    ]
    if any(not result.method.is_baseline for result in comparison.results):
        _conclude(comparison, tasks, done)
    return comparison


def _gather(comparison, tasks, done, stage, folds, codes=None):
    """Results with scores of the methods whose tasks are all done; names of the others."""
    problem, settings = comparison.problem, comparison.settings
    codes = problem.codes if codes is None else codes
    results, unfinished = [], []
    n_repeats = max(fold.repeat for fold in folds) + 1
    for name in settings.methods:
        keys = [u.key for u in tasks if u.method == name and u.stage == stage]
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


def _conclude(comparison, tasks, done):
    """Recommendation, honest score, batches and permutations."""
    problem, settings = comparison.problem, comparison.settings
    comparison.candidates = _candidates(comparison, comparison.results, problem.codes)
    comparison.choice = comparison.candidates.choice()
    comparison.honest_score = estimate(
        comparison.candidates,
        comparison.draws,
        positive=settings.positive,
        min_sensitivity=settings.min_sensitivity,
    )
    if is_nested(problem.n_rows, settings.n_folds):
        pairs = {
            name: [done[u.key] for u in tasks if u.method == name and u.stage == "pair"]
            for name in (result.method.name for result in comparison.results)
        }
        comparison.honest_score = estimate_nested(
            problem, settings, comparison.results, pairs, comparison.folds, comparison.honest_score
        )
    if problem.batches is not None:
        folds = leave_one_batch_out(problem.batches, problem.groups, settings.seed)
        comparison.batches, _ = _gather(comparison, tasks, done, "batch", folds)
        for result in comparison.batches:
            # The labels of a batch that is held out must not influence the threshold.
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
    _permute(comparison, tasks, done)


def _permute(comparison, tasks, done):
    """P-value of the chosen score, compared with scores for shuffled labels."""
    problem, settings = comparison.problem, comparison.settings
    for p in range(settings.permutations):
        codes = shuffle_labels(problem, settings.seed, p)
        stage = f"shuffled{p}"
        folds = [task.fold for task in tasks if task.stage == stage]
        folds = folds[: settings.n_folds * settings.n_repeats]
        results, unfinished = _gather(comparison, tasks, done, stage, folds, codes)
        if {*unfinished, *comparison.unfinished} - set(comparison.failed):
            return
        candidates = _candidates(comparison, results, codes)
        result, place = candidates.find(candidates.choose()[0])
        comparison.shuffled_scores.append(float(result.scores[place]))
    if settings.permutations:
        result, place = comparison.chosen
        reached = sum(s >= result.scores[place] for s in comparison.shuffled_scores)
        comparison.p_value = (1 + reached) / (1 + settings.permutations)
