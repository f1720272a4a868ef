"""Searches, comparisons and kernels on a Dask cluster whose workers have two threads."""

import os
import threading

import cloudpickle
import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris

pytest.importorskip("distributed")

import dask.array as da
from distributed import Client, LocalCluster

from tamis import LandmarkSearchCV, SparseCenterClassifier, SparseCenterClassifierCV, compare
from tamis._base.shared import Shared
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


@pytest.fixture
def sent(monkeypatch):
    """Receives the number of bytes of the shared data, each time they are pickled."""
    found = []

    def reduce(shared):
        found.append(len(cloudpickle.dumps(shared.function)))
        return Shared, (shared.function,)

    monkeypatch.setattr(Shared, "__reduce__", reduce)
    return found


WORK = {
    "landmarks": lambda X, y, cv: LandmarkSearchCV(
        n_configurations=8, ensemble_size=1, cv=cv, n_jobs=-1, random_state=0
    ).fit(X, y),
    "centers": lambda X, y, cv: SparseCenterClassifierCV(cv=cv, n_jobs=-1).fit(X, y),
    "compare": lambda X, y, cv: compare(
        X, y, methods=["centers", "medians"], cv=cv, repeats=1, n_jobs=2
    ),
}


@pytest.mark.parametrize("name", WORK)
def test_data_are_sent_once_and_not_with_each_task(client, name, sent):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    X = rng.normal(size=(400, 50)) + 0.5 * y[:, None]
    counts = []
    for cv in (4, 8):
        before, n_sent = n_done(client), len(sent)
        with joblib.parallel_config(backend="dask"):
            WORK[name](X, y, cv)
        assert n_done(client) - before >= 3
        counts.append(len(sent) - n_sent)
    assert min(sent) > 0.5 * X.nbytes
    # Pickling a closure takes several attempts, each of all data.
    assert 1 <= counts[0] == counts[1] <= 6


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
