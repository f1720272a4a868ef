"""Names of columns: repeated ones, those of transposed files, and what is no table at all."""

import gzip
import json

import numpy as np
import pytest

from tests.cli.conftest import few, write_csv

FAST = ("--methods", "centers,most-frequent", "--folds", "2", "--repeats", "1", "--n-jobs", "1")
N_ROWS = 60
LABELS = ["well", "ill"] * (N_ROWS // 2)
# TP53 is measured twice; only the second probe tells the classes apart.
NAMES = ["TP53", "MYC", "TP53", "TP53.1"]


def make_matrix():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 4)).round(3)
    X[:, 2] += 4.0 * (np.arange(N_ROWS) % 2)
    return X


def write_table(folder):
    rows = [[*row, label] for row, label in zip(make_matrix(), LABELS, strict=True)]
    return write_csv(folder / "data.csv", [*NAMES, "y"], rows), ["--target", "y"]


def write_transposed(folder):
    samples = [f"s{i}" for i in range(N_ROWS)]
    rows = [[name, *values] for name, values in zip(NAMES, make_matrix().T, strict=True)]
    return write_csv(folder / "data.csv", ["gene", *samples], [*rows, ["y", *LABELS]]), [
        "--target",
        "y",
        "--transpose",
    ]


def write_npz(folder):
    np.savez(folder / "data.npz", X=make_matrix(), y=LABELS, feature_names=NAMES)
    return folder / "data.npz", []


def write_parquet(folder):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    columns = [pa.array(values) for values in make_matrix().T]
    table = pa.Table.from_arrays([*columns, pa.array(LABELS)], names=[*NAMES, "y"])
    pq.write_table(table, folder / "data.parquet")
    return folder / "data.parquet", ["--target", "y"]


def write_h5ad(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "data.h5ad", "w") as file:
        file["X"], file["obs/y"] = make_matrix(), LABELS
        file["var/_index"] = NAMES
    return folder / "data.h5ad", ["--target", "y"]


WRITERS = (write_table, write_transposed, write_npz, write_parquet, write_h5ad)


@pytest.mark.parametrize("write", few(WRITERS, 2), ids=lambda write: write.__name__)
def test_a_gene_that_is_measured_twice_has_two_names(write, tmp_path, tamis, table):
    data, words = write(tmp_path)
    run = tmp_path / "run"
    code, out, err = tamis("fit", data, *words, *FAST, "-o", run, "--json")
    assert code == 0, err
    assert json.loads(out)["data"]["features"] == 4
    assert "several columns have the same name ('TP53')" in err
    # "TP53.1" is the name of another column already.
    assert "TP53.2" in (run / "features.csv").read_text()
    reading = [word for word in words if word == "--transpose"]
    rows = table("predict", run, data, *reading)
    right = [row["prediction"] == label for row, label in zip(rows, LABELS, strict=True)]
    assert np.mean(right) > 0.9
    assert "several columns have the same name" in tamis("predict", run, data, *reading)[2]


@pytest.mark.parametrize("option", ["--target", "--groups", "--batch", "--id"])
def test_a_role_for_a_name_that_comes_twice_is_refused(option, tmp_path, refuses):
    rows = [[i % 7, "ab"[i % 2], f"g{i % 5}", f"g{i % 6}"] for i in range(30)]
    data = write_csv(tmp_path / "data.csv", ["u", "y", "s", "s"], rows)
    words = ["fit", data, "--target", "y", *FAST]
    refuses(*words, option, "s", match="several columns are called 's'")


def test_labels_under_a_name_that_comes_twice_are_refused(run_folder, tmp_path, refuses):
    rows = [[50, 1, "red", 0.5, "well", "ill"]]
    data = write_csv(tmp_path / "new.csv", ["age", "dose", "color", "noise", "y", "y"], rows)
    refuses("evaluate", run_folder, data, match="several columns are called 'y'")


def make_described(folder, n_samples=40, seed=0):
    """Genes in rows with a description, as expression data often come; and labels."""
    rng = np.random.default_rng(seed)
    shift = 3.0 * (np.arange(n_samples) % 2)
    samples = [f"s{i}" for i in range(n_samples)]
    genes = [
        [f"g{j}", f"gene {j}", *(rng.normal(size=n_samples) + shift * (j == 0)).round(3)]
        for j in range(5)
    ]
    genes.append(["ward", "where", *(f"0{i % 3}" for i in range(n_samples))])
    genes.append(["when", "date", *(f"2024-01-{1 + i % 28:02d}" for i in range(n_samples))])
    data = write_csv(folder / f"genes{seed}.csv", ["Name", "Description", *samples], genes)
    labels = [[name, "ab"[i % 2]] for i, name in enumerate(samples)]
    return data, write_csv(folder / f"labels{seed}.csv", ["sample", "class"], labels)


def test_a_column_of_a_transposed_file_that_is_no_sample_is_dropped(tmp_path, tamis, table):
    data, labels = make_described(tmp_path)
    run = tmp_path / "run"
    words = ["--transpose", "--target-file", labels, *FAST]
    more = ["--drop", "Description,g3", "--categorical", "ward", "--include", "when"]
    code, out, err = tamis("fit", data, *words, *more, "--json", "-o", run)
    assert code == 0, err
    told = json.loads(out)["data"]
    assert (told["rows"], told["features"]) == (40, 6)
    new, labels = make_described(tmp_path, seed=1)
    rows = table("predict", run, new, "--transpose", "--drop", "Description")
    assert len(rows) == 40
    code, out, err = tamis(
        "evaluate", run, new, "--transpose", "--drop", "Description", "--target-file", labels,
        "--json",
    )  # fmt: skip
    assert code == 0, err
    assert json.loads(out)["scores"]["accuracy"]["score"] > 0.8


def test_dropping_what_is_not_there_is_refused(run_folder, new, tmp_path, refuses):
    data, labels = make_described(tmp_path)
    words = ["fit", data, "--transpose", "--target-file", labels, *FAST]
    refuses(*words, "--drop", "Description,g9", match="drop: no column 'g9'")
    refuses("predict", run_folder, new, "--drop", "name", match="are ignored anyway")


@pytest.mark.parametrize("address", ["https://example.org/data.csv", "s3://bucket/data.parquet"])
def test_an_address_is_no_file(address, run_folder, refuses):
    refuses("fit", address, "--target", "y", match=f"{address} is an address")
    refuses("predict", run_folder, address, match=f"{address} is an address")


@pytest.mark.parametrize("name", ["data.json", "data.jsonl", "data", "data.json.gz"])
@pytest.mark.parametrize("text", ['{"a": [1, 2]}', '[{"a": 1},\n {"a": 2}]', "[[1, 2], [3, 4]]"])
def test_json_is_no_table(name, text, tmp_path, refuses):
    raw = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    refuses("fit", tmp_path / name, "--target", "a", match="is JSON, not a table")


def test_names_with_commas_are_written_with_a_backslash(tmp_path, tamis, table, refuses):
    labels = ["ill, badly" if label == "ill" else label for label in LABELS]
    rows = [[*row, label] for row, label in zip(make_matrix(), labels, strict=True)]
    data = write_csv(tmp_path / "data.csv", ["age, years", "MYC", "KRAS", "RB1", "y"], rows)
    words = ["fit", data, "--target", "y", *FAST]
    for option in ("--keep", "--subgroups"):
        refuses(*words, option, "age, years", match=r"write \, for a comma in a name")
    words += ["--keep", r"MYC,age\, years", "--misclassification", "ill, badly:well=3"]
    code, _, err = tamis(*words, "-o", tmp_path / "run")
    assert code == 0, err
    kept = json.loads((tmp_path / "run" / "run.json").read_text())["keep"]
    assert kept == ["MYC", "age, years"]
    predicted = table("predict", tmp_path / "run", data, "--priors", "ill, badly=0.5,well=0.5")
    assert {row["prediction"] for row in predicted} == {"ill, badly", "well"}


@pytest.fixture(scope="module")
def spaced(tmp_path_factory):
    """A table with spaces and commas in names, and two patients that occur twice."""
    folder = tmp_path_factory.mktemp("spaced")
    X = make_matrix()
    X[1], X[5] = X[3], X[7]
    names = ["Patient ID", "TNF, soluble", "IL 6", "MYC", "stage (1-4)", "y"]
    patients = [f"P-{i}" for i in range(N_ROWS)]
    patients[1], patients[5] = patients[3], patients[7]
    stages = np.arange(N_ROWS) // 15 + 1
    stages[1], stages[5] = stages[3], stages[7]
    columns = (patients, X[:, 2], X[:, 0], X[:, 1], stages, LABELS)
    return write_csv(folder / "data.csv", names, zip(*columns, strict=True))


def test_options_in_messages_can_be_pasted_into_a_shell(spaced, tmp_path, tamis):
    code, _, err = tamis("fit", spaced, "--target", "y", *FAST, "--no-report")
    assert code == 0, err
    said = " ".join(err.split())
    assert "to use: --categorical 'Patient ID'" in said
    assert "use --groups 'Patient ID'" in said
    assert "use --categorical 'stage (1-4)'" in said


def test_names_with_commas_are_quoted_in_lists(spaced, tmp_path, tamis, refuses):
    run, other = tmp_path / "run", write_csv(tmp_path / "other.csv", ["IL 6", "z"], [[1, 2]])
    code, _, err = tamis("fit", spaced, "--target", "y", *FAST, "--no-report", "-o", run)
    assert code == 0, err
    refuses("predict", run, other, match='columns needed: "TNF, soluble"')


def test_duplicates_are_no_warning_unless_they_are_kept_apart(spaced, tamis):
    words = ["fit", spaced, "--target", "y", *FAST, "--no-report"]
    code, out, err = tamis(*words)
    assert code == 0 and "note: 2 rows repeat another row" in " ".join(out.split())
    assert "warning about the data" not in err
    code, out, err = tamis(*words, "--duplicates", "keep")
    assert code == 0 and "WARNING: 2 rows repeat another row" in " ".join(out.split())
    code, out, err = tamis(*words, "--groups", "Patient ID")
    assert code == 0 and "WARNING" not in out and "warning about the data" not in err
    assert "2 rows repeat another row of the same sample group" in " ".join(out.split())
