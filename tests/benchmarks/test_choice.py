"""The benchmark of the rule of choice runs from end to end on tiny data, and resumes."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def run(monkeypatch, capsys):
    """The command: its exit code, and what it wrote."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "choice", raising=False)
    benchmark = importlib.import_module("choice")
    monkeypatch.setattr(benchmark, "METHODS", ("centers", "most-frequent"))

    def call(*arguments):
        code = benchmark.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    yield call
    sys.modules.pop("choice", None)


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(240) % 2
    X = rng.normal(size=(240, 8)) + 0.5 * y[:, None]
    (tmp_path / "data" / "uci").mkdir(parents=True)
    np.savez(tmp_path / "data" / "uci" / "biodeg.npz", X=X, y=y)
    return tmp_path / "data"


def test_the_rule_takes_no_more_features_than_the_best_and_a_second_run_resumes(
    run, data, tmp_path
):
    words = ("--data", data, "--output", tmp_path, "--only", "uci/biodeg", "--splits", 2)
    code, first, progress = run(*words, "--n-jobs", 1)
    assert code == 0 and progress.count("uci/biodeg") == 2
    records = json.loads((tmp_path / "choice.json").read_text())
    for record in records.values():
        assert record["rows"] == 120
        assert record["rule"]["features"] <= record["best"]["features"]
        assert record["1se"]["features"] <= record["best"]["features"]
        assert all(record[rule]["held_out"] > 0.5 for rule in ("best", "1se", "rule"))
    assert "tables (1)" in first
    assert run(*words, "--n-jobs", 1) == (0, first, "")


def test_missing_data_are_told(run, tmp_path):
    code, _, message = run("--data", tmp_path, "--output", tmp_path, "--only", "uci/yeast")
    assert code == 2 and "Name the data folder with --data DIR." in message
