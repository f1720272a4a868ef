"""What stands for a missing value: the same words in every command, format and column."""

import json

import numpy as np
import pytest

from tests.cli.conftest import few, write_csv

FAST = ("--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1", "--n-jobs", "1")
COUNTRIES = ["NA", "ZA", "BW", "ZM", "AO", "DE", "FR"]


def pain(rng, c):
    """An answer of which "none" is one of three."""
    return ["none", "severe"][c] if rng.random() < 0.86 else ["mild", "none"][rng.integers(2)]


def dipstick(rng, c):
    return "-+"[c if rng.random() < 0.95 else 1 - c]


def country(rng, c):
    """Most of the second class live in Namibia."""
    return COUNTRIES[0] if c and rng.random() < 0.9 else COUNTRIES[rng.integers(1, 7)]


ANSWERS = {"pain": (pain, 0.9), "dipstick": (dipstick, 0.9), "country": (country, 0.9)}


def make_rows(answer, n_rows=300, seed=0):
    """A column of answers that tell the class, and two numbers that do not."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n_rows):
        c = int(i % 3 == 0)
        numbers = [f"{v:.3f}" for v in rng.normal(size=2)]
        rows.append([answer(rng, c), *numbers, ["well", "ill"][c]])
    return rows


HEADER = ["answer", "u", "v", "y"]


def write_table(path, rows):
    return write_csv(path, HEADER, rows)


def write_transposed(path, rows):
    columns = [list(column) for column in zip(HEADER, *rows, strict=True)]
    return write_csv(path, ["name", *(f"s{i}" for i in range(len(rows)))], columns)


def write_npz(path, rows):
    X = np.array([row[:3] for row in rows])
    np.savez(path, X=X, y=np.array([row[3] for row in rows]), feature_names=HEADER[:3])
    return str(path)


def write_parquet(path, rows):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    answers, u, v, labels = zip(*rows, strict=True)
    numbers = {"u": [float(x) for x in u], "v": [float(x) for x in v]}
    pq.write_table(pa.table({"answer": answers, **numbers, "y": labels}), path)
    return str(path)


FORMATS = {
    "data.csv": (write_table, ()),
    "transposed.csv": (write_transposed, ("--transpose",)),
    "data.npz": (write_npz, ()),
    "data.parquet": (write_parquet, ()),
}


@pytest.fixture
def fit(tamis):
    """Run `tamis fit`: what metrics.json says, and standard error."""

    def call(data, *words):
        code, out, err = tamis("fit", data, "--target", "y", *FAST, "--json", *words)
        assert code == 0, err
        return json.loads(out), err

    return call


@pytest.fixture
def evaluate(tamis):
    """Run `tamis evaluate`: balanced accuracy."""

    def call(run, data, *words):
        code, out, err = tamis("evaluate", run, data, "--json", *words)
        assert code == 0, err
        return json.loads(out)["scores"]["balanced_accuracy"]["score"]

    return call


@pytest.mark.parametrize("format", few(FORMATS, 1))
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_looks_like_nothing_is_an_answer(name, format, tmp_path, fit, evaluate):
    (answer, least), (write, reading) = ANSWERS[name], FORMATS[format]
    data, run = write(tmp_path / format, make_rows(answer)), tmp_path / "run"
    metrics, err = fit(data, *reading, "-o", run)
    assert metrics["model"]["selection_score"]["score"] > least
    assert "values missing" not in err
    new = write(tmp_path / f"new-{format}", make_rows(answer, seed=1))
    assert evaluate(run, new, *reading) > least


def test_a_word_that_is_evidently_a_category_is_told_and_remembered(tmp_path, fit, tamis, table):
    data, run = write_table(tmp_path / "data.csv", make_rows(country)), tmp_path / "run"
    _, err = fit(data, "-o", run)
    assert "answer (NA); if it means a missing value, use --missing-values NA" in err
    # One row says nothing about its column: the model knows.
    new = write_table(tmp_path / "new.csv", [["NA", "0.1", "0.2", "ill"]])
    assert table("predict", run, new)[0]["prediction"] == "ill"
    assert table("explain", run, new)[1]["value"] == "NA"
    for other in ("nan", "NULL", ""):
        new = write_table(tmp_path / "new.csv", [[other, "0.1", "0.2", "ill"]])
        assert table("explain", run, new)[1]["value"] == "(missing, NA)"
    # What is said with the command is taken as it is.
    new = write_table(tmp_path / "new.csv", [["NA", "0.1", "0.2", "ill"]])
    assert table("explain", run, new, "--missing-values", "NA")[1]["value"] == "(missing, NA)"


@pytest.mark.parametrize("name", ["model.json", "model.skops"])
def test_every_model_file_remembers_what_is_missing(name, tmp_path, fit, table):
    pytest.importorskip("skops")
    rows = make_rows(pain)
    rows[::9] = [["unknown", *row[1:]] for row in rows[::9]]
    data, run = write_table(tmp_path / "data.csv", rows), tmp_path / "run"
    _, err = fit(data, "--missing-values", "unknown,-999", "-o", run)
    assert "34 values missing in 1 column: answer (34)" in err
    new = write_table(tmp_path / "new.csv", [["unknown", "0.1", "0.2", ""], ["NA", "1", "1", ""]])
    values = [row["value"] for row in table("explain", run / name, new) if row["rank"] == "1"]
    assert values == ["(missing, none)", "NA (missing, none)"]


@pytest.mark.parametrize("n_alike, value", [(3, "(missing, AA)"), (6, "NA")])
def test_few_values_of_the_same_form_are_no_evidence(n_alike, value, tmp_path, fit, table):
    codes = ["AA", "AG", "GG", "CC", "CT", "TT"][:n_alike]
    rng, rows = np.random.default_rng(0), []
    for i in range(200):
        genotype = "NA" if rng.random() < 0.1 else codes[0] if i % 2 else rng.choice(codes[1:])
        rows.append([genotype, "0.5", f"{rng.normal():.3f}", "ab"[i % 2]])
    data, run = write_table(tmp_path / "data.csv", rows), tmp_path / "run"
    fit(data, "-o", run)
    new = write_table(tmp_path / "new.csv", [["NA", "0.5", "0.2", "a"]])
    told = {row["feature"]: row["value"] for row in table("explain", run, new)}
    assert told["answer"] == value


@pytest.mark.parametrize(
    "word", few(["", "NA", "null", "na", "NaN", "NULL", "N/A", "n/a", "#N/A", "<NA>"], 3)
)
def test_the_usual_words_are_missing_in_all_columns(word, tmp_path, fit):
    rows = make_rows(pain)
    rows[0][0] = rows[1][1] = rows[2][3] = word
    _, err = fit(write_table(tmp_path / "data.csv", rows))
    assert "2 values missing in 2 columns: u (1), answer (1)" in err
    assert "1 row without a label" in err


@pytest.mark.parametrize("word", few(["-", "none", ".", "?", "None"], 2))
def test_a_few_other_words_among_numbers_are_missing_with_a_message(word, tmp_path, fit):
    rows = make_rows(dipstick)
    for i in range(10):
        rows[7 * i][1] = word
    _, err = fit(write_table(tmp_path / "data.csv", rows))
    assert f"odd words among numbers: u ({word} (10 of 300) read as missing)" in err


@pytest.mark.parametrize("word", few(["-", "?"], 1))
def test_many_words_among_numbers_are_told_with_the_option_that_helps(word, tmp_path, fit):
    rows = make_rows(pain)
    for i in range(60):
        rows[3 * i][1] = word
    data = write_table(tmp_path / "data.csv", rows)
    _, err = fit(data)
    option = f"NA,{word}"
    assert f"u: not read as numbers because of '{word}'" in err
    assert "--missing-values" in err and option in err
    metrics, err = fit(data, "--missing-values", option)
    assert "60 values missing in 1 column: u (60)" in err
    assert metrics["data"]["features"] == 3


def test_a_number_can_stand_for_a_missing_value(tmp_path, fit, table):
    rows = make_rows(pain)
    for i in range(60):
        rows[3 * i][1] = ["-999", "-999.0"][i % 2]
    data, run = write_table(tmp_path / "data.csv", rows), tmp_path / "run"
    _, err = fit(data, "--missing-values=-999", "--keep", "u", "-o", run)
    assert "60 values missing in 1 column: u (60)" in err
    new = write_table(tmp_path / "new.csv", [["mild", "-999", "0", ""], ["mild", "3", "0", ""]])
    told = [row["value"] for row in table("explain", run, new) if row["feature"] == "u"]
    assert told == ["(missing, -0.04)", "3"]


def test_the_list_can_begin_like_an_option(tmp_path, fit, tamis):
    rows = make_rows(pain)
    rows[0][0], rows[1][0], rows[2][0] = "-", "?", "--"
    data = write_table(tmp_path / "data.csv", rows)
    for words in (["--missing-values", "-,?,--"], ["--missing-values=-,?,--"]):
        assert "3 values missing in 1 column: answer (3)" in fit(data, *words)[1]
    assert tamis("fit", data, "--target", "y", "--missing-values")[0] == 2


def test_a_number_among_categories_is_missing_however_it_is_written(tmp_path, fit, table):
    codes = ["x", "2", "3", "-9", "-9.0"]
    rows = [[codes[i % 5], "0.5", f"{i % 7}", "ab"[i % 5 > 0]] for i in range(60)]
    data, run = write_table(tmp_path / "data.csv", rows), tmp_path / "run"
    words = ["--categorical", "answer", "--missing-values", "-9", "--keep", "answer", "-o", run]
    assert "24 values missing in 1 column: answer (24)" in fit(data, *words)[1]
    new = write_table(tmp_path / "new.csv", [[word, "0.5", "1", ""] for word in ("-9.0", "-9")])
    told = [row["value"] for row in table("explain", run, new) if row["feature"] == "answer"]
    assert told == ["(missing, 2)"] * 2


def test_labels_can_be_called_none_and_minus(tmp_path, fit, evaluate):
    for i, labels in enumerate([("none", "severe"), ("-", "+"), (".", "x")]):
        rows = [[*row[:3], labels[row[3] == "ill"]] for row in make_rows(pain)]
        data, run = write_table(tmp_path / f"{i}.csv", rows), tmp_path / f"run{i}"
        metrics, err = fit(data, "-o", run)
        assert set(metrics["data"]["classes"]) == set(labels)
        assert ("'.' is read as a class of y" in err) == ("." in labels)
        assert evaluate(run, data) > 0.9


def test_a_class_can_be_called_like_a_missing_label(tmp_path, fit, tamis):
    regions = ["NA", "SA", "EU", "AS", "AF", "OC"]
    rng = np.random.default_rng(0)
    rows = [
        [regions[i % 6], f"{i % 6 + rng.normal():.3f}", "", regions[i % 6]] for i in range(120)
    ]
    data = write_csv(tmp_path / "data.csv", ["a", "u", "b", "y"], rows)
    run = tmp_path / "run"
    metrics, err = fit(data, "--drop", "a", "-o", run)
    assert metrics["data"]["classes"]["NA"] == 20
    assert "read as a class" in err and "y (NA)" in err
    few = write_csv(tmp_path / "few.csv", ["u", "y"], [["0.2", "NA"], ["1.1", "SA"], ["5", ""]])
    code, out, err = tamis("evaluate", run, few, "--json")
    assert code == 0, err
    assert json.loads(out)["data"]["classes"]["NA"] == 1
    assert "1 row without a label" in err
    code, out, err = tamis("evaluate", run, few, "--json", "--missing-values", "NA")
    assert json.loads(out)["data"]["rows"] == 2


def test_the_classes_of_a_model_say_what_is_a_label(tmp_path, fit, tamis):
    regions = ["XA", "SA", "EU", "AS", "AF", "OC"]
    rng = np.random.default_rng(0)
    rows = [[f"{i % 6 + rng.normal():.3f}", f"{i % 5}.5", regions[i % 6]] for i in range(120)]
    fit(write_csv(tmp_path / "data.csv", ["u", "v", "y"], rows), "-o", tmp_path / "run")
    rows[0][2] = "NA"
    new = write_csv(tmp_path / "new.csv", ["u", "v", "y"], rows)
    code, out, err = tamis("evaluate", tmp_path / "run", new, "--json")
    assert code == 0, err
    assert json.loads(out)["data"]["rows"] == 119


def test_labels_of_an_h5ad_file_are_read_the_same_way(tmp_path, fit):
    h5py = pytest.importorskip("h5py")
    rng = np.random.default_rng(0)
    labels = ["none", "ill", "NA"] * 20
    with h5py.File(tmp_path / "data.h5ad", "w") as file:
        file["X"] = rng.normal(size=(60, 3)) + np.arange(60)[:, None] % 3
        file["var/_index"] = ["a", "b", "c"]
        file["obs/y"] = labels
    metrics, err = fit(tmp_path / "data.h5ad")
    assert metrics["data"]["classes"] == {"ill": 20, "none": 20}
    assert "20 rows without a label" in err
    metrics, _ = fit(tmp_path / "data.h5ad", "--missing-values", "ill")
    assert metrics["data"]["classes"] == {"NA": 20, "none": 20}


def test_an_empty_list_leaves_the_empty_field(tmp_path, fit):
    rows = make_rows(pain)
    rows[0][0], rows[1][0], rows[2][0] = "", "NA", "NULL"
    _, err = fit(write_table(tmp_path / "data.csv", rows), "--missing-values", "")
    assert "1 value missing in 1 column: answer (1)" in err


def test_groups_that_are_written_like_missing_ones(tmp_path, fit, refuses):
    rows = [[*row, COUNTRIES[i % 7]] for i, row in enumerate(make_rows(pain))]
    data = write_csv(tmp_path / "data.csv", [*HEADER, "site"], rows)
    fit(data, "--groups", "site")
    words = ["fit", data, "--target", "y", "--groups", "site", "--missing-values", "NA"]
    refuses(*words, match="43 rows without a value in 'site'")


def test_the_words_are_those_of_the_run_when_a_point_is_picked(tmp_path, fit, tamis):
    rows = make_rows(pain)
    rows[::9] = [["unknown", *row[1:]] for row in rows[::9]]
    data, run = write_table(tmp_path / "data.csv", rows), tmp_path / "run"
    fit(data, "--missing-values", "unknown", "-o", run)
    words = ["pick", run, "--method", "centers", "--n-features", 1, "-o", tmp_path / "picked"]
    assert tamis(*words)[0] == 0
    one, other = (path / "features.csv" for path in (run, tmp_path / "picked"))
    assert one.read_text() == other.read_text()
