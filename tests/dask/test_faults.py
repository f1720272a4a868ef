"""Workers that are killed while a fit runs, and clusters that go away."""

import threading
import time

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask.array as da
from benchmarks.faults import cluster, expected_of, fit_with_a_kill, is_right, make_model, time_of
from distributed import Client, LocalCluster

from tamis.dask import DaskPrimalDualClassifier, DaskSparseCenterClassifier

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client():
    with cluster() as workers, Client(workers) as client:
        yield client


@pytest.mark.parametrize("name", ["means", "medians", "primal-dual, passes"])
def test_killed_worker(name, client):
    """A worker is killed in the middle of a fit; the result is that of one machine."""
    rng = np.random.default_rng()
    expected, seconds = expected_of(name), time_of(name, client)
    for _ in range(5):
        model = make_model(name, client)
        landed = fit_with_a_kill(model, client, rng, rng.uniform(0.1, 0.7) * seconds)
        assert is_right(model, expected)
        if landed:
            return
    pytest.fail("all fits ended before the worker was killed")


def slow(block):
    time.sleep(0.5)
    return block


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda workers: workers.scale(0), "no workers for 2 seconds"),
        (lambda workers: workers.close(), "connection to the Dask cluster was lost"),
    ],
    ids=["no workers", "closed"],
)
@pytest.mark.parametrize("estimator", [DaskSparseCenterClassifier, DaskPrimalDualClassifier])
def test_cluster_is_gone(estimator, change, message):
    rng = np.random.default_rng(0)
    X = da.from_array(rng.normal(size=(400, 5)), chunks=(20, -1)).map_blocks(slow)
    y = da.from_array(np.arange(400) % 2, chunks=20)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as workers,
        Client(workers) as client,
    ):
        later = threading.Timer(1.0, change, [workers])
        later.start()
        with pytest.raises(RuntimeError, match=message):
            estimator(client=client, worker_timeout=2.0).fit(X, y)
        later.join()
