"""From files of every format to a run, predictions and an evaluation: the command itself."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tamis.cli.layout import span
from tamis.models.saving import read_model
from tamis.tables import read_table
from tests.cli.conftest import unwrapped
from tests.cli.files import FILES, N_ROWS
from tests.cli.processes import RESULTS, call, call_here

METHODS = ["--methods", "centers,primal-dual,most-frequent"]
FAST = [*METHODS, "--folds", "2", "--repeats", "1", "--n-jobs", "1"]


# One file of each reader; variants of them are slow tests.
QUICK = ("csv", "parquet", "svmlight", "transposed", "categories", "word counts")


@pytest.fixture(
    scope="module",
    params=[n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in FILES],
)
def fitted(request, tmp_path_factory):
    """A file, and its run by the command: (file, folder, standard output)."""
    folder = tmp_path_factory.mktemp("file")
    file = FILES[request.param](folder)
    run = folder / "run"
    code, out, err = call_here("fit", file.path, *file.fit, *FAST, "-o", run)
    assert code == 0, err
    assert all(line.startswith("tamis: ") for line in err.splitlines()), err
    assert "sparse centers, means: done" in err and "done" not in out
    return file, run, out


def predicted_in_python(file, model):
    table = read_table(file.path, file.target, **file.table_options).columns
    return model.predict(table), model.predict_proba(table)


def test_a_run_has_all_its_files_and_says_so(fitted):
    file, run, out = fitted
    assert {path.name for path in run.iterdir()} == {*RESULTS, "run.json", "checkpoints"}
    assert out.startswith(f"{file.path}: {N_ROWS} rows, ")
    saved = "report.html (open it), model.json, features.csv, model.skops, metrics.json"
    assert "RECOMMENDED: " in out and f"saved in {run}/: {saved} next: " in unwrapped(out)
    assert all(span(line) <= 80 or str(run) in line for line in out.splitlines())
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["complete"] and {"centers", "primal-dual"} <= set(metrics["methods"])
    assert metrics["model"]["honest_score"]["score"] > 0.7
    with open(run / "features.csv", newline="", encoding="utf-8") as lines:
        features = [record["feature"] for record in csv.DictReader(lines)]
    model = read_model(run / "model.json")
    assert set(features) == set(model.preparation.features)


def test_both_model_files_predict_the_same(fitted):
    pytest.importorskip("skops")
    file, run, _ = fitted
    labels, probabilities = predicted_in_python(file, read_model(run / "model.json"))
    again = predicted_in_python(file, read_model(run / "model.skops"))
    assert again[0].tolist() == labels.tolist()
    assert_allclose(again[1], probabilities, rtol=1e-12)


def test_predict_says_what_the_model_says_in_python(fitted, table):
    file, run, _ = fitted
    model = read_model(run / "model.json")
    labels, probabilities = predicted_in_python(file, model)
    rows = table("predict", run, file.path, *file.words(file.reading))
    assert [row["row"] for row in rows] == [str(i) for i in range(1, N_ROWS + 1)]
    assert [row["prediction"] for row in rows] == [str(label) for label in labels]
    found = [[float(row[f"p_{c}"]) for c in model.classes_.tolist()] for row in rows]
    assert_allclose(found, probabilities, rtol=1e-8, atol=1e-12)
    assert_allclose(np.sum(found, axis=1), 1.0, rtol=1e-8)


def test_evaluate_counts_what_predict_says(fitted, tamis):
    file, run, _ = fitted
    truth = read_table(file.path, file.target, **file.table_options).y
    labels, _ = predicted_in_python(file, read_model(run / "model.json"))
    words = file.words(file.reading, file.labels)
    code, out, err = tamis("evaluate", run, file.path, *words, "--json")
    assert code == 0, err
    told = json.loads(out)
    assert told["data"]["rows"] == N_ROWS
    accuracy = np.mean(truth == labels)
    assert_allclose(told["scores"]["accuracy"]["score"], accuracy)
    assert accuracy > 0.7
    assert all(line.startswith("tamis: ") for line in err.splitlines())


def test_a_second_run_on_the_same_folder_finds_all_done(fitted, tamis):
    file, run, out = fitted
    before = (run / "model.json").read_bytes()
    assert tamis("fit", file.path, *file.fit, *FAST, "-o", run)[:2] == (0, out)
    assert (run / "model.json").read_bytes() == before


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A CSV file and its run."""
    file = FILES["csv"](tmp_path_factory.mktemp("plain"))
    run = file.path.parent / "run"
    code, out, err = call_here("fit", file.path, *file.fit, *FAST, "-o", run, "--json")
    assert code == 0, err
    assert json.loads(out) == json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    return file, run


@pytest.mark.slow
def test_the_commands_after_the_fit_as_processes(plain, tmp_path, tamis):
    file, run = plain
    output = tmp_path / "predictions.csv"
    code, out, err = call("predict", run, file.path, "-o", output)
    assert (code, out) == (0, "") and err.startswith("tamis: probabilities are for")
    assert err.count("\n") == 1
    assert output.read_text(encoding="utf-8") == tamis("predict", run, file.path)[1]
    code, out, err = call("evaluate", run, file.path)
    assert code == 0 and "balanced accuracy" in out and "Traceback" not in err
    code, out, err = call("evaluate", run, file.path, "--json", "-o", tmp_path / "told.json")
    told = (tmp_path / "told.json").read_text(encoding="utf-8")
    assert code == 0 and json.loads(out) == json.loads(told)
    code, out, err = call("explain", run, file.path)
    assert code == 0 and out.startswith("row,prediction,probability,runner_up")
    assert err.startswith("tamis: Probabilities hold where") and err.count("\n") == 1
    code, _, err = call("export", run, "--to", "json", "-o", tmp_path / "model.json")
    assert (code, err) == (0, "")
    assert tamis("predict", tmp_path / "model.json", file.path)[1] == output.read_text()


def test_another_point_of_the_curve_is_picked_from_the_work_that_is_there(plain, tmp_path, tamis):
    _, run = plain
    words = ["pick", run, "--method", "primal-dual", "--n-features", 1, "-o", tmp_path / "picked"]
    code, out, err = tamis(*words)
    assert code == 0, err
    assert "PICKED: 1 feature (primal-dual" in out
    model = read_model(tmp_path / "picked" / "model.json")
    assert model.method == "primal-dual" and len(set(model.preparation.features)) == 1


def test_without_data_the_embedded_set_is_shown(tamis):
    code, out, err = tamis("fit", "--methods", "centers", "--folds", 2, "--repeats", 1)
    assert code == 0 and "breast cancer (embedded)" in out
    assert "For your own file: tamis fit DATA --target COL -o RUN" in err
    assert err.count("nothing will be saved, because -o RUN is not given") == 1


def text(header, *rows):
    return "".join(",".join(map(str, row)) + "\n" for row in [header, *rows]).encode()


def numbered(n_rows, label):
    """Rows of a number, another number and a label."""
    return [(i * 5 % 13, i * i % 7, label(i)) for i in range(n_rows)]


TABLE = text(("age", "dose", "state"), *numbered(30, lambda i: "ab"[i % 2]))
LONELY = text(("age", "dose", "state"), *numbered(30, lambda i: "ab"[i == 7]))
# Content of the file, options, and words of the line.
BAD = {
    "target with a typing error": (TABLE, ["--target", "stat"], "nearest: state"),
    "no target": (TABLE, [], "--target"),
    "one class": (
        text(("u", "v", "y"), *numbered(20, lambda i: "a")),
        ["--target", "y"],
        "only one class",
    ),
    "a class of one row": (LONELY, ["--target", "state"], "with 1 row"),
    "a continuous target": (
        text(("u", "v", "y"), *numbered(60, lambda i: i / 7)),
        ["--target", "y"],
        "looks continuous",
    ),
    "labels only": (text(("y",), *["a", "b"] * 9), ["--target", "y"], "no feature is left"),
    "an empty file": (b"", ["--target", "y"], "is empty"),
    "a header only": (b"u,v,y\n", ["--target", "y"], "row"),
    "a target twice": (
        text(("u", "y", "y"), *numbered(20, lambda i: "ab"[i % 2])),
        ["--target", "y"],
        "several columns are called 'y'",
    ),
    "ragged rows": (TABLE + b"1,2\n", ["--target", "state"], "line 32: expected 3 fields"),
    "another encoding": (
        TABLE.replace(b"dose", b"gr\xf6\xdfe"),
        ["--target", "state"],
        "try --encoding latin-1",
    ),
    "an encoding that is none": (
        TABLE,
        ["--target", "state", "--encoding", "klingon"],
        "no encoding 'klingon'",
    ),
    "an unknown format": (TABLE, ["--target", "state", "--format", "xls"], "format must be"),
    "another format": (TABLE, ["--target", "state", "--format", "npz"], "cannot read"),
    "an unknown method": (
        TABLE,
        ["--target", "state", "--methods", "centers,magic"],
        "--methods magic: the methods are centers",
    ),
    "baselines only": (
        TABLE,
        ["--target", "state", "--methods", "random-forest"],
        "none of the methods named may be recommended",
    ),
    "no processes": (TABLE, ["--target", "state", "--n-jobs", "0"], "--n-jobs 0"),
    "an unknown feature to keep": (
        TABLE,
        ["--target", "state", "--keep", "does"],
        "--keep does: no such feature; did you mean dose",
    ),
    "all features kept": (
        TABLE,
        ["--target", "state", "--keep", "age,dose"],
        "nothing to select",
    ),
    "an unknown positive class": (
        TABLE,
        ["--target", "state", "--positive", "c"],
        "--positive c: the classes are a, b",
    ),
    "whose sensitivity": (
        TABLE,
        ["--target", "state", "--min-sensitivity", "0.9"],
        "name the class whose sensitivity is meant",
    ),
    "a column to drop that is not there": (
        TABLE,
        ["--target", "state", "--drop", "doze"],
        "no column 'doze'; did you mean dose?",
    ),
    "groups that are not there": (TABLE, ["--target", "state", "--groups", "g"], "no column 'g'"),
    "all dropped": (TABLE, ["--target", "state", "--drop", "age,dose"], "no feature is left"),
    "a target file that is not there": (
        TABLE,
        ["--target-file", "nowhere/labels.csv"],
        "no file nowhere",
    ),
    "a features file that is not there": (
        TABLE,
        ["--target", "state", "--features", "nowhere/f.csv"],
        "cannot read the features file",
    ),
    "a layer of a CSV file": (TABLE, ["--target", "state", "--layer", "x"], "for h5ad files"),
    "a delimiter of two letters": (
        TABLE,
        ["--target", "state", "--delimiter", "ab"],
        "one character",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_writes_nothing(tmp_path, refuses, name):
    content, words, match = BAD[name]
    data = tmp_path / "data.csv"
    data.write_bytes(content)
    refuses("fit", data, *words, "-o", tmp_path / "run", match=match)
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.parametrize("name", ["csv.gz", "parquet", "npz", "npy", "h5ad", "svmlight.gz"])
def test_a_file_that_was_cut_is_one_line_and_writes_nothing(tmp_path, refuses, name):
    file = FILES[name](tmp_path)
    content = Path(file.path).read_bytes()
    Path(file.path).write_bytes(content[: 2 * len(content) // 3])
    refuses("fit", file.path, *file.fit, "-o", tmp_path / "run", match=file.path.name)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "content, match",
    [
        (b"", "is empty"),
        (b"\n", "has no column 'feature'"),
        (b"\xff\xfe\x00", "cannot read the features file"),
        (b"feature,color\nage,red\n", "has the column 'color'"),
        (b"feature,cost\nage\n", "line 2: the number of fields differs"),
        (b"feature,cost\nage,cheap\n", "line 2: cost must be a number"),
        (b"feature,cost\nage,-1\n", "line 2: cost must be a number"),
        (b"feature,type\nage,word\n", "line 2: type must be one of"),
        (b"feature,min,max\nage,2,1\n", "min 2 is above max 1"),
        (b"feature\nage\nage\n", "line 3: feature 'age' appears twice"),
        (b"feature,cost\n,1\n", "line 2: no feature is named"),
        (
            b"feature\nagee\n",
            "describes 'agee', which is not among the features; did you mean age",
        ),
        (b"feature,group,cost\nage,g,1\ndose,g,2\n", "two costs"),
        (b"feature,type,choices\nage,number,1|2\n", "choices are for the types choice and yes/no"),
        (b"feature,choices,unlisted\nage,1|2,ignore\n", "unlisted must be error or missing"),
        (b"feature,unlisted\nage,missing\n", "unlisted needs choices"),
    ],
)
def test_nonsense_in_a_features_file_is_one_line(tmp_path, refuses, content, match):
    (tmp_path / "data.csv").write_bytes(TABLE)
    (tmp_path / "features.csv").write_bytes(content)
    words = ["--target", "state", "--features", tmp_path / "features.csv"]
    refuses("fit", tmp_path / "data.csv", *words, "-o", tmp_path / "run", match=match)
    assert not (tmp_path / "run").exists()


def test_a_file_in_place_of_the_folder_stays_as_it_is(tmp_path, refuses):
    (tmp_path / "data.csv").write_bytes(TABLE)
    (tmp_path / "run").write_text("mine")
    words = ["--target", "state", "-o", tmp_path / "run"]
    refuses("fit", tmp_path / "data.csv", *words, match="is a file; name a folder")
    assert (tmp_path / "run").read_text() == "mine"


def test_the_folder_of_another_call_stays_as_it_is(plain, refuses):
    file, run = plain
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    for more in (["--seed", "3"], ["--folds", "3"], ["--scoring", "accuracy"]):
        said = refuses("fit", file.path, *file.fit, *FAST, *more, "-o", run)
        assert "holds results of a different comparison" in said and "--force" in said
        assert f"{more[0][2:]} " in said
    after = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    assert after == before


def test_a_column_that_is_not_there_is_one_line(tmp_path, refuses):
    (tmp_path / "data.csv").write_bytes(TABLE)
    said = refuses("fit", tmp_path / "data.csv", "--target", "sate", "-o", tmp_path / "run")
    assert said == "tamis: error: no column 'sate' for the target; nearest: state, age, dose\n"


@pytest.mark.slow
def test_bad_input_of_the_command_as_a_process(tmp_path):
    (tmp_path / "data.csv").write_bytes(TABLE)
    words = ["fit", tmp_path / "data.csv", "--target", "sate", "-o", tmp_path / "run"]
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert err == "tamis: error: no column 'sate' for the target; nearest: state, age, dose\n"
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_runs_and_models_that_are_none(tmp_path, plain, refuses):
    file, _ = plain
    empty = tmp_path / "empty"
    empty.mkdir()
    for command in ("predict", "evaluate", "explain"):
        refuses(command, empty, file.path, match="has no model.json")
        refuses(command, tmp_path / "nowhere", file.path, match="nowhere")
        refuses(command, file.path, file.path)
    words = ["--method", "centers", "--n-features", 2, "-o", tmp_path / "picked"]
    refuses("pick", empty, *words, match="run.json")
    refuses("export", empty, "--to", "json", "-o", tmp_path / "m.json", match="model.json")
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]
