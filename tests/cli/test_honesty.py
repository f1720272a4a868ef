"""Data that would inflate a score, the choice, and what is printed about both."""

import csv
import json

import numpy as np
import pytest

from tests.cli.conftest import few, unwrapped, write_csv

QUICK = ["--target", "y", "--methods", "centers,most-frequent", "--repeats", 1, "--n-jobs", 1]
FOREST = ["--methods", "centers,random-forest", "--folds", 2, "--repeats", 1]


def write(path, X, y, more=None, names=None):
    """A CSV of numbers, other columns and labels."""
    more = more or {}
    names = names or [f"x{j}" for j in range(X.shape[1])]
    rows = [
        [*(f"{v:.6g}" for v in row), *(values[i] for values in more.values()), y[i]]
        for i, row in enumerate(X)
    ]
    return write_csv(path, [*names, *more, "y"], rows)


@pytest.fixture
def fit(tamis, tmp_path):
    """Run `tamis fit`: metrics, standard output, standard error."""

    def call(data, *words):
        run = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        code, out, err = tamis("fit", data, *QUICK, *words, "-o", run)
        assert code == 0, err
        return json.loads((run / "metrics.json").read_text(encoding="utf-8")), out, err

    return call


def codes_of(metrics):
    return [check["code"] for check in metrics["checks"]]


def copied(seed, n_rows=15, times=6, n_columns=20):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(n_rows, n_columns)), times, axis=0)
    return X, np.repeat(rng.permutation(np.arange(n_rows) % 2), times)


# Copies.


@pytest.mark.parametrize("n_tables", few([1, 4], 1))
def test_copies_of_random_rows_do_not_make_a_score(fit, tmp_path, n_tables):
    """Six copies of 15 random rows with random labels: the truth is 0.5."""
    scores = []
    for seed in range(n_tables):
        metrics, out, _ = fit(write(tmp_path / f"{seed}.csv", *copied(seed)), "--folds", 4)
        honest = metrics["model"]["honest_score"]
        low, high = honest["interval_95"]
        assert low <= 0.5 <= high
        assert {"duplicates", "chance"} <= set(codes_of(metrics))
        assert "75 rows repeat another row" in unwrapped(out)
        assert metrics["data"]["sample_groups"] == 15
        scores.append(honest["score"])
    assert abs(np.mean(scores) - 0.5) < 0.4 / np.sqrt(n_tables)


def test_copies_that_are_kept_apart_are_warned_about(fit, tmp_path):
    data = write(tmp_path / "data.csv", *copied(0))
    metrics, out, _ = fit(data, "--duplicates", "keep", "--folds", 4)
    assert metrics["model"]["honest_score"]["score"] > 0.8  # what copies are worth
    assert metrics["data"]["sample_groups"] is None
    assert "in training and test at once" in unwrapped(out)


def test_copies_can_be_dropped(fit, tmp_path):
    X, y = copied(0, n_rows=40)
    metrics, out, _ = fit(write(tmp_path / "data.csv", X, y), "--duplicates", "drop")
    assert metrics["data"]["rows"] == 40
    assert "200 rows repeated an earlier row and were dropped" in unwrapped(out)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("nr", np.arange(90) * 2 + 5),
        pytest.param("measured", 1_600_000_000 + np.arange(90)[::-1] ** 2, marks=pytest.mark.slow),
        pytest.param("day", 20200101 + np.arange(90) % 28, marks=pytest.mark.slow),
    ],
)
def test_copies_that_differ_in_a_counter_or_a_date_are_found(fit, tmp_path, name, values):
    X, y = copied(0)
    data = write(tmp_path / "data.csv", X, y, {name: values})
    metrics, out, _ = fit(data, "--folds", 4)
    assert "75 rows repeat another row" in unwrapped(out)
    assert metrics["data"]["sample_groups"] == 15
    assert metrics["data"]["features"] == X.shape[1] + 1  # not compared, and not dropped


def test_chance_repeats_in_a_form_of_yes_and_no_stay_as_they_are(fit, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(300, 6))
    y = (X[:, 0] + X[:, 1] + rng.random(300) > 1.5).astype(int)
    metrics, _, _ = fit(write(tmp_path / "form.csv", X, y))
    assert "duplicates" not in codes_of(metrics)
    assert metrics["data"]["sample_groups"] is None


def test_copies_and_groups_stay_together(fit, tmp_path):
    """A copy that belongs to another patient links the two."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) // 2 % 2
    patient = np.arange(60) // 2
    X[40], y[40:42] = X[0], y[0]
    data = write(tmp_path / "data.csv", X, y, {"patient": [f"p{i}" for i in patient]})
    metrics, _, _ = fit(data, "--groups", "patient")
    assert metrics["data"]["sample_groups"] == 29


# Checks.


def test_a_leak_is_told_and_kept_in_the_metrics(fit, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = np.column_stack([rng.normal(size=(80, 3)), y + 0.01 * rng.normal(size=80)])
    names = ["age", "bmi", "pulse", "discharge_code"]
    metrics, out, err = fit(write(tmp_path / "data.csv", X, y, names=names))
    (check,) = metrics["checks"]
    assert check["code"] == "separating-column" and check["severity"] == "warning"
    assert "discharge_code alone separates the classes" in check["sentence"]
    assert "--drop discharge_code" in check["advice"]
    said = unwrapped(out)
    assert said.index(check["sentence"]) < said.index("95 % interval")
    assert "report this one" not in said
    assert "1 warning about the data (see the result): separating-column" in err
    assert metrics["data"]["features"] == 4  # nothing is dropped


def test_a_score_that_chance_explains_is_not_recommended_without_comment(fit, tmp_path):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 30)), rng.permutation(np.arange(60) % 2)
    metrics, out, _ = fit(write(tmp_path / "noise.csv", X, y))
    assert "chance" in codes_of(metrics)
    assert "do not show that any model works" in unwrapped(out)


def test_labels_that_are_written_in_two_ways_are_told(fit, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.array(["Yes", "no"])[np.arange(120) % 2].astype(object)
    y[[0, 10, 20, 30, 40]], y[[2, 12, 22, 32, 42]] = "yes", "Yse"
    metrics, out, _ = fit(write(tmp_path / "data.csv", X, y))
    assert "similar-labels" in codes_of(metrics)
    said = unwrapped(out)
    assert "'Yse' and 'Yes'" in said and "'yes' and 'Yes'" in said


# The choice.


def test_a_baseline_that_is_ahead_is_named_at_its_sparse_level(fit, tmp_path):
    """Two features that only a forest can use together."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    metrics, out, _ = fit(write(tmp_path / "xor.csv", X, y), *FOREST)
    ahead = metrics["model"]["best_baseline"]
    assert ahead["method"] == "random-forest" and ahead["is_better"]
    assert ahead["difference"] == pytest.approx(
        ahead["score"] - metrics["model"]["selection_score"]["score"]
    )
    told = f"random forest is better, with 3 features; its score is {ahead['difference']:.3f} ± "
    assert told in unwrapped(out)


def test_a_wide_margin_takes_fewer_features(fit, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 12)) + 0.35 * y[:, None]
    data = write(tmp_path / "data.csv", X, y)
    few, many = (fit(data, "--tolerance", t)[0]["model"]["features"] for t in (0.2, 0))
    assert few == 1 < many


def test_the_limit_behind_the_best_is_printed(fit, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    X = rng.normal(size=(100, 5)) + y[:, None]
    metrics, out, _ = fit(write(tmp_path / "data.csv", X, y))
    behind = metrics["model"]["honest_score"]["behind_best_95"]
    assert 0 < behind < 0.5
    assert f"  against the best    at most {behind:.3f} worse (95 % limit)\n" in out


def test_a_picked_point_has_a_lower_limit_and_keeps_its_scoring(tamis, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    X = rng.normal(size=(100, 5)) + y[:, None]
    data = write(tmp_path / "data.csv", X, y)
    run, picked = tmp_path / "run", tmp_path / "picked"
    words = ["fit", data, *QUICK, "--scoring", "mcc", "-o", run]
    assert tamis(*words)[0] == 0
    code, out, err = tamis("pick", run, "--method", "centers", "--n-features", 2, "-o", picked)
    assert code == 0, err
    assert "PICKED: 2 features (sparse centers, means)" in out
    assert "valid whichever model you pick" in unwrapped(out) and "report this one" not in out
    model = json.loads((picked / "metrics.json").read_text(encoding="utf-8"))["model"]
    score = model["selection_score"]
    assert score["simultaneous_lower_95"] < score["score"] - 1.6 * score["standard_error"]
    code, out, err = tamis("evaluate", picked, data, "--json")
    assert code == 0, err
    assert json.loads(out)["scoring"] == "mcc"


def test_a_number_of_features_named_at_fit_has_an_honest_score(fit, tmp_path):
    """Fifty noise columns: the best two of them score well, and the honest score does not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 50)), rng.permutation(np.arange(60) % 2)
    metrics, _, _ = fit(write(tmp_path / "noise.csv", X, y), "--max-features", 2)
    honest = metrics["model"]["honest_score"]
    assert honest["is"].startswith("nested")
    assert honest["interval_95"][0] <= 0.5 <= honest["interval_95"][1]
    assert max(p["features_overall"] for p in metrics["methods"]["centers"]["path"]) <= 2


# What is printed.


def test_no_heading_comes_twice_and_percentiles_are_called_so(tamis, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    data = write(tmp_path / "data.csv", rng.normal(size=(60, 4)) + y[:, None], y)
    words = ["--methods", "centers,datum-wise", "--folds", 2, "--repeats", 1]
    code, out, err = tamis("fit", data, "--target", "y", "--n-jobs", 1, *words)
    assert code == 0, err
    (header,) = [line for line in out.splitlines() if "smallest close to its best" in line]
    headings = [part.strip() for part in header.split("  ") if part.strip()]
    assert len(set(headings)) == len(headings)
    (asked,) = [line for line in out.splitlines() if "per sample on average (95 % of" in line]
    assert asked.startswith("    asks ")  # below the one method that asks
    baselines = "most-frequent, l1-logistic, relaxed-l1, rfe, random-forest"
    assert f"also running the baselines: {baselines}\n" in err


def test_costs_are_added_up(tamis, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    data = write(tmp_path / "data.csv", rng.normal(size=(80, 3)) + y[:, None], y)
    prices = write_csv(tmp_path / "f.csv", ["feature", "cost"], [["x0", 2], ["x1", 3.5]])
    code, out, err = tamis("fit", data, *QUICK, "--features", prices, "--json")
    assert code == 0, err
    metrics = json.loads(out)
    prices = {"x0": 2.0, "x1": 3.5, "x2": 1.0}
    full = metrics["methods"]["centers"]["path"][-1]
    assert full["features_overall"] == 3 and full["cost_per_sample"] == sum(prices.values())
    assert metrics["model"]["total_cost"] > 0
    _, out, _ = tamis("fit", data, *QUICK, "--features", tmp_path / "f.csv")
    assert "mean cost per sample" in out and ", total cost " in out


def test_words_speak_for_their_class_where_there_are_many(tamis, tmp_path):
    topics = ["art", "food", "law", "music", "rain", "sport", "trade", "war"]
    rng = np.random.default_rng(0)
    rows = []
    for i in range(240):
        topic = topics[i % 8]
        words = [f"{topic}word", *rng.choice(["the", "and", "with", "more"], size=3)]
        rows.append([" ".join(words), topic])
    data = write_csv(tmp_path / "text.csv", ["text", "y"], rows)
    code, out, err = tamis("fit", data, *QUICK, "--text", "text")
    assert code == 0, err
    assert "stands out" in out and "8 classes" not in out
    line = next(line for line in out.splitlines() if "sportword" in line)
    assert "  high in sport  " in line


def test_categories_are_printed_whole(tamis, tmp_path):
    rng = np.random.default_rng(0)
    names = ["a rather long name of a category", "another name that is long", "short"]
    y = np.arange(120) % 2
    answer = [names[c] if rng.random() < 0.7 else names[2] for c in y]
    data = write(tmp_path / "data.csv", rng.normal(size=(120, 1)), y, {"answer": answer})
    code, out, err = tamis("fit", data, *QUICK)
    assert code == 0, err
    for name in names:
        assert any(f"{line}  ".startswith(f"  {name}  ") for line in out.splitlines())


def test_a_category_is_named_without_its_column_whatever_that_is_called(tamis, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    answer = ["+" if rng.random() < 0.2 + 0.6 * c else "-" for c in y]
    pain = [["none", "mild", "severe"][c * (i % 3)] for i, c in enumerate(y)]
    more = {"=dip": answer, "pain=now": pain}
    data, run = write(tmp_path / "data.csv", rng.normal(size=(120, 1)), y, more), tmp_path / "run"
    code, _, err = tamis("fit", data, *QUICK, "--keep", "=dip", "-o", run)
    assert code == 0, err
    text = (run / "features.csv").read_text(encoding="utf-8")
    assert "none " in text and "now=none" not in text and "none high in 0" in text
    assert ",'- 0." in text and "dip=-" not in text  # guarded for spreadsheets


@pytest.mark.slow
def test_thousands_of_features_are_written_out(tamis, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 2100)) + 0.3 * y[:, None]
    data = write(tmp_path / "wide.csv", X, y)
    run = tmp_path / "run"
    code, out, err = tamis("fit", data, *QUICK, "--folds", 2, "-o", run)
    assert code == 0, err
    picked = tmp_path / "picked"
    tamis("pick", run, "--method", "centers", "--n-features", 2048, "-o", picked)
    _, out, _ = tamis("evaluate", picked, data)
    assert "2,048 features per sample" in out and "e+03" not in out


def test_the_threshold_says_what_it_costs(tamis, tmp_path):
    rng = np.random.default_rng(0)
    y = np.array(["ill", "well"])[np.arange(200) % 2]
    X = rng.normal(size=(200, 3)) + (y == "ill")[:, None] * 0.8
    data, run = write(tmp_path / "data.csv", X, y), tmp_path / "run"
    words = ["--positive", "ill", "--min-sensitivity", 0.95, "-o", run]
    code, out, err = tamis("fit", data, *QUICK, *words)
    assert code == 0, err
    told = json.loads((run / "metrics.json").read_text(encoding="utf-8"))["model"]["threshold"]
    assert told["specificity"] < told["specificity_without"]
    left = f"left alone in {100 * told['specificity']:.1f} of 100"
    assert f"{left} ({100 * told['specificity_without']:.1f} without" in unwrapped(out)
    _, _, err = tamis("predict", run, data)
    assert "labels are ill where its probability is at least" in err


# Weights.


def test_weights_of_zero_leave_rows_out(fit, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 3)) + 1.5 * y[:, None]
    weights = np.ones(120)
    X[90:], weights[90:] = -X[90:], 0.0  # wrong, and worth nothing
    data = write(tmp_path / "data.csv", X, y, {"w": weights})
    weighted, _, err = fit(data, "--weights", "w", *FOREST)
    plain, _, _ = fit(data, "--drop", "w", *FOREST)
    assert weighted["model"]["honest_score"]["score"] > 0.8
    assert plain["model"]["honest_score"]["score"] < 0.8
    assert weighted["data"]["has_weights"] and weighted["data"]["features"] == 3
    assert "skipped because they cannot use sample weights exactly: random-forest" in err
    assert "the sample weights in 'w' are read as counts: a weight of 2 is the row twice" in err


@pytest.mark.slow
def test_the_scale_of_weights_changes_no_panel(fit, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 4)) + np.array([1.0, 0.8, 0.6, 0.0]) * y[:, None]
    weights, found = rng.random(60) + 0.1, []
    for scale in (1.0, 2.0**-9):
        shown = [f"{scale * w:.17g}" for w in weights]
        data = write(tmp_path / f"{scale}.csv", X, y, {"w": shown})
        metrics, _, err = fit(data, "--weights", "w", "--methods", "panel", "--no-report")
        assert "'w' are read as relative" in err and "scaled to sum to 60" in err
        found.append((metrics["model"]["features"], metrics["model"]["honest_score"]))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1", "x"], "row 2 has x in 'w'; expected a number of at least 0"),
        (["1", "-2"], "row 2 has -2"),
        (["1", ""], "row 2 has no value in 'w'"),
        (["0", "0"], "all weights in 'w' are 0"),
        (["1e-9", "1e9"], "a ratio above the limit of 4.5e"),
    ],
)
def test_impossible_weights_are_refused(refuses, tmp_path, values, message):
    rng = np.random.default_rng(0)
    data = write(
        tmp_path / "data.csv", rng.normal(size=(20, 2)), np.arange(20) % 2, {"w": values * 10}
    )
    refuses("fit", data, *QUICK, "--weights", "w", match=message)


def test_weights_need_a_method_that_takes_them(refuses, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    data = write(tmp_path / "data.csv", X, y, {"w": [1] * 20})
    words = ["--target", "y", "--methods", "landmarks", "--weights", "w"]
    refuses("fit", data, *words, match="these can: centers, medians, primal-dual")


def test_honest_predictions_are_written_if_they_are_asked_for(tamis, small, tmp_path):
    run = tmp_path / "run"
    words = ["fit", small, "--target", "y", "--methods", "centers,most-frequent", "--no-report"]
    words += ["--folds", "3", "--repeats", "1", "--n-jobs", "1", "-o", run]
    code, out, err = tamis(*words, "--save-predictions")
    assert code == 0 and "predictions.csv" in out
    assert "predictions.csv: probabilities are for equally frequent classes" in err
    with open(run / "predictions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["row", "id", "fold", "label", "prediction", "p_ill", "p_well"]
    assert [row["id"] for row in rows] == [f"s{i}" for i in range(60)]
    hits = {"ill": [], "well": []}
    for row in rows:
        hits[row["label"]].append(row["label"] == row["prediction"])
    found = np.mean([np.mean(one) for one in hits.values()])
    metrics = json.loads((run / "metrics.json").read_text())
    assert found == pytest.approx(metrics["model"]["honest_score"]["score"])


def test_honest_predictions_need_a_folder(refuses, small):
    refuses("fit", small, "--target", "y", "--save-predictions", match="add -o RUN")
