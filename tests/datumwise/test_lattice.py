from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tamis.datumwise.induction import by_size
from tamis.datumwise.lattice import Lattice
from tamis.datumwise.process import Process
from tests.oracles.datumwise import as_written


def make_lattice(gains, *, costs=None, max_blocks=None, max_cost=np.inf, n_sets=100, **kwargs):
    gains = np.atleast_2d(np.asarray(gains, dtype=float))
    n_blocks = gains.shape[1]
    process = Process(
        block_of=np.arange(n_blocks),
        costs=np.ones(n_blocks) if costs is None else np.array(costs, dtype=float),
        cost_weight=0.1,
        class_losses=np.ones(2),
        max_blocks=n_blocks if max_blocks is None else max_blocks,
        max_cost=max_cost,
        names=np.arange(n_blocks).astype(str),
    )
    blocks = kwargs.pop("blocks", np.arange(n_blocks))
    return Lattice(gains, blocks, process, n_sets, kwargs.pop("chain_only", False))


def grow_all(lattice, rng, n_samples):
    """Many rounds of growth with random visits."""
    for _ in range(8):
        if lattice.can_grow():
            visits = {blocks: rng.random(n_samples) < 0.5 for blocks in lattice.moves}
            lattice.grow(visits, 6)


def assert_sound(lattice):
    process = lattice.process
    for blocks, moves in lattice.moves.items():
        assert blocks == tuple(sorted(set(blocks)))
        assert len(blocks) <= process.max_blocks
        assert sum(as_written(process.costs[b]) for b in blocks) <= as_written(process.max_cost)
        assert len(set(moves)) == len(moves)
        for larger in moves:
            assert set(blocks) < set(larger)
            assert larger in lattice.moves
    place = {blocks: at for at, blocks in enumerate(by_size(lattice.moves))}
    assert all(place[a] < place[b] for a, moves in lattice.moves.items() for b in moves)
    assert by_size(lattice.moves)[0] == ()


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6))
def test_no_set_is_over_budget_and_all_moves_lead_to_larger_sets(seed):
    rng = np.random.default_rng(seed)
    n_blocks = int(rng.integers(1, 14))
    lattice = make_lattice(
        rng.random((40, n_blocks)),
        costs=np.round(2 * rng.random(n_blocks), 1),
        max_blocks=int(rng.integers(0, n_blocks + 1)),
        max_cost=float(rng.choice([0.0, 0.3, 1.0, 2.5, np.inf])),
        n_sets=int(rng.integers(1, 60)),
        chain_only=bool(rng.random() < 0.3),
    )
    assert_sound(lattice)
    grow_all(lattice, rng, 40)
    assert_sound(lattice)
    for smaller, larger in zip(lattice.chain, lattice.chain[1:], strict=False):
        assert set(smaller) < set(larger)


@pytest.mark.parametrize("costs", list(permutations([0.1, 0.2, 0.3])))
def test_a_set_may_use_the_budget_up_in_whatever_order_it_is_bought(costs):
    lattice = make_lattice([3.0, 2.0, 1.0], costs=costs, max_cost=0.6)
    assert (0, 1, 2) in lattice.moves
    below = make_lattice([3.0, 2.0, 1.0], costs=costs, max_cost=np.nextafter(0.6, 0.0))
    assert max(map(len, below.moves)) == 2


@pytest.mark.parametrize("n_tenths", range(1, 9))
def test_so_many_tenths_are_within_the_budget_as_it_has(n_tenths):
    lattice = make_lattice(np.ones(9), costs=np.full(9, 0.1), max_cost=n_tenths / 10)
    assert max(map(len, lattice.moves)) == n_tenths


def test_few_blocks_have_all_sets():
    lattice = make_lattice(np.ones(5), n_sets=32)
    assert len(lattice.moves) == 32
    assert not lattice.can_grow()
    for blocks, moves in lattice.moves.items():
        one_more = {tuple(sorted({*blocks, b})) for b in range(5) if b not in blocks}
        assert one_more <= set(moves)
    at_most_two = make_lattice(np.ones(5), max_blocks=2)
    expected = {c for size in range(3) for c in combinations(range(5), size)}
    assert set(at_most_two.moves) == expected


def test_the_chain_goes_by_gain_for_the_cost_and_what_is_free_comes_first():
    gains, costs = [0.1, 4.0, 3.0, 1.0, 2.0], [1.0, 4.0, 1.0, 0.0, 0.5]
    lattice = make_lattice(gains, costs=costs, chain_only=True)
    assert_array_equal(np.argsort(lattice.rank), [3, 4, 2, 1, 0])
    assert lattice.chain == [(), (3,), (3, 4), (2, 3, 4), (1, 2, 3, 4), (0, 1, 2, 3, 4)]
    assert lattice.moves[()] == [(3,), (3, 4), (2, 3, 4)]


def test_equal_gains_go_to_the_first_block():
    assert_array_equal(make_lattice(np.zeros(4), n_sets=3).rank, np.arange(4))


def test_a_long_chain_takes_larger_and_larger_steps_to_the_end():
    sizes = [len(blocks) for blocks in make_lattice(np.arange(80.0), n_sets=30).chain]
    assert sizes[:11] == list(range(11))
    assert sizes[-1] == 80
    steps = np.diff(sizes[10:])
    assert (np.diff(steps) >= 0).all()


def test_only_the_given_blocks_are_in_sets():
    rng = np.random.default_rng(0)
    lattice = make_lattice(
        rng.random((50, 12)), blocks=np.array([1, 4, 5, 7, 9, 10, 11]), n_sets=40
    )
    grow_all(lattice, rng, 50)
    assert set().union(*lattice.moves) == {1, 4, 5, 7, 9, 10, 11}
    assert (lattice.rank[[0, 2, 3, 6, 8]] == 12).all()


def test_a_chain_alone_does_not_grow():
    lattice = make_lattice(np.ones(6), chain_only=True)
    assert not lattice.can_grow()
    assert set(lattice.moves) == set(lattice.chain)


def test_children_are_what_clears_up_most_for_the_samples_that_come_by():
    gains = np.zeros((60, 12))
    gains[:, 0] = 5.0
    gains[:30, 10], gains[30:, 11] = 3.0, 3.0
    gains[:, 1:10] = 1.0
    lattice = make_lattice(gains, n_sets=40)
    lattice.grow({(0,): np.arange(60) < 30}, 10)
    assert (0, 10) in lattice.moves[(0,)]
    lattice = make_lattice(gains, n_sets=40)
    lattice.grow({(0,): np.arange(60) < 11}, 10)
    assert set(lattice.moves) == set(lattice.chain)  # too few come by


@pytest.mark.parametrize("n_sets", [20, 50])
def test_growth_ends_near_the_wanted_number_of_sets(n_sets):
    rng = np.random.default_rng(1)
    lattice = make_lattice(rng.random((50, 12)), n_sets=n_sets)
    grow_all(lattice, rng, 50)
    assert n_sets - 8 <= len(lattice.moves) <= n_sets + 8


def test_no_blocks_and_no_budget_leave_the_empty_set():
    assert make_lattice(np.ones(3), max_blocks=0).moves == {(): []}
    assert make_lattice(np.ones(3), max_cost=0.0).moves == {(): []}
    assert make_lattice(np.ones(3), blocks=np.array([], dtype=int)).moves == {(): []}
