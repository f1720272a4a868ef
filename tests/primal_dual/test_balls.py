import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis.primal_dual.balls import BALLS
from tests.oracles import primal_dual as oracle

balls = pytest.mark.parametrize("name", BALLS)
SHAPES = [(5, 3), (1, 4), (7, 1), (3, 6)]
shapes = pytest.mark.parametrize("shape", SHAPES)


def matrix(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def best_response(G, name):
    """The matrix of norm 1 that has the largest inner product with G, by hand."""
    W = np.zeros_like(G)
    if name == "l1":
        place = np.unravel_index(np.abs(G).argmax(), G.shape)
        W[place] = np.sign(G[place])
    elif name == "l21":
        row = np.linalg.norm(G, axis=1).argmax()
        W[row] = G[row] / np.linalg.norm(G[row])
    elif name == "l12":
        # one entry a row, in proportion to the row's largest
        rows, columns = np.arange(len(G)), np.abs(G).argmax(axis=1)
        W[rows, columns] = G[rows, columns]
        W /= np.linalg.norm(W)
    else:
        U, _, Vt = np.linalg.svd(G, full_matrices=False)
        W = np.outer(U[:, 0], Vt[0])
    return W


@balls
@shapes
def test_norms_are_those_of_their_definitions(name, shape):
    ball, W = BALLS[name](1.0), matrix(shape)
    assert ball.norm(W) == pytest.approx(oracle.norm(W, name), rel=1e-13)
    assert ball.dual_norm(W) == pytest.approx(oracle.dual_norm(W, name), rel=1e-7)
    assert ball.norm(np.zeros(shape)) == 0
    assert ball.dual_norm(np.zeros(shape)) == 0


@balls
@shapes
def test_dual_norm_is_the_largest_inner_product_over_the_ball(name, shape):
    ball, G, rng = BALLS[name](1.0), matrix(shape), np.random.default_rng(1)
    best = best_response(G, name)
    assert oracle.norm(best, name) == pytest.approx(1.0)
    assert np.vdot(best, G) == pytest.approx(ball.dual_norm(G), rel=1e-12)
    for _ in range(200):
        W = rng.normal(size=shape) * rng.integers(0, 2, size=shape)
        assert np.vdot(W, G) <= ball.dual_norm(G) * oracle.norm(W, name) + 1e-12


@balls
@pytest.mark.parametrize("size", [1e-150, 1e-30, 1e30, 1e150])
def test_dual_norm_neither_overflows_nor_vanishes(name, size):
    G = matrix((6, 3))
    assert BALLS[name](1.0).dual_norm(G * size) == pytest.approx(
        size * oracle.dual_norm(G, name), rel=1e-7, abs=0.0
    )


def test_spectral_norm_of_a_nearly_flat_matrix_is_never_too_small():
    # A dual norm below the true one would make a certificate that proves too much.
    G = np.outer(np.arange(1.0, 41.0), [1.0, -2.0, 0.5]) + 1e-9 * matrix((40, 3))
    true = np.linalg.svd(G, compute_uv=False)[0]
    assert BALLS["nuclear"](1.0).dual_norm(G) >= true * (1 - 1e-15)


@pytest.mark.parametrize("name", ["l1", "l12"])
def test_norms_of_no_rows_are_0(name):
    ball = BALLS[name](1.0)
    assert ball.norm(np.zeros((0, 3))) == 0
    assert ball.dual_norm(np.zeros((0, 3))) == 0


@pytest.mark.parametrize("name", ["l1", "l21"])
def test_the_dual_norm_is_the_largest_score_of_a_row(name):
    ball, G = BALLS[name](1.0), matrix((9, 3))
    scores = ball.row_scores(G)
    assert scores.shape == (9,)
    assert scores.max() == ball.dual_norm(G)
    assert_allclose(scores, [oracle.dual_norm(row[None], name) for row in G])


@balls
@pytest.mark.parametrize("radius", [1e-3, 0.8, 1e3])
def test_projections_are_in_the_ball_and_nearest(name, radius):
    ball, V = BALLS[name](radius), matrix((6, 3))
    W = ball.project(V)
    assert oracle.norm(W, name) <= radius * (1 + 1e-12)
    assert_allclose(W, oracle.PROJECTIONS[name](V, radius), rtol=1e-9, atol=1e-12)


def test_only_l1_and_l21_select_rows():
    chosen = [name for name, ball in BALLS.items() if ball.selects_rows]
    assert chosen == ["l1", "l21"]


def test_levels_count_what_a_ball_makes_few_of():
    W = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, -1.0]])
    levels = {name: ball(1.0).level(W) for name, ball in BALLS.items()}
    assert levels == {"l1": 2, "l21": 2, "l12": 3, "nuclear": 2}


# Faces.


def norm_along(ball, W, direction, t):
    return oracle.norm(W + t * direction, {v: k for k, v in BALLS.items()}[type(ball)])


@pytest.mark.parametrize("name", ["l1", "l21"])
@pytest.mark.parametrize("seed", range(3))
def test_derivatives_on_a_face_are_those_of_finite_differences(name, seed):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(6, 3))
    W[[1, 4]] = 0.0
    W[2, 1] = 0.0
    ball = BALLS[name](1.0)
    face = ball.face(W)
    assert not face.free[[1, 4]].any()
    assert not face.normal[~face.free].any()
    direction = np.where(face.free, rng.normal(size=W.shape), 0.0)
    step = 1e-4
    up, here, down = (norm_along(ball, W, direction, t) for t in (step, 0.0, -step))
    assert np.vdot(face.normal, direction) == pytest.approx((up - down) / (2 * step), rel=1e-6)
    rows = direction[face.free.any(axis=1)]
    curvature = np.zeros((len(rows), 3, 3)) if face.curvature is None else face.curvature
    second = np.einsum("rij,ri,rj->", curvature, rows, rows)
    assert second == pytest.approx((up - 2 * here + down) / step**2, rel=1e-4, abs=1e-5)


def test_l1_faces_keep_zeros_at_zero():
    W = np.array([[1.0, 0.0], [-2.0, 3.0]])
    assert_array_equal(BALLS["l1"](1.0).face(W).free, W != 0)


@pytest.mark.parametrize("name", ["l12", "nuclear"])
def test_other_balls_know_no_face(name):
    assert BALLS[name](1.0).face(matrix((4, 3))) is None


def test_keeping_the_face_drops_entries_of_other_sign():
    kept = BALLS["l1"](1.0).keep_face(np.array([[1.0, -2.0, 3.0]]), np.array([[1.0, 2.0, 0.0]]))
    assert_array_equal(kept, [[1.0, 0.0, 3.0]])


def test_keeping_the_face_drops_rows_that_have_turned_back():
    old = np.array([[1.0, 0.0], [1.0, 1.0]])
    kept = BALLS["l21"](1.0).keep_face(np.array([[0.1, 5.0], [-2.0, 1.0]]), old)
    assert_array_equal(kept, [[0.1, 5.0], [0.0, 0.0]])
