"""The path over radii: sizes grow, starts are carried over, radii cover the range."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification

from tamis.primal_dual.radii import choose_radii, fill_jumps, follow, refine_radius
from tamis.primal_dual.solver import solve
from tamis.primal_dual.training import make_problem, prepare


def make(n_features=60, ball="l1", loss="huber", seed=0):
    X, y = make_classification(
        n_samples=90, n_features=n_features, n_informative=8, n_classes=3, random_state=seed
    )
    data = prepare(X, y, 3, np.ones(y.size))
    return make_problem(data, loss=loss, huber_delta=0.25, ball=ball, radius=1.0, rho=60.0)


@pytest.mark.parametrize("loss", ["huber", "l1", "frobenius"])
@pytest.mark.parametrize("ball", ["l1", "l21", "l12", "nuclear"])
def test_every_level_is_the_solution_of_its_radius(ball, loss):
    problem = make(ball=ball, loss=loss)
    for level in follow(problem, [0.3, 1.0, 0.6], tol=1e-6, max_iter=20_000):
        *_, alone = solve(problem.with_radius(level.radius), tol=1e-7, max_iter=20_000)
        assert level.solution.relative_gap <= 1e-6
        value, best = level.solution.pair.primal.value, alone.pair.primal.value
        assert_allclose(value, best, atol=1.1e-6 * alone.unit)
        assert problem.ball.norm(level.solution.pair.primal.W) <= level.radius * (1 + 1e-12)


def test_warm_starts_save_iterations():
    problem = make(n_features=300)
    radii = np.geomspace(0.5, 0.6, 6)
    warm = sum(x.solution.n_iter for x in follow(problem, radii, tol=1e-4, max_iter=10_000))
    cold = 0
    for radius in radii:
        *_, solution = solve(problem.with_radius(radius), tol=1e-4, max_iter=10_000)
        cold += solution.n_iter
    assert warm < 0.8 * cold


@pytest.mark.parametrize("ball", ["l1", "l21"])
def test_chosen_radii_go_from_few_features_to_many(ball):
    problem = make(ball=ball)
    radii = choose_radii(problem, 12, fewest=3, largest=40, max_iter=10_000)
    sizes = [level.size for level in follow(problem, radii, tol=1e-5, max_iter=10_000)]
    assert radii.shape == (12,)
    assert np.all(np.diff(radii) > 0)
    assert sizes[0] <= 4
    assert sizes[-1] >= 30
    assert max(np.diff(sizes)) <= 16


@pytest.mark.parametrize("ball", ["l12", "nuclear"])
def test_chosen_radii_of_balls_that_keep_all_features(ball):
    radii = choose_radii(make(ball=ball), 5, fewest=1, largest=60, max_iter=10_000)
    assert np.all(np.diff(radii) > 0)


@pytest.mark.parametrize("wanted", [3, 7, 15])
def test_refining_finds_the_largest_radius_with_few_enough_features(wanted):
    problem = make()
    below, above = follow(problem, [0.01, 30.0], tol=1e-6, max_iter=10_000)
    level = refine_radius(below, above, wanted, tol=1e-6, max_iter=10_000)
    assert level.size <= wanted
    assert level.size >= wanted - 1


@pytest.mark.parametrize("ball", ["l1", "l21"])
def test_jumps_are_filled_until_every_small_number_of_features_has_a_level(ball):
    limits = {"tol": 1e-6, "max_iter": 10_000}
    levels = list(follow(make(ball=ball), [0.1, 0.5, 2.0], **limits))
    given = [level.radius for level in levels]
    before = {level.size for level in levels}
    fill_jumps(levels, 60, most=12, **limits)
    radii, sizes = [level.radius for level in levels], [level.size for level in levels]
    assert radii == sorted(set(radii))
    assert set(given) <= set(radii)
    wanted = set(range(min(before), 13))
    assert len(wanted & before) <= 3
    assert len(wanted - set(sizes)) <= 1
    for level in levels:
        assert level.solution.relative_gap <= 1e-6


def test_no_more_solutions_are_computed_than_allowed():
    limits = {"tol": 1e-6, "max_iter": 10_000}
    levels = list(follow(make(), [0.1, 2.0], **limits))
    fill_jumps(levels, 3, **limits)
    assert 3 <= len(levels) <= 5
    done = len(levels)
    fill_jumps(levels, 0, **limits)
    assert len(levels) == done
