"""Costs of errors decide in every format as in the model itself."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tamis.models import (
    export_onnx,
    export_spreadsheet,
    load_model,
    make_python,
    make_sql,
    save_model,
)
from tamis.tables.classifying.table_model import Recalibration
from tamis.tables.errors import InputError
from tests.models.formulas import Evaluator
from tests.models.new_tables import as_dicts, linear_table, new_table
from tests.models.test_exports import query, run_python

COSTS = np.array([[0.0, 1.0], [6.0, 0.0]])


def costly(recalibrated=False, costs=COSTS):
    model = linear_table("logistic", recalibrated=recalibrated)
    return replace(model, misclassification=costs, frequencies=np.array([0.9, 0.1]))


def slow_labels(model, rows, priors=(0.9, 0.1)):
    """The cheapest decision of each row, one class at a time."""
    labels = []
    for shares in model.predict_proba(rows):
        based = [p * new / old for p, new, old in zip(shares, priors, model.priors, strict=True)]
        based = [b / sum(based) for b in based]
        costs = [sum(b * COSTS[t, d] for t, b in enumerate(based)) for d in range(2)]
        labels.append(model.classes_[costs.index(min(costs))])
    return labels


def test_decisions_are_those_of_the_smallest_expected_cost():
    model, rows = costly(), new_table(400, with_text=False)
    assert model.predict(rows).tolist() == slow_labels(model, rows)
    plain = replace(model, misclassification=None, frequencies=None)
    assert model.predict(rows).tolist() != plain.predict(rows).tolist()
    # Stated priors take the place of the frequencies of the data.
    priors = np.array([0.5, 0.5])
    assert model.predict(rows, priors).tolist() == slow_labels(model, rows, priors)
    assert model.predict(rows, priors).tolist() != model.predict(rows).tolist()


@pytest.mark.parametrize("end", ["json", "skops"])
def test_costs_are_saved(end, tmp_path):
    if end == "skops":
        pytest.importorskip("skops")
    model, rows = costly(recalibrated=True), new_table(200, with_text=False)
    save_model(model, tmp_path / f"model.{end}", format=end)
    again = load_model(tmp_path / f"model.{end}").model_
    np.testing.assert_array_equal(again.misclassification, COSTS)
    assert again.predict(rows).tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize("recalibrated", [False, True])
def test_exports_decide_by_cost(recalibrated, tmp_path):
    model, rows = costly(recalibrated), new_table(300, with_text=False)
    wanted = model.predict(rows).tolist()
    assert len(set(wanted)) == 2
    assert query(make_sql(model), pd.DataFrame(as_dicts(rows)))["prediction"].tolist() == wanted
    names = run_python(make_python(model))
    assert [names["predict"](row) for row in as_dicts(rows)] == wanted


def test_a_spreadsheet_decides_by_cost(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    model, rows = costly(recalibrated=True), new_table(100, with_text=False)
    export_spreadsheet(model, tmp_path / "model.xlsx", n_rows=100)
    book = openpyxl.load_workbook(tmp_path / "model.xlsx")
    sheet = book["rows"]
    titles = [cell.value for cell in sheet[1]]
    place = titles.index("prediction")
    for at, row in enumerate(as_dicts(rows), start=2):
        for column, title in enumerate(titles[:place], start=1):
            sheet.cell(at, column).value = row[title]
    values, letter = Evaluator(book), openpyxl.utils.get_column_letter
    found = [values.cell("rows", f"{letter(place + 1)}{at}") for at in range(2, 102)]
    wanted = model.predict(rows).tolist()
    assert all(one in ("", label) for one, label in zip(found, wanted, strict=True))
    assert {*found} - {""} == {"no", "yes"}


def test_a_graph_decides_by_cost(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    model, rows = costly(recalibrated=True), new_table(200, with_text=False)
    export_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(
        tmp_path / "model.onnx", providers=["CPUExecutionProvider"]
    )
    given = dict(zip(rows.numeric_names, rows.numeric.T[:, :, None], strict=True))
    given["color"] = np.array([[value or ""] for value in rows.others["color"]], dtype=object)
    labels = session.run(None, {i.name: given[i.name] for i in session.get_inputs()})[0]
    assert labels.tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize(
    "change",
    [
        {"misclassification": -COSTS},
        {"misclassification": np.ones((3, 3))},
        {"frequencies": np.ones(3)},
        {"priors": np.array([1.0, 0.0])},
        {"threshold": 0.3},
    ],
)
def test_impossible_costs_are_refused(change, tmp_path):
    with pytest.raises(InputError, match="must be"):
        save_model(replace(costly(), **change), tmp_path / "model.json")


def test_a_recalibrated_model_uses_the_frequencies_of_its_site():
    from tamis.models.recalibration import recalibrate

    model, rows = costly(), new_table(300, with_text=False)
    codes = (np.arange(300) % 3 == 0).astype(int)
    new = recalibrate(model, model.predict_proba(rows), codes, {})
    np.testing.assert_allclose(new.frequencies, [200.5 / 301, 100.5 / 301])
    np.testing.assert_allclose(new.decision_costs, COSTS)
    assert isinstance(new.recalibration, Recalibration)
