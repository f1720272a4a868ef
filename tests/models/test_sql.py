"""Queries in databases that differ: names that are taken, NULL and NaN, types of columns."""

import sqlite3

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis import PanelClassifier, SparseCenterClassifier
from tamis.models import export_spreadsheet, make_python, make_sql
from tests.models.new_tables import LINEAR, as_dicts, linear_table, new_table


def in_sqlite(text, table, name="data"):
    connection = sqlite3.connect(":memory:")
    table.to_pandas().to_sql(name, connection, index=False)
    return pd.read_sql_query(text, connection)


def in_duckdb(text, table, name="data"):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(":memory:")
    connection.register(name, table)
    return connection.sql(text.rstrip().rstrip(";")).df()


databases = pytest.mark.parametrize("run", [in_sqlite, in_duckdb])


def named(names, n_rows=150):
    """Three classes that columns with these names tell apart."""
    rng = np.random.default_rng(0)
    codes = np.arange(n_rows) % 3
    X = rng.normal(size=(n_rows, len(names))) + codes[:, None] * np.arange(len(names))
    return pd.DataFrame(X, columns=names), np.array(["a", "b", "c"])[codes]


def agrees(found, model, X, label="prediction"):
    shares = found[[f"p_{one}" for one in model.classes_]]
    assert_allclose(shares, model.predict_proba(X), rtol=0, atol=1e-12)
    assert found[label].tolist() == model.predict(X).tolist()


@databases
@pytest.mark.parametrize(
    "names",
    [
        ["tamis_x2", "tamis_x0", "tamis_x1", "tamis_v1"],
        ["TAMIS_D2", "Tamis_D0", "tamis_p0", "tamis2_x2"],
        ["tamis_p_top", "tamis_p_e1", "tamis_v3", "tamis_p_shares"],
    ],
)
def test_features_may_have_the_names_of_a_query(names, run):
    X, y = named(names)
    model = SparseCenterClassifier(4).fit(X, y)
    agrees(run(make_sql(model), pa.Table.from_pandas(X)), model, X)


@databases
def test_columns_that_the_model_does_not_know_change_nothing(run):
    X, y = named(["w", "x", "y", "z"])
    model = SparseCenterClassifier(4).fit(X, y)
    others = ["tamis_v2", "tamis_x0", "TAMIS_D1", "tamis_p_top", "tamis_p_e0", "tamis_p1"]
    wide = X.assign(**dict.fromkeys(others, 0.0))
    agrees(run(make_sql(model), pa.Table.from_pandas(wide)), model, X)


@databases
def test_a_table_may_have_the_name_of_a_step(run):
    X, y = named(["x", "y"])
    model = SparseCenterClassifier(2).fit(X, y)
    agrees(run(make_sql(model, "tamis_x"), pa.Table.from_pandas(X), "tamis_x"), model, X)


@databases
def test_a_feature_called_prediction_is_not_the_prediction(run):
    X, y = named(["Prediction", "x"])
    model = SparseCenterClassifier(2).fit(X, y)
    found = run(make_sql(model), pa.Table.from_pandas(X))
    assert found.columns.is_unique
    assert_array_equal(found["Prediction"], X["Prediction"])
    agrees(found, model, X, "tamis_prediction")


def test_the_headings_of_a_spreadsheet_are_those_of_one_column_each(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    X, y = named(["prediction", "p_a"])
    export_spreadsheet(SparseCenterClassifier(2).fit(X, y), tmp_path / "model.xlsx", n_rows=1)
    titles = [cell.value for cell in openpyxl.load_workbook(tmp_path / "model.xlsx")["rows"][1]]
    assert titles == ["prediction", "p_a", "tamis_prediction", "tamis_p_a", "p_b", "p_c"]


def test_a_column_that_is_absent_is_an_error_and_not_a_word():
    X, y = named(["x", "y"])
    model = SparseCenterClassifier(2).fit(X, y)
    with pytest.raises(pd.errors.DatabaseError, match="no such column"):
        in_sqlite(make_sql(model), pa.Table.from_pandas(X[["x"]]))


def with_gaps(rows, gap):
    """The rows as a table of Arrow, with NaN or NULL where a number is missing."""
    columns = zip(rows.numeric_names, rows.numeric.T, strict=True)
    numbers = {name: pa.array(column, from_pandas=gap is None) for name, column in columns}
    return pa.table(numbers | {name: pa.array(v) for name, v in rows.others.items()})


@databases
@pytest.mark.parametrize("gap", [None, np.nan])
@pytest.mark.parametrize("name", LINEAR)
def test_missing_numbers_are_replaced_as_in_training(name, gap, run):
    model, rows = linear_table(name, 0.3, recalibrated=True), new_table(500, with_text=False)
    found = run(make_sql(model), with_gaps(rows, gap))
    assert_allclose(found[["p_no", "p_yes"]], model.predict_proba(rows), rtol=0, atol=1e-12)
    assert found["prediction"].tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize("word", ["", "NA", "unknown"])
def test_words_among_the_numbers_of_sqlite_are_missing_and_not_zero(word):
    model, rows = linear_table("panel"), new_table(300, with_text=False)
    rows.numeric[::5] = 0.0
    lines = pd.DataFrame(as_dicts(rows)).astype(object)
    words = lines[["age", "weight", "a b"]].map(lambda v: word if pd.isna(v) else repr(float(v)))
    found = in_sqlite(make_sql(model), pa.Table.from_pandas(lines.assign(**words)))
    assert_allclose(found[["p_no", "p_yes"]], model.predict_proba(rows), rtol=0, atol=1e-12)


@databases
def test_a_classifier_without_a_table_says_nothing_about_rows_with_gaps(run):
    X, y = named(["x", "y"])
    model = PanelClassifier(2, head="lda").fit(X, y)
    table = pa.table({"x": pa.array([1.0, np.nan, np.inf]), "y": pa.array([0.5, 0.5, 0.5])})
    found = run(make_sql(model), table)
    assert found["prediction"].isna().tolist() == [False, True, True]
    assert found["p_a"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize("kind", [pa.float32(), pa.decimal128(20, 9), pa.int64()])
def test_every_type_of_number_is_computed_in_double_precision(kind):
    X, y = named(["x", "y"])
    model = SparseCenterClassifier(2).fit(X, y)
    table = pa.Table.from_pandas((100 * X).round()).cast(pa.schema([("x", kind), ("y", kind)]))
    exact = table.cast(pa.schema([("x", pa.float64()), ("y", pa.float64())])).to_pandas()
    agrees(in_duckdb(make_sql(model), table), model, exact)


def test_the_program_of_a_python_file_has_headings_of_one_column_each(tmp_path, monkeypatch):
    import io
    import runpy
    import sys

    X, y = named(["prediction", "x"])
    (tmp_path / "model.py").write_text(make_python(SparseCenterClassifier(2).fit(X, y)))
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO(X[:3].to_csv(index=False)))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "argv", ["model.py"])
    runpy.run_path(str(tmp_path / "model.py"), run_name="__main__")
    header = out.getvalue().splitlines()[0].split(",")
    assert header == ["prediction", "x", "tamis_prediction", "p_a", "p_b", "p_c"]
