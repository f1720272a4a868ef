from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tamis.primal_dual._descent import descent
from tamis.primal_dual._fista import fista
from tamis.primal_dual._newton import newton_step
from tamis.primal_dual._pdhg import pdhg
from tamis.primal_dual._splitting import splitting
from tamis.primal_dual.paper import algorithm_1
from tamis.primal_dual.problem import Pair
from tamis.primal_dual.solver import resume, solve
from tamis.primal_dual.training import make_problem, prepare
from tests.oracles import primal_dual as oracle

LOSSES = ["huber", "l1", "frobenius"]
BALLS = ["l1", "l21", "l12", "nuclear"]
DELTA = 0.25
losses = pytest.mark.parametrize("loss", LOSSES)
balls = pytest.mark.parametrize("ball", BALLS)
centers = pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "fixed"])
weighted = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


class Instance:
    """A small problem for the package and for the oracle."""

    def __init__(
        self,
        loss,
        ball,
        adaptive=True,
        weighted=False,
        radius=0.7,
        shape=(24, 6),
        seed=0,
        n_classes=3,
        informative=3,
    ):
        rng = np.random.default_rng(seed)
        n, d = shape
        self.codes = np.arange(n) % n_classes
        self.X = rng.normal(size=shape)
        self.X[:, :informative] += 1.5 * (self.codes[:, None] == np.arange(informative))
        self.weights = rng.uniform(0.2, 3.0, n) if weighted else np.ones(n)
        self.data = prepare(self.X, self.codes, n_classes, self.weights)
        self.rho = 2.0 * self.weights.sum() / n_classes if adaptive else None
        self.loss, self.ball, self.radius = loss, ball, radius
        self.problem = make_problem(
            self.data, loss=loss, huber_delta=DELTA, ball=ball, radius=radius, rho=self.rho
        )
        d = self.data
        self.raw = (self.X, self.codes, self.weights, d.mean, d.scale, self.rho, loss, DELTA)

    def optimum(self):
        return oracle.cvxpy_optimum(*self.raw, self.ball, self.radius)

    def unit(self):
        k = self.data.n_classes
        return oracle.empty_objective(self.codes, self.weights, k, self.rho, self.loss, DELTA)

    def objective(self, pair):
        """Objective of a pair, by the oracle; the point must be admissible."""
        W, mu = pair.primal.W, pair.primal.mu
        assert oracle.is_primal_feasible(W, mu, self.ball, self.radius, self.rho)
        return oracle.objective(*self.raw, W, mu)

    def dual_objective(self, pair):
        """Dual objective of a pair, by the oracle; the point must be admissible."""
        bound = np.inf if self.loss == "frobenius" else 1.0
        U = np.clip(pair.dual.factor * pair.dual.U, -bound, bound)
        Z = self.weights[:, None] * U
        assert oracle.is_dual_feasible(Z, self.weights, self.loss)
        return oracle.dual_objective(*self.raw, self.ball, self.radius, Z)

    def assert_certified(self, pair):
        """Both values and so the gap are what the oracle computes."""
        unit = self.unit()
        assert pair.primal.value == pytest.approx(self.objective(pair), abs=1e-10 * unit)
        assert pair.dual.value == pytest.approx(self.dual_objective(pair), abs=1e-10 * unit)

    def start(self):
        empty = self.problem.empty()
        return Pair(empty, self.problem.dual_of(empty))


def run(algorithm, tol, unit, most):
    """Pairs of an inner algorithm until the gap is small."""
    pairs = []
    for pair in islice(algorithm, most):
        pairs.append(pair)
        if pair.gap <= tol * unit:
            break
    return pairs


# The whole solver.


@losses
@balls
@centers
@weighted
def test_the_optimum_is_that_of_a_general_solver(loss, ball, adaptive, weighted):
    instance = Instance(loss, ball, adaptive, weighted)
    *_, solution = solve(instance.problem, tol=1e-8, max_iter=20_000)
    assert solution.relative_gap <= 1e-8
    assert instance.objective(solution.pair) == pytest.approx(instance.optimum(), rel=1e-6)
    assert solution.unit == pytest.approx(instance.unit(), rel=1e-9)
    instance.assert_certified(solution.pair)


@losses
@balls
def test_a_radius_that_does_not_bind_gives_the_free_optimum(loss, ball):
    instance = Instance(loss, ball, radius=30.0)
    *_, solution = solve(instance.problem, tol=1e-6, max_iter=20_000)
    assert instance.objective(solution.pair) == pytest.approx(instance.optimum(), rel=1e-5)
    instance.assert_certified(solution.pair)


@losses
@balls
@centers
def test_a_tiny_radius_gives_a_certified_point_at_once(loss, ball, adaptive):
    instance = Instance(loss, ball, adaptive, radius=1e-9)
    *_, solution = solve(instance.problem, tol=1e-6)
    assert solution.relative_gap <= 1e-6
    instance.assert_certified(solution.pair)


@losses
@balls
@weighted
def test_every_gap_on_the_way_bounds_the_distance_from_the_optimum(loss, ball, weighted):
    instance = Instance(loss, ball, weighted=weighted, shape=(20, 30))
    solutions = list(solve(instance.problem, tol=1e-5, max_iter=20_000))
    best = instance.dual_objective(solutions[-1].pair)  # no point is below
    for solution in solutions:
        instance.assert_certified(solution.pair)
        assert solution.pair.gap >= solution.pair.primal.value - best - 1e-9 * solution.unit
    values = [s.pair.primal.value for s in solutions]
    gaps = [s.relative_gap for s in solutions]
    assert values == sorted(values, reverse=True)
    assert gaps == sorted(gaps, reverse=True)
    n_iter = [s.n_iter for s in solutions]
    assert n_iter == sorted(n_iter)
    assert n_iter[0] == 0


@losses
@pytest.mark.parametrize("ball", ["l1", "l21"])
@centers
def test_working_sets_give_the_optimum_of_the_whole_problem(loss, ball, adaptive):
    instance = Instance(loss, ball, adaptive, radius=1.0, shape=(30, 410))
    *_, solution = solve(instance.problem, tol=1e-5)
    inner = fista if instance.problem.loss.is_smooth else splitting
    whole = run(inner(instance.problem, instance.start()), 1e-5, solution.unit, 20_000)[-1]
    assert solution.relative_gap <= 1e-5
    assert whole.gap <= 1e-5 * solution.unit
    assert solution.pair.primal.value == pytest.approx(whole.primal.value, rel=3e-5)
    instance.assert_certified(solution.pair)


@losses
@pytest.mark.parametrize("ball", ["l1", "l21"])
def test_dense_solutions_of_wide_data_are_reached_too(loss, ball):
    instance = Instance(loss, ball, radius=60.0, shape=(40, 300))
    *_, solution = solve(instance.problem, tol=1e-3, max_iter=20_000)
    assert solution.relative_gap <= 1e-3
    instance.assert_certified(solution.pair)


@losses
@pytest.mark.parametrize("radius", [1.0, 30.0])
def test_nearly_collinear_features_in_the_l21_ball(loss, radius):
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    factors = rng.normal(size=(60, 4)) + rng.normal(size=(3, 4))[codes]
    X = factors @ rng.normal(size=(4, 150)) + 0.01 * rng.normal(size=(60, 150))
    data = prepare(X, codes, 3, np.ones(60))
    problem = make_problem(data, loss=loss, huber_delta=DELTA, ball="l21", radius=radius, rho=40.0)
    *_, solution = solve(problem, tol=1e-6, max_iter=1500)
    assert solution.relative_gap <= 1e-6


def test_a_solution_in_hand_is_yielded_at_once():
    instance = Instance("huber", "l1")
    *_, solution = solve(instance.problem, tol=1e-8)
    start = resume(instance.problem, solution.pair.primal.W, solution.pair.primal.mu)
    again = list(solve(instance.problem, start, tol=1e-6))
    assert len(again) == 1
    assert again[0].n_iter == 0


def test_max_iter_is_the_number_of_iterations():
    instance = Instance("l1", "l1", shape=(40, 300), radius=5.0)
    *_, solution = solve(instance.problem, tol=1e-14, max_iter=37)
    assert solution.n_iter == 37


@losses
@balls
def test_points_from_elsewhere_are_made_admissible(loss, ball):
    instance, rng = Instance(loss, ball), np.random.default_rng(1)
    W, mu = 50 * rng.normal(size=(6, 3)), rng.normal(size=(3, 3))
    instance.assert_certified(resume(instance.problem, W, mu, 9 * rng.normal(size=(24, 3))))
    instance.assert_certified(resume(instance.problem, W, mu))
    fixed = Instance(loss, ball, adaptive=False)
    fixed.assert_certified(resume(fixed.problem, W, mu, 9 * rng.normal(size=(24, 3))))


# The problem.


@losses
@centers
@weighted
def test_the_empty_model_has_the_best_centers(loss, adaptive, weighted):
    instance = Instance(loss, "l1", adaptive, weighted)
    empty = instance.problem.empty()
    assert not empty.W.any()
    assert empty.value == pytest.approx(instance.unit(), rel=1e-9)


@losses
@centers
@weighted
def test_the_dual_point_of_the_empty_model_needs_no_product(loss, adaptive, weighted):
    problem = Instance(loss, "l21", adaptive, weighted).problem
    found, expected = problem.empty_dual(), problem.dual_of(problem.empty())
    assert_allclose(found.U, expected.U)
    assert_allclose(found.G, expected.G, atol=1e-10)
    assert found.value == pytest.approx(expected.value)
    part = problem.restrict(np.array([1, 4]))
    assert_allclose(part.empty_dual().G, expected.G[[1, 4]], atol=1e-10)


@losses
@balls
@centers
@weighted
@pytest.mark.parametrize("seed", [0])
def test_no_dual_point_is_above_a_primal_point(loss, ball, adaptive, weighted, seed):
    instance, rng = Instance(loss, ball, adaptive, weighted), np.random.default_rng(seed)
    W, mu = rng.normal(size=(6, 3)), np.eye(3) + adaptive * rng.normal(size=(3, 3))
    primal = instance.problem.primal(instance.problem.ball.project(W), mu)
    dual = instance.problem.dual(rng.uniform(-1, 1, (24, 3)))
    pair = Pair(primal, dual)
    instance.assert_certified(pair)
    assert pair.gap >= 0


@losses
@balls
@centers
def test_no_multiple_of_a_dual_point_is_better_than_the_one_taken(loss, ball, adaptive):
    instance, rng = Instance(loss, ball, adaptive), np.random.default_rng(0)
    U = 0.5 * (instance.codes[:, None] == np.arange(3)) + 0.02 * rng.normal(size=(24, 3))
    dual = instance.problem.dual(U)
    assert dual.factor > 0
    for factor in np.linspace(0.0, 1 / np.abs(U).max(), 50):
        Z = instance.weights[:, None] * factor * U
        other = oracle.dual_objective(*instance.raw, ball, instance.radius, Z)
        assert other <= dual.value + 1e-12


@losses
def test_the_dual_point_0_proves_that_the_objective_is_not_negative(loss):
    instance = Instance(loss, "l1")
    assert instance.problem.dual(np.zeros((24, 3))).value == 0


# The inner algorithms, each alone.


@balls
@centers
@weighted
@pytest.mark.parametrize("loss", ["huber", "frobenius"])
def test_fista_alone_finds_the_optimum(loss, ball, adaptive, weighted):
    instance = Instance(loss, ball, adaptive, weighted)
    pairs = run(fista(instance.problem, instance.start()), 1e-7, instance.unit(), 10_000)
    assert pairs[-1].gap <= 1e-7 * instance.unit()
    instance.assert_certified(pairs[-1])  # so the gap proves the optimum


@centers
@weighted
@pytest.mark.parametrize("loss", ["huber", "frobenius"])
@pytest.mark.parametrize("shape", [(24, 6), (12, 16)], ids=["tall", "wide"])
def test_descent_alone_finds_the_optimum(loss, adaptive, weighted, shape):
    instance = Instance(loss, "l1", adaptive, weighted, shape=shape)
    n_iter = 0
    for pair, n_steps in descent(instance.problem, instance.start(), 1e-9 * instance.unit()):
        n_iter += n_steps
        instance.assert_certified(pair)
        if pair.gap <= 1e-9 * instance.unit() or n_iter > 5000:
            break
    assert pair.gap <= 1e-9 * instance.unit()


@balls
@centers
@losses
@pytest.mark.parametrize("shape", [(24, 6), (12, 16)], ids=["tall", "wide"])
def test_splitting_alone_finds_the_optimum(loss, ball, adaptive, shape):
    instance = Instance(loss, ball, adaptive, True, shape=shape)
    pairs = run(splitting(instance.problem, instance.start()), 1e-4, instance.unit(), 20_000)
    assert pairs[-1].gap <= 1e-4 * instance.unit()
    instance.assert_certified(pairs[-1])  # so the gap proves the optimum


@balls
@centers
@losses
def test_pdhg_alone_finds_the_optimum(loss, ball, adaptive):
    instance = Instance(loss, ball, adaptive, True)
    pairs = run(pdhg(instance.problem, instance.start()), 1e-5, instance.unit(), 20_000)
    assert pairs[-1].gap <= 1e-5 * instance.unit()
    instance.assert_certified(pairs[-1])  # so the gap proves the optimum


@pytest.mark.parametrize("radius", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("algorithm", [pdhg, splitting])
def test_centers_still_move_when_W_stays_at_a_vertex(algorithm, radius):
    X, codes = np.array([[0.0, 1.0, 5.0], [1.0, 1.0, -3.0]]), np.array([0, 1])
    data = prepare(X, codes, 2, np.ones(2))
    problem = make_problem(data, loss="l1", huber_delta=0.0, ball="l1", radius=radius, rho=2.0)
    empty = problem.empty()
    pairs = run(algorithm(problem, Pair(empty, problem.dual_of(empty))), 1e-4, empty.value, 2000)
    assert pairs[-1].gap <= 1e-4 * empty.value


def test_steps_that_are_lost_in_rounding_are_taken(monkeypatch):
    """No step is short enough, as with sums in too few digits: the search for one ends."""
    monkeypatch.setattr("tamis.primal_dual.standardized._ROUNDING", {"float64": -10.0})
    instance = Instance("huber", "l1")
    start = instance.start()
    pairs = list(islice(fista(instance.problem, start), 20))
    assert np.isfinite(pairs[-1].gap) and pairs[-1].gap <= start.gap


@pytest.mark.parametrize("algorithm", [fista, pdhg, splitting])
@balls
def test_every_point_of_an_inner_algorithm_is_certified(algorithm, ball):
    instance = Instance("huber", ball, weighted=True)
    pairs = run(algorithm(instance.problem, instance.start()), 0.0, 1.0, 40)
    for pair in pairs:
        instance.assert_certified(pair)
        assert pair.gap >= -1e-12 * instance.unit()
    gaps = [pair.gap for pair in pairs]
    assert gaps == sorted(gaps, reverse=True)


# Newton's method.


@pytest.mark.parametrize("loss", ["huber", "frobenius"])
@pytest.mark.parametrize("ball", ["l1", "l21"])
@centers
@pytest.mark.parametrize("radius", [0.5, 50.0], ids=["on the sphere", "inside"])
@pytest.mark.parametrize("seed", [0])
def test_newton_steps_never_raise_the_objective(loss, ball, adaptive, radius, seed):
    instance = Instance(loss, ball, adaptive, True, radius, seed=seed)
    rng = np.random.default_rng(seed)
    problem = instance.problem
    taken = 0
    for _ in range(10):
        W = problem.ball.project(rng.normal(size=(6, 3)) * rng.integers(0, 2, (6, 1)))
        primal = problem.primal(W, np.eye(3))
        better = newton_step(problem, primal)
        found = primal if better is None else better
        taken += better is not None
        assert found.value <= primal.value
        assert oracle.norm(found.W, ball) <= radius * (1 + 1e-12)
        value = oracle.objective(*instance.raw, found.W, found.mu)
        assert found.value == pytest.approx(value, rel=1e-12)
        assert not found.W[~W.any(axis=1)].any()  # rows that are zero stay
    assert taken > 0


@pytest.mark.parametrize("ball", ["l1", "l21"])
@centers
def test_few_newton_steps_finish_on_the_right_face(ball, adaptive):
    instance = Instance("frobenius", ball, adaptive, radius=0.8)
    *_, solution = solve(instance.problem, tol=1e-4)
    point = solution.pair.primal
    for _ in range(4):
        point = newton_step(instance.problem, point) or point
    gap = point.value - instance.problem.dual_of(point).value
    assert gap <= 1e-9 * solution.unit


# Algorithm 1.


@losses
@balls
@centers
def test_algorithm_1_is_the_printed_one(loss, ball, adaptive):
    instance = Instance(loss, ball, adaptive, radius=2.0)
    A = oracle.standardized(instance.X, instance.data.mean, instance.data.scale)
    expected = oracle.algorithm_1(A, instance.codes, 3, instance.rho, loss, DELTA, ball, 2.0, 25)
    found = list(algorithm_1(instance.problem, max_iter=25))
    assert [s.n_iter for s in found] == list(range(1, 26))
    for solution, (W, mu, Z) in zip(found, expected, strict=True):
        assert_allclose(solution.pair.primal.W, W, rtol=1e-6, atol=1e-9)
        assert_allclose(solution.pair.primal.mu, mu, rtol=1e-9, atol=1e-12)
        assert_allclose(solution.pair.dual.U, Z, rtol=1e-6, atol=1e-8)
        instance.assert_certified(solution.pair)


@pytest.mark.parametrize(("loss", "ball"), [("huber", "l1"), ("frobenius", "l21"), ("l1", "l12")])
@weighted
def test_algorithm_1_comes_to_the_same_optimum_in_the_end(loss, ball, weighted):
    instance = Instance(loss, ball, weighted=weighted)
    *_, solution = algorithm_1(instance.problem, max_iter=1500)
    assert solution.pair.primal.value == pytest.approx(instance.optimum(), rel=1e-2)
    instance.assert_certified(solution.pair)
