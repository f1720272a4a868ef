"""The linear learner, in whole batches, says what one state at a time says."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis.datumwise.budgets import budget_digits
from tamis.datumwise.linear import LinearPolicy
from tamis.datumwise.process import ASK, KNOWN, MISSING, OPEN, Process
from tamis.datumwise.regression import fit_scores
from tamis.datumwise.rollouts import expected_returns
from tamis.datumwise.runs import blocks_as_lists, chain_of_blocks
from tests.datumwise.helpers import combine
from tests.oracles.datumwise import World, find_return, follow, regress

CASES = {
    "plain": {},
    "three classes, unequal losses": {"n_classes": 3, "losses": [1.0, 4.0, 0.5]},
    "unequal costs, one free": {"costs": [0.0, 2.0, 0.5, 1.0, 3.0]},
    "at most two": {"max_blocks": 2},
    "nothing at all": {"max_blocks": 0},
    "a budget": {"costs": [0.5, 2.0, 0.5, 1.0, 3.0], "max_cost": 2.5},
    "both": {"costs": [0.5, 2.0, 0.5, 1.0, 3.0], "max_cost": 4.0, "max_blocks": 3},
}
GROUPS = {
    "single features": [[0], [1], [2], [3], [4]],
    "groups": [[0, 3], [1], [2, 4, 6], [5], [7]],
}


class Case:
    """Rows, states and scores in quarters, so that sums are exact and there are many ties."""

    def __init__(self, case, groups, seed, missing=0.0, fixed=False):
        rng = np.random.default_rng(seed)
        self.world = world = World(GROUPS[groups], cost_weight=0.125, **CASES[case])
        self.n_columns = n = sum(map(len, world.blocks))
        block_of = np.empty(n, dtype=np.int64)
        for g, columns in enumerate(world.blocks):
            block_of[columns] = g
        self.process = Process(
            block_of=block_of,
            costs=np.array(world.costs),
            cost_weight=world.cost_weight,
            class_losses=np.array(world.losses),
            max_blocks=int(min(world.max_blocks, len(world.blocks))),
            max_cost=world.max_cost,
            names=np.array([f"b{g}" for g in range(len(world.blocks))]),
        )
        self.X = rng.integers(-4, 5, size=(60, n)) / 4
        self.X[rng.random(self.X.shape) < missing] = np.nan
        self.y = rng.integers(world.n_classes, size=60)
        n_actions = world.n_classes + len(world.blocks)
        self.theta = rng.integers(-3, 4, size=(n_actions, 2 * n + 1)) / 4
        self.theta[world.n_classes :, -1] += 0.5  # so that rollouts are long
        if fixed:
            self.theta[world.n_classes :, n : 2 * n] = 0.0
        self.rng = rng

    @property
    def scores(self):
        n = self.n_columns
        parts = self.theta[:, -1], self.theta[:, :n].T, self.theta[:, n : 2 * n].T
        return tuple(np.ascontiguousarray(part) for part in parts)

    def world_of(self, x, status=None):
        """The world with what is unavailable for this row."""
        gone = {g for g, c in enumerate(self.world.blocks) if np.isnan(x[c]).all()}
        if status is not None:
            gone |= set(np.flatnonzero(status == MISSING))
        return replace(self.world, never=frozenset(gone))

    def draw_mask(self, x):
        """Random purchases within the budgets."""
        world, bought = self.world_of(x), []
        for _ in range(self.rng.integers(len(world.blocks) + 1)):
            possible = world.may_buy(bought)
            if possible:
                bought.append(self.rng.choice(possible))
        return np.isin(np.arange(len(world.blocks)), bought)

    def policy(self, fixed=False):
        bias, for_known, for_value = self.scores
        n_blocks = self.process.n_blocks
        unit = np.array([[0.0], [0.25], [0.0]]) * np.ones(self.n_columns)
        policy = LinearPolicy(
            bias=bias,
            for_known=for_known,
            for_value=for_value,
            blocks=np.arange(n_blocks),
            columns=np.arange(self.n_columns),
            block_of=self.process.block_of,
            scaling=unit,
            costs=self.process.costs,
            max_blocks=self.process.max_blocks,
            max_cost=self.process.max_cost,
        )
        if fixed:
            start, columns = blocks_as_lists(self.process.block_of, n_blocks)
            policy.chain, policy.chain_scores = chain_of_blocks(
                bias,
                for_known,
                start,
                columns,
                *budget_digits(policy.costs, policy.max_cost),
                policy.max_blocks,
            )
        return policy


@pytest.mark.parametrize(("missing", "groups", "case"), combine([0.0, 0.3], GROUPS, CASES))
def test_returns_are_those_of_following_the_policy(case, groups, missing):
    c = Case(case, groups, 0, missing)
    rows = c.rng.integers(60, size=200)
    masks = np.array([c.draw_mask(c.X[i]) for i in rows])
    present = ~np.isnan(c.X)
    values = np.where(present, c.X, 0.0)
    returns = expected_returns(values, present, c.y, rows, masks, c.scores, c.process)
    expected = np.full(masks.shape, np.nan)
    for s, i in enumerate(rows):
        world = c.world_of(c.X[i])
        for g in range(masks.shape[1]):
            before = [b for b in np.flatnonzero(masks[s]) if b != g]
            if g in world.may_buy(before):
                action = world.n_classes + g
                expected[s, g] = find_return(world, c.theta, c.X[i], c.y[i], before, action)
    assert_array_equal(returns, expected)


@pytest.mark.parametrize(("fixed", "groups", "case"), combine([False, True], GROUPS, CASES))
def test_inference_is_that_of_one_step_at_a_time(case, groups, fixed):
    c = Case(case, groups, 1, missing=0.2, fixed=fixed)
    status = np.full((60, c.process.n_blocks), ASK, dtype=np.int8)
    status[:40][c.rng.random((40, c.process.n_blocks)) < 0.2] = KNOWN
    status[:40][c.rng.random((40, c.process.n_blocks)) < 0.2] = MISSING
    for i, x in enumerate(c.X):
        for g, columns in enumerate(c.world.blocks):
            if np.isnan(x[columns]).all():
                status[i, g] = MISSING
    run = c.policy(fixed).run(c.X, status)
    assert_array_equal(run.request, -1)
    for i, x in enumerate(c.X):
        free = np.flatnonzero(status[i] == KNOWN)
        order, label = follow(c.world_of(x, status[i]), c.theta, x, free=free)
        assert [g for g in run.order[i] if g >= 0] == order
        assert run.decisions[i].argmax() == label


@pytest.mark.parametrize("fixed", [False, True])
def test_an_open_block_is_requested_where_one_step_at_a_time_would_buy_it(fixed):
    c = Case("plain", "groups", 2, fixed=fixed)
    status = np.full((60, c.process.n_blocks), ASK, dtype=np.int8)
    status[c.rng.random(status.shape) < 0.5] = OPEN
    run = c.policy(fixed).run(c.X, status)
    for i, x in enumerate(c.X):
        order, _ = follow(c.world_of(x), c.theta, x)
        closed = [status[i, g] == ASK for g in order] + [False]
        steps = closed.index(False)
        assert [g for g in run.order[i] if g >= 0] == order[:steps]
        assert run.request[i] == [*order, -1][steps]


@pytest.mark.parametrize(
    ("missing", "fixed", "groups", "case"),
    combine([0.0, 0.3], [False, True], GROUPS, ["plain", "three classes, unequal losses", "both"]),
)
def test_scores_are_plain_regressions_of_the_returns(case, groups, fixed, missing):
    c = Case(case, groups, 3, missing)
    world, n = c.world, c.n_columns
    rows = c.rng.integers(60, size=300)
    masks = np.array([c.draw_mask(c.X[i]) for i in rows])
    present = ~np.isnan(c.X)
    values = np.where(present, c.X, 0.0)
    returns = expected_returns(values, present, c.y, rows, masks, c.scores, c.process)
    truth = c.y[rows]
    targets = -np.where(
        truth[:, None] == np.arange(world.n_classes), 0.0, c.process.class_losses[truth][:, None]
    )
    known = masks[:, c.process.block_of] & present[rows]
    bias, for_known, for_value = fit_scores(
        known, known * values[rows], targets, returns, c.process.block_of, fixed=fixed
    )
    both = np.hstack([targets, returns])
    expected = regress(world, c.X[rows], masks, both, 1e-3, fixed)
    assert_allclose(bias, expected[:, -1], atol=1e-8)
    assert_allclose(for_known.T, expected[:, :n], atol=1e-8)
    assert_allclose(for_value.T, expected[:, n : 2 * n], atol=1e-8)
