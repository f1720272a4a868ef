"""Progress on standard error: a bar for every method, or lines where there is no terminal."""

import os
import sys
import threading
import time
from collections import Counter
from contextlib import AbstractContextManager, contextmanager

from tamis.cli.printing import print_lines
from tamis.comparison.baselines import find_method

__all__ = ["Progress", "reading", "say", "tell_seconds"]

# Where there is no terminal: seconds between lines.
_QUIET = 30.0
# Files that are read without a word; seconds before the first line about larger ones, and between.
_SMALL_FILE, _PATIENT, _READING = 50e6, 3.0, 10.0


def say(line):
    """One line of information, on standard error."""
    print_lines([f"tamis: {line}"], sys.stderr)


def tell_seconds(seconds):
    """A time that is known roughly."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


@contextmanager
def reading(path):
    """Tell that a large file is being read, again and again until it is."""
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
    """Tells about finished tasks, and how long the others will take.

    Parameters
    ----------
    tasks : list of Task
        All there are.
    estimates : dict of str to float
        Seconds that a task of every method takes, roughly.
    n_jobs : int
        Tasks that are worked on at once.
    """

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
        titles = {"pair": "honest score: nested folds", "batch": "one batch left out"}
        if task.stage == "cv":
            return find_method(task.method).title
        return titles.get(task.stage, "shuffled labels")

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
        """A task is started."""
        self.running[task.key] = (task, time.perf_counter())

    def end(self, task, seconds):
        """A task is finished; `seconds` is None where it was finished before, or failed."""
        row = self._row(task)
        self.running.pop(task.key, None)
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
        """Seconds that are left, from what finished tasks took."""
        known = {name: self.seconds[name] / n for name, n in self.timed.items() if n}
        # What other methods took tells how fast this machine is.
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
