"""Folders that an earlier version wrote: a run starts anew, and other commands say what to do."""

import json
import re
import shutil

import pytest

from tests.cli.conftest import unwrapped
from tests.cli.golden_runs import FIT, FOLDER, words, write_data
from tests.cli.processes import call_here, outcome

RUNS = [str(path.relative_to(FOLDER)) for path in sorted(FOLDER.glob("*/*"))]
NOW = "99.0"


@pytest.fixture(autouse=True)
def _later(monkeypatch):
    """The present is later than every golden folder."""
    for module in ("cli.data", "cli.fit_command", "comparison.folder"):
        monkeypatch.setattr(f"tamis.{module}.__version__", NOW)
    monkeypatch.setattr("tamis.comparison.running.checkpoints.__version__", NOW)


@pytest.fixture(params=RUNS)
def old(request, tmp_path, monkeypatch):
    """A golden folder in the present one, with its data: version, kind."""
    shutil.copytree(FOLDER / request.param, tmp_path / "run")
    version, kind = re.split(r"[/\\]", request.param)
    write_data(kind, tmp_path)
    monkeypatch.chdir(tmp_path)
    return version, kind


def content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_of_an_earlier_version_starts_anew_and_says_so(old, tamis, tmp_path):
    version, kind = old
    assert call_here(*words(kind, "data.csv", "anew"))[0] == 0
    code, _, err = tamis(*words(kind, "data.csv", "run"))
    assert code == 0, err
    told = [line for line in err.replace("tamis: ", "\n").split("\n") if "cannot be used" in line]
    assert len(told) == (2 if kind == "stream" else 1), err
    for line in told:
        assert f"tamis was '{version}', is now '{NOW}'" in line
        assert "everything is computed again" in line
    assert "damaged" not in err and "Traceback" not in err
    found, expected = outcome(tmp_path / "run"), outcome(tmp_path / "anew")
    for one in (found, expected):
        one["metrics"].get("streaming", {}).pop("available_bytes", None)  # of the moment
    assert found == expected
    assert json.loads((tmp_path / "run" / "run.json").read_text())["tamis_version"] == NOW
    # From now on it is a run of the present version.
    code, _, err = tamis(*words(kind, "data.csv", "run"))
    assert code == 0 and "cannot be used" not in err and ": done" not in err


@pytest.mark.parametrize(
    "command",
    [
        ("report", "run"),
        ("pick", "run", "--n-features", "1", "-o", "picked"),
        ("export", "run", "--to", "card", "-o", "card.html"),
    ],
    ids=lambda words: words[0],
)
def test_commands_that_repeat_the_comparison_say_what_to_do(old, command, refuses, tmp_path):
    before = content(tmp_path)
    said = refuses(*command)
    assert f"run was made by {old[0]}, and this is {NOW}" in said
    assert "repeat tamis fit first" in said
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    "command",
    [
        ("predict", "run", "data.csv"),
        ("evaluate", "run", "data.csv", "--target", "y"),
        ("explain", "run", "data.csv"),
        ("export", "run", "--to", "sql", "-o", "-"),
    ],
    ids=lambda words: words[0],
)
def test_commands_that_need_the_model_alone_work(old, command, tamis):
    code, out, err = tamis(*command)
    assert code == 0 and out, err


def test_other_work_of_an_earlier_version_is_not_discarded(old, tamis, tmp_path):
    before = content(tmp_path)
    code, out, err = tamis(*words(old[1], "data.csv", "run"), "--seed", "3")
    assert (code, out) == (2, "") and "Traceback" not in err
    assert "different comparison" in err and "--force" in err
    after, decision = content(tmp_path), tmp_path / "run" / "checkpoints" / "stream.json"
    assert {**after, decision: before[decision]} == before


def test_a_damaged_run_json_is_named(old, refuses, tmp_path):
    for text in ("[]", "null", '"run"'):
        (tmp_path / "run" / "run.json").write_text(text)
        assert "run.json is damaged; repeat tamis fit" in unwrapped(refuses("report", "run"))


def test_checkpoints_of_another_numpy_start_anew_too(tmp_path, tamis, monkeypatch):
    command = ("fit", write_data("memory", tmp_path), *FIT, "-o", tmp_path / "run")
    assert tamis(*command)[0] == 0
    path = tmp_path / "run" / "checkpoints" / "manifest.json"
    known = json.loads(path.read_text())
    known["versions"]["numpy"] = "1.0"
    path.write_text(json.dumps(known))
    code, _, err = tamis("report", tmp_path / "run")
    assert code == 2 and "numpy was '1.0'" in err and "repeat tamis fit first" in err
    code, _, err = tamis(*command)
    assert code == 0 and "numpy was '1.0'" in err and "everything is computed again" in err
