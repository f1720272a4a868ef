"""Names and labels that would act on a terminal, or in a spreadsheet."""

import csv
import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

from tamis.report.page.pictures import draw_pictures
from tests.cli.conftest import write_csv
from tests.cli.processes import COMMAND, environment

FAST = ["--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1", "--n-jobs", "1"]
# Colors, a new title for the window, the C1 form of both, text from right to left, and lines.
EVIL = "age\x1b[31m\x1b]0;title\x07\x9b2J\u202egpj\u2066x\u2028y"
LABELS = ["well\x1b[2J\u202e", "ill\ntamis: all is fine"]
UNSAFE = "\x1b\x07\x9b\u202e\u2066\u2028"
FORMULA = "=HYPERLINK(1)"


def make_table(path, names, labels, answers=("red", "blue")):
    rng, rows = np.random.default_rng(0), []
    for i in range(60):
        c = i % 2
        number = rng.normal() + 3 * c
        rows.append([f"{number:.3f}", answers[c], f"@SUM(A{i})", labels[c]])
    return write_csv(path, [*names, "y"], rows)


@pytest.fixture
def evil(tmp_path):
    return make_table(tmp_path / "evil.csv", [EVIL, f"c{EVIL}", "id"], LABELS)


def in_terminal(*words):
    """Run the command with a terminal for all that it prints."""
    terminal, screen = pytest.importorskip("pty", exc_type=ImportError).openpty()
    command = [*COMMAND, *map(str, words)]
    process = subprocess.Popen(command, stdout=screen, stderr=screen, env=environment())
    os.close(screen)
    found = b""
    while True:
        try:
            block = os.read(terminal, 1 << 16)
        except OSError:  # the other end is closed
            break
        found += block
    os.close(terminal)
    return process.wait(), found.decode()


@pytest.mark.slow
def test_pictures_do_not_repeat_labels_on_the_terminal(evil, tmp_path, tamis, monkeypatch):
    """Fonts have no glyphs for control characters, and matplotlib warns of each."""
    monkeypatch.delenv("TAMIS_DEBUG", raising=False)
    monkeypatch.setattr("tamis.report.page.page.draw_pictures", draw_pictures)
    monkeypatch.setattr(warnings, "showwarning", lambda m, *about: print(m, file=sys.stderr))
    words = ["--target", "y", "--id", "id", *FAST, "-o", tmp_path / "run"]
    code, out, err = tamis("fit", evil, *words)
    assert code == 0, err
    assert not set(UNSAFE) & set(out + err) and "lyph" not in err
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "<svg" in page and not set(UNSAFE) & set(page)


@pytest.mark.parametrize("word", [EVIL, f"--{EVIL}=3", f"--methods={EVIL}", f"--target={EVIL}"])
def test_arguments_are_repeated_without_control_characters(word, evil, tamis):
    code, out, err = tamis("fit", evil, "--target", "y", word)
    assert code == 2 and "\\u001b[31m" in err.replace("\\x1b", "\\u001b")
    assert not set(UNSAFE) & set(out + err)


def test_what_is_printed_has_no_control_characters(evil, tmp_path, tamis):
    run = tmp_path / "run"
    code, out, err = tamis("fit", evil, "--target", "y", "--id", "id", *FAST, "-o", run)
    assert code == 0, err
    assert not set(UNSAFE) & set(out + err)
    assert "age\\u001b[31m" in out and "ill\\ntamis: all is fine" in out
    assert "\ntamis: all is fine" not in out + err
    code, out, err = tamis("evaluate", run, evil)
    assert code == 0, err
    assert not set(UNSAFE) & set(out + err) and "ill\\ntamis" in out


def test_json_that_is_printed_says_the_same_in_escapes(evil, tmp_path, tamis):
    run = tmp_path / "run"
    words = ["fit", evil, "--target", "y", "--id", "id", *FAST, "-o", run, "--json"]
    code, out, err = tamis(*words)
    assert code == 0, err
    assert not set(UNSAFE) & set(out)
    assert json.loads(out) == json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    code, out, _ = tamis("evaluate", run, evil, "--json", "-o", tmp_path / "told.json")
    assert not set(UNSAFE) & set(out)
    assert json.loads(out) == json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))


def test_errors_have_no_control_characters(evil, tamis):
    for words in (["--target", "x"], ["--target", "y", "--positive", "x"]):
        code, out, err = tamis("fit", evil, *words, *FAST)
        assert (code, out) == (2, "") and err.count("\n") == 1
        assert not set(UNSAFE) & set(err)


@pytest.mark.slow
def test_a_terminal_gets_escapes_and_a_file_what_there_is(evil, tmp_path, tamis):
    run = tmp_path / "run"
    assert tamis("fit", evil, "--target", "y", "--id", "id", *FAST, "-o", run)[0] == 0
    code, shown = in_terminal("predict", run, evil)
    assert code == 0
    assert not set(UNSAFE) & set(shown)
    assert (
        "well\\u001b[2J" in shown and shown.count("\r\n") == 62
    )  # with a line on what probabilities are for
    code, out, _ = tamis("predict", run, evil)
    assert {row["prediction"] for row in csv.DictReader(out.splitlines(True))} == set(LABELS)


def cells(text):
    return [cell for row in csv.reader(text.splitlines(True)) for cell in row]


def is_formula(cell):
    """Whether a spreadsheet would compute something."""
    return len(cell) > 1 and cell[0] in "=+-@\t\r" and not cell[1:].replace(".", "").isdigit()


@pytest.fixture
def formulas(tmp_path):
    names = [FORMULA, "+1+cmd|' /C calc'!A0", "id"]
    return make_table(tmp_path / "f.csv", names, ["-2+3", "@x"], ("=1+1", "\t=2"))


def test_no_cell_is_a_formula(formulas, tmp_path, tamis):
    run = tmp_path / "run"
    words = ["--target", "y", "--id", "id", *FAST, "--keep", FORMULA]
    assert tamis("fit", formulas, *words, "-o", run)[0] == 0
    features = (run / "features.csv").read_text()
    predicted = tamis("predict", run, formulas, "--id", "id")[1]
    tamis("explain", run, formulas, "--id", "id", "-o", tmp_path / "told.csv")
    explained = (tmp_path / "told.csv").read_text()
    for text in (features, predicted, explained):
        assert not [cell for cell in cells(text) if is_formula(cell)]
    assert f"'{FORMULA}" in features and "'-2+3" in predicted and "'@SUM(A3)" in predicted
    assert f"'{FORMULA}" in explained and "'=1+1" in explained
    # Numbers are left alone.
    assert any(cell.startswith("-") for cell in cells(explained))


def test_the_guard_can_be_taken_away(formulas, tmp_path, tamis, table):
    run, picked = tmp_path / "run", tmp_path / "picked"
    words = ["--target", "y", "--id", "id", *FAST, "--keep", FORMULA]
    assert tamis("fit", formulas, *words, "-o", run, "--no-guard")[0] == 0
    assert FORMULA in cells((run / "features.csv").read_text())
    rows = table("predict", run, formulas, "--no-guard", "--id", "id")
    assert {row["prediction"] for row in rows} == {"-2+3", "@x"}
    assert rows[3]["id"] == "@SUM(A3)"
    features = {row["feature"] for row in table("explain", run, formulas, "--no-guard")}
    assert FORMULA in features
    words = ["pick", run, "--method", "centers", "--n-features", 1, "-o", picked]
    assert tamis(*words)[0] == 0
    assert f"'{FORMULA}" in cells((picked / "features.csv").read_text())


def test_a_single_sign_is_a_label_like_others(tmp_path, tamis, table):
    data = make_table(tmp_path / "d.csv", ["u", "v", "id"], "+-")
    assert tamis("fit", data, "--target", "y", *FAST, "-o", tmp_path / "run")[0] == 0
    rows = table("predict", tmp_path / "run", data)
    assert {row["prediction"] for row in rows} == {"+", "-"}
