"""The printed answer: its order, its words, and lines of at most 80 columns."""

import io
import json
import shlex
import sys
from dataclasses import replace

import numpy as np
import pytest

from tamis import compare
from tamis.cli import main
from tamis.cli.layout import counted, entry, paragraph, shorten, span
from tamis.cli.printing import Styled, print_lines
from tamis.cli.show import show_results
from tamis.cli.show_comparison import show_comparison
from tamis.cli.show_next import show_next
from tamis.comparison.choosing.choice import Choice
from tamis.comparison.fitted.metrics import summarise
from tamis.comparison.notebook import notebook_view
from tamis.report.page.content import _methods
from tests.cli.conftest import unwrapped, write_csv
from tests.cli.processes import call_here

FAST = ["--target", "y", "--methods", "centers,most-frequent", "--folds", "3", "--repeats", "1"]
FAST += ["--n-jobs", "1", "--no-report"]
LONG = "a measured quantity with a name of about sixty characters {:03d}"


def make_numbers(n_rows, n_columns, labels, seed=0, shift=1.5):
    """Rows of numbers with labels in turn; the first columns tell the classes apart."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n_rows) % len(labels)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, : len(labels)] += shift * np.eye(len(labels))[codes][:, :n_columns]
    return X, [labels[c] for c in codes]


def write_numbers(path, X, labels, names=None, **more):
    names = names or [f"x{j}" for j in range(X.shape[1])]
    rows = [
        [*(f"{v:.5g}" for v in row), *(values[i] for values in more.values()), label]
        for i, (row, label) in enumerate(zip(X, labels, strict=True))
    ]
    return write_csv(path, [*names, *more, "y"], rows)


def long_names(folder):
    X, y = make_numbers(60, 30, ["ill", "well"])
    return write_numbers(folder / "d.csv", X, y, [LONG.format(j) for j in range(30)]), []


def unicode_names(folder):
    X, y = make_numbers(60, 4, ["病気", "健康"])
    names = ["血清クレアチニン濃度", "größe in cm", "e\u0301le\u0301vation", "剂量" * 40]
    return write_numbers(folder / "d.csv", X, y, names), []


def ten_classes(folder):
    X, y = make_numbers(200, 12, [f"a class with the number {c}" for c in range(10)], shift=4.0)
    return write_numbers(folder / "d.csv", X, y), []


def many_features(folder):
    X, y = make_numbers(40, 2000, ["0", "1"])
    return write_numbers(folder / "d.csv", X, y), []


def text(folder):
    rng = np.random.default_rng(0)
    words = {"spam": ["win", "prize", "free"], "ham": ["meeting", "report", "lunch"]}
    rows = [
        [" ".join([*rng.choice(words[label], 3), *rng.choice(["the", "and", f"w{i}"], 4)]), label]
        for i, label in enumerate(["spam", "ham"] * 40)
    ]
    return write_csv(folder / "d.csv", ["message", "y"], rows), ["--text", "message"]


def weights_and_groups(folder):
    X, y = make_numbers(120, 4, ["ill", "well"])
    more = {
        "w": [1 + i % 3 for i in range(120)],
        "patient": [f"p{i // 4 * 2}" for i in range(120)],
    }
    data = write_numbers(folder / "d.csv", X, y, **more)
    return data, ["--weights", "w", "--groups", "patient"]


def costs_of_features(folder):
    X, y = make_numbers(80, 3, ["ill", "well"])
    prices = write_csv(folder / "f.csv", ["feature", "cost"], [["x0", 2], ["x1", 3.5]])
    return write_numbers(folder / "d.csv", X, y), ["--features", prices]


def costs_of_errors(folder):
    X, y = make_numbers(80, 3, ["ill", "well"])
    return write_numbers(folder / "d.csv", X, y), ["--misclassification", "ill:well=5"]


def sensitivity(folder):
    X, y = make_numbers(120, 3, ["ill", "well"])
    words = ["--positive", "ill", "--min-sensitivity", "0.9"]
    return write_numbers(folder / "d.csv", X, y), words


def guarantee(folder):
    data, words = sensitivity(folder)
    words[words.index("0.9")] = "0.8"
    return data, [*words, "--calibration-share", "0.4", "--confidence", "0.9"]


def chance(folder):
    rng = np.random.default_rng(1)
    labels = rng.permutation(["ill", "well"] * 30).tolist()
    return write_numbers(folder / "d.csv", rng.normal(size=(60, 30)), labels), []


def streamed(folder):
    X, y = make_numbers(1500, 5, ["ill", "well"])
    return write_numbers(folder / "d.csv", X, y), ["--max-size", "20KB"]


def everything(folder):
    X, y = make_numbers(120, 4, ["ill", "well"])
    more = {
        "site": ["ABC"[i % 3] for i in range(120)],
        "date": [f"2021-01-{1 + i // 4:02d}" for i in range(120)],
        "sex": ["fm"[i // 2 % 2] for i in range(120)],
    }
    words = ["--batch", "site", "--time", "date", "--subgroups", "sex", "--permutations", "2"]
    words += ["--learning-curve", "--assay-error", "0.1", "--keep", "x3"]
    return write_numbers(folder / "d.csv", X, y, **more), words


QUICK = (long_names, unicode_names, ten_classes, text, costs_of_errors, guarantee, chance)
SLOW = (many_features, weights_and_groups, costs_of_features, sensitivity, streamed, everything)


@pytest.fixture(
    scope="module",
    params=[*QUICK, *(pytest.param(make, marks=pytest.mark.slow) for make in SLOW)],
    ids=lambda make: make.__name__,
)
def printed(request, tmp_path_factory):
    """The name of a table, what its run printed, and its metrics."""
    folder = tmp_path_factory.mktemp("show")
    data, words = request.param(folder)
    run = folder / "a run"
    code, out, err = call_here("fit", data, *FAST, *words, "-o", run)
    assert code == 0, err
    return request.param.__name__, out, json.loads((run / "metrics.json").read_text("utf-8")), run


def test_lines_have_at_most_80_columns(printed):
    _, out, _, run = printed
    lines = [line for line in out.splitlines() if str(run) not in line]
    assert max(map(span, lines)) <= 80
    assert "\x1b" not in out  # no colour in a pipe


def test_the_answer_comes_first(printed):
    _, out, metrics, _ = printed
    parts = ["RECOMMENDED: ", "  balanced accuracy   ", "\nfeature ", "\nCompared on the same 3"]
    places = [out.index(part) for part in [*parts, "\nsaved in ", "\nnext: tamis predict "]]
    assert places == sorted(places)
    warnings = [c for c in metrics["checks"] if c["severity"] == "warning"]
    assert out.count("  WARNING: ") == len(warnings) == out[: places[1]].count("  WARNING: ")
    assert out.startswith(f"RECOMMENDED: {metrics['model']['features']:,} feature", places[0])


def test_every_finding_is_named_and_an_empty_list_too(printed):
    _, out, metrics, _ = printed
    said = unwrapped(out)
    assert all(unwrapped(check["sentence"]) in said for check in metrics["checks"])
    assert ("checks nothing found" in said) == (not metrics["checks"])


def test_the_numbers_are_those_of_the_metrics(printed):
    _, out, metrics, _ = printed
    said, model = unwrapped(out), metrics["model"]
    honest = model["honest_score"]
    low, high = honest["interval_95"]
    assert f"{honest['score']:.3f} 95 % interval {low:.3f} to {high:.3f}" in said
    assert f"at most {max(honest['behind_best_95'], 0):.3f} worse" in said
    small, best = model["selection_score"], metrics["methods"]["centers"]["best"]
    row = f"{model['features_overall']:,.0f} {small['score']:.3f} ± {small['standard_error']:.3f}"
    row += f" {best['features_overall']:,.0f} {best['score']:.3f}"
    assert f"* sparse centers, means {row}" in said


def test_classes_are_found_as_often_as_the_honest_predictions_say(printed):
    metrics = printed[2]
    found = metrics["model"]["honest_score"]["found_of_class"]
    assert list(found) == list(metrics["data"]["classes"])
    mean = np.mean(list(found.values()))  # of nested predictions, whose score this is
    assert mean == pytest.approx(metrics["model"]["honest_score"]["score"])


def test_classes_are_found_as_often_as_the_draws_of_the_honest_score_say():
    X, y = make_numbers(520, 4, ["ill", "well"])  # so many rows that the score is not nested
    found = compare(X, y, methods=["centers", "most-frequent"], cv=3, repeats=1, n_jobs=1)
    honest = found.metrics["model"]["honest_score"]
    assert "bootstrap" in honest["is"]
    assert np.mean(list(honest["found_of_class"].values())) == pytest.approx(honest["score"])


def test_a_part_that_fails_does_not_take_the_others_along(printed, monkeypatch):
    def fail(*args, **kwargs):
        raise ValueError("no table")

    monkeypatch.setattr("tamis.cli.show.show_features", fail)
    metrics = printed[2] | {"not_described": {}}
    with pytest.warns(UserWarning, match="no table"):
        lines = show_results(metrics, [])
    assert metrics["not_described"] == {"results": "no table (ValueError)"}
    said = "\n".join(lines)
    assert said.index("RECOMMENDED") < said.index("Compared on the same")


def test_another_size_is_of_the_same_method_and_folders_may_begin_with_a_dash(monkeypatch):
    path = [{"features_overall": k} for k in (1.0, 2.0, 3.0)]
    model = {"method": "panel", "asks": False, "features_overall": 2.0, "recommended": False}
    metrics = {"model": model, "methods": {"panel": {"path": path}}}
    monkeypatch.setattr("tamis.cli.show_next._can_be_asked", lambda model: False)
    lines = show_next(metrics, "-picked", None, "-run")
    assert lines[0].startswith("next: tamis predict ./-picked new.csv")
    command = "tamis pick ./-run --method panel --n-features 3 -o ./-run-3"
    assert command in " ".join(lines)
    assert "--readable" not in " ".join(lines)
    metrics["readable"] = {"best": {"method": "panel"}}
    lines = show_next(metrics, "-picked", None, "-run")
    assert "tamis pick ./-run --readable -o ./-run-readable" in lines[1]
    model["recommended"] = True
    assert "--method" not in " ".join(show_next(metrics, "-picked", None, "-run"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder whose name needs quotes, its data, and what was printed."""
    folder = tmp_path_factory.mktemp("next")
    X, y = make_numbers(60, 5, ["ill", "well"])
    data = write_numbers(folder / "d.csv", X, y)
    code, out, err = call_here("fit", data, *FAST, "-o", folder / "a 'run'")
    assert code == 0, err
    return folder, data, out


def test_the_next_commands_work(run, monkeypatch, capsys):
    folder, data, out = run
    lines = out[out.index("\nnext: ") :].removeprefix("\nnext: ").splitlines()
    commands = [shlex.split(line, comments=True) for line in lines]
    assert [words[:2] for words in commands] == [["tamis", w] for w in ("predict", "ask", "pick")]
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    for words in commands:
        words = [data if word == "new.csv" else word for word in words[1:]]
        assert main(words) == 0
    said = capsys.readouterr().out
    size = commands[2][commands[2].index("--n-features") + 1]
    assert f"PICKED: {size} features (" in said
    assert (folder / f"a 'run'-{size}" / "model.json").exists()
    again = call_here("fit", data, *FAST, "-o", folder / "a 'run'")[1]
    other = shlex.split(again.splitlines()[-1])[-1]
    assert other.endswith(f"a 'run'-{size}b")  # the first is taken


def test_failed_skipped_and_unfinished_methods_are_named(run):
    from tamis.cli.show_comparison import show_comparison

    metrics = json.loads((run[0] / "a 'run'" / "metrics.json").read_text())
    metrics |= {
        "failed": {"panel": "singular matrix (LinAlgError)"},
        "left_out": {"landmarks": {"estimated_seconds": 1500.0}},
        "unfinished": ["datum-wise"],
    }
    said = "\n".join(show_comparison(metrics))
    assert "panel failed on these data: singular matrix (LinAlgError)" in said
    assert "landmarks was skipped: it would take about 25 min (--methods all runs it)" in said
    assert "not finished: datum-wise" in said


def test_checks_that_failed_are_not_called_clean(run):
    from tamis.cli.show_answer import show_answer

    metrics = json.loads((run[0] / "a 'run'" / "metrics.json").read_text())
    metrics |= {"checks": [], "not_described": {"model_checks": "no memory (MemoryError)"}}
    said = "\n".join(show_answer(metrics))
    assert "nothing found" not in said and "not complete: some of them failed" in said
    metrics["not_described"] = {}
    assert "  checks              nothing found" in show_answer(metrics)
    metrics["model"]["recommended"] = False
    said = unwrapped("\n".join(show_answer(metrics)))
    assert "nothing found in the data; a model that you pick is not checked" in said


def test_single_swaps_name_both_features():
    from tamis.cli.show_features import show_features

    record = {
        "feature": "a",
        "kept": False,
        "frequency": 0.934,
        "adjusted_p": 0.001,
        "centers": {},
    }
    record |= {"frequency_with_substitutes": 1.0, "stands_out": "", "interchangeable": ""}
    panels = {"panels": 2, "are_more": False, "of": 2, "is_exhaustive": False, "in_all": []}
    panels["first"] = [["a", "c"], ["b", "d"]]
    lines = show_features([record, record | {"feature": "b"}], {"alternatives": panels})
    assert lines[0].split("  ") == ["feature", "reselected", "or a twin", "adjusted p"]
    assert lines[1].split() == ["a", "93", "%", "100", "%", "<=", "0.001"]
    assert lines[-1] == "2 single swaps do as well: b -> c, a -> d"
    assert any("not of what it adds" in line for line in lines)


# Lines.


def test_a_terminal_has_bold_lines_and_a_pipe_has_none(monkeypatch):
    lines = ["plain", Styled("important\x1b[31m", "bold")]
    terminal, pipe = io.StringIO(), io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for stream in (terminal, pipe):
        print_lines(lines, stream)
    assert terminal.getvalue() == "plain\n\x1b[1mimportant\\u001b[31m\x1b[0m\n"
    assert pipe.getvalue() == "plain\nimportant\\u001b[31m\n"
    monkeypatch.setenv("NO_COLOR", "1")
    plain = io.StringIO()
    plain.isatty = lambda: True
    print_lines(lines, plain)
    assert plain.getvalue() == pipe.getvalue()


@pytest.mark.parametrize("text", ["word " * 50, "x" * 300, "漢字 " * 80, "漢" * 200, "é" * 200])
def test_paragraphs_fit_and_lose_nothing(text):
    lines = paragraph(text, "  WARNING: ", "    ")
    assert max(map(span, lines)) <= 80
    assert "".join(lines).replace(" ", "") == f"WARNING:{text}".replace(" ", "")


def test_a_beginning_that_is_too_long_has_a_line_of_its_own():
    assert paragraph("one two", "p" * 90 + " ", "  ") == ["p" * 90, "  one two"]


def test_names_are_shortened_in_the_middle_by_their_width():
    assert shorten("abcdefghij", 7) == "abc…hij"
    assert span(shorten("血清クレアチニン濃度", 9)) <= 9
    assert span("e\u0301") == 1 and span("血") == 2
    assert entry("a label that is much too long", "text")[0] == "  a label t…too long  text"


def test_a_number_after_a_label_is_not_part_of_it():
    assert counted("benign", "357") == "benign 357"
    assert counted("cultivar 0", "59") == "cultivar 0: 59"


@pytest.fixture(scope="module")
def tried():
    """A comparison whose recommended size is not the smallest good one of its method."""
    X, y = make_numbers(60, 5, ["ill", "well"])
    found = compare(X, y, methods=["centers", "most-frequent"], cv=3, repeats=2, n_jobs=1)
    result = found.result("centers")
    place = found.candidates.good_level(result) + 1
    levels, sizes = result.levels, result.overall
    choice = Choice("centers", place, float(levels[place]), float(sizes[place]))
    return replace(found, recommended=choice)


def test_the_star_is_at_the_recommended_size_in_every_table(tried):
    size, score = f"{tried.recommended.n_features:.0f}", tried.result("centers").scores
    told = [size, f"{score[tried.recommended.place]:.3f}"]
    for choice in (tried.recommended, tried.find("centers", 1)):  # picked, or not
        metrics = summarise(tried, choice, [])
        (row,) = [line for line in show_comparison(metrics) if line.startswith("*")]
        assert row.split()[4:6] == told
        methods = _methods(metrics)
        (row,) = [row for row in methods["rows"] if row["is_recommended"]]
        assert [row["features"], f"{row['score']:.3f}"] == told
    assert f"<td>{size}</td><td>{told[1]} ±" in notebook_view(tried)


def test_a_constant_has_no_standard_error_where_its_score_never_changes(tried):
    metrics = summarise(tried, tried.recommended, [])
    (row,) = [line for line in show_comparison(metrics) if "most frequent" in line]
    assert "±" not in row and row.split()[-4:] == ["0", "0.500", "0", "0.500"]
    (row,) = [row for row in _methods(metrics)["rows"] if row["is_baseline"]]
    assert row["error"] is None
    metrics["settings"]["scoring"] = "accuracy"
    assert sum("±" in line for line in show_comparison(metrics)) == 3  # with the header
