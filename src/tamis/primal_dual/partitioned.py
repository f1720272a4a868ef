"""Training on rows that are in several places: `PrimalDualClassifier` over passes.

One pass finds the classes, the standardization and the class means, from which the first gradient
follows. Then, as in `solver`, rounds over a working set of features: their columns are gathered
here if they fit into `max_bytes`, and the solvers of data in memory find the optimum over them;
otherwise the columns stay where they are and every step is a pass (`_accelerated`). One pass over
all columns then certifies the gap of the whole problem and shows which features are missing. What
this side holds, besides gathered columns, is of the size of W.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from tamis._base import require_class_weights, require_two_classes
from tamis._passes import NO_ROWS, Passes
from tamis.primal_dual._accelerated import descend
from tamis.primal_dual._parameters import check_feature_weights, check_number, check_radius
from tamis.primal_dual.balls import used_rows
from tamis.primal_dual.block_tasks import (
    BlockReader,
    Evaluate,
    Gather,
    Look,
    Moments,
    Prepare,
    add,
)
from tamis.primal_dual.head import fit_head, resolve_head
from tamis.primal_dual.history import History
from tamis.primal_dual.problem import BallProblem, Dual, Pair, Primal
from tamis.primal_dual.records import record_of
from tamis.primal_dual.solver import Solution, resume, solve
from tamis.primal_dual.standardized import Standardized
from tamis.primal_dual.training import Scaling, TrainingData, scale_columns, unscaled

# Features of the first round, as far as a quarter of the memory holds their columns.
_FEWEST_COLUMNS, _MOST_COLUMNS = 100, 1000
# The optimum over gathered columns is found to this share of the tolerance.
_SHARE_OF_TOL = 0.3
# That over columns elsewhere to this share of the present gap, if that is more.
_SHARE_OF_GAP = 0.03


def train_passes(estimator: Any, passes: Passes, max_bytes: float) -> None:
    """Fit a `PrimalDualClassifier` on blocks of rows.

    `estimator`: gets its fitted attributes, without `dual_`; `passes`: an engine may have two
    methods besides `run`: ``collect(task)`` returns the sum of the lists that the task makes of
    the blocks, and ``keep(prepare)`` passes over what a function makes of each block, kept where
    the block is; `max_bytes`: memory for gathered columns.
    """
    estimator._check_parameters()
    check_radius("radius", estimator.radius)
    check_number("max_bytes", max_bytes)
    for name, needed in (("algorithm", "fast"), ("warm_start", False), ("device", None)):
        if getattr(estimator, name) != needed:
            raise ValueError(
                f"Training on chunks needs {name}={needed!r}, got {getattr(estimator, name)!r}."
            )
    estimator._forget()
    rows = _first_pass(estimator, passes, max_bytes)
    if estimator.head != "auto":  # before the work, if not even one column fits
        _find_head(estimator, rows, 1)
    history, level = History(), rows.problem.ball.level
    for state in _solve(rows, estimator.tol, estimator._iterations):
        history.add(state.solution, level(state.solution.pair.primal.W))
    solution = state.solution
    estimator._keep_data(rows.data, rows.problem)
    record = record_of(
        rows.data,
        rows.problem,
        solution,
        rows.moments.n_rows,
        keep_dual=False,
        dispersion=state.dispersion,
    )
    head = _fit_head(estimator, rows, record["selected"])
    estimator._be(record | head)
    estimator.history_ = history.table()
    if solution.n_iter >= estimator._iterations:
        estimator._warn_of_gap(solution.relative_gap, estimator._iterations)
    estimator._warn_of_collapse()


@dataclass(frozen=True)
class _Composed:
    """A task on what `prepare` makes of a block."""

    prepare: Callable
    task: Callable

    def __call__(self, number, X, y, sample_weight):
        return self.task(number, *self.prepare(number, X, y, sample_weight))


@dataclass(frozen=True)
class _Prepared(Passes):
    """Passes over what `prepare` makes of the blocks, made again in every pass."""

    passes: Passes
    prepare: Callable
    feature_names: None = None

    def run(self, task, merge):
        return self.passes.run(_Composed(self.prepare, task), merge)


@dataclass(frozen=True)
class _Rows:
    """The rows, wherever they are."""

    passes: Passes
    reader: BlockReader
    scaling: Scaling
    moments: Moments
    # data, problem: with one row per class, its mean, that has the weight of the class: the value,
    # the gradient and the dispersion at W = 0 are those of all rows.
    data: TrainingData
    problem: BallProblem
    max_bytes: float
    held: dict[str, Any] = field(default_factory=dict)  # the columns that were gathered last

    def bytes_of(self, columns):
        """Memory that a solver needs with these columns: two copies, and a few dual points."""
        stored = 16.0 * float(self.moments.stored[columns].sum())
        return stored + 64.0 * self.moments.n_rows * self.data.n_classes

    def evaluate(self, task):
        """Sums over all rows and columns."""
        return _Prepared(self.passes, Prepare(self.reader, self.scaling)).run(task, add)

    def keep(self, columns):
        """Passes over some columns, kept where they are if that is possible."""
        prepare = Prepare(self.reader, self.scaling, columns)
        keep = getattr(self.passes, "keep", None)
        return _Prepared(self.passes, prepare) if keep is None else keep(prepare)

    def gather(self, columns):
        """Some columns of all rows, and the number of rows of each block."""
        if "columns" in self.held and np.isin(columns, self.held["columns"]).all():
            data, places = self.held["data"], np.searchsorted(self.held["columns"], columns)
            return replace(data, matrix=data.matrix.columns(places)), self.held["sizes"]
        self.held.clear()
        is_sparse = self.moments.is_sparse
        task = Gather(Prepare(self.reader, self.scaling, columns), is_sparse)
        collect = getattr(self.passes, "collect", None)
        parts: Any = self.passes.run(task, add) if collect is None else collect(task)
        sizes = {number: codes.size for number, _, codes, _ in parts}
        codes, weights = (np.concatenate([part[i] for part in parts]) for i in (2, 3))
        if is_sparse:
            X = sparse.vstack([part[1] for part in parts], format="csc")
            matrix = self.scaling.of_columns(columns).standardize(X)
        else:
            X = np.empty((codes.size, columns.size), order="F")
            np.concatenate([part[1] for part in parts], out=X)
            matrix = Standardized(X)
        data = replace(self.data, matrix=matrix, codes=codes, weights=weights)
        self.held.update(columns=columns, data=data, sizes=sizes)
        return data, sizes


def _first_pass(estimator, passes, max_bytes):
    """Classes, weights and standardization; sets what the estimator knows of its input."""
    plain = clone(estimator)
    moments = passes.run(Look(BlockReader(plain)), add)
    if moments is None:
        raise ValueError(NO_ROWS)
    moments = moments.in_units()
    n_classes, n_features = moments.mean.shape
    estimator.classes_, estimator.n_features_in_ = moments.classes, n_features
    names = moments.names if passes.feature_names is None else passes.feature_names
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    require_two_classes(estimator)
    require_class_weights(moments.classes, np.arange(n_classes), moments.weight)
    class_weight = estimator.class_weight_ = estimator._weigh_classes(moments.weight)
    feature_weights = check_feature_weights(estimator.feature_weights, n_features)
    scaling = _scaling(moments, class_weight, estimator.standardize, feature_weights)
    matrix, codes = scaling.standardize(moments.mean), np.arange(n_classes)
    sizes = moments.weight * class_weight
    data = TrainingData(matrix, codes, n_classes, sizes, codes, scaling.mean, scaling.scale)
    problem = estimator._problem(data, estimator.radius)
    reader = BlockReader(plain, moments.classes, class_weight, moments.weights.unit)
    return _Rows(passes, reader, scaling, moments, data, problem, max_bytes)


def _scaling(moments, class_weight, standardize, feature_weights):
    with np.errstate(over="ignore", invalid="ignore"):
        if standardize:
            mean = moments.mean.mean(axis=0)
            within = moments.square / moments.weight[:, None]
            variance = (within + (moments.mean - mean) ** 2).mean(axis=0)
        else:
            unit = moments.weight.sum() / moments.n_rows
            mean = np.zeros(moments.mean.shape[1])
            squares = moments.square + moments.weight[:, None] * moments.mean**2
            variance = class_weight @ squares / unit
            variance = variance if feature_weights is None else variance * feature_weights**2
    wrong = np.flatnonzero(~(np.isfinite(mean) & np.isfinite(variance)))
    if wrong.size:
        raise ValueError(
            f"Column {wrong[0]} has values so large that sums over chunks overflow. Divide the "
            "column by a constant."
        )
    if not standardize:
        return unscaled(variance, feature_weights)
    varies = moments.low != moments.high
    return scale_columns(
        mean,
        variance,
        moments.n_rows,
        moments.first,
        lambda chosen: np.flatnonzero(chosen & varies),
        feature_weights,
    )


def _find_head(estimator, rows, n_selected):
    """The name of the head; an error if its columns do not fit: no limit changes the model."""
    n_rows = rows.moments.n_rows
    head = resolve_head(estimator.head, rows.data.n_classes, n_selected, n_rows)
    needed = 16.0 * n_rows * (n_selected + 1)  # dense columns, twice while they are gathered
    if head != "projection" and needed > rows.max_bytes:
        raise ValueError(
            f"head={estimator.head!r}{f' is {head!r} here and' * (head != estimator.head)} needs "
            f"{n_selected} selected column{'s' * (n_selected != 1)} of {n_rows:,} rows in memory, "
            f"{needed:.2g} bytes, and max_bytes is {rows.max_bytes:.2g}. Raise max_bytes, or use "
            "head='projection', which needs none of them."
        )
    return head


def _fit_head(estimator, rows, selected):
    """The head on gathered columns."""
    head = _find_head(estimator, rows, selected.size)
    data = rows.data if head == "projection" else rows.gather(selected)[0]
    return fit_head(head, data, estimator.class_weight_, np.arange(selected.size))


@dataclass(frozen=True)
class _State:
    """A solution, and the dispersion of its primal point (None for W = 0)."""

    solution: Solution
    dispersion: float | None


def _solve(rows: _Rows, tol: float, max_iter: int) -> Iterator[_State]:
    """Yield successively better solutions, until the relative gap is at most `tol`."""
    problem = rows.problem
    empty = problem.empty()
    unit, pair, n_iter = empty.value, Pair(empty, problem.dual_of(empty)), 0
    working, dispersion, last_gap = _WorkingSet(rows), None, np.inf
    yield _State(Solution(pair, unit, n_iter), None)
    while pair.gap > tol * unit and n_iter < max_iter:
        columns = working.choose(pair)
        if not working.is_new and pair.gap > 0.9 * last_gap:
            break  # rounding
        last_gap, start = pair.gap, (pair.primal.W[columns], pair.primal.mu)
        if rows.bytes_of(columns) <= rows.max_bytes:
            round_ = _solve_here(rows, columns, start, tol, max_iter - n_iter)
        else:
            aim = max(_SHARE_OF_GAP * pair.gap, _SHARE_OF_TOL * tol * unit)
            round_ = _solve_there(rows, columns, start, aim, max_iter - n_iter)
        (W, mu), ahead, U, n_steps = round_
        n_iter += n_steps
        used = np.flatnonzero(used_rows(W) | used_rows(ahead[0]))
        task = Evaluate(problem.loss, (W[used], mu), (ahead[0][used], ahead[1]), columns[used], U)
        sums: Any = rows.evaluate(task)
        whole_W, nothing = np.zeros_like(empty.W), np.empty((0, mu.shape[0]))
        whole_W[columns] = W
        value = sums.value
        if problem.rho is not None:
            value += 0.5 * problem.rho * float(np.sum((problem.identity - mu) ** 2))
        bound = problem.best_multiple(sums.class_sums, sums.conjugate, sums.largest, sums.G)
        primal, dual = Primal(whole_W, mu, nothing, value), Dual(nothing, sums.G, *bound)
        pair = pair.better(primal, dual)
        if pair.primal is primal:
            dispersion = problem.dispersion_of(sums.deviation / problem.weights.sum())
        working.look(sums.G)
        yield _State(Solution(pair, unit, n_iter), dispersion)


def _solve_here(rows, columns, start, tol, max_iter):
    """The optimum over gathered columns: primal point twice, dual point by block, iterations."""
    data, sizes = rows.gather(columns)
    part = replace(rows.problem, matrix=data.matrix, codes=data.codes, weights=data.weights)
    begin = resume(part, *start)
    solutions = solve(part, begin, tol=_SHARE_OF_TOL * tol, max_iter=max_iter)
    solution = deque(solutions, maxlen=1).pop()
    ends = np.cumsum(list(sizes.values()))
    pair = solution.pair
    U = dict(zip(sizes, np.split(pair.dual.U, ends[:-1]), strict=True))
    point = pair.primal.W, pair.primal.mu
    return point, point, U, solution.n_iter


def _solve_there(rows, columns, start, aim, max_iter):
    """The optimum over columns that stay where they are, as `_solve_here`."""
    loss = rows.problem.loss
    if not loss.is_smooth:
        raise ValueError(
            f"loss='l1' needs the columns in use in memory, {rows.bytes_of(columns):.2g} bytes, "
            f"and max_bytes is {rows.max_bytes:.2g}. Raise max_bytes, or use loss='huber'."
        )
    found = descend(rows.problem, rows.keep(columns), start, aim, max_iter)
    return found.point, found.source, None, found.n_passes


class _WorkingSet:
    """The features that a round works on."""

    def __init__(self, rows):
        self.rows = rows
        self.held = np.zeros(0, dtype=np.intp)
        self.scores = None
        self.is_new = True

    def look(self, G):
        """Scores of all features after a round."""
        if self.rows.problem.ball.selects_rows:
            self.scores = self.rows.problem.ball.row_scores(G)

    def choose(self, pair):
        """The columns of the next round, ascending."""
        earlier = self.held
        self.held = np.arange(pair.primal.W.shape[0])
        if self.rows.problem.ball.selects_rows:
            if self.scores is None:
                self.look(pair.dual.G)
            self.held = self._grow(np.flatnonzero(used_rows(pair.primal.W)), earlier)
        self.is_new = not np.array_equal(earlier, self.held)
        return self.held

    def _grow(self, active, held):
        rows = self.rows
        scores = self.scores.copy()
        first = self._n_first()
        n_new = first
        if held.size:
            # Features in use share one score at the optimum; before that, half are above it.
            level = np.median(scores[active]) if active.size else 0.0
            violators = int(np.count_nonzero(scores > level)) - active.size // 2
            n_new = min(max(2 * active.size, first), max(violators, 10))
        scores[held] = scores[active] = -np.inf
        best = np.argsort(-scores, kind="stable")
        new = best[: min(n_new, int(np.count_nonzero(scores > -np.inf)))]
        grown = np.union1d(np.union1d(held, active), new)
        if rows.bytes_of(grown) > rows.max_bytes:  # without those that turned out useless
            grown = np.union1d(active, new)
        return grown

    def _n_first(self):
        """How many of the best features fit into a quarter of the memory, within bounds."""
        best = np.argsort(-self.scores, kind="stable")[:_MOST_COLUMNS]
        room = 0.25 * self.rows.max_bytes - self.rows.bytes_of(best[:0])
        n_fit = np.searchsorted(16.0 * np.cumsum(self.rows.moments.stored[best]), room)
        return int(max(n_fit, _FEWEST_COLUMNS))
