"""Estimate how long tasks take: timed on a small part of the data, and scaled by size.

Each method has a rule for how its work grows with the size. If the rules predict a long run, one
small task of each method is timed first, to see how fast it is on this machine. The estimates are
only reported: what is run does not depend on them.
"""

import time
from dataclasses import replace

import numpy as np

from tamis.comparison.baselines import estimate_seconds, find_method
from tamis.comparison.tasks import compute
from tamis.paths.folds import Fold

__all__ = ["time_methods"]

# Work that takes less than this, by the rules, is not worth timing.
_WORTH_TIMING = 60.0
_MOST_ROWS, _MOST_VALUES = 300, 200_000


def time_methods(problem, tasks):
    """Estimate the seconds that one task of each method takes.

    Parameters
    ----------
    problem : Problem
    tasks : list of Task

    Returns
    -------
    seconds : dict of str to float
    """
    first = {}
    for task in tasks:
        first.setdefault(task.method, task)
    seconds = {name: estimate_seconds(problem, name) for name in first}
    if sum(seconds[task.method] for task in tasks) < _WORTH_TIMING:
        return seconds
    small = _shrink(problem)
    fold = Fold(0, 0, np.arange(small.n_rows), np.arange(small.n_rows), 0)
    for name, task in first.items():
        levels = find_method(name).levels(small, small.max_features)
        task = replace(task, levels=tuple(levels), fold=fold, shuffled=None)
        start = time.perf_counter()
        try:
            compute(small, task, 0)
        except Exception:
            continue  # the method itself will report the error
        taken = time.perf_counter() - start
        seconds[name] *= taken / estimate_seconds(small, name)
    return seconds


def _shrink(problem):
    """A problem of some rows of every class, with all columns."""
    most = max(40, min(_MOST_ROWS, _MOST_VALUES // problem.encoded.shape[1]))
    every = max(1, problem.n_rows // most)
    rows = np.argsort(problem.codes, kind="stable")[::every]
    codes = np.unique(problem.codes[rows], return_inverse=True)[1].astype(np.int64)

    def some(values):
        return None if values is None else values[rows]

    return replace(
        problem,
        encoded=problem.encoded[rows],
        codes=codes,
        classes=np.unique(problem.classes[problem.codes[rows]]),
        groups=None,
        batches=None,
        weights=some(problem.weights),
        times=None,
        dates=None,
    )
