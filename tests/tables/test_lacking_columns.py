import numpy as np
import pytest
from scipy import sparse

from tamis.tables import InputError, read_rows
from tamis.tables.errors import EmptyTableError

WANTED, KINDS = ["a", "b", "c", "w"], {"c": "categorical", "w": "categorical"}


def write(path, names):
    columns = {
        "a": np.array([1.0, 2.0]),
        "b": np.array([3.0, 4.0]),
        "c": np.array(["x", "y"], dtype=object),
    }
    columns = {name: columns[name] for name in names}
    if path.suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pa.table({k: v.tolist() for k, v in columns.items()}), path)
        return path
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(map(str, row)) for row in [tuple(columns), *rows]]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_columns_that_a_file_lacks_are_missing_in_every_row(tmp_path, name):
    path, lacking = write(tmp_path / name, ["a", "c"]), []
    ((table, _),) = read_rows(path, WANTED, KINDS, lacking=lacking)
    assert lacking == ["b", "w"]
    assert set(table.names) == set(WANTED)
    np.testing.assert_array_equal(table.select(["a"]).numeric[:, 0], [1, 2])
    assert np.isnan(table.select(["b"]).numeric).all()
    assert table.others["c"].tolist() == ["x", "y"]
    assert table.others["w"].tolist() == [None, None]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_file_without_any_of_the_columns_is_refused(tmp_path, name):
    path = write(tmp_path / name, ["a", "c"])
    with pytest.raises(InputError, match="lacks 2 of the 2"):
        list(read_rows(path, ["b", "w"], KINDS, lacking=[]))
    with pytest.raises(InputError, match="lacks 2 of the 4"):
        list(read_rows(path, WANTED, KINDS))


def test_only_names_that_look_alike_are_suggested(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("patient id,site,Age in years\nP1,Lyon,60\n")
    with pytest.raises(InputError, match=r"prediction; it has patient id, site, Age in years$"):
        list(read_rows(path, ["prediction"]))
    told = r': prediction, "Age, years" \(did you mean Age in years\?\)$'
    with pytest.raises(InputError, match=told):
        list(read_rows(path, ["prediction", "Age, years"]))


def test_names_that_are_hardly_alike_or_used_already_are_not_suggested(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("arrival time,crp,CRP (mg/l),heart rate 2\n1,2,3,4\n")
    with pytest.raises(InputError, match=r"needed: pulse; it has arrival time, crp"):
        list(read_rows(path, ["pulse", "crp"]))
    with pytest.raises(InputError, match=r": heart rate \(did you mean heart rate 2\?\)$"):
        list(read_rows(path, ["heart rate", "crp"]))
    with pytest.raises(InputError, match=r": hart rate \(did you mean heart rate 2\?\)$"):
        list(read_rows(path, ["hart rate", "crp"]))
    with pytest.raises(InputError, match=r": crp2 \(did you mean crp\?\)$"):
        list(read_rows(path, ["crp2"]))


def test_sparse_columns_are_missing_in_every_row(tmp_path):
    X = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 2.0]]))
    np.savez(
        tmp_path / "t.npz",
        data=X.data,
        indices=X.indices,
        indptr=X.indptr,
        shape=X.shape,
        format="csr",
    )
    lacking = []
    ((table, _),) = read_rows(tmp_path / "t.npz", ["x1", "x7"], lacking=lacking)
    assert lacking == ["x7"] and table.is_sparse
    np.testing.assert_array_equal(table.numeric.toarray(), [[0, np.nan], [2, np.nan]])


def test_columns_without_rows_are_an_error_of_their_own(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n")
    with pytest.raises(EmptyTableError, match="no rows"):
        list(read_rows(path, ["a"]))
