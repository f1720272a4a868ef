"""Run a comparison: plan its tasks, and conclude from their outcomes."""

import math
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tamis.comparison.attempts import attempt
from tamis.comparison.choosing.choice import Candidates, estimate
from tamis.comparison.choosing.decisions import decide_level
from tamis.comparison.choosing.nested import estimate_nested, is_nested, pair_folds
from tamis.comparison.choosing.results import collect
from tamis.comparison.comparison import Comparison
from tamis.comparison.further.assay import assay_errors, measure_again
from tamis.comparison.further.held_out import Split, make_splits, predict_held_out
from tamis.comparison.further.learning_curve import describe_curve, fewer_rows
from tamis.comparison.methods.baselines import estimate_seconds, find_method
from tamis.comparison.running.tasks import Task, run_tasks, shuffle_labels
from tamis.comparison.settings import Settings
from tamis.paths.folds import Fold, make_folds

__all__ = ["PATIENCE", "WHOLE", "Plan", "drop_slow", "plan", "run"]

# By default, methods that would take longer than this are skipped, whatever the machine.
PATIENCE = 600.0
_CORES = 2
#: Stages of tasks that train on all rows begin with this.
WHOLE = "whole-"
# What is known of each kind of held-out rows.
_HELD_OUT = {"batch": "left_out_batches", "time": "time_order"}


@dataclass(frozen=True)
class Plan:
    """Folds and tasks of a comparison."""

    settings: Settings
    folds: list
    tasks: list  # in the order of execution: the cheapest method first
    splits: list[Split] = field(default_factory=list)  # batches and times that are held out

    def without(self, methods):
        """The plan without some methods."""
        left = tuple(name for name in self.settings.methods if name not in methods)
        tasks = [task for task in self.tasks if task.method in left]
        return Plan(replace(self.settings, methods=left), self.folds, tasks, self.splits)


def plan(problem, settings):
    """Plan the folds and tasks for some data."""
    folds = make_folds(
        problem.codes, problem.groups, settings.n_folds, settings.n_repeats, settings.seed
    )
    pairs = []
    if is_nested(problem.n_rows, settings.n_folds):
        pairs = pair_folds(folds, settings.seed)
    tasks = []
    for name in sorted(settings.methods, key=lambda name: estimate_seconds(problem, _first(name))):
        tasks += _tasks(problem, settings, [name], folds, "cv")
        tasks += _tasks(problem, settings, [name], pairs, "pair")
        tasks += _whole(problem, settings, [name], "cv")
    splits = make_splits(problem, settings)
    for split in splits:
        if split.inner:
            tasks += _tasks(problem, settings, settings.methods, [split.fold], split.stage)
            tasks += _tasks(problem, settings, settings.methods, split.inner, split.inner_stage)
    # What cannot be done is said before hours of work.
    if settings.learning_curve:
        fewer_rows(problem, folds, settings.seed)
    if settings.assay_error is not None or settings.assay_errors:
        assay_errors(problem, settings)
    for p in range(settings.permutations):
        codes = shuffle_labels(problem, settings.seed, p)
        shuffled = make_folds(
            codes, problem.groups, settings.n_folds, settings.n_repeats, settings.seed
        )
        tasks += _tasks(problem, settings, settings.methods, shuffled, f"shuffled{p}", p)
        tasks += _whole(problem, settings, settings.methods, f"shuffled{p}", p)
    return Plan(settings, folds, tasks, splits)


def _first(name):
    """The method that a method is trained with, or itself."""
    return find_method(name).trains_with or name


def drop_slow(planned, problem, named, notes, needed=()):
    """Drop the methods that would take too long from a plan, with a note.

    They depend on the sizes alone, so that the result does not depend on the machine. Methods that
    the user named are kept, and so is at least one that is not a baseline.

    `named`: methods that the user named; `notes`: receives messages for the user; `needed`:
    methods without which another option has no answer: they are kept, too. Returns `planned`;
    `left_out`: estimated seconds of the methods that were dropped.
    """
    methods = planned.settings.methods
    n_tasks = sum(task.method == methods[0] for task in planned.tasks)
    # Methods that are trained together are run or dropped together.
    seconds = {
        name: n_tasks
        / _CORES
        * sum(estimate_seconds(problem, n) for n in methods if _first(n) == _first(name))
        for name in methods
    }
    left_out = {name: t for name, t in seconds.items() if t > PATIENCE}
    allow = planned.settings.allow_baselines
    ours = [name for name in methods if not find_method(name, allow).is_baseline]
    if ours and all(name in left_out for name in ours):
        del left_out[min(ours, key=seconds.get)]
    left_out = {name: t for name, t in left_out.items() if name not in (*named, *needed)}
    for name, t in left_out.items():
        told = f"{t / 60:.0f} min" if t < 5400 else f"{t / 3600:.1f} h"
        notes.append(f"{name} is not run: it would take about {told} (--methods all runs it)")
    planned = planned.without(left_out)
    left = planned.settings.methods
    added = [n for n in left if find_method(n, allow).is_baseline and n not in named]
    if named != ("auto",) and added:
        notes.append(f"also running the baselines: {', '.join(added)}")
    return planned, left_out


def _tasks(problem, settings, names, folds, stage, shuffled=None):
    tasks = []
    for name in names:
        levels = tuple(find_method(name).levels(problem, settings.max_features))
        tasks += [Task(stage, name, levels, fold, shuffled) for fold in folds]
    return tasks


def _whole(problem, settings, names, stage, shuffled=None):
    """Trainings on all rows, of the methods whose number of features depends on the rows."""
    names = [name for name in names if find_method(name).size_varies]
    rows = np.arange(problem.n_rows)
    fold = Fold(0, 0, rows, rows[:0], settings.seed)
    return _tasks(problem, settings, names, [fold], f"{WHOLE}{stage}", shuffled)


def run(
    problem,
    planned,
    *,
    store=None,
    n_jobs=1,
    deadline=math.inf,
    only_finished=False,
    callbacks=(),
):
    """Compare methods by cross-validation, and recommend one.

    Ctrl-C, the deadline or a callback ends the run with the methods finished by then.

    `store`: where finished tasks are saved and found again. `n_jobs`: number of processes. Results
    do not depend on it. `deadline`: time (`time.perf_counter`) after which no task starts, except
    those of the cheapest method, so that there is a model. `only_finished`: start no task; use the
    finished ones only. `callbacks`: told of each task that starts or ends; may stop the run.
    Returns `comparison`: `why_stopped` says why it ended early: Ctrl-C, or a worker process that
    was killed.
    """
    settings, folds, tasks = planned.settings, planned.folds, planned.tasks
    allow = settings.allow_baselines
    first = next(u.method for u in tasks if not find_method(u.method, allow).is_baseline)
    is_stopped = only_finished

    def start(task):
        is_needed = (
            task is not None
            and task.method == first
            and task.stage in ("cv", "pair", f"{WHOLE}cv")
            and not only_finished
        )
        if not is_needed and (is_stopped or time.perf_counter() > deadline):
            return False
        for callback in callbacks if task is not None else ():
            callback.on_task_begin(task)
        return True

    def do(tasks):
        nonlocal is_stopped
        for task, outcome in run_tasks(
            problem,
            tasks,
            seed=settings.seed,
            store=store,
            n_jobs=n_jobs,
            start=start,
        ):
            if isinstance(outcome, str):
                failed.setdefault(task.method, outcome)
            else:
                done[task.key] = (task, outcome)
            seconds = None if isinstance(outcome, str) else outcome.seconds
            for callback in callbacks:
                is_stopped |= bool(callback.on_task_end(task, seconds))

    done, failed, why_stopped = {}, {}, None
    try:
        do(tasks)
    except KeyboardInterrupt:
        why_stopped = "stopped"
    except BrokenProcessPool:
        why_stopped = "a worker process was killed (out of memory? --n-jobs 1 needs less)"
    n_left = len([u for u in tasks if u.key not in done and u.method not in failed])
    comparison = Comparison(
        problem, settings, folds, failed=failed, n_left=n_left, why_stopped=why_stopped
    )
    pairs = [task.method for task in tasks if task.stage == "pair" and task.key not in done]
    results, unfinished = _gather(comparison, tasks, done, "cv")
    comparison.results = [r for r in results if r.method.name not in pairs]
    comparison.unfinished = unfinished + [
        r.method.name for r in results if r not in comparison.results
    ]
    if any(not result.method.is_baseline for result in comparison.results):
        comparison.candidates = Candidates.of(comparison.results, problem, settings)
        comparison.recommended = comparison.candidates.choice()
        try:
            _add_scores(comparison, planned, done)
            if why_stopped is None:
                _ask_more(comparison, do, done, is_over=lambda: not start(None))
        except KeyboardInterrupt:
            comparison.why_stopped = "stopped"
            if comparison.honest is None:
                comparison.not_described["honest_score"] = "stopped before it was done"
        wants_assay = settings.assay_error is not None or settings.assay_errors
        lacks_assay = comparison.assay is None and "assay" not in comparison.not_described
        comparison.n_left += bool(wants_assay and lacks_assay and not only_finished)
    return comparison


def _gather(comparison, tasks, done, stage, codes=None):
    """Results with scores of the methods whose tasks are all done; names of the others."""
    problem, settings = comparison.problem, comparison.settings
    results, unfinished = [], []
    for name in settings.methods:
        keys = [u.key for u in tasks if u.method == name and u.stage == stage]
        of_all = [u.key for u in tasks if u.method == name and u.stage == f"{WHOLE}{stage}"]
        if not all(key in done for key in (*keys, *of_all)):
            unfinished.append(name)
            continue
        pairs = [done.pop(key) for key in keys]  # of the size of the result
        whole = done.pop(of_all[0])[1] if of_all else None
        method = find_method(name, settings.allow_baselines)
        results.append(collect(method, pairs, problem, settings, codes, whole))
    return results, unfinished


def _score_honestly(comparison, tasks, done):
    """The score of the whole procedure."""
    problem, settings = comparison.problem, comparison.settings
    nested = is_nested(problem.n_rows, settings.n_folds)
    honest = estimate(
        comparison.candidates,
        None if nested else problem,
        positive=settings.positive,
        min_sensitivity=settings.min_sensitivity,
        decided=partial(decide_level, problem=problem, settings=settings),
    )
    if nested:
        pairs = {
            name: [done[u.key] for u in tasks if u.method == name and u.stage == "pair"]
            for name in (result.method.name for result in comparison.results)
        }
        honest = estimate_nested(
            problem, settings, comparison.results, pairs, comparison.folds, honest
        )
    return honest


def _add_scores(comparison, planned, done):
    """Honest score, batches, times and permutations, each of which may fail alone."""
    failed = comparison.not_described
    comparison.honest = attempt(
        failed, "honest_score", partial(_score_honestly, comparison, planned.tasks, done)
    )
    for stage in dict.fromkeys(split.stage for split in planned.splits):
        predict = partial(
            predict_held_out,
            comparison.problem,
            comparison.settings,
            [split for split in planned.splits if split.stage == stage],
            [result.method for result in comparison.results],
            list(done.values()),
            comparison.failed,
        )
        held_out = attempt(failed, _HELD_OUT[stage], predict)
        if held_out is not None:
            comparison.held_out[stage] = held_out
    attempt(failed, "permutations", lambda: _permute(comparison, planned.tasks, done))


def _ask_more(comparison, do, done, is_over):
    """What needs the recommended method once more: fewer rows, and measurement errors."""
    problem, settings, failed = comparison.problem, comparison.settings, comparison.not_described
    result, place = comparison.chosen

    def measure():
        return measure_again(problem, settings, result, place, comparison.folds)

    if settings.learning_curve:
        draw = partial(_draw_curve, comparison, do, done)
        comparison.learning_curve = attempt(failed, "learning_curve", draw)
    if (settings.assay_error is not None or settings.assay_errors) and not is_over():
        comparison.assay = attempt(failed, "assay", measure)


def _draw_curve(comparison, do, done):
    """The learning curve; None if tasks are left to do."""
    problem, settings, failed = comparison.problem, comparison.settings, comparison.failed
    result, place = comparison.chosen
    name, before = result.method.name, dict(failed)
    parts = fewer_rows(problem, comparison.folds, settings.seed)
    tasks = {n: _tasks(problem, settings, [name], some, f"curve{n}") for n, some in parts.items()}
    do([task for some in tasks.values() for task in some])
    if name in failed and name not in before:
        raise RuntimeError(failed.pop(name))  # of fewer rows alone: the method itself is finished
    left = [task for some in tasks.values() for task in some if task.key not in done]
    comparison.n_left += len(left)
    if left:
        return None
    outcomes = {n: [done[task.key][1] for task in some] for n, some in tasks.items()}
    return describe_curve(problem, settings, result, place, parts, outcomes)


def _permute(comparison, tasks, done):
    """P-value of the chosen score, compared with scores for shuffled labels."""
    problem, settings = comparison.problem, comparison.settings
    for p in range(settings.permutations):
        codes = shuffle_labels(problem, settings.seed, p)
        results, unfinished = _gather(comparison, tasks, done, f"shuffled{p}", codes)
        if {*unfinished, *comparison.unfinished} - set(comparison.failed):
            return
        candidates = Candidates.of(results, problem, settings, codes)
        result, place = candidates.find(candidates.choose()[0])
        comparison.shuffled_scores.append(float(result.scores[place]))
    if settings.permutations:
        result, place = comparison.chosen
        reached = sum(s >= result.scores[place] for s in comparison.shuffled_scores)
        comparison.p_value = (1 + reached) / (1 + settings.permutations)
