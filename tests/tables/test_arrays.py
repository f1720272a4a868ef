"""npz, npy and svmlight files."""

import gzip

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from tamis.tables import InputError, read_table

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 3)).astype(np.float32)
Y = np.array(["a", "b", "c"] * 4)


def test_npz_has_its_own_labels_names_and_ids(tmp_path):
    np.savez(
        tmp_path / "t.npz", X=X, y=Y, level=np.arange(12) % 2, feature_names=["p", "q", "r"],
        ids=[f"s{i}" for i in range(12)], site=np.arange(12) // 6,
    )  # fmt: skip
    data = read_table(tmp_path / "t.npz", batch="site")
    assert_array_equal(data.columns.numeric, X)
    assert data.columns.numeric.dtype == np.float32
    assert data.columns.names == ["p", "q", "r"]
    assert data.y.tolist() == Y.tolist()
    assert data.ids[1] == "s1"
    assert data.batches[-1] == "1"
    assert data.target == "y"
    assert read_table(tmp_path / "t.npz", "level").y.tolist() == [0, 1] * 6
    with pytest.raises(InputError, match="nearest: level"):
        read_table(tmp_path / "t.npz", "levels")


def test_npz_booleans_stay(tmp_path):
    np.savez(tmp_path / "t.npz", X=X, y=np.arange(12) % 2 == 0)
    assert read_table(tmp_path / "t.npz").y.dtype == bool


def test_npz_says_which_columns_hold_codes(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.arange(24).reshape(12, 2) % 5, y=Y, categorical=[1])
    data = read_table(tmp_path / "t.npz")
    assert data.kinds == {"x1": "categorical"}
    assert data.columns.others["x1"][:3].tolist() == ["1", "3", "0"]


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_npz_needs_a_file_of_labels(tmp_path, kind):
    S = sparse.random_array((12, 5), density=0.4, rng=rng).asformat(kind)
    sparse.save_npz(tmp_path / "t.npz", S)
    with pytest.raises(InputError, match="with target"):
        read_table(tmp_path / "t.npz")
    (tmp_path / "y.txt").write_text("\n".join(Y))
    data = read_table(tmp_path / "t.npz", target_file=tmp_path / "y.txt")
    assert data.columns.is_sparse
    assert_array_equal(data.columns.numeric.toarray(), S.toarray())
    other = read_table(
        tmp_path / "t.npz", target_file=tmp_path / "y.txt", transpose=False, require_target=False
    )
    assert other.columns.numeric_names.tolist() == ["x0", "x1", "x2", "x3", "x4"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": X, "b": X}, "no array X"),
        ({"X": X[0], "y": Y}, "2 dimensions"),
        ({"X": X, "y": Y[:5]}, "labels y of shape"),
        ({"X": X, "y": Y, "feature_names": ["a"]}, "feature names of shape"),
        ({"X": X.astype(complex), "y": Y}, "must hold numbers"),
        ({"X": np.empty((0, 3)), "y": Y[:0]}, "empty"),
    ],
)
def test_npz_that_cannot_be_a_table(tmp_path, arrays, message):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "t.npz")


def test_pickled_objects_are_not_loaded(tmp_path):
    np.savez(tmp_path / "t.npz", X=X, y=np.array([{}] * 12, dtype=object))
    with pytest.raises(InputError, match="allow_pickle"):
        read_table(tmp_path / "t.npz")


def test_npy_is_mapped(tmp_path):
    matrix = np.column_stack([X.astype(float), np.arange(12) % 3])
    np.save(tmp_path / "t.npy", matrix)
    for target in (-1, "x3", "3"):
        data = read_table(tmp_path / "t.npy", target)
        assert_array_equal(data.columns.numeric, matrix[:, :3])
        assert data.y.tolist() == [0, 1, 2] * 4
    assert isinstance(data.columns.numeric, np.memmap)


def test_npy_with_named_columns(tmp_path):
    records = np.array(
        [(i / 2, i, "ab"[i % 2]) for i in range(12)], dtype=[("u", "f8"), ("v", "i4"), ("y", "U1")]
    )
    np.save(tmp_path / "t.npy", records)
    data = read_table(tmp_path / "t.npy", "y", include=["u"])
    assert data.columns.names == ["u", "v"]
    assert data.y.tolist() == ["a", "b"] * 6


def test_npy_and_npz_can_lie_the_other_way_round(tmp_path):
    np.save(tmp_path / "t.npy", X.T)
    (tmp_path / "y.txt").write_text("\n".join(Y))
    data = read_table(tmp_path / "t.npy", transpose=True, target_file=tmp_path / "y.txt")
    assert_array_equal(data.columns.numeric, X)
    np.savez(tmp_path / "t.npz", X=X.T, y=Y)
    assert_array_equal(read_table(tmp_path / "t.npz", transpose=True).columns.numeric, X)


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("name", ["t.svm", "t.libsvm", "t.svmlight", "t.txt", "t.svm.gz"])
def test_svmlight_features_are_called_by_their_numbers(tmp_path, name, zero_based):
    S = sparse.csr_array(rng.integers(0, 3, size=(12, 5)) + np.eye(12, 5))
    y = np.arange(12) % 3
    dump_svmlight_file(S, y, str(tmp_path / "plain"), zero_based=zero_based)
    content = (tmp_path / "plain").read_bytes()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    data = read_table(tmp_path / name)
    assert data.target == "target"
    assert data.y.tolist() == y.tolist()
    start = 0 if zero_based else 1
    assert data.columns.names == [f"f{j + start}" for j in range(5)]
    np.testing.assert_allclose(data.columns.numeric.toarray(), S.toarray())


def test_svmlight_with_a_huge_number_keeps_only_what_is_there(tmp_path):
    (tmp_path / "t.svm").write_text("0 1:2 2000000000:1\n1 1:3\n0 1:1\n1 4:1\n")
    data = read_table(tmp_path / "t.svm")
    assert data.columns.names == ["f1", "f4", "f2000000000"]


def test_svmlight_that_is_none(tmp_path):
    (tmp_path / "t.svm").write_text("hello world\n")
    with pytest.raises(InputError, match=r"cannot read t\.svm as svmlight"):
        read_table(tmp_path / "t.svm")
