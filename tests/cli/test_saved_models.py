"""What `tamis fit` writes is what it found: the saved model is loaded again and compared."""

import csv
import importlib

import numpy as np
import pytest

from tests.cli.conftest import write_csv

FAST = ("--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1", "--n-jobs", "1")


def make_table(path, n_rows=500):
    """A number and a category that tell the class, and a review that does not."""
    rng, rows = np.random.default_rng(0), []
    reviews = ["good wine", "bad wine", "no wine at all"]
    for i in range(n_rows):
        c = i % 2
        color = ["red", "green", "blue"][(c + (rng.random() < 0.35)) % 3]
        rows.append([f"{rng.normal() + 1.8 * c:.3f}", color, reviews[rng.integers(3)], "ab"[c]])
    return write_csv(path, ["age", "color", "review", "y"], rows)


def test_a_model_that_keeps_no_word_of_a_text_predicts(tmp_path, tamis, table):
    data, run = make_table(tmp_path / "data.csv"), tmp_path / "run"
    words = ["--target", "y", "--text", "review", "--max-features", "2", *FAST, "-o", run]
    code, _, err = tamis("fit", data, *words)
    assert code == 0, err
    with open(run / "features.csv", newline="") as file:
        assert {row["feature"] for row in csv.DictReader(file)} == {"age", "color"}
    rows = table("predict", run, data)
    assert len(rows) == 500 and {row["prediction"] for row in rows} == {"a", "b"}
    assert tamis("explain", run, data)[0] == tamis("evaluate", run, data)[0] == 0


FAULTS = {
    "model.json": "tamis.models.saving._from_document",
    "model.skops": "tamis.models.saving.read_skops",
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_saved_model_that_predicts_something_else_is_removed(name, tmp_path, tamis, monkeypatch):
    pytest.importorskip("skops")
    module, function = FAULTS[name].rsplit(".", 1)
    read = getattr(importlib.import_module(module), function)

    def read_wrongly(*words):
        model = read(*words)
        model.temperature *= 1 + 1e-6
        return model

    monkeypatch.setattr(FAULTS[name], read_wrongly)
    data, run = make_table(tmp_path / "data.csv"), tmp_path / "run"
    code, out, err = tamis("fit", data, "--target", "y", "--text", "review", *FAST, "-o", run)
    assert (code, out) == (1, "")
    assert f"failed on its own training data: {name} gives different predictions" in err
    assert sorted(path.name for path in run.iterdir()) == ["checkpoints", "run.json"]


def test_a_model_that_cannot_predict_is_no_success(tmp_path, tamis, monkeypatch):
    def fail(*words):
        raise ValueError("broken")

    monkeypatch.setattr("tamis.tables.TableModel.predict_rows", fail)
    data, run = make_table(tmp_path / "data.csv"), tmp_path / "run"
    code, out, err = tamis("fit", data, "--target", "y", "--text", "review", *FAST, "-o", run)
    assert (code, out) == (1, "")
    assert "failed on its own training data: broken" in err
    assert not (run / "model.json").exists()
