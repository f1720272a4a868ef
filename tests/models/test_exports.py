"""SQL, Python and spreadsheets agree with `predict_proba` on thousands of rows."""

import csv
import io
import re
import sqlite3
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from tamis import PanelClassifier
from tamis.models import (
    export_onnx,
    export_python,
    export_spreadsheet,
    export_sql,
    make_python,
    make_sql,
)
from tamis.tables import InputError
from tests.models.families import MODELS, data, fitted
from tests.models.formulas import Evaluator
from tests.models.new_tables import LINEAR, as_dicts, linear_table, new_table
from tests.quick import quick_pairs, smaller
from tests.tables.tables import ESTIMATORS, table_classifier

pytestmark = [
    pytest.mark.filterwarnings("ignore::tamis.models.PrivacyWarning"),
    pytest.mark.filterwarnings("ignore:.*cannot be written:UserWarning"),
]
SELECTS = ("odds ratio", "naive Bayes", "naive Bayes bernoulli", "landmark map", "landmark given")
SETS = [name for name in MODELS if name.startswith("conformal")]
CLASSIFIERS = [name for name in MODELS if name not in (*SELECTS, *SETS)]
QUERIES = [name for name in CLASSIFIERS if name.startswith(("centers", "primal-dual", "panel"))]


def new_rows(n_rows, missing=0.0):
    rng = np.random.default_rng(7)
    X = np.abs(rng.normal(scale=1.5, size=(n_rows, 6)) + rng.normal(size=(n_rows, 1)))
    X[rng.random(X.shape) < missing] = np.nan
    return pd.DataFrame(X, columns=data()[0].columns)


def run_python(source):
    names: dict = {}
    exec(compile(source, "model.py", "exec"), names)
    return names


@pytest.mark.parametrize("n_rows", smaller(300, 2000))
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_python_file_agrees(name, n_rows):
    model = fitted(name)
    X = new_rows(n_rows, missing=0.2 if name.startswith("datum") else 0.0)
    names = run_python(make_python(model))
    assert "import tamis" not in make_python(model) and "numpy" not in make_python(model)
    rows = X.to_dict("records")
    shares = [list(names["predict_proba"](row).values()) for row in rows]
    assert_allclose(shares, model.predict_proba(X), rtol=0, atol=1e-12)
    labels = [names["predict"](row) for row in rows[:300]]
    assert labels == model.predict(X[:300]).tolist()


@pytest.mark.parametrize("n_rows", smaller(300, 1500))
@pytest.mark.parametrize("vectorizer", ["counts", "tfidf", "hashing"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_python_file_of_a_table_agrees(name, vectorizer, n_rows):
    model, rows = table_classifier(name, vectorizer=vectorizer), new_table(n_rows)
    names = run_python(make_python(model))
    shares = [list(names["predict_proba"](row).values()) for row in as_dicts(rows)]
    assert_allclose(shares, model.predict_proba(rows), rtol=0, atol=1e-12)
    assert [names["predict"](row) for row in as_dicts(rows)] == model.predict(rows).tolist()


def test_a_python_file_is_a_program_that_needs_nothing(tmp_path):
    model, rows = linear_table("logistic", threshold=0.3, recalibrated=True), new_table(200, False)
    export_python(model, tmp_path / "model.py")
    text = io.StringIO()
    lines = as_dicts(rows)
    writer = csv.DictWriter(text, list(lines[0]))
    writer.writeheader()
    writer.writerows(lines)
    done = subprocess.run(
        [sys.executable, "-I", "-S", tmp_path / "model.py"],
        input=text.getvalue(),
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
        env={"PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"},
    )
    found = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["prediction"] for row in found] == model.predict(rows).tolist()
    shares = [[float(row["p_no"]), float(row["p_yes"])] for row in found]
    assert_allclose(shares, model.predict_proba(rows), rtol=0, atol=1e-12)


def query(text, frame):
    connection = sqlite3.connect(":memory:")
    frame.to_sql("data", connection, index=False)
    return pd.read_sql_query(text, connection)


@pytest.mark.parametrize("name", [name for name in QUERIES if name != "panel kernel"])
def test_a_query_agrees(name):
    model, X = fitted(name), new_rows(3000)
    found = query(make_sql(model), X)
    shares = found[[f"p_{label}" for label in model.classes_]]
    assert_allclose(shares, model.predict_proba(X), rtol=0, atol=1e-12)
    assert found["prediction"].tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    ("name", "threshold", "recalibrated"), quick_pairs(list(LINEAR), [None, 0.3], [False, True])
)
def test_a_query_of_a_table_agrees(name, threshold, recalibrated, tmp_path):
    model, rows = linear_table(name, threshold, recalibrated), new_table(1500, with_text=False)
    export_sql(model, tmp_path / "model.sql")
    frame = pd.DataFrame(as_dicts(rows))
    frame.loc[::7, "color"] = "NA"
    rows.others["color"][::7] = None
    found = query((tmp_path / "model.sql").read_text(encoding="utf-8"), frame)
    assert_allclose(found[["p_no", "p_yes"]], model.predict_proba(rows), rtol=0, atol=1e-12)
    assert found["prediction"].tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize("n_rows", smaller(100, 1000))
@pytest.mark.parametrize(
    ("name", "threshold", "recalibrated"),
    [
        ("centers", None, False),
        ("covariance", 0.3, False),
        ("frobenius", None, True),
        ("panel", 0.3, True),
        ("logistic", None, False),
    ],
)
def test_a_spreadsheet_agrees(name, threshold, recalibrated, n_rows, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    model = linear_table(name, threshold, recalibrated)
    rows = new_table(n_rows, with_text=False)
    export_spreadsheet(model, tmp_path / "model.xlsx", n_rows=n_rows)
    book = openpyxl.load_workbook(tmp_path / "model.xlsx")
    sheet = book["rows"]
    titles = [cell.value for cell in sheet[1]]
    for at, row in enumerate(as_dicts(rows), start=2):
        for column, title in enumerate(titles[: titles.index("prediction")], start=1):
            sheet.cell(at, column).value = row[title]
    values, letter = Evaluator(book), openpyxl.utils.get_column_letter
    place = titles.index("prediction") + 1
    found = [values.cell("rows", f"{letter(place)}{at}") for at in range(2, n_rows + 2)]
    shares = [
        [values.cell("rows", f"{letter(place + 1 + c)}{at}") for c in range(2)]
        for at in range(2, n_rows + 2)
    ]
    for at, label, wanted in zip(
        range(n_rows), model.predict(rows), model.predict_proba(rows), strict=True
    ):
        is_empty = all(sheet.cell(at + 2, c).value is None for c in range(1, place))
        assert found[at] == ("" if is_empty else label)
        assert is_empty or np.abs(np.array(shares[at]) - wanted).max() < 1e-12
    assert found.count("") < 0.1 * n_rows


def test_names_and_labels_are_never_code(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 2)), columns=['=1+1"; DROP TABLE data; --', "'''"])
    y = np.where(X.iloc[:, 0] > 0, "=cmd|'x'!A1", 'it\'s """')
    model = PanelClassifier(2, head="lda").fit(X, y)
    assert query(make_sql(model), X)["prediction"].tolist() == model.predict(X).tolist()
    names = run_python(make_python(model))
    assert [names["predict"](row) for row in X.to_dict("records")] == model.predict(X).tolist()
    export_spreadsheet(model, tmp_path / "model.xlsx", n_rows=3)
    book = openpyxl.load_workbook(tmp_path / "model.xlsx")
    assert book["rows"]["A1"].data_type == "s" and book["model"]["A4"].data_type == "s"


@pytest.mark.parametrize(
    ("export", "name", "message"),
    [
        (export_sql, "landmarks nb", "LandmarkClassifier cannot be exported to SQL"),
        (export_sql, "panel kernel", "PanelClassifier cannot be exported to SQL"),
        (export_sql, "datum-wise forest", "its decisions are not linear"),
        (export_spreadsheet, "centers l1", "its decisions are not linear"),
        (export_spreadsheet, "primal-dual projection", "its decisions are not linear"),
        (export_python, "odds ratio", "it has no labels to predict"),
        (export_python, "conformal", "its prediction sets need tamis"),
        (export_sql, "conformal cross", "its prediction sets need tamis"),
    ],
)
def test_what_cannot_be_written_is_one_line(export, name, message, tmp_path):
    pytest.importorskip("openpyxl")
    with pytest.raises(InputError, match=message) as caught:
        export(fitted(name), tmp_path / "model")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


EXPORTS = {
    "onnx": export_onnx,
    "python": export_python,
    "spreadsheet": export_spreadsheet,
    "sql": export_sql,
}
TEXTS = {"text": "centers", "datum-wise text": "datum-wise"}


def advised(export, made, path):
    """The formats that a refusal names; none if there is no refusal."""
    try:
        export(made, path)
    except InputError as error:
        return re.findall("export_([a-z]+)", str(error)) or ["no advice"]
    return []


@pytest.mark.parametrize("name", [*CLASSIFIERS, *TEXTS])
def test_a_refusal_advises_what_works_for_that_model(name, tmp_path):
    pytest.importorskip("openpyxl"), pytest.importorskip("onnx")
    made = fitted(name) if name in CLASSIFIERS else table_classifier(TEXTS[name])
    for export in EXPORTS.values():
        for format in advised(export, made, tmp_path / "model"):
            assert advised(EXPORTS[format], made, tmp_path / "model") == []


def test_control_characters_in_names_and_labels_are_written_as_their_numbers(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a\x07b", "c\ufffe"])
    y = np.where(X.iloc[:, 0] > 0, "x\x1b", "y")
    model = PanelClassifier(2, head="lda").fit(X, y)
    export_spreadsheet(model, tmp_path / "model.xlsx", n_rows=3)
    book = openpyxl.load_workbook(tmp_path / "model.xlsx")
    titles = [cell.value for cell in book["rows"][1]]
    assert titles == ["a\\u0007b", "c\\ufffe", "prediction", "p_x\\u001b", "p_y"]
    assert book["model"]["A3"].value == "x\\u001b"


def test_free_text_is_no_formula(tmp_path):
    model = table_classifier("centers")
    with pytest.raises(InputError, match="'review' is free text, whose words a formula cannot"):
        export_sql(model, tmp_path / "model.sql")


def test_a_query_says_what_it_reads_and_what_its_probabilities_stand_for():
    model = linear_table(next(iter(LINEAR)))
    shares = np.arange(1, model.classes_.size + 1) / (model.classes_.size + 1) / 2
    classes = np.array([f"a\nSELECT {c}" for c in range(model.classes_.size)], dtype=object)
    text = make_sql(replace(model, frequencies=shares))
    assert text.startswith("-- A model of tamis: ") and 'rows of the table "data".' in text
    assert "-- For SQLite, DuckDB and PostgreSQL;" in text
    assert "-- probabilities are for equally frequent classes (in training: " in text
    model.estimator.classes_ = classes
    assert "\nSELECT 0" not in make_sql(replace(model, frequencies=shares)).split("WITH")[0]
