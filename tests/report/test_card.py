"""The points card: whole points in the right direction, and honest scores beside the model's."""

import re
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from tamis import DatumWiseClassifier, PanelClassifier, SparseCenterClassifier, TableClassifier
from tamis.comparison.choosing.decisions import decide_level
from tamis.comparison.comparing import compare_table
from tamis.comparison.options import Options
from tamis.report.card.answers import make_levels
from tamis.report.card.card import _weigh, find_positive, make_card
from tamis.report.card.page import _steps, make_card_page
from tamis.report.card.run import find_experiment, score_card
from tamis.report.questionnaire.fields import Field
from tamis.tables import InputError
from tamis.tables.classifying.decision_limit import limit_at
from tamis.tables.classifying.prevalence import find_prevalence
from tamis.tables.columns.table import Columns, Table
from tamis.tables.reading.frames import as_table
from tests.report.browser import Browser, needs_browser
from tests.report.forms import FOREST

NUMBERS, CHOICES = ["age", "dose", "<b>odd", "noise"], ["color"]


def rows(n_rows=400, seed=0):
    """Numbers that raise or lower the risk, a category, and noise; with gaps."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, 4))
    color = rng.integers(3, size=n_rows)
    decision = 1.5 * numbers[:, 0] - numbers[:, 1] + 0.5 * numbers[:, 2] + 1.5 * (color == 1) - 1
    y = np.where(rng.random(n_rows) < 1 / (1 + np.exp(-decision)), "ill", "well")
    numbers[:, 0] = 50 + 10 * numbers[:, 0]
    numbers[rng.random(numbers.shape) < 0.05] = np.nan
    words = np.array(["red", "green", "blue"], dtype=object)[color]
    return Columns(numbers, np.array(NUMBERS, dtype=object), {"color": words}), y


def fit(estimator, table, y):
    frame = pd.DataFrame(table.numeric, columns=NUMBERS).assign(**table.others)
    return TableClassifier(estimator).fit(frame, y).model_


@pytest.fixture(scope="module")
def card():
    table, y = rows()
    return make_card(
        fit(PanelClassifier(4, head="logistic", cv=3), table, y), table, y, positive="ill"
    )


def test_points_are_whole_and_follow_the_model(card):
    signs = {"age": 1, "dose": -1, "<b>odd": 1}
    seen = set()
    for levels, points in zip(card.levels, card.points, strict=True):
        assert points.dtype == np.intp and points.min() == 0 and points.max() <= 10
        assert len(levels.texts) == len(points) <= 4
        if levels.field.name in signs:
            assert (signs[levels.field.name] * np.diff(points) >= 0).all() and points.any()
            seen.add(levels.field.name)
        if levels.field.kind == "choice":
            by_name = dict(zip(levels.texts, points, strict=True))
            assert by_name["green"] > max(by_name["red"], by_name["blue"])
            seen.add("color")
    assert seen == {"age", "dose", "<b>odd", "color"}
    assert card.slope > 0


def test_the_score_is_the_sum_of_the_lines_that_are_true(card):
    table, _ = rows(50, seed=1)
    scores = card.score(table)
    frame = pd.DataFrame(table.numeric, columns=NUMBERS).assign(**table.others)
    for at, row in enumerate(frame.to_dict("records")):
        total = 0
        for levels, points in zip(card.levels, card.points, strict=True):
            value = row[levels.field.name]
            if levels.field.kind == "choice":
                total += points[levels.texts.index(value)]
            elif np.isnan(value):
                total += points[levels.unknown]
            else:
                total += points[sum(value >= cut for cut in levels.cuts)]
        assert scores[at] == total


def test_risks_are_calibrated_and_nearly_as_good_as_the_model(card):
    table, y = rows(4000, seed=2)
    risk = card.risk(card.score(table))
    assert abs(risk.mean() - (y == "ill").mean()) < 0.05
    truth = y == "ill"
    model_area = roc_auc_score(truth, card.model.predict_proba(table)[:, 0])
    assert roc_auc_score(truth, risk) > model_area - 0.04


@pytest.mark.parametrize(
    ("n_typos", "told"), [(1, {"red", "green", "blue"}), (3, {"red", "green", "blue", "other"})]
)
def test_rare_categories_are_no_lines_of_a_card(n_typos, told):
    table, y = rows()
    table.others["color"][:n_typos], table.others["color"][-n_typos:] = "Red", "gren"
    model = fit(PanelClassifier(4, head="logistic", cv=3), table, y)
    card = make_card(model, table, y, positive="ill")
    (levels,) = [one for one in card.levels if one.field.kind == "choice"]
    assert set(levels.texts) == told


def test_lines_with_equal_points_are_one(card):
    number = make_levels(Field("n", "number", [0], [3.0], unit="mm"), np.arange(100.0)[:, None])
    assert number.texts == [
        "below 25 mm",
        "25 to below 50 mm",
        "50 to below 75 mm",
        "75 mm or more",
    ]
    assert number.unknown == 0
    assert number.merged(np.array([0, 0, 2, 2])) == [("below 50 mm", 0), ("50 mm or more", 2)]
    assert number.merged(np.array([0, 0, 0, 0])) == [("any value", 0)]
    choice = next(levels for levels in card.levels if levels.field.kind == "choice")
    assert choice.merged(np.array([0, 3, 0])) == [("blue or red", 0), ("green", 3)]


def test_counts_and_constant_columns_are_cut_where_they_can_be():
    field = Field("n", "count", [0], [0.0])
    values = np.repeat([0.0, 1.0, 2.0, 3.0], [70, 10, 10, 10])[:, None]
    counts = make_levels(field, values)
    assert counts.texts[0] == "below 1" and len(counts.cuts) >= 1
    assert (counts.assign(values)[:70] == 0).all() and (counts.assign(values)[70:] > 0).all()
    assert make_levels(field, np.zeros((50, 1))).texts == ["any value"]
    number = make_levels(Field("n", "number", [0], [0.0], low=0.0), np.arange(40.0)[:, None] // 10)
    assert number.texts == ["0", "1", "2", "3 or more"]
    assert number.merged(np.array([0, 0, 2, 2])) == [("0 to 1", 0), ("2 or more", 2)]
    rare = Field("c", "choice", [0, 1], [1.0, 0.0], categories=["a", "b"], choices=["a", "b", "z"])
    dummies = np.repeat([[1.0, 0.0], [0.0, 1.0]], [97, 3], axis=0)
    levels = make_levels(rare, dummies)
    assert levels.texts == ["a", "b or z"] and levels.unknown == 0
    assert levels.assign(np.array([[0.0, 1.0], [0.0, 0.0], [np.nan, np.nan]])).tolist() == [
        1,
        1,
        0,
    ]


def test_separated_classes_get_finite_risks():
    values = np.linspace(0, 1, 60)[:, None]
    table = Columns(values, np.array(["x"], dtype=object), {})
    y = np.where(values[:, 0] > 0.5, "b", "a")
    model = TableClassifier(SparseCenterClassifier(1)).fit(pd.DataFrame({"x": values[:, 0]}), y)
    found = make_card(model.model_, table, y)
    assert found.positive == "b"
    assert 0 < found.risk(0) < 0.1 < 0.9 < found.risk(found.largest) < 1


def test_models_without_a_card_are_refused():
    table, y = rows()
    with pytest.raises(InputError, match="sum over its features"):
        make_card(fit(DatumWiseClassifier(**FOREST), table, y), table, y)
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(60, 20)) + (np.arange(60) % 2)[:, None]
    names = np.array([f"x{j}" for j in range(20)], dtype=object)
    labels = np.array(["a", "b"])[np.arange(60) % 2]
    model = TableClassifier(SparseCenterClassifier(15)).fit(
        pd.DataFrame(wide, columns=names), labels
    )
    with pytest.raises(InputError, match=r"at most 12 features, and this model uses 15.*pick"):
        make_card(model.model_, Columns(wide, names, {}), labels)
    with pytest.raises(InputError, match="name it with positive"):
        find_positive(np.array(["a", "b", "c"]), None)
    with pytest.raises(InputError, match="positive=d"):
        find_positive(np.array(["a", "b", "c"]), "d")
    assert find_positive(np.array([0, 1, 2]), "2") == 2


@pytest.fixture(scope="module")
def run():
    table, y = rows(200)
    data = Table(table, {"color": "categorical"}, y, "diagnosis")
    options = Options(methods="centers,most-frequent", folds=3, repeats=1)
    return data, options, compare_table(data, options)


def test_the_card_is_cross_validated_with_its_model(run):
    data, options, comparison = run
    model = comparison.table_model(comparison.find("centers", 3))
    experiment = find_experiment(data, options, model)
    scores = score_card(experiment, "ill")
    assert (scores.n_folds, scores.n_repeats) == (3, 1)
    # The model's out-of-fold probabilities are those of the run itself.
    result = comparison.result("centers")
    shares = result.probabilities[experiment.place].reshape(-1, 200, 2)[0]
    truth = data.y == "ill"
    assert scores.model_area == pytest.approx(roc_auc_score(truth, shares[:, 0]), abs=1e-12)
    assert scores.model_area - 0.08 < scores.card_area < 1
    assert scores.card_interval[0] < scores.card_area < scores.card_interval[1]
    assert 0.5 < scores.card_accuracy < 1 and 0.5 < scores.model_accuracy < 1


@pytest.mark.parametrize(
    "asked",
    [
        {"misclassification": {("ill", "well"): 10}},
        {"min_sensitivity": 0.95},
        {"scoring": "accuracy"},
    ],
    ids=["costs", "threshold", "accuracy"],
)
def test_the_scores_of_a_card_are_of_the_decisions_of_the_saved_model(run, asked):
    data = run[0]
    options = replace(run[1], positive="ill", **asked)
    comparison = compare_table(data, options)
    choice = comparison.find("centers", 3)
    model = comparison.table_model(choice)
    scores = score_card(find_experiment(data, options, model), "ill")
    result = comparison.result("centers")
    codes = decide_level(result, choice.place, comparison.problem, comparison.settings)
    labels = comparison.problem.classes[codes[0]]
    assert scores.model_accuracy == pytest.approx(
        balanced_accuracy_score(data.y, labels), abs=1e-6
    )
    card = make_card(model, data.columns, data.y, positive="ill")
    told = re.search(
        r"(\d+) points or more: counted as ill \(risk (?:of|above the average of) ([\d.]+)\u00a0%",
        make_card_page(card, scores),
    )
    points, limit = int(told[1]), float(told[2]) / 100
    assert card.risk(points - 1) < limit + 5e-3 and card.risk(points) > limit - 5e-3


def test_the_limit_of_a_card_moves_with_the_prevalence_unless_it_is_a_cost(card):
    model, prevalence = card.model, find_prevalence(card.model, {"ill": 0.02})
    assert limit_at(model, 0, card.prevalence) == pytest.approx(card.prevalence)
    assert limit_at(model, 0, 0.02) == pytest.approx(0.02)
    points = [one.split(" points or more")[0].rsplit(">", 1)[1] for one in
              (make_card_page(card), make_card_page(card.at(prevalence)))]  # fmt: skip
    assert points[0] == points[1]  # the same rows are called ill
    costs = np.array([[0.0, 9.0], [1.0, 0.0]])
    model = replace(model, misclassification=costs, frequencies=np.array([0.4, 0.6]))
    assert limit_at(model, 0, 0.4) == limit_at(model, 0, 0.02) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("risks", "told"),
    [
        ((0.99, 0.999), "99 % or more"),
        ((0.001, 0.02), "up to 2 %"),
        ((0.3, 0.45), "30 to 45 %"),
        ((0.001, 0.999), "any"),
    ],
)
def test_a_range_of_risks_reads_as_a_person_writes_it(risks, told):
    # 25 sums of points are 13 steps of two sums each; the last has one.
    card = SimpleNamespace(largest=24, risk=lambda score: risks[score % 2])
    assert ("0 to 1", told) in _steps(card)


def test_shuffled_labels_give_no_score(run):
    data, options, comparison = run
    model = comparison.table_model(comparison.find("centers", 3))
    labels = np.random.default_rng(0).permutation(data.y)
    scores = score_card(find_experiment(replace(data, y=labels), options, model), "ill")
    assert 0.35 < scores.card_area < 0.65


def test_other_data_are_refused(run):
    data, options, comparison = run
    model = replace(comparison.table_model(comparison.find("centers", 3)), level=0.123)
    with pytest.raises(InputError, match="are they its training data"):
        find_experiment(data, options, model)


def test_names_stay_text_on_the_page(card):
    page = make_card_page(card, about="<i>adults</i>", digest="sha256:00")
    assert "<b>odd" not in page and "&lt;b&gt;odd" in page and "<i>" not in page
    assert "<script" not in page and "default-src 'none'" in page
    steps = re.findall(r"<li><b>(\d+)(?: to (\d+))?</b> <span>([^<]+)</span></li>", page)
    ends = [(int(low), int(high or low)) for low, high, _ in steps]
    assert ends[0][0] == 0 and ends[-1][1] == card.largest
    assert all(b[0] == a[1] + 1 for a, b in pairwise(ends))


@pytest.mark.slow
@needs_browser
def test_the_page_shows_everything_at_all_sizes(card, run, tmp_path):
    data, options, comparison = run
    model = comparison.table_model(comparison.find("centers", 3))
    scores = score_card(find_experiment(data, options, model), "ill")
    path = tmp_path / "card.html"
    path.write_text(make_card_page(card, scores), encoding="utf-8")
    with Browser() as browser:
        for width in (360, 1440):
            for scheme, media in (("light", ""), ("dark", ""), ("light", "print")):
                browser.set_size(width)
                browser.set_media(scheme, media)
                browser.open(path)
                assert browser.overflow() == []
        assert browser.errors == [] and browser.requests == []


def test_calibration_rows_are_not_in_the_card():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    options = Options(methods=["centers", "most-frequent"], folds=3, calibration_share=0.3)
    table = as_table(X, y)[0]
    comparison = compare_table(table, options)
    model = comparison.table_model(comparison.final_choice)
    experiment = find_experiment(table, options, model)
    assert experiment.problem.digest() == comparison.problem.digest()
    assert experiment.problem.n_rows < 0.75 * len(y)


def test_the_model_of_a_fold_may_have_no_feature():
    y = np.arange(20) % 2
    assert _weigh([], [], y.astype(float), np.ones(20)) == []
