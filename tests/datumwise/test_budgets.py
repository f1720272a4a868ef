from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tamis.datumwise.budgets import (
    _leave_out_dear,
    budget_digits,
    budget_units,
    forbid_dear,
    is_dear,
    pay,
)
from tamis.datumwise.costs import exact_sum
from tests.datumwise.test_costs import lists_of_costs
from tests.oracles.datumwise import as_written

budgets = st.one_of(
    st.sampled_from([0.0, 0.1, 0.3, 0.6, 1.0, 1 / 3, 1e16, 1e300, np.inf]),
    st.floats(0, 20),
    st.floats(0, 1e300),
)


@st.composite
def spendings(draw):
    """Costs in the order of their turns, and a budget; often one that some of them reach."""
    costs = draw(lists_of_costs)
    some = draw(st.lists(st.sampled_from(costs), max_size=len(costs)))
    return costs, draw(st.one_of(budgets, st.just(exact_sum(some))))


def affordable(costs, max_cost):
    """Which of the costs are paid when their turn comes: by definition."""
    spent, taken = 0, []
    for cost in map(as_written, costs):
        taken.append(spent + cost <= as_written(max_cost))
        spent += cost * taken[-1]
    return taken


def buy_in_turn(costs, max_cost):
    """The same with digits."""
    digits, left = budget_digits(costs, max_cost)
    taken = []
    for b in range(costs.size):
        taken.append(not is_dear(digits, b, left))
        if taken[-1]:
            pay(left, digits, b)
    return taken


@settings(deadline=None)
@given(spendings())
@example(([0.1, 0.2, 0.3, 0.1], 0.6))
@example(([0.012345678901234567, 0.087654321098765433, 9.9], 10.0))  # two digits
@example(([5e-324, 1e-300, 5e-324], 1e-300))  # many digits, with a borrow
@example(([0.5, 1e-30, 0.5], 1.0))
def test_what_can_be_paid_is_what_exact_sums_say(case):
    costs, max_cost = case
    assert buy_in_turn(np.array(costs), max_cost) == affordable(costs, max_cost)


@settings(deadline=None)
@given(spendings())
def test_masks_leave_out_what_cannot_be_paid_at_its_turn(case):
    costs, max_cost = case
    order = np.stack([np.arange(len(costs)), np.arange(len(costs))[::-1]])
    taken = np.ones(order.shape, dtype=bool)
    _leave_out_dear(order, taken, *budget_digits(np.array(costs), max_cost))
    assert taken.tolist() == [affordable(costs, max_cost), affordable(costs[::-1], max_cost)]


@settings(deadline=None)
@given(spendings())
def test_integers_decide_about_sets_as_exact_sums_do(case):
    costs, max_cost = case
    units, budget = budget_units(np.array(costs), max_cost)
    for size in range(len(costs) + 1):
        for chosen in combinations(range(len(costs)), size):
            exact = sum(as_written(costs[b]) for b in chosen) <= as_written(max_cost)
            assert (sum(units[b] for b in chosen) <= budget) == exact


@pytest.mark.parametrize("costs", list(permutations([0.1, 0.2, 0.3])))
def test_the_last_tenth_is_allowed_in_every_order(costs):
    costs = np.array([*costs, 0.4])
    digits, left = budget_digits(costs, 0.6)
    for b in (0, 1):
        pay(left, digits, b)
    scores = np.zeros(6)
    forbid_dear(scores, 2, digits, left)
    assert_array_equal(scores, [0.0, 0.0, *np.where(costs > costs[2], -np.inf, 0.0)])


def test_costs_of_many_decimals_have_more_than_one_digit_and_those_people_write_have_one():
    assert budget_digits(np.array([0.012345678901234567, 30.0]), 10.0)[0].shape == (2, 2)
    assert budget_digits(np.array([1e-3, 0.1, 1e6]), 1e6)[0].shape == (1, 3)


def test_a_budget_for_everything_is_none():
    assert budget_digits(np.array([0.1, 0.2, 0.3]), 0.6)[0].shape == (0, 3)
    assert budget_digits(np.array([0.1, 0.2, 0.3]), np.inf)[0].shape == (0, 3)
    assert budget_digits(np.array([0.1, 0.2, 0.3]), 0.5999999999999999)[0].shape == (1, 3)
