"""The interior-point method ends at the optimum, with exact zeros and a proof."""

import numpy as np
import pytest

from tamis.primal_dual._cones import ConeScaling, Points
from tamis.primal_dual._interior import can_walk_inside, interior
from tamis.primal_dual.training import make_problem, prepare
from tests.primal_dual.test_solver import Instance, centers, losses, weighted

balls = pytest.mark.parametrize("ball", ["l1", "l21"])


@losses
@balls
@centers
@weighted
@pytest.mark.parametrize("radius", [0.05, 0.7, 40.0], ids=["tiny", "usual", "loose"])
def test_the_interior_point_method_ends_at_the_optimum(loss, ball, adaptive, weighted, radius):
    instance = Instance(loss, ball, adaptive, weighted, radius=radius)
    *_, pair = interior(instance.problem, instance.start())
    instance.assert_certified(pair)
    assert pair.gap <= 1e-8 * instance.unit()


@losses
@balls
@pytest.mark.parametrize("shape", [(12, 40), (200, 3), (30, 1)], ids=["wide", "tall", "one"])
def test_any_shape_will_do(loss, ball, shape):
    instance = Instance(loss, ball, shape=shape, informative=min(3, shape[1]))
    *_, pair = interior(instance.problem, instance.start())
    instance.assert_certified(pair)
    assert pair.gap <= 1e-7 * instance.unit()


@losses
@balls
def test_nearly_collinear_features_do_no_harm(loss, ball):
    close = Instance(loss, ball, shape=(40, 6))
    X = np.repeat(close.X, 3, axis=1)
    X += 1e-6 * np.random.default_rng(0).normal(size=X.shape)
    close = _with_data(close, X)
    *_, pair = interior(close.problem, close.start())
    close.assert_certified(pair)
    assert pair.gap <= 1e-6 * close.unit()


def _with_data(instance, X):
    """The instance with other features."""
    instance.X = X
    instance.data = data = prepare(X, instance.codes, 3, instance.weights)
    instance.problem = make_problem(
        data,
        loss=instance.loss,
        huber_delta=0.25,
        ball=instance.ball,
        radius=instance.radius,
        rho=instance.rho,
    )
    instance.raw = (X, instance.codes, instance.weights, data.mean, data.scale, *instance.raw[5:])
    return instance


@losses
def test_few_entries_are_exactly_zero_or_not(loss):
    instance = Instance(loss, "l1", shape=(60, 12), radius=0.3)
    *_, pair = interior(instance.problem, instance.start())
    W = pair.primal.W
    assert 0 < np.count_nonzero(W) < W.size
    assert np.abs(W[W != 0]).min() > 1e-7


def test_a_few_rows_of_the_l21_ball_are_not_zero():
    instance = Instance("huber", "l21", shape=(60, 12), radius=0.3)
    *_, pair = interior(instance.problem, instance.start())
    sizes = np.linalg.norm(pair.primal.W, axis=1)
    assert 0 < np.count_nonzero(sizes) < 12
    assert sizes[sizes > 0].min() > 1e-7


def test_it_is_for_few_rows_in_the_l1_and_l21_balls():
    assert can_walk_inside(Instance("l1", "l1").problem)
    assert can_walk_inside(Instance("l1", "l21").problem)
    assert not can_walk_inside(Instance("l1", "nuclear").problem)
    assert not can_walk_inside(Instance("huber", "l1", shape=(20, 401)).problem)
    assert not can_walk_inside(Instance("huber", "l21", shape=(20, 1201)).problem)


# The cones.


def make_points(size, seed):
    rng = np.random.default_rng(seed)
    tail = rng.normal(size=(7, size))
    return Points(np.linalg.norm(tail, axis=1) + rng.uniform(0.01, 2.0, 7), tail)


def assert_equal(found, expected):
    np.testing.assert_allclose(found.head, expected.head, rtol=1e-9)
    np.testing.assert_allclose(found.tail, expected.tail, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [1, 3])
def test_the_scaling_maps_both_points_to_the_same(size):
    x, y, other = make_points(size, 0), make_points(size, 1), make_points(size, 2)
    scaling = ConeScaling(x, y)
    assert_equal(scaling.apply(y), scaling.apply_inverse(x))
    assert_equal(scaling.apply(scaling.apply(y)), x)
    assert_equal(scaling.apply_inverse(scaling.apply(other)), other)


def test_the_block_of_the_tails_is_solved():
    scaling = ConeScaling(make_points(3, 0), make_points(3, 1))
    tail = make_points(3, 2).tail
    twice = scaling.apply(scaling.apply(Points(np.zeros(7), tail))).tail
    np.testing.assert_allclose(scaling.solve_tail(twice), tail, rtol=1e-9)


def test_division_undoes_the_jordan_product():
    x, y = make_points(3, 0), make_points(3, 1)
    assert_equal(x.divide(x.jordan(y)), y)


def test_the_longest_step_ends_on_the_boundary():
    x, move = make_points(2, 0), make_points(2, 1)
    move = Points(-0.3 * move.head, move.tail)
    length = x.longest(move)
    room = [
        np.min(p.head - np.linalg.norm(p.tail, axis=1))
        for p in (x.plus(move, 0.999 * length), x.plus(move, length), x.plus(move, 1.001 * length))
    ]
    assert room[0] > 0
    assert room[1] == pytest.approx(0, abs=1e-12)
    assert room[2] < 0
    assert x.longest(make_points(2, 0)) == np.inf
