"""Panels of Spark DataFrames equal those of the same chunks on one machine."""

import numpy as np
import pytest
from scipy import sparse

from tamis import PanelClassifier
from tamis.spark import SparkPanelClassifier
from tests.spark.frames import NAMES, frame_of

pytest.importorskip("pyspark")


@pytest.mark.parametrize("max_bytes", [2e8, 1e3], ids=["gathered", "in passes"])
@pytest.mark.parametrize("kind", ["columns", "sparse vectors"])
def test_bits_of_fit_chunks(kind, max_bytes, spark, rows):
    X, y = rows
    weights = np.random.default_rng(1).uniform(1, 4, size=200)
    data, chunks = frame_of(spark, X, y, 5, kind, weights)
    if kind == "sparse vectors":
        chunks = [(sparse.csr_array(part), *others) for part, *others in chunks]
    expected = PanelClassifier(2, head="linear").fit_chunks(chunks, max_bytes=max_bytes)
    features = NAMES if kind == "columns" else "features"
    given = {"features": features, "weight": "weight", "max_bytes": max_bytes}
    model = SparkPanelClassifier(2, head="linear", **given).fit(data)
    local = model.to_local()
    np.testing.assert_array_equal(local.support_, expected.support_)
    np.testing.assert_array_equal(local.predict_proba(X), expected.predict_proba(X))
    found = model.predict(data).toPandas()
    np.testing.assert_array_equal(found["prediction"], expected.predict(X))
