"""What twice the rows would add, and what measurement errors take away."""

import numpy as np
import pytest

from tamis import compare
from tamis.comparison.further.assay import assay_errors, measure_again
from tamis.comparison.further.learning_curve import extrapolate, fewer_rows
from tamis.comparison.settings import Settings
from tamis.paths.folds import make_folds
from tests.comparison.problems import make

FAST = {"methods": ["centers", "most-frequent"], "cv": 3, "repeats": 1}


def signal(n, p=5, shift=1.5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    X = rng.normal(size=(n, p))
    X[:, 0] += shift * y
    return X, y


# Learning curves.


@pytest.mark.parametrize("exponent", [0.3, 0.5, 1.0])
def test_a_power_law_is_found(exponent):
    sizes = np.array([10.0, 20, 40, 80])
    scores = 0.9 - 0.8 * sizes**-exponent
    found = extrapolate(sizes, scores[None], 160.0)
    assert found[0] == pytest.approx(0.9 - 0.8 * 160**-exponent, abs=1e-6)


def test_a_curve_never_falls_or_exceeds_one():
    sizes = np.array([10.0, 20, 40, 80])
    falling, perfect = [0.9, 0.85, 0.8, 0.75], [0.7, 0.9, 0.99, 1.0]
    found = extrapolate(sizes, np.array([falling, perfect]), 160.0)
    assert found[0] == pytest.approx(np.mean(falling)) and 0.98 < found[1] <= 1.0


@pytest.mark.parametrize("with_groups", [False, True])
def test_fewer_rows_are_nested_and_stratified_with_whole_groups(with_groups):
    X, y = signal(240)
    groups = np.arange(240) // 2 if with_groups else None
    problem = make(X, y, groups=groups)
    folds = make_folds(problem.codes, problem.groups, 3, 2, 0)
    parts = fewer_rows(problem, folds, 0)
    assert sorted(parts) == [1, 2, 4] and all(len(some) == 3 for some in parts.values())
    for at, fold in enumerate(folds[:3]):
        before = set()
        for n in (1, 2, 4):
            rows = set(parts[n][at].train)
            assert before <= rows <= set(fold.train)
            assert len(rows) == pytest.approx(fold.train.size * n / 8, abs=4)
            share = np.mean(problem.codes[parts[n][at].train])
            assert share == pytest.approx(np.mean(problem.codes[fold.train]), abs=0.1)
            np.testing.assert_array_equal(parts[n][at].test, fold.test)
            if with_groups:
                outside = set(groups[sorted(set(fold.train) - rows)])
                assert not outside & set(groups[sorted(rows)])
            before = rows


def test_more_rows_help_where_many_features_matter():
    """Many weak features: the gain is seen, and what twice the rows really reach is near."""
    rng = np.random.default_rng(0)

    def draw(n):
        y = np.arange(n) % 2
        return rng.normal(size=(n, 60)) + 0.25 * y[:, None], y

    X, y = draw(120)
    found = compare(X, y, learning_curve=True, **FAST).clinical["learning_curve"]
    scores = [point["score"] for point in found["points"]]
    assert [round(p["training_rows"]) for p in found["points"]] == [10, 20, 40, 80]
    assert scores[-1] > scores[0] + 0.1
    low, high = found["gain_interval_95"]
    assert 0 <= low <= found["gain"] <= high and high > 0.02
    assert found["verdict"] != "flat" and found["twice_the_rows"] == 240
    X, y = draw(2400)
    more = compare(X[:240], y[:240], **FAST).model.predict(X[240:])
    less = compare(X[:120], y[:120], **FAST).model.predict(X[240:])
    gain = np.mean(more == y[240:]) - np.mean(less == y[240:])
    assert low - 0.05 <= gain <= high + 0.05


def test_an_easy_problem_is_flat():
    X, y = signal(300, shift=6.0)
    found = compare(X, y, learning_curve=True, **FAST).clinical["learning_curve"]
    assert found["verdict"] == "flat" and found["gain"] < 0.01


def test_a_curve_is_resumed_and_needs_no_other_checkpoints(tmp_path):
    X, y = signal(90)
    options = {**FAST, "checkpoints": tmp_path}
    compare(X, y, **options)
    n_before = len(list(tmp_path.glob("*.npz")))
    first = compare(X, y, learning_curve=True, **options)
    times = {p: p.stat().st_mtime_ns for p in tmp_path.glob("*.npz")}
    assert len(times) == n_before + 9
    again = compare(X, y, learning_curve=True, **options)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.glob("*.npz")} == times
    assert again.learning_curve == first.learning_curve
    assert first.metrics["model"]["honest_score"] == again.metrics["model"]["honest_score"]


@pytest.mark.parametrize(
    ("n", "labels", "told"),
    [
        (36, np.arange(36) % 2, "at least 40 rows"),
        (60, np.arange(60) < 9, "at least 8 rows"),
    ],
)
def test_too_few_rows_for_a_curve(n, labels, told):
    X, _ = signal(n)
    with pytest.raises(ValueError, match=told):
        compare(X, labels, learning_curve=True, **FAST)


# Measurement errors.


def test_errors_are_those_of_measured_numbers():
    X, y = signal(60)
    X[:, 3] = np.arange(60) % 2  # yes or no
    problem = make(X, y, keep=["x4"])
    found = assay_errors(problem, Settings(("centers",), assay_error=0.1))
    np.testing.assert_array_equal(found, [0.1, 0.1, 0.1, 0.0, 0.0])
    named = Settings(("centers",), assay_error=0.1, assay_errors={"x4": 0.2, "x0": 0.0})
    np.testing.assert_array_equal(assay_errors(problem, named), [0.0, 0.1, 0.1, 0.0, 0.2])
    with pytest.raises(ValueError, match="no such numeric feature"):
        assay_errors(problem, Settings(("centers",), assay_errors={"z": 0.1}))


def positive_signal(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    return np.exp(0.3 * rng.normal(size=(n, 4)) + 0.6 * np.outer(y, [1, 0, 0, 0])), y


def test_larger_errors_cost_more_and_none_cost_nothing():
    X, y = positive_signal()
    lost, changed = [], []
    for error in (1e-9, 0.3, 2.0):
        found = compare(X, y, assay_error=error, **FAST).clinical["assay"]
        low, high = found["lost_interval_95"]
        assert low - 1e-12 <= found["lost"] <= high + 1e-12
        assert found["score_in_folds"] - found["score"] == pytest.approx(found["lost"])
        lost.append(found["lost"])
        changed.append(found["changed_labels"])
    assert lost[0] == 0 and changed[0] == 0
    assert 0 < lost[1] < lost[2] and 0 < changed[1] < changed[2]
    assert found["below_zero"] == [] and found["draws"] == 20


def test_the_score_with_errors_is_that_of_a_slow_repetition():
    """Each fold's model trained by hand, its test rows multiplied by errors, many times."""
    X, y = positive_signal(150)
    comparison = compare(X, y, max_features=1, assay_error=0.5, **FAST)
    found, result = comparison.clinical["assay"], comparison.chosen[0]
    assert found["features"] == {"x0": 0.5}
    rng, scores = np.random.default_rng(1), []
    sigma = np.sqrt(np.log(1 + 0.25))
    for _ in range(60):
        right = np.zeros(150)
        for fold in comparison.folds:
            means = [X[fold.train][y[fold.train] == c, 0].mean() for c in (0, 1)]
            value = X[fold.test, 0] * rng.lognormal(-(sigma**2) / 2, sigma, fold.test.size)
            said = np.abs(value - means[1]) < np.abs(value - means[0])
            right[fold.test] = said == y[fold.test]
        scores.append(np.mean([right[y == c].mean() for c in (0, 1)]))
    assert found["score"] == pytest.approx(np.mean(scores), abs=0.02)
    assert found["score_in_folds"] == pytest.approx(result.scores[comparison.choice.place])


def test_sparse_rows_and_negative_values():
    from scipy import sparse

    X, y = positive_signal(120)
    X[:, 1] -= 1.0
    settings = Settings(("centers",), assay_error=0.4, n_folds=3)
    found = []
    for matrix in (X, sparse.csr_array(X)):
        comparison = compare(matrix, y, assay_error=0.4, **FAST)
        result, _ = comparison.chosen
        last = len(result.levels) - 1
        found.append(measure_again(comparison.problem, settings, result, last, comparison.folds))
    assert found[0]["below_zero"] == ["x1"] and found[0]["n_features"] == 4
    assert found[0]["lost"] == pytest.approx(found[1]["lost"], abs=0.03)


@pytest.mark.parametrize("error", [-0.1, 5, float("nan"), "much", {"x0": -1}])
def test_errors_that_make_no_sense(error):
    X, y = positive_signal(60)
    with pytest.raises(ValueError, match=r"measurement error|assay_error must be"):
        compare(X, y, assay_error=error, **FAST)
