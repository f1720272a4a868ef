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

from dataclasses import dataclass

import numpy as np

__all__ = [
    "Rule",
    "Solution",
    "by_size",
    "choose_moves",
    "follow",
    "moves_made",
    "solve",
    "visits",
]

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
    losses : dict
        From every set to the `loss` that each row ends with from there, of shape (n_samples,).
    outcomes : dict
        The same for the losses that came true.
    paid : dict
        From every set to what each row pays from there on, of shape (n_samples,).
    """

    cost_weight: float
    moves: dict
    rules: dict
    losses: dict
    outcomes: dict
    paid: dict

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
    solution = Solution(cost_weight, moves, {}, {}, {}, {})
    for blocks in reversed(by_size(moves)):
        evidence = gatherer.evidence(blocks)
        if not moves[blocks]:
            solution.rules[blocks] = Rule("stop")
            solution.losses[blocks] = evidence.loss
            solution.outcomes[blocks] = evidence.outcome
            solution.paid[blocks] = np.zeros(evidence.loss.size)
            continue
        paid = solution.paid_by_moves(costs, blocks)
        losses = solution.after_moves(solution.losses, blocks)
        outcomes = solution.after_moves(solution.outcomes, blocks)
        values = losses + cost_weight * paid
        rules = _possible_rules(evidence.stop, values, bool(blocks))
        local = evidence.local_means(values) if blocks else values
        stops, move = _act_all(rules, evidence.stop, values, local)
        best, chosen = _choose(_spend(stops, move, evidence.loss, values), gatherer.fold_of)
        solution.rules[blocks] = rules[best]
        every = np.arange(chosen.size)
        stops, move = stops[chosen, every], move[chosen, every]
        solution.losses[blocks] = _spend(stops, move, evidence.loss, losses)
        solution.outcomes[blocks] = _spend(stops, move, evidence.outcome, outcomes)
        solution.paid[blocks] = _spend(stops, move, 0.0, paid)
    return solution


def by_size(sets):
    """Sets in a list, small ones first: every move goes forward in it."""
    return sorted(sets, key=lambda blocks: (len(blocks), blocks))


def _possible_rules(stop, values, has_values):
    """The rules of a set; one without values has nothing to tell samples apart by."""
    n_moves = values.shape[1]
    rules = [Rule("stop"), *(Rule("go", move) for move in range(n_moves))]
    if has_values:
        best = int(values.mean(axis=0).argmin())
        levels = np.unique(np.quantile(stop, _QUANTILES)) * (1 + _SLACK)
        rules += [Rule("threshold", best, float(level)) for level in levels]
        rules += [Rule("local", at=share) for share in _LOCAL]
    return rules


def act(rule, stop, values, local):
    """What a rule does with every row.

    Parameters
    ----------
    rule : Rule
        Its moves are columns of `values`.
    stop : ndarray of shape (n_samples,)
        Expected loss of stopping.
    values, local : ndarray of shape (n_samples, n_moves)
        What each move costs each row, and its local means.

    Returns
    -------
    stops : ndarray of bool of shape (n_samples,)
    move : ndarray of int of shape (n_samples,)
    """
    stops, move = _act_all([rule], stop, values, local)
    return stops[0], move[0]


def _act_all(rules, stop, values, local):
    """What every rule does with every row: two arrays of shape (n_rules, n_samples)."""
    limits = {"stop": np.inf, "go": -np.inf}
    limits = np.array([limits.get(rule.kind, rule.at) for rule in rules])
    stops = stop <= limits[:, None]
    move = np.repeat([max(rule.move, 0) for rule in rules], stop.size).reshape(stops.shape)
    for r, rule in enumerate(rules):
        if rule.kind == "local":
            mixed = rule.at * local + (1 - rule.at) * values.mean(axis=0)
            move[r], stops[r] = choose_moves(stop, mixed)
    return stops, move


def _spend(stops, move, loss, values):
    """What each row costs: `loss` where it stops, else the value of its move."""
    return np.where(stops, loss, values[np.arange(values.shape[0]), move])


def choose_moves(stop, expected):
    """The cheapest move of every row, and whether stopping is as cheap."""
    move = expected.argmin(axis=1)
    return move, stop <= expected[np.arange(move.size), move]


def _choose(costs, fold_of):
    """The rule with the smallest mean; and for each row the one that the other folds choose."""
    n_folds = fold_of.max() + 1
    sums = np.stack([costs[:, fold_of == f].sum(axis=1) for f in range(n_folds)], axis=1)
    # Summed anew for each: of rules that do the same with all other rows the first is taken, and
    # not the one that rounding, or the rows left out, would have.
    without = [[g for g in range(n_folds) if g != f] for f in range(n_folds)]
    others = sums[:, np.array(without, dtype=np.intp)].sum(axis=2).argmin(axis=0)
    return int(sums.sum(axis=1).argmin()), others[fold_of]


def follow(gatherer, solution, costs):
    """Where the training rows go, out of fold.

    Parameters
    ----------
    gatherer : Gatherer
        Evidence of the sets.
    solution : Solution
        Rules.
    costs : ndarray of shape (n_samples, n_blocks)
        What each block costs each row.

    Returns
    -------
    here : dict
        From sets to masks of the rows that come by.
    taken : dict
        From sets to the move of each row, -1 where it is not here or stops.
    """
    n_samples = gatherer.n_samples
    here = {blocks: np.zeros(n_samples, dtype=bool) for blocks in solution.moves}
    here[()][:] = True
    taken = {}
    for blocks in by_size(solution.moves):
        taken[blocks] = np.full(n_samples, -1)
        if here[blocks].any() and solution.rules[blocks].kind != "stop":
            stops, move = moves_made(gatherer, solution, costs, blocks)
            taken[blocks] = np.where(here[blocks] & ~stops, move, -1)
        for at, larger in enumerate(solution.moves[blocks]):
            here[larger] |= taken[blocks] == at
    return here, taken


def visits(gatherer, solution, costs):
    """Which training rows come by each set and go on, or come by, if none goes on."""
    here, taken = follow(gatherer, solution, costs)
    onward = {}
    for blocks, move in taken.items():
        onward[blocks] = move >= 0 if (move >= 0).any() else here[blocks]
    return onward


def moves_made(gatherer, solution, costs, blocks):
    """What the rule of a set does with every training row, out of fold: stops, and moves."""
    evidence = gatherer.evidence(blocks)
    values = solution.move_values(costs, blocks)
    local = evidence.local_means(values)
    return act(solution.rules[blocks], evidence.stop, values, local)
