"""The same table in every format, some rows at a time."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from tamis import SparseCenterClassifier, read_chunks
from tamis.tables import InputError

h5py = pytest.importorskip("h5py")

NAMES = ["a", "b<", "c d", "e"]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = np.array(["ill", "well"])[np.arange(31) % 2]
    X = rng.integers(0, 5, size=(31, 4)) * (rng.random((31, 4)) < 0.6) * 1.0
    X[:, 1] += 3 * (y == "ill")
    X[0, -1] = 1.0  # svmlight files end with the last feature that occurs
    return X, y


def write_npy(path, X, y):
    np.save(path / "X.npy", X)
    np.save(path / "y.npy", y)
    return path / "X.npy", {"labels": path / "y.npy"}


def write_npz(path, X, y):
    for part in range(3):
        rows = slice(part * 11, (part + 1) * 11)
        np.savez(path / f"part{part}.npz", X=X[rows], y=y[rows], feature_names=NAMES)
    return str(path / "part*.npz"), {}


def write_parquet(path, X, y):
    columns = dict(zip(NAMES, X.T, strict=True)) | {"class": y}
    parquet.write_table(pa.table(columns), path / "t.parquet", row_group_size=12)
    return path / "t.parquet", {"target": "class"}


def write_csv(path, X, y):
    lines = [",".join([*NAMES, "class"])]
    lines += [",".join([*map(str, row), label]) for row, label in zip(X.tolist(), y, strict=True)]
    (path / "t.csv").write_text("\n".join(lines) + "\n")
    return path / "t.csv", {"target": "class"}


def write_svmlight(path, X, y):
    dump_svmlight_file(X, (y == "ill").astype(int), str(path / "t.svm"), zero_based=True)
    return path / "t.svm", {}


def write_h5ad(path, X, y, is_sparse=True):
    with h5py.File(path / "t.h5ad", "w") as file:
        if is_sparse:
            matrix, group = sparse.csr_array(X), file.create_group("X")
            group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", X.shape
            for name in ("data", "indices", "indptr"):
                group[name] = getattr(matrix, name)
        else:
            file["X"] = X
        obs, var = file.create_group("obs"), file.create_group("var")
        obs.attrs["_index"] = var.attrs["_index"] = "_index"
        obs["_index"] = [f"cell{i}" for i in range(len(y))]
        obs["class"], var["_index"] = [str(v) for v in y], NAMES
    return path / "t.h5ad", {"target": "class"}


def write_dense_h5ad(path, X, y):
    return write_h5ad(path, X, y, is_sparse=False)


def write_arrow(path, X, y):
    return pa.table(dict(zip(NAMES, X.T, strict=True)) | {"class": y}), {"target": "class"}


WRITERS = [
    write_npy,
    write_npz,
    write_parquet,
    write_csv,
    write_svmlight,
    write_h5ad,
    write_dense_h5ad,
    write_arrow,
]


@pytest.mark.parametrize("write", WRITERS)
def test_same_rows_and_model(write, rows, tmp_path):
    X, y = rows
    source, options = write(tmp_path, X, y)
    chunks = read_chunks(source, **options, chunk_rows=7)
    for _ in range(2):  # can be read again
        parts = list(chunks)
        assert len(parts) > 2
        read = np.vstack([p.toarray() if sparse.issparse(p) else p for p, _ in parts])
        np.testing.assert_array_equal(read, X)
        labels = np.concatenate([labels for _, labels in parts])
        if write is write_svmlight:
            labels = np.where(labels == 1, "ill", "well")
        assert labels.tolist() == y.tolist()
    if write not in (write_npy, write_svmlight):
        assert chunks.feature_names == NAMES
    whole = SparseCenterClassifier(2, metric="l1").fit(X, y)
    model = SparseCenterClassifier(2, metric="l1").fit_chunks(chunks)
    np.testing.assert_array_equal(model.support_, whole.support_)
    if chunks.feature_names == NAMES:
        assert "b<" in model.get_feature_names_out()


def test_column_of_npy_as_labels(rows, tmp_path):
    X, y = rows
    np.save(tmp_path / "t.npy", np.column_stack([X, y == "ill"]))
    X0, y0 = next(iter(read_chunks(tmp_path / "t.npy", -1, chunk_rows=5)))
    assert X0.shape == (5, 4)
    assert y0.tolist() == (y[:5] == "ill").tolist()


def test_some_columns(rows, tmp_path):
    source, options = write_parquet(tmp_path, *rows)
    chunks = read_chunks(source, **options, columns=["e", "a"])
    np.testing.assert_array_equal(next(iter(chunks))[0], rows[0][:, [3, 0]])


def test_reader_that_can_be_read_once(rows):
    table, options = write_arrow(None, *rows)
    chunks = read_chunks(table.to_reader(), **options)
    assert SparseCenterClassifier(1).fit_chunks(chunks).feature_names_in_[1] == "b<"
    with pytest.raises(InputError, match="only once"):
        list(chunks)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "clas"}, "no column 'clas'"),
        ({"target": None}, "name the column"),
        ({"columns": ["a", "zz"]}, "no column 'zz'"),
        ({"columns": ["a", "class"], "target": "b<"}, "not numbers"),
        ({"chunk_rows": 0}, "at least 1"),
        ({"labels": [1, 2]}, "2 labels"),
    ],
)
@pytest.mark.parametrize("write", [write_parquet, write_csv, write_arrow])
def test_nonsense(write, change, message, rows, tmp_path):
    source, options = write(tmp_path, *rows)
    if "labels" in change:
        change = change | {"columns": NAMES}
    with pytest.raises(InputError, match=message):
        list(read_chunks(source, **(options | change)))


def test_wrong_sources(tmp_path):
    with pytest.raises(InputError, match="no file matches"):
        read_chunks(str(tmp_path / "*.npz"))
    with pytest.raises(InputError, match="needs a path"):
        read_chunks(5)
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(InputError, match="table of numbers"):
        read_chunks(tmp_path / "one.npy", labels=[1, 2, 3])


@pytest.mark.parametrize("labels", ["y", "t.csv"])
def test_a_column_named_as_labels_is_told_to_be_the_target(labels, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,b\n")
    with pytest.raises(ValueError, match=f"labels='{labels}' is not .* write target='{labels}'"):
        read_chunks("t.csv", labels=labels)


def test_kept_features_by_name(rows, tmp_path):
    source, options = write_csv(tmp_path, *rows)
    for metric in ("l2", "l1"):
        model = SparseCenterClassifier(1, metric=metric, keep=["c d"])
        model.fit_chunks(read_chunks(source, **options, chunk_rows=7))
        assert "c d" in model.get_feature_names_out()


def test_integer_labels_of_parquet_stay_integers(tmp_path):
    table = pa.table({"x": [0.0, 1.0, 0.1, 0.9], "y": [0, 1, 0, 1]})
    parquet.write_table(table, tmp_path / "t.parquet")
    model = SparseCenterClassifier(1).fit_chunks(read_chunks(tmp_path / "t.parquet", "y"))
    assert model.classes_.dtype.kind == "i"
    large = pa.table({"x": [2**60, 1, 2, 3], "y": [0, 1, 0, 1]})
    with pytest.raises(InputError, match="column 'x' holds integers beyond"):
        next(iter(read_chunks(large, "y")))


@pytest.mark.parametrize("kind", ["categorical", "masked"])
def test_missing_labels_of_h5ad_are_an_error(tmp_path, kind):
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        file["X"] = np.eye(4)
        file["obs/_index"] = np.arange(4).astype("S2")
        labels = file.create_group("obs/y")
        parts = {
            "categorical": {"codes": [0, 1, -1, 1], "categories": [b"p", b"q"]},
            "masked": {"values": [0, 1, 0, 1], "mask": [False, False, True, False]},
        }
        for name, values in parts[kind].items():
            labels[name] = np.array(values)
    with pytest.raises(InputError, match="column 'y' has missing labels"):
        list(read_chunks(tmp_path / "t.h5ad", "y"))
