import csv
import json
import os
import sqlite3
import subprocess
import sys

import numpy as np
import pytest


@pytest.mark.parametrize("format", ["json", "skops"])
def test_an_exported_model_predicts_the_same(run_folder, new, tmp_path, tamis, table, format):
    pytest.importorskip("skops")
    path = tmp_path / f"model.{format}"
    code, out, _ = tamis("export", run_folder, "--to", format, "-o", path)
    assert (code, out) == (0, f"written: {path}\n")
    assert table("predict", path, new) == table("predict", run_folder, new)


def test_the_format_counts_and_not_the_name(run_folder, new, tmp_path, tamis, table):
    path = tmp_path / "model.txt"
    assert tamis("export", run_folder, "--to", "json", "-o", path)[0] == 0
    assert json.loads(path.read_text())["format"] == "tamis-model"
    assert table("predict", path, new) == table("predict", run_folder, new)


def test_onnx_is_written(run_folder, tmp_path, tamis):
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "model.onnx"
    code, out, err = tamis("export", run_folder, "--to", "onnx", "-o", path)
    assert (code, out) == (0, f"written: {path}\n"), err
    onnx.checker.check_model(onnx.load(path))


@pytest.mark.parametrize("method", ["panel", "kernel"])
@pytest.mark.parametrize("format", ["json", "skops"])
def test_an_exported_panel_predicts_the_same(models, new, tmp_path, tamis, table, method, format):
    pytest.importorskip("skops")
    path = tmp_path / f"model.{format}"
    assert tamis("export", models[method], "--to", format, "-o", path)[0] == 0
    assert table("predict", path, new) == table("predict", models[method], new)


@pytest.mark.parametrize("method", ["panel", "kernel"])
def test_the_graph_of_a_panel_agrees_with_its_predictions(
    models, new, tmp_path, tamis, table, method
):
    runtime = pytest.importorskip("onnxruntime")
    path = tmp_path / "model.onnx"
    assert tamis("export", models[method], "--to", "onnx", "-o", path)[0] == 0
    with open(new, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    given = {}
    for item in session.get_inputs():
        values = [row[item.name] for row in rows]
        if "string" not in item.type:
            values = [float(value or "nan") for value in values]
        kind = object if "string" in item.type else np.float64
        given[item.name] = np.array(values, dtype=kind)[:, None]
    labels, shares = session.run(["label", "probabilities"], given)
    predicted = table("predict", models[method], new)
    assert labels.tolist() == [row["prediction"] for row in predicted]
    told = [float(row["p_ill"]) for row in predicted]
    np.testing.assert_allclose(shares[:, 0], told, atol=1e-5)


@pytest.mark.parametrize("method", ["centers", "panel", "kernel", "landmarks", "datum-wise"])
def test_a_python_file_predicts_the_same(models, new, tmp_path, tamis, table, method):
    path = tmp_path / "model.py"
    assert tamis("export", models[method], "--to", "python", "-o", path)[0] == 0
    names: dict = {}
    exec(path.read_text(encoding="utf-8"), names)
    with open(new, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    predicted = table("predict", models[method], new)
    assert [names["predict"](row) for row in rows] == [row["prediction"] for row in predicted]
    told = [float(row["p_ill"]) for row in predicted]
    np.testing.assert_allclose(
        [names["predict_proba"](row)["ill"] for row in rows], told, atol=1e-5
    )


def test_a_python_file_without_input_says_how_to_use_it(models, tmp_path, tamis):
    path = tmp_path / "model.py"
    code, out, _ = tamis("export", models["centers"], "--to", "python", "-o", path)
    assert code == 0 and out == f"written: {path}\n"
    done = subprocess.run(
        [sys.executable, path], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 1 and done.stderr == f"no input: python {path} rows.csv\n"


def test_the_program_of_a_python_file_takes_a_file_and_a_reader_may_leave(
    models, new, tmp_path, tamis
):
    path = tmp_path / "model.py"
    assert tamis("export", models["centers"], "--to", "python", "-o", path)[0] == 0
    call = [sys.executable, path, new]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("\n") == 42
    with open(new, encoding="utf-8") as rows:
        piped = subprocess.run(call[:2], stdin=rows, capture_output=True, text=True)
    assert piped.stdout == done.stdout
    gone, here = os.pipe()
    os.close(gone)  # nobody reads
    left = subprocess.run(call, stdout=here, stderr=subprocess.PIPE, text=True)
    os.close(here)
    assert left.stderr == ""
    done = subprocess.run([*call[:2], "nope.csv"], capture_output=True, text=True)
    assert done.returncode == 1 and "nope.csv" in done.stderr and "Traceback" not in done.stderr


def test_a_query_predicts_the_same(models, new, tmp_path, tamis, table):
    path = tmp_path / "model.sql"
    assert tamis("export", models["centers"], "--to", "sql", "-o", path)[0] == 0
    with open(new, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    connection = sqlite3.connect(":memory:")
    columns = ", ".join(f'"{name}" NUMERIC' for name in header)
    connection.execute(f"CREATE TABLE data ({columns})")
    places = ", ".join("?" * len(header))
    values = [[value or None for value in row] for row in rows]
    connection.executemany(f"INSERT INTO data VALUES ({places})", values)
    cursor = connection.execute(path.read_text(encoding="utf-8"))
    at = [name for name, *_ in cursor.description].index("prediction")
    predicted = table("predict", models["centers"], new)
    assert [row[at] for row in cursor] == [row["prediction"] for row in predicted]


def test_a_spreadsheet_is_written_for_linear_models_only(models, tmp_path, tamis, refuses):
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / "model.xlsx"
    assert tamis("export", models["panel"], "--to", "spreadsheet", "-o", path)[0] == 0
    assert openpyxl.load_workbook(path).sheetnames == ["rows", "columns", "model"]
    words = ["--to", "spreadsheet", "-o", tmp_path / "other.xlsx"]
    refuses("export", models["kernel"], *words, match="decisions are not linear", offers=True)


@pytest.mark.parametrize("method", ["landmarks", "kernel"])
def test_training_rows_in_a_model_are_told(models, tmp_path, tamis, method):
    code, _, err = tamis("export", models[method], "--to", "json", "-o", tmp_path / "m.json")
    assert code == 0 and "training rows" in err and err.count("\n") == 1


def test_nonsense_is_one_line(run_folder, new, tmp_path, refuses, tamis):
    refuses("export", tmp_path / "nowhere", "--to", "json", "-o", tmp_path / "a", match="nowhere")
    refuses("export", new, "--to", "json", "-o", tmp_path / "a", match="is not a model file")
    refuses("export", run_folder, "--to", "json", "-o", tmp_path / "a" / "b", match="no folder")
    refuses("export", run_folder, "--to", "json", "-o", tmp_path, match="is a folder")
    assert tamis("export", run_folder, "--to", "pmml", "-o", tmp_path / "a")[0] == 2
    assert tamis("export", run_folder, "--to", "json")[0] == 2
