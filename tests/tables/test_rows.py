"""Rows for a model: columns by name, in chunks."""

import gzip

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tamis.tables import InputError, read_rows, read_table

N = 100
TEXT = "id,color,code,u,note,y\n" + "".join(
    f"r{i},{['red', 'blue', 'NA'][i % 3]},{i % 3}.0,{i / 4},some words {i},{i % 2}\n"
    for i in range(N)
)
KINDS = {"color": "categorical", "code": "categorical", "note": "text"}


@pytest.fixture
def path(tmp_path):
    (tmp_path / "t.csv").write_text(TEXT)
    return tmp_path / "t.csv"


def joined(found):
    found = list(found)
    numeric = np.concatenate([table.numeric for table, _ in found])
    names = found[0][0].others
    others = {name: np.concatenate([table.others[name] for table, _ in found]) for name in names}
    return numeric, others


@pytest.mark.parametrize("chunk_rows", [1, 7, 1000])
@pytest.mark.parametrize("packed", [False, True])
def test_rows_are_those_of_training(path, chunk_rows, packed):
    options = {"text": ["note"], "categorical": ["code"], "drop": ["id"]}
    data = read_table(path, "y", **options)
    assert data.kinds == KINDS
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    columns = data.columns.names
    numeric, others = joined(read_rows(path, columns, KINDS, chunk_rows=chunk_rows))
    assert_array_equal(numeric, data.columns.numeric)
    for name in KINDS:
        assert others[name].tolist() == data.columns.others[name].tolist()


def test_order_and_extras(path):
    table, extras = next(iter(read_rows(path, ["u", "code"], {}, extra=["id", "y", "absent"])))
    assert table.numeric_names.tolist() == ["u", "code"]
    assert table.numeric[1].tolist() == [0.25, 1.0]
    assert extras["id"][1] == "r1"
    assert extras["y"][1] == "1"
    assert set(extras) == {"id", "y"}


def test_missing_columns_are_named(path):
    with pytest.raises(
        InputError, match=r"lacks 2 of the 3 columns needed: colour \(.*color\?\), v"
    ):
        list(read_rows(path, ["u", "colour", "v"], {}))


def test_words_among_numbers_are_counted(tmp_path):
    (tmp_path / "t.csv").write_text("u,v\n1,x\n2,\n<3,7\n")
    notes = []
    (table, _), = read_rows(tmp_path / "t.csv", ["v", "u"], {}, notes=notes)  # fmt: skip
    assert_array_equal(table.numeric, [[np.nan, 1], [np.nan, 2], [7, np.nan]])
    assert notes == ["words among numbers, read as missing: v (1), u (1)"]


def test_infinite_numbers_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("u,v\n1,x\ninf,\n")
    with pytest.raises(InputError, match="column u"):
        list(read_rows(tmp_path / "t.csv", ["u"], {}))


def test_files_without_header(tmp_path):
    (tmp_path / "t.csv").write_text("1,2\n3,4\n")
    (table, _), = read_rows(tmp_path / "t.csv", ["x1"], {})  # fmt: skip
    assert table.numeric.ravel().tolist() == [2, 4]


def test_one_row_with_words_has_a_header(tmp_path):
    (tmp_path / "t.csv").write_text("1,b\n2,c\n")
    (table, _), = read_rows(tmp_path / "t.csv", ["1"], {})  # fmt: skip
    assert table.numeric.ravel().tolist() == [2]


def test_arrays_and_sparse_text(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    np.save(tmp_path / "t.npy", X)
    numeric, _ = joined(read_rows(tmp_path / "t.npy", ["x2", "x0"], {}, chunk_rows=3))
    assert_array_equal(numeric, X[:, [2, 0]])
    np.savez(tmp_path / "t.npz", X=X, y=[0, 1, 0, 1])
    found = list(read_rows(tmp_path / "t.npz", ["x1"], {"x1": "categorical"}, extra=["y"]))
    assert found[0][0].others["x1"].tolist() == ["1", "4", "7", "10"]
    assert found[0][1]["y"].tolist() == [0, 1, 0, 1]
    (tmp_path / "t.svm").write_text("1 1:2 3:4\n-1 2:1\n1 9:1\n")
    found = list(
        read_rows(tmp_path / "t.svm", ["f3", "f1", "f7"], {}, chunk_rows=2, extra=["target"])
    )
    assert [table.n_rows for table, _ in found] == [2, 1]
    assert found[0][0].numeric.toarray().tolist() == [[4, 2, 0], [0, 0, 0]]
    assert found[0][1]["target"].tolist() == [1, -1]


def test_features_in_rows(tmp_path):
    (tmp_path / "t.csv").write_text("gene,s1,s2\ng1,1,2\ng2,3,4\n")
    found = list(read_rows(tmp_path / "t.csv", ["g2"], {}, transpose=True, extra=["ids"]))
    assert found[0][0].numeric.ravel().tolist() == [3, 4]
    assert found[0][1]["ids"].tolist() == ["s1", "s2"]


def test_features_of_large_numbers_take_no_memory(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("1 3:0.5 7:2 2000000000:1\n0 7:3 2000000001:4\n1 1:9\n")
    ((table, extras),) = read_rows(path, ["f2000000000", "f3", "f7"], extra=["target"])
    assert_array_equal(table.numeric.toarray(), [[1, 0.5, 2], [0, 0, 3], [0, 0, 0]])
    assert extras["target"].tolist() == [1, 0, 1]
