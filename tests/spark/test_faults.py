"""Processes of Spark that are killed while a fit runs."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from tamis import SparseCenterClassifier
from tamis.spark import SparkSparseCenterClassifier

pytest.importorskip("pyspark")
psutil = pytest.importorskip("psutil")

N_PARTITIONS, SIZE = 6, 100


def make_rows(first):
    rng = np.random.default_rng(first)
    y = np.arange(SIZE) % 2
    X = rng.normal(size=(SIZE, 10))
    X[:, 3] += y
    return X, y


def source(spark, folder):
    """Partitions that are made slowly; each leaves a file, so that a test knows how far it is."""

    def make(batches):
        import pyarrow as pa

        for batch in batches:
            X, y = make_rows(batch.column(0)[0].as_py())
            time.sleep(0.1)
            open(os.path.join(folder, str(time.time_ns())), "w").close()
            columns = [pa.array(X.tolist(), pa.list_(pa.float64())), pa.array(y)]
            yield pa.record_batch(columns, names=["features", "label"])

    frame = spark.range(0, N_PARTITIONS * SIZE, 1, N_PARTITIONS)
    return frame.mapInArrow(make, "features array<double>, label bigint")


def processes(kind):
    """JVMs of executors, or the Python processes that they use."""
    below = psutil.Process().children(recursive=True)
    found = []
    for process in below:
        try:
            words = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if "CoarseGrainedExecutorBackend" in words:
            found.append(process)
    if kind == "executor":
        return found
    daemons = [child for process in found for child in process.children()]
    return [worker for daemon in daemons for worker in daemon.children()]


@pytest.mark.parametrize(
    ("metric", "victim", "n_made"),
    [("l2", "executor", 3), ("l1", "executor", 15), ("l1", "python", 15)],
)
def test_killed_process(metric, victim, n_made, spark, tmp_path):
    """A process is killed in the middle of a fit; the result has the same bits."""
    chunks = [make_rows(number * SIZE) for number in range(N_PARTITIONS)]
    expected = SparseCenterClassifier(3, metric=metric).fit_chunks(chunks)
    finished = threading.Event()
    killed = []

    def kill():
        while len(os.listdir(tmp_path)) < n_made and not finished.is_set():
            time.sleep(0.02)
        process = processes(victim)[0]
        process.send_signal(signal.SIGKILL)
        killed.append(not finished.is_set())

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        model = SparkSparseCenterClassifier(3, metric=metric).fit(source(spark, str(tmp_path)))
    finally:
        finished.set()
        killer.join()
    assert killed == [True], "the fit ended before the process was killed"
    np.testing.assert_array_equal(model.to_local().class_centers_, expected.class_centers_)
    np.testing.assert_array_equal(model.to_local().gains_, expected.gains_)
