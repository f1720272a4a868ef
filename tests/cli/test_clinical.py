"""`tamis fit` for clinicians: what it prints, writes, resumes and refuses."""

import csv
import json

import numpy as np
import pytest

from tamis.cli.show_clinical import _told
from tests.cli.conftest import unwrapped, write_csv

HEADER = ["marker", "age", "sex", "site", "date", "color", "y"]
WORDS = ["--methods", "centers,most-frequent", "--folds", "3", "--repeats", "1", "--n-jobs", "1"]


def make_rows(n=120, seed=0):
    rng, rows = np.random.default_rng(seed), []
    for i in range(n):
        c = int(rng.integers(2))
        marker = np.exp(0.4 * rng.normal() + 0.9 * c)
        sex = "" if i % 15 == 0 else "fm"[rng.integers(2)]
        date = np.datetime64("2021-01-01") + i // 2
        day = f"{date.astype(object):%d.%m.%Y}"
        color = ("red", "blue")[rng.integers(2)]
        rows.append([f"{marker:.4f}", 30 + i % 50, sex, "ABC"[i % 3], day, color])
        rows[-1].append(["well", "ill"][c])
    return rows


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("clinic") / "data.csv", HEADER, make_rows())


ALL = ["--batch", "site", "--subgroups", "sex,age", "--time", "date", "--positive", "ill"]
ALL += ["--misclassification", "ill:well=10", "--learning-curve", "--assay-error", "0.2"]


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    from tests.cli.processes import call_here

    folder = tmp_path_factory.mktemp("clinic") / "run"
    code, out, err = call_here("fit", data, "--target", "y", *WORDS, *ALL, "-o", folder)
    assert code == 0, err
    return folder, out


def test_everything_is_printed_and_written(run):
    folder, out = run
    model = json.loads((folder / "metrics.json").read_text())["model"]
    batches = model["left_out_batches"]
    low, high = batches["interval_95"]
    told = f"{batches['score']:.3f} 95 % interval {low:.3f} to {high:.3f}; batches are held out,"
    assert f"held-out batches {told} one at a time" in unwrapped(out)
    for name in "ABC":
        assert f"    {name}: {batches['batches'][name]['score']:.3f}" in out
        assert batches["batches"][name]["rows"] == 40
    assert "  later rows " in out
    assert f"  mean cost per row   {model['misclassification']['mean_cost']:.3f}   95 %" in out
    assert "always deciding ill" in out
    assert "with an error of measurement of 20 %" in unwrapped(out)
    assert "240 rows instead of 120 would add" in out and "(an extrapolation)" in unwrapped(out)
    sexes = model["subgroups"]["columns"]["sex"]
    assert list(sexes) == ["f", "m", "(missing)"]
    assert f"sex f: {sexes['f']['score']:.3f}" in out and "sex (missing): not scored" in out
    assert "age above" in out and "are descriptive" in unwrapped(out)
    assert sexes["f"]["sensitivity"]["share"] >= sexes["f"]["specificity"]["share"]


def test_the_time_is_no_feature_and_blocks_have_dates(run):
    folder, out = run
    metrics = json.loads((folder / "metrics.json").read_text())
    with open(folder / "features.csv", newline="") as file:
        assert "date" not in {row["feature"] for row in csv.DictReader(file)}
    assert metrics["data"]["features"] == 4  # marker, age, sex, color
    blocks = metrics["model"]["time_order"]["blocks"]
    assert blocks[0]["from"] == "2021-01-31" and blocks[-1]["to"] == "2021-03-01"
    assert f"{blocks[0]['from']} to {blocks[0]['to']}" in out


def test_predictions_use_the_costs(run, data, table, tamis):
    folder, _ = run
    record = json.loads((folder / "model.json").read_text())["record"]
    decided = record["misclassification"]
    assert decided["costs"] == [[0.0, 10.0], [1.0, 0.0]]
    frequency = record["frequencies"][0]
    rows = table("predict", folder, data)
    for row in rows:
        ill, well = float(row["p_ill"]) * frequency, float(row["p_well"]) * (1 - frequency)
        assert row["prediction"] == ("ill" if 10 * ill >= well else "well")
    assert "smallest expected cost" in tamis("predict", folder, data)[2]
    rare = table("predict", folder, data, "--priors", "ill=0.01,well=0.99")
    for row in rare:  # these probabilities are for the priors already
        is_ill = 10 * float(row["p_ill"]) >= float(row["p_well"])
        assert row["prediction"] == ("ill" if is_ill else "well")
    n_ill = [sum(row["prediction"] == "ill" for row in some) for some in (rows, rare)]
    assert n_ill[0] > n_ill[1]


def test_options_that_train_nothing_keep_the_checkpoints(run, data, tamis):
    folder, _ = run
    before = {p.name: p.stat().st_mtime_ns for p in (folder / "checkpoints").glob("*.npz")}
    assert sum(name.startswith("curve") for name in before) == 9
    words = ["--batch", "site", "--time", "date", "--positive", "ill", "--subgroups", "sex"]
    words += ["--misclassification", "ill:well=2,well:ill=3"]
    code, out, _ = tamis("fit", data, "--target", "y", *WORDS, *words, "-o", folder)
    after = {p.name: p.stat().st_mtime_ns for p in (folder / "checkpoints").glob("*.npz")}
    assert code == 0 and after == before
    assert "learning curve" not in out and "mean cost per row" in out


def test_picked_models_decide_by_cost_and_show_no_honest_numbers(run, tamis, tmp_path):
    folder, _ = run
    words = ["--method", "centers", "--n-features", "4", "-o", tmp_path / "picked"]
    code, out, err = tamis("pick", folder, *words)
    assert code == 0, err
    assert "held-out" not in out and "report this one" not in out
    assert "(in the folds: do not report)" in unwrapped(out)
    record = json.loads((tmp_path / "picked" / "model.json").read_text())["record"]
    assert "misclassification" in record


def test_picking_does_not_replace_the_model_of_another_fit(run, refuses, tmp_path):
    (tmp_path / "other" / "checkpoints").mkdir(parents=True)
    words = ["--method", "centers", "--n-features", "4", "-o", tmp_path / "other"]
    refuses("pick", run[0], *words, match="is the folder of a `tamis fit`")


def test_scores_are_of_labels_by_cost_and_say_so(run, data, tamis):
    folder, out = run
    assert "  subgroups           deciding by expected cost; all rows: " in out
    said = out[out.index("RECOMMENDED:") :].split("\n")
    said = [line for line in said if "WARNING" not in line and not line.startswith("    ")]
    assert said[1].startswith("  mean cost per row ") and said[1].endswith("<- report this one")
    assert "always deciding ill (the model saves +" in out
    lines = out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("  balanced accuracy"))
    assert "95 % interval" in lines[at] and lines[at + 1].endswith("deciding by expected cost")
    code, out, err = tamis("evaluate", folder, data)
    assert code == 0, err
    honest = json.loads((folder / "metrics.json").read_text())["model"]["honest_score"]["score"]
    assert f"the honest score {honest:.3f}" in out
    report = json.loads(tamis("evaluate", folder, data, "--json")[1])
    counts = np.array(report["confusion"]["true_in_rows"])
    costs = np.array(
        json.loads((folder / "model.json").read_text())["record"]["misclassification"]["costs"]
    )
    cost = report["cost_of_errors"]
    assert cost["mean_cost"] == pytest.approx((counts * costs).sum() / counts.sum())
    assert cost["interval_95"][0] < cost["mean_cost"] < cost["interval_95"][1]
    assert f"mean cost of errors {cost['mean_cost']:.3f} per row" in out
    always = counts.sum(axis=1) @ costs / counts.sum()
    assert cost["constant"]["mean_cost"] == pytest.approx(always.min())
    assert f"; {always.min():.3f} always deciding {cost['constant']['class']}" in out
    limit = costs[1, 0] / costs.sum()
    assert f"net benefit at {limit:.2f}, where the model decides" in out


def test_errors_of_single_features_from_the_features_file(data, tamis, tmp_path):
    features = write_csv(
        tmp_path / "features.csv", ["feature", "assay_error"], [["marker", "0.4"], ["age", "0"]]
    )
    words = ["fit", data, "--target", "y", *WORDS, "--features", features, "--drop", "date"]
    code, out, err = tamis(*words, "--json")
    assert code == 0, err
    assert json.loads(out)["model"]["assay"]["features"] == {"marker": 0.4}
    wrong = write_csv(tmp_path / "wrong.csv", ["feature", "assay_error"], [["color", "0.4"]])
    words[words.index(features)] = wrong
    assert "no such numeric feature" in tamis(*words)[2]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--time", "y"], "--time y is the target itself"),
        (["--time", "color"], "neither a number nor a date"),
        (["--time", "dat"], "dat"),
        (["--subgroups", "y"], "--subgroups y is the target itself"),
        (["--subgroups", "sexe"], "sexe"),
        (["--subgroups", ","], "expected names"),
        (["--misclassification", "ill"], "TRUE:PREDICTED=COST"),
        (["--misclassification", "ill:well=much"], "TRUE:PREDICTED=COST"),
        (["--misclassification", "ill:well=2,ill:well=3"], "twice"),
        (["--misclassification", "ill:sick=2"], "two of the classes ill, well"),
        (["--misclassification", "ill:well=-2"], "at least 0"),
        (["--misclassification", "ill:well=nan"], "at least 0"),
        (
            ["--misclassification", "ill:well=2", "--positive", "ill", "--min-sensitivity", "0.9"],
            "both set how to decide",
        ),
        (["--assay-error", "-1"], "of at least 0 and at most 2"),
        (["--assay-error", "much"], "of at least 0 and at most 2"),
        (["--assay-error", "0.1", "--keep", "marker,age", "--drop", "site"], "measured again"),
    ],
)
def test_nonsense_is_refused_in_one_line(words, told, data, refuses, tmp_path):
    refuses("fit", data, "--target", "y", *WORDS, *words, "-o", tmp_path / "run", match=told)
    assert not (tmp_path / "run" / "model.json").exists()


def test_few_rows_have_no_learning_curve(tmp_path, refuses):
    path = write_csv(tmp_path / "few.csv", HEADER, make_rows(36))
    refuses("fit", path, "--target", "y", *WORDS, "--learning-curve", match="at least 40 rows")


def test_the_number_of_rows_agrees_with_its_noun():
    few = {"not_scored": "fewer than 10 rows", "rows": 1, "classes": {"ill": 0, "well": 1}}
    assert _told(few) == "not scored (fewer than 10 rows); 1 row: ill 0, well 1"
    assert _told(few | {"rows": 2}).endswith("; 2 rows: ill 0, well 1")
