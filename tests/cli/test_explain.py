import math
from collections import defaultdict

import numpy as np
import pytest

from tamis.cli import main
from tamis.models.saving import read_model
from tamis.tables import read_rows
from tamis.tables.classifying.explanations import explain_margins
from tests.cli.conftest import HEADER, make_model, make_rows, unwrapped, write_csv


def sums_of(rows):
    found = defaultdict(float)
    for row in rows:
        found[row["row"]] += float(row["contribution"])
    return np.array(list(found.values()))


def margins_of(model, data):
    """Logarithms of the largest over the second largest probability, from predictions alone."""
    model = read_model(model)
    chunk, _ = next(read_rows(data, model.preparation.required, model.preparation.kinds))
    p = np.sort(model.predict_proba(chunk), axis=1)
    return np.log(p[:, -1] / p[:, -2])


@pytest.mark.parametrize("top", ["1", "2", "10"])
@pytest.mark.parametrize("method", ["centers", "medians", "primal-dual", "panel"])
def test_contributions_sum_to_the_margin(models, new, table, method, top):
    rows = table("explain", models[method], new, "--top", top)
    np.testing.assert_allclose(sums_of(rows), margins_of(models[method], new), atol=1e-6)


@pytest.mark.parametrize("method", ["centers", "medians", "primal-dual", "panel"])
def test_contributions_of_three_classes_sum_to_the_margin(three, table, method):
    data, models = three
    rows = table("explain", models[method], data, "--top", "2")
    np.testing.assert_allclose(sums_of(rows), margins_of(models[method], data), atol=1e-6)


@pytest.mark.parametrize("method", ["centers", "primal-dual"])
def test_contributions_of_words_sum_to_the_margin(tmp_path, table, method):
    rng = np.random.default_rng(0)
    words = (["good", "fine", "nice"], ["bad", "poor", "sad"])
    rows = [
        [i, " ".join(rng.choice([*words[i % 2], "so", "very"], 5)), rng.normal(), i % 2]
        for i in range(60)
    ]
    data = write_csv(tmp_path / "text.csv", ["name", "review", "size", "y"], rows)
    model = make_model(data, method, tmp_path / "text.json", text=["review"])
    found = table("explain", model, data)
    np.testing.assert_allclose(sums_of(found), margins_of(model, data), atol=1e-6)
    told = [row for row in found if row["feature"].startswith("review: ")]
    for row in told:
        word = row["feature"].removeprefix("review: ")
        assert int(row["value"]) == rows[int(row["row"]) - 1][1].split().count(word)
    assert len(told) > 60


def test_a_kernel_is_not_explained_feature_by_feature(models, new, refuses):
    refuses("explain", models["kernel"], new, match="a panel with a kernel", offers=True)


def test_the_largest_contributions_come_first(models, new, table):
    rows = table("explain", models["centers"], new, "--id", "name")
    assert list(rows[0]) == [
        "name",
        "prediction",
        "probability",
        "runner_up",
        "rank",
        "feature",
        "value",
        "contribution",
    ]
    ranked = [row for row in rows if row["name"] == "s5" and row["rank"]]
    sizes = [abs(float(row["contribution"])) for row in ranked]
    assert sizes == sorted(sizes, reverse=True)
    assert [row["rank"] for row in ranked] == [str(i) for i in range(1, len(ranked) + 1)]
    assert {row["feature"] for row in ranked} <= {"age", "dose", "color", "noise"}


def test_top_leaves_the_rest_together(models, new, table):
    rows = [r for r in table("explain", models["centers"], new, "--top", "1") if r["row"] == "1"]
    assert [row["rank"] for row in rows] == ["", "1", ""]
    assert [rows[0]["feature"], rows[2]["feature"]] == ["(base)", "(other features)"]


def test_values_are_those_of_the_table(models, tmp_path, table):
    rows = [["a", "61.25", "2.5", "green", "0.1", "ill"], ["b", "", "0.7", "", "-1", "well"]]
    data = write_csv(tmp_path / "two.csv", HEADER, rows)
    found = table("explain", models["centers"], data, "--id", "name")
    value = {(row["name"], row["feature"]): row["value"] for row in found if row["rank"]}
    assert value["a", "age"] == "61.25" and value["a", "color"] == "green"
    assert value["b", "dose"] == "0.7"
    assert value["b", "color"] == "(missing, red)"
    assert value.get(("b", "age"), "(missing, ").startswith("(missing, ")


def test_a_group_is_one_contribution(small, tmp_path):
    from dataclasses import replace

    path = make_model(small, "centers", tmp_path / "grouped.json")
    model = read_model(path)
    chunk, _ = next(read_rows(small, model.preparation.required, model.preparation.kinds))
    plain = explain_margins(model, chunk)
    model.preparation = replace(model.preparation, groups={"age": "visit", "color": "visit"})
    grouped = explain_margins(model, chunk)
    assert set(grouped.features) == {"visit", "dose", "noise"}
    together = plain.values[:, [plain.features.index(f) for f in ("age", "color")]].sum(axis=1)
    np.testing.assert_allclose(grouped.values[:, grouped.features.index("visit")], together)


def test_a_threshold_may_give_a_negative_margin(models, new):
    model = read_model(models["centers"])
    model.positive, model.threshold = "ill", 0.05
    chunk, _ = next(read_rows(new, model.preparation.required, model.preparation.kinds))
    found = explain_margins(model, chunk)
    assert found.labels.tolist() == model.predict(chunk).tolist()
    p = found.probabilities
    np.testing.assert_allclose(found.margins, np.log(p / (1 - p)), atol=1e-9)
    assert (found.margins < 0).any()


def test_landmarks_are_training_rows_with_their_labels(models, small, new, table, tamis):
    assert "the first row after the header is 1" in tamis("explain", models["landmarks"], new)[2]
    rows = table("explain", models["landmarks"], new, "--top", "3")
    assert list(rows[0])[1:] == [
        "prediction",
        "probability",
        "rank",
        "training_row",
        "label",
        "distance",
    ]
    labels = [row[-1] for row in make_rows(60, 0)]
    for row in rows:
        assert row["label"] == labels[int(row["training_row"]) - 1]
    first = [float(row["distance"]) for row in rows if row["row"] == "1"]
    assert first == sorted(first) and len(first) <= 3


def test_sequences_end_with_the_prediction(models, new, table):
    predicted = table("predict", models["datum-wise"], new)
    rows = table("explain", models["datum-wise"], new)
    assert list(rows[0]) == ["row", "step", "feature", "value", "prediction", "probability"]
    for said in predicted:
        own = [row for row in rows if row["row"] == said["row"]]
        assert [row["step"] for row in own] == [str(i) for i in range(len(own))]
        assert ";".join(row["feature"] for row in own[1:]) == said["asked"]
        assert own[-1]["prediction"] == said["prediction"]
        best = max(float(said["p_ill"]), float(said["p_well"]))
        assert math.isclose(float(own[-1]["probability"]), best, rel_tol=1e-9)


def test_what_cannot_be_had_has_no_value(models, tmp_path, table):
    data = write_csv(tmp_path / "dose.csv", ["dose"], [[1.2], [2.1]])
    rows = table("explain", models["datum-wise"], data)
    assert {row["feature"] for row in rows} <= {"", "dose"}


def test_a_table_without_rows_gives_a_header(models, tmp_path, tamis):
    empty = write_csv(tmp_path / "empty.csv", HEADER, [])
    for method in ("centers", "landmarks", "datum-wise"):
        code, out, err = tamis("explain", models[method], empty)
        assert (code, out.count("\n")) == (0, 1)
        assert err.count("\n") == 2 + (method == "landmarks")


def test_nonsense_is_one_line(models, new, tmp_path, refuses, tamis):
    refuses("explain", tmp_path / "nowhere", new, match="nowhere")
    refuses("explain", models["centers"], tmp_path / "nowhere.csv", match="no file")
    refuses("explain", models["centers"], new, "-o", tmp_path / "a" / "b", match="no folder")
    less = write_csv(tmp_path / "less.csv", ["age"], [[50], [60]])
    refuses("explain", models["centers"], less, match="dose")
    assert tamis("explain", models["centers"], new, "--top", "0")[0] == 2


def test_unknown_categories_are_told_as_predict_does(tmp_path, capsys):
    data = write_csv(tmp_path / "t.csv", HEADER, make_rows(80, 0))
    model = make_model(data, "centers", tmp_path / "model.json")
    unknown = [["n1", "55", "1", "Red", "0", "ill"], ["n2", "55", "1", "purple", "0", "ill"]]
    new = write_csv(tmp_path / "new.csv", HEADER, unknown)
    told = []
    for command in "predict", "explain":
        assert main([command, model, new]) == 0
        told.append(unwrapped(capsys.readouterr().err).partition("2 of 2 rows are unlike")[2])
    assert told[0] == told[1] and "'Red' (1; training had 'red')" in told[1]


def test_values_of_percent_columns_are_percents(tmp_path, table):
    rows = [
        [r[0], *(f"{10 * float(v or 3):.0f}%" for v in r[1:3]), *r[3:]] for r in make_rows(60, 0)
    ]
    data = write_csv(tmp_path / "percents.csv", HEADER, rows)
    model = make_model(data, "panel", tmp_path / "model.json")
    rows[0][2] = ""
    told = table("explain", model, write_csv(tmp_path / "new.csv", HEADER, rows))
    values = {(row["row"], row["feature"]): row["value"] for row in told}
    assert values["1", "dose"].startswith("(missing, ") and values["1", "dose"].endswith(" %)")
    assert values["2", "dose"] == rows[1][2].replace("%", " %")
