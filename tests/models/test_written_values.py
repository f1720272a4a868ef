"""Values as people write them in files are the same in `predict` and in every export."""

from copy import deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from tamis import PanelClassifier, TableClassifier
from tamis._base import Record
from tamis.models import export_spreadsheet
from tamis.tables.table_record import read_preparation, write_preparation
from tests.models.test_detection_limits import of_duckdb, of_python, of_sqlite, shares_of

EXPORTS = [of_python, of_sqlite, of_duckdb]


@cache
def fitted(rule="half"):
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    saturation = 97 - 3 * y + rng.normal(size=80)
    frame = pd.DataFrame(
        {
            "SpO2 %": [f"{value:.1f}%" for value in saturation],
            "age": (50 + 10 * y + 8 * rng.normal(size=80)).round(1).astype(str),
            "sex": np.where(rng.random(80) < 0.5 + 0.3 * y, "male", "female"),
        }
    )
    model = TableClassifier(PanelClassifier(3, head="logistic", cv=3)).fit(frame, y).model_
    missing = replace(model.preparation.missing, below_detection=rule)
    return replace(model, preparation=replace(model.preparation, missing=missing))


def rows(**columns):
    """Rows of text, in which only some columns vary."""
    n = len(next(iter(columns.values())))
    usual = {"SpO2 %": "95%", "age": "50", "sex": "female"}
    return pd.DataFrame({**{name: [word] * n for name, word in usual.items()}, **columns})


def agrees(of_export, frame, tmp_path, rule="half"):
    model = fitted(rule)
    found = np.array(of_export(model, frame, tmp_path), dtype=float)
    assert_allclose(found, shares_of(model, frame), rtol=0, atol=1e-9)


def test_columns_with_percent_signs_are_known():
    assert fitted().preparation.missing.percents == ["SpO2 %"]


@pytest.mark.parametrize("of_export", EXPORTS)
def test_percents_are_shares(of_export, tmp_path):
    words = ["93.4%", "93.4 %", " 91% ", "0.934", "", "NA", "<90%", "> 99 %"]
    frame = rows(**{"SpO2 %": words})
    shares = shares_of(fitted(), frame)[:, 1]
    assert shares[0] == shares[1] == shares[3] != shares[4]
    agrees(of_export, frame, tmp_path)


@pytest.mark.parametrize("of_export", EXPORTS)
def test_spaces_around_categories_are_no_part_of_them(of_export, tmp_path):
    frame = rows(sex=["male", " male ", "male  ", " female", " NA ", "none", ""])
    shares = shares_of(fitted(), frame)[:, 1]
    assert shares[0] == shares[1] != shares[3]
    agrees(of_export, frame, tmp_path)


@pytest.mark.parametrize("rule", ["half", "limit", "missing"])
@pytest.mark.parametrize("of_export", EXPORTS)
def test_limits_of_a_column_that_had_none_in_training(of_export, rule, tmp_path):
    words = [">80", "<18", "<= 18", "≤18", "≥ 75", "60", "<-1", "<60%"]
    agrees(of_export, rows(age=words), tmp_path, rule)


@pytest.mark.parametrize("of_export", EXPORTS)
def test_words_that_are_not_numbers_are_missing(of_export, tmp_path):
    words = ["80 years", "0,5", "<0,1", "1 000", "10-20", "1.2.3", "e5", "1e", "--5", ".", "a0"]
    agrees(of_export, rows(age=[*words, "1e1", "-5", "+6.0", ".5", "nan", "1_0"]), tmp_path)


def test_the_python_file_reads_separators_between_thousands(tmp_path):
    agrees(of_python, rows(age=["1,234.5", "1'000", "12,34", "1\u202f000"]), tmp_path)


def test_cells_of_percents_take_percents(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    export_spreadsheet(fitted(), tmp_path / "model.xlsx", n_rows=2)
    sheet = openpyxl.load_workbook(tmp_path / "model.xlsx")["rows"]
    formats = {cell.value: sheet.cell(2, cell.column).number_format for cell in sheet[1]}
    assert formats["SpO2 %"] == "0.0%" and formats["age"] == "General"


def test_boolean_columns_of_a_database_are_numbers(tmp_path):
    y = np.arange(60) % 2
    known = (y == 1) ^ (np.arange(60) % 5 == 0)
    frame = pd.DataFrame({"known": known, "other": np.random.default_rng(0).normal(size=60)})
    model = TableClassifier(PanelClassifier(2, head="logistic", cv=3)).fit(frame, y).model_
    found = np.array(of_duckdb(model, frame, tmp_path), dtype=float)
    assert_allclose(found, shares_of(model, frame), rtol=0, atol=1e-9)


def test_preparations_of_earlier_versions_have_no_percents():
    record = write_preparation(fitted().preparation)
    assert read_preparation(Record(deepcopy(record), "")).missing.percents == ["SpO2 %"]
    del record["missing"]["percents"]
    assert read_preparation(Record(record, "")).missing.percents == []
