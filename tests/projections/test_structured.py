"""What is special to the weighted, l2,1, l1,2 and nuclear balls."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg

from tamis.projections import (
    nuclear,
    project_l1_ball,
    project_l12_ball,
    project_l21_ball,
    project_nuclear_ball,
    project_weighted_l1_ball,
)
from tamis.projections.l12 import l12_multiplier, sorted_rows
from tests.oracles import projections as oracles
from tests.projections.balls import l12_norm, nuclear_norm


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def test_equal_weights_give_the_l1_ball():
    v = normal(200)
    w = project_weighted_l1_ball(v, np.full(200, 2.5), 2.5 * 4.0)
    assert_allclose(w, project_l1_ball(v, 4.0), rtol=0, atol=1e-15)


@pytest.mark.parametrize("scale", [1e-200, 1e200, 1e-300])
def test_weights_of_any_size_scale_with_the_radius(scale):
    v, weights = normal(30), np.linspace(0.1, 3, 30)
    w = project_weighted_l1_ball(v, weights, 2.0)
    assert_allclose(project_weighted_l1_ball(v, weights * scale, 2.0 * scale), w, atol=1e-15)


def test_weights_may_differ_by_many_orders():
    v, weights = np.array([1.0, 1e3, -5.0]), np.array([1.0, 1e-100, 1e40])
    w = project_weighted_l1_ball(v, weights, 0.25)
    assert_allclose(w, [0.25, 1e3, 0.0], rtol=1e-15)


def test_weights_follow_the_layout_of_the_entries():
    V, weights = normal(4, 3), np.linspace(0.1, 3, 12).reshape(4, 3)
    W = project_weighted_l1_ball(V, weights, 1.0)
    for v in (V, np.asfortranarray(V)):
        for w in (weights, np.asfortranarray(weights)):
            assert_array_equal(project_weighted_l1_ball(v, w, 1.0), W)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 0.0], r"weights must be > 0, got 0\.0"),
        ([1.0, -2.0], r"weights must be > 0, got -2\.0"),
        ([1.0, np.nan], "weights must be finite"),
        ([1.0], r"weights must have the shape of v, \(2,\), got \(1,\)"),
        ([1e200, 1.0], "within a factor of 1e"),
    ],
)
def test_weights_that_make_no_ball_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        project_weighted_l1_ball([1.0, 2.0], weights, 1.0)


def test_one_column_gives_the_l1_ball_and_one_row_the_l2_ball():
    v = normal(50)
    column = project_l21_ball(v[:, None], 3.0)[:, 0]
    assert_allclose(column, project_l1_ball(v, 3.0), rtol=0, atol=1e-15)
    row = project_l21_ball(v[None, :], 3.0)[0]
    assert_allclose(row, 3.0 * v / np.linalg.norm(v), rtol=1e-14)


def test_rows_leave_whole_and_exactly():
    W = project_l21_ball(normal(300, 5), 10.0)
    zero = (W == 0).all(axis=1)
    assert 0 < zero.sum() < 300
    assert (W[~zero] != 0).all()


def test_long_rows_are_as_exact():
    W = project_l21_ball(normal(3, 20_000), 1.0)
    norms = [np.sqrt(np.sum(row.astype(np.longdouble) ** 2)) for row in W]
    assert float(sum(norms)) == pytest.approx(1.0, abs=9e-16)


def test_one_row_gives_the_l1_ball_and_one_column_the_l2_ball():
    v = normal(50)
    row = project_l12_ball(v[None, :], 3.0)[0]
    assert_allclose(row, project_l1_ball(v, 3.0), rtol=0, atol=1e-14)
    column = project_l12_ball(v[:, None], 3.0)[:, 0]
    assert_allclose(column, 3.0 * v / np.linalg.norm(v), rtol=1e-14)


@pytest.mark.parametrize("n_columns", [16, 17, 40])
def test_short_and_long_rows_are_sorted_alike(n_columns):
    V = normal(6, n_columns)
    expected = oracles.project_l12_ball(V, 2.0)
    assert_allclose(project_l12_ball(V, 2.0), expected, rtol=0, atol=1e-14)
    ordered, _, _ = sorted_rows(V.astype(np.float32))
    assert ordered.dtype == np.float64
    assert_array_equal(ordered, -np.sort(-np.abs(V.astype(np.float32)), axis=1))


@pytest.mark.parametrize("power", [1, 5])
@pytest.mark.parametrize("fraction", [0.99, 0.5, 0.1, 1e-3, 1e-9])
def test_few_newton_steps_are_enough(power, fraction):
    V = normal(2000, 9) ** power
    radius = fraction * l12_norm(V)
    _, sums, ends = sorted_rows(V)
    _, n_steps = l12_multiplier(sums, ends, radius)
    assert n_steps <= 7
    assert l12_norm(project_l12_ball(V, radius)) == pytest.approx(radius, rel=9e-16)


def test_a_radius_of_any_size_finds_the_ties_of_every_row():
    V = np.array([[2.0, 2.0, 1.0], [4.0, -1.0, -4.0]])
    for radius in (1e-16, 1e-150, 1e-290):
        W = project_l12_ball(V, radius) / radius
        shares = np.array([[1, 1, 0], [2, 0, -2]]) / np.sqrt(20)
        assert_allclose(W, shares, rtol=1e-14)


def test_equal_entries_stay_together_whatever_the_radius():
    # Sums such as 0.1 + ... + 0.1 are not 10 * 0.1: both signs of the difference occur.
    V = np.repeat(np.random.default_rng(0).random((20, 1)), 10, axis=1)
    for radius in (0.1, 1e-10, 1e-25, 1e-200):
        W = project_l12_ball(V, radius)
        assert_allclose(W / radius, V / l12_norm(V), rtol=1e-14)


def test_a_multiplier_beyond_all_floats_is_not_needed():
    W = project_l12_ball([[1e100, 9e99], [-1e100, 0.0]], 1e-250)
    assert_allclose(W * 1e250, np.array([[1, 0], [-1, 0]]) / np.sqrt(2), rtol=1e-14)


def with_singular_values(n_rows, values, seed=0):
    U = linalg.qr(normal(n_rows, len(values), seed=seed), mode="economic")[0]
    Q = linalg.qr(normal(len(values), len(values), seed=seed + 1))[0]
    return (U * values) @ Q


@pytest.mark.parametrize("spread", [0, 2, 5, 9])
@pytest.mark.parametrize("level", [0.5, 1e-2, 0.9e-2, 1e-5])
@pytest.mark.parametrize("n_rows", [8, 300])
def test_small_singular_values_come_out_right(spread, level, n_rows):
    values = np.logspace(0, -spread, 7)
    V = with_singular_values(n_rows, values)
    radius = float(np.maximum(values - level, 0).sum())
    for A in (V, V.T):
        W = project_nuclear_ball(A, radius)
        assert_allclose(W, oracles.project_nuclear_ball(A, radius), rtol=0, atol=5e-15)
        assert nuclear_norm(W) == pytest.approx(radius, rel=1e-14)


@pytest.mark.parametrize("tall", [2, 10**9])
def test_gram_matrix_and_decomposition_agree(monkeypatch, tall):
    monkeypatch.setattr(nuclear, "_TALL", tall)
    V = normal(200, 6)
    expected = oracles.project_nuclear_ball(V, 20.0)
    assert_allclose(project_nuclear_ball(V, 20.0), expected, rtol=0, atol=1e-14)


def test_the_rank_falls_with_the_radius():
    V = with_singular_values(100, [5.0, 4.0, 1.0, 0.5])
    assert np.linalg.matrix_rank(project_nuclear_ball(V, 3.0)) == 2
    assert np.linalg.matrix_rank(project_nuclear_ball(V, 0.9)) == 1


def test_a_decomposition_that_gives_up_is_tried_another_way(monkeypatch):
    svd = linalg.svd

    def moody(*args, lapack_driver="gesdd", **kwargs):
        if lapack_driver == "gesdd":
            raise linalg.LinAlgError("SVD did not converge")
        return svd(*args, lapack_driver=lapack_driver, **kwargs)

    V = normal(5, 4)
    expected = project_nuclear_ball(V, 1.0)
    monkeypatch.setattr(nuclear.linalg, "svd", moody)
    assert_allclose(project_nuclear_ball(V, 1.0), expected, rtol=0, atol=1e-14)


def test_projecting_tall_matrices_twice_changes_nothing():
    rng = np.random.default_rng(0)
    for _ in range(3000):
        V = rng.normal(size=(9, 3)) * 10.0 ** rng.uniform(-2, 0, 3)
        radius = rng.choice([0.1, 0.5, 0.9]) * nuclear_norm(V)
        W = project_nuclear_ball(V, radius)
        assert_array_equal(project_nuclear_ball(W, radius), W)
