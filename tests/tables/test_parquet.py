"""Parquet files."""

import datetime

import numpy as np
import pytest

from tamis.tables import InputError, read_rows, read_table

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N = 40


def write(path, **columns):
    pq.write_table(pa.table(columns), path / "t.parquet", row_group_size=16)
    return path / "t.parquet"


def test_types_of_columns_are_kept(tmp_path):
    path = write(
        tmp_path,
        u=pa.array(np.arange(N) / 7),
        v=pa.array([None if i == 3 else 100 + i for i in range(N)], pa.int64()),
        b=pa.array([i % 2 == 0 for i in range(N)]),
        c=pa.array(["red", "blue"] * 20).dictionary_encode(),
        s=pa.array([None, *["x", "z", "z"] * 13]),
        when=pa.array([datetime.date(2024, 1, 1 + i % 28) for i in range(N)]),
        nested=pa.array([[1]] * N),
        y=pa.array(["p", "q"] * 20),
    )
    data = read_table(path, "y")
    assert data.columns.numeric_names.tolist() == ["u", "v", "b"]
    assert np.isnan(data.columns.numeric[3, 1])
    assert data.columns.numeric[:2, 2].tolist() == [1, 0]
    assert data.kinds == {"c": "categorical", "s": "categorical"}
    assert data.columns.others["s"][0] is None
    assert data.y.tolist() == ["p", "q"] * 20
    assert any("when" in note and "dates" in note for note in data.notes)
    assert any("nested" in note for note in data.notes)


def test_labels_keep_their_type(tmp_path):
    u = np.arange(N) / 7
    assert read_table(write(tmp_path, u=u, y=np.arange(N) % 2 == 0), "y").y.dtype == bool
    assert read_table(write(tmp_path, u=u, y=np.arange(N) % 3), "y").y.dtype == np.int64
    y = pa.array([None, 1, 2, 2] * 10)
    assert read_table(write(tmp_path, u=u, y=y), "y").y.tolist() == [1, 2, 2] * 10


def test_numbers_can_be_categories(tmp_path):
    path = write(tmp_path, u=np.arange(N) / 7, g=np.arange(N) % 3, y=np.arange(N) % 2)
    data = read_table(path, "y", categorical=["g"])
    assert data.columns.others["g"][:4].tolist() == ["0", "1", "2", "0"]


def test_gaps_that_are_words_are_gaps_as_in_text(tmp_path):
    c = pa.array(["red", "NA", "blue", "red"] * 10)
    path = write(tmp_path, u=np.arange(N) / 7, c=c, y=np.arange(N) % 2)
    data = read_table(path, "y")
    assert data.columns.others["c"][:4].tolist() == ["red", None, "blue", "red"]
    chunks = [table.others["c"] for table, _ in read_rows(path, ["c"], {"c": "categorical"})]
    assert np.concatenate(chunks).tolist() == data.columns.others["c"].tolist()


def test_rows_come_in_chunks(tmp_path):
    path = write(tmp_path, u=np.arange(N) / 7, g=np.arange(N) % 3, y=np.arange(N) % 2)
    found = list(read_rows(path, ["g", "u"], {"g": "categorical"}, chunk_rows=12, extra=["y"]))
    assert max(table.n_rows for table, _ in found) <= 12
    assert np.concatenate([table.numeric[:, 0] for table, _ in found]).tolist() == list(
        np.arange(N) / 7
    )
    assert found[0][0].others["g"][:3].tolist() == ["0", "1", "2"]
    assert found[0][1]["y"][:3].tolist() == [0, 1, 0]
    with pytest.raises(InputError, match="lacks 1 of the 2 columns needed: w"):
        list(read_rows(path, ["u", "w"]))


def test_twice_the_same_name(tmp_path):
    columns = [pa.array([1, 2]), pa.array([["x"], ["y"]]), pa.array(["p", "q"]), pa.array([5, 7])]
    table = pa.Table.from_arrays(columns, names=["a", "b", "a", "b"])
    pq.write_table(table, tmp_path / "t.parquet")
    data = read_table(tmp_path / "t.parquet", require_target=False)
    assert data.columns.numeric.tolist() == [[1, 5], [2, 7]]
    assert data.columns.names == ["a", "b.1", "a.1"]
    (rows, _), *_ = read_rows(tmp_path / "t.parquet", ["b.1", "a.1"], {"a.1": "categorical"})
    assert rows.numeric.tolist() == [[5], [7]] and rows.others["a.1"].tolist() == ["p", "q"]
    with pytest.raises(InputError, match="several columns are called 'a'"):
        read_table(tmp_path / "t.parquet", "a")


def test_no_rows(tmp_path):
    with pytest.raises(InputError, match="no rows"):
        read_table(write(tmp_path, a=pa.array([], pa.float64())), "a")
