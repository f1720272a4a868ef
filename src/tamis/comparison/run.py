"""Run a comparison: plan its tasks, cross-validate, recommend.

`plan` makes a `Plan`, `run` an `Outcome`, `recommend` a `Recommendation`: each is complete when it
exists, and made from those before it.
"""

import math
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from tamis.comparison.attempts import attempt
from tamis.comparison.choosing.choice import Candidates, Choice, Honest, estimate
from tamis.comparison.choosing.decisions import decide_level
from tamis.comparison.choosing.nested import estimate_nested, is_nested, pair_folds
from tamis.comparison.choosing.results import MethodResult, collect
from tamis.comparison.further.assay import assay_errors, measure_again
from tamis.comparison.further.held_out import HeldOut, Split, make_splits, predict_held_out
from tamis.comparison.further.learning_curve import describe_curve, fewer_rows
from tamis.comparison.methods.baselines import estimate_seconds, find_method
from tamis.comparison.problem.problem import Problem
from tamis.comparison.running.tasks import Task, run_tasks, shuffle_labels
from tamis.comparison.settings import Settings
from tamis.paths.folds import Fold, make_folds

__all__ = [
    "PATIENCE",
    "WHOLE",
    "Outcome",
    "Plan",
    "Recommendation",
    "Work",
    "drop_slow",
    "plan",
    "recommend",
    "run",
]

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
    beside = planned.settings.beside
    ours = [name for name in methods if not find_method(name, beside).is_baseline]
    if ours and all(name in left_out for name in ours):
        del left_out[min(ours, key=seconds.get)]
    left_out = {name: t for name, t in left_out.items() if name not in (*named, *needed)}
    for name, t in left_out.items():
        told = f"{t / 60:.0f} min" if t < 5400 else f"{t / 3600:.1f} h"
        notes.append(f"{name} is not run: it would take about {told} (--methods all runs it)")
    planned = planned.without(left_out)
    left = planned.settings.methods
    added = [n for n in left if find_method(n, beside).is_baseline and n not in named]
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


@dataclass(frozen=True, eq=False)
class Outcome:
    """Paths and scores of all methods on all folds."""

    problem: Problem
    settings: Settings
    folds: list[Fold]
    results: list[MethodResult]  # of the methods that were finished, baselines last
    unfinished: list[str]  # methods that were not
    failed: dict[str, str]  # methods that failed on these data, with their messages
    n_left: int  # tasks that were not done
    why_stopped: str | None  # what ended the work early


@dataclass(frozen=True, eq=False)
class Recommendation:
    """The choice among the results, and its scores."""

    candidates: Candidates | None = None  # all levels of the finished methods
    recommended: Choice | None = None
    honest: Honest | None = None
    held_out: dict[str, HeldOut] = field(default_factory=dict)
    learning_curve: dict[str, Any] | None = None
    assay: dict[str, Any] | None = None
    p_value: float | None = None
    shuffled_scores: list[float] = field(default_factory=list)
    not_described: dict[str, str] = field(default_factory=dict)  # parts that failed, and why
    n_left: int = 0  # tasks that were not done
    why_stopped: str | None = None


class Work:
    """Tasks on their way: the one object that changes while a comparison runs.

    `store`: where finished tasks are saved and found again. `n_jobs`: number of processes. Results
    do not depend on it. `deadline`: time (`time.perf_counter`) after which no task starts, except
    those of the cheapest method, so that there is a model. `only_finished`: start no task; use the
    finished ones only. `callbacks`: told of each task that starts or ends; may stop the run.
    """

    def __init__(
        self,
        problem,
        planned,
        *,
        store=None,
        n_jobs=1,
        deadline=math.inf,
        only_finished=False,
        callbacks=(),
    ):
        self.problem, self.planned, self.store, self.n_jobs = problem, planned, store, n_jobs
        self.deadline, self.only_finished, self.callbacks = deadline, only_finished, callbacks
        self.done, self.failed, self.is_stopped = {}, {}, only_finished
        beside = planned.settings.beside
        own = [u.method for u in planned.tasks if not find_method(u.method, beside).is_baseline]
        self._first = own[0]

    def is_over(self):
        """Whether no further task is to start."""
        return self.is_stopped or time.perf_counter() > self.deadline

    def do(self, tasks):
        """Run tasks; outcomes are in `done` or `failed`."""
        for task, outcome in run_tasks(
            self.problem,
            tasks,
            seed=self.planned.settings.seed,
            store=self.store,
            n_jobs=self.n_jobs,
            start=self._start,
        ):
            if isinstance(outcome, str):
                self.failed.setdefault(task.method, outcome)
            else:
                self.done[task.key] = (task, outcome)
            seconds = None if isinstance(outcome, str) else outcome.seconds
            for callback in self.callbacks:
                self.is_stopped |= bool(callback.on_task_end(task, seconds))

    def _start(self, task):
        is_needed = (
            task.method == self._first
            and task.stage in ("cv", "pair", f"{WHOLE}cv")
            and not self.only_finished
        )
        if not is_needed and self.is_over():
            return False
        for callback in self.callbacks:
            callback.on_task_begin(task)
        return True

    def gather(self, stage, codes=None):
        """Results with scores of the methods whose tasks are all done; names of the others."""
        settings, tasks = self.planned.settings, self.planned.tasks
        results, unfinished = [], []
        for name in settings.methods:
            keys = [u.key for u in tasks if u.method == name and u.stage == stage]
            of_all = [u.key for u in tasks if u.method == name and u.stage == f"{WHOLE}{stage}"]
            if not all(key in self.done for key in (*keys, *of_all)):
                unfinished.append(name)
                continue
            pairs = [self.done.pop(key) for key in keys]  # of the size of the result
            whole = self.done.pop(of_all[0])[1] if of_all else None
            method = find_method(name, settings.beside)
            results.append(collect(method, pairs, self.problem, settings, codes, whole))
        return results, unfinished


def run(work: Work) -> Outcome:
    """Cross-validate the methods.

    Ctrl-C, the deadline or a callback ends the work with the methods finished by then.
    """
    planned, why_stopped = work.planned, None
    try:
        work.do(planned.tasks)
    except KeyboardInterrupt:
        why_stopped = "stopped"
    except BrokenProcessPool:
        why_stopped = "a worker process was killed (out of memory? --n-jobs 1 needs less)"
    left = [u for u in planned.tasks if u.key not in work.done]
    pairs = {task.method for task in left if task.stage == "pair"}
    results, unfinished = work.gather("cv")
    return Outcome(
        work.problem,
        planned.settings,
        planned.folds,
        [r for r in results if r.method.name not in pairs],
        unfinished + [r.method.name for r in results if r.method.name in pairs],
        work.failed,
        len([u for u in left if u.method not in work.failed]),
        why_stopped,
    )


def recommend(outcome: Outcome, work: Work) -> Recommendation:
    """Choose among the results, and score the choice; each score may fail alone."""
    n_left, why_stopped = outcome.n_left, outcome.why_stopped
    if all(result.method.is_baseline for result in outcome.results):
        return Recommendation(n_left=n_left, why_stopped=why_stopped)
    settings = outcome.settings
    failed: dict[str, str] = {}
    found: dict[str, Any] = {}
    candidates = Candidates.of(outcome.results, outcome.problem, settings)
    choice = candidates.choice()
    chosen = next(r for r in outcome.results if r.method.name == choice.method), choice.place
    wants_assay = bool(settings.assay_error is not None or settings.assay_errors)
    try:
        score = partial(_score_honestly, outcome, candidates, work)
        found["honest"] = attempt(failed, "honest_score", score)
        found["held_out"] = _score_held_out(outcome, work, failed)
        permute = partial(_permute, outcome, work, chosen)
        shuffled = attempt(failed, "permutations", permute)
        found["shuffled_scores"], found["p_value"] = shuffled or ([], None)
        if why_stopped is None and settings.learning_curve:
            draw = partial(_draw_curve, outcome, work, chosen)
            curve, n_more = attempt(failed, "learning_curve", draw) or (None, 0)
            found["learning_curve"], n_left = curve, n_left + n_more
        if why_stopped is None and wants_assay and not work.is_over():
            measure = partial(measure_again, outcome.problem, settings, *chosen, outcome.folds)
            found["assay"] = attempt(failed, "assay", measure)
    except KeyboardInterrupt:
        why_stopped = "stopped"
        if found.get("honest") is None:
            failed["honest_score"] = "stopped before it was done"
    lacks_assay = found.get("assay") is None and "assay" not in failed
    n_left += bool(wants_assay and lacks_assay and not work.only_finished)
    return Recommendation(
        candidates,
        choice,
        **found,
        not_described=failed,
        n_left=n_left,
        why_stopped=why_stopped,
    )


def _score_honestly(outcome, candidates, work):
    """The score of the whole procedure."""
    problem, settings = outcome.problem, outcome.settings
    nested = is_nested(problem.n_rows, settings.n_folds)
    honest = estimate(
        candidates,
        None if nested else problem,
        positive=settings.positive,
        min_sensitivity=settings.min_sensitivity,
        decided=partial(decide_level, problem=problem, settings=settings),
    )
    if nested:
        pairs = {
            name: [
                work.done[u.key]
                for u in work.planned.tasks
                if u.method == name and u.stage == "pair"
            ]
            for name in (result.method.name for result in outcome.results)
        }
        honest = estimate_nested(problem, settings, outcome.results, pairs, outcome.folds, honest)
    return honest


def _score_held_out(outcome, work, failed):
    """Predictions of batches and of times that are held out."""
    held_out = {}
    for stage in dict.fromkeys(split.stage for split in work.planned.splits):
        predict = partial(
            predict_held_out,
            outcome.problem,
            outcome.settings,
            [split for split in work.planned.splits if split.stage == stage],
            [result.method for result in outcome.results],
            list(work.done.values()),
            outcome.failed,
        )
        predicted = attempt(failed, _HELD_OUT[stage], predict)
        if predicted is not None:
            held_out[stage] = predicted
    return held_out


def _draw_curve(outcome, work, chosen):
    """The learning curve, None if tasks are left to do; and their number."""
    problem, settings, failed = outcome.problem, outcome.settings, work.failed
    result, place = chosen
    name, before = result.method.name, dict(failed)
    parts = fewer_rows(problem, outcome.folds, settings.seed)
    tasks = {n: _tasks(problem, settings, [name], some, f"curve{n}") for n, some in parts.items()}
    work.do([task for some in tasks.values() for task in some])
    if name in failed and name not in before:
        raise RuntimeError(failed.pop(name))  # of fewer rows alone: the method itself is finished
    left = [task for some in tasks.values() for task in some if task.key not in work.done]
    if left:
        return None, len(left)
    outcomes = {n: [work.done[task.key][1] for task in some] for n, some in tasks.items()}
    return describe_curve(problem, settings, result, place, parts, outcomes), 0


def _permute(outcome, work, chosen):
    """Scores of choices for shuffled labels, and the p-value of the chosen score beside them."""
    problem, settings, scores = outcome.problem, outcome.settings, []
    for p in range(settings.permutations):
        codes = shuffle_labels(problem, settings.seed, p)
        results, unfinished = work.gather(f"shuffled{p}", codes)
        if {*unfinished, *outcome.unfinished} - set(outcome.failed):
            return scores, None
        candidates = Candidates.of(results, problem, settings, codes)
        result, place = candidates.find(candidates.choose()[0])
        scores.append(float(result.scores[place]))
    if not settings.permutations:
        return scores, None
    result, place = chosen
    reached = sum(score >= result.scores[place] for score in scores)
    return scores, (1 + reached) / (1 + settings.permutations)
