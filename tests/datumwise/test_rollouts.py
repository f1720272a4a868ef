import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tamis._base import order_by_score
from tamis.datumwise.budgets import budget_digits, draw_masks
from tamis.datumwise.process import ASK, KNOWN, MISSING, OPEN, find_status
from tamis.datumwise.rollouts import _returns, _Rewards, _States, expected_returns
from tamis.datumwise.runs import RunBlocks, Scores, first_largest
from tests.datumwise.helpers import (
    combine,
    follow,
    make_policy,
    make_process,
    make_samples,
    make_scores,
    slow_return,
)
from tests.oracles.datumwise import as_written


def make_states(rng, process, n_states):
    X = rng.normal(size=(n_states, process.block_of.size))
    X[rng.random(X.shape) < 0.1] = np.nan
    codes = rng.integers(0, process.n_classes, n_states)
    status = find_status(process.block_of, process.n_blocks, X)
    rows = rng.integers(0, n_states, n_states)
    masks = draw_masks(
        status[rows] == ASK, process, np.random.RandomState(int(rng.integers(2**31)))
    )
    return X, codes, rows, masks


@pytest.mark.parametrize(
    ("n_blocks", "eagerness", "budgets"), combine([7, 4, 1], [-1.0, 0.0, 1.0, 3.0], [False, True])
)
def test_returns_are_those_of_one_rollout_at_a_time(eagerness, budgets, n_blocks):
    rng = np.random.default_rng([n_blocks, budgets])
    for _ in range(5):
        process = make_process(rng, 7, n_blocks, budgets=budgets)
        scores = make_scores(rng, process, eagerness)
        X, codes, rows, masks = make_states(rng, process, 12)
        values, present = np.nan_to_num(X), ~np.isnan(X)
        returns = expected_returns(values, present, codes, rows, masks, scores, process)
        expected = [
            [slow_return(X[i], codes[i], mask, b, scores, process) for b in range(n_blocks)]
            for i, mask in zip(rows, masks, strict=True)
        ]
        assert_allclose(returns, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.slow  # the threaded twin takes long to compile
def test_serial_and_threaded_returns_have_the_same_bits():
    rng = np.random.default_rng(0)
    process = make_process(rng, 10, budgets=False)
    bias, for_known, for_value = make_scores(rng, process, 1.0)
    X, codes, rows, masks = make_states(rng, process, 100)
    results = []
    for kernel in (_returns.serial, _returns.parallel):
        returns = np.empty(masks.shape)
        present = ~np.isnan(X)
        columns = np.argsort(process.block_of)
        digits = budget_digits(process.costs, process.max_cost)
        kernel(
            _States(np.nan_to_num(X), present, codes, rows, masks, present[:, columns]),
            Scores(bias, for_known, for_value),
            RunBlocks(np.arange(11), columns, *digits, process.max_blocks),
            _Rewards(process.costs, process.cost_weight, process.class_losses),
            returns,
        )
        results.append(returns)
    assert_array_equal(*results)


@pytest.mark.parametrize("size", [1, 7, 96, 97, 300])
def test_first_largest_is_argmax_and_zeros_are_equal(size):
    rng = np.random.default_rng(size)
    for _ in range(50):
        scores = rng.choice([-np.inf, -1.5, -0.0, 0.0, 1e-300, 2.0], size)
        scores = np.where(scores > rng.choice([0.5, 1e-301, -1.0]), -2.0, scores)
        assert first_largest(scores, scores.view(np.int64), size) == scores.argmax()
        assert first_largest(scores, scores.view(np.int64), size) == order_by_score(scores)[0]


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("n_blocks", [6, 3])
def test_runs_are_those_of_one_step_at_a_time(fixed, n_blocks):
    rng = np.random.default_rng([n_blocks, fixed])
    for _ in range(10):
        process = make_process(rng, 6, n_blocks)
        policy = make_policy(rng, process, eagerness=1.0, fixed=fixed)
        scores = policy.bias, policy.for_known, policy.for_value
        X, status = make_samples(rng, process, 20)
        status[status == OPEN] = ASK
        # Whole rows of values, so that a fixed order goes along its chain, among others.
        X[::2] = rng.normal(size=X[::2].shape)
        status[::2] = ASK
        run = policy.run(X, status)
        for i in range(20):
            known = np.flatnonzero(status[i] == KNOWN).tolist()
            way, label = follow(X[i], known, [], scores, process)
            assert run.order[i][run.order[i] >= 0].tolist() == way
            assert run.decisions[i].argmax() == label


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.floats(-1, 4))
def test_budgets_are_never_exceeded_and_only_what_available_is_bought(seed, fixed, eagerness):
    # A thousand random states in each of a hundred examples.
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 12))
    n_blocks = int(rng.integers(1, n_features + 1))
    process = make_process(rng, n_features, n_blocks, n_classes=int(rng.integers(2, 5)))
    policy = make_policy(rng, process, eagerness, fixed)
    X, status = make_samples(rng, process, 1000)
    run = policy.run(X, status, trace=True)
    bought = run.order >= 0
    count = bought.sum(axis=1)
    assert count.max(initial=0) <= process.max_blocks
    asked = run.request >= 0
    wanted = np.hstack([run.order, np.where(asked, run.request, -1)[:, None]])
    costs = [as_written(cost) for cost in process.costs]
    for way in wanted:
        assert sum(costs[b] for b in way if b >= 0) <= as_written(process.max_cost)
    rows, steps = np.nonzero(bought)
    assert (status[rows, run.order[rows, steps]] == ASK).all()
    assert np.unique(np.stack([rows, run.order[rows, steps]]), axis=1).shape[1] == rows.size
    assert (status[asked, run.request[asked]] == OPEN).all()
    assert (count[asked] < process.max_blocks).all()
    assert np.isfinite(run.decisions).all()
    assert_array_equal(run.trace[np.arange(1000), count], run.decisions)
    assert_array_equal(np.isnan(run.trace[:, :, 0]).sum(axis=1), run.order.shape[1] - count)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_masks_fit_the_budgets_and_the_sample(seed):
    rng = np.random.default_rng(seed)
    process = make_process(rng, 6)
    available = rng.random((300, 6)) < 0.8
    masks = draw_masks(available, process, np.random.RandomState(seed % 2**31))
    assert not (masks & ~available).any()
    assert masks.sum(axis=1).max() <= process.max_blocks
    costs = [as_written(cost) for cost in process.costs]
    for mask in masks:
        assert sum(costs[b] for b in np.flatnonzero(mask)) <= as_written(process.max_cost)


def test_sizes_of_random_masks_are_uniform():
    process = make_process(np.random.default_rng(0), 4, budgets=False)
    masks = draw_masks(np.ones((50_000, 4), dtype=bool), process, np.random.RandomState(0))
    assert_allclose(np.bincount(masks.sum(axis=1)) / 50_000, np.full(5, 0.2), atol=0.01)
    assert_allclose(masks.mean(axis=0), np.full(4, 0.5), atol=0.01)


def test_missing_blocks_are_those_without_any_value():
    X = np.array([[1.0, np.nan, np.nan], [np.nan, np.nan, 2.0]])
    block_of = np.array([0, 0, 1])
    assert find_status(block_of, 2, X).tolist() == [[ASK, MISSING], [MISSING, ASK]]
