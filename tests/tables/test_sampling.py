"""Samples of the rows of a file: the same whatever the chunks, whole groups, all classes."""

from collections import Counter

import numpy as np
import pytest
from scipy import sparse

from tamis.paths.hashing import Sketch
from tamis.tables import read_table
from tamis.tables.columns.missing import MissingWords
from tamis.tables.formats.registry import open_reader
from tamis.tables.formats.sampling import SampleSurvey
from tamis.tables.reading.row_stream import read_header, survey_rows


def survey(labels, groups=None, size=500, step=1000):
    found = SampleSurvey(size, 3, MissingWords())
    for start in range(0, len(labels), step):
        rows = slice(start, start + step)
        found.add(labels[rows], None if groups is None else groups[rows])
    return found


def rows_in(sample, labels, groups=None):
    columns = {"y": labels, "g": groups}
    return np.flatnonzero(sample(0, len(labels), columns.__getitem__))


@pytest.fixture(scope="module")
def labels():
    labels = np.array(["a", "b"], dtype=object)[np.random.default_rng(0).integers(0, 2, 20_000)]
    labels[:7] = "rare"
    labels[100:400] = None
    labels[400:410] = "NA"
    return labels


def test_the_sample_does_not_depend_on_chunks_and_has_the_size(labels):
    found = [rows_in(survey(labels, step=n).draw("y", None), labels) for n in (77, 20_000)]
    np.testing.assert_array_equal(*found)
    counts = Counter(labels[found[0]].tolist())
    assert set(counts) == {"a", "b", "rare"}  # rows without a label are not used
    assert counts["rare"] == 4  # half of them, the rest can be used for verification
    assert 500 <= found[0].size <= 504
    # Chunks of any size say the same of each row.
    sample = survey(labels).draw("y", None)
    parts = [sample(s, 130, lambda name, s=s: labels[s : s + 130]) for s in range(0, 13_000, 130)]
    np.testing.assert_array_equal(
        np.flatnonzero(np.concatenate(parts)), found[0][found[0] < 13_000]
    )


def test_rows_are_drawn_evenly(labels):
    rows = rows_in(survey(labels, size=4000).draw("y", None), labels)
    assert np.abs(np.histogram(rows, 10, (0, 20_000))[0] - 400).max() < 80


def test_groups_are_kept_whole(labels):
    groups = np.array([f"p{i // 13}" for i in range(labels.size)], dtype=object)
    sample = survey(labels, groups).draw("y", "g")
    rows = rows_in(sample, labels, groups)
    labelled = np.array([label not in (None, "NA") for label in labels])
    chosen = set(groups[rows])
    whole = np.flatnonzero(np.isin(groups.astype(str), sorted(chosen)) & labelled)
    np.testing.assert_array_equal(rows, whole)
    assert 400 < rows.size < 560 and "rare" in labels[rows]


def test_large_groups_do_not_fit(labels):
    groups = np.array(["north", "south", "east"], dtype=object)[np.arange(labels.size) % 3]
    assert not survey(labels, groups).has_small_groups
    assert survey(labels, groups, size=20_000).has_small_groups


def test_all_rows_need_no_sample(labels):
    assert survey(labels[:600], size=600).draw("y", None) is None


def test_distinct_numbers_are_counted_or_estimated():
    numbers = np.random.default_rng(1).integers(0, 2**64, 50_000, dtype=np.uint64)
    twice = np.concatenate([numbers, numbers[:1000]])
    exact = Sketch(60_000).add(twice[:30_000]).merge(Sketch(60_000).add(twice[30_000:]))
    assert exact.is_complete and exact.n_distinct() == 50_000
    assert (exact.counts == 2).sum() == 1000
    assert abs(Sketch(2_000).add(twice).n_distinct() / 50_000 - 1) < 0.1


def write(path, X, words, labels):
    """The same table in each format that can be streamed; a late word in a column of CSV."""
    if path.suffix == ".csv":
        late = X[:, 0].astype(object)
        late[len(late) - 5] = "n.a."
        rows = zip(late, *X[:, 1:].T, words, labels, strict=True)
        text = ["late,b,c,word,y", *(",".join(map(str, row)) for row in rows)]
        path.write_text("\n".join(text))
    elif path.suffix == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        columns = {"a": X[:, 0], "b": X[:, 1], "flag": X[:, 2] > 0, "word": words, "y": labels}
        parquet.write_table(pa.table(columns), path, row_group_size=150)
    elif path.suffix == ".npy":
        np.save(path, np.column_stack([X, labels == "p"]))
    elif path.suffix == ".svm":
        from sklearn.datasets import dump_svmlight_file

        dump_svmlight_file(sparse.csr_array(X), (labels == "p").astype(int), str(path))
    else:
        import h5py

        with h5py.File(path, "w") as file:
            stored = sparse.csr_array(np.where(X > 0, X, 0))
            file["X/data"], file["X/indices"] = stored.data, stored.indices
            file["X/indptr"] = stored.indptr
            file["X"].attrs["encoding-type"], file["X"].attrs["shape"] = "csr_matrix", X.shape
            file["obs/y"] = list(labels)
            file["obs/word"] = [f"p{i // 10}" for i in range(len(X))]
    return path


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy", "svm", "h5ad"])
def test_the_rows_of_a_sample_are_those_of_the_table(suffix, tmp_path):
    if suffix in ("csv", "parquet"):
        pytest.importorskip("pyarrow")
    if suffix == "h5ad":
        pytest.importorskip("h5py")
    rng = np.random.default_rng(2)
    X = np.round(rng.normal(size=(600, 3)), 3)
    labels = np.array(["p", "q"], dtype=object)[(X[:, 1] > 0).astype(int)]
    words = np.array(["red", "green", "blue"], dtype=object)[rng.integers(0, 3, 600)]
    path = write(tmp_path / f"t.{suffix}", X, words, labels)
    target = {"npy": "-1", "svm": None}.get(suffix, "y")
    options = {"target": target, "groups": "word" if suffix == "h5ad" else None}
    header = read_header(open_reader(path), options)
    sample = survey_rows(path, options, header, 100, 0).draw(header.target, header.groups)
    some = read_table(path, keep_rows=sample, **options)
    whole = read_table(path, **options)
    column = whole.y.astype(str) if suffix in ("csv", "parquet", "h5ad") else whole.y
    rows = rows_in(replace_names(sample), column, whole.groups)
    expected = whole.take(rows)
    assert 90 <= some.n_rows < 500
    assert some.columns.names == expected.columns.names and some.kinds == expected.kinds
    found, wanted = some.columns.numeric, expected.columns.numeric
    if sparse.issparse(found):
        found, wanted = found.toarray(), wanted.toarray()
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(some.y, expected.y)
    for name, values in expected.columns.others.items():
        assert some.columns.others[name].tolist() == values.tolist()


def replace_names(sample):
    """The sample for columns called y and g."""
    from dataclasses import replace

    return replace(sample, target="y", groups=None if sample.groups is None else "g")
