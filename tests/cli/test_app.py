"""Streams, exit codes, wrong calls, extras that are not there: before and around the commands."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tamis
from tests.cli.conftest import make_rows, unwrapped, write_csv
from tests.cli.processes import COMMAND, call, environment
from tests.test_house import modules_after

FAST = ("--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1", "--n-jobs", "1")
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(words):
    loaded = modules_after(f"from tamis.cli import main\nassert main({words}) == 0")
    assert not loaded & {"numpy", "scipy", "sklearn", "numba", "rich", "joblib", "pyarrow"}


def test_python_m_tamis_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "tamis", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["tamis", tamis.__version__]


@pytest.mark.parametrize(
    "words",
    [
        ["fot"],
        ["fit", "data.csv", "--folds", "1"],
        ["fit", "data.csv", "--folds", "many"],
        ["fit", "data.csv", "--max-seconds", "0"],
        ["fit", "data.csv", "--vectorizer", "magic"],
        ["fit", "data.csv", "--text", ","],
        ["fit", "data.csv", "--nonsense"],
        ["fit", "data.csv", "--ngrams", "3-2"],
        ["predict"],
        ["predict", "run", "data.csv", "--refer", "2"],
        ["export", "run", "-o", "file"],
        ["pick", "run"],
    ],
)
def test_a_wrong_call_is_one_line_that_names_the_help(refuses, words):
    assert "--help" in refuses(*words)


def test_no_command_shows_the_help(tamis):
    code, out, err = tamis()
    assert (code, err) == (2, "") and out.startswith("usage: tamis")


def run_into(stdout, words, **more):
    """Run with some standard output, which is buffered as it is for users."""
    env = {k: v for k, v in environment(**more).items() if k != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [*COMMAND, *words],
        stdout=stdout,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=env,
        timeout=120,
    )
    return done.returncode, done.stderr


@needs_full
@pytest.mark.parametrize("words", [["methods"], ["predict"]])
@pytest.mark.slow
def test_a_full_disk_under_standard_output_is_an_error(models, small, words):
    words = {"methods": words, "predict": ["predict", models["centers"], small]}[words[0]]
    with open("/dev/full", "wb") as full:
        code, err = run_into(full, words)
    assert code == 1
    assert err.startswith("tamis: error: no space left on the disk") and err.count("\n") == 1


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    code, err = run_into(writing, ["methods"])
    os.close(writing)
    assert (code, err) == (0, "")


def test_a_closed_standard_output_is_no_error(tamis, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert tamis("methods")[0] == 0


@pytest.mark.slow
def test_letters_that_the_terminal_lacks_are_written_another_way(tmp_path):
    rows = [[r[1], r[2], r[-1]] for r in make_rows(40, 0)]
    data = write_csv(tmp_path / "data.csv", ["größe", "剂量", "y"], rows)
    words = ["fit", data, "--target", "y", *FAST]
    code, out, err = call(*words, env=environment(PYTHONIOENCODING="ascii"))
    assert code == 0, err
    assert "RECOMMENDED" in out and "\\xb1" in out


def test_a_folder_below_a_file_is_refused(small, tmp_path, refuses):
    refuses("fit", small, "--target", "y", *FAST, "-o", f"{small}/run", match="is a file")


def test_without_data_an_option_of_reading_is_refused(refuses):
    refuses("fit", "--id", "name", match="--id needs DATA")


def test_force_throws_the_old_results_away_with_the_old_work(small, tmp_path, tamis, refuses):
    run = tmp_path / "run"
    words = ["fit", small, "--target", "y", *FAST, "-o", run]
    assert tamis(*words)[0] == 0
    before = sorted(path.name for path in run.iterdir())
    said = refuses(*words, "--seed", 1)
    assert "seed was 0, is now 1" in said and "--force" in said
    assert sorted(path.name for path in run.iterdir()) == before
    code, _, err = tamis(*words, "--seed", 1, "--force", "--max-seconds", 1e-9)
    assert code == 0, err
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["settings"]["seed"] == 1
    assert {path.name for path in (run / "checkpoints").glob("*.npz")} == {
        f"{stage}-centers-{fold}.npz" for stage, fold in [("cv", "r0-f0"), ("cv", "r0-f1")]
    }


@pytest.fixture
def call_without(tamis, monkeypatch):
    """Run where a package cannot be imported."""

    def run(name, *words):
        monkeypatch.setitem(sys.modules, name, None)
        return tamis(*words)

    return run


@pytest.mark.parametrize(
    "package, file, advice",
    [
        ("pyarrow", "data.parquet", "pip install 'tamis[cli]'"),
        ("pyarrow", "data.csv", "pip install 'tamis[cli]'"),
        ("openpyxl", "data.xlsx", "pip install 'tamis[excel]'"),
        ("h5py", "data.h5ad", "pip install 'tamis[h5ad]'"),
    ],
)
def test_a_format_whose_package_is_not_there_names_its_extra(
    tmp_path, package, file, advice, call_without
):
    (tmp_path / file).write_bytes(b"something")
    words = ["fit", tmp_path / file, "--target", "y", *FAST, "-o", tmp_path / "run"]
    code, out, err = call_without(package, *words)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith("tamis: error: ") and advice in err
    assert not (tmp_path / "run").exists()


def test_onnx_that_is_not_there_names_its_extra(models, tmp_path, call_without):
    words = ["export", models["centers"], "--to", "onnx", "-o", tmp_path / "model.onnx"]
    code, out, err = call_without("onnx", *words)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith("tamis: error: ") and "pip install 'tamis[onnx]'" in err
    assert not (tmp_path / "model.onnx").exists()


def test_without_skops_the_other_files_are_written(small, tmp_path, call_without):
    run = tmp_path / "run"
    run.mkdir()
    (run / "model.skops").write_bytes(b"of an earlier run")
    code, out, err = call_without("skops", "fit", small, "--target", "y", *FAST, "-o", run)
    assert code == 0
    assert "skops: pip install 'tamis[cli]'" in err
    results = ["model.json", "features.csv", "metrics.json", "report.html"]
    assert {path.name for path in run.iterdir()} == {*results, "run.json", "checkpoints"}
    told = "report.html (open it), model.json, features.csv, metrics.json"
    assert f"saved in {run}/: {told} next: tamis predict {run} new.csv" in unwrapped(out)


def test_on_a_terminal_the_bars_stay_on_standard_error(small, tamis, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, out, err = tamis("fit", small, "--target", "y", *FAST, "--json")
    assert code == 0 and json.loads(out)["complete"]
    assert "done" not in err and "live progress" not in err


def test_without_rich_there_are_lines_for_the_bars(small, tamis, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setitem(sys.modules, "rich", None)
    code, out, err = tamis("fit", small, "--target", "y", *FAST)
    assert code == 0 and "RECOMMENDED" in out
    assert "pip install 'tamis[cli]' shows live progress." in err
    assert "sparse centers, means: done" in err


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "DATA", "--target", "y", "-o", "LINK"],
        ["fit", "DATA", "--target", "y", "-o", "LINK/run"],
        ["predict", "LINK", "DATA"],
        ["report", "LINK"],
        ["pick", "LINK", "--method", "centers", "--n-features", "1", "-o", "OTHER"],
        ["export", "LINK", "--to", "json", "-o", "OTHER"],
        ["ask", "LINK"],
    ],
    ids=lambda words: f"{words[0]} {words[-1]}",
)
@pytest.mark.parametrize("target", ["nowhere/at/all", "link"])
def test_a_link_that_leads_nowhere_is_named(words, target, small, tmp_path, refuses):
    (tmp_path / "link").symlink_to(target)
    places = {"DATA": small, "LINK": tmp_path / "link", "OTHER": tmp_path / "other"}
    places["LINK/run"] = tmp_path / "link" / "run"
    told = f"link is a link to {target}, which does not exist"
    refuses(*(places.get(word, word) for word in words), match=told)


def test_an_output_behind_a_link_needs_a_folder(run_folder, new, tmp_path, refuses):
    (tmp_path / "link").symlink_to("nowhere/at.csv")
    refuses("predict", run_folder, new, "-o", tmp_path / "link", match="is a link into")
