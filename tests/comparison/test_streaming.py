"""Streamed tables: everything that all rows decide equals what it would be in memory."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("pyarrow")

from tamis.comparison.comparing import compare_table
from tamis.comparison.fitted.final import fit_final
from tamis.comparison.options import Options
from tamis.comparison.stream_decision import Decision, decide, require_disk
from tamis.comparison.streaming import training_rows
from tamis.comparison.streaming.streamed import open_stream
from tamis.models.saving import save_model
from tamis.panel.forward import dense_columns
from tamis.panel.settings import Setting, fit_settings
from tamis.tables import InputError, read_table
from tamis.tables.reading import row_stream

SAMPLE = 400


def write_table(path, n_rows=2500, *, seed=0):
    """Odd names, gaps, a rare category, groups, weights, copies, rows without labels, text."""
    rng = np.random.default_rng(seed)
    lines = ['id,"dose, mg",x=1,x2,noise,colour,word,w,patient,text,y']
    for i in range(n_rows):
        ill = rng.random() < 0.3
        numbers = rng.normal(size=4) + np.array([1.5, 1.0, 0.5, 0.0]) * ill
        fields = [
            "" if rng.random() < 0.1 * (j % 2) else f"{v:.4f}" for j, v in enumerate(numbers)
        ]
        colour = (
            "" if rng.random() < 0.05 else ("red", "blue")[int(rng.random() < 0.3 + 0.4 * ill)]
        )
        colour = "violet" if i == 1234 else colour
        words = rng.choice(["fever", "cough", "rest", "well"], 3, p=[0.4, 0.3, 0.2, 0.1])
        text = " ".join([*words, "sick" if ill else "fine", *(["unique"] * (i in (5, 2000)))])
        label = "" if i % 100 == 50 else ("ill" if ill else "well")
        lines.append(
            f"r{i},{','.join(fields)},{colour},{'no' if i % 7 else 'yes'},{1 + i % 3},"
            f"p{i // 4},{text},{label}"
        )
        if i % 50 == 0:
            lines.append(lines[-1])
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("streamed") / "t.csv")


READING = {"target": "y", "max_size": None, "drop": ["w", "text", "patient"]}
KINDS = {
    "plain": {},
    "weights": {"weights": "w", "drop": ["text", "patient"]},
    "groups": {"groups": "patient", "drop": ["w", "text"]},
    "text": {"text": ["text"], "drop": ["w", "patient", "colour"]},
}


def make_options(method, **more):
    methods = (method, "most-frequent")
    return Options(methods=methods, folds=2, repeats=1, seed=0, **more)


def stream(data, reading, options, folder=None, tell=lambda message: None, rows=SAMPLE):
    decision = Decision("on", True, "t.csv", 0, sample_rows=rows)
    table, streamed = open_stream(data, reading, options, decision, folder=folder, tell=tell)
    return compare_table(table, options, streamed=streamed, n_jobs=1)


def test_a_score_outside_the_sample_that_fails_costs_nothing_else(data, monkeypatch):
    def fail(*words):
        raise ValueError("no pass today")

    monkeypatch.delenv("TAMIS_DEBUG", raising=False)
    monkeypatch.setattr("tamis.comparison.streaming.description.verify", fail)
    comparison = stream(data, READING, make_options("centers"))
    with pytest.warns(UserWarning, match="the score outside the sample could not be made: no"):
        metrics = comparison.metrics
    assert metrics["not_described"] == {"outside_sample": "no pass today (ValueError)"}
    assert metrics["streaming"]["outside_sample"] is None
    assert metrics["streaming"]["parts"]["final model"].startswith("streamed: all")


# Medians of rare words are zero. The rest of the pairs run with the slow tests.
@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("centers", "text"),
        ("centers", "weights"),
        ("medians", "groups"),
        *(
            pytest.param(method, kind, marks=pytest.mark.slow)
            for method, kind in [
                ("centers", "plain"),
                ("centers", "groups"),
                ("medians", "plain"),
                ("medians", "weights"),
            ]
        ),
    ],
)
def test_centers_are_those_of_all_rows(data, kind, method):
    reading = READING | KINDS[kind]
    options = make_options(method, vectorizer="tfidf" if kind == "text" else "counts")
    comparison = stream(data, reading, options)
    streamed, records, metrics = comparison.fitted(comparison.find(method, 5))
    whole = compare_table(read_table(data, **reading), options, n_jobs=1)
    expected, expected_records, _ = whole.fitted(whole.find(method, 5))
    assert comparison.problem.names == whole.problem.names
    assert {r["feature"] for r in records} == {r["feature"] for r in expected_records}
    require_same_records(records, expected_records, with_p=kind != "groups")
    assert comparison.problem.n_rows < 420 < 2400 < whole.problem.n_rows
    one, other = streamed.preparation, expected.preparation
    assert one.columns == other.columns and one.others == other.others
    assert one.categories == other.categories and one.missing == other.missing
    np.testing.assert_array_equal(one.fill, other.fill)
    np.testing.assert_array_equal(one.ranges, other.ranges)
    for name, text in one.texts.items():
        np.testing.assert_allclose(text.idf, other.texts[name].idf, rtol=1e-13)
    if method == "medians":
        np.testing.assert_array_equal(streamed.estimator.centers_, expected.estimator.centers_)
    else:
        np.testing.assert_allclose(
            streamed.estimator.centers_, expected.estimator.centers_, rtol=1e-10, atol=1e-12
        )
    counts = np.bincount(whole.problem.codes, whole.problem.weights)
    np.testing.assert_allclose(streamed.frequencies, counts / counts.sum())
    assert metrics["streaming"]["rows"] == whole.problem.n_rows
    assert metrics["streaming"]["parts"]["final model"].startswith("streamed: all")


def require_same_records(records, expected, with_p):
    """Check what is said about features against the same of data in memory."""
    expected = {record["feature"]: record for record in expected}
    for record in records:
        wanted = expected[record["feature"]]
        # Of two classes, one stands out as much as the other, to rounding.
        assert record["stands_out"].split()[-1] in ("ill", "well")
        for label, center in wanted["centers"].items():
            found = record["centers"][label]
            assert np.shape(found) == np.shape(center)
            pairs = [(found, center)]
            if isinstance(center, dict):
                assert list(found) == list(center)
                pairs = [(found[name], center[name]) for name in center]
            for one, other in pairs:
                assert one == pytest.approx(other, rel=1e-9, abs=1e-12)
        for name in ("p", "q") if with_p else ():
            assert record[name] == pytest.approx(wanted[name], rel=1e-6, abs=1e-300)


def keys(table):
    """What the rows of a table hold."""
    columns = [*table.columns.numeric.T.tolist(), *map(list, table.columns.others.values())]
    return list(zip(*[map(str, column) for column in columns], strict=True))


@pytest.mark.parametrize("method", ["medians", "panel"])
@pytest.mark.parametrize("kind", ["plain", "groups"])
def test_calibration_rows_and_their_copies_do_not_train(data, kind, method):
    reading, options = READING | KINDS[kind], make_options(method, calibration_share=0.3)
    comparison = stream(data, reading, options)
    streamed, records, metrics = comparison.fitted(comparison.find(method, 3))
    whole, aside = read_table(data, **reading), comparison.kept.table
    out = set(keys(aside))
    trains = np.array([key not in out for key in keys(whole)])
    if kind == "groups":
        trains &= ~np.isin(whole.groups, aside.groups)
    n_out = whole.n_rows - int(trains.sum())
    assert aside.n_rows < n_out or kind == "groups"
    final = metrics["streaming"]["parts"]["final model"]
    assert final.startswith(f"streamed: all {whole.n_rows:,} rows but {n_out} (calibration set")
    rest = whole.take(np.flatnonzero(trains))
    require_trained_on(streamed, records, rest, make_options(method))
    assert streamed.calibration is not None
    assert metrics["calibration"]["rows"]["calibration"] == aside.n_rows


def require_trained_on(streamed, records, rest, options):
    """Check that a model was trained on these rows, with the features that it has."""
    expected = compare_table(rest, options, n_jobs=1)
    problem = expected.problem
    counts = np.bincount(problem.codes, problem.weights)
    assert_allclose(streamed.frequencies, counts / counts.sum())
    if "medians" in options.methods:
        model = expected.fitted(expected.find("medians", 3))[0]
        assert_array_equal(streamed.preparation.fill, model.preparation.fill)
        assert_array_equal(streamed.estimator.centers_, model.estimator.centers_)
        return
    part = problem.train_part(np.arange(problem.n_rows), problem.codes, 0)
    features = [problem.names.index(record["feature"]) for record in records]
    columns = np.flatnonzero(np.isin(part.feature_of, features))
    panel = streamed.estimator
    setting = Setting(panel.head_, tuple(panel._head_state["values"]))
    given = dense_columns(part.X, columns), part.codes, np.ones(problem.n_rows)
    (head,) = fit_settings(*given, 2, [setting], "balanced", 0)
    assert_allclose(panel._head_state["coef"], head.coef, rtol=1e-7)


@pytest.mark.parametrize("method", ["medians", "panel"])
def test_dropped_duplicates_do_not_train(data, method, monkeypatch):
    monkeypatch.setattr(training_rows, "_HASH_BYTES", 1e7)  # many parts
    options = make_options(method, duplicates="drop")
    comparison = stream(data, READING, options)
    streamed, records, metrics = comparison.fitted(comparison.find(method, 3))
    whole = read_table(data, **READING)
    _, first = np.unique(
        [repr(key) for key in zip(keys(whole), whole.y, strict=True)], return_index=True
    )
    assert 20 < whole.n_rows - first.size < 30
    n_out = whole.n_rows - first.size
    final = metrics["streaming"]["parts"]["final model"]
    assert final.startswith(f"streamed: all {whole.n_rows:,} rows but {n_out} (")
    require_trained_on(streamed, records, whole.take(np.sort(first)), options)


def test_equal_rows_of_a_coarse_table_train_all(tmp_path):
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 2, (3000, 4))
    labels = (answers[:, 0] + rng.random(3000) > 0.9).astype(int)
    lines = [",".join(map(str, [*a, c])) for a, c in zip(answers, labels, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,d,y", *lines]))
    reading = {"target": "y", "max_size": None}
    for more in ({"duplicates": "drop"}, {"calibration_share": 0.2}):
        comparison = stream(tmp_path / "t.csv", reading, make_options("centers", **more))
        metrics = comparison.metrics
        final = metrics["streaming"]["parts"]["final model"]
        n_out = comparison.kept.table.n_rows if comparison.kept else 0
        assert final.startswith("streamed: all 3,000 rows" + (f" but {n_out} " if n_out else ""))
        assert final.endswith(" rows") or n_out


def test_costs_of_errors_decide_with_the_frequencies_of_all_rows(data):
    costs = {("ill", "well"): 5.0, ("well", "ill"): 1.0}
    options = make_options("centers", misclassification=costs)
    streamed = stream(data, READING, options)
    model = streamed.fitted(streamed.find("centers", 3))[0]
    whole = compare_table(read_table(data, **READING), options, n_jobs=1)
    expected = whole.fitted(whole.find("centers", 3))[0]
    rows = whole.data.columns
    assert_array_equal(model.misclassification, expected.misclassification)
    counts = np.bincount(whole.problem.codes)
    assert_allclose(model.frequencies, counts / counts.sum())
    found, wanted = (m.predict_rows(rows).labels for m in (model, expected))
    plain = stream(data, READING, make_options("centers"))
    plain = plain.fitted(plain.find("centers", 3))[0].predict_rows(rows).labels
    # The temperature is that of the sample.
    assert (found == wanted).mean() > 0.97 and (found == "ill").sum() > (plain == "ill").sum()


@pytest.mark.parametrize("kind", ["text", "weights"])
def test_the_head_of_a_panel_is_that_of_all_rows(data, kind):
    reading = READING | KINDS[kind]
    options = make_options("panel", vectorizer="tfidf" if kind == "text" else "counts")
    comparison = stream(data, reading, options)
    choice = comparison.find("panel", 3)
    streamed, records, metrics = comparison.fitted(choice)
    final = metrics["streaming"]["parts"]["final model"]
    assert final.startswith("streamed: all") and final.endswith("the sample chose the features")
    problem = compare_table(read_table(data, **reading), options, n_jobs=1).problem
    part = problem.train_part(np.arange(problem.n_rows), problem.codes, 0)
    features = np.sort([problem.names.index(record["feature"]) for record in records])
    columns = np.flatnonzero(np.isin(part.feature_of, features))
    weights = np.ones(problem.n_rows) if part.weights is None else part.weights
    panel = streamed.estimator
    setting = Setting(panel.head_, tuple(panel._head_state["values"]))
    (head,) = fit_settings(
        dense_columns(part.X, columns), part.codes, weights, 2, [setting], "balanced", 0
    )
    assert_allclose(panel._head_state["coef"], head.coef, rtol=1e-7)
    assert_allclose(panel._head_state["intercept"], head.intercept, rtol=1e-7)
    of_sample = fit_final(comparison, choice)[0].estimator
    assert panel.temperature_ == of_sample.temperature_
    assert np.abs(of_sample._head_state["coef"] / head.coef - 1).min() > 1e-3


@pytest.mark.filterwarnings("ignore:.*too few.*")
def test_bumps_of_a_panel_stay_those_of_the_sample(data):
    comparison = stream(data, READING, make_options("panel-kernel"))
    choice = comparison.find("panel-kernel", 3)
    one, other = comparison.fitted(choice)[0], fit_final(comparison, choice)[0]
    one, other = one.estimator._head_state, other.estimator._head_state
    assert one["landmarks"].shape == other["landmarks"].shape
    # In their own units, which are the features' deviations in all rows.
    assert_allclose(
        one["landmarks"] * one["scale"] + one["center"],
        other["landmarks"] * other["scale"] + other["center"],
        atol=1e-9,
    )
    assert np.abs(one["coef"] - other["coef"]).max() > 1e-3


def test_the_score_outside_the_sample_is_that_of_its_rows(data):
    options = make_options("centers")
    comparison = stream(data, READING, options)
    table = comparison.streamed.table
    metrics = comparison.metrics
    verified = metrics["streaming"]["outside_sample"]
    # The same in memory: the model of the sample, the rows that equal none of the sample.
    model, _ = fit_final(comparison, comparison.choice)
    whole = read_table(data, **READING)

    known = set(keys(table))
    rows = np.array([key not in known for key in keys(whole)])
    rest = whole.take(np.flatnonzero(rows))
    said = model.predict_rows(rest.columns).labels
    recalls = [np.mean(said[rest.y == label] == label) for label in ("ill", "well")]
    n_copies = whole.n_rows - table.n_rows - rest.n_rows
    assert n_copies > 0  # copies of rows of the sample
    assert verified["rows"] == rest.n_rows and verified["duplicates_left_out"] == n_copies
    assert verified["score"] == pytest.approx(np.mean(recalls), rel=1e-12)
    low, high = verified["interval_95"]
    assert low < verified["score"] < high and high - low < 0.1
    codes = [check["code"] for check in metrics["checks"]]
    assert "streamed" in codes and "outside-sample" in codes


def test_nothing_depends_on_the_size_of_chunks(data, monkeypatch):
    options = make_options("medians")
    found = []
    for values in (1_000, 10**6):
        monkeypatch.setattr(row_stream, "_CHUNK_VALUES", values)
        comparison = stream(data, READING, options)
        assert comparison.streamed.stream.chunk_rows == values // 6
        model, _, metrics = comparison.fitted(comparison.choice)
        found.append((model, json.dumps(metrics["streaming"]["outside_sample"])))
    (one, outside), (other, again) = found
    assert outside == again and one.preparation.columns == other.preparation.columns
    assert_array_equal(one.preparation.fill, other.preparation.fill)
    rows = comparison.data.columns
    # Mean deviations are sums of floating-point numbers.
    assert_allclose(one.predict_proba(rows), other.predict_proba(rows), rtol=1e-12)


def test_other_methods_are_trained_on_the_sample(data):
    comparison = stream(data, READING, make_options("primal-dual"))
    told = comparison.metrics["streaming"]
    sample = f"sample: {comparison.problem.n_rows:,} of {told['rows']:,} rows"
    assert told["parts"]["final model"] == f"{sample} (primal-dual needs its rows in memory)"
    assert told["outside_sample"]["rows"] > 1900


def test_a_sample_of_everything_is_the_table(data):
    options = make_options("centers")
    decision = Decision("on", True, "t.csv", 0, sample_rows=10_000)
    table, streamed = open_stream(data, READING, options, decision)
    whole = read_table(data, **READING)
    assert streamed is None
    np.testing.assert_array_equal(table.columns.numeric, whole.columns.numeric)
    assert table.y.tolist() == whole.y.tolist() and table.kinds == whole.kinds
    for name, values in whole.columns.others.items():
        assert table.columns.others[name].tolist() == values.tolist()


def test_passes_of_other_options_are_not_taken_for_those_of_a_model(data, tmp_path):
    """The file and its sample are the same; the models and their scores are not."""
    said = []
    plain = stream(data, READING, make_options("centers"), tmp_path, said.append)
    plain.metrics  # noqa: B018
    del said[:]
    more = {"keep": ("noise",), "max_features": 1}
    kept = stream(data, READING, make_options("centers", **more), tmp_path, said.append)
    assert kept.metrics["streaming"]["outside_sample"] is not None
    assert {"training", "scoring"} <= {line.split()[0] for line in said}
    fresh = stream(data, READING, make_options("centers", **more))
    assert kept.metrics["streaming"] == fresh.metrics["streaming"]


class Killed(BaseException):
    """The process is killed."""


@pytest.fixture
def starts(monkeypatch):
    """Receives the columns of each pass over the rows of a file."""
    found, read = [], row_stream.read_rows

    def note(path, columns, *words, **options):
        found.append(tuple(columns))
        return read(path, columns, *words, **options)

    monkeypatch.setattr(row_stream, "read_rows", note)
    return found


def resume_until_it_ends(data, options, folder):
    """Kill a run at the beginning of each of its passes, and go on: model, metrics, messages."""
    said = set()

    def tell(message):
        if message not in said:
            said.add(message)
            raise Killed

    for _ in range(100):
        try:
            comparison = stream(data, READING | {"groups": "patient"}, options, folder, tell)
            model = comparison.fitted(comparison.choice)[0]
            return model, comparison.metrics["streaming"], said
        except Killed:
            continue
    raise AssertionError("it never ends")


@pytest.mark.parametrize("method", ["medians", "panel"])
def test_a_run_killed_in_each_pass_repeats_no_other(data, method, tmp_path, starts, monkeypatch):
    if method == "panel":  # no memory for the columns of all rows, so there are several passes
        monkeypatch.setattr("tamis.comparison.streaming.streamed.available_memory", lambda: 0)
    options = make_options(method)
    reading = READING | {"groups": "patient"}
    expected = stream(data, reading, options, tmp_path / "undisturbed")
    save_model(expected.table_model(expected.choice), tmp_path / "expected.json")
    told = expected.metrics["streaming"]
    undisturbed = starts[:]
    del starts[:]
    model, again, said = resume_until_it_ends(data, options, tmp_path / "killed")
    assert starts == undisturbed
    # Besides these, the rows of the sample are read.
    assert len(said) == len(starts) + 1 > 8
    save_model(model, tmp_path / "model.json")
    assert (tmp_path / "model.json").read_bytes() == (tmp_path / "expected.json").read_bytes()
    assert again == told
    kept = {path.name for path in (tmp_path / "killed").glob("*.npz")}
    assert kept == {path.name for path in (tmp_path / "undisturbed").glob("*.npz")}
    assert not any("pass" in name for name in kept)


@pytest.mark.parametrize("rare", ["2.5", "2"], ids=["relative", "counts"])
def test_weights_of_a_sample_are_read_as_those_of_all_rows(tmp_path, rare):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal() + i % 2},{rng.normal()},2,{i % 2}" for i in range(900)]
    rows[700:703] = [f"0.5,0,{rare},1"] * 3
    rows.append("0.1,0.2,,")  # without a label, and so without a weight
    (tmp_path / "t.csv").write_text("\n".join(["x,z,w,y", *rows]))
    reading = {"target": "y", "weights": "w", "max_size": None}
    decision = Decision("on", True, "t.csv", 0, sample_rows=100)
    options = make_options("centers")
    table, streamed = open_stream(tmp_path / "t.csv", reading, options, decision, folder=tmp_path)
    again, _ = open_stream(tmp_path / "t.csv", reading, options, decision, folder=tmp_path)
    whole = read_table(tmp_path / "t.csv", **reading)
    # None of the few other weights is in the sample.
    assert table.n_rows == 200 and set(table.weights) == {whole.weights[0]}
    np.testing.assert_array_equal(again.weights, table.weights)
    found = np.concatenate([chunk.weights for chunk in streamed.stream])
    np.testing.assert_allclose(found, whole.weights, rtol=1e-12)
    assert [n for n in table.notes if "weights" in n] == [n for n in whole.notes if "weights" in n]


def test_rows_of_weight_0_are_absent_from_a_stream(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal() + i % 2},{i},{int(i % 3 > 0)},{i % 2}" for i in range(900)]
    rows += ["9,900,0,gone"] * 5
    (tmp_path / "t.csv").write_text("\n".join(["x,z,w,y", *rows]))
    reading = {"target": "y", "weights": "w", "include": ["z"], "max_size": None}
    decision = Decision("on", True, "t.csv", 0, sample_rows=100)
    path, options = tmp_path / "t.csv", make_options("centers")
    table, streamed = open_stream(path, reading, options, decision, folder=tmp_path)
    whole = read_table(path, **reading)
    assert "305 rows of weight 0 ignored" in whole.notes and whole.n_rows == 600
    assert "rows of weight 0 ignored" in table.notes
    assert any(f"sample of {table.n_rows} of 600 rows" in note for note in table.notes)
    assert (table.weights == 1).all() and streamed.n_rows == 600
    found = np.concatenate([chunk.table.numeric for chunk in streamed.stream])
    np.testing.assert_allclose(found, whole.columns.numeric)


def test_large_groups_are_sampled_by_row(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal() + i % 2},{rng.normal()},{'abc'[i % 3]},{i % 2}" for i in range(3000)]
    (tmp_path / "t.csv").write_text("\n".join(["x,z,g,y", *rows]))
    reading = {"target": "y", "groups": "g", "max_size": None}
    comparison = stream(tmp_path / "t.csv", reading, make_options("centers"))
    assert comparison.problem.n_rows == SAMPLE and set(comparison.data.groups) == set("abc")
    assert comparison.metrics["streaming"]["outside_sample"] is None
    assert any("too large for the sample" in note for note in comparison.data.notes)


def test_equal_rows_of_a_coarse_table_count(tmp_path):
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 2, (3000, 4))
    labels = (answers[:, 0] + rng.random(3000) > 0.9).astype(int)
    lines = [",".join(map(str, [*a, c])) for a, c in zip(answers, labels, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,d,y", *lines]))
    reading = {"target": "y", "max_size": None}
    comparison = stream(tmp_path / "t.csv", reading, make_options("centers"))
    verified = comparison.metrics["streaming"]["outside_sample"]
    assert verified["rows"] == 3000 - SAMPLE and verified["duplicates_left_out"] == 0


# Decisions.


def test_the_decision_compares_the_table_with_the_memory(data, monkeypatch):
    def decided(available, mode="auto", **more):
        monkeypatch.setattr("tamis.comparison.stream_decision.available_memory", lambda: available)
        return decide(data, READING, mode, **more)

    monkeypatch.setattr("tamis.comparison.stream_decision._PERMUTED_ROW", 0)
    size = decided(1e12).table_bytes
    assert 100_000 < size < 400_000 and not decided(1e12).streams
    assert decided(1e12).sentence is None
    assert not decided(6.8 * size).streams and decided(6.6 * size).streams
    small = decided(6 * size)
    n_rows = 2 * size / 6.7 / (size / 2805)  # of 2,550 rows, estimated with a margin
    assert small.sample_rows == pytest.approx(n_rows, rel=0.1)
    assert decided(1e12, "on").sample_rows == 100_000
    assert decided(1e12, max_size=int(size / 2)).streams
    assert (
        not decided(3 * size, "off").streams
        and "--stream off" in decided(3 * size, "off").sentence
    )
    kept = decided(1e12, recorded=small.as_dict())
    assert kept == small
    with pytest.raises(InputError, match="the table was streamed when this run began"):
        decided(1e12, "off", recorded=small.as_dict())
    with pytest.raises(InputError, match=r"does not fit in 0\.0 MB; more memory"):
        decided(100.0)


def test_the_disk_that_checkpoints_take_is_said_beforehand(data, tmp_path, monkeypatch):
    assert require_disk(decide(data, READING), tmp_path) is None
    decision = decide(data, READING, "on", max_size=20_000)
    said = require_disk(decision, tmp_path / "run" / "of" / "today")
    assert said.startswith(f"checkpoints take at most about {decision.disk_bytes / 1e6:.1f} MB")
    comparison = stream(data, READING, make_options("panel"), tmp_path, rows=decision.sample_rows)
    comparison.fitted(comparison.choice)
    written = sum(path.stat().st_size for path in tmp_path.rglob("*"))
    assert 0 < written < decision.disk_bytes
    free = SimpleNamespace(free=1e6)
    monkeypatch.setattr("tamis.comparison.stream_decision.disk_usage", lambda path: free)
    with pytest.raises(InputError, match=r"about \d\.\d MB of disk, and 1\.0 MB are free"):
        require_disk(decision, tmp_path)


@pytest.mark.parametrize(
    ("name", "reading", "reason"),
    [("t.npz", {}, "npz files"), ("t.csv", {"transpose": True}, "features in rows")],
)
def test_what_cannot_be_streamed_is_said(name, reading, reason, tmp_path, data):
    path = tmp_path / name
    if name == "t.npz":
        np.savez(path, X=np.eye(4), y=np.arange(4))
    else:
        path.write_bytes(data.read_bytes())
    with pytest.raises(InputError, match=f"stream=on: .*{reason}"):
        decide(path, reading, "on")
    assert not decide(path, reading).streams and reason in decide(path, reading).reason
