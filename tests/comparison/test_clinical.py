"""Other sites, later rows, subgroups, costs of errors: against slow oracles and simulations."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from tamis import compare
from tamis.comparison.choosing.error_costs import cost_matrix
from tamis.comparison.choosing.spread import ScoredRows
from tamis.comparison.further.clinical import site_limits, subgroup_rows
from tamis.comparison.further.held_out import make_splits
from tamis.comparison.settings import Settings
from tests.comparison.problems import make

FAST = {"methods": ["centers", "most-frequent"], "cv": 3, "repeats": 1}


def signal(n, p=5, shift=1.5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    X = rng.normal(size=(n, p))
    X[:, 0] += shift * y
    return X, y


# Intervals.


def test_an_interval_of_rows_is_that_of_a_plain_bootstrap():
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.arange(200) % 2)
    labels = np.where(rng.random(200) < 0.3, 1 - codes, codes)
    rows = ScoredRows(codes, 2, "balanced_accuracy")
    assert rows.score(labels, None) == pytest.approx(balanced_accuracy_score(codes, labels))
    drawn = []
    for _ in range(1000):
        some = rng.integers(200, size=200)
        drawn.append(balanced_accuracy_score(codes[some], labels[some]))
    np.testing.assert_allclose(
        rows.interval(labels, None), np.percentile(drawn, [2.5, 97.5]), atol=0.015
    )


def test_rows_of_a_group_are_drawn_together_and_count_once():
    codes = np.repeat(np.arange(40) % 2, 5)
    right = np.repeat(np.arange(40) % 3 > 0, 5)
    labels = np.where(right, codes, 1 - codes)
    alone = np.diff(ScoredRows(codes, 2, "accuracy").interval(labels, None))
    grouped = ScoredRows(codes, 2, "accuracy", groups=np.repeat(np.arange(40), 5))
    assert np.diff(grouped.interval(labels, None)) == pytest.approx(alone * math.sqrt(5), rel=0.2)


def test_a_perfect_score_is_not_certain():
    codes = np.arange(30) % 2
    low, high = ScoredRows(codes, 2, "balanced_accuracy").interval(codes, None)
    assert low < 0.95 and high == 1.0


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "roc_auc"])
def test_intervals_hold_the_true_score(scoring):
    """Nominal 95 %; for a smoke test, at least 180 of 200."""
    rng, n_inside = np.random.default_rng(1), 0
    truth = stats.norm.cdf(0.5) if scoring == "balanced_accuracy" else stats.norm.cdf(0.5**0.5)
    for _ in range(200):
        codes = np.arange(60) % 2
        p = stats.norm.cdf(rng.normal(size=60) + codes - 0.5)
        probabilities = np.stack([1 - p, p], axis=1)
        rows = ScoredRows(codes, 2, scoring)
        low, high = rows.interval(probabilities.argmax(axis=1), probabilities)
        n_inside += low <= truth <= high
    assert n_inside >= 180


# Sites.


def test_limits_over_sites_are_a_jackknife():
    rng = np.random.default_rng(0)
    codes, sites = np.arange(120) % 2, np.repeat(np.arange(4), 30)
    labels = np.where(rng.random(120) < 0.1 + 0.1 * sites, 1 - codes, codes)
    rows = ScoredRows(codes, 2, "accuracy")
    score = float((labels == codes).mean())
    # Equal sizes: the pseudo-values are the accuracies of the sites.
    of_site = [(labels == codes)[sites == s].mean() for s in range(4)]
    half = stats.t.ppf(0.975, 3) * np.std(of_site, ddof=1) / 2
    shares = np.zeros((120, 2))  # not used by accuracy
    found = site_limits(rows, labels, shares, sites, score)
    np.testing.assert_allclose(found, [score - half, score + half])
    assert site_limits(rows, labels, shares, np.zeros(120), score) == (-math.inf, math.inf)


def test_the_labels_of_a_site_do_not_change_its_predictions():
    X, y = signal(90, p=30, shift=1.0)
    sites = np.repeat(["A", "B", "C"], 30)
    other = np.where(sites == "B", 1 - y, y)
    found = [compare(X, labels, batches=sites, **FAST).held_out["batch"] for labels in (y, other)]
    mine = sites == "B"
    for one in found:
        np.testing.assert_array_equal(one.rows, np.arange(90))
    first, second = (one.predictions for one in found)
    np.testing.assert_array_equal(first.probabilities[mine], second.probabilities[mine])
    np.testing.assert_array_equal(first.labels[mine], second.labels[mine])
    assert (first.probabilities[~mine] != second.probabilities[~mine]).any()
    assert found[0].chosen[1] == found[1].chosen[1]


def test_a_site_effect_lowers_the_score_of_other_sites():
    """A marker whose sign depends on the site helps in random folds, and not elsewhere."""
    rng = np.random.default_rng(0)
    n = 240
    y, sites = rng.integers(0, 2, n), rng.integers(0, 4, n)
    X = rng.normal(size=(n, 6))
    for s in range(4):  # each site has its own marker
        X[sites == s, s] += 4 * y[sites == s] - 2
    comparison = compare(X, y, batches=np.array(list("abcd"))[sites], **FAST)
    found = comparison.clinical["left_out_batches"]
    assert comparison.honest_score.score > 0.8
    assert found["score"] < 0.65
    assert found["interval_95"][0] <= found["score"] <= found["interval_95"][1]
    assert set(found["batches"]) == set("abcd")
    for s, name in enumerate("abcd"):
        assert found["batches"][name]["rows"] == np.count_nonzero(sites == s)
        assert found["batches"][name]["classes"]["1"] == np.count_nonzero(y[sites == s])
    assert comparison.metrics["model"]["left_out_batches"] == found


def test_two_sites_say_little_and_a_class_of_one_site_is_named():
    X, y = signal(80, shift=2.0)
    found = compare(X, y, batches=np.repeat(["a", "b"], 40), **FAST).clinical["left_out_batches"]
    assert np.diff(found["interval_95"]) >= 0.1
    labels = np.where(np.arange(80) < 40, "well", np.where(y == 1, "ill", "well"))
    clinical = compare(X, labels, batches=np.repeat(["a", "b"], 40), **FAST).clinical
    found = clinical["left_out_batches"]
    assert found["not_predicted"] == ["b"]  # without b, all are well
    assert found["score"] is None and found["not_scored"] == "no row of class ill"
    assert found["batches"]["a"]["not_scored"] == "no row of class ill"


def test_a_class_that_only_one_site_has():
    X, y = signal(120, shift=2.0)
    labels = np.where(y == 0, "well", np.where(np.arange(120) < 40, "odd", "ill"))
    clinical = compare(X, labels, batches=np.repeat(["a", "b", "c"], 40), **FAST).clinical
    found = clinical["left_out_batches"]
    assert set(found["batches"]) == {"a", "b", "c"} and np.isfinite(found["score"])


def test_many_sites_are_held_out_in_ten_parts_of_whole_sites():
    X, y = signal(300)
    sites = np.random.default_rng(0).integers(0, 25, 300)
    problem = make(X, y, batches=sites)
    splits = make_splits(problem, Settings(("centers",)))
    assert len(splits) == 10
    tested = np.concatenate([split.fold.test for split in splits])
    assert sorted(tested) == list(range(300))
    for split in splits:
        assert not set(sites[split.fold.train]) & set(sites[split.fold.test])
        for fold in split.inner:
            assert set(fold.train) | set(fold.test) == set(split.fold.train)


# Time.


@pytest.mark.parametrize("with_groups", [False, True])
def test_the_past_predicts_the_future(with_groups):
    rng = np.random.default_rng(0)
    X, y = signal(200)
    dates = rng.integers(0, 40, 200)  # many equal times
    groups = rng.integers(0, 120, 200) if with_groups else None
    problem = make(X, y, groups=groups)
    object.__setattr__(problem, "dates", np.unique(dates, return_inverse=True)[1])
    splits = make_splits(problem, Settings(("centers",)))
    assert len(splits) == 5
    tested = np.concatenate([split.fold.test for split in splits])
    assert len(set(tested)) == len(tested) and abs(len(tested) - 100) <= 10
    for split in splits:
        train, test = split.fold.train, split.fold.test
        assert dates[train].max() < dates[test].min()
        if with_groups:
            assert not set(groups[train]) & set(groups[test])
        else:
            assert train.size == np.count_nonzero(dates < dates[test].min())


def test_the_future_does_not_change_what_predicts_it():
    X, y = signal(120, p=30, shift=1.0)
    time = np.arange(120)
    later = np.where(time >= 96, 1 - y, y)
    first, second = (compare(X, labels, time=time, **FAST) for labels in (y, later))
    made = [c.held_out["time"] for c in (first, second)]
    assert made[0].chosen[:4] == made[1].chosen[:4]
    until = made[0].rows < 108  # the block from 96 on was predicted by the rows before it
    np.testing.assert_array_equal(made[0].rows, made[1].rows)
    np.testing.assert_array_equal(
        made[0].predictions.probabilities[until], made[1].predictions.probabilities[until]
    )


def test_drift_lowers_the_score_in_time_order():
    rng = np.random.default_rng(0)
    n = 300
    y, time = rng.integers(0, 2, n), np.arange(n)
    X = rng.normal(size=(n, 6))
    for part in range(6):  # the marker changes every fifty rows
        rows = time // 50 == part
        X[rows, part] += 4 * y[rows] - 2
    dates = np.datetime64("2020-01-01") + time
    found = compare(X, y, time=dates, **FAST).clinical["time_order"]
    assert found["same_rows_in_random_folds"] > found["score"] + 0.1
    assert found["lost_interval_95"][0] > 0
    assert found["lost"] == pytest.approx(found["same_rows_in_random_folds"] - found["score"])
    assert found["blocks"][0]["from"] == "2020-05-30" and found["blocks"][-1]["to"] == "2020-10-26"
    assert sum(block["rows"] for block in found["blocks"]) == found["rows"] == 150
    X, y = signal(300, shift=1.5)
    steady = compare(X, y, time=time, **FAST).clinical["time_order"]
    assert steady["lost_interval_95"][0] < 0.02 and abs(steady["lost"]) < 0.08


@pytest.mark.parametrize(
    ("time", "told"),
    [
        (np.zeros(60), "all rows have the same time"),
        (np.array(["soon"] * 60, dtype=object), "neither a number nor a date"),
        (np.array([None] + ["2020-01-01"] * 59, dtype=object), "1 row without a value"),
        (np.arange(59), "one value for each of the 60 rows"),
    ],
)
def test_times_that_cannot_be_used(time, told):
    X, y = signal(60)
    with pytest.raises(ValueError, match=told):
        compare(X, y, time=time, **FAST)


def test_a_past_of_one_class_is_refused():
    X, _ = signal(60)
    with pytest.raises(ValueError, match="the past cannot predict the future"):
        compare(X, np.arange(60) >= 57, time=np.arange(60), **FAST)


# Subgroups.


def test_values_of_a_column():
    found = subgroup_rows(np.array(["10", "9", None, "9"], dtype=object))
    assert {k: v.tolist() for k, v in found.items()} == {"9": [1, 3], "10": [0], "(missing)": [2]}
    values = np.array([str(v) for v in range(100)] + [None], dtype=object)
    found = subgroup_rows(values)
    assert list(found) == [
        "at most 24.75",
        "above 24.75 to 49.5",
        "above 49.5 to 74.25",
        "above 74.25",
        "(missing)",
    ]
    assert [v.size for v in found.values()] == [25, 25, 25, 25, 1]
    assert sorted(np.concatenate(list(found.values()))) == list(range(101))


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "roc_auc"])
def test_scores_of_subgroups_are_those_of_their_honest_predictions(scoring):
    X, y = signal(150)
    sex = np.array(["f", "m", None], dtype=object)[np.arange(150) % 3]
    sex[:4] = "x"  # too few
    only = np.where((y == 1) | (np.arange(150) < 75), "a", "b")  # b has one class
    comparison = compare(
        X, y, subgroups={"sex": sex, "only": only}, scoring=scoring, positive=1, **FAST
    )
    made, found = comparison.honest_score.predictions, comparison.clinical["subgroups"]
    for value in ("f", "m", None):
        rows = sex == value
        one = found["columns"]["sex"]["(missing)" if value is None else value]
        assert one["rows"] == rows.sum() and one["classes"]["0"] == (y[rows] == 0).sum()
        if scoring == "roc_auc":
            expected = roc_auc_score(y[rows], made.probabilities[rows, 1])
        else:
            expected = balanced_accuracy_score(y[rows], made.labels[rows])
        assert one["score"] == pytest.approx(expected)
        assert one["interval_95"][0] <= one["score"] <= one["interval_95"][1]
        hit = made.labels[rows] == 1
        assert one["sensitivity"]["share"] == pytest.approx(hit[y[rows] == 1].mean())
        assert one["specificity"]["share"] == pytest.approx(1 - hit[y[rows] == 0].mean())
    few, single = found["columns"]["sex"]["x"], found["columns"]["only"]["b"]
    assert few["score"] is None and few["not_scored"] == "fewer than 10 rows"
    assert single["score"] is None and single["not_scored"] == "no row of class 1"
    honest, together = comparison.honest_score, found["all"]
    assert together["rows"] == 150 and together["score"] == honest.score
    assert together["interval_95"] == [honest.low, honest.high]


def test_a_subgroup_column_stays_a_feature_unless_dropped():
    pd = pytest.importorskip("pandas")
    X, y = signal(80)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(sex=np.arange(80) % 2)
    assert "sex" in compare(frame, y, subgroups="sex", **FAST).problem.names
    dropped = compare(frame, y, subgroups=["sex"], drop=["sex"], **FAST)
    assert "sex" not in dropped.problem.names
    assert set(dropped.clinical["subgroups"]["columns"]["sex"]) == {"0", "1"}


@pytest.mark.parametrize(
    ("subgroups", "told"),
    [
        (["sexx"], "sexx"),
        ({"name": [f"p{i}" for i in range(80)]}, "80 different values"),
        ({"one": ["a"] * 80}, "all rows have the same value"),
        ({"short": ["a"] * 79}, "one value for each of the 80 rows"),
        ({"x0": ["a"] * 80}, "is a column of X"),
    ],
)
def test_subgroups_that_cannot_be_used(subgroups, told):
    X, y = signal(80)
    with pytest.raises(ValueError, match=told):
        compare(X, y, subgroups=subgroups, **FAST)


# Costs.


def test_costs_decide_as_slowly_computed():
    X, y = signal(200, shift=1.0)
    y = np.where(np.arange(200) % 5 < 3, 0, y)  # unequal classes
    comparison = compare(X, y, misclassification={(1, 0): 4.0}, **FAST)
    found, made = comparison.clinical["misclassification"], comparison.honest_score.predictions
    share, paid, plain = y.mean(), [], []
    for p, label, true in zip(made.probabilities, made.labels, y, strict=True):
        ill, well = p[1] * share / 0.5, p[0] * (1 - share) / 0.5
        said = int(4 * ill / (ill + well) > well / (ill + well))
        assert label == said
        paid.append(0 if said == true else 4.0 if true == 1 else 1.0)
        plain.append(0 if p.argmax() == true else 4.0 if true == 1 else 1.0)
    assert comparison.honest_score.score == pytest.approx(balanced_accuracy_score(y, made.labels))
    by_probability = balanced_accuracy_score(y, made.probabilities.argmax(axis=1))
    assert found["score_by_probability"] == pytest.approx(by_probability)
    assert found["mean_cost"] == pytest.approx(np.mean(paid))
    assert found["by_probability"] == pytest.approx(np.mean(plain))
    assert found["saved"] == pytest.approx(np.mean(plain) - np.mean(paid))
    constant = {"0": 4 * share, "1": 1 - share}
    assert found["constant"]["mean_cost"] == pytest.approx(min(constant.values()))
    assert found["constant"]["class"] == min(constant, key=constant.get)
    low, high = found["interval_95"]
    assert low < found["mean_cost"] < high
    saved = found["constant"]["saved"]
    assert saved == pytest.approx(min(constant.values()) - np.mean(paid))
    assert found["constant"]["saved_interval_95"][0] < saved
    assert found["constant"]["saved_interval_95"][1] > saved
    assert found["costs"] == {"0:1": 1.0, "1:0": 4.0}
    model = comparison.model.model_
    np.testing.assert_array_equal(model.misclassification, [[0, 1], [4, 0]])
    np.testing.assert_allclose(model.frequencies, [1 - share, share])


def test_high_costs_of_missing_a_class_raise_its_sensitivity_and_lower_the_cost():
    X, y = signal(300, shift=1.0)
    comparison = compare(X, y, misclassification={(1, 0): 10}, **FAST)
    found = comparison.clinical["misclassification"]
    assert found["saved_interval_95"][0] > 0
    said = comparison.model.predict(X)
    assert (said[y == 1] == 1).mean() > 0.9
    assert (compare(X, y, **FAST).model.predict(X)[y == 1] == 1).mean() < 0.85


def test_few_words_among_the_numbers_of_a_subgroup_are_missing_as_in_a_feature():
    values = np.array([*map(str, range(100)), "unknown", "n.k.", None], dtype=object)
    rows = subgroup_rows(values)
    assert list(rows)[-1] == "(missing)" and rows["(missing)"].tolist() == [100, 101, 102]
    assert len(rows) == 5 and rows["at most 24.75"].tolist() == list(range(25))
    many = np.array([*map(str, range(100)), *["unknown"] * 10], dtype=object)
    assert len(subgroup_rows(many)) == 101


def many_rows():
    """Too many rows for nested folds, so that the bootstrap makes the honest score."""
    X, y = signal(500, shift=1.0)
    return X, np.where(np.arange(500) % 3 > 0, 0, y)


@pytest.mark.parametrize("rows", [lambda: signal(200, shift=1.0), many_rows])
def test_the_score_that_is_reported_is_of_the_decisions_of_the_saved_model(rows):
    X, y = rows()
    options = FAST | {"batches": np.arange(len(y)) % 2}
    costly = compare(X, y, misclassification={(1, 0): 60}, **options)
    plain = compare(X, y, **options)
    assert costly.choice == plain.choice
    assert costly.honest_score.is_nested == (len(y) < 500)
    assert costly.honest_score.score < 0.56 < 0.6 < plain.honest_score.score
    assert costly.honest_score.high < 0.6
    assert costly.clinical["left_out_batches"]["score"] < 0.56  # siblings of the headline
    saved = costly.model.predict(X)
    assert costly.honest_score.score == pytest.approx(balanced_accuracy_score(y, saved), abs=0.06)
    told = costly.metrics["model"]
    assert told["honest_score"]["decides_by"] == told["decides_by"] == "expected cost"
    assert told["per_class"]["1"]["sensitivity"] > 0.95


def test_decisions_that_are_no_cheaper_than_a_constant_are_told():
    X, y = signal(200, shift=0.5)
    codes = [c.code for c in compare(X, y, misclassification={(1, 0): 40}, **FAST).checks]
    assert "no-cheaper" in codes and "constant" not in codes
    X, y = signal(200, shift=3.0)
    codes = [c.code for c in compare(X, y, misclassification={(1, 0): 2}, **FAST).checks]
    assert "no-cheaper" not in codes


def test_a_perfect_classifier_has_an_uncertain_cost():
    X, y = signal(80, shift=30.0)
    found = compare(X, y, misclassification={(1, 0): 10}, **FAST).clinical["misclassification"]
    assert found["mean_cost"] == 0 and found["interval_95"][0] == pytest.approx(0, abs=0.01)
    assert found["interval_95"][1] > 0.05


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"ill:sick": 2}, "two of the classes ill, well"),
        ({"ill:ill": 2}, "is no error"),
        ({"ill:well": -1}, "at least 0"),
        ({"ill:well": float("nan")}, "at least 0"),
        ({"ill:well": "much"}, "at least 0"),
        ({"ill:well": 2, ("ill", "well"): 3}, "more than once"),
        ({"ill:well": 0, "well:ill": 0}, "all errors cost 0"),
        ({3: 1.0}, "not a pair"),
    ],
)
def test_costs_that_cannot_be_used(given, told):
    with pytest.raises(ValueError, match=told):
        cost_matrix(given, np.array(["ill", "well"]))


def test_classes_may_have_any_name():
    classes = np.array(["a:b", "c"])
    assert cost_matrix({"a:b:c": 3}, classes).tolist() == [[0, 3], [1, 0]]


def test_costs_and_a_minimal_sensitivity_contradict_each_other():
    X, y = signal(60)
    with pytest.raises(ValueError, match="both set how to decide"):
        compare(X, y, misclassification={(1, 0): 2}, positive=1, min_sensitivity=0.9, **FAST)
