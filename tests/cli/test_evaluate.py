import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

from tamis.comparison.further.validation import (
    calibration,
    compare_scores,
    score_intervals,
)
from tamis.models import save_model
from tamis.models.saving import read_model
from tamis.paths.intervals import wilson
from tests.cli.conftest import HEADER, make_rows, unwrapped, write_csv


@pytest.fixture
def evaluate(tamis):
    def call(*words):
        code, out, err = tamis("evaluate", *words, "--json")
        assert code == 0, err
        return json.loads(out), err

    return call


def test_scores_are_those_of_the_predictions(run_folder, new, evaluate, table):
    told, err = evaluate(run_folder, new)
    rows = table("predict", run_folder, new)
    with open(new, newline="") as file:
        true = np.array([row["y"] for row in csv.DictReader(file)])
    said = np.array([row["prediction"] for row in rows])
    chance = np.array([float(row["p_well"]) for row in rows])
    shares = [np.mean(said[true == label] == label) for label in ("ill", "well")]
    assert told["scores"]["accuracy"]["score"] == pytest.approx(np.mean(said == true))
    assert told["scores"]["balanced_accuracy"]["score"] == pytest.approx(np.mean(shares))
    assert told["scores"]["roc_auc"]["score"] == pytest.approx(
        roc_auc_score(true == "well", chance)
    )
    assert told["calibration"]["brier"] == pytest.approx(brier_score_loss(true == "well", chance))
    assert told["confusion"]["classes"] == ["ill", "well"]
    assert np.sum(told["confusion"]["true_in_rows"]) == 41
    assert told["data"]["rows"] == 41 and err == ""
    assert told["features_per_sample"] == int(told["features_per_sample"])
    for entry in told["scores"].values():
        low, high = entry["interval_95"]
        assert low <= entry["score"] <= high


def test_the_difference_from_cross_validation_is_told(run_folder, new, evaluate, tamis):
    told, _ = evaluate(run_folder, new)
    compared = told["cross_validated"]
    difference = told["scores"]["balanced_accuracy"]["score"] - compared["score"]
    assert compared["difference"] == pytest.approx(difference)
    code, out, _ = tamis("evaluate", run_folder, new)
    assert code == 0 and compared["sentence"] in out
    assert "the honest score" in out and "calibration: Brier score" in out


def test_a_recalibrated_model_is_not_compared_with_the_score_before(
    run_folder, new, evaluate, tamis, tmp_path
):
    path = tmp_path / "site.json"
    assert evaluate(run_folder, new, "--recalibrate", path)[0]["cross_validated"] is not None
    assert evaluate(path, new)[0]["cross_validated"] is None
    assert "before the model was recalibrated" in tamis("evaluate", path, new)[1]


def test_models_without_an_honest_score_say_so(models, new, tamis):
    code, out, _ = tamis("evaluate", models["centers"], new)
    assert code == 0 and out.count("the model has no honest score to compare with\n") == 1


def test_a_picked_model_is_said_to_have_its_cross_validated_score_only(
    run_folder, new, tamis, tmp_path
):
    picked = tmp_path / "picked"
    assert tamis("pick", run_folder, "--n-features", 1, "-o", picked, "--no-report")[0] == 0
    chosen = json.loads((picked / "metrics.json").read_text())["model"]["selection_score"]
    out = unwrapped(tamis("evaluate", picked, new)[1])
    assert "no honest score to compare with, because it was chosen after seeing the curve" in out
    assert f"cross-validated, {chosen['score']:.3f} ± {chosen['standard_error']:.3f}" in out


def test_the_file_of_the_training_is_recognised(run_folder, small, new, evaluate):
    err = evaluate(run_folder, small)[1]
    assert "is the file that the model was trained on" in err
    assert "training, duplicates count as one sample; here, every row counts" in err
    assert "was trained on" not in evaluate(run_folder, new)[1]


def test_the_same_seed_gives_the_same_numbers(run_folder, new, evaluate):
    assert evaluate(run_folder, new, "--seed", "3") == evaluate(run_folder, new, "--seed", "3")


def test_datum_wise_models_count_what_they_asked_for(models, new, evaluate, table):
    told, _ = evaluate(models["datum-wise"], new)
    asked = [int(row["n_asked"]) for row in table("predict", models["datum-wise"], new)]
    assert told["features_per_sample"] == pytest.approx(np.mean(asked))


def test_the_file_is_the_json(run_folder, new, tmp_path, tamis):
    path = tmp_path / "found.json"
    code, out, _ = tamis("evaluate", run_folder, new, "-o", path)
    assert code == 0 and out.startswith(str(new))
    code, out, _ = tamis("evaluate", run_folder, new, "--json")
    assert path.read_text() == out


def test_labels_come_from_another_column_or_file(run_folder, new, tmp_path, evaluate):
    told, _ = evaluate(run_folder, new)
    rows = make_rows(41, 69)
    renamed = write_csv(tmp_path / "renamed.csv", [*HEADER[:-1], "truth"], rows)
    other, _ = evaluate(run_folder, renamed, "--target", "truth")
    assert other["scores"] == told["scores"]
    bare = write_csv(tmp_path / "bare.csv", HEADER[:-1], [row[:-1] for row in rows])
    pairs = [[row[0], row[-1]] for row in rows]
    labels = write_csv(tmp_path / "labels.csv", ["name", "y"], pairs[::-1])
    joined, _ = evaluate(run_folder, bare, "--target-file", labels, "--id", "name")
    assert joined["scores"] == told["scores"]


def test_rows_without_a_label_are_left_out(run_folder, new, tmp_path, evaluate):
    rows = make_rows(41, 69)
    more = [[*row[:-1], ""] for row in make_rows(5, 5)]
    data = write_csv(tmp_path / "more.csv", HEADER, rows + more)
    told, err = evaluate(run_folder, data)
    assert err == "tamis: 5 rows without a label: ignored\n"
    assert told["scores"] == evaluate(run_folder, new)[0]["scores"]


def test_words_among_numbers_are_noted(run_folder, tmp_path, evaluate):
    rows = make_rows(41, 69)
    rows[3][2] = "high"
    told, err = evaluate(run_folder, write_csv(tmp_path / "odd.csv", HEADER, rows))
    assert told["data"]["notes"] == ["words among numbers, read as missing: dose (1)"]
    assert err == f"tamis: {told['data']['notes'][0]}\n"


def test_whole_numbers_match_whatever_their_writing(tmp_path, evaluate):
    from tests.cli.conftest import make_model

    data = write_csv(tmp_path / "int.csv", HEADER, make_rows(60, 0, ("0", "1")))
    model = make_model(data, "centers", tmp_path / "int.json")
    as_floats = write_csv(tmp_path / "float.csv", HEADER, make_rows(60, 0, ("0.0", "1.0")))
    assert evaluate(model, data)[0]["scores"] == evaluate(model, as_floats)[0]["scores"]


def test_unknown_labels_are_named(run_folder, tmp_path, refuses):
    rows = make_rows(9, 1, ("well", "ill", "dead"))
    data = write_csv(tmp_path / "dead.csv", HEADER, rows)
    refuses("evaluate", run_folder, data, match="dead; it knows ill, well")


def test_a_class_without_rows_is_a_note(run_folder, three, tmp_path, evaluate):
    rows = make_rows(12, 1)
    ill = write_csv(tmp_path / "ill.csv", HEADER, [row for row in rows if row[-1] == "ill"])
    told, err = evaluate(run_folder, ill)
    assert "without any row here: well" in err
    assert told["scores"]["roc_auc"] == {"score": None, "interval_95": None}
    assert told["per_class"]["well"]["sensitivity"] is None
    two = write_csv(tmp_path / "two.csv", HEADER, rows)
    told, err = evaluate(three[1]["centers"], two)
    assert "without any row here: worse" in err
    assert told["scores"]["roc_auc"]["score"] > 0.5


def test_other_class_frequencies_are_told_and_taken(run_folder, tmp_path, tamis):
    rows = [row for i, row in enumerate(make_rows(60, 1)) if row[-1] == "well" or i % 10 == 1]
    data = write_csv(tmp_path / "rare.csv", HEADER, rows)
    assert "--prevalence here converts the probabilities" in tamis("evaluate", run_folder, data)[2]
    n_ill = sum(row[-1] == "ill" for row in rows)
    priors = f"ill={n_ill / len(rows)},well={1 - n_ill / len(rows)}"
    for words in (("--priors", priors), ("--prevalence", priors), ("--prevalence", "here")):
        assert "--prevalence here" not in tamis("evaluate", run_folder, data, *words)[2]


def test_the_prevalence_changes_probabilities_and_no_label(run_folder, tmp_path, evaluate):
    rows = [row for i, row in enumerate(make_rows(60, 1)) if row[-1] == "well" or i % 10 == 1]
    data = write_csv(tmp_path / "rare.csv", HEADER, rows)
    usual, here = (evaluate(run_folder, data, "--prevalence", p)[0] for p in ("training", "here"))
    assert usual["confusion"] == here["confusion"]
    assert usual["prevalence"]["shares"] == {"ill": 0.5, "well": 0.5}
    one, other = usual["by_class"]["well"], here["by_class"]["well"]
    assert other["prevalence"] == pytest.approx(other["share"])
    assert one["slope"]["value"] == pytest.approx(other["slope"]["value"])
    assert one["intercept_at_share"]["value"] == pytest.approx(other["intercept"]["value"])
    assert here["calibration"]["brier"] < usual["calibration"]["brier"]


def test_the_positive_class_is_the_one_that_is_judged(run_folder, new, evaluate, refuses, tamis):
    assert list(evaluate(run_folder, new)[0]["by_class"]) == ["well"]
    told, _ = evaluate(run_folder, new, "--positive", "ill")
    assert list(told["by_class"]) == ["ill"]
    assert told["calibration"]["of"] == "probability of ill"
    refuses("evaluate", run_folder, new, "--positive", "sick", match="the classes are ill, well")
    out = tamis("evaluate", run_folder, new, "--positive", "ill")[1]
    for words in ("calibration slope", "calibration intercept", "Brier score", "net benefit"):
        assert words in out


COSTS = np.array([[0.0, 3.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("changed", "words", "limit"),
    [
        ({}, [], 0.1),
        ({}, ["--priors", "ill=0.2,well=0.8"], 0.5),
        ({"positive": "ill", "threshold": 0.3}, [], 1 / 22),
        ({"misclassification": COSTS}, [], 0.25),
        (
            {"misclassification": COSTS},
            ["--prevalence", "here"],
            0.25,
        ),
    ],
)
def test_net_benefit_is_that_of_the_decisions_of_the_model(
    models, new, tmp_path, evaluate, changed, words, limit
):
    model = replace(read_model(models["centers"]), frequencies=np.array([0.1, 0.9]), **changed)
    save_model(model, tmp_path / "model.json")
    words = ["--positive", "ill", *words]
    told, _ = evaluate(tmp_path / "model.json", new, *words)
    measured, counts = told["by_class"]["ill"], np.array(told["confusion"]["true_in_rows"])
    assert measured["decides_from"] == pytest.approx(limit)
    place = round(100 * limit) - 1
    at = measured["net_benefit"]["thresholds"][place]
    assert at == pytest.approx(limit, abs=0.005)
    expected = (counts[0, 0] - counts[1, 0] * at / (1 - at)) / counts.sum()
    assert measured["net_benefit"]["model"][place] == pytest.approx(expected, abs=0.03)


def test_every_class_of_more_than_two_is_judged(three, evaluate):
    data, models = three
    told, _ = evaluate(models["centers"], data)
    assert list(told["by_class"]) == ["ill", "well", "worse"]
    for measured in told["by_class"].values():
        assert set(measured) >= {"slope", "intercept", "brier", "net_benefit", "roc"}


def test_columns_that_moved_are_named(run_folder, tmp_path, evaluate):
    rows = make_rows(60, 1)
    for row in rows:
        row[2] = f"{float(row[2]) + 2:.3f}"
    told, err = evaluate(run_folder, write_csv(tmp_path / "moved.csv", HEADER, rows))
    assert [one["column"] for one in told["moved"]] == ["dose"]
    assert "medians that moved since training: dose" in err
    assert "outside the range of the training rows" in err


def test_rows_that_recalibrated_a_model_do_not_validate_it(
    run_folder, new, tmp_path, evaluate, tamis
):
    site = tmp_path / "site.json"
    evaluate(run_folder, new, "--recalibrate", site)
    with open(new, newline="") as file:
        header, *rows = csv.reader(file)
    backwards = write_csv(tmp_path / "backwards.csv", header, rows[::-1])
    said = "these are the rows that the model was recalibrated on"
    err = tamis("evaluate", site, new)[2]
    assert said in err and f"{site}, under record.scores.recalibration" in err
    assert said in tamis("evaluate", site, backwards)[2]
    other = write_csv(tmp_path / "other.csv", HEADER, make_rows(41, 9))
    assert said not in tamis("evaluate", site, other)[2]
    assert said not in tamis("evaluate", run_folder, new)[2]


def test_nonsense_is_one_line(run_folder, new, tmp_path, refuses):
    refuses("evaluate", tmp_path / "nowhere", new, match="nowhere")
    refuses("evaluate", run_folder, tmp_path / "nowhere.csv", match="no file")
    refuses("evaluate", run_folder, new, "--target", "z", match="no column 'z'")
    refuses("evaluate", run_folder, new, "--target-file", tmp_path / "no.csv", match="no file")
    refuses("evaluate", run_folder, new, "-o", tmp_path / "a" / "b", match="no folder")
    refuses("evaluate", run_folder, new, "--priors", "ill=1", match="missing: well")
    empty = write_csv(tmp_path / "empty.csv", HEADER, [])
    refuses("evaluate", run_folder, empty, match="no rows")
    bare = write_csv(tmp_path / "bare.csv", HEADER, [[*row[:-1], ""] for row in make_rows(4, 0)])
    refuses("evaluate", run_folder, bare, match="no row has a label")


def test_wilson_is_the_root_of_its_equation():
    for part, whole in ((0, 5), (3, 10), (10, 10), (70, 100)):
        low, high = wilson(part, whole)
        assert 0 <= low <= part / whole <= high <= 1
        for limit in (low, high):
            error = (part / whole - limit) ** 2 - 1.959964**2 * limit * (1 - limit) / whole
            assert abs(error) < 1e-6
    assert wilson(0, 0) is None


def test_intervals_cover_as_often_as_they_say():
    """Of 200 samples about 95 % have the true accuracy, 0.8, in their interval."""
    rng, hits = np.random.default_rng(0), 0
    for seed in range(200):
        codes = rng.integers(2, size=150)
        labels = np.where(rng.random(150) < 0.8, codes, 1 - codes)
        p = np.eye(2)[labels]
        low, high = score_intervals(codes, labels, p, seed)["accuracy"]["interval_95"]
        hits += low <= 0.8 <= high
    assert 0.9 <= hits / 200 <= 0.99


def test_drawn_cells_are_drawn_rows():
    """The multinomial of the cells has the spread of scores of rows drawn one by one."""
    rng = np.random.default_rng(1)
    codes = rng.integers(3, size=120)
    labels = np.where(rng.random(120) < 0.7, codes, rng.integers(3, size=120))
    found = score_intervals(codes, labels, np.eye(3)[labels], 0)["balanced_accuracy"]
    scores = []
    for _ in range(2000):
        rows = rng.integers(120, size=120)
        scores.append(np.mean([np.mean(labels[rows][codes[rows] == c] == c) for c in range(3)]))
    np.testing.assert_allclose(found["interval_95"], np.percentile(scores, [2.5, 97.5]), atol=0.02)


def test_draws_without_a_class_leave_it_out():
    codes = np.array([0] * 20 + [1] * 20 + [2])
    found = score_intervals(codes, codes, np.eye(3)[codes], 0)["roc_auc"]
    assert found["score"] == 1.0
    low, high = found["interval_95"]
    assert 0.3 < low < 0.95 and high == 1.0  # no draw is below 1, and that is not certain


def test_true_probabilities_are_calibrated():
    rng = np.random.default_rng(0)
    p = rng.random(50_000)
    codes = (rng.random(50_000) < p).astype(int)
    found = calibration(codes, np.column_stack([1 - p, p]), np.array(["a", "b"]))
    assert found["expected_calibration_error"] < 0.01
    assert found["brier"] == pytest.approx(1 / 6, abs=0.005)
    assert sum(part["rows"] for part in found["bins"]) == 50_000
    sure = calibration(codes, np.eye(2)[np.ones(50_000, int)], np.array(["a", "b"]))
    assert sure["expected_calibration_error"] == pytest.approx(0.5, abs=0.01)
    assert sure["in_the_large"]["b"]["difference"] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("score", "interval", "sentence"),
    [
        (
            0.89,
            (0.85, 0.93),
            "0.040 below the honest score 0.930 of tamis fit; the intervals overlap",
        ),
        (
            0.80,
            (0.75, 0.85),
            "0.130 below the honest score 0.930 of tamis fit; the intervals do not overlap",
        ),
        (
            0.93,
            (0.90, 0.95),
            "the same as the honest score 0.930 of tamis fit; the intervals overlap",
        ),
        (
            0.95,
            (0.94, 0.99),
            "0.020 above the honest score 0.930 of tamis fit; the intervals overlap",
        ),
    ],
)
def test_the_sentence(score, interval, sentence):
    there = {"score": 0.93, "interval_95": [0.9, 0.96]}
    found = compare_scores({"score": score, "interval_95": list(interval)}, there)
    assert found["sentence"] == sentence


def test_a_recalibrated_model_fits_the_new_site(models, new, tmp_path, evaluate, tamis):
    path = tmp_path / "site.json"
    told, _ = evaluate(models["panel"], new, "--recalibrate", path)
    again = told["recalibration"]
    assert again["score"] == told["scores"][told["scoring"]]["score"]
    after, _ = evaluate(path, new)
    n, shares = 41, told["calibration"]["in_the_large"]
    for label, row in after["calibration"]["in_the_large"].items():
        assert abs(row["difference"]) <= abs(shares[label]["difference"]) + 2 / n
        assert abs(row["difference"]) < 0.05
    found = json.loads(path.read_text(encoding="utf-8"))["record"]
    assert found["scores"]["recalibration"]["recalibrated_log_loss"] == pytest.approx(
        again["recalibrated_log_loss"]
    )
    assert found["recalibration"]["temperature"] == again["temperature"]
    code, out, _ = tamis("evaluate", models["panel"], new, "--recalibrate", path)
    assert code == 0 and "cross-validated after" in out and "log loss" in out


def test_a_model_is_recalibrated_from_its_own_probabilities(models, new, tmp_path, evaluate):
    first, _ = evaluate(models["panel"], new, "--recalibrate", tmp_path / "a.json")
    second, _ = evaluate(tmp_path / "a.json", new, "--recalibrate", tmp_path / "b.json")
    assert second["recalibration"]["intercept"] == first["recalibration"]["intercept"]
    # What the second is compared with are the probabilities of the first.
    plain, _ = evaluate(tmp_path / "a.json", new)
    assert second["recalibration"]["brier"] == plain["calibration"]["brier"]


def test_recalibration_replaces_no_input_and_takes_no_priors(models, new, tmp_path, refuses):
    path = tmp_path / "site.json"
    refuses("evaluate", models["panel"], new, "--recalibrate", new, match="would replace an input")
    words = ["--recalibrate", path, "--priors", "ill=0.5,well=0.5"]
    refuses("evaluate", models["panel"], new, *words, match="omit --priors")
    assert not path.exists()


def test_the_notes_of_the_report_point_to_no_single_row(run_folder, tmp_path, evaluate):
    rows = make_rows(41, 69)
    rows[3][2] = "1234.5"
    told, _ = evaluate(run_folder, write_csv(tmp_path / "far.csv", HEADER, rows))
    assert any("dose (1; " in note for note in told["data"]["notes"])
    assert any(note.endswith("dose (fewer than 5)") for note in told["data"]["notes_without_rows"])
    assert not any("dose (1" in note for note in told["data"]["notes_without_rows"])
