"""Predictions as columns of a Spark DataFrame."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from tamis.spark.columns import Features


def add_predictions(data: Any, features: Features, model: Any, with_probabilities: bool) -> Any:
    """Add the column "prediction", and "probability" if `with_probabilities`, lazily."""
    from pyspark.sql import types

    kinds = {"b": types.BooleanType(), "i": types.LongType(), "f": types.DoubleType()}
    new = [types.StructField("prediction", kinds.get(_kind(model), types.StringType()))]
    if with_probabilities:
        shares = types.ArrayType(types.DoubleType())
        new.append(types.StructField("probability", shares))
    for field in new:
        if field.name in data.columns:
            raise ValueError(
                f"The frame already has a column {field.name!r}. Rename it, or drop it, first."
            )
    names = [*data.columns, *(field.name for field in new)]
    # mapInArrow fails on names with dots, so columns go by their places.
    numbered = data.toDF(*map(str, range(len(data.columns))))
    schema = types.StructType([*numbered.schema.fields, *new])
    return numbered.mapInArrow(_predicting(features, model, with_probabilities), schema).toDF(
        *names
    )


def _kind(model):
    kind = model.classes_.dtype.kind
    return "i" if kind == "u" else kind


def _predicting(features, model, with_probabilities):
    """The function of a partition, from record batches to these with more columns."""
    model = copy(model)
    # The matrix has no names; its columns are those of the fit.
    vars(model).pop("feature_names_in_", None)

    def predict(batches):
        import pyarrow as pa
        from pyspark import TaskContext

        kinds = {"b": pa.bool_(), "i": pa.int64(), "f": pa.float64()}
        kind = kinds.get(_kind(model), pa.string())
        for batch in batches:
            columns = list(batch.columns)
            names = [*batch.schema.names, "prediction"]
            try:
                shares = labels = np.empty(0)
                if batch.num_rows:
                    X = features.read([columns[place] for place in features.positions])
                    labels = model.predict(X)
                    shares = model.predict_proba(X) if with_probabilities else shares
            except ValueError as error:
                partition = TaskContext.get().partitionId()
                raise ValueError(f"Partition {partition}: {error}") from error
            columns.append(pa.array(labels.tolist(), kind))
            if with_probabilities:
                columns.append(pa.array(shares.tolist(), pa.list_(pa.float64())))
                names.append("probability")
            yield pa.record_batch(columns, names=names)

    return predict
