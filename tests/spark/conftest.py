"""One Spark session for all tests: a cluster of two executor processes on this machine."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def spark():
    pyspark = pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: install the system package default-jre-headless")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["SPARK_LOCAL_HOSTNAME"] = "localhost"
    from pyspark.sql import SparkSession

    quick_start = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    settings = {
        "spark.driver.extraJavaOptions": quick_start,
        "spark.executor.extraJavaOptions": quick_start,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.log.level": "OFF",
        # Functions of the tests' modules run on executors.
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[2]),
    }
    session = SparkSession.builder.master("local-cluster[2,1,1024]").config(map=settings)
    session = session.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    X = rng.normal(size=(200, 6)).round(1) * rng.integers(2, size=(200, 6))
    X[:, 2] += y
    return X, y
