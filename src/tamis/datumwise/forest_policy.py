"""ForestPolicy: goes from set to set of a lattice, with a forest for each, until it stops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tamis._base import softmax
from tamis.datumwise.costs import whole_costs
from tamis.datumwise.evidence import Answers, SetForest, expected_loss
from tamis.datumwise.forest import mean_rows
from tamis.datumwise.induction import Rule, choose_moves
from tamis.datumwise.process import ASK, KNOWN, MISSING, OPEN, Run

__all__ = ["ForestPolicy", "Stage"]

# Decisions closer than this to the largest are equal to it.
_EQUAL = 1e-12


@dataclass(frozen=True)
class Stage:
    """One set of blocks, and what the policy does there."""

    blocks: np.ndarray  # the set
    forest: SetForest  # probabilities, given the values of the set
    rule: Rule  # when to stop and where to go
    targets: np.ndarray  # (n_moves,): the stage that each move leads to
    new: list  # the blocks that each move buys, in order
    means: np.ndarray  # (n_moves,): expected cost of each move, over all samples
    # row_of, table: for a local rule: row of `table` for each node of the forest, and the expected
    # cost of each move in it, (n_rows, n_moves).
    row_of: np.ndarray | None = None
    table: np.ndarray | None = None


@dataclass(frozen=True)
class ForestPolicy:
    """A policy on a lattice of sets of blocks."""

    stages: list  # small sets first; the first is the empty one
    # (n_candidates,): the blocks that are ever asked for. Stages refer to blocks by their index
    # here.
    blocks: np.ndarray
    # The columns of X that belong to them. Forests refer to columns by their index here.
    columns: np.ndarray
    costs: np.ndarray  # (n_candidates,): their costs
    class_losses: np.ndarray  # (n_classes,): loss of a wrong label of each class
    cost_weight: float  # loss that one unit of cost is worth
    temperature: float = 1.0  # divisor of the decisions, after the temperatures of the stages

    @property
    def reachable(self) -> NDArray[np.int64]:
        """The blocks that some sample can be asked for, ascending: those of the stages."""
        own = np.concatenate([stage.blocks for stage in self.stages])
        return self.blocks[np.unique(own)]

    def narrow(self, columns: NDArray, block_of: NDArray) -> ForestPolicy:
        """The same policy for samples of some columns only.

        `columns`: the columns, which must include those of the blocks that can be asked for;
        `block_of` (n_columns,): block of each of them, by its number in this policy's process.
        Returns `policy`: its columns and blocks are numbered from 0.
        """
        blocks = np.unique(block_of)
        place = np.searchsorted(blocks, self.blocks)
        forests = {id(stage.forest): stage.forest for stage in self.stages}
        column = np.searchsorted(columns, self.columns).astype(np.int32)
        forests = {key: forest.renumber(column) for key, forest in forests.items()}
        stages = [
            replace(
                stage,
                blocks=place[stage.blocks],
                forest=forests[id(stage.forest)],
                new=[place[new] for new in stage.new],
            )
            for stage in self.stages
        ]
        costs = self.costs[np.isin(self.blocks, blocks)]
        numbers = np.arange(blocks.size), np.arange(columns.size)
        return replace(self, stages=stages, blocks=numbers[0], columns=numbers[1], costs=costs)

    def run(self, X: NDArray, status: NDArray, trace: bool = False) -> Run:
        """Ask for blocks until it is time to stop.

        `X` (n_samples, n_features): samples; `status` (n_samples, n_blocks): ASK, KNOWN, MISSING
        or OPEN; `trace`: whether to return the decisions after each purchase.
        """
        return _Walk(self, _Rows([self], X, {}), status).run(trace)

    @staticmethod
    def run_all(
        policies: Sequence[ForestPolicy],
        X: NDArray,
        status: NDArray,
        answers: Mapping[int, Answers] | None = None,
    ) -> Iterator[Run]:
        """Run the policies of one path on the same rows; each forest is used once per row.

        `answers`: what forests, by their ids, say of the rows, as far as it is known.
        """
        rows = _Rows(policies, X, answers or {})
        for policy in policies:
            yield _Walk(policy, rows, status).run(trace=False)


class _Rows:
    """Rows to classify, with the results of forests that several policies share."""

    def __init__(self, policies, X, answers):
        self.n_rows = X.shape[0]
        # Kernels want writable arrays.
        self.XT = np.array(X[:, policies[0].columns].T, dtype=np.float64, order="C")
        forests = {id(stage.forest): stage.forest for p in policies for stage in p.stages}
        self.work = self.n_rows * sum(forest.n_trees for forest in forests.values())
        self._is_shared = len(policies) > 1 or bool(answers)
        everyone = np.ones(self.n_rows, dtype=bool)
        self._answers = {forest: (everyone, *known) for forest, known in answers.items()}
        self._with_cells = {
            id(stage.forest)
            for policy in policies
            for stage in policy.stages
            if stage.table is not None
        }

    def ask(self, stage, rows):
        """Decisions for some rows at a stage, and the expected cost of each of its moves."""
        decisions, cells = self._answer(stage, rows)
        if stage.table is None:
            return decisions, np.tile(stage.means, (rows.size, 1))
        if not self._is_shared:
            return decisions, cells
        return decisions, mean_rows(stage.row_of[cells], stage.table)

    def _answer(self, stage, rows):
        """Decisions, and coarse cells where a local rule needs them; values if not shared."""
        forest = stage.forest
        has_cells = id(forest) in self._with_cells
        if not self._is_shared:
            if has_cells:
                return forest.decisions_and_values(
                    self.XT, rows, stage.row_of, stage.table, self.work
                )
            return forest.decisions(self.XT, rows, self.work), None
        if id(forest) not in self._answers:
            decisions = np.empty((self.n_rows, forest.prior.size))
            cells = np.empty((self.n_rows, forest.n_trees), dtype=np.int32) if has_cells else None
            self._answers[id(forest)] = np.zeros(self.n_rows, dtype=bool), decisions, cells
        is_known, decisions, cells = self._answers[id(forest)]
        new = rows[~is_known[rows]]
        if new.size:
            is_known[new] = True
            if has_cells:
                decisions[new], cells[new] = forest.decisions_and_cells(self.XT, new, self.work)
            else:
                decisions[new] = forest.decisions(self.XT, new, self.work)
        return decisions[rows], cells[rows] if has_cells else None


class _Walk:
    """One run of a policy: at which stage each sample is, and what it has bought."""

    def __init__(self, policy, rows, status):
        self.policy, self.rows = policy, rows
        self.status = status[:, policy.blocks]
        self.all_for_sale = bool((self.status == ASK).all())
        n_samples = status.shape[0]
        self.at = np.zeros(n_samples, dtype=np.int64)
        self.active = np.ones(n_samples, dtype=bool)
        self.decisions = np.zeros((n_samples, policy.class_losses.size))
        # Whether the last move brought a value: otherwise the decisions do not change.
        self.learned = np.ones(n_samples, dtype=bool)
        self.order = np.full((n_samples, policy.blocks.size), -1, dtype=np.int32)
        self.n_bought = np.zeros(n_samples, dtype=np.int64)
        self.request = np.full(n_samples, -1, dtype=np.int32)

    def run(self, trace):
        policy = self.policy
        n_samples, n_classes = self.decisions.shape
        self._start_from_known()
        steps = np.full((n_samples, policy.blocks.size + 1, n_classes), np.nan) if trace else None
        for s, stage in enumerate(policy.stages):
            rows = np.flatnonzero(self.active & (self.at == s))
            if rows.size:
                if stage.rule.kind == "go" and not trace:
                    rows = self._pass_through(stage, rows)
                    if not rows.size:
                        continue
                rows, expected = self._decide(stage, rows)
                if trace:
                    steps[rows, self.n_bought[rows]] = self.decisions[rows]
                self._move(stage, rows, expected)
        length = int(self.n_bought.max(initial=0))
        order = np.full((n_samples, length), -1, dtype=np.int32)
        bought = self.order[:, :length]
        order[bought >= 0] = policy.blocks[bought[bought >= 0]]
        request = np.where(self.request >= 0, policy.blocks[self.request], -1).astype(np.int32)
        if trace:
            steps = self._fill(steps[:, : length + 1])
        return Run(self.decisions / policy.temperature, order, request, steps)

    def _start_from_known(self):
        """Start at the largest set that is known for free."""
        known = self.status == KNOWN
        if not known.any():
            return
        for s, stage in enumerate(self.policy.stages):
            self.at[known[:, stage.blocks].all(axis=1)] = s

    def _pass_through(self, stage, rows):
        """Move the rows that certainly go on, without using the forest; returns the others."""
        new = stage.new[stage.rule.move]
        sure = np.ones(rows.size, dtype=bool)
        if not self.all_for_sale:
            sure = (self.status[np.ix_(rows, new)] == ASK).all(axis=1)
            for larger in stage.new:  # values known already may allow another move for free
                sure &= ~(self.status[np.ix_(rows, larger)] == KNOWN).all(axis=1)
        going = rows[sure]
        for block in new:
            self.order[going, self.n_bought[going]] = block
            self.n_bought[going] += 1
        self.at[going] = stage.targets[stage.rule.move]
        self.learned[going] = True
        return rows[~sure]

    def _decide(self, stage, rows):
        """Set the decisions of the rows at a stage, except those that can go on for free.

        Returns these rows and the expected costs of their moves.
        """
        moves = () if self.all_for_sale else zip(stage.targets, stage.new, strict=True)
        for target, new in moves:
            free = (self.status[np.ix_(rows, new)] == KNOWN).all(axis=1)
            self.at[rows[free]] = target
            self.learned[rows[free]] = True
            rows = rows[~free]
        decisions, expected = self.rows.ask(stage, rows)
        decisions -= decisions.max(axis=1, keepdims=True)
        decisions = np.where(decisions > -_EQUAL, 0.0, decisions)
        learned = self.learned[rows]
        self.decisions[rows[learned]] = decisions[learned]
        return rows, expected

    def _move(self, stage, rows, expected):
        """Stop, or buy what the best move needs."""
        if stage.rule.kind == "stop" or not stage.targets.size:
            self.active[rows] = False
            return
        in_vain = np.zeros(expected.shape, dtype=bool)
        for move, new in enumerate(() if self.all_for_sale else stage.new):
            status = self.status[np.ix_(rows, new)]
            free = (status == KNOWN) | (status == MISSING)
            if free.any():
                costs, weight = self._whole_costs
                expected[:, move] -= weight * (free * costs[new]).sum(axis=1)
            in_vain[:, move] = (status == MISSING).all(axis=1)
        # A move whose blocks are all unavailable brings no value; it is made only if there is no
        # other, because it leads to larger sets.
        expected[in_vain & ~in_vain.all(axis=1, keepdims=True)] = np.inf
        stop = expected_loss(softmax(self.decisions[rows]), self.policy.class_losses)
        move, stops = choose_moves(stop, expected)
        if stage.rule.kind != "local":
            wanted = np.full(rows.size, stage.rule.move)
            usable = np.isfinite(expected[np.arange(rows.size), wanted])
            move = np.where(usable, wanted, move)
            is_threshold = stage.rule.kind == "threshold"
            stops = stop <= stage.rule.at if is_threshold else np.zeros(rows.size, dtype=bool)
        self.learned[rows] = ~in_vain[np.arange(rows.size), move]
        self.active[rows[stops]] = False
        for m, (target, new) in enumerate(zip(stage.targets, stage.new, strict=True)):
            going = rows[~stops & (move == m)]
            for block in new:
                status = self.status[going, block]
                waiting = going[status == OPEN]
                self.request[waiting] = block
                self.active[waiting] = False
                buying = going[status == ASK]
                self.order[buying, self.n_bought[buying]] = block
                self.n_bought[buying] += 1
                going = going[status != OPEN]
            self.at[going] = target

    @cached_property
    def _whole_costs(self):
        """Costs as multiples of a unit, and the cost of the unit."""
        costs, unit = whole_costs(self.policy.costs)
        return costs, self.policy.cost_weight * unit

    def _fill(self, steps):
        """Decisions after each purchase; within a move they are those before it."""
        for t in range(1, steps.shape[1]):
            inside = np.isnan(steps[:, t, 0]) & (t <= self.n_bought)
            steps[inside, t] = steps[inside, t - 1]
        return steps / self.policy.temperature
