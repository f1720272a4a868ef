import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from tamis.guarantees.error_bounds import (
    assumption_free_bound,
    r_concave_bound,
    r_concave_tail,
    unimodal_bound,
)


def largest_tail_by_definition(mean, place, n_steps, r, rng):
    """Largest P(X >= place) over all mass functions f > 0 with a convex r-th power."""
    points = np.arange(n_steps + 1)

    def convexity(f):
        power = np.maximum(f, 1e-12) ** r
        power = power / power.min()
        return (power[2:] + power[:-2] - 2 * power[1:-1]) / (power[2:] + power[:-2])

    constraints = [
        {"type": "eq", "fun": lambda f: f.sum() - 1},
        {"type": "ineq", "fun": lambda f: mean * n_steps - points @ f},
        {"type": "ineq", "fun": convexity},
    ]
    best = 0.0
    for _ in range(6):
        start = (rng.uniform(0.02, 0.5) + points) ** (1 / r) * rng.uniform(0.7, 1, points.size)
        found = minimize(
            lambda f: -f[place:].sum(),
            start / start.sum(),
            bounds=[(1e-7, 1)] * points.size,
            constraints=constraints,
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-12},
        )
        f = found.x
        valid = convexity(f).min() > -1e-7 and abs(f.sum() - 1) < 1e-7
        if valid and points @ f <= mean * n_steps + 1e-7:
            best = max(best, f[place:].sum())
    return best


@pytest.mark.parametrize(
    ("mean", "place", "n_steps", "r"),
    [(0.1, 3, 5, -0.5), (0.05, 4, 6, -0.25), (0.2, 4, 6, -0.5), (0.15, 5, 5, -0.25)],
)
def test_r_concave_tails_are_the_largest_by_definition(mean, place, n_steps, r):
    found = r_concave_tail(mean, place, n_steps, r)
    expected = largest_tail_by_definition(mean, place, n_steps, r, np.random.default_rng(0))
    assert found >= expected - 1e-5
    assert_allclose(found, expected, rtol=0.02)


def test_no_r_concave_law_exceeds_the_bound():
    rng = np.random.default_rng(1)
    points = np.arange(21)
    for _ in range(60):
        slopes = np.cumsum(rng.exponential(size=20) ** rng.integers(1, 5))
        slopes -= rng.choice([0.0, slopes[3]])
        power = np.concatenate([[0.0], np.cumsum(slopes)])
        mass = (power - power.min() + rng.exponential()) ** (-4.0)
        mass /= mass.sum()
        mean = points @ mass / 20
        for place in (8, 15):
            assert mass[place:].sum() <= r_concave_tail(mean, place, 20, -0.25) + 1e-9


def test_tails_fall_with_the_place_and_grow_with_the_mean():
    by_place = [r_concave_tail(0.05, place, 40, -0.5) for place in range(5, 41, 5)]
    by_mean = [r_concave_tail(mean, 30, 40, -0.5) for mean in (0.01, 0.03, 0.1, 0.3)]
    assert (np.diff(by_place) < 0).all()
    assert (np.diff(by_mean) > 0).all()
    assert r_concave_tail(0.4, 30, 40, -0.5) == 1.0


def test_assumptions_sharpen_the_bound():
    # tau = 0.75, B = 50: C = 1 / (2 * 0.49).
    free = assumption_free_bound(1000, 20, 0.75)
    unimodal = unimodal_bound(1000, 20, 0.75, 50)
    assert_allclose([free, unimodal], [0.8, 0.4 / 0.98])
    assert_allclose(unimodal_bound(1000, 20, 0.9, 50), 0.4 * 4 * 0.11 / 1.02)
    assert r_concave_bound(1000, 20, 0.75, 50) < unimodal < free


def test_bounds_are_refused_outside_their_theorems():
    assert unimodal_bound(10, 6, 0.75, 50) is None  # theta > 1 / sqrt(3)
    assert unimodal_bound(10, 5, 0.6, 50) is None  # tau too small for theta
    assert unimodal_bound(1000, 20, 0.755, 50) is None  # tau between two frequencies
    assert r_concave_bound(1000, 20, 0.755, 50) is None
