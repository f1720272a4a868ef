"""Frames that cannot be used: the message names the column, or the partition."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tamis import PrimalDualClassifier, SparseCenterClassifier
from tamis.spark import SparkSparseCenterClassifier
from tamis.spark import rows as spark_rows

pytest.importorskip("pyspark")


def source(spark, change, n_rows=40, schema="features array<double>, label int"):
    """Four partitions of rows ([number, number % 2], number % 2), which `change` may change."""

    def make(batches):
        import pyarrow as pa

        for batch in batches:
            numbers = batch.column(0).to_pylist()
            table = change([([float(i), float(i % 2)], i % 2) for i in numbers])
            features, labels = zip(*table, strict=True)
            yield pa.record_batch(
                [pa.array(features, pa.list_(pa.float64())), pa.array(labels, pa.int32())],
                names=["features", "label"],
            )

    return spark.range(0, n_rows, 1, 4).mapInArrow(make, schema)


def at_25(row):
    return lambda table: [row if pair[0][0] == 25 else pair for pair in table]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (([25.0, np.nan], 1), "Chunk 0 of partition 2: .*NaN"),
        (([25.0, None], 1), r"Chunk 0 of partition 2: Column 'features' has 1 missing .*dropna"),
        ((None, 1), r"Chunk 0 of partition 2: Column 'features' has 1 missing .*dropna"),
        (([25.0, 1.0], None), r"Chunk 0 of partition 2: Column 'label' has 1 missing .*dropna"),
        (([25.0], 1), "Chunk 0 of partition 2: Column 'features' has rows of 1 and of 2 numbers"),
    ],
    ids=["NaN", "null value", "null array", "null label", "short array"],
)
def test_a_bad_row_names_its_partition(row, message, spark):
    data = source(spark, at_25(row))
    with pytest.raises(ValueError, match=message):
        SparkSparseCenterClassifier(1).fit(data)


def test_partitions_with_other_features(spark):
    def widen(table):
        return [([*x, 0.0], y) for x, y in table] if table[0][0][0] >= 30 else table

    with pytest.raises(
        ValueError,
        match="Chunks 0 of partition 2 and 0 of partition 3 have different numbers of features: "
        "2 and 3",
    ):
        SparkSparseCenterClassifier(1).fit(source(spark, widen))


def test_an_error_in_a_prediction_names_its_partition(spark):
    model = SparkSparseCenterClassifier(1).fit(source(spark, list))
    with pytest.raises(Exception, match=r"Partition 2: .*NaN"):
        model.predict(source(spark, at_25(([25.0, np.nan], 1)))).collect()


def test_columns_are_checked_before_any_task(spark):
    data = spark.createDataFrame(
        [(1.0, "s", 2, None)], "a double, s string, y int, d decimal(5,2)"
    )
    for parameters, message in [
        ({"features": "x"}, "no column named 'x', which features names.*'a', 's', 'y', 'd'"),
        ({"features": ["a", "x"]}, "no column named 'x', which features names"),
        ({"features": "a"}, "'a' has the type double, but features must be a column of vectors"),
        ({"features": ["a", "s"]}, "'s' has the type string.*Cast"),
        ({"features": ["d"]}, r"'d' has the type decimal\(5,2\).*Cast"),
        ({"features": []}, "features is empty"),
        ({"features": ["a"], "label": "z"}, "no column named 'z', which label names"),
        ({"features": ["a"], "label": "d"}, "'d' has the type.*label must be"),
        ({"features": ["a"], "label": "y", "weight": "s"}, "'s' has the type string.*weight must"),
        ({"features": ["a"], "label": "y", "weight": "z"}, "no column named 'z', which weight"),
    ]:
        with pytest.raises(ValueError, match=message):
            SparkSparseCenterClassifier(1, **parameters).fit(data)


def test_other_input(spark, rows):
    X, y = rows
    with pytest.raises(TypeError, match=r"must be a Spark DataFrame, got numpy\.ndarray"):
        SparkSparseCenterClassifier().fit(X)
    data = source(spark, list)
    with pytest.raises(TypeError, match=r"tamis\.spark\.SparkSparseCenterClassifier"):
        SparseCenterClassifier().fit(data, y)
    with pytest.raises(TypeError, match=r"tamis\.spark\.SparkPrimalDualClassifier"):
        PrimalDualClassifier().fit(data, y)
    with pytest.raises(ValueError, match="no rows"):
        SparkSparseCenterClassifier().fit(data.where("label > 1"))
    model = SparkSparseCenterClassifier(1).fit(data)
    with pytest.raises(ValueError, match="already has a column 'prediction'"):
        model.predict(data.withColumnRenamed("label", "prediction"))


@pytest.mark.parametrize(
    ("later", "message"),
    [
        (lambda table: table[:-3], "7 rows, but had 10 in the first pass"),
        (lambda table: table[::-1], "the same rows in another order"),
        (lambda table: [*table[:-1], ([29.0, 0.5], 1)], "other values than in the first pass"),
    ],
    ids=["fewer rows", "reordered", "another value"],
)
def test_a_frame_that_changes_between_passes(later, message, spark, tmp_path):
    first = str(tmp_path / "first")

    def change(table):
        if table[0][0][0] != 20:
            return table
        if os.path.exists(first):
            return later(table)
        open(first, "w").close()
        return table

    data = source(spark, change)
    with pytest.raises(ValueError, match=f"Partition 2 has .*{message}.*persist"):
        SparkSparseCenterClassifier(1, metric="l1").fit(data)
    Path(first).unlink()
    SparkSparseCenterClassifier(1, metric="l1").fit(data.persist())


def test_pieces_of_summaries(monkeypatch):
    monkeypatch.setattr(spark_rows, "_PIECE", 10)
    summaries = [{"one": "x" * 100}, "short", np.arange(30)]
    written = [row for i, s in enumerate(summaries) for row in spark_rows.write_summary(i, s)]
    assert max(len(data) for _, _, data in written) == 10
    places, found = zip(*spark_rows.read_summaries(written), strict=True)
    assert places == (0, 1, 2)
    assert found[:2] == tuple(summaries[:2])
    np.testing.assert_array_equal(found[2], summaries[2])


def test_importing_does_not_load_spark():
    code = "import sys, tamis, tamis.spark; print('pyspark' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
