import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis.guarantees.closed_testing import (
    calibrate,
    count_true_along,
    hommel_value,
    max_t_p_values,
    simes_critical,
)
from tests.oracles.guarantees import all_subsets, closed_testing_count, max_t_step_down


def some_p_values(rng, m):
    return np.where(rng.random(m) < 0.5, rng.random(m) ** 4, rng.random(m)).round(3)


@pytest.mark.parametrize("seed", range(12))
def test_simes_bounds_are_those_of_closed_testing(seed):
    rng = np.random.default_rng(seed)
    m, alpha = 6, 0.2
    p = some_p_values(rng, m)

    def rejects(subset):
        ordered = np.sort(p[subset])
        return bool((ordered <= alpha * np.arange(1, len(subset) + 1) / len(subset)).any())

    critical = simes_critical(p, alpha)
    for chosen in all_subsets(m)[::3]:
        found = count_true_along(p[list(chosen)], critical)[-1]
        assert found == closed_testing_count(m, rejects, chosen)
    sizes = [len(s) for s in all_subsets(m) if not rejects(list(s))]
    assert hommel_value(p, alpha) == max(sizes, default=0)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_of_fixed_critical_values_are_those_of_closed_testing(seed):
    rng = np.random.default_rng(seed)
    m = 6
    p = some_p_values(rng, m)
    critical = np.arange(1, m + 1) * rng.choice([0.02, 0.05, 0.1, p.min(), p.min() / 2])

    def rejects(subset):
        return bool((np.sort(p[subset]) < critical[: len(subset)]).any())

    for chosen in all_subsets(m)[::3]:
        found = count_true_along(p[list(chosen)], critical, strict=True)[-1]
        assert found == closed_testing_count(m, rejects, chosen)


def test_bounds_along_an_order_are_those_of_its_beginnings():
    rng = np.random.default_rng(0)
    p = rng.random(40) ** 3
    critical = np.arange(1, 41) * 0.004
    along = count_true_along(p, critical)
    assert_array_equal(along, [count_true_along(p[:k], critical)[-1] for k in range(1, 41)])
    assert along[-1] > 0


def test_calibrated_values_are_undercut_in_at_most_alpha_of_the_permutations():
    rng = np.random.default_rng(1)
    p = np.sort(rng.random((60, 30)), axis=1)
    p[0] = np.sort(rng.random(30) ** 3)
    critical = calibrate(p, 30, 0.1)
    undercut = (p < critical).any(axis=1).mean()
    assert undercut <= 0.1
    assert (p < critical * 1.0001).any(axis=1).mean() > 0.1  # none larger would do
    assert_allclose(critical, critical[0] * np.arange(1, 31))


@pytest.mark.parametrize("depth", [3, 12])
def test_family_wise_p_values_are_those_of_all_statistics(depth):
    rng = np.random.default_rng(2)
    statistics = rng.gamma(1.0, size=(50, 12))
    statistics[0, :4] += [6, 4, 3, 2]
    order = np.argsort(-statistics, axis=1)[:, :depth]
    found = max_t_p_values(np.take_along_axis(statistics, order, axis=1), order, statistics[0])
    expected = max_t_step_down(statistics)
    first = np.argsort(-statistics[0])[:depth]
    assert_allclose(found[first], expected[first])
    assert (found >= expected - 1e-12).all()
    assert found.min() <= 0.02 < found.max()
