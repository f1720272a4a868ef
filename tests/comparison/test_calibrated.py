"""Calibration rows of `compare`: set aside before anything else, and what they promise."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator

from tamis import compare, load_model
from tamis.comparison.options import Options
from tamis.comparison.prepare import set_aside
from tamis.guarantees import ConformalClassifier, find_sensitivity_threshold, positives_needed
from tamis.models import save_model
from tamis.tables.reading.frames import as_table
from tests.oracles import conformal as oracle

FAST = {"methods": ["centers", "most-frequent"], "cv": 3, "repeats": 1}
SHARE = {"calibration_share": 0.4}


def make_frame(n=200, seed=0, shift=1.5):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, "ill", "well")
    X = rng.normal(size=(n, 4))
    X[:, 0] += shift * (y == "ill")
    return pd.DataFrame(X, columns=list("abcd")), y


@pytest.fixture(scope="module")
def found():
    return compare(*make_frame(), **FAST, **SHARE)


# Setting aside.


def split(X, y, share=0.4, groups=None, **options):
    table, _ = as_table(X, y, groups=groups)
    return set_aside(table, Options(calibration_share=share, **options))


def test_rows_are_set_aside_class_by_class_and_by_the_seed():
    X, y = make_frame()
    train, kept = split(X, y)
    assert (train.n_rows, kept.table.n_rows) == (120, 80)
    assert np.unique(kept.table.y, return_counts=True)[1].tolist() == [40, 40]
    together = np.concatenate([train.columns.numeric, kept.table.columns.numeric])
    assert_array_equal(np.sort(together, axis=0), np.sort(X.to_numpy(), axis=0))
    other = split(X, y, seed=1)[1].table.columns.numeric
    assert not np.array_equal(other, kept.table.columns.numeric)
    assert_array_equal(split(X, y)[1].table.columns.numeric, kept.table.columns.numeric)


def test_rows_are_drawn_regardless_of_class_when_all_errors_count():
    X, y = make_frame()
    counts = {
        int((split(X, y, max_error=0.1, seed=seed)[1].table.y == "ill").sum()) for seed in range(9)
    }
    assert len(counts) > 2


@pytest.mark.parametrize("duplicates", ["group", "drop"])
def test_groups_and_copies_stay_on_one_side(duplicates):
    X, y = make_frame(100)
    X, y = pd.concat([X, X[:40]]), np.concatenate([y, y[:40]])
    train, kept = split(X, y, duplicates=duplicates)
    seen = {tuple(row) for row in train.columns.numeric}
    assert not seen & {tuple(row) for row in kept.table.columns.numeric}
    apart = split(X, y, duplicates="keep")
    both = {tuple(r) for r in apart[0].columns.numeric} & {
        tuple(r) for r in apart[1].table.columns.numeric
    }
    assert both  # what would happen without looking for copies
    groups = np.arange(100) // 4
    train, kept = split(X[:100], y[:100], groups=groups)
    assert not set(train.groups) & set(kept.table.groups)
    assert [rows.size for rows in _with_classes(kept).rows_of_classes()] == [10, 10]


def _with_classes(kept):
    return replace(kept, classes=np.unique(kept.table.y))


def test_words_medians_and_categories_come_from_training_rows_alone():
    X, y = make_frame(60)
    X["color"] = np.where(np.arange(60) % 3 == 0, "red", "blue")
    kept = split(X, y)[1]
    strange = np.flatnonzero(np.isin(X["a"], kept.table.columns.numeric[:, 0]))
    X.loc[strange, "color"] = "green"
    X.loc[strange[:5], "a"] = np.nan
    X.loc[strange, "b"] = 1e9  # would be seen in any mean, median or range
    model = compare(X, y, **FAST, **SHARE, keep=["a", "b", "color"]).model.model_
    known = {*model.preparation.categories["color"], *model.preparation.others["color"]}
    assert known == {"blue", "red"}
    values = dict(zip(model.preparation.numbers, model.preparation.ranges, strict=False))
    assert values["b"][1] < 10
    assert model.temperature > 0 and np.isfinite(model.preparation.fill).all()


# Prediction sets.


def test_sets_are_those_of_conformal_classifier_on_the_same_scores(found):
    X, _ = make_frame(80, seed=9)
    model, kept = found.model, found.kept
    p = model.predict_proba(kept.table.frame)
    of_class = [p[kept.table.y == label, c] for c, label in enumerate(model.classes_)]
    expected = [
        [
            (1 + np.sum(of_class[c] <= row[c] + 1e-9)) / (1 + of_class[c].size) > 0.1 + 1e-12
            for c in range(2)
        ]
        for row in model.predict_proba(X)
    ]
    sets = model.predict_set(X, coverage=0.9)
    assert_array_equal(sets, expected)
    assert 0 < sets.sum() < sets.size
    frozen = ConformalClassifier(FrozenEstimator(model)).fit(kept.table.frame, kept.table.y)
    assert_array_equal(frozen.predict_set(X, alpha=0.1), sets)
    assert str(model.coverage(0.9)) == str(frozen.coverage(0.1))


def test_other_priors_do_not_change_the_sets(found, tmp_path):
    X, _ = make_frame(50, seed=3)
    model = found.model
    before = model.predict_set(X)
    for name in ("model.json", "model.skops"):
        save_model(model, tmp_path / name)
        again = load_model(tmp_path / name)
        assert_array_equal(again.predict_set(X), before)
        assert_array_equal(again.coverage().n_calibration, [40, 40])
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1, got 1"):
        model.predict_set(X, 1)


def test_metrics_and_notes_say_what_was_set_aside(found):
    told = found.metrics["calibration"]
    assert told["rows"] == {"training": 120, "calibration": 80}
    assert told["rows_of_class"] == {"ill": 40, "well": 40}
    assert found.metrics["data"]["rows"] == 120
    assert (
        "80 rows set aside as a conformal calibration set (ill 40, well 40)" in found.data.notes[0]
    )
    assert told["sets"]["rows_needed"] == 19
    assert "Beta(39, 2)" in " ".join(told["sets"]["statements"])
    json.dumps(found.metrics, allow_nan=False)


def test_a_small_class_is_in_every_set_and_an_absent_one_too():
    X, y = make_frame(120)
    y = y.astype(object)
    y[:8], y[8:11] = "rare", "few"
    found = compare(X, y.astype(str), **FAST, calibration_share=0.2)
    told = found.metrics["calibration"]["sets"]
    assert set(told["in_every_set"]) == {"few", "ill", "rare", "well"}  # 11 or fewer of each
    found = compare(X, y.astype(str), **FAST, calibration_share=0.4)
    sets = found.model.predict_set(X)
    kinds = dict(zip(found.model.classes_, sets.T, strict=True))
    assert kinds["rare"].all() and kinds["few"].all() and not kinds["ill"].all()
    text = str(found.model.coverage())
    assert (
        "Class 'rare' has 3 rows in the calibration set; 19 are needed to leave it out at 95.0 %"
        in text
    )
    assert found.metrics["calibration"]["rows_of_class"]["few"] == 1


def test_a_model_without_calibration_rows_has_no_sets():
    model = compare(*make_frame(60), **FAST).model
    for call in (lambda: model.predict_set(make_frame(3)[0]), model.coverage):
        with pytest.raises(ValueError, match=r"coverage: .* Fit it with calibration_share=0.3"):
            call()


def test_another_level_is_calibrated_as_well(found):
    X, _ = make_frame(50, seed=3)
    picked = found.pick("centers", 4)
    assert picked.predict_set(X).shape == (50, 2)
    assert picked.model_.calibration.n_calibration.tolist() == [40, 40]


# Sensitivity with confidence.


PROMISE = {"positive": "ill", "min_sensitivity": 0.8, "confidence": 0.95}


@pytest.mark.parametrize("has_groups", [False, True])
def test_the_threshold_is_the_order_statistic_of_the_calibration_rows(has_groups):
    groups = np.arange(200) // 4 * 2 + np.arange(200) % 2 if has_groups else None
    found = compare(*make_frame(), **FAST, **SHARE, **PROMISE, groups=groups)
    model, kept = found.model.model_, found.kept
    rows = kept.rows_of_classes()[0]
    assert rows.size == (20 if has_groups else 40)
    assert (kept.table.y[rows] == "ill").all()
    if has_groups:
        assert np.unique(kept.groups[rows]).size == 20
    scores = found.model.predict_proba(kept.table.frame)[rows, 0]
    expected = find_sensitivity_threshold(scores, sensitivity=0.8)
    assert expected.rank == oracle.threshold_rank(rows.size, 1 - 0.8, 0.95) >= 1
    assert_allclose(model.threshold, min(expected.threshold, 0.5), atol=2e-9)
    assert model.threshold < expected.threshold  # equal rows may differ in the last digit
    told = found.metrics["calibration"]["sensitivity"]
    assert (told["rank"], told["positives"]) == (expected.rank, rows.size)
    assert told["specificity"]["rows"] == rows.size
    note = found.data.notes[1]
    assert f"needs {positives_needed(0.8)} " in note and f"there are {rows.size}" in note


def test_too_few_positives_are_refused_before_any_training(monkeypatch):
    monkeypatch.setattr("tamis.comparison.comparing.run", None)
    X, y = make_frame()
    match = r"min_sensitivity=0.95 .* needs 59 rows of class ill in the cal.*, and there are 40"
    with pytest.raises(ValueError, match=match + r".*calibration_share=0.6\), or ask for less"):
        compare(X, y, **FAST, **SHARE, **PROMISE | {"min_sensitivity": 0.95})
    with pytest.raises(ValueError, match=r"needs 299 .* Collect more rows, or ask for less"):
        compare(X, y, **FAST, **SHARE, **PROMISE | {"min_sensitivity": 0.99})
    groups = np.arange(200) // 8 * 2 + np.arange(200) % 2
    with pytest.raises(ValueError, match=r"14 sample groups with rows .* there are 10"):
        compare(X, y, **FAST, **SHARE, **PROMISE, groups=groups)


def test_no_confidence_keeps_the_threshold_of_the_folds():
    options = {"positive": "ill", "min_sensitivity": 0.9}
    X, y = make_frame()
    found = compare(X, y, **FAST, **SHARE, **options)
    kept = set_aside(as_table(X, y)[0], Options(**SHARE))[0]
    plain = compare(kept.frame, kept.y, **FAST, **options)
    assert found.model.model_.threshold == plain.model.model_.threshold
    assert "sensitivity" not in found.metrics["calibration"]


# Limited errors.

ASKING = {"methods": ["centers", "datum-wise", "most-frequent"], "cv": 2, "repeats": 1}


@pytest.fixture(scope="module")
def limited():
    X, y = make_frame(160, shift=3.5)
    limits = {"max_error": 0.3, "max_miss": 0.4, "positive": "ill"}
    return compare(X, y, **ASKING, **SHARE, **limits, confidence=0.9)


def test_the_cheapest_datum_wise_model_that_passes_is_recommended(limited):
    kept, questions = limited.kept, limited.kept.questions
    result = limited.result("datum-wise")
    wrong, misses, asked = [], [], []
    for n in range(len(result.levels)):
        choice = questions.choice.__class__(
            "datum-wise", n, float(result.levels[n]), float(result.overall[n])
        )
        model = limited.table_model(choice)
        predicted = model.predict_rows(kept.table.columns)
        is_wrong = predicted.labels != kept.table.y
        wrong.append(int(is_wrong.sum()))
        misses.append(int(is_wrong[kept.table.y == "ill"].sum()))
        asked.append(np.mean([len(names) for names in predicted.asked]))
    assert_array_equal(questions.test.errors, [wrong[::-1], misses[::-1]])
    n_ill = int((kept.table.y == "ill").sum())
    places = [
        oracle.last_passed(wrong[::-1], 64, 0.3, 0.1),
        oracle.last_passed(misses[::-1], n_ill, 0.4, 0.1),
    ]
    assert None not in places
    place = len(wrong) - 1 - min(places)
    assert (questions.choice.method, questions.choice.place) == ("datum-wise", place)
    assert limited.final_choice == questions.choice
    assert limited.model.model_.level == result.levels[place]
    assert_allclose(questions.n_questions.mean, asked[place])
    told = limited.metrics["calibration"]["questions"]
    assert told["n_questions"]["mean"] == questions.n_questions.mean
    low, high = told["n_questions"]["interval"]
    assert low < asked[place] < high
    assert "with 90 % confidence" in told["statement"]
    assert limited.metrics["model"]["level"] == result.levels[place]


def test_rows_that_chose_a_model_do_not_calibrate_its_sets(limited):
    with pytest.raises(ValueError, match="whose rows choose the model"):
        limited.model.predict_set(make_frame(5)[0])
    other = limited.find("centers", 4)
    assert "questions" not in limited.fitted(other)[2]["calibration"]


def test_none_is_an_answer():
    X, y = make_frame(160, shift=0.0)
    found = compare(X, y, **ASKING, **SHARE, max_error=0.1)
    questions = found.kept.questions
    assert questions.choice is None and questions.n_questions is None
    assert found.final_choice == found.choice
    assert found.metrics["calibration"]["questions"]["statement"].startswith("None: error rate")


# Nonsense.


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"calibration_share": 0}, "calibration_share must be a number between 0 and 1, got 0"),
        ({"calibration_share": 1}, "calibration_share must be a number between 0 and 1, got 1"),
        ({"calibration_share": 1.5}, "calibration_share must be a number between 0 and 1"),
        ({"calibration_share": "half"}, "calibration_share must be a number"),
        ({"confidence": 0.95}, "confidence is about min_sensitivity"),
        (PROMISE, "confidence needs rows that are set aside"),
        ({"max_error": 0.1}, "max_error needs rows that are set aside"),
        (SHARE | {"max_error": 0.1}, "add datum-wise to methods"),
        (SHARE | {"max_miss": 0.1}, "with positive=CLASS"),
        (SHARE | PROMISE | {"max_error": 0.1}, "max_miss instead"),
        (SHARE | PROMISE | {"min_sensitivity": 1}, "nothing is ever missed"),
        (
            ASKING | SHARE | {"max_error": 0.01},
            "needs 299 rows in the calibration set, and there are 80",
        ),
        (SHARE | {"positive": "dead", "min_sensitivity": 0.9}, "positive=dead"),
    ],
)
def test_nonsense_is_refused(options, match):
    with pytest.raises(ValueError, match=match):
        compare(*make_frame(), **FAST | options)


def test_tiny_tables_are_refused():
    X, y = make_frame(4)
    with pytest.raises(ValueError, match="of so few rows, none would be set aside"):
        compare(X, y, **FAST, **SHARE)
    X, y = make_frame(40)
    y = np.where(np.arange(40) < 2, "rare", y)  # drawn regardless of class, both may be set aside
    with pytest.raises(ValueError, match="fewer than 2 rows of class rare would be left"):
        for seed in range(20):
            compare(X, y, **ASKING, calibration_share=0.5, max_error=0.5, random_state=seed)


def test_sample_weights_are_not_part_of_the_promise():
    X, y = make_frame()
    weights = np.where(y == "ill", 1.0, 2.0)
    found = compare(X, y, **FAST, **SHARE, sample_weight=weights)
    assert any("as they occur in the table" in note for note in found.data.notes)
    with pytest.raises(ValueError, match="need the method datum-wise"):
        compare(X, y, **ASKING, **SHARE, max_error=0.3, sample_weight=weights)
