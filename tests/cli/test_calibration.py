"""`tamis fit --calibration-share` and `tamis predict --coverage`."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest

from tamis import load_model
from tamis.tables.classifying.prediction_sets import join_labels
from tests.cli.conftest import unwrapped, write_csv

QUICK = ["--target", "y", "--methods", "centers,most-frequent", "--folds", 2, "--repeats", 1]
SHARE = ["--calibration-share", 0.4]
PROMISE = ["--positive", "ill", "--min-sensitivity", 0.8, "--confidence", 0.95]


def write_data(path, n=120, labels=("ill", "well"), seed=0, shift=2.0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % len(labels)
    X = rng.normal(size=(n, 3))
    X[:, 0] += shift * codes
    rows = [[*(f"{v:.6g}" for v in row), labels[c]] for row, c in zip(X, codes, strict=True)]
    return write_csv(path, ["a", "b", "c", "y"], rows)


@pytest.fixture
def fit(tamis, tmp_path):
    """Run `tamis fit`: the folder, standard output, standard error."""

    def call(data, *words, expect=0):
        run = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        code, out, err = tamis("fit", data, *QUICK, *words, "--n-jobs", 1, "-o", run)
        assert code == expect, err
        return run, out, err

    return call


def test_sets_are_a_column_and_say_what_they_promise(fit, tamis, tmp_path):
    data = write_data(tmp_path / "data.csv")
    run, out, err = fit(data, *SHARE)
    assert "48 rows set aside as a conformal calibration set (ill 24, well 24); 72 rows" in err
    said = unwrapped(out)
    assert "set: 48 rows were set aside before anything else; the other 72 rows" in said
    coverage = "coverage over calibrations is Beta(24, 1)"
    assert f"With 24 rows of class 'ill' in the calibration set, {coverage}" in said
    assert "This does not limit the error rate among rows whose set has a single class." in said
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["calibration"]["rows"] == {"training": 72, "calibration": 48}

    new = write_data(tmp_path / "new.csv", seed=1)
    code, out, err = tamis("predict", run, new, "--coverage", 0.9, "--refer", 0.6)
    assert code == 0, err
    rows = list(csv.DictReader(out.splitlines()))
    assert list(rows[0]) == ["row", "prediction", "p_ill", "p_well", "refer", "set"]
    X = np.loadtxt(new, delimiter=",", skiprows=1, usecols=(0, 1, 2))
    model = load_model(run)
    sets = model.predict_set(pd.DataFrame(X, columns=list("abc")), 0.9)
    expected = [" | ".join(model.classes_[some]) for some in sets]
    assert [row["set"] for row in rows] == expected
    assert len(set(expected)) >= 2
    assert "contains its true class with probability at least 90.0 %" in err
    assert "Beta(23, 2)" in err
    assert "does not limit the error rate among rows whose set has a single class" in err
    # Class frequencies change the probabilities, but not the sets.
    assert "at least 99.999 %." in tamis("predict", run, new, "--coverage", 0.99999)[2]
    code, out, _ = tamis("predict", run, new, "--coverage", 0.9, "--priors", "ill=0.9,well=0.1")
    assert code == 0
    assert [row["set"] for row in csv.DictReader(out.splitlines())] == expected


def test_a_small_class_is_named(fit, tamis, tmp_path):
    data = write_data(tmp_path / "data.csv", n=60)
    run, out, _ = fit(data, *SHARE)
    sentence = (
        "Class 'ill' has 12 rows in the calibration set; 19 are needed to leave it out at 95.0 %"
    )
    assert f"{sentence}: it is in every set." in unwrapped(out)
    code, out, err = tamis("predict", run, data, "--coverage", 0.95)
    assert code == 0 and sentence in err
    assert {row["set"] for row in csv.DictReader(out.splitlines())} == {"ill | well"}


def test_labels_with_the_separator_can_be_told_apart(fit, tamis, tmp_path):
    labels = ("a | b", "c\\", "d")
    data = write_data(tmp_path / "data.csv", n=180, labels=labels, shift=1.0)
    run, _, _ = fit(data, *SHARE)
    code, out, err = tamis("predict", run, data, "--coverage", 0.8)
    assert code == 0, err
    cells = {row["set"] for row in csv.DictReader(out.splitlines())}
    known = {join_labels([label]): label for label in labels}
    assert join_labels(list(labels)) == r"a \| b | c\\ | d"
    found = [[known[piece] for piece in cell.split(" | ")] for cell in cells if cell]
    assert ["a | b"] in found
    assert any(len(some) > 1 for some in found)


def test_models_without_sets_refuse_coverage(fit, tamis, tmp_path):
    data = write_data(tmp_path / "data.csv")
    run, _, _ = fit(data)
    code, out, err = tamis("predict", run, data, "--coverage", 0.95)
    assert (code, out) == (2, "")
    assert "this model has no prediction sets" in err
    assert "Fit it with --calibration-share 0.3" in err
    calibrated, _, _ = fit(data, *SHARE)
    site = tmp_path / "site.json"
    code, _, err = tamis("evaluate", calibrated, data, "--recalibrate", site)
    assert code == 0, err
    code, out, err = tamis("predict", site, data, "--coverage", 0.95)
    assert (code, out) == (2, "")
    assert "recalibrated at another site" in err


def test_a_sensitivity_with_confidence(fit, tamis, tmp_path):
    data = write_data(tmp_path / "data.csv")
    run, out, err = fit(data, *SHARE, *PROMISE)
    assert (
        "--min-sensitivity 0.8 with 95 % confidence needs 14 rows of class ill in the calibration "
        "set; there "
        "are 24" in err
    )
    found = re.search(
        r"sensitivity for ill is at least 0.8 with 95 % confidence, at the threshold ([\d.]+)",
        unwrapped(out),
    )
    model = json.loads((run / "model.json").read_text(encoding="utf-8"))["record"]
    assert float(found[1]) == pytest.approx(model["threshold"], rel=5e-3)
    said = unwrapped(out)
    first = "guarantee sensitivity for ill at least 0.8 with 95 % confidence, specificity"
    second = "with thresholds of the folds instead of the saved one"
    assert 0 < said.index(first) < said.index(second)
    assert "thresholds that were chosen in the folds" in said
    assert "on the 24 other rows of the calibration set (an estimate, not guaranteed)" in said
    picked = tmp_path / "picked"
    code, out, err = tamis("pick", run, "--method", "centers", "--n-features", 3, "-o", picked)
    assert code == 0, err
    assert "sensitivity for ill is at least 0.8 with 95 % confidence" in unwrapped(out)
    again = json.loads((picked / "model.json").read_text(encoding="utf-8"))["record"]
    assert again["calibration"] is not None and again["threshold"] != model["threshold"]


def test_too_few_positives_are_refused(tamis, tmp_path):
    data = write_data(tmp_path / "data.csv")
    words = [*PROMISE[:2], "--min-sensitivity", 0.95, *PROMISE[4:]]
    code, out, err = tamis("fit", data, *QUICK, *SHARE, *words)
    assert (code, out) == (2, "")
    assert "needs 59 rows of class ill in the calibration set, and there are 24" in err


def test_limited_errors(fit, tamis, tmp_path):
    data = write_data(tmp_path / "data.csv", n=160, shift=4.0)
    asking = ["--methods", "centers,datum-wise,most-frequent"]
    run, out, err = fit(data, *SHARE, *asking, "--max-error", 0.2)
    assert (
        "--max-error 0.2 with 95 % confidence needs 14 rows in the calibration set; there are 64"
        in err
    )
    assert re.search(
        r"Error rate at most 20 %, with 95 % confidence \(wrong on \d+ of 64 rows of",
        unwrapped(out),
    )
    first = out[out.index("FEWEST QUESTIONS:") :].split("\n")[1]
    assert first.startswith("  guarantee           Error rate at most 20 %, with 95 % confidence")
    asked = r"it asks [\d.]+ questions per row on average \(95 % interval: "
    assert re.search(asked, unwrapped(out))
    assert "datum-wise" in out
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["model"]["method"] == "datum-wise"
    assert metrics["calibration"]["questions"]["level"] == metrics["model"]["level"]
    code, _, err = tamis("predict", run, data, "--coverage", 0.9)
    assert code == 2 and "whose rows choose the model" in err
    code, out, err = tamis(
        "pick", run, "--method", "centers", "--n-features", 3, "-o", tmp_path / "picked"
    )
    assert code == 0, err
    assert "nothing is guaranteed for this model" in unwrapped(out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--calibration-share", 0], "expected a number between 0 and 1"),
        (["--calibration-share", 1], "expected a number between 0 and 1"),
        (["--calibration-share", "x"], "expected a number between 0 and 1"),
        (["--confidence", 0.9], "--confidence is about --min-sensitivity"),
        (PROMISE, "add --calibration-share 0.3"),
        ([*SHARE, "--max-error", 0.1], "add datum-wise to --methods"),
        ([*SHARE, "--max-miss", 0.1], "with --positive CLASS"),
    ],
)
def test_nonsense_is_refused(tamis, tmp_path, words, message):
    data = write_data(tmp_path / "data.csv", n=20)
    code, out, err = tamis("fit", data, *QUICK, *words)
    assert (code, out) == (2, "")
    assert message in err
