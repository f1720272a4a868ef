"""Searches, comparisons and kernels on a Dask cluster whose workers have two threads."""

import os
import threading

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris

pytest.importorskip("distributed")

import dask.array as da
from distributed import Client, LocalCluster

from tamis import LandmarkSearchCV, SparseCenterClassifier, compare
from tamis.dask import DaskPrimalDualClassifier, DaskSparseCenterClassifier

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=True, dashboard_address=":0"
        ) as workers,
        Client(workers) as client,
    ):
        yield client


def n_done(client):
    """Number of tasks that the workers have done so far."""
    return sum(client.run(lambda dask_worker: dask_worker.state.executed_count).values())


def test_landmark_search(client):
    X, y = load_iris(return_X_y=True)
    parameters = {"n_configurations": 8, "ensemble_size": 3, "cv": 3, "random_state": 0}
    expected = LandmarkSearchCV(**parameters).fit(X, y)
    before = n_done(client)
    with joblib.parallel_config(backend="dask"):
        model = LandmarkSearchCV(**parameters, n_jobs=-1).fit(X, y)
    assert n_done(client) > before
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(
        model.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )


def test_compare(client):
    X, y = load_iris(return_X_y=True)
    parameters = {"methods": ["centers", "most-frequent"], "cv": 3, "repeats": 1}
    expected = compare(X, y, **parameters)
    before = n_done(client)
    with joblib.parallel_config(backend="dask"):
        found = compare(X, y, **parameters, n_jobs=2)
    assert n_done(client) > before
    assert found.choice.method == expected.choice.method
    for column in ("method", "score"):
        np.testing.assert_array_equal(found.table[column], expected.table[column])


def in_two_threads(X, y):
    """Fit twice at once, so that two threads enter the kernels together."""
    barrier, results = threading.Barrier(2), {}

    def fit(name):
        barrier.wait()
        results[name] = SparseCenterClassifier(3, metric="l1").fit(X, y).gains_

    threads = [threading.Thread(target=fit, args=[name]) for name in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[name] for name in range(2)]


def test_two_threads_of_a_worker_enter_kernels_at_once(client):
    """numba's default threading layer ends the process when two threads enter it."""
    rng = np.random.default_rng(0)
    y = np.arange(4_000) % 2
    X = rng.normal(size=(4_000, 600))  # enough for threaded kernels, where these are safe
    X[:, 3] += y
    expected = SparseCenterClassifier(3, metric="l1").fit(X, y)
    pids = client.run(os.getpid)
    for gains in client.submit(in_two_threads, X, y, pure=False).result(timeout=300):
        np.testing.assert_array_equal(gains, expected.gains_)
    blocks = da.from_array(X, chunks=(1_000, -1)), da.from_array(y, chunks=1_000)
    model = DaskSparseCenterClassifier(3, metric="l1", client=client).fit(*blocks)
    np.testing.assert_allclose(model.to_local().gains_, expected.gains_, rtol=1e-9)
    few = {"max_bytes": 1e6, "head": "projection"}
    certified = DaskPrimalDualClassifier(0.3, client=client, **few).fit(*blocks)
    assert certified.to_local().relative_gap_ <= 1e-4
    assert client.run(os.getpid) == pids, "the worker died and was started again"
