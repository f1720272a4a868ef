"""Policies of forests: batches do what one sample at a time does, and budgets hold."""

from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tamis.datumwise.costs import paid
from tamis.datumwise.forest_learner import learn_forest_path
from tamis.datumwise.process import ASK, KNOWN, MISSING, OPEN, Process, find_status
from tests.oracles.datumwise import follow_forest
from tests.quick import smaller

WORDS = {ASK: "ask", KNOWN: "known", MISSING: "missing", OPEN: "open"}


def draw_rows(rng, n_samples, n_features=8):
    y = rng.integers(3, size=n_samples)
    angles = 2 * np.pi * y[:, None] / 3 + np.arange(n_features)
    X = rng.normal(size=angles.shape) + 1.3 * np.cos(angles)
    X[:, 3] = np.round(X[:, 3])
    return X, y


def learn(cost_weight=0.01, *, groups=None, missing=0.0, order="free", n_sets=25, **kwargs):
    rng = np.random.default_rng(kwargs.pop("seed", 0))
    X, y = draw_rows(rng, 200)
    X[rng.random(X.shape) < missing] = np.nan
    block_of = np.arange(8) if groups is None else np.array(groups)
    n_blocks = block_of.max() + 1
    process = Process(
        **{
            "block_of": block_of,
            "costs": np.ones(n_blocks),
            "cost_weight": cost_weight,
            "class_losses": np.ones(3),
            "max_blocks": n_blocks,
            "max_cost": np.inf,
            "names": np.array([f"b{g}" for g in range(n_blocks)], dtype=object),
            **kwargs,
        }
    )
    (policy,), _ = learn_forest_path(
        X, y, process, [cost_weight], order=order, n_trees=10, n_sets=n_sets, random_state=0
    )
    return policy, process


TENTHS = np.array([0.3, 0.2, 0.1, 0.1, 0.7, 0.2, 0.3, 0.6])
POLICIES = {
    "plain": partial(learn),
    "for nothing, missing values": partial(learn, 0.0, missing=0.2, seed=1),
    "fixed order": partial(learn, 0.005, order="fixed", missing=0.1),
    "costs and a budget": partial(learn, 0.001, costs=TENTHS, max_cost=0.6, seed=2),
    "a large budget": partial(learn, 0.0, costs=TENTHS, max_cost=1.6, seed=3, n_sets=60),
    "at most two": partial(learn, 0.0, max_blocks=2, seed=4),
    "both budgets, free blocks": partial(
        learn,
        0.002,
        costs=np.array([2.0, 1.5, 0.0, 3.0, 0.0, 1.0, 1.0, 0.5]),
        max_cost=4.0,
        max_blocks=4,
    ),
    "groups": partial(
        learn,
        0.002,
        groups=[0, 1, 0, 2, 2, 2, 3, 1],
        costs=np.array([3.0, 1.0, 2.5, 0.5]),
        missing=0.2,
        max_cost=5.5,
    ),
    "unequal losses": partial(learn, 0.05, class_losses=np.array([1.0, 8.0, 0.5]), seed=5),
    "a dear fixed order": partial(learn, 0.05, order="fixed", costs=3 * TENTHS, seed=6),
    "dear and few sets": partial(learn, 0.04, costs=2 * TENTHS, n_sets=10, missing=0.1, seed=7),
    "nothing at all": partial(learn, max_blocks=0),
}


@cache
def policy_of(name):
    """A policy and its process, learned when the first test asks for it."""
    return POLICIES[name]()


def draw_states(rng, process, n_samples):
    """Random rows, and a random status of every block."""
    X, _ = draw_rows(rng, n_samples)
    X[rng.random(X.shape) < 0.1] = np.nan
    status = rng.choice(
        [ASK, KNOWN, MISSING, OPEN],
        size=(n_samples, process.n_blocks),
        p=rng.dirichlet([2.0, 0.7, 0.7, 0.7]),
    ).astype(np.int8)
    status[: n_samples // 4] = ASK
    for g in range(process.n_blocks):
        columns = process.columns_of(g)
        unseen = np.isin(status[:, g], [MISSING, OPEN])
        X[np.ix_(unseen, columns)] = np.nan
        lacks = np.isnan(X[:, columns]).all(axis=1) & (status[:, g] != OPEN)
        status[lacks, g] = MISSING
    return X, status


@pytest.mark.parametrize("n_states", smaller(80, 400))
@pytest.mark.parametrize("name", POLICIES)
def test_a_batch_does_what_one_sample_at_a_time_does(name, n_states):
    policy, process = policy_of(name)
    X, status = draw_states(np.random.default_rng(6), process, n_states)
    run = policy.run(X, status, trace=True)
    for i in range(n_states):
        words = [WORDS[s] for s in status[i].tolist()]
        order, request, trace = follow_forest(policy, X[i], words)
        assert [b for b in run.order[i].tolist() if b >= 0] == order
        assert run.request[i] == request
        assert_allclose(run.decisions[i], trace[-1], rtol=1e-9, atol=1e-12)
        assert_allclose(run.trace[i, : len(order) + 1], trace, rtol=1e-9, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(POLICIES)))
def test_no_budget_is_exceeded_in_100_000_states(seed, name):
    policy, process = policy_of(name)
    X, status = draw_states(np.random.default_rng(seed), process, 2000)
    run = policy.run(X, status, trace=True)
    bought = run.order >= 0
    count = bought.sum(axis=1)
    waiting = run.request >= 0
    with_request = np.column_stack([run.order, run.request])
    assert (count + waiting <= process.max_blocks).all()
    assert (paid(run.order, process.costs) <= process.max_cost).all()
    assert (paid(with_request, process.costs) <= process.max_cost).all()
    # What is bought could be had, once; what is wanted is open; nothing follows the padding.
    rows = np.nonzero(bought)[0]
    assert (status[rows, run.order[bought]] == ASK).all()
    assert (status[waiting, run.request[waiting]] == OPEN).all()
    times = np.zeros(status.shape, dtype=int)
    np.add.at(times, (rows, run.order[bought]), 1)
    assert times.max(initial=0) <= 1
    assert_array_equal(bought, np.arange(run.order.shape[1]) < count[:, None])
    # The last entry of the trace is the decision.
    assert_array_equal(run.trace[np.arange(2000), count], run.decisions)
    entries = ~np.isnan(run.trace[:, :, 0])
    assert_array_equal(entries, np.arange(entries.shape[1]) <= count[:, None])
    assert np.isfinite(run.decisions).all() and (run.decisions.max(axis=1) == 0).all()


@pytest.mark.parametrize("name", POLICIES)
def test_rows_do_not_depend_on_the_others_of_a_batch(name):
    policy, process = policy_of(name)
    X, status = draw_states(np.random.default_rng(7), process, 300)
    whole = policy.run(X, status, trace=True)
    for rows in (slice(0, 1), slice(1, 120), slice(120, 300)):
        part = policy.run(X[rows], status[rows], trace=True)
        length = part.order.shape[1]
        assert_array_equal(part.order, whole.order[rows, :length])
        assert (whole.order[rows, length:] == -1).all()
        assert_array_equal(part.request, whole.request[rows])
        assert_array_equal(part.decisions, whole.decisions[rows])
        assert_array_equal(part.trace, whole.trace[rows, : length + 1])


@pytest.mark.parametrize("name", POLICIES)
def test_values_that_were_not_bought_do_not_matter(name):
    policy, process = policy_of(name)
    X, _ = draw_rows(np.random.default_rng(8), 200)
    status = np.full((200, process.n_blocks), ASK, dtype=np.int8)
    run = policy.run(X, status)
    bought = (run.order[:, :, None] == process.block_of).any(axis=1)
    other = policy.run(np.where(bought, X, 99.0), status)
    assert_array_equal(other.decisions, run.decisions)
    assert_array_equal(other.order, run.order)


@pytest.mark.parametrize("name", POLICIES)
def test_the_prior_is_the_answer_where_nothing_is_available(name):
    policy, process = policy_of(name)
    X = np.full((2, 8), np.nan)
    status = np.full((2, process.n_blocks), MISSING, dtype=np.int8)
    run = policy.run(X, status, trace=True)
    assert run.order.shape == (2, 0)
    assert_array_equal(run.request, [-1, -1])
    prior = policy.stages[0].forest.prior
    assert_allclose(np.exp(run.decisions[0]), prior / prior.max())


def test_what_is_known_is_used_and_not_asked_for():
    policy, process = policy_of("plain")
    X, y = draw_rows(np.random.default_rng(9), 500)
    status = np.full((500, 8), ASK, dtype=np.int8)
    asked = policy.run(X, status)
    first = np.bincount(asked.order[:, 0]).argmax()
    status[:, first] = KNOWN
    known = policy.run(X, status)
    assert not (known.order == first).any()
    cost = paid(asked.order, process.costs).mean(), paid(known.order, process.costs).mean()
    assert cost[1] < cost[0]
    status[:] = KNOWN
    everything = policy.run(X, status)
    assert everything.order.shape == (500, 0)
    accuracy = [np.mean(run.decisions.argmax(axis=1) == y) for run in (asked, everything)]
    assert accuracy[1] > accuracy[0] - 0.05


@pytest.mark.parametrize("name", ["plain", "fixed order", "for nothing, missing values"])
def test_what_cannot_be_had_is_passed_over(name):
    policy, process = policy_of(name)
    rng = np.random.default_rng(10)
    X, y = draw_rows(rng, 1000)
    status = find_status(process.block_of, process.n_blocks, X)
    run = policy.run(X, status)
    prior = np.bincount(y).max() / 1000
    used = np.bincount(run.order[run.order >= 0], minlength=8)
    for n_lacking in range(1, 6):
        lacking = np.argsort(-used, kind="stable")[:n_lacking]
        X[:, lacking] = np.nan
        status[:, lacking] = MISSING
        less = policy.run(X, status)
        assert (less.order[:, 0] >= 0).all()
        assert np.mean(less.decisions.argmax(axis=1) == y) > prior + 0.05


def test_a_policy_stops_at_once_where_questions_cost_too_much():
    policy, process = learn(3.0)
    X, status = draw_states(np.random.default_rng(11), process, 50)
    assert policy.run(X, status).order.shape == (50, 0)
    assert len(policy.stages) == 1


def test_equal_seeds_give_equal_policies_and_stages_are_sorted():
    one, two = (learn(seed=12)[0] for _ in range(2))
    X, status = draw_states(np.random.default_rng(13), learn()[1], 200)
    assert_array_equal(one.run(X, status).decisions, two.run(X, status).decisions)
    sizes = [stage.blocks.size for stage in one.stages]
    assert sizes == sorted(sizes) and sizes[0] == 0
    for s, stage in enumerate(one.stages):
        assert (stage.targets > s).all()
        for target, new in zip(stage.targets, stage.new, strict=True):
            both = sorted([*stage.blocks, *new])
            assert both == one.stages[target].blocks.tolist()


@pytest.mark.parametrize(("cost_weight", "is_asked"), [(0.3, True), (0.8, False)])
def test_what_cannot_be_had_costs_nothing_in_training(cost_weight, is_asked):
    rng = np.random.default_rng(14)
    X, y = rng.normal(size=(400, 2)), np.arange(400) % 2
    X[:, 0] = np.where(rng.random(400) < 0.3, y, np.nan)  # half an error each, for three in ten
    process = Process(
        block_of=np.arange(2),
        costs=np.ones(2),
        cost_weight=cost_weight,
        class_losses=np.ones(2),
        max_blocks=2,
        max_cost=np.inf,
        names=np.array(["a", "b"], dtype=object),
    )
    (policy,), _ = learn_forest_path(X, y, process, [cost_weight], n_trees=10, random_state=0)
    run = policy.run(X, find_status(process.block_of, 2, X))
    assert_array_equal((run.order == 0).any(axis=1), ~np.isnan(X[:, 0]) & is_asked)
