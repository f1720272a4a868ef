"""Datum-wise classification by definition: one sample, one state, one action at a time.

Two parts. A linear policy followed step by step, every score computed from scratch; and a process
of few discrete features solved exactly by dynamic programming over (what was bought, what was
seen), the joint distribution being that of the rows given.

A `world` holds what both need, see `World`; blocks are sets of columns bought together.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

import numpy as np


@dataclass
class World:
    """Costs, losses and budgets of a process, as plain lists."""

    blocks: list  # a list of columns for every block
    n_classes: int = 2
    costs: list = None
    cost_weight: float = 0.1
    losses: list = None
    max_blocks: float = np.inf
    max_cost: float = np.inf
    never: frozenset = field(default_factory=frozenset)  # blocks that is unavailable

    def __post_init__(self):
        self.costs = [1.0] * len(self.blocks) if self.costs is None else list(self.costs)
        self.losses = [1.0] * self.n_classes if self.losses is None else list(self.losses)

    def may_buy(self, bought, free=()):
        """Blocks that can still be asked for, in the order of their numbers."""
        if len(bought) + 1 > self.max_blocks:
            return []
        spent = sum(as_written(self.costs[g]) for g in bought)
        return [
            g
            for g in range(len(self.blocks))
            if g not in bought
            and g not in free
            and g not in self.never
            and spent + as_written(self.costs[g]) <= as_written(self.max_cost)
        ]

    def loss(self, label, y):
        return 0.0 if label == y else self.losses[y]


def as_written(number):
    """A float as the decimal number that it is printed as; infinity is itself."""
    return number if np.isinf(number) else Fraction(repr(float(number)))


def make_world(n_features, **parameters):
    """A world where every feature is bought by itself."""
    return World([[j] for j in range(n_features)], **parameters)


# ---------------------------------------------------------------------- linear scores


def represent(world, x, seen):
    """The paper's phi(x, z) with a bias: (z, x where seen, 1), one column at a time.

    A value that is not there (NaN) counts as one that was not seen.
    """
    z, values = [0.0] * len(x), [0.0] * len(x)
    for g in seen:
        for j in world.blocks[g]:
            if not np.isnan(x[j]):
                z[j], values[j] = 1.0, float(x[j])
    return np.array([*z, *values, 1.0])


def choose(world, theta, x, bought, free=()):
    """Best action of a state: classes 0, 1, ... come before blocks; ties go to the earlier."""
    phi = represent(world, x, set(bought) | set(free))
    actions = list(range(world.n_classes))
    actions += [world.n_classes + g for g in world.may_buy(bought, free)]
    best = actions[0]
    for action in actions[1:]:
        if theta[action] @ phi > theta[best] @ phi:
            best = action
    return best


def follow(world, theta, x, bought=(), free=()):
    """Blocks bought from a state on, and the label given in the end."""
    order, bought = [], list(bought)
    while True:
        action = choose(world, theta, x, bought, free)
        if action < world.n_classes:
            return order, action
        order.append(action - world.n_classes)
        bought.append(action - world.n_classes)


def find_return(world, theta, x, y, bought, action, free=()):
    """Reward of an action in a state, and of following the policy after it."""
    if action < world.n_classes:
        return -world.loss(action, y)
    block = action - world.n_classes
    order, label = follow(world, theta, x, [*bought, block], free)
    spent = world.costs[block] + sum(world.costs[g] for g in order)
    return -world.cost_weight * spent - world.loss(label, y)


def regress(world, X, masks, returns, ridge, fixed=False):
    """One ridge regression for every action, with its own design matrix.

    `masks` (states, blocks) says what each state has seen, `returns` (states, actions) what each
    action brought, NaN where it cannot be taken. A block is taken as not seen when its own
    purchase is valued. The mean squared error has the penalty, which leaves the bias alone. With a
    fixed order the scores of blocks do not depend on values.
    """
    n, theta = X.shape[1], []
    for action in range(returns.shape[1]):
        possible = np.flatnonzero(~np.isnan(returns[:, action]))
        rows = []
        for i in possible:
            seen = [g for g in np.flatnonzero(masks[i]) if g != action - world.n_classes]
            phi = represent(world, X[i], seen)
            if fixed and action >= world.n_classes:
                phi[n : 2 * n] = 0.0
            rows.append(phi)
        A, b = np.array(rows), returns[possible, action]
        penalty = ridge * len(A) * np.eye(A.shape[1])
        penalty[-1, -1] = 0.0
        theta.append(np.linalg.solve(A.T @ A + penalty, A.T @ b))
    return np.array(theta)


# ------------------------------------------------------------------ dynamic programming


def solve(world, X, y):
    """Value and best action of every state that can be reached.

    A state is (blocks bought, values seen): a frozenset, and a tuple of (block, values) pairs in
    the order of the blocks. An action is ("class", c) or ("block", g). The value is the least
    expected loss and cost to come.
    """
    values, policy = {}, {}

    def visit(rows, bought):
        state = state_of(world, X[rows[0]], bought)
        if state in values:
            return values[state]
        best, action = np.inf, None
        for c in range(world.n_classes):
            loss = np.mean([world.loss(c, y[i]) for i in rows])
            if loss < best - 1e-12:
                best, action = loss, ("class", c)
        for g in world.may_buy(bought):
            parts = split_by_answer(world, X, rows, g)
            total = world.cost_weight * world.costs[g]
            total += sum(len(part) / len(rows) * visit(part, bought | {g}) for part in parts)
            if total < best - 1e-12:
                best, action = total, ("block", g)
        values[state], policy[state] = best, action
        return best

    visit(list(range(len(y))), frozenset())
    return values, policy


def state_of(world, x, bought):
    seen = tuple((g, tuple(x[j] for j in world.blocks[g])) for g in sorted(bought))
    return frozenset(bought), seen


def split_by_answer(world, X, rows, block):
    """Rows, by what they answer."""
    parts = {}
    for i in rows:
        parts.setdefault(tuple(X[i][j] for j in world.blocks[block]), []).append(i)
    return list(parts.values())


def optimal_risk(world, X, y):
    return solve(world, X, y)[0][frozenset(), ()]


def walk(world, X, decide):
    """Orders and labels of all rows under ``decide(state) -> action``."""
    orders, labels = [], []
    for x in X:
        order = []
        while True:
            kind, which = decide(state_of(world, x, order))
            if kind == "class":
                break
            assert which in world.may_buy(order), "the policy may not buy this"
            order.append(which)
        orders.append(order)
        labels.append(which)
    return orders, labels


def find_risk(world, X, y, orders, labels):
    """Mean loss and weighted cost of what a policy did with every row.

    Orders may be padded with -1. Rows that have shown the same so far must be treated alike, or
    the policy has seen what it did not buy.
    """
    orders = [[int(g) for g in order if g >= 0] for order in orders]
    next_action = {}
    total = 0.0
    for x, truth, order, label in zip(X, y, orders, labels, strict=True):
        for step, action in enumerate([*order, ("label", int(label))]):
            state = state_of(world, x, order[:step])
            assert next_action.setdefault(state, action) == action, f"{state}: two actions"
        for step, g in enumerate(order):
            assert g in world.may_buy(order[:step]), f"block {g} is not to be had"
        spent = sum(world.costs[g] for g in order)
        total += world.loss(label, truth) + world.cost_weight * spent
    return total / len(y)


def all_tree_risks(world, X, y):
    """Risk of every deterministic policy there is, one tree after the other."""

    def totals(rows, bought):
        found = [sum(world.loss(c, y[i]) for i in rows) for c in range(world.n_classes)]
        for g in world.may_buy(bought):
            parts = split_by_answer(world, X, rows, g)
            cost = len(rows) * world.cost_weight * world.costs[g]
            below = [totals(part, bought | {g}) for part in parts]
            found += [cost + sum(choice) for choice in product(*below)]
        return found

    return np.array(totals(list(range(len(y))), frozenset())) / len(y)


# ------------------------------------------------------------------------------- forests


def find_node(forest, tree, x, smallest=2):
    """Where a sample ends in a tree, when nodes with fewer training rows are leaves."""
    node = int(forest.offsets[tree])
    while forest.feature[node] >= 0 and forest.sizes[node] >= smallest:
        value = x[forest.feature[node]]
        if np.isnan(value):
            goes_left = bool(forest.missing_left[node])
        else:
            goes_left = bool(value <= forest.threshold[node])
        node = int(forest.left[node]) + (0 if goes_left else 1)
    return node


def find_way(forest, tree, x):
    """All nodes from the root to where a sample ends."""
    way, node = [], int(forest.offsets[tree])
    while True:
        way.append(node)
        if forest.feature[node] < 0:
            return way
        value = x[forest.feature[node]]
        lacks = np.isnan(value)
        goes_left = forest.missing_left[node] if lacks else value <= forest.threshold[node]
        node = int(forest.left[node]) + (0 if goes_left else 1)


def average_over_trees(forest, x, smallest, row_of_node):
    """Mean over the trees of what belongs to the node where a sample ends."""
    n_trees = len(forest.offsets) - 1
    total = 0.0
    for tree in range(n_trees):
        total = total + np.asarray(row_of_node(find_node(forest, tree, x, smallest)), dtype=float)
    return total / n_trees


# A share of a class counts as this much at least; coarse cells have so many rows.
FLOOR, COARSE = 1e-3, 16


def decide_by_forest(stage, x):
    """Log probabilities at a set of blocks; the largest is 0."""
    own = stage.forest
    shares, temperature = own.prior, 1.0
    if own.forest is not None:
        shares = average_over_trees(own.forest, x, 2, own.forest.shares.__getitem__)
        temperature = own.temperature
    decisions = np.array([np.log(max(share, FLOOR)) / temperature for share in shares])
    decisions = decisions - max(decisions)
    return np.array([0.0 if d > -1e-12 else d for d in decisions])


def loss_of_stopping(decisions, losses):
    """Expected loss of the likeliest class, where classes are counted by their losses."""
    mass = np.exp(decisions) / np.exp(decisions).sum()
    true = mass / losses
    true = true / true.sum()
    # The largest class is right with its share; every other class has its own loss.
    best = int(np.argmax(mass))
    return sum(true[c] * losses[c] for c in range(len(losses)) if c != best)


def follow_forest(policy, x, status):
    """One sample's way from set to set.

    `status` has "ask", "known", "missing" or "open" for every block. Returns the blocks bought,
    the block that is wanted next (or -1), and the decisions before the first purchase, after it,
    after the second, ...
    """
    status = [status[block] for block in policy.blocks]
    x = x[policy.columns]
    at = 0
    for s, stage in enumerate(policy.stages):
        if all(status[block] == "known" for block in stage.blocks):
            at = s
    order, decisions, has_learned, trace = [], None, True, []
    while True:
        stage = policy.stages[at]
        free = [
            target
            for target, new in zip(stage.targets, stage.new, strict=True)
            if all(status[block] == "known" for block in new)
        ]
        if free:
            at, has_learned = int(free[0]), True
            continue
        if has_learned:
            decisions = decide_by_forest(stage, x)
            trace[len(order) :] = [decisions]
        move = choose_move(policy, stage, x, status, decisions)
        if move is None:
            break
        for block in stage.new[move]:
            if status[block] == "open":
                return order, int(policy.blocks[block]), fill(trace, order)
            if status[block] == "ask":
                trace[len(order) :] = [trace[len(order)] if len(order) < len(trace) else decisions]
                order.append(int(policy.blocks[block]))
        has_learned = any(status[block] != "missing" for block in stage.new[move])
        at = int(stage.targets[move])
    return order, -1, fill(trace, order)


def fill(trace, order):
    """Decisions after every purchase; a purchase inside a move leaves them as they are."""
    while len(trace) <= len(order):
        trace.append(trace[-1])
    return trace


def choose_move(policy, stage, x, status, decisions):
    """The move that is made at a stage, or None to stop."""
    rule, n_moves = stage.rule, len(stage.targets)
    if rule.kind == "stop" or n_moves == 0:
        return None
    costs = [float(mean) for mean in stage.means]
    if rule.kind == "local":
        costs = average_over_trees(
            stage.forest.forest, x, COARSE, lambda node: stage.table[stage.row_of[node]]
        )
    costs = list(costs)
    for m, new in enumerate(stage.new):
        free = [block for block in new if status[block] in ("known", "missing")]
        costs[m] -= policy.cost_weight * sum(policy.costs[block] for block in free)
    useful = [
        m for m, new in enumerate(stage.new) if any(status[block] != "missing" for block in new)
    ]
    among = useful if useful else list(range(n_moves))
    best = min(among, key=lambda m: costs[m])
    stop = loss_of_stopping(decisions, policy.class_losses)
    if rule.kind == "local":
        return None if stop <= costs[best] else best
    if rule.kind == "threshold" and stop <= rule.at:
        return None
    return rule.move if rule.move in among else best


# -------------------------------------------------------------------- backward induction


def solve_lattice(moves, evidence, costs, cost_weight, fold_of, quantiles, shares):
    """Rules and values of all sets, one rule, one row at a time.

    `moves` has the sets that can follow each set, `evidence` an object for each set with `stop`,
    `loss` and `local_means(values)`. A rule is a tuple: ("stop",), ("go", move),
    ("threshold", move, level) or ("local", share).
    """
    n = len(fold_of)
    rules, values, all_costs = {}, {}, {}
    for blocks in sorted(moves, key=lambda blocks: (len(blocks), blocks), reverse=True):
        own = evidence[blocks]
        possible = {("stop",): [own.loss[i] for i in range(n)]}
        ahead = np.zeros((n, len(moves[blocks])))
        for m, larger in enumerate(moves[blocks]):
            for i in range(n):
                new = [block for block in larger if block not in blocks]
                cost = cost_weight * sum(costs[i, block] for block in new)
                ahead[i, m] = cost + values[larger][i]
            possible["go", m] = list(ahead[:, m])
        if moves[blocks] and blocks:
            mean = ahead.mean(axis=0)
            best = int(np.argmin(mean))
            for quantile in sorted(set(np.quantile(own.stop, quantiles).tolist())):
                level = quantile * (1 + 1e-9)
                possible["threshold", best, level] = [
                    own.loss[i] if own.stop[i] <= level else ahead[i, best] for i in range(n)
                ]
            local = own.local_means(ahead)
            for share in shares:
                spent = []
                for i in range(n):
                    expected = share * local[i] + (1 - share) * mean
                    m = int(np.argmin(expected))
                    spent.append(own.loss[i] if own.stop[i] <= expected[m] else ahead[i, m])
                possible["local", share] = spent
        rules[blocks] = cheapest(possible, range(n))
        values[blocks] = np.empty(n)
        for fold in set(fold_of):
            others = [i for i in range(n) if fold_of[i] != fold]
            rule = cheapest(possible, others)
            for i in range(n):
                if fold_of[i] == fold:
                    values[blocks][i] = possible[rule][i]
        all_costs[blocks] = possible
    return rules, values, all_costs


def cheapest(possible, rows):
    return min(possible, key=lambda rule: sum(possible[rule][i] for i in rows))
