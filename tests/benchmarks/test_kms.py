"""The paper benchmark of the landmarks runs from end to end on tiny data, and goes on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "papers" / "kms"


def run(*arguments):
    environment = {k: v for k, v in os.environ.items() if k != "TAMIS_DATA"}
    command = [sys.executable, str(FOLDER / "run.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


@pytest.fixture
def tiny_data(tmp_path):
    published = json.loads((FOLDER / "published.json").read_text())
    rng = np.random.default_rng(0)
    missing = ("apsfailure", "semeval", "tass", "avg. rank")
    for folder, table in (("raetsch", "table3"), ("uci", "table4")):
        (tmp_path / folder).mkdir()
        for name in published[table]:
            if name not in missing:
                y = np.arange(40) % 2
                X = rng.normal(size=(40, 2)) + y[:, None]
                rows = np.stack([rng.permutation(40) for _ in range(2)])
                splits = {"train_idx": rows[:, :28], "test_idx": rows[:, 28:]}
                extra = splits if folder == "raetsch" else {}
                np.savez(tmp_path / folder / f"{name}.npz", X=X, y=y, **extra)
    return tmp_path


def test_tiny_data_give_a_report_and_a_second_run_goes_on(tiny_data, tmp_path):
    output = tmp_path / "results"
    options = ("--data", tiny_data, "--output", output, "--sets", "banana,heart")
    first = run(*options, "--only", "core", "--splits", 1)
    assert first.returncode == 0, first.stderr
    assert "KMSE RS within 0.5 of Table 3 on every set" in first.stdout
    records = json.loads((output / "kms.json").read_text())["records"]
    assert set(records["banana"]) == {"KMSE RS", "KMS RS"}
    assert records["banana"]["KMS RS"]["0"][2] == 28
    second = run(*options, "--only", "core", "--splits", 2)
    assert second.returncode == 0, second.stderr
    assert "split 0" not in second.stderr and "split 1" in second.stderr


def test_missing_data_and_unknown_experiments_are_told(tmp_path):
    missing = run("--data", tmp_path)
    assert missing.returncode == 2
    assert "banana.npz is missing. Name the data folder" in missing.stderr
    unknown = run("--only", "table9")
    assert unknown.returncode == 2
    assert "--only has 'table9'" in unknown.stderr


def test_sets_are_those_that_table_2_counts(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    from datasets import as_published

    rng = np.random.default_rng(0)
    published = json.loads((FOLDER / "published.json").read_text())["table2"]
    y = np.arange(60) % 6
    files = {
        "agaricuslepiota": {"X": rng.integers(0, 7, (60, 22)), "y": y % 2},
        "drugconsumption": {"X": rng.random((60, 12)), "Y_all": rng.integers(0, 7, (60, 19))},
        "mlprove": {"X": rng.random((60, 51))},
        "yeast": {"X": rng.random((60, 8))},
    }
    for name, data in files.items():
        X, classes = as_published(name, {"y": y, **data})
        assert X.shape == (60, published[name]["features"])
        if name != "yeast":
            assert len(np.unique(classes)) == published[name]["classes"]


def test_kms_is_the_best_member_of_kmse(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    from datasets import Split
    from methods import run_method, search

    from tamis.metrics import balanced_error_rate

    rng = np.random.default_rng(0)
    y = np.arange(90) % 2
    X = rng.normal(size=(90, 2)) + y[:, None]
    split = Split(X[:60], y[:60], X[60:], y[60:])
    errors, _ = run_method("KMSE RS", split, 0)
    alone = search(ensemble_size=1)(0).fit(split.X_train, split.y_train)
    assert errors["KMS RS"] == balanced_error_rate(split.y_test, alone.predict(split.X_test))
    assert errors["KMS RS"] != errors["KMSE RS"]


def test_the_published_tables_are_whole():
    published = json.loads((FOLDER / "published.json").read_text())
    assert len(published["table3"]["banana"]) == 12
    assert len(published["table4"]["iris"]) == 10
    assert len(published["table5"]) == 18
    # A table copied wrongly would not have the ranks that it prints.
    names = [n for n in published["table3"] if n != "avg. rank"]
    errors = np.array([list(published["table3"][n].values()) for n in names])
    best = list(published["table3"]["banana"])[errors.mean(axis=0).argmin()]
    assert best in ("KMSE GS", "KMSE RS")
