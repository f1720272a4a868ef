"""Sparse centers of Spark DataFrames equal those of the same chunks on one machine."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from tamis import SparseCenterClassifier
from tamis._passes import merge_in_tree
from tamis.centers.chunks import train_passes
from tamis.spark import SparkSparseCenterClassifier
from tests.spark.frames import NAMES, frame_of

pytest.importorskip("pyspark")


def assert_same(model, expected):
    np.testing.assert_array_equal(model.class_centers_, expected.class_centers_)
    np.testing.assert_array_equal(model.gains_, expected.gains_)
    np.testing.assert_array_equal(model.support_, expected.support_)
    assert model._n_rows == expected._n_rows


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        ("columns", "l2"),
        ("columns", "l1"),
        ("array", "l2"),
        ("sparse vectors", "l2"),
        ("sparse vectors", "l1"),
    ],
)
def test_bits_of_fit_chunks(kind, metric, spark, rows):
    X, y = rows
    data, chunks = frame_of(spark, X, y, 5, kind)
    assert len(chunks) == 5
    if kind == "sparse vectors":
        chunks = [(sparse.csr_array(part), *others) for part, *others in chunks]
    expected = SparseCenterClassifier(2, metric=metric).fit_chunks([c[:2] for c in chunks])
    features = NAMES if kind == "columns" else "features"
    model = SparkSparseCenterClassifier(2, metric=metric, features=features).fit(data)
    assert_same(model.to_local(), expected)
    found = model.predict_proba(data).toPandas()
    np.testing.assert_array_equal(found["prediction"], expected.predict(X))
    np.testing.assert_allclose(
        np.stack(found["probability"]), expected.predict_proba(X), rtol=1e-12
    )
    if kind == "columns":
        assert model.to_local().feature_names_in_.tolist() == NAMES


class Nested:
    """Chunks of partitions, merged in each partition first."""

    feature_names = None

    def __init__(self, partitions):
        self.partitions = partitions

    def run(self, task, merge):
        return merge_in_tree(
            (
                merge_in_tree((task("", *chunk) for chunk in part), merge)
                for part in self.partitions
            ),
            merge,
        )


def test_several_batches_in_a_partition(spark, rows):
    X, y = rows
    weights = np.random.default_rng(1).uniform(1, 4, size=200)
    data, chunks = frame_of(spark, X, y, 3, "array", weights)
    partitions = [
        [tuple(part[i : i + 7] for part in chunk) for i in range(0, len(chunk[1]), 7)]
        for chunk in chunks
    ]
    local = SparseCenterClassifier(2)
    train_passes(local, Nested(partitions), None, 2e8)
    expected = SparseCenterClassifier(2).fit_chunks(chunks)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 7)
    try:
        model = SparkSparseCenterClassifier(2, weight="weight").fit(data).to_local()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    np.testing.assert_array_equal(model.gains_, local.gains_)
    np.testing.assert_array_equal(model.support_, expected.support_)


def test_many_partitions_some_of_them_empty(spark, rows):
    """More summaries than the driver takes are merged on executors, in the same tree."""
    X, y = rows
    X = X + np.random.default_rng(2).normal(size=X.shape)
    data, chunks = frame_of(spark, X, y, 24, "array")
    keep = [i % 4 > 0 for i in range(24)]
    data = data.where("spark_partition_id() % 4 > 0")
    chunks = [chunk[:2] for chunk, is_kept in zip(chunks, keep, strict=True) if is_kept]
    expected = SparseCenterClassifier(2).fit_chunks(chunks)
    assert_same(SparkSparseCenterClassifier(2).fit(data).to_local(), expected)


def test_large_summaries_travel_in_pieces(spark):
    """One summary is larger than one row may be."""
    from pyspark.ml.linalg import Vectors

    n_features = 150_000
    places = np.random.default_rng(3).integers(n_features, size=(34, 5))
    places[:, 0] = 7
    y = np.arange(34) % 2
    vectors = [
        Vectors.sparse(n_features, {int(j): float(j + 1 + label) for j in row})
        for row, label in zip(places, y, strict=True)
    ]
    table = list(zip(vectors, y.tolist(), strict=True))
    data = spark.sparkContext.parallelize(table, 17).toDF(["features", "label"])
    X = sparse.vstack(
        [
            sparse.csr_array((v.values, v.indices, [0, len(v.values)]), shape=(1, n_features))
            for v in vectors
        ]
    ).tocsr()
    chunks = [(X[i : i + 2], y[i : i + 2]) for i in range(0, 34, 2)]
    expected = SparseCenterClassifier(2).fit_chunks(chunks)
    assert_same(SparkSparseCenterClassifier(2).fit(data).to_local(), expected)


@pytest.mark.parametrize(
    "labels",
    [["x", "yy", "zzz"], [False, True, True]],
    ids=["str", "bool"],
)
def test_labels_come_back_in_their_type(labels, spark, rows):
    X, y = rows
    words = [labels[code] for code in y]
    table = [([*map(float, row)], word, "kept") for row, word in zip(X, words, strict=True)]
    data = spark.createDataFrame(table, ["features", "label", "other.name"])
    model = SparkSparseCenterClassifier().fit(data)
    assert model.classes_.tolist() == sorted(set(labels))
    found = model.predict(data)
    assert found.columns == ["features", "label", "other.name", "prediction"]
    assert found.schema["prediction"].dataType == data.schema["label"].dataType
    answers = found.collect()
    expected = SparseCenterClassifier().fit(X, np.array(words)).predict(X)
    assert [row.prediction for row in answers] == expected.tolist()
    assert {row["other.name"] for row in answers} == {"kept"}


def test_dense_and_sparse_vectors_in_one_batch_and_their_names(spark, rows):
    from pyspark.ml.feature import VectorAssembler

    X, y = rows
    columns = list("abcdef")
    table = [(*map(float, row), int(label)) for row, label in zip(X, y, strict=True)]
    data = spark.createDataFrame(table, [*columns, "label"])
    data = VectorAssembler(inputCols=columns, outputCol="features").transform(data)
    kinds = {type(row.features).__name__ for row in data.select("features").collect()}
    assert kinds == {"DenseVector", "SparseVector"}
    model = SparkSparseCenterClassifier(2, metric="l1", keep=["e"]).fit(data).to_local()
    expected = SparseCenterClassifier(2, metric="l1", keep=[4]).fit(X, y)
    np.testing.assert_array_equal(model.class_centers_, expected.class_centers_)
    assert model.feature_names_in_.tolist() == columns


@pytest.mark.parametrize("module", ["centers", "primal_dual"])
def test_the_example_of_the_class_runs(module, spark, capsys):
    result = doctest.testmod(import_module(f"tamis.spark.{module}"))
    assert (result.failed, result.attempted > 5) == (0, True), capsys.readouterr().out


def test_the_example_of_the_page_runs(spark):
    page = (Path(__file__).parents[2] / "docs" / "large_data.md").read_text(encoding="utf-8")
    block = re.search(r"^## On Spark$.*?```python\n(.*?)```", page, re.DOTALL | re.MULTILINE)
    values = {}
    exec(block.group(1), values)
    assert values["predicted"].columns[-2:] == ["prediction", "probability"]
    assert values["predicted"].count() == values["data"].count()
