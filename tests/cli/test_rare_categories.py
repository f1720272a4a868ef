"""Typing errors in categories, from the file to the answer."""

import json

import numpy as np
import pytest

from tests.cli.conftest import write_csv

FIT = [
    "--target",
    "state",
    "--methods",
    "centers",
    "--repeats",
    "1",
    "--folds",
    "2",
    "--no-report",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(0)
    sexes = rng.permutation(["male"] * 40 + ["female"] * 38 + ["M", "Male"]).tolist()
    chance = [0.1 if sex == "male" else 0.9 for sex in sexes]
    ill = ["ill" if draw < p else "well" for draw, p in zip(rng.random(80), chance, strict=True)]
    ages = rng.normal(50, 9, size=80).round(1).tolist()
    rows = [list(row) for row in zip(ages, sexes, ill, strict=True)]
    return write_csv(tmp_path_factory.mktemp("typos") / "data.csv", ["age", "sex", "state"], rows)


def features(tmp_path, *more):
    head, values = ["feature", "choices", *(name for name, _ in more)], [v for _, v in more]
    path = tmp_path / "features.csv"
    return write_csv(path, head, [["sex", "male|female", *values]])


def test_a_typing_error_is_told_and_predicted_as_missing(data, tamis, tmp_path):
    run = tmp_path / "run"
    tamis("fit", data, *FIT, "-o", run)
    metrics = json.loads((run / "metrics.json").read_text())
    assert "similar-categories" in [check["code"] for check in metrics["checks"]]
    notes = metrics["data"]["notes"]
    assert "categories with fewer than 5 rows are read as missing: sex ('M', 'Male')" in notes
    rows = [[50, "female"], [50, "M"], [50, "Male"], [50, ""], [50, "unheard of"]]
    new = write_csv(tmp_path / "new.csv", ["age", "sex"], rows)
    _, out, err = tamis("predict", run, new)
    shares = [line.split(",")[-1] for line in out.splitlines()[1:]]
    assert len(set(shares[1:])) == 1 and len(shares) == 5
    told = "read as missing: sex 'M' (1), 'Male' (1; training had 'male'), 'unheard of' (1)"
    assert told in err and "most frequent one of training: sex by male" in err


def test_declared_choices_are_enforced(data, refuses, tmp_path):
    words = ["--features", features(tmp_path), "-o", tmp_path / "run"]
    refuses("fit", data, *FIT, *words, match="'Male' (row")


def test_values_that_are_no_choice_can_be_missing(data, tamis, tmp_path):
    words = ["--features", features(tmp_path, ("unlisted", "missing")), "-o", tmp_path / "run"]
    tamis("fit", data, *FIT, *words)
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    told = "sex: 2 values not among its choices read as missing"
    assert any(note.startswith(told) for note in metrics["data"]["notes"])
    assert "similar-categories" not in [check["code"] for check in metrics["checks"]]
