import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis.models import export_onnx, save_model
from tamis.models.saving import read_model
from tamis.tables import InputError
from tamis.tables.classifying.table_model import Recalibration
from tests.models.families import assert_same
from tests.models.fuzzing import campaign, raw_file
from tests.tables.tables import ESTIMATORS, table, table_classifier

pytestmark = pytest.mark.filterwarnings("ignore::tamis.models.PrivacyWarning")


@pytest.mark.parametrize("end", ["json", "json.gz", "skops"])
@pytest.mark.parametrize("vectorizer", ["counts", "tfidf", "hashing"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_classifier_of_tables_comes_back_as_it_was(name, vectorizer, end, tmp_path):
    rows, _ = table()
    model = table_classifier(name, vectorizer=vectorizer)
    save_model(model, tmp_path / f"model.{end}")
    again = read_model(tmp_path / f"model.{end}")
    assert_same(model, again)
    assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert_array_equal(again.predict(rows), model.predict(rows))


def test_the_file_says_which_columns_it_needs(tmp_path):
    save_model(table_classifier("centers"), tmp_path / "model.json")
    found = json.loads((tmp_path / "model.json").read_text())
    assert found["model"] == "TableModel"
    assert found["target"] == "sick"
    assert found["required_columns"] == ["age", "weight", "a b", "color", "review"]
    assert found["classes"] == ["no", "yes"]
    assert "age" in found["selected_features"]


CHANGES = {
    "its preparation.fill must be numbers of shape": {"fill": np.zeros(2)},
    "its preparation.columns[0].name must be a new string": {"numbers": [1, 2, 3]},
    "its preparation.columns[1].name must be a new string": {"numbers": ["a", "a", "b"]},
    "its preparation.is_sparse must be true with texts": {"is_sparse": False},
    "its preparation.categories must be an object": {"categories": ["red"]},
    "its preparation must be of 18 columns, as its estimator": {
        "numbers": [],
        "fill": np.zeros(15),
    },
}


@pytest.mark.parametrize("message", CHANGES)
def test_a_preparation_that_does_not_fit_is_refused(message, tmp_path):
    model = table_classifier("centers")
    wrong = replace(model, preparation=replace(model.preparation, **CHANGES[message]))
    with pytest.raises(InputError) as caught:
        save_model(wrong, tmp_path / "model.json")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": 0.0},
        {"threshold": 1.5},
        {"positive": "perhaps"},
        {"priors": np.ones(3)},
        {"descriptions": {"age": 3}},
        {"scores": {"f": print}},
        {"target": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_goes_with_it_is_checked(change, tmp_path):
    with pytest.raises(InputError, match=f"its .*{next(iter(change))}|cannot be written"):
        save_model(replace(table_classifier("centers"), **change), tmp_path / "model.json")


@pytest.mark.slow
def test_damaged_files_are_refused_or_can_be_used():
    rows, _ = table()
    names = [("centers", "tfidf"), ("primal-dual", "hashing"), ("datum-wise", "counts")]
    files = {name: raw_file(table_classifier(name, vectorizer=kind)) for name, kind in names}
    outcomes, failures = campaign(
        files, 450, 1, use=lambda model: model.predict(rows.take([0, 1]))
    )
    assert not failures
    assert all(counts["refused"] > 30 for counts in outcomes.values())


@pytest.mark.parametrize("threshold", [None, 0.4])
@pytest.mark.parametrize("name", ["centers", "primal-dual", "landmarks"])
def test_a_graph_agrees_with_its_model(name, threshold, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    rows, _ = table(with_text=False)
    site = Recalibration(0.7, np.array([0.4, -0.1])) if name == "centers" else None
    model = table_classifier(name, with_text=False)
    model = replace(model, threshold=threshold, recalibration=site)
    export_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(
        tmp_path / "model.onnx", providers=["CPUExecutionProvider"]
    )
    numbers = dict(zip(rows.numeric_names, rows.numeric.T[:, :, None], strict=True))
    text = [[""] if value is None else [value] for value in rows.others["color"]]
    text[5] = ["never seen"]
    given = {**numbers, "color": np.array(text, dtype=object)}
    asked = [item.name for item in session.get_inputs()]
    labels, shares = session.run(None, {key: given[key] for key in asked})
    others = rows.others["color"].copy()
    others[5] = "never seen"
    new = replace(rows, others={"color": others})
    assert_allclose(shares, model.predict_proba(new), atol=1e-9)
    assert labels.tolist() == model.predict(new).tolist()


def test_free_text_and_questions_cannot_be_a_graph(tmp_path):
    pytest.importorskip("onnx")
    with pytest.raises(InputError, match="'review' is free text"):
        export_onnx(table_classifier("centers"), tmp_path / "model.onnx")
    with pytest.raises(InputError, match="DatumWiseClassifier cannot"):
        export_onnx(table_classifier("datum-wise", with_text=False), tmp_path / "model.onnx")
