"""Decimal commas are read alike in `predict` and in every export."""

import csv
import io
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from tamis import PanelClassifier, TableClassifier
from tamis._base import Record
from tamis.models import make_python
from tamis.report.questionnaire.conversation import Questionnaire
from tamis.report.questionnaire.fields import Field, fields_of
from tamis.report.questionnaire.form import make_form
from tamis.tables import read_rows, read_table
from tamis.tables.preparing.table_record import read_preparation, write_preparation
from tests.models.test_detection_limits import (
    of_duckdb,
    of_python,
    of_spreadsheet,
    of_sqlite,
    shares_of,
)
from tests.report.forms import look, replay_all


def comma(values):
    return [f"{value:.1f}".replace(".", ",") for value in values]


@cache
def training(n=80):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    crp = comma(30 + 20 * y + 10 * rng.normal(size=n))
    crp[:6] = ["<5"] * 6
    return pd.DataFrame(
        {
            "crp": crp,
            "temp": comma(37 + y + rng.normal(size=n)),
            "SpO2 %": [f"{word}%" for word in comma(97 - 3 * y + rng.normal(size=n))],
        }
    ), y


@cache
def fitted():
    frame, y = training()
    return TableClassifier(PanelClassifier(3, head="logistic", cv=3)).fit(frame, y).model_


def new_rows():
    return pd.DataFrame(
        {
            "crp": ["300,0", "12,5", "<5", "<2,5", "1.234,5", "12", None, "x"],
            "temp": ["38,5", "37", "36,6", "37,0", "40,1", None, "39,9", "38,2"],
            "SpO2 %": ["93,4%", "95,1 %", "91%", "99,9%", "90,0%", "93,4%", "92,0%", None],
        }
    )


def test_frames_with_decimal_commas_are_numbers_as_in_files(tmp_path):
    frame, y = training()
    model = fitted()
    assert model.preparation.numbers == ["crp", "temp", "SpO2 %"]
    assert model.preparation.missing.decimal == ","
    for delimiter in ";", ",":  # between commas, decimal commas are quoted
        frame.assign(y=y).to_csv(tmp_path / "t.csv", sep=delimiter, index=False)
        table = read_table(tmp_path / "t.csv", "y")
        assert sorted(table.columns.names) == sorted(frame.columns)
        assert (table.missing.decimal, table.missing.percents) == (",", ("SpO2 %",))


def test_thousands_between_commas_are_no_decimal_commas(tmp_path):
    frame = pd.DataFrame({"x": ["1,234", "2,345", "700"] * 4, "y": ["a", "b"] * 6})
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv", "y")
    assert table.columns.numeric.max() == 2345 and table.missing.decimal == "."
    assert fit_numbers(frame[["x"]], frame["y"]).ranges.tolist() == [[700, 2345]]


def fit_numbers(frame, y):
    classifier = TableClassifier(PanelClassifier(1, head="logistic", cv=2)).fit(frame, y)
    return classifier.model_.preparation


def test_a_single_new_row_is_read_with_the_mark_of_training(tmp_path):
    missing = fitted().preparation.missing
    frame = pd.DataFrame({"crp": ["1,234"], "temp": ["37"], "SpO2 %": ["93%"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    ((table, _),) = read_rows(tmp_path / "t.csv", list(frame), missing=missing)
    assert table.numeric.tolist() == [[1.234, 37, 0.93]]
    same = TableClassifier.from_model(fitted())._read(frame)
    assert same.numeric.tolist() == [[1.234, 37, 0.93]]


@pytest.mark.parametrize("of_export", [of_python, of_sqlite, of_duckdb])
def test_exports_agree_with_predict(of_export, tmp_path):
    model, frame = fitted(), new_rows()
    found = np.array(of_export(model, frame, tmp_path), dtype=float)
    assert_allclose(found, shares_of(model, frame), rtol=0, atol=1e-9)


@pytest.mark.parametrize("of_export", [of_python, of_sqlite, of_duckdb])
def test_columns_of_numbers_need_no_commas(of_export, tmp_path):
    frame = pd.DataFrame({"crp": [1 / 3, 12.5], "temp": [36.6, 39.25], "SpO2 %": [0.934, 0.9]})
    found = np.array(of_export(fitted(), frame, tmp_path), dtype=float)
    assert_allclose(found, shares_of(fitted(), frame), rtol=0, atol=1e-12)


def test_text_in_a_spreadsheet_has_decimal_commas(tmp_path):
    frame = new_rows().drop(index=7)
    found = of_spreadsheet(fitted(), frame, tmp_path, read=lambda word: word)
    assert_allclose(np.array(found, dtype=float), shares_of(fitted(), frame), rtol=0, atol=1e-9)


def run_program(model, text, tmp_path):
    (tmp_path / "model.py").write_text(make_python(model), encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-I", "-S", tmp_path / "model.py"],
        input=text,
        capture_output=True,
        encoding="utf-8",
        env={"PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"},
    )


@pytest.mark.parametrize("decimal", [",", "."])
@pytest.mark.parametrize("delimiter", [";", "\t", ","])
def test_the_program_finds_the_delimiter_and_the_decimal_mark(delimiter, decimal, tmp_path):
    frame = new_rows().drop(index=4).fillna("")
    frame = frame.apply(lambda column: column.str.replace(",", decimal))
    text = "\ufeff" + frame.to_csv(sep=delimiter, index=False)
    done = run_program(fitted(), text, tmp_path)
    assert done.returncode == 0, done.stderr
    found = [[float(r["p_0"]), float(r["p_1"])] for r in csv.DictReader(io.StringIO(done.stdout))]
    expected = shares_of(fitted(), new_rows().drop(index=4))
    assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_the_program_names_the_columns_that_a_file_lacks(tmp_path):
    done = run_program(fitted(), "temp;other\n37,5;1\n", tmp_path)
    assert done.returncode == 1
    assert done.stderr == "the table lacks 2 of the 3 columns needed: crp, SpO2 %\n"
    names: dict = {}
    exec(make_python(fitted()), names)
    with pytest.raises(ValueError, match="the row lacks crp, SpO2 %"):
        names["predict"]({"temp": 37.5})


def test_preparations_of_earlier_versions_have_decimal_points():
    record = write_preparation(fitted().preparation)
    assert read_preparation(Record(deepcopy(record), "")).missing.decimal == ","
    del record["missing"]["decimal"]
    assert read_preparation(Record(record, "")).missing.decimal == "."
    older = replace(fitted().preparation.missing)
    del older.__dict__["decimal"]  # as skops files of earlier versions have it
    assert older.restrict(["crp"]).decimal == "."


def test_answers_may_have_a_comma_where_training_had_commas():
    crp, temp, saturation = fields_of(fitted(), range(3))
    assert [crp.read(text) for text in ("12,5", "12.5", "1,234")] == [12.5, 12.5, 1.234]
    assert crp.encode("<2,5") == [1.25] and temp.read(" 36,6 ") == 36.6
    assert saturation.read("93,4 %") == saturation.read("93,4") == 0.934
    for text in "1.234,5", "1,2,3", "12,":
        with pytest.raises(ValueError, match="expected a number"):
            crp.read(text)


def test_otherwise_an_answer_with_a_comma_is_told_how_to_write_it():
    one = Field("age", "number", [0], [50.0])
    with pytest.raises(ValueError, match=r"age: .*'12,5'; write 12\.5, with a point\."):
        one.read("12,5")
    with pytest.raises(ValueError, match=r"got '1,234'\.$"):  # 1.234, or 1234
        one.read("1,234")


def test_the_script_reads_commas_as_python_does(tmp_path):
    model, told = fitted(), []
    for answers in [("12,5", "36,6", "93,4%"), ("<2,5", "38.5", "93,4"), ("80", "37,25", "95 %")]:
        talk, actions = Questionnaire(model), []
        given = dict(zip(["crp", "temp", "SpO2 %"], answers, strict=True))
        seen = [look(talk)]
        while (question := talk.next_question()) is not None:
            actions.append([given[question.name]])
            talk.answer(given[question.name])
            seen.append(look(talk))
        told.append([actions, seen])
    (found,) = replay_all([[make_form(Questionnaire(model)), told]], tmp_path)
    assert found["wrong"] == [] and found["worst"] < 1e-9
