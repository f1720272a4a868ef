"""The benchmark of false alarms, on few data."""

import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(FOLDER))
import false_alarms as benchmark  # noqa: E402

sys.path.remove(str(FOLDER))


def test_every_check_has_a_row(monkeypatch, tmp_path, capsys):
    generated = {"missing values": benchmark.GENERATED["missing values"]}
    monkeypatch.setattr(benchmark, "GENERATED", generated)
    monkeypatch.setattr(benchmark, "SIGNALS", {"clear": (60, 4, 2, 3.0, 2)})
    code = benchmark.main(["--data", str(tmp_path), "--permutations", "2", "--samples", "2"])
    report, said = capsys.readouterr()
    assert code == 0
    assert "2 runs with permuted labels, 1 data sets." in report
    for check in benchmark.LABELLED:
        assert f"| {check} | 0 |" in report
    for check in benchmark.OF_MODELS:
        assert f"| {check} | 0 of 2 |" in report
    assert "genes/singh" in said


def test_alarms_are_false_unless_there_is_a_reason(monkeypatch):
    monkeypatch.setattr(benchmark, "SIGNALS", {"a": None, "b": None})
    same, other = np.zeros(10), np.ones(10)
    fired = {"miscalibration", "unstable-predictions"}
    samples = [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    models = [(fired, 1.0, same), (fired, 3.0, same), (fired, 0.5, same), (set(), 1.0, other)]
    lines = benchmark.report_models(samples, models)
    assert "| miscalibration | 1 of 2 | 0 of 2 |" in lines
    assert "| unstable-predictions | 2 of 2 | (1 of 2 fire, with reason) |" in lines
    assert lines[-1].endswith("differ: a 0.0 %, b 100.0 %.")
