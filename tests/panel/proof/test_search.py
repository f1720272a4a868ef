"""Bounds of nodes and duals against the losses of all panels."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tamis.panel.forward import Choices
from tamis.panel.proof.counting import enumerate_above, largest
from tamis.panel.proof.duals import look
from tamis.panel.proof.problem import lay_out_fit
from tamis.panel.proof.prove import count_panels
from tamis.panel.proof.search import Search
from tests.oracles.proof import all_panels


def make_problem(n_classes, seed=0, p=10, n=48):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.4 * rng.normal(size=(p, p)))
    X[:, 2] += 0.6 * y
    X[:, 5] -= 0.8 * (y == 1)
    choices = Choices(np.arange(p), np.zeros(p, bool), np.ones(p), np.zeros(p, int), p)
    return X, y, lay_out_fit(X, y, np.ones(n), n_classes, choices, 3.0, "balanced")


class RecordingSearch(Search):
    """Remembers every node with its bound."""

    def _bound(self, nodes, seen, states):
        super()._bound(nodes, seen, states)
        self.seen = getattr(self, "seen", [])
        self.seen += [
            (node.inside, node.free, states[id(node)].bound, node.bound) for node in nodes
        ]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("k", [2, 4])
def test_no_bound_is_above_the_best_panel_of_its_node(n_classes, k, monkeypatch):
    monkeypatch.setattr("tamis.panel.proof.search._MOST_FITTED", 1)
    X, y, problem = make_problem(n_classes)
    losses = all_panels(X, y, k)
    search = RecordingSearch(problem, k, lambda loss: 1.2 * loss)
    search.run()
    assert len(search.seen) > 3
    for inside, free, *bounds in search.seen:
        below = [
            loss
            for panel, loss in losses.items()
            if set(inside) <= set(panel) <= set(inside) | set(free.tolist())
        ]
        assert max(bounds) <= min(below) * (1 + 1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_random_duals_are_below_every_panel(n_classes):
    X, y, problem = make_problem(n_classes)
    losses = all_panels(X, y, 3)
    rng = np.random.default_rng(1)
    for size in (0.01, 1.0, 30.0):
        seen = look(problem, size * rng.normal(size=(1, len(problem.targets), y.size)))
        assert_allclose(seen.dual.sum(axis=2), 0.0, atol=1e-9)
        scores = ((seen.dual[0] @ problem.free_columns.T) ** 2).sum(axis=0)
        for panel, loss in losses.items():
            assert seen.entropy[0] - scores[list(panel)].sum() / 6.0 <= loss * (1 + 1e-9)


def test_what_forcing_a_group_costs_is_the_change_of_the_largest_sum():
    rng = np.random.default_rng(0)
    set_of, room = np.arange(9) % 3, np.array([1, 2, 3])
    scores = rng.random(9)

    def best(free, m, without=(), with_=()):
        from itertools import combinations

        sums = [
            scores[list(some)].sum()
            for some in combinations(free, m)
            if set(with_) <= set(some)
            and not set(without) & set(some)
            and (np.bincount(set_of[list(some)], minlength=3) <= room).all()
        ]
        return max(sums)

    for m in (1, 2, 3, 4):
        found = largest(scores, np.arange(9), m, set_of, room)
        assert_allclose(found.total, best(range(9), m))
        for g, cost in zip(found.others, found.cost_in, strict=True):
            assert_allclose(cost, found.total - best(range(9), m, with_=[g]))
        for g, cost in zip(found.chosen, found.cost_out, strict=True):
            assert_allclose(cost, found.total - best(range(9), m, without=[g]))


@pytest.mark.parametrize("m", [1, 2, 3])
def test_sets_above_a_sum_are_all_listed(m):
    from itertools import combinations

    scores = np.sort(np.random.default_rng(m).random(9))[::-1]
    least = m * 0.7
    above = {some for some in combinations(range(9), m) if scores[list(some)].sum() >= least}
    assert above
    assert set(enumerate_above(scores, m, least, 100)) == above
    assert enumerate_above(scores, m, least, len(above) - 1) is None


def test_panels_are_counted():
    _, _, problem = make_problem(2)
    assert count_panels(problem, 3) == 120


_SCRIPT = """
import numpy as np
from tamis.panel import best_panels
rng = np.random.default_rng(0)
X, y = rng.normal(size=(200, 70)), np.arange(200) % 3
best = best_panels(X, y, 3, max_nodes=20, tolerance=0.001)
print([p.tolist() for p in best.panels], best.n_nodes, round(best.gap, 9))
"""


@pytest.mark.slow
def test_the_number_of_threads_changes_nothing():
    found = []
    for n_threads in ("1", "4"):
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), n_threads)
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            env=os.environ | threads,
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(done.stdout)
    assert found[0] == found[1]
