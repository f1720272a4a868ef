"""Words of `tamis fit` that contradict each other or the data: one line, nothing written."""

import json

import numpy as np
import pytest

from tamis.cli import main
from tests.cli.conftest import write_csv

HEADER = ["age", "dose", "patient", "lab", "one", "note", "y"]


def make_table(path, header=HEADER, gaps=()):
    rng, rows = np.random.default_rng(0), []
    for i in range(40):
        c = i % 2
        row = [f"{rng.normal() + 2 * c:.3f}", f"{rng.normal():.3f}", f"p{i // 4}", "uvw"[i % 3]]
        rows.append([*row, "here", "good stuff" if c else "bad stuff", "ab"[c]])
    for row, name in gaps:
        rows[row][header.index(name)] = ""
    return write_csv(path, header, rows)


def fit(data, *words):
    words = ["--methods", "centers,most-frequent", "--repeats", "1", "--n-jobs", "1", *words]
    return main(["fit", str(data), "--target", "y", *words])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--batch", "y"], "--batch y is the target itself"),
        (["--groups", "y"], "--groups y is the target itself"),
        (["--batch", "one"], "only one site or batch"),
        (["--batch", "lab", "--groups", "one"], "leaves no rows for training"),
        (["--ngrams", "2"], "--ngrams needs --text"),
        (["--vectorizer", "tfidf"], "--vectorizer needs --text"),
        (["--drop", "age", "--include", "age"], "either dropped or used"),
        (["--drop", "note", "--text", "note"], "either dropped or used"),
        (["--folds", "1"], "expected an integer of at least 2"),
        (["--bogus"], "unrecognized arguments"),
    ],
)
def test_nonsense_is_one_line(words, told, tmp_path, capsys):
    data = make_table(tmp_path / "data.csv")
    assert fit(data, *words, "-o", str(tmp_path / "run")) == 2
    said = capsys.readouterr()
    errors = [line for line in said.err.splitlines() if "error" in line]
    assert len(errors) == 1 and told in errors[0]
    assert not said.out and "usage" not in said.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("option", "column"), [("--groups", "patient"), ("--batch", "lab")])
def test_a_row_without_a_group_is_refused(option, column, tmp_path, capsys):
    data = make_table(tmp_path / "data.csv", gaps=[(3, column), (5, column)])
    assert fit(data, option, column) == 2
    assert f"2 rows without a value in '{column}'" in capsys.readouterr().err


def test_an_option_given_twice_counts_twice(tmp_path, capsys):
    data = make_table(tmp_path / "data.csv")
    words = ["--drop", "age", "--drop", "patient,lab", "--drop", "one", "--drop", "note"]
    assert fit(data, *words, "--json") == 0
    assert json.loads(capsys.readouterr().out)["data"]["features"] == 1


def test_what_is_read_is_not_replaced(tmp_path, capsys):
    data = make_table(tmp_path / "data.csv")
    features = write_csv(tmp_path / "features.csv", ["feature", "unit"], [["age", "years"]])
    before = (tmp_path / "features.csv").read_bytes()
    assert fit(data, "--features", features, "-o", str(tmp_path)) == 2
    assert "would replace" in capsys.readouterr().err
    assert (tmp_path / "features.csv").read_bytes() == before


def test_descriptions_of_the_columns_of_a_group_are_in_the_model(tmp_path, capsys):
    data = make_table(tmp_path / "data.csv")
    described = [["age", "How old?", "years", "blood"], ["dose", "", "mg", "blood"]]
    header = ["feature", "question", "unit", "group"]
    features = write_csv(tmp_path / "described.csv", header, described)
    words = ["--drop", "patient,lab,one,note", "--features", features]
    assert fit(data, *words, "-o", str(tmp_path / "run")) == 0
    model = (tmp_path / "run" / "model.json").read_text()
    assert "How old?" in model and "years" in model and '"mg"' in model
    capsys.readouterr()


def test_force_leaves_no_model_of_the_work_it_throws_away(tmp_path, capsys):
    data, run = make_table(tmp_path / "data.csv"), tmp_path / "run"
    words = ["--drop", "note", "-o", str(run)]
    assert fit(data, *words) == 0
    assert fit(data, *words, "--seed", "9") == 2
    assert (run / "model.json").exists()
    before = (run / "metrics.json").read_bytes()
    assert fit(data, *words, "--seed", "9", "--force", "--max-seconds", "1e-9") == 0
    assert (run / "metrics.json").read_bytes() != before
    capsys.readouterr()


def test_a_group_with_the_name_of_another_feature_is_refused(tmp_path, capsys):
    data = make_table(tmp_path / "data.csv")
    features = write_csv(tmp_path / "described.csv", ["feature", "group"], [["age", "dose"]])
    assert fit(data, "--features", features) == 2
    assert "the name of another feature" in capsys.readouterr().err
    features = [["age", "dose"], ["dose", "dose"]]
    features = write_csv(tmp_path / "described.csv", ["feature", "group"], features)
    assert fit(data, "--features", features) == 0
