"""What `compare` promises about the features of a model."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tamis import PanelClassifier
from tamis.comparison.choosing.restricted import exclude_features
from tamis.comparison.fitted import panel_guarantees
from tamis.comparison.methods.baselines import find_method
from tamis.comparison.settings import Settings
from tamis.guarantees import near_optimal_panels, swap_panels, true_features
from tamis.guarantees.half_shares import half_rows
from tamis.stability import complementary_pairs
from tests.comparison.problems import compare, make, point


def signals(n=60, p=40, shift=2.0, seed=0):
    """Two features that differ, and a near-copy of the first."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    X[:, :2] += shift * y[:, None]
    X[:, 2] = X[:, 0] + 0.1 * rng.normal(size=n)
    return X, y


def described(problem, method="centers", k=3, **settings):
    comparison = compare(problem, Settings((method,), n_folds=3, **settings))
    levels = list(comparison.result(method).levels)
    _, records, metrics = comparison.fitted(point(comparison, method, levels.index(k)))
    json.dumps(metrics, allow_nan=False)
    return {record["feature"]: record for record in records}, metrics["model"]["guarantees"]


@pytest.mark.parametrize(("method", "metric"), [("centers", "l2"), ("medians", "l1")])
def test_the_bound_is_that_of_true_features_at_every_level(method, metric):
    X, y = signals()
    records, told = described(make(X, y), method)
    found = true_features(X, y, metric=metric, random_state=0)
    bound = told["true_features"]
    assert bound["permutations"] == 1000 and (bound["at_least"], bound["of"]) == (3, 3)
    assert bound["statement"].startswith("At least 3 of these 3 differ")
    assert [row["at_least"] for row in bound["path"][:4]] == [1, 2, 3, 3]
    for name, record in records.items():
        assert record["adjusted_p"] == found.max_t_p_values[int(name[1:])]


def test_one_test_serves_all_methods_and_all_exclusions():
    """Choosing between two tests, or the features to test, would make wrong claims likelier."""
    X, y = signals(shift=0.8)
    comparison = compare(make(X, y), Settings(("centers", "medians"), n_folds=3))
    found = true_features(X, y, random_state=0)
    without = exclude_features(comparison, "medians", ["x5", "x6", "x7"])
    for some, method in ((comparison, "centers"), (comparison, "medians"), (without, "medians")):
        _, records, _ = some.fitted(point(some, method, 4))
        for record in records:
            assert record["adjusted_p"] == found.max_t_p_values[int(record["feature"][1:])]


def test_dummies_are_one_feature_and_kept_columns_are_not_tested():
    X, y = signals()
    groups = {"x3": "panel", "x4": "panel", "x5": "panel"}
    problem = make(X, y, feature_groups=groups, keep=["x0"])
    records, told = described(problem)
    assert records["x0"]["adjusted_p"] is None and records["x0"]["frequency"] is None
    columns = np.delete(np.arange(40), 0)
    label = np.array(["panel" if 3 <= j <= 5 else f"x{j}" for j in columns])
    found = true_features(X[:, columns], y, feature_groups=label, random_state=0)
    for name in set(records) - {"x0"}:
        expected = found.max_t_p_values[found.feature_names.index(name)]
        assert abs(records[name]["adjusted_p"] - expected) < 0.005
    assert told["true_features"]["of"] == 3


def test_groups_are_permuted_whole():
    """Ten rows of each of six patients: no set of features can be shown to differ."""
    X, y = signals(6, 40, shift=4.0)
    rows = np.repeat(np.arange(6), 10)
    X = X[rows] + 0.01 * np.random.default_rng(1).normal(size=(60, 40))
    _, told = described(make(X, y[rows], groups=rows))
    assert told["true_features"]["at_least"] == 0
    _, told = described(make(X, y[rows]))
    assert told["true_features"]["at_least"] == 3


def test_batches_are_respected():
    """A feature that only differs between laboratories is not true within them."""
    rng = np.random.default_rng(0)
    batches = np.repeat(["a", "b"], 60)
    y = np.where(np.arange(120) % 6 == 0, batches == "a", batches == "b").astype(int)
    X = rng.normal(size=(120, 30))
    X[batches == "b", 0] += 3.0
    assert described(make(X, y), k=1)[0]["x0"]["adjusted_p"] <= 0.01
    assert described(make(X, y, batches=batches), k=1)[0]["x0"]["adjusted_p"] > 0.05


def test_dropping_redundant_features_leaves_them_in_the_test():
    """They were dropped by their labels, so the permutations must see them."""
    X, y = signals()
    found = true_features(X, y, random_state=0)
    records, _ = described(make(X, y, redundancy=0.9), k=2)
    for name, record in records.items():
        assert record["adjusted_p"] == found.max_t_p_values[int(name[1:])]


@pytest.mark.parametrize("method", ["panel", "primal-dual"])
def test_conditional_panels_get_p_values_but_no_bound(method):
    X, y = signals()
    records, told = described(make(X, y), method, k=2)
    assert "reason" in told["true_features"] and "rule" not in told
    assert ("reason" in told["alternatives"]) == (method != "panel")
    assert all(record["adjusted_p"] is not None for record in records.values())
    halves = [record["frequency"] for record in records.values()]
    assert (halves != [None] * len(halves)) == (method == "panel")
    assert ("reason" in told["frequencies"]) == (method != "panel")


@pytest.mark.parametrize(
    ("method", "n_pairs"),
    [
        ("centers", 50),
        ("medians", 50),
        ("panel", 8),
        pytest.param("panel", 50, marks=pytest.mark.slow),
    ],
)
def test_frequencies_repeat_the_selection_in_halves(method, n_pairs, monkeypatch):
    monkeypatch.setattr("tamis.comparison.fitted.panel_guarantees._N_PAIRS", n_pairs)
    X, y = signals(shift=1.0)
    problem = make(X, y)
    records, told = described(problem, method, k=3)
    pairs = complementary_pairs(
        problem.codes, None, told["frequencies"]["pairs"], np.random.RandomState(0)
    )
    times, everything = np.zeros(40), problem.train_part(np.arange(60), problem.codes, 0)
    for rows in half_rows(pairs):
        part = problem.train_part(rows, problem.codes, 0)
        if method == "panel":  # in the order that all rows decide
            taken = find_method(method).train(everything, [3]).model(0).selection_
            half = PanelClassifier(3, selection=taken, head="lda").fit(part.X, part.codes)
            times[half.get_support(indices=True)] += 1
        else:
            times[find_method(method).train(part, [3]).features(0)] += 1
    for name, record in records.items():
        assert record["frequency"] == pytest.approx(times[int(name[1:])] / (2 * len(pairs)))
        assert record["frequency_with_substitutes"] >= record["frequency"]


def test_a_feature_and_its_copy_share_their_frequency(monkeypatch):
    monkeypatch.setattr("tamis.comparison.fitted.panel_guarantees._N_PAIRS", 50)
    X, y = signals()
    records, _ = described(make(X, y), k=2)
    copies = [records[name] for name in ("x0", "x2") if name in records]
    assert copies and all(r["frequency_with_substitutes"] == 1.0 for r in copies)
    assert all(r["frequency"] < 1.0 for r in copies)


def test_rows_with_weights_get_frequencies_only():
    X, y = signals()
    problem = replace(make(X, y), weights=1.0 + np.arange(60) % 3)
    records, told = described(problem)
    assert all("weights" in told[name]["reason"] for name in ("true_features", "rule"))
    assert records["x1"]["frequency"] == 1.0 and records["x1"]["adjusted_p"] is None


def test_missing_values_are_imputed_in_each_half_and_refuse_the_rule():
    X, y = signals()
    X[::7, 1] = np.nan
    records, told = described(make(X, y))
    assert "missing" in told["rule"]["reason"]
    assert told["true_features"]["at_least"] == 3 and records["x1"]["frequency"] > 0.9


def test_the_rule_speaks_with_many_features_only():
    X, y = signals(60, 400)
    _, told = described(make(X, y))
    assert told["rule"]["passed"] == 3 and told["rule"]["statement"].startswith("3 of the 3 pass")
    _, told = described(make(X[:, 3:20], y))
    assert "0 features pass" in told["rule"]["reason"]


def test_alternatives_are_the_near_optimal_panels():
    X, y = signals()
    problem = make(X, y)
    _, told = described(problem, k=2)
    from tamis import SparseCenterClassifier

    panels = near_optimal_panels(SparseCenterClassifier(2).fit(X, y), X, y)
    alternatives = told["alternatives"]
    assert alternatives["within"] == pytest.approx(panels.eps)
    assert alternatives["panels"] == len(list(panels)) - 1 and not alternatives["are_more"]
    everywhere = [f"x{j}" for j in np.flatnonzero(panels.status() == "all")]
    assert sorted(alternatives["in_all"]) == everywhere


def test_large_data_get_fewer_permutations_or_a_reason(monkeypatch):
    X, y = signals()
    monkeypatch.setattr(panel_guarantees, "_SHUFFLED", {"l2": 2e-6})
    assert described(make(X, y))[1]["true_features"]["permutations"] == 416
    monkeypatch.setattr(panel_guarantees, "_MOST_TIME", 1e-9)
    monkeypatch.setattr(panel_guarantees, "_HALVED", {"l2": 1.0})
    records, told = described(make(X, y))
    assert all("too long" in told[n]["reason"] for n in ("true_features", "frequencies", "rule"))
    assert records["x1"]["adjusted_p"] is None and records["x1"]["frequency"] is None


def test_the_size_of_the_data_alone_does_not_prevent_permutations(monkeypatch):
    X, y = signals()
    monkeypatch.setattr(panel_guarantees, "_SHUFFLED", {"l2": 1.0})  # they seem to take hours
    records, _ = described(make(X, y))
    assert records["x1"]["adjusted_p"] == 1 / 200
    monkeypatch.setattr(panel_guarantees, "_MOST_LABELS", 100)
    assert "memory" in described(make(X, y))[1]["true_features"]["reason"]


@pytest.mark.parametrize("method", ["centers", "panel"])
def test_a_copy_is_interchangeable_and_a_weak_relative_is_not(method):
    rng = np.random.default_rng(0)
    y = np.arange(1200) % 2
    X = rng.normal(size=(1200, 5))
    X[:, :2] += [2.2, 2.5] * y[:, None]
    copy = X[:, [0]] + 1e-3 * rng.normal(size=(1200, 1))
    relative = X[:, [1]] + 0.7 * rng.normal(size=(1200, 1))
    records, _ = described(make(np.hstack([X, copy, relative]), y), method, k=2, tolerance=0.01)
    first = records.get("x0") or records["x5"]
    other = "x5" if first["feature"] == "x0" else "x0"
    assert first["interchangeable"] == other and first["loss_if_replaced"] <= 0.01
    assert f"{other} (1.00, interchangeable)" in first["substitutes"]
    assert records["x1"]["interchangeable"] == "" and records["x1"]["loss_if_replaced"] > 0.01
    assert "x6 (0." in records["x1"]["substitutes"]


def test_few_rows_are_too_few_to_call_features_interchangeable():
    X, y = signals(40)
    X[:, 1] += 2 * y
    records, _ = described(make(X, y), k=2)
    assert records["x1"]["loss_if_replaced"] is None  # no substitute at all
    first = records.get("x0") or records["x2"]
    assert first["interchangeable"] == "" and first["loss_if_replaced"] > 0.01


def test_alternatives_of_a_forward_panel_are_its_swaps():
    X, y = signals(shift=1.5)
    records, told = described(make(X, y), "panel", k=2)
    model = PanelClassifier(2, cv=3).fit(X, y)
    assert model.selection_ == "forward"
    swaps = swap_panels(model, X, y)
    assert set(records) == {f"x{j}" for j in swaps.features}
    alternatives = told["alternatives"]
    assert alternatives["panels"] == len(swaps.near) > 0 and not alternatives["is_exhaustive"]
    assert alternatives["first"][0] == [f"x{j}" for j in swaps.near[0].features]
    assert alternatives["in_all"] == [f"x{j}" for j in np.flatnonzero(swaps.status() == "all")]


def test_alternatives_of_the_largest_gains_are_all_panels_that_gain_nearly_as_much():
    X, y = signals(shift=1.0)
    assert PanelClassifier(2, cv=3).fit(X, y).selection_ == "centers"
    _, told = described(make(X, y), "panel", k=2)
    _, of_centers = described(make(X, y), "centers", k=2)
    assert told["alternatives"] == of_centers["alternatives"]
    assert told["alternatives"]["is_exhaustive"]


def test_a_panel_of_rare_words_has_no_swaps_but_says_why():
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    X = (rng.random((100, 200)) < 0.03).astype(float)
    X[:, 0] = y
    records, told = described(make(X, y), "panel", 1)
    assert list(records) == ["x0"]
    assert told["alternatives"]["reason"].startswith("rare words are selected along a path")
