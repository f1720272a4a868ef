"""Integers that floating-point numbers would merge, and labels that are bytes."""

import csv
from types import SimpleNamespace

import h5py
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tamis.cli import main
from tamis.cli.ask_command import _choice
from tests.cli.conftest import few, write_csv

N_ROWS = 40
LARGE = 2**60  # floating-point numbers are 256 apart here
RNG = np.random.default_rng(0)
CODES = np.arange(N_ROWS) % 2
AGE = np.round(RNG.normal(size=N_ROWS) + 2.0 * CODES, 3)
ACCOUNT = LARGE + np.arange(N_ROWS)
LABELS = np.array(["well", "ill"])[CODES]


def as_csv(path, name, values):
    rows = zip(AGE.tolist(), values.tolist(), LABELS.tolist(), strict=True)
    return write_csv(path.with_suffix(".csv"), ["age", name, "y"], rows)


def as_transposed_csv(path, name, values):
    with open(path.with_suffix(".csv"), "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["feature", *(f"s{i}" for i in range(N_ROWS))])
        for head, row in (("age", AGE), (name, values), ("y", LABELS)):
            writer.writerow([head, *row.tolist()])
    return str(path.with_suffix(".csv"))


def as_parquet(path, name, values):
    table = pa.table({"age": AGE, name: values, "y": LABELS})
    parquet.write_table(table, path.with_suffix(".parquet"))
    return str(path.with_suffix(".parquet"))


def as_npz(path, name, values):
    X = np.column_stack([(1000 * AGE).astype(np.int64), values])
    np.savez(path.with_suffix(".npz"), X=X, y=LABELS, feature_names=np.array(["age", name]))
    return str(path.with_suffix(".npz"))


def as_records(path, name, values):
    kinds = [("age", float), (name, values.dtype), ("y", "U4")]
    records = np.empty(N_ROWS, dtype=kinds)
    records["age"], records[name], records["y"] = AGE, values, LABELS
    np.save(path.with_suffix(".npy"), records)
    return str(path.with_suffix(".npy"))


FORMATS = {
    "csv": (as_csv, []),
    "transposed": (as_transposed_csv, ["--transpose"]),
    "parquet": (as_parquet, []),
    "npz": (as_npz, []),
    "records": (as_records, []),
}
formats = pytest.mark.parametrize("kind", few(FORMATS, 2))


def fit(data, *words):
    options = [
        "--methods",
        "centers,most-frequent",
        "--repeats",
        "1",
        "--folds",
        "2",
        "--n-jobs",
        "1",
        *words,
    ]
    return main(["fit", str(data), "--target", "y", *options])


def write(kind, path, name="account", values=ACCOUNT):
    make, words = FORMATS[kind]
    return make(path, name, values), words


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("values", [ACCOUNT, -ACCOUNT, np.where(CODES, LARGE, 7)])
def test_a_feature_of_large_integers_is_refused_by_name(kind, values, tmp_path, capsys):
    data, words = write(kind, tmp_path / "data", values=values)
    assert fit(data, *words) == 2
    said = capsys.readouterr()
    assert "account holds integers beyond 9007199254740992" in said.err
    assert "--drop" in said.err
    assert not said.out


@formats
def test_large_integers_that_are_left_out_do_no_harm(kind, tmp_path, capsys):
    data, words = write(kind, tmp_path / "data")
    assert fit(data, *words, "--drop", "account") == 0
    assert "age" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("values", [ACCOUNT, LARGE + np.arange(N_ROWS) // 2])
def test_large_integers_named_like_identifiers_are_left_out(kind, values, tmp_path, capsys):
    data, words = write(kind, tmp_path / "data", "account_id", values)
    assert fit(data, *words) == 0
    assert "dropped account_id" in capsys.readouterr().err


@formats
def test_large_integers_name_groups_exactly(kind, tmp_path, capsys):
    # As numbers, all of them were one and the same.
    data, words = write(kind, tmp_path / "data", values=LARGE + np.arange(N_ROWS) // 2)
    assert fit(data, *words, "--groups", "account") == 0
    assert "age" in capsys.readouterr().out


def test_large_integers_name_rows_exactly(tmp_path, capsys):
    data, run = as_csv(tmp_path / "data", "account", ACCOUNT), tmp_path / "run"
    assert fit(data, "--id", "account", "-o", str(run)) == 0
    capsys.readouterr()
    assert main(["predict", str(run), data, "--id", "account"]) == 0
    assert str(LARGE + 7) in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_large_integers_are_categories_on_request(kind, tmp_path, capsys):
    data, words = write(kind, tmp_path / "data", values=LARGE + CODES)
    run = tmp_path / "run"
    assert fit(data, *words, "--categorical", "account", "-o", str(run)) == 0
    assert str(LARGE + 1) in (run / "features.csv").read_text(encoding="utf-8")
    capsys.readouterr()


def test_large_measurements_are_numbers(tmp_path, capsys):
    masses = np.char.mod("%.3e", 2e30 * (1 + CODES) + 1e28 * np.arange(N_ROWS))
    assert fit(as_csv(tmp_path / "data", "mass", masses)) == 0
    assert "mass" in capsys.readouterr().out


def test_the_largest_exact_integers_are_numbers(tmp_path, capsys):
    assert fit(as_csv(tmp_path / "data", "count", 2**53 - 20 * CODES - ACCOUNT % 9)) == 0
    assert "count" in capsys.readouterr().out


def test_labels_of_large_integers_are_told_apart(tmp_path, capsys):
    rows = zip(AGE.tolist(), (LARGE + CODES).tolist(), strict=True)
    run = tmp_path / "run"
    assert fit(write_csv(tmp_path / "data.csv", ["age", "y"], rows), "-o", str(run)) == 0
    new = write_csv(tmp_path / "new.csv", ["age"], [["-3.0"], ["5.0"]])
    capsys.readouterr()
    assert main(["predict", str(run), new]) == 0
    said = capsys.readouterr().out
    assert str(LARGE) in said
    assert str(LARGE + 1) in said


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_new_rows_with_large_integers_are_refused_by_name(kind, tmp_path, capsys):
    run = tmp_path / "run"
    assert fit(as_csv(tmp_path / "data", "count", 20 * CODES + ACCOUNT % 9), "-o", str(run)) == 0
    data, _ = write(kind, tmp_path / "new", "count", ACCOUNT)
    capsys.readouterr()
    assert main(["predict", str(run), data]) == 2
    assert "column count holds integers beyond" in capsys.readouterr().err


# Labels of bytes.


def as_h5ad(path, labels):
    with h5py.File(path, "w") as file:
        file["X"] = np.column_stack([AGE, AGE[::-1]])
        obs = file.create_group("obs")
        obs.attrs["_index"] = "_index"
        obs["_index"] = np.array([f"s{i}".encode() for i in range(N_ROWS)])
        obs["y"] = np.array(labels)
        obs["note"] = np.array([b"\xff"] * N_ROWS)  # without a role, so nobody minds
    return str(path)


def test_labels_of_bytes_are_text(tmp_path, capsys):
    labels = np.array(["thé".encode(), b"cola"])[CODES]
    np.savez(tmp_path / "data.npz", X=np.column_stack([AGE, AGE[::-1]]), y=labels)
    assert fit(tmp_path / "data.npz") == 0
    assert "thé" in capsys.readouterr().out
    assert fit(as_h5ad(tmp_path / "data.h5ad", labels)) == 0
    assert "thé" in capsys.readouterr().out


def test_labels_of_bytes_that_are_no_text_are_refused(tmp_path, capsys):
    labels = np.array([b"th\xe9", b"cola"])[CODES]
    np.savez(tmp_path / "data.npz", X=np.column_stack([AGE, AGE[::-1]]), y=labels)
    assert fit(tmp_path / "data.npz") == 2
    assert r"b'th\xe9' is not UTF-8 text" in capsys.readouterr().err
    assert fit(as_h5ad(tmp_path / "data.h5ad", labels)) == 2
    assert r"b'th\xe9' is not UTF-8 text" in capsys.readouterr().err


@pytest.mark.parametrize("where", ["feature", "label"])
def test_integers_of_thousands_of_digits_are_errors_of_one_line(tmp_path, capsys, where):
    long = np.array(["1" * 5_000, "2" * 5_000])[CODES]
    name, target = ("code", "y") if where == "feature" else ("y2", "y2")
    path = as_csv(tmp_path / "t", name, long)
    assert main(["fit", path, "--target", target, "--methods", "centers"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_answer_of_thousands_of_digits_is_no_number_of_a_choice():
    one = SimpleNamespace(choices=["no", "yes"], kind="categorical")
    assert _choice(one, "2") == "yes"
    assert _choice(one, "9" * 5_000) == "9" * 5_000
