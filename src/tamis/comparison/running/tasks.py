"""Tasks: one method on one fold, at all levels; done in any process and order, once.

The result of a task depends on the problem, the fold and the seed alone, so an interrupted run
resumes with the tasks that are not done yet, and gives the same result.
"""

import os
import signal
import threading
import time
import warnings
from dataclasses import dataclass, field
from functools import partial
from uuid import uuid4

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from tamis._base.shared import Shared, call
from tamis._base.threads import limit_threads
from tamis.comparison.methods.baselines import find_method
from tamis.paths.folds import Fold
from tamis.paths.seeds import make_generator

__all__ = ["Task", "TaskOutcome", "run_tasks"]

# Bytes of prepared folds to keep in memory.
_KEPT_BYTES = 1e8
# Decisions (levels, rows, classes) to compute at once.
_BLOCK_VALUES = 1_000_000
# How far the sum of float32 probabilities may be from 1.
_ROUNDING = 1e-3


@dataclass(frozen=True)
class Task:
    """One method on one fold."""

    stage: str  # purpose of the task: "cv", "pair", "batch" or "shuffled" with a number
    method: str
    levels: tuple[float, ...]
    fold: Fold
    # Number of the permutation of the labels; None for the labels themselves.
    shuffled: int | None = None
    key: str = field(init=False)  # name of its checkpoint

    def __post_init__(self):
        at = f"r{self.fold.repeat}-f{self.fold.number}"
        object.__setattr__(self, "key", f"{self.stage}-{self.method}-{at}")


@dataclass
class TaskOutcome:
    """The outcome of a task."""

    probabilities: np.ndarray  # (n_levels, n_test, n_classes)
    used: np.ndarray  # (n_levels, n_features): counted features that the models use
    # n_used, cost: (n_levels, n_test): number of features that each test row needed, and their
    # cost, without kept features. Unless rows are asked for their own features, a view of one
    # number per level.
    n_used: np.ndarray
    cost: np.ndarray
    seconds: float

    def as_arrays(self):
        """Named arrays, for a checkpoint."""
        return {
            "probabilities": self.probabilities,
            "used": np.packbits(self.used, axis=1),
            "n_features": np.array(self.used.shape[1]),
            "n_used": self.n_used,
            "cost": self.cost,
            "seconds": np.array(self.seconds),
        }

    @classmethod
    def from_arrays(cls, arrays, task, n_classes, n_features):
        """Outcome from a checkpoint; None if it does not fit this task."""
        try:
            if int(arrays["n_features"]) != n_features:
                return None
            used = np.unpackbits(arrays["used"], axis=1, count=n_features).astype(bool)
            outcome = cls(
                arrays["probabilities"],
                used,
                arrays["n_used"],
                arrays["cost"],
                float(arrays["seconds"]),
            )
        except (KeyError, ValueError, TypeError):
            return None
        n_levels, n_test = len(task.levels), task.fold.test.size
        p = outcome.probabilities
        has_shape = p.shape == (n_levels, n_test, n_classes) and p.dtype == np.float32
        if not has_shape or outcome.n_used.shape != p.shape[:2] or len(used) != n_levels:
            return None
        # Written so that NaN is rejected, too.
        are_shares = (p >= 0).all() and (np.abs(p.sum(axis=2) - 1) <= _ROUNDING).all()
        are_counts = (outcome.n_used >= 0).all() and (outcome.n_used <= n_features).all()
        are_costs = outcome.cost.shape == p.shape[:2] and (outcome.cost >= 0).all()
        is_whole = are_shares and are_counts and are_costs and outcome.seconds >= 0
        return outcome if is_whole else None


def shuffle_labels(problem, seed, number):
    """Shuffle the labels.

    Rows of a sample group are alike, so a test that treats them as independent would find too many
    effects. Groups with a single label exchange it as a whole; the labels of other groups are
    shuffled within the group.

    `seed`: of the comparison; `number`: of the permutation. Returns `codes` (n_rows,).
    """
    generator = make_generator(seed, "shuffled labels", number)
    codes, groups = problem.codes, problem.groups
    if groups is None:
        return generator.permutation(codes)
    n_groups = int(groups.max()) + 1
    lowest, highest = np.full(n_groups, codes.max()), np.zeros(n_groups, dtype=codes.dtype)
    np.minimum.at(lowest, groups, codes)
    np.maximum.at(highest, groups, codes)
    is_pure = lowest == highest
    lowest[is_pure] = generator.permutation(lowest[is_pure])
    shuffled = lowest[groups]
    for group in np.flatnonzero(~is_pure):
        rows = np.flatnonzero(groups == group)
        shuffled[rows] = generator.permutation(codes[rows])
    return shuffled


def compute_together(problem, tasks, seed, parts=None):
    """Train on the training rows, predict the test rows, at every level.

    `tasks`: on the same fold, with the same levels, of methods that share a training; mostly one.
    `parts`: prepared folds, which all methods share.
    """
    start = time.perf_counter()
    methods = [find_method(task.method) for task in tasks]
    # One thread, whatever the number of workers, so that sums are identical.
    with limit_threads(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        part = (parts or Parts(0)).prepare(problem, tasks[0], seed)
        trained = [None for _ in methods]
        if part.known.size > 1:
            trained = methods[0].train_with(methods[1:], part, list(tasks[0].levels))
        shared = (time.perf_counter() - start) / len(tasks)
        return [
            _predict(problem, task, method, part, one, shared)
            for task, method, one in zip(tasks, methods, trained, strict=True)
        ]


def _predict(problem, task, method, part, trained, seconds):
    """The outcome of a task; `seconds` were spent on its training."""
    start, fold = time.perf_counter(), task.fold
    n_levels, n_classes = len(task.levels), problem.classes.size
    probabilities = np.zeros((n_levels, fold.test.size, n_classes), dtype=np.float32)
    used = np.zeros((n_levels, len(problem.names)), dtype=bool)
    shape = n_levels, fold.test.size if method.asks else 1
    n_used, cost = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
    costs = np.where(problem.kept, 0.0, problem.costs)
    if trained is None:  # of one class
        probabilities[:, :, part.known] = 1.0
    else:
        for place in range(n_levels):
            used[place, trained.features(place)] = True
        n_block = max(1, _BLOCK_VALUES // (n_levels * n_classes))
        for first in range(0, fold.test.size, n_block):
            some = slice(first, first + n_block)
            shares, usage = trained.predict(*part.test_rows(fold.test[some]))
            probabilities[:, some, part.known] = shares
            if method.asks:
                n_used[:, some], cost[:, some] = usage.n_features, usage.cost
        if not method.asks:
            n_used[:, 0] = np.count_nonzero(used & ~problem.kept, axis=1)
            cost[:, 0] = used @ costs
    n_used, cost = (np.broadcast_to(a, probabilities.shape[:2]) for a in (n_used, cost))
    return TaskOutcome(probabilities, used, n_used, cost, seconds + time.perf_counter() - start)


class Parts:
    """A cache of the training rows of folds (imputed, weighted) for all methods.

    `limit`: bytes to keep at most. Folds that do not fit are prepared again, but what methods
    have found out about their rows is kept.
    """

    def __init__(self, limit=_KEPT_BYTES):
        self.limit, self.known, self.shared = limit, {}, {}

    def prepare(self, problem, task, seed):
        """The part of a task."""
        key = task.key.replace(f"-{task.method}-", "-", 1)
        if key in self.known:
            return self.known[key]
        codes = problem.codes
        if task.shuffled is not None:
            codes = shuffle_labels(problem, seed, task.shuffled)
        part = problem.train_part(
            task.fold.train, codes, task.fold.seed, self.shared.setdefault(key, {})
        )
        size = _bytes(part.X)
        if problem.missing.size:
            size *= 2
        if size <= self.limit:
            self.limit -= size
            self.known[key] = part
        return part


def _bytes(X):
    return X.nbytes if isinstance(X, np.ndarray) else 2 * X.data.nbytes


def _work(problem, tasks, seed, store, parts):
    """Compute tasks that share a training, and save them.

    If a method fails on the data, its error is returned, and the others continue.
    """
    try:
        outcomes = compute_together(problem, tasks, seed, parts)
    except OSError:
        raise
    except Exception as error:
        if len(tasks) > 1:  # only one of them may have failed
            return [done for task in tasks for done in _work(problem, [task], seed, store, parts)]
        return [(tasks[0], f"{' '.join(str(error).split())} ({type(error).__name__})")]
    if store is not None:
        for task, outcome in zip(tasks, outcomes, strict=True):
            store.save(task.key, outcome.as_arrays())
    return list(zip(tasks, outcomes, strict=True))


def _share_trainings(tasks):
    """Lists of tasks that share a training: on the same rows, by methods that train together."""
    shared = {}
    for task in tasks:
        together = find_method(task.method).trains_with or task.method
        shared.setdefault((task.stage, *task.key.rsplit("-", 2)[1:], together), []).append(task)
    return list(shared.values())


# Prepared folds of this worker process, for one comparison at a time.
_prepared: dict[str, Parts] = {}


def _work_in_worker(problem, tasks, seed, store, key):
    """`_work` with the prepared folds that this process has for the comparison `key`."""
    parts = _prepared.get(key)
    if parts is None:
        _prepared.clear()
        parts = _prepared[key] = Parts()
    return _work(problem, tasks, seed, store, parts)


def _watch(parent):
    """End this worker when its parent process has ended, and leave Ctrl-C to the parent.

    Called when a worker starts, not with its first task: otherwise a worker that waits for a task
    would wait forever.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # wherever it comes, it would print a traceback

    def look():
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


def run_tasks(problem, tasks, *, seed, store=None, n_jobs=1, start=lambda task: True):
    """Run tasks that are not done yet, and yield every task with its outcome.

    `n_jobs`: number of processes. `start`: called before each task starts; False skips it. Yields
    `task`; `outcome`: the outcome, or an error message if the task failed.
    """
    left = []
    for task in tasks:
        arrays = store.load(task.key) if store is not None else None
        outcome = None
        if arrays is not None:
            sizes = problem.classes.size, len(problem.names)
            outcome = TaskOutcome.from_arrays(arrays, task, *sizes)
            if outcome is None:
                store.discard(task.key)
        if outcome is None:
            left.append(task)
        else:
            yield task, outcome

    left = _share_trainings(left)

    def started():
        for tasks in left:
            wanted = [task for task in tasks if start(task)]
            if wanted:
                yield wanted

    if n_jobs == 1 or len(left) < 2:
        parts = Parts()
        for tasks in started():
            yield from _work(problem, tasks, seed, store, parts)
        return

    engine = {"backend": "loky", "initializer": _watch, "initargs": (os.getpid(),)}
    if type(get_active_backend()[0]).__name__ == "DaskDistributedBackend":
        engine = {}  # that of joblib.parallel_config, whose workers outlive this process
    pool = Parallel(
        n_jobs=min(n_jobs, len(left)),
        return_as="generator_unordered",
        pre_dispatch="n_jobs",
        **engine,
    )
    key = uuid4().hex
    shared = Shared(partial(_work_in_worker, problem, seed=seed, store=store, key=key))
    for done in pool(delayed(call)(shared, tasks) for tasks in started()):
        yield from done
