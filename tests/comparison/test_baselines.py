"""The sparse baselines: paths of the lasso, and models that are used like those of any method."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from tamis import compare
from tamis.comparison.methods.baselines import find_method
from tamis.comparison.methods.sparse_baselines import L1Path
from tests.comparison.problems import make


def signals(n_columns):
    """Rows of two classes, five of whose columns matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, n_columns))
    is_class = X[:, :5] @ [2.0, -1.5, 1.0, 0.5, 0.2] + rng.logistic(size=60) > 0
    return X, is_class, rng.uniform(0.5, 2.0, size=60)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("n_columns", [5, 300])
def test_few_columns_give_the_solution_of_all(n_columns, is_sparse):
    X, is_class, weights = signals(n_columns)
    path = L1Path(sparse.csr_array(X) if is_sparse else X, is_class, weights)
    for C in (0.02, 0.1, 0.5, 3.0):
        path.move(1 / C)
        # liblinear penalises the intercept: hardly, if it belongs to a column of large values.
        whole = LogisticRegression(
            l1_ratio=1.0,
            C=C,
            solver="liblinear",
            max_iter=10_000,
            tol=1e-10,
            intercept_scaling=1e3,
        ).fit(X, is_class, weights)

        def objective(w, b, C=C):
            margins = np.where(is_class, 1, -1) * (X @ w + b)
            return np.abs(w).sum() + C * weights @ np.logaddexp(0, -margins)

        best = objective(whole.coef_[0], whole.intercept_[0])
        assert objective(path.coef, path.intercept) <= best * 1.001
        large = np.abs(whole.coef_[0]) > 0.05
        assert_allclose(path.coef[large], whole.coef_[0][large], atol=0.05)


def test_the_first_coefficient_appears_at_the_strongest_penalty():
    path = L1Path(*signals(50))
    path.move(path.strongest * 1.0001)
    assert not path.coef.any()
    path.move(path.strongest * 0.98)
    assert np.count_nonzero(path.coef) == 1


def test_a_matrix_without_information():
    path = L1Path(np.zeros((10, 3)), np.arange(10) % 2 == 0, np.ones(10))
    path.move(0.1)
    assert not path.coef.any()
    problem = make(np.zeros((10, 3)), np.arange(10) % 2)
    part = problem.train_part(np.arange(10), problem.codes, 0)
    trained = find_method("l1-logistic").train(part, [1, 3])
    assert trained.path.n_features.tolist() == [0, 0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_levels_of_the_lasso_are_numbers_of_features_and_better_and_better(n_classes):
    rng = np.random.default_rng(1)
    y = np.arange(150) % n_classes
    X = rng.normal(size=(150, 30))
    X[:, :8] += 0.5 * np.eye(8)[y] @ rng.normal(size=(8, 8)) * 3
    problem = make(X, y)
    part = problem.train_part(np.arange(150), problem.codes, 0)
    method = find_method("l1-logistic")
    levels = method.levels(problem, None)
    assert 15 <= len(levels) <= 30
    trained = method.train(part, levels)
    sizes = np.array([trained.features(place).size for place in range(len(levels))])
    assert (sizes <= levels).all() and (np.diff(sizes) >= 0).all()
    assert (sizes >= np.array(levels) / 2).mean() > 0.8  # steps are small enough for most
    shares, _ = trained.predict(X, X)
    losses = -np.log(shares[:, np.arange(150), y]).mean(axis=1)
    if n_classes == 2:  # each class against the rest has a loss of its own
        assert (np.diff(losses) <= 1e-6).all()
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("weights", [None, np.arange(90) % 4.0])
def test_methods_that_share_a_path_are_trained_as_if_alone(weights):
    rng = np.random.default_rng(2)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 40)) + rng.normal(size=(3, 40))[y] * (np.arange(40) < 6)
    problem = replace(make(X, y), weights=weights)
    lasso, relaxed = find_method("l1-logistic"), find_method("relaxed-l1")
    few, many = [1, 2, 4], [1, 5, 20]

    def part():
        return problem.train_part(np.arange(90), problem.codes, 0)

    def decisions(trained):
        return trained.path.decisions(X)

    shared = part()
    asked = (lasso, many), (relaxed, few), (lasso, few), (lasso, [*many, 40])
    together = [decisions(method.train(shared, levels)) for method, levels in asked]
    for made, (method, levels) in zip(together, asked, strict=True):
        assert_array_equal(made, decisions(method.train(part(), levels)))


def test_kept_features_and_groups_count_as_in_other_methods():
    X, is_class, _ = signals(12)
    problem = make(
        X,
        is_class.astype(int),
        keep=["x0"],
        feature_groups={f"x{j}": f"g{j // 2}" for j in range(2, 12)},
    )
    part = problem.train_part(np.arange(60), problem.codes, 0)
    for name in ("l1-logistic", "relaxed-l1", "rfe"):
        method = find_method(name)
        levels = method.levels(problem, None)
        trained = method.train(part, levels)
        free = [np.setdiff1d(trained.features(p), np.flatnonzero(problem.kept)).size
                for p in range(len(levels))]  # fmt: skip
        assert (np.array(free) <= levels).all() and max(free) >= 4


def test_no_baselines_leaves_the_same_baselines_out_of_every_choice():
    X, is_class, _ = signals(6)
    options = {"methods": ["medians", "rfe"], "cv": 3, "repeats": 1, "permutations": 2}
    batches = np.arange(60) % 3
    for baselines in (False, True):
        comparison = compare(
            X, is_class.astype(int), baselines=baselines, batches=batches, **options
        )
        is_open = comparison.candidates.ours
        names = np.repeat(
            [r.method.name for r in comparison.results],
            [len(r.levels) for r in comparison.results],
        )
        assert set(names[is_open]) == ({"medians", "rfe"} if baselines else {"medians"})
        chosen = {one[0] for one in comparison.held_out["batch"].chosen}
        assert chosen <= set(names[is_open])
        assert len(comparison.shuffled_scores) == 2
        assert_array_equal(comparison.candidates.ours, is_open)


@pytest.mark.parametrize("name", ["l1-logistic", "relaxed-l1", "rfe"])
def test_features_are_chosen_again_as_in_training(name):
    X, is_class, _ = signals(12)
    problem = make(
        X,
        is_class.astype(int),
        keep=["x0"],
        feature_groups={f"x{j}": f"g{j // 2}" for j in range(2, 12)},
    )
    method, rows = find_method(name), np.arange(0, 60, 2)

    def part():
        return problem.train_part(rows, problem.codes, 0)

    levels = method.levels(problem, None)
    whole = method.train(part(), levels)
    for place, level in enumerate(levels):
        features = np.setdiff1d(whole.features(place), np.flatnonzero(problem.kept))
        assert_array_equal(method.choose(part(), int(level), None), features)


def test_a_recommended_lasso_says_what_is_known_about_its_features():
    rng = np.random.default_rng(4)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 8))
    X[:, :2] += 1.2 * y[:, None]
    methods = ("relaxed-l1", "most-frequent")
    comparison = compare(X, y, methods=methods, n_jobs=1, random_state=0, max_features=2)
    told = comparison.metrics["model"]["guarantees"]
    assert told["frequencies"]["pairs"] >= 5
    assert comparison.features["frequency"].between(0.3, 1).all()
    assert told["fit"]["is_best"] and told["fit"]["statement"].startswith("Proved: none of the 28")
