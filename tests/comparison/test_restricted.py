"""Models without some features, named after the comparison."""

import numpy as np
import pytest

from tamis import compare as compare_frames
from tamis.comparison.settings import Settings
from tests.comparison.problems import blobs, compare, make


def test_the_score_is_that_of_a_comparison_that_never_saw_the_feature():
    X, y = blobs(90, 6)
    settings = Settings(("centers", "panel"), n_folds=3)
    full = compare(make(X, y), settings)
    never = compare(make(X[:, 1:], y), settings)  # x1 is x0 there
    for method in settings.methods:
        found = full.excluding(method, ["x0"])
        np.testing.assert_array_equal(found.result(method).scores, never.result(method).scores)
        _, records, metrics = found.fitted(found.find(method, 2))
        _, expected, _ = never.fitted(never.find(method, 2))
        shifted = [f"x{int(record['feature'][1:]) + 1}" for record in expected]
        assert [record["feature"] for record in records] == shifted
        described = metrics["model"]
        assert described["without"] == ["x0"] and "honest_score" not in described
        assert "simultaneous_lower_95" not in described["selection_score"]
        assert [r["adjusted_p"] for r in records] == [r["adjusted_p"] for r in expected]


@pytest.mark.parametrize("method", ["medians", "primal-dual", "landmarks", "datum-wise"])
def test_no_method_uses_an_excluded_feature(method):
    X, y = blobs(60, 4)
    comparison = compare(make(X, y), Settings((method,), n_folds=2)).excluding(method, ["x0"])
    assert comparison.problem.n_features == 3
    place = len(comparison.result(method).levels) - 1
    assert not comparison.result(method).selected[:, 0].any()
    from tests.comparison.problems import point

    model, records, _ = comparison.fitted(point(comparison, method, place))
    assert "x0" not in model.preparation.required
    assert "x0" not in {record["feature"] for record in records}


def test_models_that_use_the_feature_are_no_longer_compared():
    X, y = blobs(90, 6)
    names = ("centers", "medians", "random-forest", "most-frequent")
    found = compare(make(X, y), Settings(names, n_folds=3)).excluding("centers", ["x0"])
    assert [result.method.name for result in found.results] == ["centers", "most-frequent"]
    told = found.fitted(found.find("centers", 1))[2]
    assert told["methods"].keys() == {"centers", "most-frequent"}
    assert told["model"]["best_baseline"]["method"] == "most-frequent"


def test_findings_about_excluded_columns_are_gone_and_features_are_counted_again():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    frame = pd.DataFrame(rng.normal(size=(60, 6)) + y[:, None], columns=list("abcdef"))
    frame["sex"] = np.array(["male", "Male", "female"])[rng.integers(3, size=60)]
    full = compare_frames(frame, y, methods=["centers", "most-frequent"], cv=3, repeats=1)
    assert {"similar-categories", "few-events"} <= {check.code for check in full.checks}
    found = full.excluding("centers", ["sex", "a"])
    told = {check.code: check.sentence for check in found.checks}
    assert "similar-categories" not in told
    assert told["few-events"].startswith("Before features were left out: 30 rows of class ")
    metrics = found.fitted(found.find("centers", 1))[2]
    assert metrics["data"]["features"] == 5 and "columns" not in metrics["checks"][0]


def test_what_is_not_named_is_that_of_the_recommended_model():
    X, y = blobs(60, 6)
    comparison = compare_frames(X, y, methods=["centers", "most-frequent"], cv=2)
    size = int(comparison.choice.n_features)
    model = comparison.pick(without=["x0"])
    assert model.model_.method == "centers" and len(model.required_) == size
    assert "x0" not in model.required_
    assert len(comparison.pick(n_features=3).required_) == 3
    with pytest.raises(ValueError, match=r"method=medians: name .* \(n_features\)"):
        comparison.pick("medians")


def test_a_column_names_its_group_and_redundant_features_come_back():
    X, y = blobs(90, 4)
    X = np.column_stack([X, X[:, 0] + 0.01 * np.random.default_rng(1).normal(size=90)])
    settings = Settings(("centers",), n_folds=2)
    grouped = compare(make(X, y, feature_groups={"x0": "both", "x1": "both"}), settings)
    assert grouped.excluding("centers", ["x1"]).problem.n_features == 3
    sparse = compare(make(X, y, redundancy=0.9), settings)
    first = sparse.fitted(sparse.find("centers", 2))[1]
    used = {record["feature"] for record in first}
    (copied,) = used & {"x0", "x4"}
    found = sparse.excluding("centers", [copied])
    records = found.fitted(found.find("centers", 2))[1]
    assert {record["feature"] for record in records} == used ^ {"x0", "x4"}


def test_pick_without_names_near_matches_and_refuses_kept_features():
    pandas = pytest.importorskip("pandas")
    X, y = blobs(60, 4)
    frame = pandas.DataFrame(X, columns=["BRCA1", "TP53", "EGFR", "MYC"])
    methods = ["centers", "most-frequent"]
    comparison = compare_frames(frame, y, methods=methods, cv=2, keep=["MYC"])
    model = comparison.pick("centers", n_features=1, without=["BRCA1"])
    assert model.required_ == ["TP53", "MYC"]
    with pytest.raises(ValueError, match=r"without.*'BRCA'.*did you mean BRCA1"):
        comparison.pick("centers", n_features=1, without=["BRCA"])
    with pytest.raises(ValueError, match="without=MYC: it is kept"):
        comparison.pick("centers", n_features=1, without=["MYC"])
    with pytest.raises(ValueError, match="no feature is left"):
        comparison.pick("centers", n_features=1, without=["BRCA1", "TP53", "EGFR"])
