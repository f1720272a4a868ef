"""The fast solver: working sets over inner algorithms, stopped by the certified gap.

Most rows of W are zero at the optimum when the ball selects rows, and the inner algorithms spend
all their time on products with the rows that they get. So they get only a few: those that are not
zero and those with the largest score in X' Z. The optimum over these comes with a dual point; one
product of the full X' with it gives the certificate of the whole problem and shows which rows must
be added (their score is above that of the rows in use). A row that is absent at the end provably
changes the objective by no more than the gap.

Inner algorithms, one after the other: on few rows in the l1 and l2,1 balls an interior-point walk
(`_interior`), for smooth losses after some gradient steps; then, for smooth losses, accelerated
gradients and Newton steps (`_descent` for dense data in the l1 ball, `_device_fista` for large
data on a device, `_fista` elsewhere); for the l1 loss and Huber losses that are nearly as sharp,
Douglas-Rachford splitting (`_splitting`) where its linear system is small, else the restarted
primal-dual method (`_pdhg`). What each of them is worth: `benchmarks/speed/ablation.py`. Algorithm
1 of the paper as printed is in `paper`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tamis._array import from_host
from tamis.primal_dual._descent import can_descend, descent
from tamis.primal_dual._device_fista import can_stay_there, device_fista
from tamis.primal_dual._fista import fista
from tamis.primal_dual._interior import can_walk_inside, interior
from tamis.primal_dual._pdhg import pdhg
from tamis.primal_dual._splitting import can_split, splitting
from tamis.primal_dual.balls import used_rows
from tamis.primal_dual.problem import BallProblem, Pair, Primal

# Size of the first inner problem: this many values of the data, within bounds.
_FIRST_VALUES, _FEWEST_ROWS, _FIRST_ROWS = 200_000, 10, 50
# Inner problems are solved to this share of the current gap.
_INNER_GAP = 0.03
_SMALL_INNER_GAP = 0.003
# Beyond this share of non-zero rows, the whole problem is solved at once.
_DENSE_SHARE = 0.25
# A larger share of the rows is not worth choosing.
_MOST_OF_ROWS = 0.7
# Iterations of an inner algorithm between two checks by the solver.
_STRIDE = 50
# A Huber loss with a smaller delta is treated like the l1 loss.
_SHARP_BEND = 3e-3
# An inner problem whose gap has not fallen by a tenth in this many iterations is postponed.
_STALLED = 1000
# The same in arithmetic with few digits, before more digits are used.
_STUCK = 30


@dataclass(frozen=True)
class Solution:
    """The state of the solver."""

    pair: Pair  # the best primal and dual points of the whole problem
    unit: float  # objective at W = 0 with the best centers, the unit of the relative gap
    n_iter: int  # iterations so far, of all inner algorithms

    def __str__(self) -> str:
        return f"gap {self.relative_gap:.1e}"

    @property
    def relative_gap(self) -> float:
        """Certified distance from the optimum, in units of the empty model."""
        return max(self.pair.gap, 0.0) / self.unit


def solve(
    problem: BallProblem, start: Pair | None = None, *, tol: float = 1e-4, max_iter: int = 10_000
) -> Iterator[Solution]:
    """Yield successively better solutions until the relative gap is at most `tol`.

    Yields `solution`: the last one is the best; there is at least one.
    """
    empty = problem.empty()
    unit = empty.value
    # 32 bits show which rows are missing; the proof at the end has 64.
    scout = problem.with_arithmetic("float32") if problem.matrix.is_single else problem
    pair = Pair(empty, scout.empty_dual()) if start is None else start.better(empty)
    n_iter = 0
    yield Solution(pair, unit, n_iter)
    working = _WorkingSet(problem)
    while True:
        if pair.gap <= tol * unit or n_iter >= max_iter:
            if scout is problem:
                return
            scout, pair = problem, Pair(pair.primal, problem.dual(pair.dual.U))
            yield Solution(pair, unit, n_iter)
            continue
        rows = working.choose(pair)
        whole = rows.size == problem.matrix.shape[1]
        part = problem if whole else problem.restrict(rows)
        start = pair if whole else _restrict(part, pair, rows)
        share = _SMALL_INNER_GAP if can_descend(part) else _INNER_GAP
        aim = tol * unit if whole else max(share * pair.gap, 0.3 * tol * unit)
        n_inner, mark, since, told = 0, np.inf, 0, pair.gap
        improve = _refine if whole and len(problem.matrix.arithmetics) > 1 else _improve
        for inner, n_steps in improve(part, start, aim, max_iter - n_iter):
            n_inner += n_steps
            since += n_steps
            if inner.gap <= 0.9 * mark:
                mark, since = inner.gap, 0
            stalled = since > _STALLED and not whole and inner.gap <= 0.5 * pair.gap
            done = inner.gap <= aim or n_iter + n_inner >= max_iter or stalled
            news = n_inner % _STRIDE == 0 or inner.gap <= 0.1 * told
            if done or (whole and news):
                told = inner.gap
                pair = pair.better(inner.primal, inner.dual) if whole else pair
                if done:
                    break
                yield Solution(pair, unit, n_iter + n_inner)
        n_iter += n_inner
        del part, start  # of the size of the data: the next ones need the memory
        if not whole:
            dual = scout.dual(inner.dual.U)
            pair = pair.better(_lift(pair.primal, inner.primal, rows), dual)
            working.look(dual)
        yield Solution(pair, unit, n_iter)


def _improve(problem, pair, aim, limit):
    """Run the inner algorithms for a problem: pairs, and how many iterations each took."""

    def first_order(p):
        if can_descend(problem):
            return descent(problem, p, aim, limit)
        if can_stay_there(problem):
            return device_fista(problem, p, limit)
        return _count(fista(problem, p))

    # Gradient steps in a loss with a sharp bend are too short.
    bent = problem.loss.curvature < _SHARP_BEND and can_split(problem)
    smooth = problem.loss.is_smooth and not bent
    makers = []
    if can_walk_inside(problem):
        if smooth:
            makers.append(lambda p: _while_it_pays(first_order(p), aim, _patience(problem)))
        makers.append(lambda p: _count(interior(problem, p)))
    if smooth:
        makers.append(first_order)
    elif can_split(problem):
        makers.append(lambda p: _count(splitting(problem, p)))
    else:
        makers.append(lambda p: _count(pdhg(problem, p)))
    return _in_turn(pair, makers)


def _refine(problem, pair, aim, limit):
    """Iterate in fast arithmetic and certify in 64 bits; with more digits where the proof fails.

    Yields certified pairs, and how many iterations each took.
    """
    spent = 0
    for arithmetic in problem.matrix.arithmetics:
        quick = problem.with_arithmetic(arithmetic)
        n_steps, best, since = 0, np.inf, 0
        for inner, n in _improve(quick, pair, aim, limit - spent):
            n_steps, since, spent = n_steps + n, since + n, spent + n
            if inner.gap <= 0.9 * best:
                best, since = inner.gap, 0
            stuck = since >= _STUCK and arithmetic != "float64"
            goes_on = inner.gap > 0.7 * aim and n_steps % _STRIDE and spent < limit
            if goes_on and not stuck:
                continue
            certified = problem.certify(inner)
            pair = pair.better(certified.primal, certified.dual)
            yield pair, n_steps
            n_steps = 0
            if stuck or (inner.gap <= 0.7 * aim < pair.gap and arithmetic != "float64"):
                break


def _patience(problem):
    """Number of first-order steps that take as long as an interior-point method.

    In microseconds, assuming 2 and 20 billion operations per second for products with few and with
    many columns, plus the time of calls.
    """
    (n_samples, n_features), k = problem.matrix.shape, problem.n_classes
    calls = 100.0 if can_descend(problem) else 150.0
    step = calls + 4.0 * n_samples * n_features * k / 2e3
    system = n_samples * n_features**2 + n_features**3
    return int(15 * (1000.0 + k * (100.0 + system / 2e4)) / step)


def _count(pairs):
    """Count one iteration per pair."""
    for pair in pairs:
        yield pair, 1


def _while_it_pays(runner, aim, n_iter):
    """Run an algorithm for at most `n_iter` iterations, or until it will not reach `aim` in time.

    It gets a quarter of the iterations in any case. Later, its progress over the second half of
    the iterations so far is taken as what it will make of the same number again.
    """
    done, trace = 0, []
    for pair, n_steps in runner:
        yield pair, n_steps
        done += n_steps
        trace.append((done, pair.gap))
        if done >= n_iter:
            return
        if done >= n_iter / 4:
            earlier = next(gap for at, gap in trace if at >= done / 2)
            left = 2 * (n_iter - done) / done
            if pair.gap * (pair.gap / earlier) ** left > aim:
                return


def _in_turn(pair, makers):
    """Run algorithms one after the other, each from where the one before ended."""
    for make in makers:
        for better, n_steps in make(pair):
            pair = better
            yield pair, n_steps


class _WorkingSet:
    """The rows of W that the inner algorithm works on."""

    def __init__(self, problem):
        self.problem = problem
        self.rows = np.zeros(0, dtype=np.intp)
        self.scores = None
        self.inside = can_walk_inside(problem) and not problem.ball.is_flat
        n_samples = max(problem.matrix.shape[0], 1)
        self.first = min(max(_FIRST_VALUES // n_samples, _FEWEST_ROWS), _FIRST_ROWS)

    def look(self, dual):
        """Scores of all rows after an inner problem; the dual point may be any."""
        self.scores = self.problem.ball.row_scores(dual.G)

    def choose(self, pair):
        """The rows of the next inner problem."""
        problem = self.problem
        everything = np.arange(problem.matrix.shape[1])
        if not problem.ball.selects_rows:
            return everything
        active = np.flatnonzero(used_rows(pair.primal.W))
        if self.scores is None:
            self.look(pair.dual)
        scores = self.scores
        held = self.rows
        if held.size == 0:
            n_new = max(self.first, active.size)
            held = active
        else:
            # Rows in use share one score at the optimum; before that, half are above it.
            level = np.median(scores[active]) if active.size else 0.0
            violators = int(np.count_nonzero(scores > level)) - active.size // 2
            # Interior-point methods take many times as long for twice the rows.
            most = held.size if self.inside else 3 * active.size
            n_new = min(max(most, self.first), max(violators, _FEWEST_ROWS))
        if active.size > _DENSE_SHARE * everything.size and not self.inside:
            return everything
        scores = scores.copy()
        scores[held] = -np.inf
        n_new = min(n_new, everything.size - held.size)
        new = np.argpartition(-scores, n_new - 1)[:n_new] if n_new > 0 else everything[:0]
        self.rows = np.union1d(held, new)
        if self.rows.size > _MOST_OF_ROWS * everything.size:
            self.rows = everything
        return self.rows


def _restrict(part, pair, rows):
    primal, dual = pair.primal, pair.dual
    W = primal.W[rows]
    return Pair(replace(primal, W=W), part.dual(dual.U, dual.G[rows]))


def _lift(whole, primal, rows):
    W = np.zeros_like(whole.W)
    W[rows] = primal.W
    return Primal(W, primal.mu, primal.XW, primal.value)


def resume(problem: BallProblem, W: NDArray, mu: NDArray, U: NDArray | None = None) -> Pair:
    """A starting pair: the points of an earlier, similar problem, made admissible."""
    mu = problem.identity if problem.rho is None else mu
    primal = problem.primal(problem.ball.project(W), mu)
    dual = problem.dual_of(primal)
    if U is not None:
        bounded = np.clip(U, -problem.loss.bound, problem.loss.bound)
        given = problem.dual(from_host(bounded, problem.matrix.X))
        dual = given if given.value > dual.value else dual
    return Pair(primal, dual)
