"""What makes a function the projection on a ball, for every ball, float type and many shapes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.projections.balls import BALLS, EPSILON

SHAPES = [(1, 1), (1, 6), (6, 1), (2, 2), (7, 3), (3, 7), (20, 4), (5, 18)]
every_ball = pytest.mark.parametrize("ball", BALLS, ids=str)
quick = settings(max_examples=40, deadline=None)


@st.composite
def matrices(draw):
    """Coarse values have ties and zeros; the others vary over many orders of magnitude."""
    shape = draw(st.sampled_from(SHAPES))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["coarse", "normal", "wild", "equal rows"]))
    V = {
        "coarse": rng.integers(-2, 3, shape).astype(float),
        "normal": rng.normal(size=shape),
        "wild": rng.normal(size=shape) * 10.0 ** rng.uniform(-4, 1, shape),
        "equal rows": np.repeat(rng.integers(-3, 4, (1, shape[1])), shape[0], axis=0) / 2,
    }[kind]
    return V.astype(draw(st.sampled_from([np.float32, np.float64])))


fractions = st.sampled_from([1e-8, 1e-3, 0.1, 0.5, 0.9, 0.999])


def tolerance(ball, V):
    """Of entries: the largest of the input times a few units in the last place."""
    return ball.units * EPSILON[V.dtype.type] * (1 + np.abs(V).max())


@every_ball
@quick
@given(V=matrices(), fraction=fractions)
def test_it_agrees_with_the_oracle(ball, V, fraction):
    radius = fraction * ball.norm(V)
    W = ball.project(V, radius)
    assert W.dtype == V.dtype
    assert_allclose(W, ball.oracle(V, radius), rtol=0, atol=tolerance(ball, V) + 1e-14)


@every_ball
@quick
@given(V=matrices(), factor=st.sampled_from([1.0, 1.5, 1e6]))
def test_a_point_inside_is_returned_as_a_copy(ball, V, factor):
    W = ball.project(V, factor * ball.norm(V))
    assert_array_equal(W, V)
    assert not np.shares_memory(W, V)


@every_ball
@quick
@given(V=matrices(), fraction=fractions)
def test_a_point_from_outside_lands_on_the_sphere(ball, V, fraction):
    radius = fraction * ball.norm(V)
    norm = ball.norm(ball.project(V, radius))
    assert abs(norm - radius) <= ball.units * EPSILON[V.dtype.type] * radius


@every_ball
@quick
@given(V=matrices(), fraction=fractions)
def test_projecting_twice_changes_nothing(ball, V, fraction):
    radius = fraction * ball.norm(V)
    W = ball.project(V, radius)
    assert_array_equal(ball.project(W, radius), W)


@every_ball
@quick
@given(V=matrices(), fraction=fractions, seed=st.integers(0, 2**32 - 1))
def test_projections_of_two_points_are_no_further_apart(ball, V, fraction, seed):
    other = (V + np.random.default_rng(seed).normal(size=V.shape)).astype(V.dtype)
    radius = fraction * ball.norm(V)
    apart = np.linalg.norm(ball.project(V, radius) - ball.project(other, radius))
    scale = max(np.linalg.norm(V), np.linalg.norm(other))
    slack = ball.units * EPSILON[V.dtype.type] * scale
    assert apart <= np.linalg.norm(V - other) + slack


@every_ball
@quick
@given(V=matrices(), fraction=fractions, seed=st.integers(0, 2**32 - 1))
def test_no_point_of_the_ball_is_in_the_direction_of_the_input(ball, V, fraction, seed):
    radius = fraction * ball.norm(V)
    P = ball.project(V, radius).astype(float)
    rng = np.random.default_rng(seed)
    slack = 2 * tolerance(ball, V) * (radius * V.size + np.abs(V).max())
    for sparsity in (0.0, 0.5, 0.9):
        W = rng.normal(size=V.shape) * (rng.random(V.shape) >= sparsity)
        W *= radius / max(ball.norm(W), 1e-300)
        for point in (W, P + 0.1 * (W - P), ball.project(P + W, radius)):
            assert ((V - P) * (point - P)).sum() <= slack


@every_ball
@quick
@given(V=matrices(), fraction=fractions)
def test_it_is_odd(ball, V, fraction):
    radius = fraction * ball.norm(V)
    W = ball.project(V, radius)
    assert_allclose(ball.project(-V, radius), -W, rtol=0, atol=tolerance(ball, V))


@pytest.mark.parametrize("ball", [b for b in BALLS if b.name != "weighted l1"], ids=str)
@quick
@given(V=matrices(), fraction=fractions, seed=st.integers(0, 2**32 - 1))
def test_it_follows_permutations_of_rows_and_columns(ball, V, fraction, seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(V.shape[0]), rng.permutation(V.shape[1])
    radius = fraction * ball.norm(V)
    W = ball.project(V, radius)
    moved = ball.project(V[rows][:, columns], radius)
    assert_allclose(moved, W[rows][:, columns], rtol=0, atol=tolerance(ball, V))


@every_ball
@pytest.mark.parametrize("scale", [1e150, 1e-150, 1e300, 1e-300])
def test_huge_and_tiny_matrices_scale(ball, scale):
    V = np.random.default_rng(0).normal(size=(6, 4))
    radius = 0.3 * ball.norm(V)
    W = ball.project(V, radius)
    scaled = ball.project(V * scale, radius * scale) / scale
    assert_allclose(scaled, W, rtol=0, atol=1e-14)
    assert_array_equal(ball.project(V * scale, 10 * ball.norm(V) * scale), V * scale)


@every_ball
@pytest.mark.parametrize("large", [1e150, 1e300])
def test_the_smallest_entries_survive_inside_whatever_the_largest(ball, large):
    V = np.array([[large, 1e-290], [-1e-200, 1.0]])
    assert_array_equal(ball.project(V, large * 100), V)


@every_ball
def test_a_radius_far_below_the_entries_is_met(ball):
    V = np.array([[3.0, 1.0, 3.0], [-3.0, 2.0, 0.5]])
    for radius in (1e-20, 1e-30):
        norm = ball.norm(ball.project(V, radius))
        assert norm == pytest.approx(radius, rel=1e-14)


@every_ball
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_empty_matrices_stay_empty(ball, shape):
    for radius in (0.0, 1.0):
        assert ball.project(np.empty(shape), radius).shape == shape


@every_ball
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_radius_zero_gives_zeros(ball, dtype):
    V = np.array([[1, -2], [0, 3], [0, 0]], dtype=dtype)
    W = ball.project(V, 0)
    assert W.dtype == dtype
    assert_array_equal(W, np.zeros((3, 2)))


@every_ball
def test_zeros_stay_zeros(ball):
    for radius in (0.0, 1.0):
        assert_array_equal(ball.project(np.zeros((3, 2)), radius), np.zeros((3, 2)))


@every_ball
def test_layout_does_not_matter_and_the_input_is_left_alone(ball):
    V = np.random.default_rng(0).normal(size=(8, 5))
    W = ball.project(V, 1.0)
    read_only = V.copy()
    read_only.flags.writeable = False
    wide = np.zeros((16, 15))
    wide[::2, ::3] = V
    for other in (np.asfortranarray(V), read_only, wide[::2, ::3], V[::-1][::-1], V.tolist()):
        assert_allclose(ball.project(other, 1.0), W, rtol=0, atol=1e-15)
        assert_array_equal(other, V)


@every_ball
def test_integers_become_float64(ball):
    V = np.array([[3, -1], [0, 2]])
    W = ball.project(V, 2)
    assert W.dtype == np.float64
    assert_array_equal(W, ball.project(V.astype(float), 2.0))


@every_ball
@pytest.mark.parametrize("radius", [-1.0, np.nan, np.inf])
def test_a_radius_that_is_none_is_refused(ball, radius):
    with pytest.raises(ValueError, match=r"radius must be a finite number >= 0, got"):
        ball.project(np.ones((2, 2)), radius)


@every_ball
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("radius", [0.0, 1.0, 1e9])
def test_entries_that_are_not_finite_are_refused(ball, bad, radius):
    V = np.ones((3, 2))
    V[2, 1] = bad
    with pytest.raises(ValueError, match=rf"must be finite, got {bad} at index \(2, 1\)"):
        ball.project(V, radius)


@every_ball
def test_entries_that_are_not_real_are_refused(ball):
    with pytest.raises(ValueError, match="real numbers, got dtype complex128"):
        ball.project(np.ones((2, 2), dtype=complex), 1.0)


@pytest.mark.parametrize("ball", BALLS[2:], ids=str)
def test_matrix_balls_ask_for_a_matrix(ball):
    with pytest.raises(ValueError, match=r"2 dimensions, got shape \(3,\).*Reshape"):
        ball.project(np.ones(3), 1.0)
