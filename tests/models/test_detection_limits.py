"""Values beyond a detection limit are the same in `predict` and in every export."""

import sqlite3
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from tamis import PanelClassifier, TableClassifier
from tamis.models import export_spreadsheet, make_python, make_sql
from tamis.report.questionnaire.conversation import Questionnaire
from tamis.report.questionnaire.form import make_form
from tests.models.formulas import Evaluator
from tests.report.forms import look, replay_all

RULES = ("half", "limit", "missing")
NEW = ["<0.5", "< 2", ">9", "<=1", "0.7", "3", None, "<-1", ">=4.5"]


@cache
def fitted(rule):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    crp = np.exp(0.8 * y + rng.normal(size=60)).round(2)
    words = np.where(crp < 0.5, "<0.5", crp.astype(str)).astype(object)
    frame = pd.DataFrame({"crp": words, "age": 50 + 5 * y + rng.normal(size=60)})
    model = TableClassifier(PanelClassifier(2, head="logistic", cv=3)).fit(frame, y).model_
    assert model.preparation.missing.limited == ["crp"]
    missing = replace(model.preparation.missing, below_detection=rule)
    return replace(model, preparation=replace(model.preparation, missing=missing))


def new_rows():
    return pd.DataFrame({"crp": np.array(NEW, dtype=object), "age": 52.0})


def records(frame):
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def shares_of(model, frame):
    return TableClassifier.from_model(model).predict_proba(frame)


@pytest.mark.parametrize("rule", RULES)
def test_predict_reads_limits_by_the_rule(rule):
    numbers = {
        "half": [0.25, 1, 9, 0.5, 0.7, 3, np.nan, -1, 4.5],
        "limit": [0.5, 2, 9, 1, 0.7, 3, np.nan, -1, 4.5],
        "missing": [np.nan, np.nan, np.nan, np.nan, 0.7, 3, np.nan, np.nan, np.nan],
    }
    read = new_rows().assign(crp=numbers[rule])
    model = fitted(rule)
    assert_allclose(shares_of(model, new_rows()), shares_of(model, read), rtol=1e-14)


def of_python(model, frame, tmp_path):
    names: dict = {}
    exec(make_python(model), names)
    return [list(names["predict_proba"](row).values()) for row in records(frame)]


def of_sqlite(model, frame, tmp_path):
    connection = sqlite3.connect(":memory:")
    frame.to_sql("data", connection, index=False)
    return pd.read_sql_query(make_sql(model), connection)[["p_0", "p_1"]]


def of_duckdb(model, frame, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("data", frame)
    return connection.execute(make_sql(model)).df()[["p_0", "p_1"]]


def as_typed(value):
    """What a spreadsheet makes of a value: a number where it looks like one."""
    is_number = isinstance(value, str) and value[0].isdigit()
    return float(value) if is_number else value


def of_spreadsheet(model, frame, tmp_path, read=as_typed):
    openpyxl = pytest.importorskip("openpyxl")
    export_spreadsheet(model, tmp_path / "model.xlsx", n_rows=len(frame))
    book = openpyxl.load_workbook(tmp_path / "model.xlsx")
    titles = [cell.value for cell in book["rows"][1]]
    for at, row in enumerate(records(frame), start=2):
        for name, value in row.items():
            book["rows"].cell(at, 1 + titles.index(name)).value = read(value)
    values, letter = Evaluator(book), openpyxl.utils.get_column_letter
    places = [letter(1 + titles.index(f"p_{label}")) for label in (0, 1)]
    rows = range(2, len(frame) + 2)
    return [[values.cell("rows", f"{place}{at}") for place in places] for at in rows]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("of_export", [of_python, of_sqlite, of_duckdb, of_spreadsheet])
def test_every_export_agrees_with_predict(of_export, rule, tmp_path):
    model, frame = fitted(rule), new_rows()
    found = np.array(of_export(model, frame, tmp_path), dtype=float)
    assert_allclose(found, shares_of(model, frame), rtol=0, atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_the_questionnaire_and_its_script_agree_with_predict(rule, tmp_path):
    model, told = fitted(rule), []
    for row in records(new_rows()):
        talk, actions = Questionnaire(model), []
        seen = [look(talk)]
        while (question := talk.next_question()) is not None:
            answer = row[question.name]
            actions.append("skip" if answer is None else [answer])
            talk.skip() if answer is None else talk.answer(answer)
            seen.append(look(talk))
        known = {step.name: row[step.name] for step in talk.history}
        frame = pd.DataFrame([{**dict.fromkeys(row), **known}]).astype({"age": float})
        assert_allclose(talk.probabilities(), shares_of(model, frame)[0], atol=1e-12)
        told.append([actions, seen])
    (found,) = replay_all([[make_form(Questionnaire(model)), told]], tmp_path)
    assert found["wrong"] == [] and found["worst"] < 1e-9
