"""Primal-dual classifiers of Spark DataFrames equal those of the same chunks on one machine."""

import numpy as np
import pytest
from scipy import sparse

from tamis import PrimalDualClassifier
from tamis.spark import SparkPrimalDualClassifier
from tests.spark.frames import NAMES, frame_of

pytest.importorskip("pyspark")


@pytest.mark.parametrize("kind", ["columns", "sparse vectors"])
def test_bits_of_fit_chunks(kind, spark, rows):
    X, y = rows
    weights = np.random.default_rng(1).uniform(1, 4, size=200)
    data, chunks = frame_of(spark, X, y, 5, kind, weights)
    if kind == "sparse vectors":
        chunks = [(sparse.csr_array(part), *others) for part, *others in chunks]
    expected = PrimalDualClassifier(0.5).fit_chunks(chunks)
    features = NAMES if kind == "columns" else "features"
    model = SparkPrimalDualClassifier(0.5, features=features, weight="weight").fit(data)
    local = model.to_local()
    assert local.relative_gap_ <= 1e-4
    np.testing.assert_array_equal(local.weights_, expected.weights_)
    assert local.relative_gap_ == expected.relative_gap_
    found = model.predict(data).toPandas()
    np.testing.assert_array_equal(found["prediction"], expected.predict(X))


@pytest.mark.filterwarnings("ignore:.*max_iter.*")
def test_columns_that_stay_on_the_executors(spark, rows):
    X, y = rows
    data, chunks = frame_of(spark, X, y, 3, "array")
    few = {"radius": 2, "max_iter": 10, "head": "projection"}
    expected = PrimalDualClassifier(**few).fit_chunks([c[:2] for c in chunks], max_bytes=1)
    local = SparkPrimalDualClassifier(**few, max_bytes=1).fit(data.persist()).to_local()
    assert expected.weights_.any()
    np.testing.assert_array_equal(local.weights_, expected.weights_)
    assert local.relative_gap_ == expected.relative_gap_
