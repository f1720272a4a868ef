"""Random processes, policies and samples, and slow versions of what is fast."""

from itertools import combinations, product

import numpy as np
import pytest

from tamis.datumwise.budgets import budget_digits
from tamis.datumwise.linear import LinearPolicy
from tamis.datumwise.process import KNOWN, MISSING, OPEN, Process
from tamis.datumwise.runs import blocks_as_lists, chain_of_blocks
from tests.oracles.datumwise import as_written


def combine(*choices):
    """All combinations of parameters; those beyond a cover of all pairs of values are slow."""
    parameters, seen = [], set()
    for values in product(*(list(values) for values in choices)):
        pairs = set(combinations(enumerate(map(str, values)), 2))
        parameters.append(pytest.param(*values, marks=() if pairs - seen else pytest.mark.slow))
        seen |= pairs
    return parameters


def make_process(rng, n_features=8, n_blocks=None, n_classes=3, budgets=True):
    """Costs (some 0), groups, budgets that bind."""
    n_blocks = n_features if n_blocks is None else n_blocks
    block_of = rng.permutation(
        np.concatenate([np.arange(n_blocks), rng.integers(0, n_blocks, n_features - n_blocks)])
    )
    costs = np.round(rng.uniform(0, 2, n_blocks), 1)
    return Process(
        block_of=block_of.astype(np.int64),
        costs=costs,
        cost_weight=float(rng.choice([0.0, 0.01, 0.1])),
        class_losses=rng.uniform(0.5, 2.0, n_classes),
        max_blocks=int(rng.integers(0, n_blocks + 1)) if budgets else n_blocks,
        max_cost=float(rng.choice([0.0, 1.0, 3.0, np.inf])) if budgets else np.inf,
        names=np.array([f"block {b}" for b in range(n_blocks)], dtype=object),
    )


def make_scores(rng, process, eagerness=0.0, fixed=False):
    """Random bias, for_known and for_value."""
    n_actions = process.n_classes + process.n_blocks
    n_columns = process.block_of.size
    bias = rng.normal(size=n_actions)
    bias[process.n_classes :] += eagerness
    for_known = 0.3 * rng.normal(size=(n_columns, n_actions))
    for_value = 0.3 * rng.normal(size=(n_columns, n_actions))
    if fixed:
        for_value[:, process.n_classes :] = 0.0
    return bias, for_known, for_value


def make_policy(rng, process, eagerness=0.0, fixed=False):
    """A policy with random scores on standardized columns."""
    bias, for_known, for_value = make_scores(rng, process, eagerness, fixed)
    scaling = np.stack(
        [
            np.zeros(process.block_of.size),
            np.full(process.block_of.size, 0.25),
            np.zeros(process.block_of.size),
        ]
    )
    policy = LinearPolicy(
        bias=bias,
        for_known=for_known,
        for_value=for_value,
        blocks=np.arange(process.n_blocks),
        columns=np.arange(process.block_of.size),
        block_of=process.block_of,
        scaling=scaling,
        costs=process.costs,
        max_blocks=process.max_blocks,
        max_cost=process.max_cost,
    )
    if fixed:
        start, columns = blocks_as_lists(process.block_of, process.n_blocks)
        policy.chain, policy.chain_scores = chain_of_blocks(
            bias,
            for_known,
            start,
            columns,
            *budget_digits(process.costs, process.max_cost),
            process.max_blocks,
        )
    return policy


def score(x, bought, scores, process):
    """Scores of all actions when the blocks in `bought`, in this order, are known."""
    bias, for_known, for_value = scores
    total = bias.copy()
    for b in bought:
        gain = np.zeros(bias.size)
        for c in np.flatnonzero(process.block_of == b):
            if not np.isnan(x[c]):
                gain += for_known[c] + x[c] * for_value[c]
        total += gain
    return total


def may_buy(x, bought, paid_for, b, process):
    """Whether block b may be bought; `paid_for` are the blocks that count for the budgets."""
    has_value = not np.isnan(x[process.block_of == b]).all()
    total = sum(as_written(process.costs[other]) for other in [*paid_for, b])
    fits = len(paid_for) < process.max_blocks and total <= as_written(process.max_cost)
    return b not in bought and has_value and fits


def follow(x, bought, paid_for, scores, process):
    """The policy, one step at a time: the blocks it buys, and the label."""
    bought, paid_for, way = list(bought), list(paid_for), []
    while True:
        now = score(x, bought, scores, process)
        best, action = -np.inf, None
        for a in range(now.size):
            b = a - process.n_classes
            allowed = b < 0 or may_buy(x, bought, paid_for, b, process)
            if allowed and now[a] > best:
                best, action = now[a], a
        if action < process.n_classes:
            return way, action
        b = action - process.n_classes
        bought.append(b)
        paid_for.append(b)
        way.append(b)


def slow_return(x, code, mask, b, scores, process):
    """Return of buying b where the mask, without b, is bought."""
    before = [int(g) for g in np.flatnonzero(mask) if g != b]
    if not may_buy(x, before, before, b, process):
        return np.nan
    now = sorted([*before, b]) if mask[b] else [*before, b]
    way, label = follow(x, now, now, scores, process)
    cost = process.cost_weight * sum(process.costs[g] for g in [b, *way])
    return -cost - (process.class_losses[code] if label != code else 0.0)


def make_samples(rng, process, n_samples, statuses=True):
    """Rows with NaN, and the status of every block."""
    n_features = process.block_of.size
    X = rng.normal(size=(n_samples, n_features))
    X[rng.random(X.shape) < 0.15] = np.nan
    status = np.zeros((n_samples, process.n_blocks), dtype=np.int8)
    if statuses:
        status[rng.random(status.shape) < 0.15] = KNOWN
        status[rng.random(status.shape) < 0.05] = OPEN
    for b in range(process.n_blocks):
        status[np.isnan(X[:, process.block_of == b]).all(axis=1), b] = MISSING
    return X, status
