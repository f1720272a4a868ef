"""DATA from pipes, and files that are none."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from tests.cli.conftest import few, write_csv
from tests.cli.files import FILES
from tests.cli.processes import COMMAND, call, environment, start, wait_for
from tests.quick import smaller

FAST = ["--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1", "--n-jobs", "1"]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes are those of POSIX")


@pytest.fixture
def temporary(tmp_path):
    """A folder for temporary files, empty in the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def piped(temporary, tamis, monkeypatch):
    """Run the command with something in a pipe on standard input."""
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def run(content, *words):
        reading, writing = os.pipe()
        feed(writing, content)
        with os.fdopen(reading) as pipe, monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", pipe)
            return tamis(*words)

    return run


def feed(pipe, content):
    """Write to a pipe, from another thread: it waits for a reader, who may have seen enough."""

    def write():
        with contextlib.suppress(BrokenPipeError), open(pipe, "wb") as file:
            file.write(content)

    threading.Thread(target=write, daemon=True).start()


@pytest.mark.parametrize(
    "name", few(["csv.gz", "npz", "h5ad", "csv", "parquet", "svmlight", "npy"], 3)
)
def test_standard_input_is_what_its_content_says(name, tmp_path, piped):
    file = FILES[name](tmp_path)
    content = Path(file.path).read_bytes()
    code, out, err = piped(content, "fit", "-", *file.fit, *FAST)
    assert code == 0, err
    assert out.startswith("standard input: 48 rows")


def test_a_format_can_be_said(tmp_path, piped):
    content = Path(FILES["tsv"](tmp_path).path).read_bytes()
    words = ["fit", "-", "--target", "y", *FAST]
    assert piped(content, *words, "--format", "tsv")[0] == 0
    code, _, err = piped(content, *words, "--format", "npz")
    assert code == 2 and "cannot read standard-input as npz" in err


def test_all_commands_read_standard_input(run_folder, new, tamis, piped):
    content = Path(new).read_bytes()
    for command in ("predict", "explain"):
        assert piped(content, command, run_folder, "-") == tamis(command, run_folder, new)
    code, out, err = piped(content, "evaluate", run_folder, "-", "--json")
    assert code == 0, err
    told, expected = json.loads(out), json.loads(tamis("evaluate", run_folder, new, "--json")[1])
    assert told["scores"] == expected["scores"]
    assert told["data"]["name"] == "standard input"


def test_a_run_says_where_its_data_came_from(tmp_path, piped, small, refuses, tamis):
    run, content = tmp_path / "run", Path(small).read_bytes()
    words = ["fit", "-", "--target", "y", *FAST, "-o", run]
    code, out, err = piped(content, *words)
    assert code == 0, err
    assert json.loads((run / "run.json").read_text())["data"] == "standard input"
    # The same data again: all is done.
    assert piped(content, *words)[:2] == (0, out)
    pick = ["pick", run, "--method", "centers", "--n-features", 1, "-o", tmp_path / "picked"]
    refuses(*pick, match="came from standard input; give a file with --data")
    assert tamis(*pick, "--data", small)[0] == 0


@pytest.mark.parametrize("name", ["pipe", "pipe.csv"])
def test_named_pipes_are_read_once(name, tmp_path, run_folder, new, tamis, monkeypatch):
    os.mkfifo(tmp_path / name)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for words in (["predict", run_folder], ["evaluate", run_folder]):
        feed(tmp_path / name, Path(new).read_bytes())
        code, out, _ = tamis(*words, tmp_path / name)
        assert code == 0
        assert out.replace("standard input", new) == tamis(*words, new)[1]


@pytest.mark.slow
def test_process_substitution(run_folder, new, tamis):
    words = " ".join([*COMMAND, "predict", str(run_folder)])
    done = subprocess.run(
        ["bash", "-c", f"{words} <(cat {new})"], capture_output=True, text=True, env=environment()
    )
    assert done.stdout == tamis("predict", run_folder, new)[1], done.stderr


def test_a_pipe_has_the_limit_of_a_file(run_folder, piped):
    rows = "age,dose,color,noise\n" + "1,2,red,3\n" * 300_000
    words = ["predict", run_folder, "-", "--max-size", "2MB"]
    code, out, err = piped(rows.encode(), *words)
    assert (code, out) == (2, "")
    assert "standard input needs more than 2." in err and "--max-size 4MB raises it" in err


def test_an_empty_pipe_is_one_line(run_folder, piped):
    code, out, err = piped(b"", "predict", run_folder, "-")
    assert (code, out) == (2, "") and err.count("\n") == 1 and "is empty" in err


@pytest.mark.slow
def test_ctrl_c_leaves_no_copy(run_folder, tmp_path, temporary):
    os.mkfifo(tmp_path / "pipe")
    process = start("predict", run_folder, tmp_path / "pipe", TMPDIR=str(temporary))
    with open(tmp_path / "pipe", "wb") as pipe:
        pipe.write(b"age,dose\n" * 1000)
        pipe.flush()
        assert wait_for(lambda: list(temporary.glob("*/*")))
        time.sleep(0.5)  # it waits for more now
        os.kill(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and err == "tamis: stopped.\n"


def make_fifo(path):
    os.mkfifo(path)
    return path


def make_folder(path):
    path.mkdir()
    return path


ODD = {"a pipe": make_fifo, "a folder": make_folder, "a device": lambda path: "/dev/zero"}


@pytest.mark.parametrize("option", ["--features", "--target-file"])
@pytest.mark.parametrize("name", ODD)
@pytest.mark.slow
def test_what_is_no_regular_file_is_refused(name, option, tmp_path, small):
    path = ODD[name](tmp_path / "odd")
    code, out, err = call("fit", small, "--target", "y", *FAST, option, path)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1 and str(path) in err
    assert "is not a regular file" in err or "is a folder" in err


def test_a_device_is_no_data(run_folder, refuses):
    refuses("predict", run_folder, "/dev/zero", match="/dev/zero is not a regular file")


def test_a_large_features_file_is_refused(tmp_path, small, refuses):
    rows = [[f"f{i}", "years"] for i in range(10_000)]
    features = write_csv(tmp_path / "features.csv", ["feature", "unit"], rows)
    words = ["fit", small, "--target", "y", "--features", features, "--max-size", "1MB"]
    refuses(*words, match="features.csv needs about")


@pytest.mark.parametrize("n_commands", smaller(1, 2))
def test_results_are_written_though_nobody_reads_what_is_said(n_commands, tmp_path):
    rows = [[i % 7 + 3 * (i % 2), (i * 5) % 11, "ab"[i % 2]] for i in range(60)]
    data = write_csv(tmp_path / "data.csv", ["x", "z", "y"], rows)
    run, picked = tmp_path / "run", tmp_path / "picked"
    commands = (
        ["fit", data, "--target", "y", *FAST, "-o", run],
        ["pick", run, "--method", "centers", "--n-features", "1", "-o", picked],
    )
    for words in commands[:n_commands]:
        process = subprocess.Popen(
            [*COMMAND, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(),
        )
        process.stdout.close()
        assert process.wait() == 0
    for folder in (run, picked)[:n_commands]:
        names = {path.name for path in folder.iterdir()}
        assert {"run.json", "model.json", "features.csv", "metrics.json", "report.html"} <= names
