"""The interior-point method and the polish end at the optimum, with exact zeros and a proof."""

import numpy as np
import pytest

from tamis.primal_dual._interior import can_walk_inside, interior
from tamis.primal_dual._polish import polish
from tamis.primal_dual.training import make_problem, prepare
from tests.primal_dual.test_solver import Instance, centers, losses, weighted


@losses
@centers
@weighted
@pytest.mark.parametrize("radius", [0.05, 0.7, 40.0], ids=["tiny", "usual", "loose"])
def test_the_interior_point_method_ends_at_the_optimum(loss, adaptive, weighted, radius):
    instance = Instance(loss, "l1", adaptive, weighted, radius=radius)
    *_, pair = interior(instance.problem, instance.start())
    instance.assert_certified(pair)
    assert pair.gap <= 1e-8 * instance.unit()


@losses
@pytest.mark.parametrize("shape", [(12, 40), (200, 3), (30, 1)], ids=["wide", "tall", "one"])
def test_any_shape_will_do(loss, shape):
    instance = Instance(loss, "l1", shape=shape, informative=min(3, shape[1]))
    *_, pair = interior(instance.problem, instance.start())
    instance.assert_certified(pair)
    assert pair.gap <= 1e-7 * instance.unit()


@losses
def test_nearly_collinear_features_do_no_harm(loss):
    close = Instance(loss, "l1", shape=(40, 6))
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
        ball="l1",
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


@weighted
def test_polishing_the_right_active_set_gives_the_optimum(weighted):
    instance = Instance("l1", "l1", weighted=weighted, shape=(81, 10), n_classes=2, informative=2)
    *_, best = interior(instance.problem, instance.start())
    assert best.gap <= 1e-9 * instance.unit()
    # The same active set with wrong values, and no better pair to start from.
    R = instance.problem.residual(best.primal.mu, best.primal.XW)
    U = np.where(np.abs(R) < 1e-7, 0.5 * best.dual.U, np.sign(R))
    pair = polish(instance.problem, instance.start(), 0.5 * best.primal.W, best.primal.mu, U)
    instance.assert_certified(pair)
    assert pair.gap <= 1e-6 * instance.unit()


def test_polishing_a_wrong_active_set_changes_nothing_for_the_worse():
    instance = Instance("l1", "l1", shape=(60, 12))
    rng = np.random.default_rng(0)
    start = instance.start()
    for _ in range(20):
        W = np.where(rng.uniform(size=(12, 3)) < 0.3, rng.normal(size=(12, 3)), 0.0)
        U = np.where(rng.uniform(size=(60, 3)) < 0.8, np.sign(rng.normal(size=(60, 3))), 0.1)
        pair = polish(instance.problem, start, W, start.primal.mu, U)
        instance.assert_certified(pair)
        assert pair.primal.value <= start.primal.value
        assert pair.dual.value >= start.dual.value


def test_it_is_for_few_rows_in_the_l1_ball():
    assert can_walk_inside(Instance("l1", "l1").problem)
    assert not can_walk_inside(Instance("l1", "l21").problem)
    assert not can_walk_inside(Instance("huber", "l1", shape=(20, 401)).problem)
