"""What is told while work is going on."""

import time
from types import SimpleNamespace

import pytest

from tamis.cli import progress
from tamis.panel.proof.search import ProofProgress


def test_a_large_file_tells_that_it_is_being_read(tmp_path, monkeypatch, capsys):
    data = tmp_path / "large.csv"
    data.write_bytes(b"x" * 2_000_000)
    monkeypatch.setattr(progress, "_SMALL_FILE", 1e6)
    monkeypatch.setattr(progress, "_PATIENT", 0.01)
    with progress.reading(data):
        time.sleep(0.3)
    assert f"tamis: reading {data} (2 MB): 1 s so far" in capsys.readouterr().err
    with progress.reading(None):
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_preparation_is_counted_once_and_where_kernels_are_needed(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    methods = {"medians", "most-frequent"}
    assert progress.preparation_seconds(methods, 1_000) == 0.0
    assert progress.preparation_seconds({"most-frequent"}, 10**7) == 0.0
    assert progress.preparation_seconds(methods, 10**7) > 1.0
    (tmp_path / "centers_0123").mkdir()
    (tmp_path / "centers_0123" / "kernel.nbi").touch()
    assert progress.preparation_seconds(methods, 10**7) == 0.0
    assert progress.preparation_seconds({"landmarks"}, 1_000) > 1.0


def test_the_estimate_includes_the_preparation_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    task = SimpleNamespace(method="medians", key="k")
    plan = SimpleNamespace(tasks=[task] * 4)
    start = SimpleNamespace(plan=plan, seconds={"medians": 10.0}, n_jobs=2, n_values=100, done=())
    assert progress.tell_estimate(start) == "about 34 s on 2 cores"
    start.n_values = 10**7
    told = "about 37 s on 2 cores (first run on this machine: 3 s of preparation)"
    assert progress.tell_estimate(start) == told


@pytest.mark.parametrize(
    ("lower_bound", "words"),
    [
        (
            97.69,
            "after 11 s, no panel of the size can fit better than the best found by more than "
            "2.4 % of its loss",
        ),
        (0.0, "after 11 s, nothing is proved yet"),
    ],
)
def test_the_line_about_a_proof_says_only_what_is_proved(lower_bound, words, capsys):
    progress.ProofProgressLine()(ProofProgress(5, 100, 100.0, lower_bound, 11.0))
    assert words in " ".join(capsys.readouterr().err.split())
