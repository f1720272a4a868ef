from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis.datumwise.costs import whole_costs
from tamis.datumwise.evidence import stop_thresholds
from tamis.datumwise.induction import Induction, PolicySolution, Rule, visits
from tests.oracles.datumwise import solve_lattice

QUANTILES = np.linspace(0.05, 0.95, 16)
SETS = [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]


@dataclass
class Evidence:
    """Random losses; local means over the cells of one partition."""

    stop: np.ndarray
    outcome: np.ndarray
    loss: np.ndarray
    cells: np.ndarray

    @property
    def thresholds(self):
        return stop_thresholds(self.stop)

    def local_means(self, values):
        means = np.empty_like(values)
        for cell in np.unique(self.cells):
            means[self.cells == cell] = values[self.cells == cell].mean(axis=0)
        return means


class Case:
    """A lattice of all sets of three blocks with random evidence."""

    def __init__(self, seed, n_samples=60, gain=0.15):
        rng = np.random.default_rng(seed)
        self.n_samples = n_samples
        self.moves = {
            blocks: [other for other in SETS if set(blocks) < set(other)] for blocks in SETS
        }
        self.fold_of = rng.integers(4, size=n_samples)
        self.fold_of[:4] = np.arange(4)
        self.own = {}
        for blocks in SETS:
            stop = rng.random(n_samples) * (0.7 - gain * len(blocks))
            loss = np.abs(stop + 0.2 * rng.normal(size=n_samples))  # no ties
            outcome = rng.random(n_samples)
            cells = rng.integers(6, size=n_samples)
            self.own[blocks] = Evidence(stop, outcome, loss, cells)
        self.costs = np.where(rng.random((n_samples, 3)) < 0.2, 0.0, [1.0, 2.0, 0.5])

    def evidence(self, blocks):
        return self.own[blocks]


def solve(case, costs, cost_weight, sets=None):
    """The solution for one cost weight."""
    return Induction(case, costs, [cost_weight]).solve(case.moves, sets)[0]


def as_tuple(rule):
    kinds = {
        "stop": ("stop",),
        "go": ("go", rule.move),
        "threshold": ("threshold", rule.move, rule.at),
        "local": ("local", rule.at),
    }
    return kinds[rule.kind]


WEIGHTS = [0.0, 0.03, 0.3]


@pytest.mark.parametrize("seed", range(12))
def test_rules_and_values_are_those_of_a_slow_induction(seed):
    case = Case(seed)
    together = Induction(case, case.costs, WEIGHTS).solve(case.moves)
    for cost_weight, found in zip(WEIGHTS, together, strict=True):
        rules, values, costs = solve_lattice(
            case.moves, case.own, case.costs, cost_weight, case.fold_of, QUANTILES, (0.5, 1.0)
        )
        alone = solve(case, case.costs, cost_weight)
        for blocks in SETS:
            assert_allclose(found.value(blocks), values[blocks], rtol=1e-12)
            # Rules of the same cost are as good as each other.
            chosen, best = as_tuple(found.rules[blocks]), rules[blocks]
            assert_allclose(sum(costs[blocks][chosen]), sum(costs[blocks][best]), rtol=1e-12)
            assert found.rules[blocks] == alone.rules[blocks]
            assert_array_equal(found.value(blocks), alone.value(blocks))


def test_a_lattice_that_grows_is_solved_as_if_it_were_new():
    case = Case(3)
    small = {a: [b for b in case.moves[a] if b != (0, 1)] for a in SETS if a != (0, 1)}
    induction = Induction(case, case.costs, WEIGHTS)
    before = induction.solve(small)
    after = induction.solve(case.moves)
    for weight, old, found in zip(WEIGHTS, before, after, strict=True):
        new = solve(case, case.costs, weight)
        assert found.rules == new.rules
        for blocks in SETS:
            assert_array_equal(found.value(blocks), new.value(blocks))
        # From (1, 2) the way is the same, and it is not solved again.
        assert found.losses[1, 2].base is old.losses[1, 2].base
    assert any(
        (new.value(()) != old.value(())).any() for old, new in zip(before, after, strict=True)
    )


def test_all_kinds_of_rules_are_chosen_somewhere():
    kinds = set()
    for seed in range(12):
        for weight in (0.0, 0.03, 0.3):
            case = Case(seed)
            found = solve(case, case.costs, weight)
            kinds |= {rule.kind for rule in found.rules.values()}
    assert kinds == {"stop", "go", "threshold", "local"}


def test_the_value_of_a_row_comes_of_the_rule_that_other_folds_choose():
    case = Case(0)
    inside = case.fold_of == 2
    case.own[0, 1].loss[inside] = 1e-9  # by far the best there, and the others cannot know it
    case.own[0, 1].loss[~inside] = 5.0
    found = solve(case, case.costs, 0.03)
    going = 0.03 * case.costs[:, 2] + found.value((0, 1, 2))
    assert_allclose(found.value((0, 1))[inside], going[inside])


def test_outcomes_are_values_when_losses_are_what_came_true():
    case = Case(4)
    for evidence in case.own.values():
        evidence.outcome = evidence.loss
    for weight in (0.0, 0.05):
        found = solve(case, case.costs, weight)
        for blocks in SETS:
            assert_allclose(found.outcome(blocks), found.value(blocks), rtol=1e-12)
    case.own[()].outcome = case.own[()].outcome + 1.0
    dear = solve(case, case.costs, 1e6)
    assert_allclose(dear.outcome(()), dear.value(()) + 1.0)


def test_the_chain_alone_uses_no_other_set():
    case = Case(5)
    chain = [(), (1,), (1, 2), (0, 1, 2)]
    found = solve(case, case.costs, 0.01, chain)
    assert set(found.rules) == set(chain)
    assert found.moves[()] == chain[1:]


def test_what_cannot_pay_is_not_bought():
    case = Case(1)
    dear = solve(case, case.costs, 1e6)
    assert dear.rules[()] == Rule("stop")
    assert all(rule.kind != "go" for rule in dear.rules.values())


def test_visits_follow_the_rules_of_every_row():
    case = Case(2)
    for weight in (0.0, 0.02, 0.1):
        solution = solve(case, case.costs, weight)
        found = visits(solution)
        here = {blocks: set() for blocks in SETS}
        here[()] = set(range(case.n_samples))
        for blocks in SETS:
            rule, going = solution.rules[blocks], set()
            moves = case.moves[blocks]
            if rule.kind != "stop":
                values = solution.move_values(case.costs, blocks)
                local = case.own[blocks].local_means(values)
                for i in here[blocks]:
                    stop, move = case.own[blocks].stop[i], rule.move
                    if rule.kind == "threshold" and stop <= rule.at:
                        continue
                    if rule.kind == "local":
                        expected = rule.at * local[i] + (1 - rule.at) * values.mean(axis=0)
                        move = int(np.argmin(expected))
                        if stop <= expected[move]:
                            continue
                    going.add(i)
                    here[moves[move]].add(i)
            wanted = going if going else here[blocks]
            assert set(np.flatnonzero(found[blocks])) == wanted


def test_a_move_costs_the_costs_of_what_is_new():
    case = Case(3)
    losses = {blocks: np.full(60, 10.0 * len(blocks)) for blocks in SETS}
    paid = {blocks: np.zeros(60) for blocks in SETS}
    found = PolicySolution(0.5, case.moves, {}, losses, {}, paid).move_values(case.costs, (1,))
    for m, larger in enumerate(case.moves[1,]):
        new = [b for b in larger if b != 1]
        assert_allclose(found[:, m], 0.5 * case.costs[:, new].sum(axis=1) + 10.0 * len(larger))


@pytest.mark.parametrize("costs", list(permutations([0.1, 0.2, 0.3])))
def test_ways_to_the_same_purchases_cost_the_same_and_the_first_is_taken(costs):
    case = Case(6)
    one_more = {a: [b for b in case.moves[a] if len(b) == len(a) + 1] for a in SETS}
    case.moves = one_more
    for blocks in SETS:  # nothing is worth anything but all three
        case.own[blocks].loss[:] = case.own[blocks].stop[:] = 0.0 if len(blocks) == 3 else 5.0
    whole, unit = whole_costs(np.array(costs))
    found = solve(case, np.tile(whole, (case.n_samples, 1)), 0.01 * unit)
    for blocks in SETS[:-1]:
        assert found.rules[blocks] == Rule("go", 0)
        assert len(set(found.move_values(np.tile(whole, (60, 1)), blocks).ravel())) == 1


def test_a_threshold_is_not_decided_by_the_last_bit():
    case = Case(4)
    for blocks in SETS:
        own = case.own[blocks]
        own.stop[:] = np.where(own.loss < 0.3, 0.01, 0.5)  # pure cells, and others
        own.loss[:] = own.stop
    rules = [solve(case, case.costs, weight).rules for weight in (0.02, 0.05, 0.1)]
    levels = [rule.at for one in rules for rule in one.values() if rule.kind == "threshold"]
    assert levels
    for stop in (0.01, np.nextafter(0.01, 1.0), np.nextafter(np.nextafter(0.01, 1.0), 1.0)):
        assert stop <= min(levels)
