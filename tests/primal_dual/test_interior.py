"""The interior-point method ends at the optimum, with exact zeros and a proof."""

import numpy as np
import pytest

from tamis.primal_dual._interior import can_walk_inside, interior
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


def test_it_is_for_few_rows_in_the_l1_ball():
    assert can_walk_inside(Instance("l1", "l1").problem)
    assert not can_walk_inside(Instance("l1", "l21").problem)
    assert not can_walk_inside(Instance("huber", "l1", shape=(20, 401)).problem)
