"""Rare and new categories are the same in `predict` and in every export."""

import sqlite3
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from tamis import DatumWiseClassifier, PanelClassifier, TableClassifier
from tamis.models import export_onnx, export_spreadsheet, load_model, make_python, make_sql
from tamis.models import save_model as save
from tamis.report.questionnaire.conversation import Questionnaire
from tamis.report.questionnaire.form import make_form
from tests.models.formulas import Evaluator
from tests.report.forms import look, replay_all

# "M" and "Male" are missing, the rare sites are "other", and there is no other value of smoker.
SEX = ["male"] * 30 + ["female"] * 28 + ["M", "Male"]
SITE = ["A"] * 20 + ["B"] * 18 + ["C"] * 16 + ["D", "E", "F"] * 2
ANSWERS = {
    "sex": ["male", "female", "M", "Male", "never seen", None],
    "site": ["A", "B", "C", "D", "F", "never seen", None],
    "smoker": ["yes", "no", "perhaps", None],
}


@cache
def fitted(estimator):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    frame = pd.DataFrame({"age": 40 + 8 * y + 9 * rng.normal(size=60)})
    for name, words in (("sex", SEX), ("site", SITE)):
        frame[name] = rng.permutation(np.array(words, dtype=object))
    frame["smoker"] = np.where(rng.random(60) < 0.3 + 0.4 * y, "yes", "no").astype(object)
    estimators = {
        "panel": PanelClassifier(4, head="logistic", cv=3),
        "datum-wise": DatumWiseClassifier(cost_weight=1e-4, n_trees=5, n_sets=8, random_state=0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TableClassifier(estimators[estimator]).fit(frame, np.array(["ill", "well"])[y])
    return model.model_


def new_rows():
    rows = [
        {"age": age, "sex": sex, "site": site, "smoker": smoker}
        for age in (38.0, None)
        for sex in ANSWERS["sex"]
        for site in ANSWERS["site"]
        for smoker in ANSWERS["smoker"]
    ]
    return pd.DataFrame(rows, columns=["age", *ANSWERS]).astype({"age": float})


def plain(frame):
    return frame.astype(object).where(frame.notna(), None)


def shares_of(model, frame):
    return TableClassifier.from_model(model).predict_proba(frame)


def of_python(model, frame, tmp_path):
    names: dict = {}
    exec(make_python(model), names)
    rows = plain(frame).to_dict("records")
    return [list(names["predict_proba"](row).values()) for row in rows]


def of_sql(model, frame, tmp_path):
    connection = sqlite3.connect(":memory:")
    frame.to_sql("data", connection, index=False)
    return pd.read_sql_query(make_sql(model), connection)[["p_ill", "p_well"]]


def of_onnx(model, frame, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    export_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(
        tmp_path / "model.onnx", providers=["CPUExecutionProvider"]
    )
    words = frame[list(ANSWERS)].fillna("").to_dict("list")
    given = {name: np.array(values, dtype=object)[:, None] for name, values in words.items()}
    given["age"] = frame[["age"]].to_numpy()
    return session.run(None, {one.name: given[one.name] for one in session.get_inputs()})[1]


def of_spreadsheet(model, frame, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    export_spreadsheet(model, tmp_path / "model.xlsx", n_rows=len(frame))
    book = openpyxl.load_workbook(tmp_path / "model.xlsx")
    sheet = book["rows"]
    titles = [cell.value for cell in sheet[1]]
    for at, row in enumerate(plain(frame).to_dict("records"), start=2):
        for column, title in enumerate(titles[: titles.index("prediction")], start=1):
            sheet.cell(at, column).value = row[title]
    values, letter = Evaluator(book), openpyxl.utils.get_column_letter
    places = [letter(1 + titles.index(f"p_{label}")) for label in ("ill", "well")]
    found = [
        [values.cell("rows", f"{place}{at}") for place in places]
        for at in range(2, len(frame) + 2)
    ]
    # A line without any value has no prediction.
    empty = shares_of(model, pd.DataFrame(None, [0], frame.columns)).tolist()[0]
    return [empty if share == ["", ""] else share for share in found]


@pytest.mark.parametrize("of_export", [of_python, of_sql, of_onnx, of_spreadsheet])
def test_every_export_agrees_with_predict(of_export, tmp_path):
    model, frame = fitted("panel"), new_rows()
    found = np.array(of_export(model, frame, tmp_path), dtype=float)
    assert_allclose(found, shares_of(model, frame), rtol=0, atol=1e-9)


def test_a_saved_model_and_a_python_file_of_questions_agree(tmp_path):
    model, frame = fitted("datum-wise"), new_rows()
    save(model, tmp_path / "model.json")
    expected = shares_of(model, frame)
    assert_allclose(load_model(tmp_path / "model.json").predict_proba(frame), expected)
    assert_allclose(of_python(model, frame, tmp_path), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["panel", "datum-wise"])
def test_the_questionnaire_and_its_script_agree_with_predict(name, tmp_path):
    model = fitted(name)
    told = []
    for row in plain(new_rows().sample(60, random_state=0)).to_dict("records"):
        talk, actions, seen = Questionnaire(model), [], []
        seen.append(look(talk))
        while (question := talk.next_question()) is not None:
            answer = row[question.name]
            actions.append("skip" if answer is None else [answer])
            talk.skip() if answer is None else talk.answer(answer)
            seen.append(look(talk))
        known = {step.name: row[step.name] for step in talk.history}
        frame = pd.DataFrame([{**dict.fromkeys(row), **known}]).astype({"age": float})
        assert_allclose(seen[-1]["probabilities"], shares_of(model, frame)[0], atol=1e-12)
        told.append([actions, seen])
    (found,) = replay_all([[make_form(Questionnaire(model)), told]], tmp_path)
    assert found["wrong"] == [] and found["worst"] < 1e-9


def test_a_questionnaire_offers_other_and_no_rare_category():
    fields = {one.name: one.fields[0] for one in Questionnaire(fitted("panel")).questions}
    assert fields["sex"].choices == ["female", "male"]
    assert fields["site"].choices == ["A", "B", "C", "other"]
    assert fields["smoker"].choices == ["no", "yes"]
    assert "counts as unavailable" in fields["sex"].unusual("Male")
