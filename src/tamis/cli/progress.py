"""What is told while `tamis fit` works: how long it will take, and how far it is."""

import os
import sys
import threading
import time
from collections import Counter
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import tamis
from tamis._compile import WORTH_COMPILING
from tamis.cli.printing import say
from tamis.comparison.methods.baselines import find_method
from tamis.comparison.methods.naming import name_method

# Seconds between lines if standard error is not a terminal.
_QUIET = 30.0
# Seconds between lines about a proof.
_PROOF_PAUSE = 10.0
# Bytes up to which reading is silent; seconds before the first message, and between messages.
_SMALL_FILE, _PATIENT, _READING = 50e6, 3.0, 10.0
# Seconds of starting worker processes, and of describing the model and writing the report.
_STARTING, _DESCRIBING = 1.5, 2.5
# Seconds that the kernels of a method take to compile, the folder of the package they are in, and
# the number of values from which on they are needed.
_KERNELS = {
    "centers": (1, "centers", WORTH_COMPILING),
    "medians": (3, "centers", WORTH_COMPILING),
    "landmarks": (3, "landmarks", 0),
    "datum-wise": (3, "datumwise", 0),
}


def tell_estimate(start):
    """The estimated time of a comparison, in words."""
    tasks = [task for task in start.plan.tasks if task.key not in start.done]
    if not tasks:
        return "all results are there already; only the model and its description are made again"
    total = sum(start.seconds[task.method] for task in tasks) / start.n_jobs
    total += max(start.seconds[task.method] for task in tasks)  # the final model, at most
    total += _DESCRIBING + (_STARTING if start.n_jobs > 1 else 0.0)
    compiling = preparation_seconds({task.method for task in tasks}, start.n_values)
    cores = f"{start.n_jobs} core{'' if start.n_jobs == 1 else 's'}"
    line = f"about {tell_seconds(total + compiling)} on {cores}"
    if compiling:
        line += f" (first run on this machine: {tell_seconds(compiling)} of preparation)"
    return line


def preparation_seconds(methods, n_values):
    """Seconds until the kernels of some methods are compiled; 0 if they are, or none is needed.

    Most methods compute small data without kernels. Compiled kernels are kept beside their
    modules, or in the folder that numba was told to use.
    """
    package, elsewhere = Path(tamis.__file__).parent, os.environ.get("NUMBA_CACHE_DIR")
    seconds = 0.0
    for name in methods & set(_KERNELS):
        needed, folder, least = _KERNELS[name]
        if n_values < least:
            continue
        places = (
            Path(elsewhere).glob(f"**/{folder}_*/*.nbi")
            if elsewhere
            else (package / folder).glob("**/*.nbi")
        )
        seconds += 0.0 if next(places, None) else needed
    return seconds


def tell_seconds(seconds):
    """Format a rough time."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


@contextmanager
def reading(path):
    """Report regularly that a large file is still being read."""
    try:
        size = os.path.getsize(path)
    except (OSError, TypeError):
        size = 0
    is_over, start = threading.Event(), time.perf_counter()

    def tell():
        seconds = _PATIENT
        while not is_over.wait(seconds):
            spent = tell_seconds(time.perf_counter() - start)
            say(f"reading {path} ({size / 1e6:,.0f} MB): {spent} so far")
            seconds = _READING

    if size >= _SMALL_FILE:
        threading.Thread(target=tell, daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


class Progress(AbstractContextManager):
    """Show finished tasks, and how long the others will take."""

    def __init__(self, tasks, estimates, n_jobs):
        self.estimates, self.n_jobs = estimates, n_jobs
        self.left = Counter(task.method for task in tasks)
        self.total = Counter(self._row(task) for task in tasks)
        self.done = Counter()
        self.seconds, self.timed = Counter(), Counter()
        self.running = {}
        self.bars = None
        self.is_over = threading.Event()

    @staticmethod
    def _row(task):
        if task.stage == "cv":
            method = find_method(task.method)
            told = {"title": method.title, "is_baseline": method.is_baseline}
            return name_method(method.name, told)
        titles = {
            "pair": "honest score: nested folds",
            "whole-cv": "all rows: numbers of features",
            "batch": "one batch held out",
            "inner-batch": "one batch held out",
            "time": "later rows held out",
            "inner-time": "later rows held out",
            "curve": "fewer rows",
        }
        return titles.get(task.stage.rstrip("0123456789"), "shuffled labels")

    def __enter__(self):
        if sys.stderr.isatty():
            try:
                from rich import progress
                from rich.console import Console
            except ImportError:
                say("pip install 'tamis[cli]' shows live progress.")
            else:
                self.bars = progress.Progress(
                    progress.TextColumn("{task.description:<32}"),
                    progress.BarColumn(30),
                    progress.MofNCompleteColumn(),
                    progress.TimeElapsedColumn(),
                    console=Console(stderr=True),
                    transient=True,
                )
                self.tasks = {
                    row: self.bars.add_task(row, total=n) for row, n in self.total.items()
                }
                self.tasks[None] = self.bars.add_task("", total=sum(self.total.values()))
                self.bars.start()
        threading.Thread(target=self._tell_regularly, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.is_over.set()
        if self.bars is not None:
            self.bars.stop()

    def begin(self, task):
        """Record that a task has started."""
        self.running[task.key] = (task, time.perf_counter())

    def end(self, task, seconds):
        """Record that a task has finished; `seconds` is None if it was done before, or failed."""
        row = self._row(task)
        self.running.pop(task.key, None)
        if row not in self.total:  # it follows from the recommendation, and was not planned
            return
        self.done[row] += 1
        self.left[task.method] -= 1
        if seconds is not None:
            self.seconds[task.method] += seconds
            self.timed[task.method] += 1
        if self.bars is not None:
            self.bars.advance(self.tasks[row])
            self.bars.advance(self.tasks[None])
        elif self.done[row] == self.total[row]:
            say(f"{row}: done")

    def remaining(self):
        """Estimate the remaining seconds from the finished tasks."""
        known = {name: self.seconds[name] / n for name, n in self.timed.items() if n}
        # The other methods show how fast this machine is.
        expected = sum(self.estimates[name] for name in known)
        factor = sum(known.values()) / expected if expected > 0 else 1.0
        total = sum(
            n * known.get(name, factor * self.estimates[name]) for name, n in self.left.items()
        )
        return total / self.n_jobs

    def _tell_regularly(self):
        wait = 1.0 if self.bars is not None else _QUIET
        while not self.is_over.wait(wait):
            if self.bars is not None:
                text = f"about {tell_seconds(self.remaining())} left"
                self.bars.update(self.tasks[None], description=text)
                continue
            share = sum(self.done.values()) / max(1, sum(self.total.values()))
            now = time.perf_counter()
            running = [
                f"{task.method} ({tell_seconds(now - start)})"
                for task, start in list(self.running.values())
            ]
            what = f"; running: {', '.join(running)}" if running else ""
            say(f"{100 * share:.0f} % done, about {tell_seconds(self.remaining())} left{what}")


class ProofProgressLine:
    """Say now and then how far the proof of a panel is; a callback of `tamis.panel.certify`."""

    def __init__(self):
        self.next = _PROOF_PAUSE

    def __call__(self, progress):
        """Say it, if the last time is long ago."""
        if progress.seconds >= self.next:
            self.next = progress.seconds + _PROOF_PAUSE
            told = "nothing is proved yet; Ctrl-C ends the search"
            if progress.lower_bound > 0:
                # Imported here: most commands prove nothing.
                from tamis.comparison.fitted.proof import limit_in_percent

                gap = limit_in_percent(1 - progress.lower_bound / progress.best)
                told = (
                    "no panel of the size can fit better than the best found by more than "
                    f"{gap} % of its loss; Ctrl-C keeps what is proved"
                )
            say(f"proof of the panel: after {progress.seconds:.0f} s, {told}")
