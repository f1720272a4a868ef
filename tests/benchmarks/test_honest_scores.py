"""The benchmark of honest scores, on one small design."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(FOLDER))
import honest_scores as benchmark  # noqa: E402

sys.path.remove(str(FOLDER))


@pytest.fixture
def command(monkeypatch, tmp_path, capsys):
    """Runs one repetition after another; what it printed."""
    known = benchmark.Design("clear", 24, 3, 4.0)
    copied = benchmark.Design("noise, `--duplicates keep`", 8, 3, times=4, is_known=False)
    monkeypatch.setattr(benchmark, "DESIGNS", (known, copied))

    def call(repetitions):
        benchmark.main(["--repetitions", str(repetitions), "--output", str(tmp_path)])
        return capsys.readouterr()

    return call


def test_repetitions_are_found_again_and_controls_are_not_counted(command, tmp_path):
    report, progress = command(1)
    assert progress.count("block") == 2
    assert "| clear | " in report and " of 1 |" in report
    assert "covers the truth in 1 of 1." in report
    assert command(1) == (report, "")
    assert command(2).err.count("block") == 2
    table = (tmp_path / "honest_scores.md").read_text()
    biases = [float(line.split(" | ")[3].split(" ± ")[0]) for line in table.splitlines()[-4:-2]]
    assert abs(biases[0]) < 0.1 < biases[1]
