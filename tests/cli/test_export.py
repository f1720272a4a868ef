import json

import pytest


@pytest.mark.parametrize("format", ["json", "skops"])
def test_an_exported_model_predicts_the_same(run_folder, new, tmp_path, tamis, table, format):
    pytest.importorskip("skops")
    path = tmp_path / f"model.{format}"
    code, out, _ = tamis("export", run_folder, "--to", format, "-o", path)
    assert (code, out) == (0, "")
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
    assert (code, out) == (0, ""), err
    onnx.checker.check_model(onnx.load(path))


def test_training_rows_in_a_model_are_told(models, tmp_path, tamis):
    code, _, err = tamis("export", models["landmarks"], "--to", "json", "-o", tmp_path / "m.json")
    assert code == 0 and "training rows" in err and err.count("\n") == 1


def test_nonsense_is_one_line(run_folder, new, tmp_path, refuses, tamis):
    refuses("export", tmp_path / "nowhere", "--to", "json", "-o", tmp_path / "a", match="nowhere")
    refuses("export", new, "--to", "json", "-o", tmp_path / "a", match="not a usable tamis model")
    refuses("export", run_folder, "--to", "json", "-o", tmp_path / "a" / "b", match="no folder")
    refuses("export", run_folder, "--to", "json", "-o", tmp_path, match="is a folder")
    assert tamis("export", run_folder, "--to", "pmml", "-o", tmp_path / "a")[0] == 2
    assert tamis("export", run_folder, "--to", "json")[0] == 2
