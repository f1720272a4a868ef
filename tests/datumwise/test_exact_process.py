"""Small processes solved exactly by dynamic programming: what the learners make of them.

The training rows are the whole distribution, so that the best policy is known, and so is its
risk. `solve` of the oracle knows no learner; `find_risk` also finds out a policy that has seen
what it did not buy, or bought what it may not.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tamis import DatumWiseClassifier
from tests.oracles.datumwise import World, find_risk, make_world, optimal_risk


def tabulate(n_features, label, n_right=20, n_wrong=0):
    """Every row of bits many times, some with another label."""
    bits = np.indices((2,) * n_features).reshape(n_features, -1).T
    y = np.array([label(*map(int, row)) for row in bits])
    n = n_right + n_wrong
    wrong = np.tile(np.arange(n) >= n_right, len(y))
    return np.repeat(bits, n, axis=0).astype(float), np.where(wrong, 1, 0) ^ np.repeat(y, n)


def blurred_copy():
    """Three bits, of which the first is the class, and a copy of it that is wrong 1 in 5."""
    X, y = tabulate(3, lambda a, b, c: a)
    copy = np.where(np.arange(len(y)) % 5 == 0, 1 - y, y)
    return np.column_stack([X, copy]), y


def either(a, b, *rest):
    return a | b


def choose_branch(a, b, c, *rest):
    return c if a else b


# Data, and the world as a function of the cost weight; the cost weights.
PROCESSES = {
    "one bit of four": (tabulate(4, lambda a, *rest: a), make_world(4), [0.02, 0.1, 0.6]),
    "one bit in a group": (
        tabulate(4, lambda a, *rest: a),
        World([[0, 1], [2], [3]], costs=[1.5, 1.0, 1.0]),
        [0.02, 0.1, 0.5],
    ),
    "a blurred bit, unequal losses": (
        tabulate(3, lambda a, *rest: a, n_right=16, n_wrong=4),
        make_world(3, losses=[1.0, 4.0]),
        [0.02, 0.1, 0.5],
    ),
    "three classes in a row": (
        tabulate(4, lambda a, b, *rest: 0 if a else 1 + b),
        make_world(4, n_classes=3),
        [0.02, 0.1, 0.3],
    ),
    "majority of three": (
        tabulate(3, lambda a, b, c: int(a + b + c >= 2)),
        make_world(3),
        [0.01, 0.05, 0.3],
    ),
    "at most one": (tabulate(3, either), make_world(3, max_blocks=1), [0.01, 0.1]),
    "either of two": (tabulate(4, either), make_world(4), [0.01, 0.05, 0.1, 0.3]),
    "either of two, wrong labels": (
        tabulate(3, either, n_right=18, n_wrong=2),
        make_world(3),
        [0.01, 0.05, 0.3],
    ),
    "three at once": (tabulate(4, lambda a, b, c, d: a & b & c), make_world(4), [0.01, 0.03, 0.1]),
    "a branch": (tabulate(3, choose_branch), make_world(3), [0.02, 0.1, 0.2]),
    "a branch and noise": (tabulate(4, choose_branch), make_world(4), [0.02, 0.1]),
    "parity": (tabulate(3, lambda a, b, c: a ^ b), make_world(3), [0.05, 0.2, 0.3]),
    "a cheap blurred copy": (
        blurred_copy(),
        make_world(4, costs=[3.0, 1.0, 1.0, 0.5]),
        [0.02, 0.05, 0.1, 0.5],
    ),
    "unequal losses": (
        tabulate(3, lambda a, b, c: a & b),
        make_world(3, losses=[1.0, 4.0]),
        [0.02, 0.1, 0.5],
    ),
    "a group": (
        tabulate(4, either),
        World([[0, 1], [2], [3]], costs=[1.5, 1.0, 1.0]),
        [0.02, 0.1, 0.2],
    ),
    "a group or the first bit of another": (
        tabulate(4, lambda a, b, c, d: a & (b | c)),
        World([[0], [1, 2], [3]], costs=[1.0, 1.5, 0.5]),
        [0.02, 0.05, 0.1],
    ),
    "a budget": (
        tabulate(3, choose_branch),
        make_world(3, costs=[1.0, 2.0, 1.0], max_cost=2.0),
        [0.01, 0.1],
    ),
}
# Forests on all sets can say everything; a linear score only these.
REPRESENTABLE = {
    "forest": list(PROCESSES),
    "linear": [
        "one bit of four",
        "one bit in a group",
        "a blurred bit, unequal losses",
        "majority of three",
        "at most one",
        "a branch",
        "a budget",
    ],
}
# The forest at every cost weight, the linear scores at the first one: the others are slow.
CASES = [
    pytest.param(
        learner, name, cost_weight, marks=pytest.mark.slow if learner == "linear" and i else ()
    )
    for learner, names in REPRESENTABLE.items()
    for name in names
    for i, cost_weight in enumerate(PROCESSES[name][2])
]


def run(learner, world, X, y):
    """Orders and labels of a fitted classifier on all rows."""
    model = DatumWiseClassifier(
        learner=learner,
        cost_weight=world.cost_weight,
        feature_costs=world.costs,
        feature_groups=world.blocks,
        class_weight=dict(enumerate(world.losses)),
        max_features=None if world.max_blocks == np.inf else world.max_blocks,
        max_cost=None if world.max_cost == np.inf else world.max_cost,
        random_state=0,
    )
    acquired = model.fit(X, y).acquire(X)
    return acquired.order, acquired.labels


@pytest.mark.parametrize(("learner", "name", "cost_weight"), CASES)
def test_the_learned_policy_is_the_best_there_is(learner, name, cost_weight):
    (X, y), world, _ = PROCESSES[name]
    world = World(**{**vars(world), "cost_weight": cost_weight})
    orders, labels = run(learner, world, X, y)
    risk = find_risk(world, X, y, orders, labels)
    assert_allclose(risk, optimal_risk(world, X, y), rtol=0, atol=1e-9)


# Where the learner can say everything, the test above says more.
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in PROCESSES if name not in REPRESENTABLE["linear"]]
)
def test_no_policy_is_better_than_the_best_nor_worse_than_asking_nothing(name):
    (X, y), world, cost_weights = PROCESSES[name]
    for cost_weight in cost_weights:
        world = World(**{**vars(world), "cost_weight": cost_weight})
        orders, labels = run("linear", world, X, y)
        risk = find_risk(world, X, y, orders, labels)
        nothing = World(**{**vars(world), "max_blocks": 0})
        assert optimal_risk(world, X, y) - 1e-9 <= risk <= optimal_risk(nothing, X, y) + 1e-9
