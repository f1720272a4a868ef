"""h5ad files, as anndata writes them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from tamis.tables import InputError, read_rows, read_table

h5py = pytest.importorskip("h5py")

N = 30
S = sparse.random_array((N, 4), density=0.5, rng=np.random.default_rng(0)).tocsr()


def put_sparse(group, matrix):
    group.attrs["encoding-type"] = f"{matrix.format}_matrix"
    group.attrs["shape"] = matrix.shape
    for part in ("data", "indices", "indptr"):
        group[part] = getattr(matrix, part)


def write(path, X=None, kind="csr"):
    with h5py.File(path / "t.h5ad", "w") as file:
        if kind == "dense":
            file["X"] = S.toarray()
        else:
            put_sparse(file.create_group("X"), S.asformat(kind))
        put_sparse(file.create_group("layers/counts"), sparse.csr_array(2 * S))
        var = file.create_group("var")
        var.attrs["_index"] = "gene"
        var["gene"] = [f"g{j}" for j in range(4)]
        obs = file.create_group("obs")
        obs.attrs["_index"] = "_index"
        obs["_index"] = [f"cell{i}" for i in range(N)]
        obs["batch"] = [f"b{i % 3}" for i in range(N)]
        obs["age"] = np.arange(N)
        types = obs.create_group("type")
        types.attrs["encoding-type"] = "categorical"
        types["codes"] = np.array([-1, *(np.arange(N - 1) % 2)], dtype=np.int8)
        types["categories"] = ["T", "B"]
        level = obs.create_group("level")
        level["values"] = np.arange(N) % 2
        level["mask"] = np.arange(N) < 4
    return path / "t.h5ad"


@pytest.mark.parametrize("kind", ["csr", "csc", "dense"])
def test_matrix_names_and_labels(tmp_path, kind):
    data = read_table(write(tmp_path, kind=kind), "type", batch="batch")
    assert data.columns.names == ["g0", "g1", "g2", "g3"]
    assert data.columns.is_sparse == (kind != "dense")
    matrix = data.columns.numeric.toarray() if data.columns.is_sparse else data.columns.numeric
    assert_array_equal(matrix, S.toarray()[1:])
    assert data.y[:3].tolist() == ["T", "B", "T"]
    assert data.ids[0] == "cell1"
    assert data.batches[0] == "b1"
    assert any("1 row without a label" in note for note in data.notes)


def test_layers_and_nullable_labels(tmp_path):
    data = read_table(write(tmp_path), "level", layer="counts")
    assert_array_equal(data.columns.numeric.toarray(), 2 * S.toarray()[4:])
    assert data.y.tolist() == [0, 1] * 13
    with pytest.raises(InputError, match="no layer 'count': it has counts"):
        read_table(tmp_path / "t.h5ad", "type", layer="count")


def test_targets_are_columns_of_obs(tmp_path):
    with pytest.raises(InputError, match="with target, such as"):
        read_table(write(tmp_path))
    with pytest.raises(InputError, match="nearest: type"):
        read_table(tmp_path / "t.h5ad", "typ")


def test_rows_come_in_chunks(tmp_path):
    found = list(
        read_rows(write(tmp_path), ["g2", "g0"], {}, chunk_rows=7, extra=["type", "ids", "none"])
    )
    assert len(found) == 5
    both = sparse.vstack([table.numeric for table, _ in found]).toarray()
    assert_array_equal(both, S.toarray()[:, [2, 0]])
    assert found[0][1]["type"][:2].tolist() == [None, "T"]
    assert found[0][1]["ids"][0] == "cell0"
    assert set(found[0][1]) == {"type", "ids"}


def test_old_files_keep_categories_beside(tmp_path):
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        file["X"] = S.toarray()
        obs = file.create_group("obs")
        obs["index"] = [f"c{i}" for i in range(N)]
        obs.attrs["_index"] = "index"
        obs["type"] = np.arange(N) % 2
        obs["__categories/type"] = ["T", "B"]
        records = np.array([(b"g%d" % j,) for j in range(4)], dtype=[("index", "S2")])
        file["var"] = records
    data = read_table(tmp_path / "t.h5ad", "type")
    assert data.y[:2].tolist() == ["T", "B"]
    assert data.columns.names == ["g0", "g1", "g2", "g3"]


@pytest.mark.parametrize(
    ("place", "values"),
    [
        ("X/indices", np.full(S.nnz, 99)),
        ("X/indices", np.zeros(3, dtype=int)),
        ("X/indptr", np.arange(N)),
        ("X/data", np.array(["a"] * S.nnz, dtype="S1")),
        ("obs/type/codes", np.full(N, 5)),
        ("obs/type/codes", np.full(N, 0.5)),
        ("obs/_index", np.array([b"a"])),
        ("var/gene", np.array([b"a"])),
    ],
)
def test_parts_that_do_not_fit_are_refused(tmp_path, place, values):
    path = write(tmp_path)
    with h5py.File(path, "a") as file:
        del file[place]
        file[place] = values
    with pytest.raises(InputError):
        read_table(path, "type")


def test_other_files_of_hdf5_are_refused(tmp_path):
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        file["data"] = [1, 2]
    with pytest.raises(InputError, match="has no X"):
        read_table(tmp_path / "t.h5ad", "type")
