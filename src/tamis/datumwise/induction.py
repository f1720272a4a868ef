"""The best policy on a lattice, by backward induction on out-of-fold evidence.

Let V_z be, for every training row, what following the policy from the set z on costs it. From the
largest sets to the smallest, a set chooses one of these rules:

* *stop*: V_z = loss_z;
* *go to a*, always: V_z = price(a without z) + V_a, for each of its moves;
* *threshold*: stop where the expected loss S of naming a class is at most t, else go to the move
  with the smallest mean; t is one of a few quantiles of S;
* *local*: every row takes the smallest of S and of the expected costs of the moves,
  ``Q_a(x) = s * local mean + (1 - s) * mean`` of price + V_a, with s = 1/2 or 1.

The rule with the smallest mean cost is chosen. What V_z holds for the rows of a fold comes of the
rule that the other folds choose, so that choosing is not rewarded for luck, at no extra work.
Since V_a is what the policy really goes on to do, a block that is only worth asking for what it
lets one ask next is asked for: nothing here is greedy.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["Rule", "Solution", "solve", "visits"]

_QUANTILES = np.linspace(0.05, 0.95, 16)
_LOCAL = (0.5, 1.0)
# A threshold is this much above its quantile: many rows have the very same S, that of pure cells,
# and which side they are on must not hang on the last bit of a logarithm.
_SLACK = 1e-9


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
    values : dict
        From every set to V, of shape (n_samples,).
    """

    cost_weight: float
    moves: dict
    rules: dict
    values: dict

    def move_values(self, prices, blocks):
        """What each move from a set costs each row: (n_samples, n_moves)."""
        own = set(blocks)
        columns = []
        for larger in self.moves[blocks]:
            new = [block for block in larger if block not in own]
            columns.append(self.cost_weight * prices[:, new].sum(axis=1) + self.values[larger])
        return np.stack(columns, axis=1)


def solve(lattice, gatherer, prices, cost_weight, sets=None):
    """The best rules for a cost weight.

    Parameters
    ----------
    lattice : Lattice
        Sets and moves.
    gatherer : Gatherer
        Evidence of the sets.
    prices : ndarray of shape (n_samples, n_blocks)
        What each block costs each row: nothing where it cannot be had.
    cost_weight : float
        Lambda.
    sets : list or None
        The sets that may be used; None: all of them.

    Returns
    -------
    solution : Solution
    """
    moves = lattice.moves
    if sets is not None:
        moves = {blocks: [to for to in moves[blocks] if to in sets] for blocks in sets}
    solution = Solution(cost_weight, moves, {}, {})
    for blocks in sorted(moves, key=lambda blocks: (-len(blocks), blocks)):
        evidence = gatherer.evidence(blocks)
        rules, costs = [Rule("stop")], [evidence.loss]
        if moves[blocks]:
            values = solution.move_values(prices, blocks)
            more, more_costs = _rules_with_moves(evidence, values, bool(blocks))
            rules += more
            costs += more_costs
        costs = np.array(costs)
        rule, solution.values[blocks] = _choose(costs, gatherer.fold_of)
        solution.rules[blocks] = rules[rule]
    return solution


def _rules_with_moves(evidence, values, has_values):
    """The rules that may go on, and what each costs each row."""
    mean = values.mean(axis=0)
    rules = [Rule("go", move) for move in range(mean.size)]
    costs = list(values.T)
    if not has_values:  # nothing to tell samples apart by
        return rules, costs
    best = int(mean.argmin())
    for level in np.unique(np.quantile(evidence.stop, _QUANTILES)) * (1 + _SLACK):
        rules.append(Rule("threshold", best, float(level)))
        costs.append(np.where(evidence.stop <= level, evidence.loss, values[:, best]))
    local = evidence.local_means(values)
    for share in _LOCAL:
        move, stops = choose_moves(evidence.stop, share * local + (1 - share) * mean)
        rules.append(Rule("local", at=share))
        taken = np.take_along_axis(values, move[:, None], axis=1)[:, 0]
        costs.append(np.where(stops, evidence.loss, taken))
    return rules, costs


def choose_moves(stop, expected):
    """The cheapest move of every row, and whether stopping is as cheap."""
    move = expected.argmin(axis=1)
    return move, stop <= np.take_along_axis(expected, move[:, None], axis=1)[:, 0]


def _choose(costs, fold_of):
    """The rule with the smallest mean; and V, where each fold has the choice of the others."""
    n_folds = fold_of.max() + 1
    sums = np.stack([costs[:, fold_of == f].sum(axis=1) for f in range(n_folds)], axis=1)
    # Summed anew for each: of rules that do the same with all other rows the first is taken, and
    # not the one that rounding, or the rows left out, would have.
    others = np.array([np.delete(sums, f, axis=1).sum(axis=1).argmin() for f in range(n_folds)])
    return int(sums.sum(axis=1).argmin()), costs[others[fold_of], np.arange(fold_of.size)]


def visits(lattice, gatherer, solution, prices):
    """Which training rows come by each set and go on, out of fold.

    Returns
    -------
    visits : dict
        From sets to masks of shape (n_samples,). The empty set has all rows.
    """
    n_samples = gatherer.n_samples
    here = {blocks: np.zeros(n_samples, dtype=bool) for blocks in lattice.moves}
    here[()][:] = True
    onward = {}
    for blocks in lattice.by_size():
        rows, rule = here[blocks], solution.rules[blocks]
        onward[blocks] = rows
        if not rows.any() or rule.kind == "stop":
            continue
        move = np.full(n_samples, rule.move)
        stops = np.zeros(n_samples, dtype=bool)
        stop = gatherer.evidence(blocks).stop
        if rule.kind == "threshold":
            stops = stop <= rule.at
        elif rule.kind == "local":
            values = solution.move_values(prices, blocks)
            local = gatherer.evidence(blocks).local_means(values)
            expected = rule.at * local + (1 - rule.at) * values.mean(axis=0)
            move, stops = choose_moves(stop, expected)
        going = rows & ~stops
        if going.sum() >= 1:
            onward[blocks] = going
        for at, larger in enumerate(lattice.moves[blocks]):
            here[larger] |= going & (move == at)
    return onward
