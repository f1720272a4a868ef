"""Spark DataFrames whose partitions are known."""

import numpy as np

NAMES = ["a", "b.c", "d`", "e f", "f", "g"]


def frame_of(spark, X, y, n_partitions, kind="columns", weights=None):
    """A frame of rows in order, and its partitions as chunks."""
    from pyspark.ml.linalg import Vectors, VectorUDT
    from pyspark.sql import types

    number = types.DoubleType()
    if kind == "columns":
        fields = [types.StructField(name, number) for name in NAMES]
        cells = X.tolist()
    else:
        arrays = types.ArrayType(number)
        fields = [types.StructField("features", arrays if kind == "array" else VectorUDT())]
        make = {
            "array": list,
            "dense vectors": Vectors.dense,
            "sparse vectors": lambda row: Vectors.sparse(
                len(row), [(j, value) for j, value in enumerate(row) if value]
            ),
        }[kind]
        cells = [[make(row)] for row in X.tolist()]
    fields.append(types.StructField("label", types.LongType()))
    fields.append(types.StructField("weight", number))
    weights = np.ones(len(y)) if weights is None else weights
    table = [
        (*c, label, w) for c, label, w in zip(cells, y.tolist(), weights.tolist(), strict=True)
    ]
    numbered = spark.sparkContext.parallelize(list(enumerate(table)), n_partitions)
    split = [[number for number, _ in part] for part in numbered.glom().collect()]
    data = numbered.map(lambda pair: pair[1]).toDF(types.StructType(fields))
    return data, [(X[part], y[part], weights[part]) for part in split if part]
