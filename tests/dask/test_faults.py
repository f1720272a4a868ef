"""Workers that are killed while a fit runs."""

import os
import signal
import threading
import time

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask
import dask.array as da
from distributed import Client, LocalCluster

from tamis import SparseCenterClassifier
from tamis.dask import DaskSparseCenterClassifier

pytestmark = pytest.mark.slow

N_BLOCKS, SIZE = 12, 4_000


def make_block(number):
    rng = np.random.default_rng(number)
    time.sleep(0.1)
    y = np.arange(SIZE) % 2
    X = rng.normal(size=(SIZE, 20))
    X[:, 3] += y
    return X, y


def blocks():
    pairs = [dask.delayed(make_block, pure=True)(number) for number in range(N_BLOCKS)]
    X = [da.from_delayed(pair[0], (SIZE, 20), np.float64) for pair in pairs]
    y = [da.from_delayed(pair[1], (SIZE,), np.int64) for pair in pairs]
    return da.concatenate(X), da.concatenate(y)


@pytest.fixture
def client():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_killed_worker(metric, client):
    """A worker is killed in the middle of a fit; the result has the same bits."""
    parts = [make_block(number) for number in range(N_BLOCKS)]
    expected = SparseCenterClassifier(3, metric=metric).fit_chunks(parts)
    pids = list(client.run(os.getpid).values())
    finished = threading.Event()
    killed = []

    def kill():
        time.sleep(0.4 if metric == "l2" else 1.5)
        killed.append(not finished.is_set())
        os.kill(pids[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    model = DaskSparseCenterClassifier(3, metric=metric, client=client).fit(*blocks())
    finished.set()
    killer.join()
    assert killed == [True], "the fit ended before the worker was killed"
    np.testing.assert_array_equal(model.to_local().class_centers_, expected.class_centers_)
    np.testing.assert_array_equal(model.to_local().gains_, expected.gains_)
