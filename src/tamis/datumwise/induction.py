"""The best policy on a lattice, by backward induction on out-of-fold evidence.

Let V_z be, for every training row, what following the policy from the set z on costs it. From the
largest sets to the smallest, a set chooses one of these rules:

* *stop*: V_z = loss_z;
* *go to a*, always: V_z = cost(a without z) + V_a, for each of its moves;
* *threshold*: stop where the expected loss S of naming a class is at most t, else go to the move
  with the smallest mean; t is one of a few quantiles of S;
* *local*: every row takes the smallest of S and of the expected costs of the moves,
  ``Q_a(x) = s * local mean + (1 - s) * mean`` of cost + V_a, with s = 1/2 or 1.

The rule with the smallest mean cost is chosen. What V_z holds for the rows of a fold comes of the
rule that the other folds choose, so that choosing is not rewarded for luck, at no extra work.
Since V_a is what the policy really goes on to do, a block that is only worth asking for what it
lets one ask next is asked for: nothing here is greedy. Losses and costs are kept apart until they
are compared, so that two ways to the same purchases and the same loss cost exactly the same.
"""

from dataclasses import dataclass, field

import numpy as np

from tamis.datumwise import _induction_kernels as kernels

__all__ = ["Rule", "Solution", "by_size", "choose_moves", "follow", "solve", "visits"]

# Shares of local means in the expected costs of local rules.
_LOCAL = np.array([0.5, 1.0])
_NONE = np.empty(0)


@dataclass(frozen=True)
class Rule:
    """What is done at a set.

    Attributes
    ----------
    kind : {"stop", "go", "threshold", "local"}
    move : int
        Which move "go" and "threshold" make.
    at : float
        "threshold": the largest S that stops; "local": the share s of local means.
    """

    kind: str
    move: int = -1
    at: float = 0.0


@dataclass(frozen=True)
class Solution:
    """The policy for one cost weight.

    Attributes
    ----------
    cost_weight : float
    moves : dict
        From every set to the list of sets that can come next.
    rules : dict
        From every set to its `Rule`.
    losses : dict
        From every set to the `loss` that each row ends with from there, of shape (n_samples,).
    outcomes : dict
        The same for the losses that came true.
    paid : dict
        From every set to what each row pays from there on, of shape (n_samples,).
    taken : dict
        From every set to the move that its rule makes with each row, -1 where it stops.
    """

    cost_weight: float
    moves: dict
    rules: dict
    losses: dict
    outcomes: dict
    paid: dict
    taken: dict = field(default_factory=dict)

    def value(self, blocks):
        """V of a set, of shape (n_samples,)."""
        return self.losses[blocks] + self.cost_weight * self.paid[blocks]

    def outcome(self, blocks):
        """The same with the losses that came true."""
        return self.outcomes[blocks] + self.cost_weight * self.paid[blocks]

    def move_values(self, costs, blocks):
        """What each move from a set costs each row: (n_samples, n_moves)."""
        paid = self.paid_by_moves(costs, blocks)
        return self.after_moves(self.losses, blocks) + self.cost_weight * paid

    def paid_by_moves(self, costs, blocks):
        """What each row pays with each move from a set and after it: (n_samples, n_moves)."""
        own = set(blocks)
        columns = []
        for larger in self.moves[blocks]:
            new = [block for block in larger if block not in own]
            columns.append(costs[:, new].sum(axis=1) + self.paid[larger])
        return np.stack(columns, axis=1)

    def after_moves(self, table, blocks):
        """The column of `losses` or `outcomes` for each move from a set."""
        return np.stack([table[larger] for larger in self.moves[blocks]], axis=1)


def solve(lattice, gatherer, costs, cost_weight, sets=None):
    """The best rules for a cost weight.

    Parameters
    ----------
    lattice : Lattice
        Sets and moves.
    gatherer : Gatherer
        Evidence of the sets.
    costs : ndarray of shape (n_samples, n_blocks)
        Cost of each block for each row; 0 where the block is unavailable. Sums of whole
        numbers do not depend on the order (`costs.whole_costs`).
    cost_weight : float
        Lambda, per unit of `costs`.
    sets : list or None
        The sets that may be used; None: all of them.

    Returns
    -------
    solution : Solution
    """
    moves = lattice.moves
    if sets is not None:
        moves = {blocks: [to for to in moves[blocks] if to in sets] for blocks in sets}
    ordered = by_size(moves)
    place = {blocks: s for s, blocks in enumerate(ordered)}
    ahead = kernels.Ahead(*np.zeros((3, len(ordered), len(costs))))
    solution = Solution(
        cost_weight,
        moves,
        {},
        dict(zip(ordered, ahead.losses, strict=True)),
        dict(zip(ordered, ahead.outcomes, strict=True)),
        dict(zip(ordered, ahead.paid, strict=True)),
    )
    costs_of = np.ascontiguousarray(costs.T)
    for s in reversed(range(len(ordered))):
        blocks = ordered[s]
        evidence = gatherer.evidence(blocks)
        if not moves[blocks]:
            solution.rules[blocks] = Rule("stop")
            solution.taken[blocks] = np.full(len(costs), -1)
            ahead.losses[s], ahead.outcomes[s] = evidence.loss, evidence.outcome
            continue
        targets, starts, new = _as_arrays(blocks, moves[blocks], place)
        values, paid = kernels.move_values(ahead, costs_of, targets, starts, new, cost_weight)
        here = kernels.Here(
            evidence.stop,
            evidence.loss,
            evidence.outcome,
            values,
            paid,
            evidence.local_means(values) if blocks else values,
            evidence.thresholds if blocks else _NONE,
            _LOCAL if blocks else _NONE,  # without values there is nothing to tell samples apart
        )
        rule, solution.taken[blocks] = kernels.choose_rule(
            here, ahead, s, targets, gatherer.fold_of
        )
        solution.rules[blocks] = _name_rule(rule, here)
    return solution


def _as_arrays(blocks, moves, place):
    """Places of the targets of all moves, and the blocks that each buys, one after the other."""
    own = set(blocks)
    new = [[block for block in larger if block not in own] for larger in moves]
    targets = np.array([place[larger] for larger in moves])
    starts = np.cumsum([0, *map(len, new)])
    return targets, starts, np.array([block for some in new for block in some])


def _name_rule(number, here):
    """The rule of a number: stop, then go, then thresholds, then local ones."""
    n_moves = here.values.shape[1]
    if number == 0:
        return Rule("stop")
    if number <= n_moves:
        return Rule("go", number - 1)
    number -= 1 + n_moves
    if number < here.thresholds.size:
        best = int(here.values.mean(axis=0).argmin())
        return Rule("threshold", best, float(here.thresholds[number]))
    return Rule("local", at=float(here.shares[number - here.thresholds.size]))


def by_size(sets):
    """Sets in a list, small ones first: every move goes forward in it."""
    return sorted(sets, key=lambda blocks: (len(blocks), blocks))


def choose_moves(stop, expected):
    """The cheapest move of every row, and whether stopping is as cheap."""
    move = expected.argmin(axis=1)
    return move, stop <= expected[np.arange(move.size), move]


def follow(solution):
    """Where the training rows go, out of fold.

    Parameters
    ----------
    solution : Solution
        Rules.

    Returns
    -------
    here : dict
        From sets to masks of the rows that come by.
    taken : dict
        From sets to the move of each row, -1 where it is not here or stops.
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
    """Which training rows come by each set and go on, or come by, if none goes on."""
    here, taken = follow(solution)
    onward = {}
    for blocks, move in taken.items():
        onward[blocks] = move >= 0 if (move >= 0).any() else here[blocks]
    return onward
