"""The benchmark of huber_delta runs from end to end on tiny data, and resumes."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "accuracy"


@pytest.fixture
def run(monkeypatch, capsys):
    """The command: its exit code, and what it wrote."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "huber_delta", raising=False)
    benchmark = importlib.import_module("huber_delta")
    monkeypatch.setattr(benchmark, "COUNTS", (1, 2, 5))

    def call(*arguments):
        code = benchmark.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    yield call
    sys.modules.pop("huber_delta", None)


@pytest.fixture
def tiny_data(tmp_path):
    rng = np.random.default_rng(0)
    home = tmp_path / "data"
    for name in ("libsvm/wine", "raetsch/diabetis", "uci/yeast"):
        y = np.arange(120) % 2
        X = rng.normal(size=(120, 4))
        X[:, :2] += 2 * y[:, None]
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        np.savez(home / f"{name}.npz", X=X, y=y, class_names=np.array(["a", "b"]))
    return home


def test_tiny_data_give_a_report_and_a_second_run_measures_nothing_again(run, tiny_data, tmp_path):
    arguments = ("--data", tiny_data, "--output", tmp_path, "--only")
    names = ("libsvm/wine", "raetsch/diabetis", "uci/yeast")
    code, first, progress = run(*arguments, *names)
    assert code == 0
    assert progress.count("delta") == 15
    records = json.loads((tmp_path / "huber_delta.json").read_text())
    assert len(records) == 15
    assert all(len(record["scores"]) == 2 for record in records.values())  # of 4 features
    assert all(min(record["scores"]) > 0.5 for record in records.values())
    assert "## Data sets that choose (2)" in first
    assert "## Check sets (1)" in first
    code, again, progress = run(*arguments, *names)
    assert (code, again, progress) == (0, first, "")
    assert (tmp_path / "huber_delta.md").read_text() == first.removesuffix("\n")


@pytest.mark.parametrize("name", ["libsvm/heart", "uci/cmc", "genes/chin"])
def test_a_missing_data_file_says_how_to_name_the_folder(run, tiny_data, tmp_path, name):
    code, _, message = run("--data", tiny_data, "--output", tmp_path, "--only", name)
    assert code == 2
    assert "Name the data folder with --data DIR." in message
