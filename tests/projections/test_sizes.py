import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis.projections import (
    project_l1_ball,
    project_l12_ball,
    project_l21_ball,
    project_nuclear_ball,
    project_simplex,
    project_weighted_l1_ball,
)


def project_weighted(v, radius):
    return project_weighted_l1_ball(v, np.linspace(0.5, 3.0, v.size).reshape(v.shape), radius)


SMALL = {"l1": project_l1_ball, "simplex": project_simplex}
OTHERS = {
    "weighted l1": project_weighted,
    "l2,1": project_l21_ball,
    "l1,2": project_l12_ball,
    "nuclear": project_nuclear_ball,
}
CASES = [
    pytest.param(project, id=name, marks=[] if name in SMALL else pytest.mark.slow)
    for name, project in {**SMALL, **OTHERS}.items()
]


@pytest.mark.parametrize("project", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numpy_and_kernels_agree(project, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    for shape in ((30, 4), (4, 30), (1, 1), (300, 2)):
        V = rng.normal(size=shape).astype(dtype)
        V[rng.random(shape) < 0.2] = 0.5  # ties
        for radius in (1e-6, 0.1, 2.0, 0.9 * float(np.abs(V).sum()), 1e6):
            monkeypatch.setattr("tamis.projections._sums.LARGE", 1 << 16)
            small = project(V, radius)
            monkeypatch.setattr("tamis.projections._sums.LARGE", 0)
            large = project(V, radius)
            assert small.dtype == large.dtype == dtype
            assert_array_equal(small == 0, large == 0)
            assert_array_equal(np.signbit(small), np.signbit(large))
            rtol = 1e-10 if dtype == np.float64 else 1e-6
            assert_allclose(small, large, rtol=rtol, atol=1e-15 * radius)


@pytest.mark.parametrize("project", [*SMALL.values(), *OTHERS.values()])
def test_small_arrays_need_no_compiled_code(project, monkeypatch):
    monkeypatch.setattr("tamis._compile.Kernel.__call__", None)
    V = np.random.default_rng(0).normal(size=(500, 5))
    assert np.abs(project(V, 3.0)).sum() > 0
