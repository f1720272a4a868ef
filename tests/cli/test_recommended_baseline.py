"""A recommended sparse baseline: everything that follows a fit works as for any method."""

import io
import json

import numpy as np
import pandas as pd
import pytest

FAST = ("--folds", "3", "--repeats", "1", "--n-jobs", "1")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table of four numbers, a category, weights and costs of features."""
    folder = tmp_path_factory.mktemp("table")
    rng = np.random.default_rng(0)
    y = np.arange(90) % 2
    frame = pd.DataFrame(rng.normal(size=(90, 4)).round(3), columns=list("abcd"))
    frame["a"] += 1.5 * y
    frame["b"] -= 1.0 * y
    frame["kind"] = np.where(rng.random(90) < 0.3 + 0.4 * y, "red", "blue")
    frame["times"] = 1 + np.arange(90) % 3
    frame["y"] = np.where(y == 1, "ill", "well")
    frame.to_csv(folder / "data.csv", index=False)
    (folder / "features.csv").write_text("feature,cost\na,5\nb,1\nc,2\nd,2\nkind,1\n")
    return folder


@pytest.mark.parametrize("method", ["l1-logistic", "relaxed-l1", "rfe"])
def test_a_recommended_baseline_is_explained_asked_carded_and_exported(
    tamis, table, tmp_path, monkeypatch, method
):
    data, run = table / "data.csv", tmp_path / "run"
    words = ("--target", "y", "--methods", f"{method},most-frequent", "--keep", "d", *FAST)
    extra = ("--weights", "times", "--features", table / "features.csv", "-o", run)
    code, _, err = tamis("fit", data, *words, *extra)
    assert code == 0, err
    metrics = json.loads((run / "metrics.json").read_text())
    model = metrics["model"]
    assert model["recommended"] and model["method"] == method
    assert model["total_cost"] > 0 and metrics["methods"][method]["is_baseline"] is False
    assert model["guarantees"]["frequencies"]["pairs"] >= 5
    assert model["guarantees"]["fit"]["rows"] == 90
    assert (run / "report.html").read_text().count(model["title"]) > 1
    commands = [("predict", run, data), ("explain", run, data)]
    commands += [
        ("export", run, "--to", kind, "-o", tmp_path / f"model.{kind}")
        for kind in ("sql", "html", "json", "card", "python", "spreadsheet")
    ]
    for command in commands:
        code, _, err = tamis(*command)
        assert code == 0, (command, err)
    monkeypatch.setattr("sys.stdin", io.StringIO("?\n" * 10))
    code, _, err = tamis("ask", run, "--log", tmp_path / "log")
    assert code == 0, err
    assert json.loads((tmp_path / "log").read_text())["label"] in ("ill", "well")


@pytest.fixture(scope="module")
def long_table(tmp_path_factory):
    """Two features whose difference tells the classes apart, and neither alone."""
    rng = np.random.default_rng(1)
    y = np.arange(1500) % 2
    frame = pd.DataFrame(rng.normal(size=(1500, 5)), columns=list("abcde"))
    frame["a"] = frame["b"] + 0.5 * frame["c"] + 0.8 * y
    frame["y"] = np.where(y == 1, "ill", "well")
    path = tmp_path_factory.mktemp("long") / "data.csv"
    frame.round(4).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("method", ["l1-logistic", "relaxed-l1", "rfe"])
def test_a_baseline_that_wins_on_a_streamed_table_is_trained_verified_and_used(
    tamis, long_table, tmp_path, monkeypatch, method
):
    run, card = tmp_path / "run", tmp_path / "card.html"
    words = ("--target", "y", "--stream", "on", "--max-size", "20KB", *FAST, "-o", run)
    compared = ("--methods", f"centers,{method},most-frequent")
    code, out, err = tamis("fit", long_table, *compared, *words)
    assert code == 0, err
    metrics = json.loads((run / "metrics.json").read_text())
    model, told = metrics["model"], metrics["streaming"]
    assert model["recommended"] and model["method"] == method
    assert told["sampled_rows"] < 1000 and told["rows"] == 1500
    outside = told["outside_sample"]
    assert outside["rows"] == 1500 - told["sampled_rows"] and outside["score"] > 0.8
    said = " ".join(out.split())
    assert f"final model: {told['parts']['final model']}" in said
    assert "rows outside the sample" in said
    page = (run / "report.html").read_text()
    assert page.count(model["title"]) > 1 and "rows outside the sample" in page
    code, out, err = tamis("predict", run, long_table)
    assert code == 0, err
    predicted = pd.read_csv(io.StringIO(out))["prediction"]
    assert (predicted == pd.read_csv(long_table)["y"]).mean() > 0.8
    code, _, err = tamis("export", run, "--to", "card", "-o", card)
    assert code == 0 and "<html" in card.read_text(), err
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n0\n0\n0\n0\n"))
    code, _, err = tamis("ask", run, "--log", tmp_path / "log")
    assert code == 0, err
    assert json.loads((tmp_path / "log").read_text())["label"] == "ill"
