"""Checkpoints that were damaged or changed: named, thrown away, and computed again."""

import json
import re
import shutil

import numpy as np
import pytest

from tamis.comparison.running.store import ManifestMismatch, Store
from tests.cli.conftest import HEADER, few, make_rows, write_csv
from tests.cli.processes import call_here, outcome

FAST = ("--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1", "--n-jobs", "1")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("data") / "data.csv", HEADER, make_rows(60, 0))


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    """A run that is done, and what it found."""
    run = tmp_path_factory.mktemp("finished") / "run"
    code, _, err = call_here("fit", data, "--target", "y", *FAST, "-o", run)
    assert code == 0, err
    return run, outcome(run)


@pytest.fixture
def copy(finished, data, tmp_path):
    """A copy of that run: the words that finish it, the folder, what it found."""
    run, found = finished
    shutil.copytree(run, tmp_path / "run")
    return ["fit", data, "--target", "y", *FAST, "-o", tmp_path / "run"], tmp_path / "run", found


def test_a_finished_run_that_is_repeated_says_so(copy, tamis):
    words, run, found = copy
    code, _, err = tamis(*words)
    assert code == 0 and outcome(run) == found
    assert "all results are there already; only the model and its description" in err
    assert ": done" not in err and "about" not in err
    next(run.glob("checkpoints/*.npz")).unlink()
    err = tamis(*words)[2]
    assert re.search(r"about \d+ s on 1 core", err)
    assert err.count(": done") == 1


def flip(path):
    """Change bytes in the middle of the largest member, which zlib notices."""
    raw = bytearray(path.read_bytes())
    at = raw.index(b"probabilities.npy") + 60
    raw[at : at + 20] = bytes(20)
    path.write_bytes(raw)


def cut(path):
    path.write_bytes(path.read_bytes()[:-200])


def rewrite(change):
    """Change arrays and write them as numpy does, so that the archive itself is sound."""

    def damage(path):
        with np.load(path) as file:
            arrays = dict(file)
        change(arrays)
        np.savez_compressed(path, **arrays)

    return damage


def reseal(change):
    """The same, with a digest that fits: whoever did this knows the format."""

    def damage(path):
        store = Store(path.parent, json.loads((path.parent / "manifest.json").read_text()))
        arrays = store.load(path.stem)
        change(arrays)
        store.save(path.stem, arrays)

    return damage


def put(name, value):
    def change(arrays):
        arrays[name] = arrays[name].copy()
        arrays[name].flat[0] = value

    return change


def shorten(arrays):
    arrays["probabilities"] = arrays["probabilities"][:, :-1]


def widen(arrays):
    arrays["n_features"] = arrays["n_features"] + 8
    arrays["used"] = np.hstack([arrays["used"], arrays["used"]])


CONTENTS = {
    "not a number": put("probabilities", np.nan),
    "a probability of -5": put("probabilities", -5),
    "a probability of 1.2": put("probabilities", 1.2),
    "a sum of 1.5": put("probabilities", 0.9999),
    "a row less": shorten,
    "more features": widen,
    "features that are infinite": put("n_used", np.inf),
}
DAMAGES = {
    "bytes": flip,
    "end": cut,
    **{f"{name}, changed": rewrite(change) for name, change in CONTENTS.items()},
}


@pytest.mark.parametrize("name", few(DAMAGES, 3))
def test_a_damaged_checkpoint_is_named_and_computed_again(name, copy, tamis):
    words, run, before = copy
    path = run / "checkpoints" / "cv-centers-r0-f1.npz"
    DAMAGES[name](path)
    code, _, err = tamis(*words)
    assert code == 0, err
    assert f"{path} is damaged" in err
    assert outcome(run) == before
    code, _, err = tamis(*words)
    assert code == 0 and "damaged" not in err


@pytest.mark.parametrize("name", few(CONTENTS, 2))
def test_contents_are_looked_at_whatever_the_digest_says(name, copy, tamis):
    words, run, before = copy
    path = run / "checkpoints" / "cv-centers-r0-f1.npz"
    reseal(CONTENTS[name])(path)
    code, _, err = tamis(*words)
    assert code == 0, err
    assert f"{path} is damaged" in err
    assert outcome(run) == before


def test_the_checkpoint_of_another_fold_is_not_accepted(copy, tamis):
    words, run, before = copy
    folder = run / "checkpoints"
    shutil.copy(folder / "cv-centers-r0-f1.npz", folder / "cv-centers-r0-f0.npz")
    code, _, err = tamis(*words)
    assert code == 0, err
    assert f"{folder / 'cv-centers-r0-f0.npz'} is of another task or another comparison" in err
    assert outcome(run) == before


def test_the_checkpoint_of_another_comparison_is_not_accepted(tmp_path):
    said = []
    Store(tmp_path / "a", {"data": 1}).save("task", {"x": np.zeros(2)})
    store = Store(tmp_path / "b", {"data": 2}, tell=said.append)
    shutil.copy(tmp_path / "a" / "task.npz", tmp_path / "b" / "task.npz")
    assert store.load("task") is None and not store.path("task").exists()
    assert "is of another task or another comparison: it is discarded" in said[0]


@pytest.mark.parametrize("content", [b"", b'{"data": ', b"[]", b"null", b"\xff\xfe"])
def test_a_damaged_manifest_is_named_and_whole_checkpoints_are_kept(content, tmp_path):
    Store(tmp_path, {"data": 1}).save("task", {"x": np.arange(2)})
    (tmp_path / "manifest.json").write_bytes(content)
    said = []
    store = Store(tmp_path, {"data": 1}, tell=said.append)
    assert store.load("task")["x"].tolist() == [0, 1]
    path = tmp_path / "manifest.json"
    assert said == [f"{path} is damaged: it is written again; whole checkpoints are kept"]
    assert json.loads(path.read_text()) == {"data": 1}


@pytest.mark.parametrize("content", [b"", None])
def test_checkpoints_of_something_else_are_not_lost_with_their_manifest(content, tmp_path):
    Store(tmp_path, {"data": 1}).save("task", {"x": np.arange(2)})
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "other").write_bytes(content or b"")
    (tmp_path / "other").rename(tmp_path / ("other" if content is None else "manifest.json"))
    with pytest.raises(ManifestMismatch, match="its checkpoints are of other data"):
        Store(tmp_path, {"data": 2})
    assert Store(tmp_path, {"data": 1}).load("task") is not None
    assert Store(tmp_path, {"data": 2}, force=True).was_cleared


def test_a_run_goes_on_after_its_manifest_was_damaged(copy, tamis):
    words, run, before = copy
    folder = run / "checkpoints"
    written = {path: path.stat().st_mtime_ns for path in folder.glob("*.npz")}
    for name in ("manifest.json", "stream.json"):
        (folder / name).write_bytes((folder / name).read_bytes()[:40])
    code, _, err = tamis(*words)
    assert code == 0, err
    assert f"{folder / 'manifest.json'} is damaged" in err
    assert f"{folder / 'stream.json'} cannot be read" in err
    assert outcome(run) == before
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*.npz")} == written


def test_commands_that_read_changed_data_again_say_what_to_do(tmp_path, refuses):
    data = write_csv(tmp_path / "data.csv", HEADER, make_rows(60, 0))
    run = tmp_path / "run"
    code, _, err = call_here("fit", data, "--target", "y", *FAST, "-o", run)
    assert code == 0, err
    write_csv(data, HEADER, make_rows(60, 1))
    for command in (["pick", run, "--n-features", "1", "-o", tmp_path / "one"], ["report", run]):
        said = refuses(*command)
        assert (
            "holds results of a different comparison (" in said and ". Put back the data" in said
        )
