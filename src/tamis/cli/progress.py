"""Progress on standard error: a bar for every method, or a line where there is no terminal."""

import sys
from collections import Counter
from contextlib import AbstractContextManager

from tamis.comparison.methods import find_method

__all__ = ["Progress", "say"]


def say(line):
    """One line of information, on standard error."""
    print(f"tamis: {line}", file=sys.stderr, flush=True)


class Progress(AbstractContextManager):
    """Tells about finished units.

    Parameters
    ----------
    units : list of Unit
        All there are.
    """

    def __init__(self, units):
        self.total = Counter(self._row(unit) for unit in units)
        self.done = Counter()
        self.bars = None

    @staticmethod
    def _row(unit):
        stage = unit.key.split("-", 1)[0]
        if stage == "cv":
            return find_method(unit.method).title
        titles = {"pair": "honest score: nested folds", "batch": "one batch left out"}
        return titles.get(stage, "shuffled labels")

    def __enter__(self):
        if sys.stderr.isatty():
            try:
                from rich import progress
                from rich.console import Console
            except ImportError:
                say("pip install 'tamis[cli]' shows live progress.")
                return self
            self.bars = progress.Progress(
                progress.TextColumn("{task.description:<32}"),
                progress.BarColumn(30),
                progress.MofNCompleteColumn(),
                progress.TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self.tasks = {row: self.bars.add_task(row, total=n) for row, n in self.total.items()}
            self.bars.start()
        return self

    def __exit__(self, *error):
        if self.bars is not None:
            self.bars.stop()

    def tell(self, unit):
        """A unit is finished."""
        row = self._row(unit)
        self.done[row] += 1
        if self.bars is not None:
            self.bars.advance(self.tasks[row])
        elif self.done[row] == self.total[row]:
            say(f"{row}: done")
