"""Models that cannot be read: what is offered instead, and how it is made."""

import io
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from tamis.cli import main
from tamis.cli.show_answer import show_answer
from tests.cli.conftest import unwrapped, write_csv

FAST = ("--methods", "panel,most-frequent", "--folds", "2", "--repeats", "1", "--n-jobs", "1")


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    """A table with one class around the other, which only a kernel tells apart."""
    rng, rows = np.random.default_rng(0), []
    for _ in range(120):
        x, z, noise = rng.normal(size=3)
        color = rng.choice(["red", "blue"])
        label = "outside" if x * x + z * z > 1.4 else "inside"
        rows.append([f"{x:.3f}", f"{z:.3f}", f"{noise:.3f}", color, label])
    path = tmp_path_factory.mktemp("ring") / "ring.csv"
    return write_csv(path, ["x", "z", "noise", "color", "y"], rows)


@pytest.fixture(scope="module")
def dark(ring, tmp_path_factory):
    """A run whose recommended model has a kernel."""
    run = tmp_path_factory.mktemp("runs") / "run"
    assert main(["fit", ring, "--target", "y", "-o", str(run), "--no-report", *FAST]) == 0
    model = json.loads((run / "metrics.json").read_text())["model"]
    assert (model["method"], model["head"], model["is_readable"]) == (
        "panel-kernel",
        "kernel",
        False,
    )
    return run


def offered(tamis, *words):
    """The commands that an error offers: to pick a model, to repeat the command, and to fit."""
    code, out, err = tamis(*words)
    lines = err.splitlines()
    assert (code, out) == (2, ""), err
    assert lines[0].startswith("tamis: error: ") and "Traceback" not in err
    assert re.search(r"panel, \d features?; balanced accuracy 0\.\d{3} ± ", lines[1])
    assert lines[4].startswith("It will have no score to report, because it is chosen after")
    return [shlex.split(lines[at]) for at in (2, 3, 5)]


def test_every_dead_end_offers_a_model_with_which_the_command_works(
    dark, ring, tamis, refuses, tmp_path, monkeypatch
):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    page = str(tmp_path / "out")
    dead_ends = [
        ["ask", dark],
        ["explain", dark, ring],
        *(["export", dark, "--to", to, "-o", page] for to in ("html", "card", "sql")),
    ]
    for words in dead_ends:
        pick, repeat, fit = offered(tamis, *words)
        err = tamis(*words)[2]
        assert ("one question at a time" in err) == ("ask" in words or "html" in words)
        assert ("so it cannot be written as points" in err) == ("card" in words)
        assert "--n-features" not in err  # the best model has few enough for a card
        target = f"{dark}-{'card' if 'card' in words else 'readable'}"
        assert pick == ["tamis", "pick", str(dark), "--readable", "-o", target]
        assert fit[:3] == ["tamis", "fit", ring] and "--methods" not in fit
        assert fit[-3:] == ["--readable", "-o", f"{dark}-readable-fit"]
        assert repeat == ["tamis", *(target if w is dark else w for w in words)]
        code, out, err = tamis(*pick[1:], "--no-report")
        assert code == 0, err
        assert re.search(r"^PICKED: \d features? \(panel.*, (logistic|linear)", out, re.M)
        assert re.search(r"(smallest|no) readable model .* compared with the best of all \(", err)
        code, _, err = tamis(*repeat[1:])
        assert code == 0, err
    again = [str(dark), "--method", "panel-kernel", "--n-features", "2", "--no-report"]
    assert tamis("pick", *again, "-o", tmp_path / "picked")[0] == 0
    picked, again = tmp_path / "picked", ["--readable", "-o", tmp_path / "again"]
    told = f"`tamis pick {dark}`, and has only this model; use `tamis pick {dark} ...`."
    assert told in refuses("pick", picked, *again)
    assert offered(tamis, "ask", picked)[0][2] == str(dark)  # not the picked one
    words = json.loads((picked / "run.json").read_text()) | {"picked_from": "gone"}
    (picked / "run.json").write_text(json.dumps(words))
    refuses("pick", picked, *again, match="gone is no longer there; repeat its tamis fit")
    refuses("ask", picked, match="gone, from which this model was picked, is no", offers=True)


def test_rows_that_the_model_contains_are_named_beside_its_score_with_a_way_around(dark):
    metrics = json.loads((dark / "metrics.json").read_text())
    told = unwrapped("\n".join(show_answer(metrics)))
    assert re.search(
        r"privacy The model contains the selected features of \d+ training rows", told
    )
    assert "A model without them: tamis fit ... --readable" in told
    assert "privacy" not in "\n".join(show_answer(metrics, is_saved=False))
    metrics["model"] |= {"is_readable": True}
    assert "without them" not in unwrapped("\n".join(show_answer(metrics)))


def test_a_model_alone_has_nothing_to_offer_but_says_what_to_do(models, tamis):
    code, out, err = tamis("ask", models["kernel"])
    assert (code, out) == (2, "")
    assert "holds no other model" in err and err.endswith("tamis fit ... --readable -o RUN\n")


def test_a_run_of_methods_that_cannot_be_read_says_without_which_option_to_repeat_it(
    models, tamis, tmp_path
):
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(models["landmarks"], run / "model.json")
    (run / "metrics.json").write_text('{"readable": {"best": null, "card": null}}')
    argv = ["fit", "a b.csv", "--methods", "landmarks", "--target", "y", "-o", "run"]
    (run / "run.json").write_text(json.dumps({"argv": argv}))
    err = tamis("export", run, "--to", "card", "-o", tmp_path / "card")[2]
    assert "landmarks compare whole rows, so they cannot be written as points." in err
    again = "tamis fit 'a b.csv' --target y --readable -o"
    assert err.endswith(f"To make one:\n  {again} {run}-readable\n")


@pytest.mark.parametrize(("score", "is_told"), [(0.52, True), (0.6, False)])
def test_an_offer_that_is_hardly_better_than_guessing_says_so(
    score, is_told, models, tamis, tmp_path
):
    best = {"method": "panel", "title": "panel", "head": "linear", "features_overall": 2}
    best |= {"score": score, "standard_error": 0.02, "is_recommended": False}
    settings = {"scoring": "balanced_accuracy"}
    metrics = {"readable": {"best": best}, "settings": settings}
    metrics["data"] = {"classes": {"ill": 5, "well": 5}}
    shutil.copy(models["kernel"], tmp_path / "model.json")
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    assert ("hardly better than guessing (0.500)" in tamis("ask", tmp_path)[2]) == is_told


def test_only_models_that_can_be_read_are_fitted_if_asked_for(ring, refuses, tamis, tmp_path):
    words = ["fit", ring, "--target", "y", "--readable", "--no-report", *FAST]
    code, out, err = tamis(*words, "-o", tmp_path / "run")
    assert code == 0, err
    assert "exported to SQL (--readable): panel-kernel" in err
    assert re.search(r"^RECOMMENDED: \d features? \(panel", out, re.M) and "kernel" not in out
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["model"]["is_readable"] and metrics["readable"]["best"]["is_recommended"]
    refuses("pick", tmp_path / "run", "--method", "panel-kernel", "--n-features", "2",
            "-o", tmp_path / "other", match="was not finished")  # fmt: skip
    named = ["--methods", "landmarks", "--readable"]
    refuses("fit", ring, "--target", "y", *named, match="these can: centers, medians")


def test_what_to_pick_can_be_narrowed(dark, refuses, tamis, tmp_path):
    pick = ["pick", dark, "--readable", "--no-report"]
    code, out, err = tamis(*pick, "--n-features", "1", "-o", tmp_path / "one")
    assert code == 0, err
    assert "PICKED: 1 feature (panel" in out
    refuses(*pick, "--method", "panel-kernel", "-o", tmp_path / "no", match="can be read")
    refuses("pick", dark, "-o", tmp_path / "no", match="--without or --readable")


def test_methods_say_whether_their_models_can_be_read(tamis):
    out = tamis("methods", "--json")[1]
    told = {m["name"]: (m["is_readable"], m["head"]) for m in json.loads(out)["methods"]}
    assert told["panel"] == (True, "linear") and told["panel-kernel"] == (False, "kernel")
    assert [n for n, (readable, _) in told.items() if readable] == [
        *("centers", "medians", "primal-dual", "panel", "l1-logistic", "relaxed-l1", "rfe")
    ]
    out = tamis("methods")[1]
    assert out.count("readable: yes") == 7 and out.count("readable: no") == len(told) - 7


def test_offers_are_about_the_folder_and_fail_quietly(tmp_path, monkeypatch, models, tamis):
    best = {
        "method": "panel",
        "title": "panel",
        "head": "linear",
        "features_overall": 2,
        "score": 0.9,
    }
    best |= {"standard_error": 0.01, "is_recommended": False}
    metrics = {"readable": {"best": best}, "settings": {"scoring": "accuracy"}}
    metrics["data"] = {"classes": {"ill": 5, "well": 5}}
    monkeypatch.chdir(tmp_path)
    for name in ("ask", "-dash"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "model.json").write_bytes(Path(models["kernel"]).read_bytes())
        (folder / "metrics.json").write_text(json.dumps(metrics))
    assert "\n  tamis ask ask-readable\n" in tamis("ask", "ask")[2]
    assert "\n  tamis ask ./-dash-readable\n" in tamis("ask", "./-dash")[2]
    card = best | {"features_overall": 1}
    (tmp_path / "ask" / "metrics.json").write_text(
        json.dumps(metrics | {"readable": {"best": best, "card": card}})
    )
    err = tamis("export", "ask", "--to", "card", "-o", "card.html")[2]
    assert "To use it (a card has at most 12 features):" in err and "--n-features 12 -o" in err
    for content in ("[]", '{"readable": null}', '{"readable": {"best": {}}}'):
        (tmp_path / "ask" / "metrics.json").write_text(content)
        code, _, err = tamis("ask", "ask")
        assert code == 2 and err.count("\n") == 1
    (tmp_path / "ask" / "metrics.json").write_text('{"model": {}}')
    assert "An earlier version made this run" in tamis("ask", "ask")[2]
