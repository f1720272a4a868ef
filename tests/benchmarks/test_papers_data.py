"""Loaders of the papers' files, on small files of the same form."""

import gzip

import numpy as np
import pytest
from benchmarks.papers.loaders import load_genes, load_libsvm, load_text


def write_text(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def test_texts_become_counts_of_ascii_words_of_any_length(tmp_path):
    lines = ["1\ta good good\tfilm", "0\t", "0\tcafé 2"]
    write_text(tmp_path / "text" / "mpqa.tsv.gz", lines)
    data = load_text("mpqa", tmp_path)
    assert data.feature_names.tolist() == ["2", "a", "caf", "film", "good"]
    assert data.data.toarray().tolist() == [[0, 1, 0, 1, 2], [0] * 5, [1, 0, 1, 0, 0]]
    assert data.target.tolist() == [1, 0, 0]
    assert data.texts == ["a good good\tfilm", "", "café 2"]
    assert data.is_test is None


def test_sst_leaves_the_dev_rows_out_and_marks_the_test_rows(tmp_path):
    parts = ["1\ttrain"] * 76961 + ["0\tdev"] * 872 + ["0\ttest"] * 1821
    write_text(tmp_path / "text" / "sst.tsv.gz", parts)
    data = load_text("sst", tmp_path)
    assert data.feature_names.tolist() == ["test", "train"]
    assert data.is_test.sum() == 1821 and data.is_test[-1821:].all()
    assert data.data.shape == (78782, 2) and data.target.size == 78782


def test_sst_with_other_rows_is_refused(tmp_path):
    write_text(tmp_path / "text" / "sst.tsv.gz", ["1\tgood"])
    with pytest.raises(ValueError, match="must have 79654 rows, got 1"):
        load_text("sst", tmp_path)


def test_genes_keep_their_values_labels_and_names(tmp_path):
    (tmp_path / "genes").mkdir()
    X = np.array([[1.5, -2.0], [0.0, 3.0]], dtype=np.float32)
    names = np.array(["g1", "g2"])
    np.savez(tmp_path / "genes" / "chowdary.npz", X=X, y=np.array(["a", "b"]), feature_names=names)
    np.savez(tmp_path / "genes" / "chin.npz", X=X, y=np.array(["a", "b"]))
    data = load_genes("chowdary", tmp_path)
    assert data.data.dtype == np.float64 and data.data.tolist() == X.tolist()
    assert data.target.tolist() == ["a", "b"] and data.feature_names.tolist() == ["g1", "g2"]
    assert load_genes("chin", tmp_path).feature_names is None


def test_libsvm_sets_are_whole_and_svmguide3_keeps_its_honest_rows(tmp_path):
    (tmp_path / "libsvm").mkdir()
    X = np.arange(88.0).reshape(4, 22)
    parts = {"X": X, "y": np.array([0, 1, 1, 0]), "class_names": np.array(["-1", "1"])}
    np.savez(tmp_path / "libsvm" / "heart.npz", **parts)
    rows = {"train_idx": np.array([0, 1, 2]), "test_idx": np.array([3])}
    np.savez(tmp_path / "libsvm" / "svmguide3.npz", **parts, **rows)
    heart, guide = load_libsvm("heart", tmp_path), load_libsvm("svmguide3", tmp_path)
    assert heart.data.tolist() == X.tolist() and heart.target.tolist() == [0, 1, 1, 0]
    assert heart.target_names.tolist() == ["-1", "1"]
    assert guide.data.tolist() == X[:3, :21].tolist() and guide.target.tolist() == [0, 1, 1]


def test_the_folder_comes_from_the_environment_when_not_given(tmp_path, monkeypatch):
    write_text(tmp_path / "text" / "mpqa.tsv.gz", ["1\tgood"])
    monkeypatch.setenv("TAMIS_DATA", str(tmp_path))
    assert load_text("mpqa").texts == ["good"]


def test_a_missing_file_is_named_with_its_place_and_the_remedy(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"genes/chin\.npz is missing") as caught:
        load_genes("chin", tmp_path)
    assert str(tmp_path / "genes" / "chin.npz") in str(caught.value)
    assert "data_home" in str(caught.value) and "TAMIS_DATA" in str(caught.value)
    monkeypatch.setenv("TAMIS_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(FileNotFoundError, match="from the environment variable TAMIS_DATA"):
        load_text("mpqa")
    monkeypatch.delenv("TAMIS_DATA")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="the default"):
        load_text("mpqa")


@pytest.mark.parametrize("load", [load_text, load_genes, load_libsvm])
def test_unknown_names_are_refused_with_the_known_ones(load):
    with pytest.raises(ValueError, match=r"name must be one of .* got 'nonsense'"):
        load("nonsense")
