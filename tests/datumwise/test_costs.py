from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tamis.datumwise.costs import (
    as_float,
    as_integers,
    exact_sum,
    mean_paid,
    paid,
    paid_so_far,
    whole_costs,
)
from tests.oracles.datumwise import as_written

# What people write, what computers make, and what is far from both.
written = st.decimals(0, 1000, places=3).map(float)
costs = st.one_of(
    written,
    st.sampled_from([0.0, 1e-3, 0.1, 0.2, 0.3, 1 / 3, 2 / 3, 0.1 + 0.2, 1e6, 1e16, 1e23, 1e100]),
    st.floats(0, 10),
    st.floats(0, 1e100),
)
lists_of_costs = st.lists(costs, min_size=1, max_size=8)


@st.composite
def purchases(draw):
    """Costs, and what some samples buy, padded with -1."""
    costs = draw(lists_of_costs)
    ways = draw(st.lists(st.permutations(range(len(costs))), min_size=1, max_size=5))
    lengths = [draw(st.integers(0, len(costs))) for _ in ways]
    order = np.full((len(ways), max(lengths)), -1, dtype=np.int32)
    for row, way, length in zip(order, ways, lengths, strict=True):
        row[:length] = way[:length]
    return order, np.array(costs)


def fractions_of(row, costs):
    return [as_written(costs[b]) for b in row.tolist() if b >= 0]


@given(purchases())
def test_what_is_paid_is_the_exact_sum_of_the_decimals_rounded_once(case):
    order, costs = case
    expected = [float(sum(fractions_of(row, costs))) for row in order]
    assert_array_equal(paid(order, costs), expected)


@given(purchases())
def test_what_is_paid_so_far_is_the_exact_sum_of_every_beginning(case):
    order, costs = case
    running = paid_so_far(order, costs)
    assert running.shape == (order.shape[0], order.shape[1] + 1)
    for row, found in zip(order, running, strict=True):
        own = fractions_of(row, costs)
        expected = [float(sum(own[:step])) for step in range(len(own) + 1)]
        assert_array_equal(found, expected + [np.nan] * (found.size - len(expected)))


@given(purchases())
def test_the_mean_paid_is_exact(case):
    order, costs = case
    total = sum(sum(fractions_of(row, costs)) for row in order)
    assert mean_paid(order, costs) == Fraction(total) / len(order)


@given(lists_of_costs)
def test_an_exact_sum_is_rounded_once(numbers):
    assert exact_sum(numbers) == float(sum(map(as_written, numbers)))


@given(lists_of_costs)
def test_integers_over_their_denominator_are_the_decimals(numbers):
    integers, denominator = as_integers(numbers)
    assert [Fraction(n, denominator) for n in integers] == [as_written(x) for x in numbers]


@pytest.mark.parametrize("costs", list(permutations([0.1, 0.2, 0.3])))
def test_tenths_add_up_in_every_order(costs):
    everything = np.array([[0, 1, 2]])
    assert paid(everything, np.array(costs)).tolist() == [0.6]
    assert exact_sum(costs) == 0.6


def test_nothing_bought_costs_nothing():
    nothing = np.empty((3, 0), dtype=np.int32)
    assert paid(nothing, np.array([0.1, 0.2])).tolist() == [0.0] * 3
    assert paid_so_far(nothing, np.array([0.1, 0.2])).tolist() == [[0.0]] * 3
    assert mean_paid(nothing, np.array([0.1, 0.2])) == 0
    assert exact_sum([]) == 0.0


@given(st.permutations(range(8)), st.lists(written, min_size=8, max_size=8))
def test_sums_of_whole_costs_do_not_depend_on_the_order(order, costs):
    whole, unit = whole_costs(np.array(costs))
    assert (whole % 1 == 0).all()
    assert np.add.accumulate(whole[order])[-1] == np.add.accumulate(whole)[-1]
    assert whole * unit == pytest.approx(np.array(costs), rel=1e-15)


@given(lists_of_costs)
@example([1e100, 1.0])  # next to it 1 must not become nothing
@example([1 / 3] * 6)
def test_whole_costs_times_their_unit_are_the_costs(costs):
    whole, unit = whole_costs(np.array(costs))
    assert whole * unit == pytest.approx(np.array(costs), rel=1e-15)


def test_a_short_float_is_the_decimal_that_it_prints():
    assert as_float(np.float32(0.1)) == 0.1
    assert as_float(np.float16(0.7)) == 0.7
    assert as_float(np.float64(1 / 3)) == 1 / 3
    assert as_float(np.int32(3)) == 3.0
