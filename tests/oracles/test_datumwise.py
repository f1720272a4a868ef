"""The oracles of the datum-wise process agree with each other on tiny cases."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.oracles.datumwise import (
    World,
    all_tree_risks,
    choose,
    find_return,
    find_risk,
    follow,
    make_world,
    optimal_risk,
    regress,
    represent,
    solve,
    walk,
)

WORLDS = {
    "plain": {},
    "costs": {"costs": [0.5, 2.0, 1.0]},
    "dear": {"cost_weight": 0.4},
    "losses": {"losses": [1.0, 3.0], "cost_weight": 0.05},
    "two features": {"max_blocks": 2, "cost_weight": 0.01},
    "budget": {"costs": [1.0, 2.0, 1.5], "max_cost": 2.5, "cost_weight": 0.01},
}


def draw_table(seed, n_features=3, n_rows=24):
    rng = np.random.default_rng(seed)
    X = rng.integers(2, size=(n_rows, n_features)).astype(float)
    noisy = rng.normal(scale=0.5, size=n_rows)
    return X, (X[:, 0] + X[:, 1] * X[:, -1] + noisy > 0.8).astype(int)


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_exact_value_is_the_best_of_all_decision_trees(name, seed):
    X, y = draw_table(seed)
    world = make_world(3, **WORLDS[name])
    assert_allclose(optimal_risk(world, X, y), all_tree_risks(world, X, y).min(), rtol=1e-12)


def test_a_group_is_one_question():
    X, y = draw_table(2)
    world = World([[0, 2], [1]], costs=[1.5, 1.0], cost_weight=0.05)
    assert_allclose(optimal_risk(world, X, y), all_tree_risks(world, X, y).min(), rtol=1e-12)
    pair = np.column_stack([X[:, 0] + 2 * X[:, 2], X[:, 1]])
    joined = make_world(2, costs=[1.5, 1.0], cost_weight=0.05)
    assert_allclose(optimal_risk(world, X, y), optimal_risk(joined, pair, y), rtol=1e-12)


@pytest.mark.parametrize("name", WORLDS)
def test_the_best_policy_has_the_risk_that_was_found(name):
    X, y = draw_table(3, n_features=4, n_rows=60)
    world = make_world(4, **{**WORLDS[name], "costs": [1.0, 0.5, 2.0, 1.0]})
    values, policy = solve(world, X, y)
    orders, labels = walk(world, X, policy.__getitem__)
    assert_allclose(find_risk(world, X, y, orders, labels), values[frozenset(), ()], rtol=1e-12)


@pytest.mark.parametrize("name", WORLDS)
def test_no_linear_policy_is_better_than_the_best(name):
    X, y = draw_table(4)
    world = make_world(3, **WORLDS[name])
    best = optimal_risk(world, X, y)
    rng = np.random.default_rng(0)
    for _ in range(50):
        theta = rng.normal(size=(5, 7))
        orders, labels = zip(*(follow(world, theta, x) for x in X), strict=True)
        assert find_risk(world, X, y, orders, labels) >= best - 1e-12


def test_returns_from_the_start_are_the_risk():
    X, y = draw_table(5)
    world = make_world(3, costs=[1.0, 0.3, 0.7], losses=[2.0, 1.0])
    theta = np.random.default_rng(1).normal(size=(5, 7))
    orders, labels = zip(*(follow(world, theta, x) for x in X), strict=True)
    returns = [
        find_return(world, theta, x, truth, [], choose(world, theta, x, []))
        for x, truth in zip(X, y, strict=True)
    ]
    assert_allclose(-np.mean(returns), find_risk(world, X, y, orders, labels))


def test_ties_go_to_the_first_class_and_then_to_the_first_block():
    world = make_world(2)
    assert choose(world, np.zeros((4, 5)), np.ones(2), []) == 0
    theta = np.zeros((4, 5))
    theta[2:, 4] = 1.0
    assert follow(world, theta, np.ones(2)) == ([0, 1], 0)
    assert follow(world, theta, np.ones(2), free=[0]) == ([1], 0)


def test_what_is_not_seen_is_not_in_the_representation():
    world = World([[0, 2], [1]])
    x = np.array([3.0, 4.0, np.nan])
    assert represent(world, x, [0]).tolist() == [1, 0, 0, 3, 0, 0, 1]
    assert represent(world, x, [1]).tolist() == [0, 1, 0, 0, 4, 0, 1]


def test_regression_finds_the_scores_that_made_the_returns():
    rng = np.random.default_rng(6)
    world = make_world(3)
    X, masks = rng.normal(size=(80, 3)), rng.random((80, 3)) < 0.5
    truth = rng.normal(size=(5, 7))
    truth[[2, 3, 4], [0, 1, 2]] = truth[[2, 3, 4], [3, 4, 5]] = 0  # its own block is not seen
    returns = np.array(
        [truth @ represent(world, x, np.flatnonzero(m)) for x, m in zip(X, masks, strict=True)]
    )
    returns[:9, 3] = np.nan
    assert_allclose(regress(world, X, masks, returns, 1e-14), truth, atol=1e-8)
    truth[2:, 3:6] = 0
    returns = np.array(
        [truth @ represent(world, x, np.flatnonzero(m)) for x, m in zip(X, masks, strict=True)]
    )
    assert_allclose(regress(world, X, masks, returns, 1e-14, fixed=True), truth, atol=1e-8)


def test_a_policy_that_peeks_and_one_that_overspends_are_found_out():
    X = np.array([[0.0, 0.0], [0.0, 1.0]])
    world = make_world(2, max_blocks=1)
    with pytest.raises(AssertionError, match="two actions"):
        find_risk(world, X, [0, 1], [[0], [0]], [0, 1])
    with pytest.raises(AssertionError, match="not to be had"):
        find_risk(world, X, [0, 1], [[0, 1], [0, 1]], [0, 1])


def test_padding_is_no_purchase():
    X = np.array([[0.0, 0.0], [1.0, 1.0]])
    world = make_world(2, cost_weight=0.1)
    assert_allclose(find_risk(world, X, [0, 1], np.array([[0, -1], [0, -1]]), [0, 1]), 0.1)
    assert_array_equal(world.may_buy([0]), [1])
