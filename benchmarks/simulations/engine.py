"""Simulations in blocks of repetitions, and how their violations are judged.

The number of repetitions is fixed beforehand, and no run stops because it passes. With 10,250, a
guarantee that is broken in exactly 5 % of the cases passes with probability 0.99, although it must
rule out 6 %: ``(2 z)^2 0.05 0.95 / 0.01^2`` with z = 2.326.

A block has a seed of its own, derived from the name of the simulation and the number of the block.
So results depend neither on the number of processes nor on interruptions.
"""

import json
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import beta, norm

SLACK = 0.01  # of the upper limit of a violation rate above the nominal rate
LEVEL = 0.99
PASS, FAILS, NOT_SHOWN, OPEN = "pass", "**FAILS**", "**NOT SHOWN**", "not finished"
AS_IT_MUST, DOES_NOT = "fails, as it must", "**DOES NOT FAIL**"


@dataclass(frozen=True)
class Measure:
    """What is counted in a repetition.

    Attributes
    ----------
    procedure : str
    nominal : float
        Promised: the rate of violations, or the mean of what is counted, is at most this.
    is_control : bool
        Whether the procedure breaks a condition of the promise, so that it must fail.
    is_mean : bool
        Whether a repetition gives a share or a number; otherwise it gives 0 or 1.
    slack : float
        How far above `nominal` the upper limit may be.
    """

    procedure: str
    nominal: float
    is_control: bool = False
    is_mean: bool = False
    slack: float = SLACK


@dataclass(frozen=True)
class Simulation:
    """A design, and the procedures that are tried on it.

    Attributes
    ----------
    name, design : str
    measures : tuple of Measure
    run : callable
        ``run(rng, n)`` gives the values of n repetitions, (n, n_measures).
    repetitions : int
        How many there are unless the command says otherwise.
    block : int
        Repetitions per block.
    """

    name: str
    design: str
    measures: tuple[Measure, ...]
    run: Callable
    repetitions: int = 10_250
    block: int = 250

    def blocks(self, repetitions=None):
        """Number of repetitions in each block."""
        n = self.repetitions if repetitions is None else min(repetitions, self.repetitions)
        return [min(self.block, n - first) for first in range(0, n, self.block)]

    def run_block(self, number, n):
        """Repetitions, sums and sums of squares of the values of one block."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), number])
        values = np.asarray(self.run(rng, n), dtype=np.float64)
        assert values.shape == (n, len(self.measures)), (self.name, values.shape)
        return [n, values.sum(axis=0).tolist(), (values**2).sum(axis=0).tolist()]


def each(repeat):
    """A `run` that calls ``repeat(rng)`` for every repetition."""

    def run(rng, n):
        return [repeat(rng) for _ in range(n)]

    return run


@dataclass(frozen=True)
class Finding:
    """A measure over all repetitions.

    Attributes
    ----------
    simulation : Simulation
    measure : Measure
    n : int
        Repetitions.
    rate : float
        Rate of violations, or mean.
    low, high : float
        Lower and upper 99 % limit: Clopper-Pearson's for rates, the normal one for means.
    """

    simulation: Simulation
    measure: Measure
    n: int
    rate: float
    low: float
    high: float

    @property
    def verdict(self):
        if self.measure.is_control:
            return AS_IT_MUST if self.low > self.measure.nominal else DOES_NOT
        if self.low > self.measure.nominal:
            return FAILS
        if self.n < self.simulation.repetitions:
            return OPEN
        return PASS if self.high <= self.measure.nominal + self.measure.slack else NOT_SHOWN

    @property
    def is_wrong(self):
        """Whether a guarantee fails or is not shown, or a control does not fail."""
        return self.verdict in (FAILS, NOT_SHOWN, DOES_NOT)


def judge(simulation, blocks):
    """Findings of a simulation, from the results of its blocks."""
    n = sum(block[0] for block in blocks)
    sums, squares = (np.sum([block[i] for block in blocks], axis=0) for i in (1, 2))
    for measure, total, square in zip(simulation.measures, sums, squares, strict=True):
        mean = total / n
        if measure.is_mean:
            error = np.sqrt(max(square / n - mean**2, 0) / max(n - 1, 1))
            low, high = mean + norm.ppf([1 - LEVEL, LEVEL]) * error
        else:
            low = beta.ppf(1 - LEVEL, total, n - total + 1) if total else 0.0
            high = beta.ppf(LEVEL, total + 1, n - total) if total < n else 1.0
        yield Finding(simulation, measure, n, mean, float(low), float(high))


class Records:
    """Results of blocks in a file, so that an interrupted run goes on where it stopped."""

    def __init__(self, path):
        self.path = path
        self.blocks = json.loads(path.read_text()) if path.is_file() else {}

    def has(self, name, number, n):
        return self.blocks.get(name, {}).get(str(number), [0])[0] >= n

    def add(self, name, number, result):
        self.blocks.setdefault(name, {})[str(number)] = result
        draft = self.path.with_suffix(".tmp")
        draft.write_text(json.dumps(self.blocks).replace("}, ", "},\n") + "\n")
        draft.replace(self.path)  # in one move: an interruption leaves the old file

    def of(self, name):
        """Results of the blocks of a simulation, in order."""
        own = self.blocks.get(name, {})
        return [own[number] for number in sorted(own, key=int)]


def advance(simulations, records, repetitions=None, jobs=1):
    """Run the blocks that the records lack; all simulations advance together.

    So an interrupted run has something of each. `repetitions`: at most so many of each.
    """
    todo = [
        (simulation, number, n)
        for simulation in simulations
        for number, n in enumerate(simulation.blocks(repetitions))
        if not records.has(simulation.name, number, n)
    ]
    todo.sort(key=lambda block: block[1] * block[0].block)
    pool = Parallel(n_jobs=jobs, return_as="generator_unordered")
    for done, (name, number, result) in enumerate(pool(delayed(_run)(*block) for block in todo)):
        records.add(name, number, result)
        print(f"{done + 1} of {len(todo)}: {name}, block {number}", file=sys.stderr)


def _run(simulation, number, n):
    return simulation.name, number, simulation.run_block(number, n)
