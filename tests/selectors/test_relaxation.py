import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import entr, rel_entr

from tamis.selectors.relaxation import relax
from tests.quick import few_quick


def relaxed_gain(f, z):
    """The concave gain at any z, from its definition."""
    purity = -rel_entr(f.sum(axis=0), 1.0) + rel_entr(f, 1.0).sum(axis=0)
    v = f @ z
    return purity @ z + v.sum() * entr(v / v.sum()).sum()


def purity(f):
    return rel_entr(f, 1.0).sum(axis=0) - rel_entr(f.sum(axis=0), 1.0)


@few_quick("n_classes, k, spread", [2, 3, 7, 50], [1, 4, 30, 199], [0, 3])
def test_bound_is_reached_by_a_relaxed_support(n_classes, k, spread):
    rng = np.random.default_rng(0)
    f = rng.poisson(rng.exponential(size=(n_classes, 200)) ** spread * 5).astype(float)
    relaxed = relax(f, purity(f), k, np.zeros(n_classes), 0.0)
    z = relaxed.fractions
    assert z.min() >= 0
    assert z.max() <= 1 + 1e-12
    assert_allclose(z.sum(), k)
    assert_allclose(relaxed_gain(f, z), relaxed.bound, rtol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_fixed_features_are_counted_in_the_bound(n_classes):
    rng = np.random.default_rng(1)
    f = rng.poisson(rng.exponential(size=(n_classes, 40)) ** 2 * 5).astype(float)
    relaxed = relax(f[:, 3:], purity(f)[3:], 6, f[:, :3].sum(axis=1), purity(f)[:3].sum())
    z = np.r_[1.0, 1.0, 1.0, relaxed.fractions]
    assert_allclose(relaxed_gain(f, z), relaxed.bound, rtol=1e-10)


def test_supports_on_the_way_have_k_features():
    f = np.random.default_rng(2).poisson(3.0, size=(4, 50)).astype(float)
    relaxed = relax(f, purity(f), 7, np.zeros(4), 0.0)
    assert len(relaxed.supports) > 2
    assert {len(set(support)) for support in map(tuple, relaxed.supports)} == {7}


def test_equal_columns_do_not_upset_the_mixture():
    f = np.tile(np.random.default_rng(3).poisson(2.0, size=(3, 4)), 5).astype(float)
    for k in range(1, 21):
        relaxed = relax(f, purity(f), k, np.zeros(3), 0.0)
        assert_allclose(relaxed_gain(f, relaxed.fractions), relaxed.bound, rtol=1e-9, atol=1e-9)
