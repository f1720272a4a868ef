"""Restarts: when anchored methods start again, and what they and accelerated gradients use."""

import numpy as np
import pytest

from tamis.primal_dual._restarts import Restarts, next_momentum


def steady(n_steps):
    """Restarts after so many steps with equal residuals, none of them a restart."""
    restarts = Restarts()
    # Many short stretches make a long one allowed.
    for _ in range(20 * n_steps):
        restarts.restarts_at(1.0)
        restarts.restarts_at(0.1)
    for _ in range(n_steps):
        assert not restarts.restarts_at(1.0)
    return restarts


def test_a_residual_that_has_dropped_enough_restarts():
    assert not steady(5).restarts_at(0.21)
    assert steady(5).restarts_at(0.2)


def test_a_residual_that_rises_restarts_once_it_has_dropped_a_little():
    falling = steady(5)
    assert not falling.restarts_at(0.5)
    assert not falling.restarts_at(0.4)
    assert falling.restarts_at(0.41)
    high = steady(5)
    assert not high.restarts_at(0.81)
    assert not high.restarts_at(0.82)


def test_a_long_stretch_restarts_whatever_the_residual():
    restarts = Restarts()
    found = [restarts.restarts_at(1.0) for _ in range(40)]
    assert not found[0]
    assert any(found)
    longest = max(np.diff(np.flatnonzero(found), append=40))
    assert longest <= 0.36 * 40 + 2


def test_the_first_residual_after_a_restart_is_the_new_measure():
    restarts = steady(5)
    assert restarts.restarts_at(0.1)
    assert restarts.n_steps == 0
    assert not restarts.restarts_at(0.1)
    assert not restarts.restarts_at(0.03)
    assert restarts.restarts_at(0.02)


def test_the_weight_of_the_anchor_falls_from_a_half():
    restarts = steady(1)
    weights = [restarts.anchor_weight]
    for _ in range(3):
        restarts.advance()
        weights.append(restarts.anchor_weight)
    assert weights == pytest.approx([1 / 2, 1 / 3, 1 / 4, 1 / 5])


def test_extrapolation_grows_from_nothing_and_starts_again():
    restarts = Restarts()
    found = []
    for _ in range(50):
        found.append(restarts.extrapolation)
        restarts.advance()
    assert found[0] == 0.0
    assert found == sorted(found)
    assert found[1] == pytest.approx((np.sqrt(5) - 1) / 2 / next_momentum((1 + np.sqrt(5)) / 2))
    assert 0.9 < found[-1] < 1.0
    restarts.restart()
    assert restarts.extrapolation == 0.0
