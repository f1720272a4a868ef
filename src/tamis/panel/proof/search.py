"""Best-first branch and bound over panels, many nodes at a time.

The nodes of smallest bound are taken from a queue and bounded together (`Search._bound`): at most
`_MOST_PASSES` Newton steps of their relaxations, each with one look at the rows and one product
with all columns. A node that is not dropped then loses the groups that reduced costs decide. If
few of its panels are left whose own dual bound is within the goal, they are all fitted and the
node is done; otherwise it is divided on the free group of largest weight, and its children begin
with the step that the parent would take next, restricted to their groups, which needs no rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tamis.panel.proof.counting import Largest, enumerate_above, largest
from tamis.panel.proof.duals import DualPoints, look, margins_of, normal_matrices, slopes_of
from tamis.panel.proof.effort import Effort
from tamis.panel.proof.fits import fit_panels
from tamis.panel.proof.nodes import MOST_LISTED, FeasibleDual, Node, NodeStart, make_batch
from tamis.panel.proof.problem import FitProblem
from tamis.panel.proof.relaxation import best_weights, improve
from tamis.panel.proof.rules import Panel, Rules

__all__ = ["SLACK", "ProofProgress", "Search"]

#: Relative; a loss is within a goal up to it, so that rounding drops no panel.
SLACK = 1e-9
_MOST_BATCH, _BATCH_VALUES = 32, 1 << 19
_MOST_PASSES, _MOST_PASSES_OF_LISTS = 5, 8
# Changes between coefficients and weights in a step.
_ROUNDS = 16
# Panels that are fitted instead of dividing a node.
_MOST_FITTED = 128
# Groups on which a node with many of them is divided at once.
_PARTS = 8
# No more panels are remembered than that; beyond it, only the best one is looked for.
_MOST_FOUND = 100_000
_LARGEST_MOVE = 6.0


class ProofProgress(NamedTuple):
    """How far a search is."""

    n_nodes: int
    n_fitted: int
    best: float
    lower_bound: float
    seconds: float


class _State(NamedTuple):
    """What the best dual of a node says."""

    dual: FeasibleDual
    ranked: Largest
    bound: float


class _OutOfTimeError(Exception):
    pass


class Search:
    """The search for all panels of k groups within a goal of the best.

    `found` has the losses of the panels within the goal, `open` the queue. A bound of the queue
    holds for all panels that were neither fitted nor excluded.
    """

    def __init__(
        self,
        problem: FitProblem,
        k: int,
        limit_of: Callable[[float], float],
        effort: Effort | None = None,
    ) -> None:
        self.problem, self.k, self.limit_of = problem, k, limit_of
        self.effort = Effort() if effort is None else effort
        self.rules = Rules(problem, k)
        self.found: dict[Panel, float] = {}
        self.best = np.inf
        self.is_full = False
        self.open: list[tuple[float, int, Node]] = []
        self._n_pushed = 0
        share = problem.targets @ problem.weights / problem.weights.sum()
        null = problem.weights * (problem.targets - share[:, None])
        closed = self.rules.close((), np.arange(problem.n_groups))
        if closed is None:
            raise ValueError("There is no panel of so many groups.")
        inside, free = closed
        if len(inside) == k:
            self.add([inside])
        else:
            dual = self._duals(np.zeros(1), null[None])[0]
            self._push(Node(0.0, inside, free, dual))

    # What is known.

    @property
    def goal(self) -> float:
        """Panels with a larger loss are not wanted."""
        limit = self.best if self.is_full else self.limit_of(self.best)
        return limit * (1.0 + SLACK)

    @property
    def lower_bound(self) -> float:
        """No panel has a smaller loss."""
        return min(self.best, self.open[0][0]) if self.open else self.best

    @property
    def unknown_from(self) -> float:
        """All panels with a smaller loss are found; infinite if nothing is left."""
        return self.open[0][0] if self.open else np.inf

    def add(self, panels: list[Panel]) -> None:
        """Fit panels, and remember those within the goal."""
        new = sorted({self.rules.first_copies(p) for p in panels}.difference(self.found))
        height = max(1, _BATCH_VALUES // self.problem.weights.size)
        for first in range(0, len(new), height):
            some = new[first : first + height]
            table = np.array(some, dtype=np.intp).reshape(len(some), -1)
            losses = fit_panels(self.problem, table, self.goal)
            self.effort.n_fitted += len(some)
            for panel, loss in zip(some, losses.tolist(), strict=True):
                if loss <= self.goal:
                    self.found[panel] = loss
                    self.best = min(self.best, loss)
            if len(self.found) > _MOST_FOUND:
                self._forget()
            if first + height < len(new) and self.effort.is_late:
                raise _OutOfTimeError

    def _forget(self):
        """Drop panels beyond the goal; if that does not help, look for the best one only."""
        for _ in range(2):
            goal = self.goal
            self.found = {p: loss for p, loss in self.found.items() if loss <= goal}
            if len(self.found) <= _MOST_FOUND:
                return
            self.is_full = True

    # The search.

    def run(self, report: Callable[[ProofProgress], object] | None = None) -> None:
        """Search until nothing is left, or all effort is spent; interrupting keeps what is known.

        `report` is called after every batch of nodes; if it returns something true, the search
        stops.
        """
        effort = self.effort
        while self.open and not effort.is_spent:
            nodes: list[Node] = []
            try:
                self._take_next(nodes)
                if nodes:
                    self._process(nodes)
                nodes = []
                self._narrow()
                progress = ProofProgress(
                    effort.n_nodes, effort.n_fitted, self.best, self.lower_bound, effort.seconds
                )
                if report is not None and report(progress):
                    break
            except (_OutOfTimeError, KeyboardInterrupt) as reason:
                for node in nodes:  # their bounds hold, but what is below them is not known
                    self._push(node)
                if isinstance(reason, KeyboardInterrupt):
                    effort.interrupt()
                break
        goal = self.goal
        self.open = [entry for entry in self.open if entry[0] <= goal]
        heapq.heapify(self.open)

    def _push(self, node):
        self._n_pushed += 1
        heapq.heappush(self.open, (node.bound, self._n_pushed, node))

    def _take_next(self, nodes):
        """Move the open nodes of smallest bound to a list; as many as are worked on together.

        Every node is in the list before it leaves the queue, so that Ctrl-C loses none.
        """
        n_values = self.problem.weights.size * len(self.problem.targets)
        most = int(np.clip(_BATCH_VALUES // (16 * n_values), 1, _MOST_BATCH))
        most = max(1, min(most, np.ceil(self.effort.left())))
        while self.open and len(nodes) < most:
            node = self.open[0][2]
            if node.bound <= self.goal:
                nodes.append(node)
            heapq.heappop(self.open)

    def _narrow(self):
        """After the root, leave the groups behind that are in no open node."""
        if self.effort.n_nodes > 1 or not self.open:
            return
        used = np.zeros(self.problem.n_groups, dtype=bool)
        for _, _, node in self.open:
            used[node.free] = True
            used[list(node.inside)] = True
            used[node.start.groups] = True
        for panel in self.found:
            used[list(panel)] = True
        some = np.flatnonzero(used)
        if 2 * some.size > used.size:
            return
        number = np.cumsum(used) - 1

        def renumber(panel):
            return tuple(number[list(panel)].tolist())

        old = self.problem
        problem = old.subset(some)
        found = {renumber(panel): loss for panel, loss in self.found.items()}
        of_places = np.full(len(old.columns), problem.padding)
        kept = np.concatenate([old.table[g][old.table[g] != old.padding] for g in some])
        of_places[kept] = np.arange(kept.size)
        of_places[old.always] = problem.always
        left = []
        for bound, turn, node in self.open:
            start = node.start
            places = of_places[start.places]
            start = NodeStart(number[start.groups], start.weights, places, start.coef)
            dual = node.dual._replace(scores=node.dual.scores[some])
            inside, free = renumber(node.inside), number[node.free]
            left.append((bound, turn, Node(node.bound, inside, free, dual, start)))
        rules = Rules(problem, self.k)
        # All at once: Ctrl-C must not leave groups with different numbers.
        self.problem, self.rules, self.found, self.open = problem, rules, found, left

    def _process(self, nodes):
        """Bound some nodes; fit the last panels of small ones, and divide the others."""
        self.effort.n_nodes += len(nodes)
        children: list[Node] = []
        panels: list[Panel] = []
        batch = make_batch(self.problem, self.k, nodes)
        states: dict[int, _State] = {}
        is_list = any(node.free.size > MOST_LISTED for node in nodes)
        most = _MOST_PASSES_OF_LISTS if is_list else _MOST_PASSES
        for turn in range(most):
            seen = look(self.problem, batch.margins)
            relaxed = seen.loss + self._penalty(batch)
            self._bound(batch.nodes, seen, states)
            going = np.array([node.bound <= self.goal for node in batch.nodes])
            if not going.any():
                break
            if not going.all():
                rows = np.flatnonzero(going)
                batch, relaxed = batch.select(rows), relaxed[rows]
                seen = DualPoints(*(part[rows] for part in seen))
            matrix, target = self._model(batch, seen)
            is_last = turn + 1 == most
            done = np.array(
                [
                    is_last or self._is_enough(states[id(node)], value)
                    for node, value in zip(batch.nodes, relaxed, strict=True)
                ]
            )
            if done.any():
                rows = np.flatnonzero(done)
                ready = batch.select(rows)
                of_states = [states[id(node)] for node in ready.nodes]
                self._divide(ready, of_states, matrix[rows], target[rows], panels, children)
                if done.all():
                    break
                rows = np.flatnonzero(~done)
                batch, matrix, target = batch.select(rows), matrix[rows], target[rows]
            batch = self._step(batch, matrix, target)
            if is_list:
                batch = self._list_again(batch)
        self.add(panels)
        for child in children:
            self._push(child)

    def _is_enough(self, state, relaxed):
        """Whether further steps would not change what becomes of a node.

        `relaxed`: an upper bound of what its bound can become.
        """
        gap = relaxed - state.bound
        return gap < 1e-3 * relaxed or (
            relaxed < self.goal and gap < 0.3 * (self.goal - state.bound)
        )

    # Bounds.

    def _bound(self, nodes, seen, states):
        """Raise the bounds of nodes to those of their duals, and keep the best dual of each."""
        for node, dual in zip(nodes, self._duals(seen.entropy, seen.dual), strict=True):
            if id(node) not in states:
                states[id(node)] = self._judge(node, node.dual)
            state = self._judge(node, dual)
            if state.bound > states[id(node)].bound:
                states[id(node)], node.dual = state, dual
            node.bound = max(node.bound, states[id(node)].bound)
            node.latest = dual.scores

    def _duals(self, entropy, dual):
        """Duals with the scores of all groups."""
        kept = self.problem.columns[self.problem.always[:-1]]
        of_kept = ((dual @ kept.T) ** 2).sum(axis=(1, 2))
        parts = zip(entropy.tolist(), self._scores(dual), of_kept.tolist(), strict=True)
        return [FeasibleDual(*part) for part in parts]

    def _judge(self, node, dual):
        """What a dual says about a node."""
        ranked = self._rank(node, dual.scores)
        total = dual.of_kept + dual.scores[list(node.inside)].sum() + ranked.total
        return _State(dual, ranked, float(dual.entropy - total / (2 * self.problem.ridge)))

    def _scores(self, dual):
        """``c_g ** 2`` of all groups: (B, G)."""
        B, C, n = dual.shape
        c = (dual.reshape(B * C, n) @ self.problem.free_columns.T).reshape(B, C, -1)
        return self.problem.group_sums(np.einsum("bcp,bcp->bp", c, c))

    def _rank(self, node, scores):
        m = self.k - len(node.inside)
        if not self.rules.has_limits:
            return largest(scores, node.free, m)
        return largest(scores, node.free, m, self.problem.set_of, self.rules.room(node.inside))

    def _penalty(self, batch):
        squares = np.einsum("bca,bca->ba", batch.coef, batch.coef)
        weights = np.hstack([batch.weights, np.ones((len(batch.nodes), 1))])
        of = np.where(batch.of >= 0, batch.of, batch.weights.shape[1])
        weights = np.take_along_axis(weights, of, axis=1)
        part = np.zeros_like(squares)
        np.divide(squares, weights, out=part, where=(squares > 0) & (weights > 0))
        part[batch.of == -2] = 0.0
        return 0.5 * self.problem.ridge * part.sum(axis=1)

    # Steps.

    def _model(self, batch, seen):
        """The quadratic model of the losses around the coefficients of each node."""
        matrix = normal_matrices(self.problem, batch.places, seen.curvature)
        slope = slopes_of(self.problem, batch.places, seen.slope)
        return matrix, np.matmul(matrix, batch.coef[..., None])[..., 0] + slope

    def _step(self, batch, matrix, target):
        coef, weights = improve(
            matrix,
            target,
            batch.of,
            self.problem.ridge,
            batch.weights,
            batch.inside,
            batch.free,
            batch.n_wanted,
            _ROUNDS,
        )
        moves = margins_of(self.problem, batch.places, coef - batch.coef)
        longest = np.abs(moves).max(axis=2)
        share = np.minimum(1.0, _LARGEST_MOVE / np.maximum(longest, 1e-300))[..., None]
        batch.coef = batch.coef + share * (coef - batch.coef)
        batch.margins = batch.margins + share * moves
        batch.weights = weights
        return batch

    def _list_again(self, batch):
        """Replace listed groups without weight by those of large score."""
        for row, node in enumerate(batch.nodes):
            node.start = batch.start(row)
        return make_batch(self.problem, self.k, batch.nodes)

    # Division.

    def _divide(self, batch, states, matrix, target, panels, children):
        """Decide groups by reduced costs; list the last panels of nodes, or make children."""
        rows, new = [], []
        for row, (node, state) in enumerate(zip(batch.nodes, states, strict=True)):
            closed = self._fix(node, state)
            if closed is None:
                continue
            inside, free = closed
            if len(inside) == self.k:
                panels.append(inside)
                continue
            last = self._last_panels(inside, free, state.dual)
            if last is not None:
                panels.extend(last)
                continue
            for part in self._parts(inside, free, batch, row):
                closed = self.rules.close(*part)
                if closed is None:
                    continue
                if len(closed[0]) == self.k:
                    panels.append(closed[0])
                else:
                    rows.append(row)
                    new.append(Node(node.bound, *closed, node.dual))
        if new:
            self._start(new, batch.select(np.array(rows)), matrix[rows], target[rows])
            children.extend(new)

    def _fix(self, node, state):
        """Groups that are in all, or in none, of the panels of a node within the goal."""
        left = 2 * self.problem.ridge * (self.goal - state.bound)
        ranked = state.ranked
        goes_in = ranked.chosen[ranked.cost_out > left]
        stays_out = ranked.others[ranked.cost_in > left]
        is_free = np.zeros(self.problem.n_groups, dtype=bool)
        is_free[node.free] = True
        is_free[goes_in] = is_free[stays_out] = False
        return self.rules.close((*node.inside, *goes_in.tolist()), np.flatnonzero(is_free))

    def _last_panels(self, inside, free, dual):
        """All panels whose own bound is within the goal, if there are few; otherwise None."""
        m, scores = self.k - len(inside), dual.scores[free]
        of_inside = dual.of_kept + dual.scores[list(inside)].sum()
        least = 2 * self.problem.ridge * (dual.entropy - self.goal) - of_inside
        least -= SLACK * (abs(least) + of_inside)
        # Beside a group there are at best the m - 1 best ones.
        best = np.partition(scores, scores.size - m)[scores.size - m :]
        able = free[scores + (best.sum() - best.min()) >= least]
        if able.size - (m - 1) > _MOST_FITTED:  # each of them is in a panel with the best ones
            return None
        ordered = able[np.argsort(-dual.scores[able], kind="stable")]
        places = enumerate_above(dual.scores[ordered], m, least, _MOST_FITTED)
        if places is None:
            return None
        panels = [(*inside, *ordered[list(some)].tolist()) for some in places]
        return [panel for panel in panels if self.rules.allows(panel)]

    def _parts(self, inside, free, batch, row):
        """Divide a node: with the group of largest weight, or without it.

        Where there are many groups, the part without it is divided again at once, several times.
        """
        weights = np.zeros(self.problem.n_groups)
        listed = batch.groups[row] >= 0
        weights[batch.groups[row][listed]] = batch.weights[row][listed]
        order = np.lexsort((-batch.nodes[row].dual.scores[free], -weights[free]))
        n_parts = _PARTS if free.size > MOST_LISTED else 1
        for g in free[order[:n_parts]].tolist():
            free = free[free != g]
            yield (*inside, g), free
        yield inside, free

    def _start(self, children, batch, matrix, target):
        """Where children begin: the step of the parent, with their own groups."""
        listed = batch.groups >= 0
        inside = np.zeros(batch.groups.shape, dtype=bool)
        free = np.zeros(batch.groups.shape, dtype=bool)
        status = np.zeros(self.problem.n_groups, dtype=np.int8)
        for row, child in enumerate(children):
            status[:] = 0
            status[child.free], status[list(child.inside)] = 1, 2
            of_row = status[batch.groups[row]]
            free[row], inside[row] = of_row == 1, of_row == 2
        inside, free = inside & listed, free & listed
        n_wanted = np.array([self.k - len(child.inside) for child in children])
        batch.weights = best_weights(np.where(free, batch.weights, 0.0), n_wanted)
        batch.coef, batch.weights = improve(
            matrix,
            target,
            batch.of,
            self.problem.ridge,
            batch.weights,
            inside,
            free,
            n_wanted,
            _ROUNDS,
        )
        for row, child in enumerate(children):
            child.start = batch.start(row)
