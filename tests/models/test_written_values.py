"""Values as people write them in files are the same in `predict` and in every export."""

import re
from copy import deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from tamis import PanelClassifier, TableClassifier
from tamis._base import Record
from tamis.cli.ask_command import _wording
from tamis.models import export_spreadsheet
from tamis.report.card.answers import make_levels
from tamis.report.page.family import _fills, _weights
from tamis.report.questionnaire.conversation import Questionnaire
from tamis.report.questionnaire.fields import Field, fields_of
from tamis.report.questionnaire.form import make_form
from tamis.tables import read_rows
from tamis.tables.classifying.unusual import Unusual
from tamis.tables.columns.table import Columns
from tamis.tables.preparing.table_record import read_preparation, write_preparation
from tests.models.test_detection_limits import (
    of_duckdb,
    of_python,
    of_spreadsheet,
    of_sqlite,
    shares_of,
)
from tests.report.forms import look, replay_all

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
    missing = fitted().preparation.missing
    assert missing.percents == ("SpO2 %",) == missing.restrict(["SpO2 %", "age"]).percents
    older = replace(missing)
    del older.__dict__["percents"]  # as skops files of earlier versions have it
    assert older.restrict(["age"]).percents == ()


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
    assert read_preparation(Record(deepcopy(record), "")).missing.percents == ("SpO2 %",)
    del record["missing"]["percents"]
    assert read_preparation(Record(record, "")).missing.percents == ()


def percent_field(**more):
    return Field("SpO2 %", "number", [0], [0.95], low=0.864, high=1.0, is_percent=True, **more)


def test_answers_to_a_percent_question_are_percents():
    one = percent_field()
    assert [one.read(text) for text in ("92.4%", "92.4 %", " 92.4", "0.5%", "0")] == pytest.approx(
        [0.924, 0.924, 0.924, 0.005, 0]
    )
    assert one.read(0.924) == 0.924  # of a program
    assert one.range == "86.4 to 100 %"
    assert one.unusual("80") == "80 % is below all training values (86.4 to 100 %)"
    assert one.encode("<90") == [pytest.approx(np.nan, nan_ok=True)]
    assert percent_field(below_detection="limit").encode("< 90") == [0.9]


@pytest.mark.parametrize("text", ["0.92", "1", "-0.5", "<0.9"])
def test_an_answer_that_may_be_a_share_or_a_percent_is_refused(text):
    with pytest.raises(ValueError, match="percent sign"):
        percent_field().read(text)


def test_limits_of_the_features_file_are_percents_or_shares():
    for described in ({"min": 50, "max": 100}, {"min": 0.5, "max": 1}):
        model = replace(fitted(), descriptions={"SpO2 %": described})
        one = fields_of(model, range(3))[0]
        assert (one.is_percent, one.unit, one.least, one.most) == (True, "%", 0.5, 1)
        with pytest.raises(ValueError, match="expected at least 50 %, got 40 %"):
            one.read("40")


def test_ranges_of_percents_are_told_in_percent():
    unusual = Unusual(fitted().preparation)
    words = {"sex": np.array(["male"], dtype=object)}
    unusual.add(Columns(np.array([[0.3, 50.0]]), np.array(["SpO2 %", "age"], dtype=object), words))
    assert re.search(r"SpO2 % \(1; [89][.\d]+ to 9[.\d]+ %\)", unusual.messages()[1])


def test_the_report_says_which_numbers_are_percents():
    fills, weights = dict(_fills(fitted())), _weights(fitted(), ["no", "yes"])
    assert re.fullmatch(r"9[.\d]+ %", fills["SpO2 %"]) and 40 < fills["age"] < 70
    assert weights["rows"][0][0] == "SpO2 % (a proportion: 93 % is 0.93)"


def test_the_terminal_says_that_answers_are_in_percent():
    (one, *_) = fields_of(fitted(), range(3))
    assert re.fullmatch(r"SpO2 % \(in %; [89][.\d]+ to [.\d]+ % in training\)", _wording(one))


def test_cards_show_percents():
    values = np.linspace(0.85, 1, 151)[:, None]
    levels = make_levels(percent_field(unit="%"), values)
    assert levels.texts[0].startswith("below 8") and levels.texts[0].endswith(" %")
    assert max(levels.cuts) < 1
    assert levels.merged(np.array([3, 2, 1, 0]))[-1] == (f"{100 * levels.cuts[-1]:g} % or more", 0)


def test_the_script_reads_percents_as_python_does(tmp_path):
    model, told = fitted(), []
    for answers in ["92.4%", "93", "<90", "96.5 %"]:
        talk, actions = Questionnaire(model), []
        seen = [look(talk)]
        while (question := talk.next_question()) is not None:
            answer = {"SpO2 %": answers, "age": "55", "sex": "male"}[question.name]
            actions.append([answer])
            talk.answer(answer)
            seen.append(look(talk))
        told.append([actions, seen])
    (found,) = replay_all([[make_form(Questionnaire(model)), told]], tmp_path)
    assert found["wrong"] == [] and found["worst"] < 1e-9


UNSIGNED = ["93.4", " 91 ", "93.4%", "0.934", "1", "", "NA", "<90", "<90%", "> 99", "101", "150%"]


@pytest.mark.parametrize("of_export", EXPORTS)
@pytest.mark.parametrize("rule", ["half", "limit"])
def test_percents_without_a_sign_are_percents(of_export, rule, tmp_path):
    frame = rows(**{"SpO2 %": UNSIGNED})
    shares = shares_of(fitted(rule), frame)[:, 1]
    assert shares[0] == shares[2] == shares[3] and shares[7] == shares[8]
    agrees(of_export, frame, tmp_path, rule)


@pytest.mark.parametrize("of_export", [*EXPORTS, of_spreadsheet])
def test_percents_of_numeric_columns_are_percents(of_export, tmp_path):
    frame = rows(**{"SpO2 %": [93.4, 0.934, 1.0, 100.0, 88.25]}).assign(age=50.0)
    shares = shares_of(fitted(), frame)[:, 1]
    assert shares[0] == shares[1] and shares[2] == shares[3]
    agrees(of_export, frame, tmp_path)


def test_codes_of_missing_values_are_no_percents(tmp_path):
    model = fitted()
    missing = replace(model.preparation.missing, words=["99"])
    model = replace(model, preparation=replace(model.preparation, missing=missing))
    frame = rows(**{"SpO2 %": [99.0, np.nan]}).assign(age=50.0)
    for of_export in EXPORTS:
        shares = np.array(of_export(model, frame, tmp_path), dtype=float)
        assert shares[0, 1] == pytest.approx(shares[1, 1])
    table = TableClassifier.from_model(model)._read(frame)
    assert np.isnan(table.numeric[:, 0]).all()


def test_numbers_above_1_are_as_written_where_training_had_more_than_100_percent(tmp_path):
    y = np.arange(60) % 2
    change = 100 + 80 * y + 20 * np.random.default_rng(0).normal(size=60)
    frame = pd.DataFrame({"x": [f"{value:.0f}%" for value in change]})
    model = TableClassifier(PanelClassifier(1, head="logistic", cv=3)).fit(frame, y).model_
    assert model.preparation.shares == []
    new = pd.DataFrame({"x": ["1.5", "150%", "90"]})
    shares = shares_of(model, new)
    assert shares[0, 1] == shares[1, 1] < shares[2, 1]
    assert_allclose(np.array(of_python(model, new, tmp_path)), shares, atol=1e-9)


@pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
def test_percents_without_a_sign_in_files_are_counted(name, tmp_path):
    made, notes = fitted().preparation, []
    frame = rows(**{"SpO2 %": ["93.4", "95%", "0.95", "94"]})
    write = frame.to_parquet if name.endswith("parquet") else frame.to_csv
    write(tmp_path / name, index=False)
    reading = {"missing": made.missing, "notes": notes, "shares": made.shares}
    ((table, _),) = read_rows(tmp_path / name, made.required, made.kinds, **reading)
    assert table.select(["SpO2 %"]).numeric.ravel().tolist() == [0.934, 0.95, 0.95, 0.94]
    assert table.numeric_names.tolist() == made.numbers
    (told,) = notes
    assert told.startswith("numbers above 1 without a percent sign") and "SpO2 % (2)" in told
    unusual = Unusual(made)
    unusual.add(table)
    assert unusual.messages() == []
