from math import fsum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tamis.projections import project_l1_ball, project_simplex
from tamis.projections.simplex import simplex_threshold
from tests.oracles import projections as oracles


@st.composite
def vectors(draw):
    size = draw(st.sampled_from([1, 2, 3, 5, 8, 50, 1001]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["coarse", "normal", "wild", "far"]))
    v = {
        "coarse": rng.integers(-2, 3, size).astype(float),
        "normal": rng.normal(size=size),
        "wild": rng.normal(size=size) * 10.0 ** rng.uniform(-9, 3, size),
        "far": 1e6 + rng.normal(size=size),
    }[kind]
    return v * draw(st.sampled_from([1.0, -1.0]))


radii = st.sampled_from([1e-9, 0.1, 1.0, 30.0, 1e5])


@settings(max_examples=150, deadline=None)
@given(v=vectors(), radius=radii)
def test_the_simplex_is_met_from_anywhere(v, radius):
    w = project_simplex(v, radius)
    assert w.min() >= 0
    assert abs(fsum(w) - radius) <= 2.3e-16 * radius
    assert_allclose(
        w, oracles.project_simplex(v, radius), rtol=0, atol=1e-12 * (radius + abs(v).max())
    )


@settings(max_examples=100, deadline=None)
@given(v=vectors(), radius=radii, seed=st.integers(0, 2**32 - 1))
def test_the_simplex_has_no_point_in_the_direction_of_the_input(v, radius, seed):
    p = project_simplex(v, radius)
    w = np.random.default_rng(seed).dirichlet(np.full(v.size, 0.3)) * radius
    scale = (np.abs(v).max() + radius) * radius
    assert (v - p) @ (w - p) <= 1e-13 * scale * v.size
    assert_allclose(project_simplex(p, radius), p, rtol=0, atol=1e-15 * radius)


@settings(max_examples=100, deadline=None)
@given(v=vectors(), fraction=st.sampled_from([1e-6, 0.01, 0.5, 0.99]))
def test_the_exact_norm_is_the_radius_to_one_unit(v, fraction):
    radius = fraction * fsum(abs(v))
    w = project_l1_ball(v, radius)
    assert abs(fsum(abs(w)) - radius) <= 2.3e-16 * radius


def test_float32_sums_as_float32_can():
    v = np.random.default_rng(0).normal(size=10_000).astype(np.float32)
    w = project_simplex(v, 3.0)
    assert w.dtype == np.float32
    assert fsum(w.tolist()) == pytest.approx(3.0, rel=1.2e-7)


@pytest.mark.parametrize("shape", [(), (12,), (3, 4), (2, 3, 2), (4, 1, 3)])
@pytest.mark.parametrize("project", [project_simplex, project_l1_ball])
def test_every_shape_is_one_vector(shape, project):
    v = np.random.default_rng(0).normal(size=shape) * 3
    w = project(v, 0.5)
    assert w.shape == shape
    assert_array_equal(np.ravel(w), project(np.ravel(v), 0.5))
    assert_array_equal(project(np.asfortranarray(v), 0.5), w)
    assert_allclose(project(np.transpose(v), 0.5), np.transpose(w), rtol=1e-14)


def test_ties_share_and_zeros_have_no_sign():
    w = project_l1_ball([2.0, -2.0, 1.0, -1.0, -0.0], 1.0)
    assert_array_equal(w, [0.5, -0.5, 0.0, 0.0, 0.0])
    assert not np.signbit(w[2:]).any()


def test_many_equal_entries_share_exactly():
    w = project_l1_ball(np.full(1000, 7.0), 1.0)
    assert_array_equal(w, np.full(1000, 1e-3))


def test_entries_that_differ_in_the_last_bits_are_told_apart():
    v = np.array([1.0, 1.0 - 2.0**-53, 0.5])
    assert_array_equal(project_l1_ball(v, 2.0**-52), [0.75 * 2.0**-52, 0.25 * 2.0**-52, 0.0])


def test_sums_that_overflow_do_not_matter():
    w = project_l1_ball([1.5e308, -1.5e308, 1e307], 1e308)
    assert_allclose(w, [5e307, -5e307, 0.0])
    assert_allclose(project_simplex([1.7e308, 1.7e308], 1.0), [0.5, 0.5])


def test_a_geometric_sequence_needs_no_more_than_its_length():
    v = 2.0 ** -np.arange(1000.0)
    w = project_simplex(v, 1e-3)
    assert_array_equal(np.flatnonzero(w), [0])


def test_the_simplex_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        project_simplex(np.empty(0), 1.0)
    assert project_simplex(np.empty(0), 0.0).size == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_the_simplex_refuses_what_is_not_finite(bad):
    with pytest.raises(ValueError, match="v must be finite"):
        project_simplex([1.0, bad])


def test_thresholds_bring_magnitudes_down_to_the_radius():
    magnitudes = np.abs(np.random.default_rng(0).normal(size=500))
    threshold = simplex_threshold(magnitudes, 4.0)
    assert np.maximum(magnitudes - threshold, 0).sum() == pytest.approx(4.0, rel=1e-12)
    assert simplex_threshold(magnitudes, 1e4) == 0.0
