import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar

from tamis.primal_dual.losses import make_loss
from tests.oracles.primal_dual import loss_at

LOSSES = [("l1", 0.25), ("huber", 0.25), ("huber", 1e-3), ("huber", 7.0), ("frobenius", 0.25)]
losses = pytest.mark.parametrize(("name", "delta"), LOSSES)
smooth = pytest.mark.parametrize(("name", "delta"), LOSSES[1:])

ONE = np.ones(1)


def value(loss, t):
    return loss.value(np.array([[t]]), ONE)


def conjugate(loss, u):
    return loss.conjugate(np.array([[u]]), ONE)


def residuals(seed=0, shape=(6, 3)):
    return np.random.default_rng(seed).normal(size=shape)


@losses
def test_value_is_the_weighted_sum_over_all_entries(name, delta):
    R, weights = residuals(), np.array([1.0, 2.0, 0.5, 3.0, 1.0, 1e-3])
    by_hand = sum(weights[i] * loss_at(R[i, j], name, delta) for i in range(6) for j in range(3))
    assert make_loss(name, delta).value(R, weights) == pytest.approx(by_hand, rel=1e-13)


@losses
def test_conjugate_is_the_largest_difference_of_a_line_and_the_loss(name, delta):
    loss = make_loss(name, delta)
    for u in [-1.0, -0.7, 0.0, 0.3, 1.0]:
        found = minimize_scalar(
            lambda t, u=u: loss_at(t, name, delta) - u * t,
            bounds=(-20.0, 20.0),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert conjugate(loss, u) == pytest.approx(-min(found.fun, 0.0), abs=1e-8)


@losses
def test_conjugate_is_weighted_by_rows(name, delta):
    loss, U, weights = make_loss(name, delta), 0.3 * residuals(1), np.arange(1.0, 7.0)
    by_hand = sum(weights[i] * conjugate(loss, U[i, j]) for i in range(6) for j in range(3))
    assert loss.conjugate(U, weights) == pytest.approx(by_hand, rel=1e-13)


@losses
def test_no_pair_beats_the_inequality_of_fenchel_and_young(name, delta):
    loss, rng = make_loss(name, delta), np.random.default_rng(2)
    for t, u in zip(rng.normal(size=200) * 3, rng.uniform(-1, 1, 200), strict=True):
        assert value(loss, t) + conjugate(loss, u) >= t * u - 1e-13


@smooth
def test_a_residual_and_its_gradient_attain_the_inequality(name, delta):
    loss = make_loss(name, delta)
    for t in [-9.0, -delta, -0.1, 0.0, 1e-4, delta, 3.0]:
        u = loss.gradient(np.array([[t]]))[0, 0]
        assert value(loss, t) + conjugate(loss, u) == pytest.approx(t * u, abs=1e-13)


@smooth
def test_gradient_is_the_derivative(name, delta):
    loss, step = make_loss(name, delta), 1e-6
    for t in [-9.0, -0.3 * delta, 0.4 * delta, 1.2 * delta, 20.0]:
        slope = (loss_at(t + step, name, delta) - loss_at(t - step, name, delta)) / (2 * step)
        assert loss.gradient(np.array([t]))[0] == pytest.approx(slope, rel=1e-5)


@smooth
def test_second_derivative_is_that_of_the_zone(name, delta):
    loss, step = make_loss(name, delta), 1e-3 * delta
    for t in [-9.0, -0.3 * delta, 0.4 * delta, 1.2 * delta, 20.0]:
        slopes = loss.gradient(np.array([t - step, t + step]))
        second = loss.is_quadratic(np.array([t]))[0] / loss.curvature
        assert second == pytest.approx((slopes[1] - slopes[0]) / (2 * step), rel=1e-6, abs=1e-9)


@losses
@pytest.mark.parametrize("step", [1e-2, 0.7, 30.0])
def test_prox_minimises_by_definition(name, delta, step):
    loss = make_loss(name, delta)
    for v in [-4.0, -0.2, 0.0, 0.011, 0.9, 35.0]:
        found = minimize_scalar(
            lambda t, v=v: step * loss_at(t, name, delta) + (t - v) ** 2 / 2,
            bounds=(-50.0, 50.0),
            method="bounded",
            options={"xatol": 1e-11},
        )
        mine = loss.prox(np.array([v]), step)[0]
        cost = step * loss_at(mine, name, delta) + (mine - v) ** 2 / 2
        assert cost <= found.fun + 1e-12 * (1 + abs(found.fun))


@losses
@pytest.mark.parametrize("step", [1e-2, 0.7, 30.0])
def test_prox_of_the_conjugate_minimises_by_definition(name, delta, step):
    loss = make_loss(name, delta)
    edge = min(loss.bound, 50.0)
    for v in [-4.0, -0.2, 0.0, 0.9, 35.0]:
        found = minimize_scalar(
            lambda u, v=v: step * conjugate(loss, u) + (u - v) ** 2 / 2,
            bounds=(-edge, edge),
            method="bounded",
            options={"xatol": 1e-11},
        )
        mine = loss.prox_conjugate(np.array([v]), step)[0]
        assert abs(mine) <= loss.bound
        assert step * conjugate(loss, mine) + (mine - v) ** 2 / 2 <= found.fun + 1e-9


def test_the_gradient_of_l1_is_a_subgradient():
    loss = make_loss("l1", 0.25)
    assert_array_equal(loss.gradient(np.array([-2.0, 0.0, 1e-9])), [-1.0, 0.0, 1.0])


def test_huber_with_delta_0_is_l1():
    assert type(make_loss("huber", 0)) is type(make_loss("l1", 0.25))
    assert type(make_loss("huber", 0.0)) is type(make_loss("l1", 0.25))


def test_huber_comes_to_l1_as_delta_goes_to_0():
    R, weights = residuals(3), np.ones(6)
    assert make_loss("huber", 1e-12).value(R, weights) == pytest.approx(np.abs(R).sum())


def test_only_frobenius_measures_distances_in_l2():
    assert [make_loss(n, 0.25).euclidean for n in ("l1", "huber", "frobenius")] == [0, 0, 1]


@losses
def test_losses_leave_their_arguments_alone(name, delta):
    loss, R, weights = make_loss(name, delta), residuals(4), np.ones(6)
    before = R.copy()
    loss.value(R, weights), loss.conjugate(0.1 * R, weights)
    loss.prox(R, 0.5), loss.prox_conjugate(R, 0.5)
    assert_array_equal(R, before)
    assert_allclose(loss.value(-R, weights), loss.value(R, weights))
