"""The content of the report: every number is that of the comparison, and no row is named."""

import base64
import copy
import hashlib
import json
import re
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

from tamis import compare
from tamis.cli.show import show_results
from tamis.comparison.choosing.scores import confusion
from tamis.comparison.further.external import measure_class
from tamis.report.page.clinical import predicted_rows
from tamis.report.page.content import make_content
from tamis.report.page.features import _correlate_pairs, _tell_p
from tamis.report.page.page import read_evaluation, render
from tamis.report.page.pictures import NONE, draw_pictures
from tamis.report.page.words import TRIPOD, recommend
from tamis.tables.errors import InputError

NO_PICTURES = NONE | {"missing": "pip install 'tamis[plot]'"}
ODD = "<script>alert(1)</script>"


def make_table(n=90, seed=0):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    c = np.arange(n) % 3
    frame = pd.DataFrame(
        {
            ODD: rng.normal(size=n) + 2.0 * c,
            "dose": rng.normal(size=n) - 1.5 * c,
            "color": np.array(["red", "green", "blue & <b>"])[(c + (rng.random(n) < 0.3)) % 3],
            "noise\u202e": rng.normal(size=n),
        }
    )
    frame.iloc[::11, 1] = np.nan
    return frame, np.array(["</script>well", "ill", "worse"])[c]


@pytest.fixture(scope="module")
def comparison():
    return compare(
        *make_table(), methods=["centers", "most-frequent"], cv=3, repeats=2, random_state=0
    )


@pytest.fixture(scope="module")
def content(comparison):
    return make_content(comparison, run="my run", command="tamis fit x.csv", about="For <us>.")


def test_the_content_is_plain(content):
    assert json.loads(json.dumps(content, allow_nan=False))["name"] == "data"


def test_the_page_allows_its_own_script_and_style_alone(comparison, content):
    pytest.importorskip("matplotlib")
    page = render(
        content, draw_pictures(comparison, comparison.choice, dict.fromkeys(range(3), 0.3))
    )
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page).group(1)
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (own,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in policy
    assert " style=" not in page and page.count("<style") == 1 and page.count("<svg") > 3


def test_the_recommendation_has_the_honest_score_and_its_interval(comparison, content):
    honest, told = comparison.honest_score, content["recommendation"]
    assert (told["score"], told["low"], told["high"]) == (honest.score, honest.low, honest.high)
    sentence = (
        f"finds on average {100 * honest.score:.0f} of 100 cases of each class (95 % interval: "
    )
    sentence += f"{100 * honest.low:.0f} to {100 * honest.high:.0f}): "
    assert sentence in told["sentence"]
    metrics = copy.deepcopy(comparison.metrics)
    found = metrics["model"]["honest_score"]["found_of_class"]
    shares = re.findall(r" (\d+)(?=[,.])", told["sentence"].split(sentence)[1])
    assert shares == [f"{100 * share:.0f}" for share in found.values()]
    for unknown in (None, dict.fromkeys(found)):
        metrics["model"]["honest_score"] |= {"found_of_class": unknown}
        assert f"{sentence[:-2]}." in recommend(metrics, comparison)["sentence"]
    assert told["chance"] == pytest.approx(1 / 3)


def test_each_level_has_its_score_confusion_matrix_features_and_command(comparison, content):
    result = comparison.result("centers")
    trained = comparison.fit_choice(comparison.final_choice).trained
    (method,) = content["curve"]["methods"]
    assert len(method["levels"]) == len(result.levels)
    for at, level in enumerate(method["levels"]):
        assert level["score"] == pytest.approx(result.scores[at], abs=1e-6)
        matrix = np.zeros((3, 3))
        for true, said, n in level["cells"]:
            matrix[true, said] = n
        first = result.labels[at][0]
        assert_allclose(matrix, confusion(comparison.problem.codes, first, 3))
        used = trained.features(at).tolist()
        names = [content["curve"]["names"][place] for place, _ in level["features"]]
        expected = {comparison.problem.names[f].replace("\u202e", "\\u202e") for f in used}
        assert set(names) == expected
        words = level["command"].split()
        assert level["command"].startswith("tamis pick 'my run' --method centers --n-features ")
        picked = comparison.find("centers", float(words[words.index("--n-features") + 1]))
        assert picked.place == at
    chosen = [level["is_recommended"] for level in method["levels"]]
    assert chosen == [at == comparison.choice.place for at in range(len(chosen))]


@pytest.mark.slow
def test_at_most_fifty_features_are_listed_and_the_page_stays_small():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 20_000))
    X[:, 0] += 3 * y
    options = {"cv": 3, "repeats": 1, "random_state": 0}
    comparison = compare(X, y, methods=["centers", "most-frequent"], **options)
    picked = comparison.find("centers", 20_000)
    content = make_content(comparison, picked)
    levels = content["curve"]["methods"][0]["levels"]
    assert max(len(level["features"]) for level in levels) == 50
    assert levels[-1]["n_features"] == 20_000 and len(content["panel"]["features"]) == 50
    assert "chosen after seeing the curve" in content["recommendation"]["sentence"]
    assert len(render(content, NO_PICTURES)) < 700_000


def test_the_four_items_come_from_honest_predictions_at_the_prevalence_of_the_data(
    comparison, content
):
    rows = predicted_rows(comparison, comparison.choice)
    assert rows.is_honest
    p = comparison.honest_score.predictions.probabilities
    shares = np.bincount(comparison.problem.codes) / comparison.problem.n_rows
    expected = p * shares * 3
    assert_allclose(rows.risks, expected / expected.sum(axis=1, keepdims=True))
    one = content["clinical"]["classes"][1]
    positive = comparison.problem.codes == 1
    t = one["thresholds"].index(0.5)
    assert one["found"][t] == (p[positive, 1] >= 0.5).sum()
    assert one["alarms"][t] == (p[~positive, 1] >= 0.5).sum()
    risk = rows.risks[:, 1]
    pairs = risk[positive][:, None] - risk[~positive]
    area = ((pairs > 0) + 0.5 * (pairs == 0)).mean()
    assert one["area"] == pytest.approx(area)
    assert one["area_interval"][0] < area <= one["area_interval"][1]


def test_terminal_and_page_give_the_same_limits_of_sensitivity_and_specificity():
    """Rows of unequal sample groups, so that the effective number of rows matters."""
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(60), rng.integers(1, 6, size=60))
    y = groups % 2
    X = rng.normal(size=(y.size, 3)) + 1.2 * y[:, None] * (np.arange(3) == 0)
    found = compare(
        X, y, groups=groups, subgroups={"part": groups % 3}, positive=1, cv=3, repeats=1,
        methods=["centers", "most-frequent"],
    )  # fmt: skip
    told = found.clinical["subgroups"]["all"]
    sensitivity, specificity = make_content(found)["clinical"]["table"][1]["ratios"][:2]
    assert tuple(sensitivity) == tuple(told["sensitivity"].values())
    assert tuple(specificity) == tuple(told["specificity"].values())


def test_the_panel_says_what_the_run_promises(comparison, content):
    _, records, metrics = comparison.fitted(comparison.choice)
    for value in metrics["model"]["guarantees"].values():
        assert value.get("statement") in (None, *content["panel"]["sentences"])
    shares = [r["frequency"] for r in records]
    place = content["panel"]["further"].index("reselected")
    told = [feature["further"][place] for feature in content["panel"]["features"]]
    assert told == ["" if share is None else f"{100 * share:.0f} %" for share in shares]


def test_a_correlation_with_missing_values_is_that_of_the_rows_with_both_values():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(60, 3))
    values[:, 1] = values[:, 0] + 0.01 * rng.normal(size=60)
    values[20:, 2] = np.nan
    values[:8, 0] = values[-2:, 1] = np.nan  # the largest values of a column, or not
    values[np.abs(values[:, 0]) < 0.5, 1] = np.nan
    table = _correlate_pairs(values)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = ~np.isnan(values[:, [i, j]]).any(axis=1)
        expected = np.corrcoef(values[both][:, [i, j]].T)[0, 1]
        assert table[i, j] == table[j, i] == pytest.approx(expected)
    assert np.abs(table).max() <= 1.0
    few = np.array([[1.0, np.nan, 2.0], [np.nan, 1.0, 2.0]])
    assert_allclose(_correlate_pairs(few), np.eye(3))


def test_correlated_features_in_the_model_are_not_denied(comparison, content):
    page = render(content, NO_PICTURES)
    assert "correlated features outside the model" in page
    assert "Correlated features outside the model: with a correlation of at least 0.8." in page


def test_the_sentence_about_a_picked_model_that_asks_is_whole(comparison):
    metrics = copy.deepcopy(comparison.fitted(comparison.choice)[2])
    model = metrics["model"]
    model |= {"asks": True, "features": 6, "features_per_sample": 3.5}
    sentence = recommend(metrics, comparison)["sentence"]
    assert "3.5 features per case on average, chosen case by case from 6, and " in sentence
    del model["honest_score"]
    sentence = recommend(metrics, comparison)["sentence"]
    assert "chosen case by case from 6. " in sentence


def test_numbers_that_differ_from_the_table_are_explained(comparison, content):
    assert content["clinical"]["other_numbers"] is None  # nested: the same predictions
    at = (comparison.choice.place + 1) % len(comparison.result("centers").levels)
    picked = make_content(comparison, comparison.find("centers", at + 1))
    assert not picked["clinical"]["is_honest"]
    assert "from the first of 2 repeats" in picked["clinical"]["other_numbers"]
    assert picked["clinical"]["other_numbers"] in render(picked, NO_PICTURES)


def test_duplicates_are_counted_the_same_way_wherever_the_page_says_so():
    pd = pytest.importorskip("pandas")
    frame, y = make_table()
    rows = np.append(np.arange(90), [0, 3, 6, 9])  # four of one class
    frame, y = pd.DataFrame(frame).iloc[rows].reset_index(drop=True), y[rows]
    found = compare(frame, y, methods=["centers", "most-frequent"], cv=3, repeats=1, n_jobs=1)
    page = render(make_content(found), NO_PICTURES)
    assert "If duplicates count once" in page and "33.3\u00a0%" in page
    assert "in which duplicates count once (in the table above, every row counts)" in page
    assert "the numbers are those of the table above" not in page
    (check,) = [check for check in found.checks if check.code == "duplicates"]
    assert "as one sample in intervals and class frequencies" in check.sentence


def test_a_model_without_some_features_has_a_report_but_no_honest_score(comparison):
    other = comparison.excluding("centers", ["dose"])
    content = make_content(other, other.find("centers", 2))
    assert not content["is_recommended"] and not content["clinical"]["is_honest"]
    assert "dose" not in [feature["name"] for feature in content["panel"]["features"]]


def test_a_picked_model_has_no_honest_predictions(comparison):
    other = next(
        place
        for place in range(len(comparison.result("centers").levels))
        if place != comparison.choice.place
    )
    result = comparison.result("centers")
    choice = comparison.find("centers", float(result.overall[other]))
    content = make_content(comparison, choice)
    assert not content["clinical"]["is_honest"] and not content["is_recommended"]
    page = render(content, NO_PICTURES)
    assert "Chosen after seeing the curve" in page and "the picked model uses" in page
    assert '<a href="#recommendation">Picked model</a>' in page
    optimistic = "They were used to select the model, so the counts are optimistic"
    assert f"of the first repeat. {optimistic}." in page
    assert f"{optimistic}; honest rates" in render(make_content(comparison), NO_PICTURES)


def test_histograms_count_the_rows_of_each_class(comparison, content):
    feature = next(f for f in content["panel"]["features"] if f["name"] == ODD)
    column = comparison.data.frame[ODD].to_numpy()
    low, high = np.percentile(column, (1, 99))
    for c, row in enumerate(feature["plot"]["rows"]):
        mine = np.clip(column[comparison.problem.codes == c], low, high)
        counts = np.histogram(mine, np.linspace(low, high, len(row["heights"]) + 1))[0]
        assert_allclose(row["heights"], counts / counts.max(), atol=0.006)
        assert row["center"] == pytest.approx(column[comparison.problem.codes == c].mean())


def test_numbers_are_shown_as_they_are_written():
    pd = pytest.importorskip("pandas")
    percents, visits, c = np.arange(20, 80), np.arange(60) // 10, np.arange(60) // 30
    frame = pd.DataFrame({"filled": [f"{p}%" for p in percents], "visits": visits})
    found = compare(frame, c, methods=["centers"], cv=2, random_state=0)
    shown = make_content(found, found.find("centers", 2))
    plots = {feature["name"]: feature["plot"] for feature in shown["panel"]["features"]}
    assert plots["filled"]["ends"] == ["20.59 %", "78.41 %"]
    assert plots["filled"]["rows"][0]["quartiles"] == ["27.25 %", "34.5 %", "41.75 %"]
    assert plots["visits"]["ends"] == ["0", "5"]
    heights = [row["heights"] for row in plots["visits"]["rows"]]
    assert heights == [[1] * 3 + [0] * 3, [0] * 3 + [1] * 3]
    values = [dict(pair[:2] for pair in row["contributions"]) for row in shown["example"]["rows"]]
    assert values == [{"filled": "34.5 %", "visits": "1"}, {"filled": "64.5 %", "visits": "4"}]


@pytest.mark.parametrize(
    ("p", "told"), [(None, "-"), (0.87, "0.87"), (0.95, "0.95"), (0.000999, "\u2264 0.001")]
)
def test_p_values_are_rounded_as_in_the_terminal(p, told):
    assert _tell_p(p) == told


def test_a_percent_sign_stays_on_the_line_of_its_number(content):
    page = render(content, NO_PICTURES)
    assert "\u00a0%" in page and not re.search(r"\d %", page)


def test_proportions_of_categories_are_percentages(content):
    (plot,) = [f["plot"] for f in content["panel"]["features"] if f["plot"]["kind"] == "shares"]
    page = render(content, NO_PICTURES)
    assert all(f"<td>{100 * share:.0f}\u00a0%</td>" in page for share in plot["rows"][0])


def test_missing_values_and_odd_names_are_told(content):
    assert content["data"]["missing"]["worst"] == [["dose", 9, pytest.approx(0.1)]]
    text = json.dumps(content, ensure_ascii=False)
    assert "\u202e" not in text and "noise\\\\u202e" in text


def test_typical_rows_are_medians_and_predicted_by_the_model(comparison, content):
    frame, y = comparison.data.frame, np.asarray(comparison.data.y)
    for row in content["example"]["rows"]:
        assert sum(p for _, p in row["probabilities"]) == pytest.approx(1)
        parts = {name: value for name, value, _ in row["contributions"]}
        if ODD in parts:
            median = frame[ODD][y == row["label"]].median()
            assert float(parts[ODD]) == pytest.approx(median, rel=1e-3)
        total = row["base"] + sum(part for *_, part in row["contributions"]) + row["rest"]
        assert total == pytest.approx(row["margin"])


def test_the_formula_is_the_model(comparison, content):
    model = comparison.table_model(comparison.choice)
    table = comparison.data.columns.select(model.preparation.required)
    X = model.prepare(table)
    weights = content["model"]["weights"]
    place = {name: j for j, name in enumerate(model.preparation.columns)}
    scores = np.tile(weights["bias"], (X.shape[0], 1))
    for name, values in weights["rows"]:
        scores += np.outer(X[:, place[name.replace("\\u202e", "\u202e")]], values)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert_allclose(p / p.sum(axis=1, keepdims=True), model.predict_proba(table), atol=1e-6)


def test_the_page_escapes_names_and_holds_every_section(content):
    page = render(content, NO_PICTURES)
    assert ODD not in page and "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "For &lt;us&gt;." in page and "pip install &#39;tamis[plot]&#39;" in page
    for name in ("recommendation", "curve", "panel", "diagnostic", "external", "checks", "data"):
        assert f'<section id="{name}"' in page
    for name in ("models", "use", "example", "model", "reproduce", "tripod"):
        assert f'<section id="{name}"' in page
    for item, *_ in TRIPOD:
        assert f'<th scope="row">{item}</th>' in page


def test_an_external_validation_stands_beside_the_internal_one(comparison, content):
    pytest.importorskip("matplotlib")
    rows = predicted_rows(comparison, comparison.choice)
    half = rows.codes.size // 2
    measured = measure_class(
        rows.codes[:half] == 1, rows.risks[:half, 1], name="ill", prevalence=1 / 3
    )
    scored = {"score": 0.7, "interval_95": [0.6, 0.8]}
    report = {
        "data": {"name": "b.csv", "rows": half, "classes": {"ill": 15}, "notes": []},
        "model": {"digest": content["reproduce"]["model_digest"]},
        "scoring": "balanced_accuracy",
        "scores": {"balanced_accuracy": scored, "roc_auc": scored},
        "calibration": {"brier": 0.2},
        "cross_validated": None,
        "by_class": {"ill": measured},
    }
    report["data"]["notes_without_rows"] = ["age moved"]
    told = make_content(comparison, evaluations=[report])
    (one,) = told["evaluations"]
    (ill,) = one["measured"]
    assert one["is_this_model"] and ill["external"] == measured
    assert ill["internal"]["rows"] == (rows.codes == 1).sum()
    page = render(told, NO_PICTURES)
    for words in ("calibration slope", "Brier score", "area under ROC curve", "age moved"):
        assert words in page
    drawn = draw_pictures(comparison, comparison.choice, None, told["evaluations"])["external"]
    ((internal, external),) = drawn[0]
    assert [title for title, _ in external] == [
        f"b.csv: {what}" for what in ("Calibration", "Net benefit", "ROC curve")
    ]
    assert len(internal) == 3 and "<svg" in internal[0][1]


def evaluation(measured):
    """An evaluation in which one class was measured."""
    scored = {"score": 0.7, "interval_95": [0.6, 0.8]}
    return {
        "data": {"name": "b.csv", "rows": 9, "classes": {"ill": 5}, "notes": []},
        "model": {},
        "scoring": "balanced_accuracy",
        "scores": {"balanced_accuracy": scored, "roc_auc": scored},
        "calibration": {"brier": 0.2},
        "cross_validated": None,
        "by_class": {measured["class"]: measured},
    }


def test_internal_scores_beside_external_ones_are_those_of_the_diagnostic_performance():
    rng = np.random.default_rng(0)
    y = np.array(["ill", "well"])[(np.arange(60) >= 20).astype(int)]
    X = rng.normal(size=(60, 2)) + (y == "ill")[:, None]
    times = np.where(np.arange(60) % 4, 1, 4)  # copies of rows
    found = compare(
        np.repeat(X, times, axis=0),
        np.repeat(y, times),
        methods=["centers", "most-frequent"],
        cv=3,
        repeats=1,
        positive="ill",
    )
    assert found.problem.times is not None
    measured = measure_class(y == "ill", rng.random(60), name="ill", prevalence=1 / 3)
    content = make_content(found, evaluations=[evaluation(measured)])
    (one,), (told,) = content["clinical"]["classes"], content["evaluations"]
    beside = told["measured"][0]["internal"]
    predicted = found.honest_predictions
    area = roc_auc_score(predicted["label"] == "ill", predicted["p_ill"])
    assert one["area"] == beside["roc"]["area"] == told["internal"]["area"] == pytest.approx(area)
    assert one["area_interval"] == beside["roc"]["interval_95"]
    assert one["brier"] == beside["brier"]["score"] == pytest.approx(told["internal"]["brier"])
    assert one["brier_interval"] == beside["brier"]["interval_95"]
    page = render(content, NO_PICTURES)
    row = re.search(r"internal, honest</th>(.*?)</tr>", page, re.DOTALL)[1]
    assert f"{one['area']:.3f}" in row and f"{one['brier']:.3f}" in row


def test_without_matplotlib_the_page_says_how_to_get_the_pictures(comparison, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = comparison.to_html()
    assert "<svg role" not in page.split("Distributions in the classes")[0]
    assert "pip install &#39;tamis[plot]&#39;" in page


def test_an_evaluation_of_another_model_is_marked(comparison, tmp_path):
    score = {"score": 0.8, "interval_95": [0.7, 0.9]}
    report = {
        "format": "tamis-evaluation",
        "scoring": "balanced_accuracy",
        "data": {"name": "b.csv", "rows": 50, "classes": {"ill": 50}, "notes": []},
        "model": {"digest": "sha256:0"},
        "scores": {"balanced_accuracy": score, "roc_auc": score},
        "calibration": {"brier": 0.1},
        "cross_validated": {"sentence": "0.1 below"},
    }
    path = tmp_path / "validation.json"
    path.write_text(json.dumps(report))
    content = make_content(comparison, evaluations=[read_evaluation(path)])
    assert not content["evaluations"][0]["is_this_model"]
    report["model"]["digest"] = content["reproduce"]["model_digest"]
    content = make_content(comparison, evaluations=[report])
    assert content["evaluations"][0]["is_this_model"]
    assert "0.1 below" in render(content, NO_PICTURES)
    path.write_text("{}")
    with pytest.raises(InputError, match="tamis evaluate"):
        read_evaluation(path)


def sick_rows(n=200, n_ill=60):
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], [n_ill, n - n_ill])
    X = rng.normal(size=(n, 4))
    X[:n_ill, 0] += 1.5
    return X, y


def test_costs_of_errors_are_in_the_decisions_that_are_shown():
    """Sensitivity and the score of the page are those of the decisions that the model makes."""
    X, y = sick_rows()
    options = {"methods": ["centers", "most-frequent"], "cv": 3, "repeats": 1}
    plain = make_content(compare(X, y, **options))
    costly = compare(X, y, misclassification={("ill", "well"): 20}, **options)
    content = make_content(costly)
    (usual, _), (found, _) = (one["clinical"]["table"][0]["ratios"][0] for one in (plain, content))
    assert found > usual + 0.05
    paid = costly.clinical["misclassification"]
    told = content["recommendation"]
    assert told["score"] == costly.honest_score.score < plain["recommendation"]["score"]
    assert f"cost of errors, which is {paid['mean_cost']:.3f} per case" in told["sentence"]
    assert any("Compared with always deciding ill" in line for line in told["details"])


@pytest.mark.parametrize(
    "asked",
    [{}, {"min_sensitivity": 0.95}, {"misclassification": {("ill", "well"): 7}}],
    ids=["probability", "threshold", "costs"],
)
def test_the_thresholds_begin_with_the_numbers_of_the_table(asked):
    options = {"methods": ["centers", "most-frequent"], "cv": 3, "repeats": 1}
    clinical = make_content(compare(*sick_rows(), positive="ill", **options, **asked))["clinical"]
    (one,) = clinical["classes"]
    sensitivity, specificity = (share for share, _ in clinical["table"][0]["ratios"][:2])
    assert one["decides"] and len(one["thresholds"]) == len(one["found"]) == len(one["alarms"])
    assert one["found"][one["start"]] / one["totals"][0] == pytest.approx(sensitivity)
    assert 1 - one["alarms"][one["start"]] / one["totals"][1] == pytest.approx(specificity)


def test_the_curve_says_what_the_decisions_of_its_confusion_matrix_score():
    options = {"methods": ["centers", "most-frequent"], "cv": 3, "repeats": 1}
    costly = compare(*sick_rows(), misclassification={("ill", "well"): 20}, **options)
    for level in make_content(costly)["curve"]["methods"][0]["levels"]:
        matrix = np.zeros((2, 2))
        for true, said, n in level["cells"]:
            matrix[true, said] = n
        assert level["decided"] == pytest.approx((np.diag(matrix) / matrix.sum(axis=1)).mean())
        assert level["decided"] != pytest.approx(level["score"])


def test_a_model_that_decides_one_class_says_so_first():
    X, y = sick_rows()
    rng = np.random.default_rng(1)
    options = {"methods": ["centers", "most-frequent"], "cv": 3, "repeats": 1}
    found = compare(
        rng.normal(size=X.shape), y, misclassification={("ill", "well"): 1000}, **options
    )
    told = make_content(found)["recommendation"]
    assert told["sentence"].startswith(
        "The model decides ill for every row: it does not tell ill and well apart. It has "
    )
    metrics = found.fitted(found.choice)[2]
    shown = show_results(metrics, [])
    warning = shown.index("  WARNING: the model decides ill for every row.")
    assert warning < next(at for at, line in enumerate(shown) if "balanced accuracy" in line)


def test_comparisons_say_what_the_decisions_are_and_which_models_are_meant():
    X, y = sick_rows()
    found = compare(
        X, y, misclassification={("ill", "well"): 20}, methods=["centers", "most-frequent"],
        cv=3, repeats=1,
    )  # fmt: skip
    metrics = found.fitted(found.choice)[2]
    metrics["model"]["best_baseline"] |= {
        "is_better": True,
        "is_sparser": False,
        "difference": 0.05,
    }
    lines = " ".join("\n".join(show_results(metrics, [])).split())
    limit = "worse than the best that may be recommended (95 % limit, deciding by expected cost)"
    assert limit in lines
    told = (
        r"is better, with .*; its score is 0\.050 ± [\d.]+ higher in the same folds, deciding by"
    )
    assert re.search(told, lines)
    for gain, said in ((-0.05, r"0\.050 ± [\d.]+ lower in"), (0.0001, r"equal \(± [\d.]+\) in")):
        metrics["model"]["best_baseline"]["difference"] = gain
        assert re.search(
            f"its score is {said} the", " ".join(" ".join(show_results(metrics, [])).split())
        )
    best = "worse than the best model that may be recommended (upper 95 % limit, deciding by "
    details = " ".join(recommend(metrics, found)["details"])
    assert f"{best}expected cost)" in details and "both deciding by probability)" in details


@pytest.mark.parametrize(
    ("gap", "told"),
    [(3e-15, "optimal to 3e-15; there is nothing to do."), (0.02, "proven optimal to 0.02 only.")],
)
def test_the_certificate_begins_with_what_it_means(content, gap, told):
    proof = {"objective": 166.0, "gap": 1e-12, "relative_gap": gap, "tol": 1e-3}
    family = {"questions": None, "landmarks": None, "certificate": proof}
    page = render(content | {"family": family}, NO_PICTURES)
    assert f"{told}</p>\n<details><summary>The proof</summary>" in page


def test_promises_of_calibration_rows_are_on_the_page():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 2
    X = rng.normal(size=(240, 4)) + y[:, None]
    found = compare(X, y, methods=["centers", "most-frequent"], cv=3, calibration_share=0.4)
    promises = make_content(found)["promises"]
    assert any("Prediction sets" in line for line in promises)
    assert promises[0] in found.to_html()
