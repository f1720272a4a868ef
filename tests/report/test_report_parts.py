"""The report by site, period and subgroup, its Brier scores and curves, and small counts."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, recall_score

from tamis import compare
from tamis.report.page.clinical import predicted_rows
from tamis.report.page.content import make_content
from tamis.report.page.page import render
from tamis.report.page.parts import describe_parts, hide_counts, hide_few
from tamis.report.page.pictures import NONE, draw_pictures
from tests.report.test_report_content import NO_PICTURES

pd = pytest.importorskip("pandas")


def make_patients(n=120):
    rng = np.random.default_rng(0)
    is_ill = np.arange(n) % 2 == 0
    frame = pd.DataFrame(
        {
            "dose": rng.normal(size=n) + 2.0 * is_ill,
            "sex": rng.choice(["female", "male"], n),
            "site": rng.choice(["Oslo", "Lyon", "Graz"], n),
            "day": np.arange(n),
            "outcome": np.where(is_ill, "ill", "well"),
        }
    )
    frame.loc[3, "sex"] = "M"
    frame["pregnant"] = np.where(np.arange(n) % 40 == 0, "yes", "no")  # two values, not pooled
    frame.loc[5, "dose"] = np.nan
    return frame


@pytest.fixture(scope="module")
def comparison():
    return compare(
        make_patients(),
        "outcome",
        methods=["centers", "most-frequent"],
        batches="site",
        time="day",
        subgroups=["sex"],
        learning_curve=True,
        keep=["pregnant"],
        cv=3,
        repeats=1,
        random_state=0,
    )


@pytest.fixture(scope="module")
def content(comparison):
    return make_content(comparison)


def test_sites_periods_and_subgroups_have_scores_and_rates(comparison, content):
    batches, periods, sexes = content["by_part"]
    assert [row["name"] for row in batches["rows"][1:]] == ["Graz", "Lyon", "Oslo"]
    assert len(periods["rows"]) > 2 and periods["rows"][0]["name"] == "all later rows"
    assert [row["name"] for row in sexes["rows"]] == ["all rows", "M", "female", "male"]
    assert {table["positive"] for table in content["by_part"]} == {"well"}
    made, patients = comparison.honest_predictions, make_patients()
    some = made[patients["sex"].to_numpy() == "male"]
    row = sexes["rows"][3]
    for name, label in (("sensitivity", "well"), ("specificity", "ill")):
        found = recall_score(some["label"], some["prediction"], pos_label=label)
        assert row[name][0] == pytest.approx(found)
        low, high = row[name][1]
        assert low < found < high
    page = render(content, NO_PICTURES)
    for words in (
        "Sites or batches",
        "Periods",
        "Subgroups of sex",
        "Lyon",
        f"{row['sensitivity'][0]:.3f}",
    ):
        assert words in page


def test_brier_scores_are_those_of_the_honest_risks(comparison, content):
    rows = predicted_rows(comparison, comparison.choice)
    for one in content["clinical"]["classes"]:
        is_one = (rows.codes == one["code"]).astype(int)
        assert one["brier"] == pytest.approx(brier_score_loss(is_one, rows.risks[:, one["code"]]))
        low, high = one["brier_interval"]
        assert low < one["brier"] < high and one["brier_of_share"] == pytest.approx(0.25)
    assert f"Brier score {one['brier']:.3f}" in render(content, NO_PICTURES)


def test_there_are_roc_and_learning_curves(comparison, content):
    pytest.importorskip("matplotlib")
    pictures = draw_pictures(comparison, comparison.choice, dict.fromkeys(range(2), 0.5))
    assert pictures["classes"][0]["drawn"][0][0] == "ROC curve"
    page = render(content, pictures)
    assert page.count("<figcaption>ROC curve</figcaption>") == 2
    assert "Learning curve" in page and "training rows</text>" in page


def test_the_page_says_what_replaces_a_missing_category(comparison, content):
    (_, fill), (name, word) = content["model"]["fills"]
    assert name == "pregnant" and word == "no" and isinstance(fill, float)
    assert "<bdi>no</bdi>" in render(content, NO_PICTURES)


def test_no_learning_curve_is_drawn_if_none_was_computed(content):
    assert NONE["learning"] is None
    assert "Learning curve" not in render(content, NO_PICTURES)


def test_counts_of_few_rows_are_shown_only_with_rows(comparison, content):
    sexes = content["by_part"][2]["rows"]
    assert [row["rows"] for row in sexes[1:3]].count("fewer than 5") == 1
    # The second smallest, too: the other would follow from the total.
    assert sorted(map(str, (row["rows"] for row in sexes)))[-1] == "not shown"
    kept = next(one for one in content["panel"]["features"] if one["name"] == "pregnant")
    assert kept["plot"]["parts"] == ["yes"] and kept["plot"]["rows"] == [[None, None]]
    assert ["dose", "fewer than 5", None] in content["data"]["missing"]["worst"]
    assert "1 missing" not in render(content, NO_PICTURES)
    told = make_content(comparison, include_rows=True)
    assert [row["rows"] for row in told["by_part"][2]["rows"]][:2] == [120, 1]
    kept = next(one for one in told["panel"]["features"] if one["name"] == "pregnant")
    assert [None, None] not in kept["plot"]["rows"]


def test_two_small_counts_hide_each_other():
    scored = {"not_scored": "fewer than 10 rows"}
    values = {"a": scored | {"rows": 2}, "b": scored | {"rows": 4}, "c": scored | {"rows": 40}}
    found = {"subgroups": {"all": scored | {"rows": 46}, "columns": {"x": values}}}
    rows = describe_parts(found, include_rows=False)[0]["rows"]
    assert [row["rows"] for row in rows] == [46, "fewer than 5", "fewer than 5", 40]


def test_a_hidden_count_cannot_be_computed_from_intervals():
    rate = {"share": 0.9, "interval_95": [0.7, 0.98]}
    scored = {"not_scored": None, "score": 0.9, "interval_95": [0.8, 0.97]}
    scored |= {"sensitivity": rate, "specificity": rate, "positive": "ill"}
    few = {"not_scored": "fewer than 10 rows", "rows": 4}
    values = {"a": few, "b": few, "c": scored | {"rows": 20}, "d": scored | {"rows": 40}}
    found = {"subgroups": {"all": scored | {"rows": 68}, "columns": {"x": values}}}
    rows = describe_parts(found, include_rows=False)[0]["rows"]
    # Eight rows are left for two: each has 4, the most that is hidden.
    assert [row["rows"] for row in rows] == [68, "fewer than 5", "fewer than 5", "not shown", 40]
    hidden = rows[3]
    assert (hidden["interval"], hidden["sensitivity"], hidden["specificity"]) == (None, None, None)
    assert hidden["score"] == 0.9 and hidden["why"] == "not shown"
    assert rows[4]["interval"] and rows[4]["sensitivity"]


@pytest.mark.parametrize(
    ("note", "told"),
    [
        ("values missing: dose (1), age (20)", "values missing: dose (fewer than 5), age (20)"),
        ("1 row without a label: ignored", "fewer than 5 rows without a label: ignored"),
        ("3 of 250 rows are alike", "fewer than 5 of 250 rows are alike"),
        ("13 rows of x3 and 0.3 values", "13 rows of x3 and 0.3 values"),
    ],
)
def test_small_counts_in_sentences_are_hidden(note, told):
    assert hide_counts(note) == told


@pytest.mark.parametrize(("n", "told"), [(0, 0), (1, "fewer than 5"), (4, "fewer than 5"), (5, 5)])
def test_a_small_count_points_to_single_rows(n, told):
    assert hide_few(n) == told and hide_few(n, include_rows=True) == n


def test_classes_of_few_rows_have_no_histogram():
    rng = np.random.default_rng(0)
    y = np.array([0] * 40 + [1] * 40 + [2] * 3)
    X = rng.normal(size=(83, 2)) + 2.0 * y[:, None]
    comparison = compare(
        X, y, methods=["centers", "most-frequent"], cv=3, repeats=1, random_state=0
    )
    plots = [one["plot"]["rows"] for one in make_content(comparison)["panel"]["features"]]
    for rows in plots:
        assert rows[2]["center"] is None and not any(rows[2]["heights"])
        assert rows[1]["center"] is not None and any(rows[1]["heights"])
