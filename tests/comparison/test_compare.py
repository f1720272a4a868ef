"""`tamis.compare`: the comparison as a function."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tamis import TableClassifier, compare, load_model, rank_features_by_class, read_table
from tamis.comparison import Callback
from tamis.comparison.checks.check import Check
from tamis.comparison.methods.baselines import find_method

FAST = {"methods": ["centers", "most-frequent"], "cv": 3, "repeats": 1}


def make_frame(n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, "sick", "well")
    is_sick = y == "sick"
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 5, size=n),
            "marker": rng.normal(2.5 * is_sick, 1.0),
            "noise": rng.normal(size=n),
            "color": np.where(is_sick ^ (rng.random(n) < 0.2), "red", "blue"),
        }
    )
    frame.loc[::9, "marker"] = np.nan
    return frame, y


@pytest.fixture(scope="module")
def found():
    return compare(*make_frame(), **FAST)


def test_the_recommendation_and_its_honest_score(found):
    assert found.choice.method == "centers"
    honest = found.honest_score
    assert 0.7 < honest.low <= honest.score <= honest.high <= 1
    names = list(found.features["feature"])
    assert names[0] in ("marker", "color")
    assert len(names) == round(found.choice.n_features)


def test_the_table_has_a_row_for_every_level(found):
    table = found.table
    assert isinstance(table, pd.DataFrame)
    assert list(table["method"].unique()) == ["centers", "most-frequent"]
    chosen = table[table["is_chosen"]]
    assert len(chosen) == 1
    assert chosen["score"].item() == found.chosen[0].scores[found.choice.place]


@pytest.mark.parametrize(
    ("convert", "kind"),
    [(pl.from_pandas, pl.DataFrame), (pa.Table.from_pandas, pa.Table)],
)
def test_frames_of_the_callers_kind(found, convert, kind):
    X, y = make_frame()
    other = compare(convert(X), y, **FAST)
    assert isinstance(other.table, kind)
    assert other.choice == found.choice and other.honest_score == found.honest_score


def test_arrays_give_frames_of_an_installed_library(found):
    X, y = make_frame()
    numbers = X[["age", "marker", "noise"]].to_numpy()
    result = compare(numbers, y, **FAST)
    assert isinstance(result.table, pd.DataFrame)
    assert result.features["feature"][0] == "x1"
    assert result.model.predict(numbers).shape == y.shape


def test_sparse_matrices_stay_sparse():
    X, y = make_frame()
    numbers = np.nan_to_num(X[["age", "marker", "noise"]].to_numpy())
    dense = compare(numbers, y, **FAST)
    result = compare(sparse.csr_matrix(numbers), y, **FAST)
    assert result.choice == dense.choice
    assert sparse.issparse(result.problem.encoded)


def test_an_anndata_object():
    X, y = make_frame()
    obs = X[["age"]].assign(state=y, patient=np.arange(90) // 3)
    adata = SimpleNamespace(
        X=np.nan_to_num(X[["marker", "noise"]].to_numpy()),
        obs=obs,
        var_names=["gene1", "gene2"],
        obs_names=[f"cell{i}" for i in range(90)],
    )
    result = compare(adata, "state", groups="patient", **FAST)
    assert result.features["feature"].tolist() == ["gene1"]
    by_model = rank_features_by_class(model=result.model)
    assert set(by_model["names"]) == {"gene1"}
    whole = rank_features_by_class(adata, "state", model=result.model)
    assert dict(zip(whole["names"], whole["in_panel"], strict=False)) == {
        "gene1": True,
        "gene2": False,
    }
    assert (whole["center_shift"][whole["names"] == "gene2"] == 0).all()
    with pytest.raises(ValueError, match="no feature 'gene1', which the model uses"):
        rank_features_by_class(adata.X, y, model=result.model)
    assert np.unique(result.problem.groups).size == 30


def test_columns_can_be_named(found):
    X, y = make_frame()
    named = X.assign(state=y, weight=np.where(np.arange(90) % 2, 1.0, 2.0))
    result = compare(named, "state", **FAST, drop=["weight"])
    assert result.choice == found.choice and result.honest_score == found.honest_score
    weighted = compare(named, "state", sample_weight="weight", **FAST)
    assert_array_equal(weighted.problem.weights, named["weight"])
    given = compare(X, y, sample_weight=named["weight"].to_numpy(), **FAST)
    assert given.honest_score == weighted.honest_score


def test_the_model_takes_frames_and_is_saved(found, tmp_path):
    X, _ = make_frame()
    model = found.model
    assert isinstance(model, TableClassifier)
    found.save(tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {"model.json", "model.skops", "features.csv", "metrics.json"}
    again = load_model(tmp_path / "run")
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["model"]["honest_score"]["score"] == found.honest_score.score


def test_another_point_of_the_curve(found):
    X, _ = make_frame()
    model = found.pick("centers", 1)
    assert len(model.required_) == 1
    assert model.predict(X).shape == (90,)
    with pytest.raises(ValueError, match="most-frequent was not finished"):
        found.pick("most-frequent", 1)


def test_notebooks_show_the_recommendation(found):
    page = found._repr_html_()
    assert "sparse centers, means" in page and "<table>" in page
    assert repr(found).startswith("Comparison(sparse centers, means, ")
    assert "warning" not in repr(replace(found, checks=[]))
    warned = replace(found, checks=[Check("chance", "warning", "A.", "B.")])
    assert repr(warned).endswith("; 1 warning, see .checks)")


def test_names_are_escaped_in_notebooks():
    X, y = make_frame()
    result = compare(X.rename(columns={"color": "<b>"}), y, **FAST)
    result = replace(result, name="<script>")
    assert "<script>" not in result._repr_html_()


def test_copies_groups_and_checks():
    X, y = make_frame(30)
    twice, labels = pd.concat([X] * 3, ignore_index=True), np.tile(y, 3)
    result = compare(twice, labels, **FAST)
    assert "duplicates" in [check.code for check in result.checks]
    assert np.unique(result.problem.groups).size == 30
    dropped = compare(twice, labels, duplicates="drop", **FAST)
    assert dropped.problem.n_rows == 30


@pytest.mark.slow
def test_copies_that_differ_in_the_seventh_digit_give_no_honest_score_of_one():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 8)), 6, axis=0)
    X *= 1 + 1e-7 * rng.normal(size=X.shape)
    y = np.repeat(np.arange(20) % 2, 6)
    comparison = compare(X, y, methods=["landmarks"], repeats=1)
    assert comparison.honest_score.score < 0.8
    assert "duplicates" in [check.code for check in comparison.checks]


@pytest.mark.parametrize(
    "groups, message",
    [
        (None, "its 30 rows are duplicates of one row.*merge it with another class.*keep"),
        (np.where(np.arange(60) % 2, 0, np.arange(60)), "its 30 rows belong to one sample group"),
    ],
)
def test_a_class_of_a_single_sample_is_refused_with_the_reason(groups, message):
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 2
    X[y == 1] = X[1] if groups is None else X[y == 1]
    with pytest.raises(ValueError, match=message):
        compare(X, y, methods=["centers"], groups=groups)


def test_batches_permutations_and_a_minimal_sensitivity():
    X, y = make_frame()
    result = compare(
        X,
        y,
        batches=np.array(["A", "B", "C"])[np.arange(90) // 30],
        permutations=3,
        positive="sick",
        min_sensitivity=0.9,
        **FAST,
    )
    model = result.metrics["model"]
    assert set(model["left_out_batches"]["batches"]) == {"A", "B", "C"}
    assert result.p_value == 0.25
    assert model["threshold"]["positive"] == "sick"
    assert result.model.model_.threshold is not None


def test_costs_kept_features_and_feature_groups():
    X, y = make_frame()
    result = compare(
        X,
        y,
        costs={"panel": 5.0},
        feature_groups={"panel": ["marker", "noise"]},
        keep=["age"],
        max_features=1,
        **FAST,
    )
    assert result.problem.names == ["age", "panel", "color"]
    assert_array_equal(result.problem.costs, [1, 5, 1])
    assert result.model.required_[0] == "age"
    assert max(result.chosen[0].levels) == 1


class Stopper(Callback):
    def __init__(self, after):
        self.after, self.ended, self.start = after, [], None

    def on_start(self, start):
        self.start = start

    def on_task_end(self, task, seconds):
        self.ended.append(task.key)
        return len(self.ended) >= self.after


def test_callbacks_see_every_task(found):
    watcher = Stopper(10**6)
    result = compare(*make_frame(), **FAST, callbacks=[watcher])
    assert len(watcher.ended) == len(set(watcher.ended)) == len(watcher.start.plan.tasks)
    assert result.honest_score == found.honest_score


def test_slow_methods_are_skipped_by_the_numbers_that_are_announced(monkeypatch):
    """Six tasks each; nothing is trained before it is announced."""
    trained = []

    class Watcher(Stopper):
        def on_start(self, start):
            assert not trained
            super().on_start(start)

    centers = find_method("centers")
    train = type(centers).train
    monkeypatch.setattr(centers, "train", lambda *a: trained.append(1) or train(centers, *a))
    monkeypatch.setattr(centers, "seconds", lambda *sizes: 190.0)
    monkeypatch.setattr(find_method("medians"), "seconds", lambda *sizes: 210.0)
    slow = ("primal-dual", "panel", "landmarks", "datum-wise")
    for name in (*slow, "l1-logistic", "relaxed-l1", "rfe", "random-forest"):
        monkeypatch.setattr(find_method(name), "seconds", lambda *sizes: 1e4)
    watcher = Watcher(10**6)
    result = compare(*make_frame(), cv=3, repeats=1, callbacks=[watcher])
    n_tasks = sum(task.method == "centers" for task in watcher.start.plan.tasks)
    assert n_tasks == 6 and trained and result.choice.method == "centers"
    assert watcher.start.seconds["centers"] == 190.0
    assert result.left_out["medians"] == n_tasks * 210.0 / 2  # 630 s, more than ten minutes
    told = "medians is not run: it would take about 10 min (methods=all runs it)"
    assert told in watcher.start.notes and "medians" not in watcher.start.seconds


def test_a_stopped_comparison_resumes(found, tmp_path):
    stopped = compare(
        *make_frame(),
        **{**FAST, "methods": ["centers", "medians", "most-frequent"]},
        checkpoints=tmp_path,
        callbacks=[Stopper(1)],
    )
    assert stopped.n_left > 0 and stopped.choice is not None
    watcher = Stopper(10**6)
    options = {**FAST, "methods": ["centers", "medians", "most-frequent"]}
    whole = compare(*make_frame(), **options, checkpoints=tmp_path, callbacks=[watcher])
    assert whole.n_left == 0
    assert whole.honest_score == compare(*make_frame(), **options).honest_score


def test_checkpoints_of_other_data_are_refused(tmp_path):
    X, y = make_frame()
    compare(X, y, checkpoints=tmp_path, **FAST)
    with pytest.raises(ValueError, match="holds results of a different comparison"):
        compare(X.assign(noise=0.5), y, checkpoints=tmp_path, **FAST)
    compare(X.assign(noise=0.5), y, checkpoints=tmp_path, force=True, **FAST)


def test_results_do_not_depend_on_the_number_of_processes(found):
    parallel = compare(*make_frame(), **FAST, n_jobs=2)
    assert parallel.honest_score == found.honest_score
    assert_allclose(parallel.table["score"], found.table["score"], rtol=0, atol=0)


def test_a_table_that_was_read(found, tmp_path):
    X, y = make_frame()
    X.assign(state=y).to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv", target="state")
    assert list(table.frame.columns) == list(X.columns)
    result = compare(table, **FAST)
    assert result.choice == found.choice
    with pytest.raises(ValueError, match="drop belongs to read_table"):
        compare(table, drop=["age"], **FAST)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": "center"}, "methods=center: the methods are"),
        ({"methods": ["most-frequent"]}, "methods: none of the methods named may be recommended"),
        ({"scoring": "r2"}, "scoring must be one of"),
        ({"duplicates": "no"}, "duplicates must be one of"),
        ({"min_sensitivity": 0.9}, "min_sensitivity: name the class .* with positive=CLASS"),
        ({"positive": "ill"}, "positive=ill: the classes are"),
        ({"keep": ["ages"]}, "keep=ages: no such feature; did you mean age"),
        ({"costs": {"ages": 2.0}}, "costs ages: no such feature; did you mean age"),
        ({"feature_groups": {"g": ["ages"]}}, "feature_groups ages: no such feature"),
        ({"cv": 1}, "cv must be an integer of at least 2, got 1"),
        ({"cv": 2.5}, "cv must be an integer of at least 2, got 2.5"),
        ({"tolerance": -0.1}, "tolerance must be a number of at least 0"),
        ({"max_features": 0}, "max_features must be an integer of at least 1"),
        ({"redundancy": 2}, "redundancy must be a number above 0 and at most 1"),
        ({"permutations": -1}, "permutations must be an integer of at least 0"),
        ({"groups": np.arange(3)}, "groups must have one value for each of the 90 rows"),
        ({"n_jobs": 0}, "n_jobs=0: expected 1 or more"),
        ({"text": ["nothing"]}, "no column 'nothing'"),
    ],
)
def test_wrong_calls(options, message):
    with pytest.raises(ValueError, match=message):
        compare(*make_frame(), **{**FAST, **options})


def test_labels_are_needed():
    with pytest.raises(ValueError, match="y is missing"):
        compare(make_frame()[0])


def test_without_a_finished_method_the_recommendation_says_why():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    comparison = compare(X, y, methods=["centers", "most-frequent"], cv=2, repeats=1)
    nothing = replace(comparison, recommended=None, honest=None, unfinished=["centers"])
    for name in ("choice", "honest_score", "final_choice", "clinical"):
        with pytest.raises(ValueError, match=r"not finished: \['centers'\]"):
            getattr(nothing, name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("visit", r"visit: no such feature: dropped visit \(dates\), seen \(dates\);"),
        ("seen", r"seen: no such feature: dropped visit"),
        ("ages", "ages: no such feature; did you mean age"),
        ("dates", r"dates: no such feature(?!: dropped)"),
        ("i", r"i: no such feature(?!: dropped)"),
    ],
)
def test_wrong_calls_name_columns_that_were_dropped(name, message):
    X, y = make_frame()
    dates = [f"2024-01-{day % 28 + 1:02d}" for day in range(len(X))]
    X = X.assign(visit=dates, seen=dates[::-1])
    with pytest.warns(match="dropped visit"), pytest.raises(ValueError, match=f"keep={message}"):
        compare(X, y, **FAST, keep=[name])
