"""The benchmark of the margin of kernels, on tiny data."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[2] / "benchmarks" / "accuracy"


def test_kernels_are_counted_and_a_second_run_measures_nothing_again(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("readable_heads", "at_k_data"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    module = importlib.import_module("readable_heads")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X[:, :2] ** 2).sum(axis=1) > 1.4  # a ring
    (tmp_path / "raetsch").mkdir()
    np.savez(tmp_path / "raetsch" / "ringnorm.npz", X=X, y=y)
    words = ["--data", str(tmp_path), "--output", str(tmp_path), "--splits", "1"]
    words += ["--sets", "raetsch/ringnorm"]
    module.main(words)
    first = capsys.readouterr()
    record = json.loads((tmp_path / "readable_heads.json").read_text())["raetsch/ringnorm 0"]
    assert record["counts"] == [1, 2]
    kernels = [sum(chosen for chosen, _ in record[f"{margin:g}"]) for margin in module.MARGINS]
    assert kernels == sorted(kernels, reverse=True) and kernels[0] > kernels[-1] == 0
    assert f"| 0 (standard error alone) | {kernels[0]} of 2" in first.out
    assert (tmp_path / "readable_heads.md").read_text() in first.out
    module.main(words)
    second = capsys.readouterr()
    assert (second.out, second.err) == (first.out, "")
