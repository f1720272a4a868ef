"""The best policy on a lattice, by backward induction on out-of-fold evidence.

Let V_z be, for each training row, the cost of following the policy from the set z on. From the
largest sets to the smallest, a set chooses one of these rules:

* *stop*: V_z = loss_z;
* *go to a*, always: V_z = cost(a without z) + V_a, for each of its moves;
* *threshold*: stop where the expected loss S of naming a class is at most t, else go to the move
  with the smallest mean; t is one of a few quantiles of S;
* *local*: each row takes the smallest of S and of the expected costs of the moves,
  ``Q_a(x) = s * local mean + (1 - s) * mean`` of cost + V_a, with s = 1/2 or 1.

The rule with the smallest mean cost is chosen. For the rows of a fold, V_z is that of the rule
which the other folds choose, so that choosing is not rewarded for luck, at no extra work. Since
V_a is the cost of what the policy really does next, a block is asked for even if it is only useful
for choosing the next one: nothing here is greedy. Losses and costs are kept apart until they are
compared, so that two paths with the same purchases and the same loss have exactly the same cost.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tamis.datumwise.forest import membership

# Shares of local means in the expected costs of local rules.
_LOCAL = np.array([0.5, 1.0])
_NONE = np.empty(0)


@dataclass(frozen=True)
class Rule:
    """What the policy does at a set."""

    kind: str  # "stop", "go", "threshold", "local"
    move: int = -1  # which move "go" and "threshold" make
    at: float = 0.0  # "threshold": the largest S that stops; "local": the share s of local means


@dataclass(frozen=True)
class PolicySolution:
    """The policy for one cost weight."""

    cost_weight: float
    moves: dict  # for each set, the list of sets that can come next
    rules: dict  # for each set, its `Rule`
    losses: dict  # for each set, the final `loss` of each row from there, of shape (n_samples,)
    outcomes: dict  # the same for the actual losses
    paid: dict  # for each set, what each row pays from there on, of shape (n_samples,)
    # For each set, the move that its rule makes with each row, -1 where it stops.
    taken: dict = field(default_factory=dict)

    def value(self, blocks):
        """V of a set, of shape (n_samples,)."""
        return self.losses[blocks] + self.cost_weight * self.paid[blocks]

    def outcome(self, blocks):
        """The same with the actual losses."""
        return self.outcomes[blocks] + self.cost_weight * self.paid[blocks]

    def move_values(self, costs, blocks):
        """Value of each move from a set for each row: (n_samples, n_moves)."""
        paid = self.paid_by_moves(costs, blocks)
        return self.after_moves(self.losses, blocks) + self.cost_weight * paid

    def paid_by_moves(self, costs, blocks):
        """Cost that each row pays with each move from a set and after it: (n_samples, n_moves)."""
        in_set = set(blocks)
        columns = []
        for larger in self.moves[blocks]:
            new = [block for block in larger if block not in in_set]
            columns.append(costs[:, new].sum(axis=1) + self.paid[larger])
        return np.stack(columns, axis=1)

    def after_moves(self, table, blocks):
        """The column of `losses` or `outcomes` for each move from a set."""
        return np.stack([table[larger] for larger in self.moves[blocks]], axis=1)


class _Step(NamedTuple):
    """What is decided at a set, for W cost weights at once."""

    moves: tuple  # sets that can come next
    # losses, outcomes, paid: (n_samples, W): what each row finally loses and pays from here on.
    losses: np.ndarray
    outcomes: np.ndarray
    paid: np.ndarray
    # (n_samples, W): the move that the rule makes with each row, -1 where it stops.
    taken: np.ndarray
    rules: list


class Induction:
    """Backward induction for several cost weights at once, on lattices that grow.

    `costs` (n_samples, n_blocks).
    """

    def __init__(self, gatherer, costs, cost_weights):
        self.gatherer, self.costs = gatherer, costs
        self.weights = np.array(cost_weights, dtype=np.float64)
        self._costs_of = np.ascontiguousarray(costs.T)
        fold_of = gatherer.fold_of
        n_folds = int(fold_of.max()) + 1
        # Sums over the rows of each fold, in order: of rules that do the same with all rows, the
        # sums are equal to the last bit.
        self._folds = membership(fold_of[:, None].astype(np.int32), n_folds).T
        self._everyone = membership(np.zeros((fold_of.size, 1), np.int32), 1).T
        self._other_folds = np.array(
            [[other for other in range(n_folds) if other != fold] for fold in range(n_folds)],
            dtype=np.int64,
        )
        self._steps = {}

    def solve(self, moves, sets=None):
        """Find the best rules for each cost weight.

        What was found before is used again for sets from which the same moves lead to the same
        results.

        `sets`: the sets that may be used; None: all of them.
        """
        if sets is not None:
            moves = {blocks: [to for to in moves[blocks] if to in sets] for blocks in sets}
        before, self._steps = self._steps, {}
        for blocks in reversed(by_size(moves)):
            onward = tuple(moves[blocks])
            step = before.get(blocks)
            if (
                step is None
                or step.moves != onward
                or any(self._steps[to] is not before[to] for to in onward)
            ):
                step = self._decide(blocks, onward)
            self._steps[blocks] = step
        return [self._solution(w) for w in range(self.weights.size)]

    def _solution(self, w):
        steps = self._steps
        return PolicySolution(
            float(self.weights[w]),
            {blocks: list(step.moves) for blocks, step in steps.items()},
            {blocks: step.rules[w] for blocks, step in steps.items()},
            {blocks: step.losses[:, w] for blocks, step in steps.items()},
            {blocks: step.outcomes[:, w] for blocks, step in steps.items()},
            {blocks: step.paid[:, w] for blocks, step in steps.items()},
            {blocks: step.taken[:, w] for blocks, step in steps.items()},
        )

    def _decide(self, blocks, moves):
        """The best rule of a set for each cost weight, and what it leads to."""
        evidence = self.gatherer.evidence(blocks)
        n_samples, n_weights = evidence.loss.size, self.weights.size
        shape = n_samples, n_weights
        loss = np.broadcast_to(evidence.loss[:, None], shape)
        outcome = np.broadcast_to(evidence.outcome[:, None], shape)
        if not moves:
            stop = np.full(shape, -1)
            return _Step(moves, loss, outcome, np.zeros(shape), stop, [Rule("stop")] * n_weights)
        paid, values = np.empty((2, n_samples, len(moves), n_weights))
        for k, larger in enumerate(moves):
            ahead = self._steps[larger]
            new = [self._costs_of[block] for block in larger if block not in blocks]
            np.add(ahead.paid, sum(new)[:, None], out=paid[:, k])
            np.multiply(self.weights, paid[:, k], out=values[:, k])
            values[:, k] += ahead.losses
        rules = _Rules(evidence, values, self._everyone, is_empty=not blocks)
        sums = (self._folds @ rules.costs.reshape(n_samples, -1)).reshape(
            -1, *rules.costs.shape[1:]
        )
        # Summed again for each fold: of rules that do the same with all other rows, the first is
        # taken, not the one that rounding, or the rows held out, would favour.
        overall = sums.sum(axis=0).argmin(axis=0)
        chosen = sums[self._other_folds].sum(axis=1).argmin(axis=1)
        rule = np.empty((2, *shape), dtype=np.int64)
        rule[0], rule[1] = chosen[self.gatherer.fold_of], overall
        move, taken = rules.moves(rule)
        losses, outcomes, spent = loss.copy(), outcome.copy(), np.zeros(shape)
        for k, larger in enumerate(moves):
            going, ahead = move == k, self._steps[larger]
            np.copyto(losses, ahead.losses, where=going)
            np.copyto(outcomes, ahead.outcomes, where=going)
            np.copyto(spent, paid[:, k], where=going)
        named = [rules.name(rule, w) for w, rule in enumerate(overall.tolist())]
        return _Step(moves, losses, outcomes, spent, taken, named)


class _Rules:
    """The rules that a set may have: stop, go with each move, thresholds, local rules.

    `costs` (n_samples, n_rules, W): what each rule costs each row.
    """

    def __init__(self, evidence, values, everyone, is_empty):
        n_samples, n_moves, n_weights = values.shape
        self.n_moves = n_moves
        # Without values, all samples look the same.
        self.thresholds = evidence.thresholds if not is_empty else _NONE
        self.shares = _LOCAL if not is_empty else _NONE
        flat = values.reshape(n_samples, -1)
        means = (everyone @ flat).reshape(n_moves, n_weights) / n_samples
        self.best = means.argmin(axis=0)
        n_rules = 1 + n_moves + self.thresholds.size + self.shares.size
        self.costs = np.empty((n_samples, n_rules, n_weights))
        self.costs[:, 0] = evidence.loss[:, None]
        self.costs[:, 1 : 1 + n_moves] = values
        self.stops = evidence.stop[:, None] <= self.thresholds
        self.local = np.empty((0, n_samples, n_weights), dtype=np.int64)
        if is_empty:
            return
        local = evidence.local_means(flat).reshape(values.shape)
        best = values[:, self.best, np.arange(n_weights)]
        loss, first = evidence.loss[:, None], 1 + n_moves + self.thresholds.size
        costs = self.costs[:, 1 + n_moves : first]
        costs[:] = best[:, None]
        np.copyto(costs, loss[:, :, None], where=self.stops[:, :, None])
        # The cheapest move of each row, for each share of local means.
        share = self.shares[:, None, None]
        costs = np.empty((self.shares.size, n_samples, n_weights))
        self.local = np.zeros(costs.shape, dtype=np.int64)
        costs[:] = values[:, 0]
        cheapest = share * local[:, 0] + (1 - share) * means[0]
        for k in range(1, n_moves):
            expected = share * local[:, k] + (1 - share) * means[k]
            less = expected < cheapest
            np.copyto(cheapest, expected, where=less)
            np.copyto(costs, values[:, k], where=less)
            np.copyto(self.local, k, where=less)
        stops = evidence.stop[:, None] <= cheapest
        np.copyto(self.local, -1, where=stops)
        np.copyto(costs, loss, where=stops)
        self.costs[:, first:] = costs.transpose(1, 0, 2)

    def moves(self, rules):
        """The moves that rules make with each row and for each cost weight; -1 where they stop."""
        moves = np.minimum(rules, self.n_moves) - 1
        number = rules - 1 - self.n_moves
        at = np.nonzero((number >= 0) & (number < self.thresholds.size))
        moves[at] = np.where(self.stops[at[-2], number[at]], -1, self.best[at[-1]])
        at = np.nonzero(number >= self.thresholds.size)
        moves[at] = self.local[number[at] - self.thresholds.size, at[-2], at[-1]]
        return moves

    def name(self, number, w):
        """The rule with this number, for one cost weight."""
        if number == 0:
            return Rule("stop")
        if number <= self.n_moves:
            return Rule("go", number - 1)
        number -= 1 + self.n_moves
        if number < self.thresholds.size:
            return Rule("threshold", int(self.best[w]), float(self.thresholds[number]))
        return Rule("local", at=float(self.shares[number - self.thresholds.size]))


def by_size(sets):
    """List the sets, small ones first: every move goes forward in it."""
    return sorted(sets, key=lambda blocks: (len(blocks), blocks))


def choose_moves(stop, expected):
    """The cheapest move for each row, and whether stopping is as cheap."""
    move = expected.argmin(axis=1)
    return move, stop <= expected[np.arange(move.size), move]


def follow(solution):
    """Where the training rows go, out of fold.

    `solution`: rules. Returns `here`: for each set, the mask of the rows that reach it; `taken`:
    for each set, the move of each row, -1 where it is not here or stops.
    """
    n_samples = solution.paid[()].size
    here = {blocks: np.zeros(n_samples, dtype=bool) for blocks in solution.moves}
    here[()][:] = True
    taken = {}
    for blocks in by_size(solution.moves):
        taken[blocks] = np.where(here[blocks], solution.taken[blocks], -1)
        for move, larger in enumerate(solution.moves[blocks]):
            here[larger] |= taken[blocks] == move
    return here, taken


def visits(solution):
    """The training rows that reach each set and go on; all that reach it, if none goes on."""
    here, taken = follow(solution)
    onward = {}
    for blocks, move in taken.items():
        onward[blocks] = move >= 0 if (move >= 0).any() else here[blocks]
    return onward
