"""The same problems, handed to a general solver."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tamis import projections

cvxpy = pytest.importorskip("cvxpy", reason="cvxpy is not installed: pip install cvxpy")

WEIGHTS = np.arange(1.0, 13.0).reshape(4, 3) / 6


def nearest(V, constraints):
    W = cvxpy.Variable(V.shape)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(W - V)), constraints(W))
    problem.solve(solver=cvxpy.CLARABEL)
    return W.value


CASES = {
    "simplex": (
        projections.project_simplex,
        lambda r: lambda W: [W >= 0, cvxpy.sum(W) == r],
    ),
    "l1": (
        projections.project_l1_ball,
        lambda r: lambda W: [cvxpy.sum(cvxpy.abs(W)) <= r],
    ),
    "weighted l1": (
        lambda V, r: projections.project_weighted_l1_ball(V, WEIGHTS, r),
        lambda r: lambda W: [cvxpy.sum(cvxpy.multiply(WEIGHTS, cvxpy.abs(W))) <= r],
    ),
    "l2,1": (
        projections.project_l21_ball,
        lambda r: lambda W: [cvxpy.sum(cvxpy.norm(W, 2, axis=1)) <= r],
    ),
    "l1,2": (
        projections.project_l12_ball,
        lambda r: lambda W: [cvxpy.norm(cvxpy.norm(W, 1, axis=1), 2) <= r],
    ),
    "nuclear": (
        projections.project_nuclear_ball,
        lambda r: lambda W: [cvxpy.normNuc(W) <= r],
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("radius", [0.2, 1.0, 2.5])
def test_a_general_solver_finds_the_same_point(name, radius):
    project, constraints = CASES[name]
    V = np.random.default_rng(0).normal(size=(4, 3))
    assert_allclose(project(V, radius), nearest(V, constraints(radius)), rtol=0, atol=1e-4)
