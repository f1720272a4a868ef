"""`tamis ask`: conversations in a terminal, from a pipe, and on a page."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
import uuid

import pytest

from tamis.models import load_model

RANGES = {"age": [10.0, 90.0], "dose": [0.5, 2.5], "noise": [-1.0, 1.0]}


@pytest.fixture
def answers(monkeypatch):
    """Give lines on standard input."""

    def give(*lines):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return give


@pytest.fixture
def described(models, tmp_path):
    """A model of centers with descriptions, in the folder of a run."""
    folder = tmp_path / "run"
    folder.mkdir()
    with open(models["centers"], encoding="utf-8") as file:
        document = json.load(file)
    document["record"]["descriptions"] = {
        "age": {"question": "How old?", "unit": "years", "min": 0.0, "max": 120.0},
    }
    for column in document["record"]["preparation"]["columns"]:
        if column["kind"] == "number":
            column["range"] = RANGES[column["name"]]
    from tamis.models.saving import digest

    document["digest"] = digest(document)
    (folder / "model.json").write_text(json.dumps(document), encoding="utf-8")
    (folder / "about.txt").write_text("For adults.\nNot for children.\n", encoding="utf-8")
    return folder, document["digest"]


def probabilities(path, row):
    frame = pytest.importorskip("pandas").DataFrame([row])
    model = load_model(path)
    return dict(zip(model.classes_.tolist(), model.predict_proba(frame)[0], strict=True))


def test_a_conversation_asks_and_concludes(described, answers, tamis, tmp_path):
    folder, digest = described
    answers("50", "red", "1.0", "0")
    code, out, err = tamis("ask", folder, "--log", tmp_path / "log")
    assert (code, err) == (0, "")
    assert "How old? (years; at least 0, at most 120; 10 to 90 in training)" in out
    assert "For adults." in out and digest in out
    assert re.search(r"color \[1 blue, 2 green, 3 red\]", out)
    (record,) = map(json.loads, (tmp_path / "log").read_text().splitlines())
    assert record["digest"] == digest and record["label"] == "well"
    row = {"age": None, "dose": None, "color": None, "noise": None}
    row |= {step["name"]: step["value"] for step in record["answers"]}
    shares = probabilities(folder, row)
    assert record["probabilities"] == pytest.approx(shares, abs=1e-12)
    assert f"y: well (well {100 * shares['well']:.1f} %" in out


def test_unavailable_undone_unusual_and_wrong_answers(described, answers, tamis, tmp_path):
    folder, _ = described
    answers("old", "", "130", "95", "40", "n", "?", "u", "u", "?", "?", "?", "?")
    code, out, _ = tamis("ask", folder, "--log", tmp_path / "log")
    assert code == 0
    assert "expected a number, got 'old'" in out and "expected at most 120" in out
    assert "Enter a value, or ?" in out
    assert out.count("above all training values (10 to 90). Is it correct?") == 2
    assert out.count("Answer y or n.") == 1
    assert "Undone: " in out and "There is nothing to undo." in out
    record = json.loads((tmp_path / "log").read_text())
    assert [step["value"] for step in record["answers"]] == [None] * 3
    assert record["status"] == "settled"
    answers("95", "y")
    out = tamis("ask", folder)[1]
    assert "No other answer within the training range can change this decision." in out
    assert "Probabilities could still change" in out and "Nothing was answered" not in out


def test_probabilities_without_answers_are_those_of_a_typical_row(described, answers, tamis):
    folder, _ = described
    answers("?", "?", "?", "?")
    _, out, _ = tamis("ask", folder)
    typical = r"A typical case \(medians and most frequent answers\): (.+)\n"
    first = re.search(typical, out)[1]
    assert f"   {first}\n" in out
    assert out.endswith("Nothing was answered, so there is no decision.\n")
    assert "Before any answer" not in out


def test_the_end_of_input_ends_kindly(described, answers, tamis, tmp_path):
    folder, _ = described
    answers("50")
    code, out, err = tamis("ask", folder, "--log", tmp_path / "log")
    assert (code, err) == (0, "")
    assert "The answers end here." in out and "With the answers so far" in out
    assert json.loads((tmp_path / "log").read_text())["status"] == "stopped"
    answers("q")
    assert tamis("ask", folder)[0] == 0


def test_ctrl_c_ends_kindly_and_is_logged(described, monkeypatch, tamis, tmp_path):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setattr("sys.stdin.readline", interrupt, raising=False)
    code, _, err = tamis("ask", described[0], "--log", tmp_path / "log")
    assert (code, err) == (1, "tamis: stopped.\n")
    assert json.loads((tmp_path / "log").read_text())["status"] == "interrupted"


def test_a_budget_and_a_confidence(described, answers, tamis):
    folder, _ = described
    answers("54", "blue", "1.5", "0")
    code, out, _ = tamis("ask", folder, "--max-questions", "1", "--refer", "0.999")
    assert code == 0
    assert "A person should decide: no class reaches 99.9 % at this prevalence" in out
    assert "--max-questions is reached" in out


def test_choices_may_be_named_or_numbered(described, answers, tamis, tmp_path):
    folder, _ = described
    chosen = []
    for text in ("2", "GREEN", "green"):
        answers("54", text, "1.5", "?")
        tamis("ask", folder, "--log", tmp_path / text)
        steps = json.loads((tmp_path / text).read_text())["answers"]
        chosen += [step["value"] for step in steps if step["name"] == "color"]
    assert chosen == ["green"] * 3


@pytest.mark.parametrize("method", ["centers", "medians", "primal-dual", "panel", "datum-wise"])
def test_models_can_be_asked(models, method, answers, tamis):
    answers(*["1", "y"] * 10)
    code, out, _ = tamis("ask", models[method])
    assert code == 0 and re.search(r"^y: (well|ill) \(", out, re.MULTILINE)


@pytest.mark.parametrize(("given", "has_label"), [(["q"], False), (["54", "q"], True)])
def test_a_model_that_chooses_its_questions_says_nothing_without_answers(
    models, given, has_label, answers, tamis
):
    answers(*given)
    code, out, _ = tamis("ask", models["datum-wise"])
    assert code == 0 and ("Nothing was answered, " in out) != has_label
    assert bool(re.search("^(With the answers so far: )?y: ", out, re.M)) == has_label


@pytest.mark.parametrize("method", ["kernel", "landmarks"])
def test_models_that_compare_rows_are_refused(models, method, tmp_path, refuses):
    refuses("ask", models[method], match="one question at a time", offers=True)
    words = ["--to", "html", "-o", tmp_path / "page.html"]
    refuses("export", models[method], *words, match="one question at a time", offers=True)


def test_options_that_do_not_fit_are_refused(models, tmp_path, refuses):
    refuses("ask", models["centers"], "--flip-risk", "0.1", match="--flip-risk")
    page = ["-o", tmp_path / "a.html"]
    refuses("export", models["centers"], "--to", "sql", "--refer", "0.5", *page, match="--to html")
    refuses(
        "export", models["centers"], "--to", "html", "--positive", "ill", *page, match="--to card"
    )
    refuses("ask", models["centers"], "--log", tmp_path / "no" / "log", match="no folder")


def test_a_page_is_one_file(described, tamis, tmp_path):
    folder, digest = described
    path = tmp_path / "page.html"
    code, out, err = tamis("export", folder, "--to", "html", "-o", path, "--refer", "0.7")
    assert (code, out, err) == (0, f"written: {path}\n", "")
    page = path.read_text(encoding="utf-8")
    assert digest in page and "Not for children." in page and '"reject":0.7' in page


@pytest.mark.slow
def test_the_page_of_this_machine_logs_and_ends_with_ctrl_c(described, tmp_path):
    folder, digest = described
    words = [sys.executable, "-m", "tamis", "ask", str(folder), "--web"]
    words += ["--log", str(tmp_path / "log")]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        url = process.stdout.readline().strip()
        with urllib.request.urlopen(url) as reply:
            assert digest in reply.read().decode()
        sent = {"id": str(uuid.uuid4()), "answers": [{"name": "age", "answers": [54]}]}
        urllib.request.urlopen(f"{url}log", json.dumps(sent).encode()).close()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 0 and "Ctrl-C ends" in err and "ended" in err
    record = json.loads((tmp_path / "log").read_text())
    assert record["conversation"] == sent["id"] and record["digest"] == digest
    assert [(step["name"], step["value"]) for step in record["answers"]] == [("age", 54.0)]
    assert record["status"] == "stopped"


def test_a_card_is_made_of_a_run_and_of_a_picked_model(
    run_folder, small, tamis, refuses, tmp_path
):
    pick = ["pick", run_folder, "--method", "centers", "--n-features", "2"]
    assert tamis(*pick, "-o", tmp_path / "picked")[0] == 0
    path = tmp_path / "card.html"
    words = ["export", tmp_path / "picked", "--to", "card", "-o", path]
    code, out, err = tamis(*words, "--positive", "ill")
    assert (code, out) == (0, f"written: {path}; risk of ill\n")
    assert err == "tamis: cross-validating the card ...\n"
    page = path.read_text(encoding="utf-8")
    with open(tmp_path / "picked" / "model.json", encoding="utf-8") as file:
        assert json.load(file)["digest"] in page
    assert "risk of ill" in page and "60 training rows" in page
    card, model = re.findall(r"<td>(0\.\d+|1\.0+) \(", page)
    assert 0.5 < float(card) <= 1 and 0.5 < float(model) <= 1
    refuses(*words, "--positive", "nobody", match="the classes are ill, well")
    refuses(*words, "--data", tmp_path / "nowhere.csv", match="give their path with --data")
    assert tamis(*words, "--data", small)[0] == 0


def test_a_model_file_alone_has_no_card(models, refuses, tmp_path):
    words = ["--to", "card", "-o", tmp_path / "card.html"]
    refuses("export", models["panel"], *words, match="give the folder of its run")
    refuses("export", models["datum-wise"], *words, match="sum over its features", offers=True)
