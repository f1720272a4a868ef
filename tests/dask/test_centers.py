"""Sparse centers of Dask collections equal those of the same chunks on one machine."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from tamis import SparseCenterClassifier

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from tamis.dask import DaskSparseCenterClassifier  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    X = rng.normal(size=(200, 6)).round(1)
    X[:, 2] += y
    return X, y


def chunks_of(X, y, size):
    return [(X[i : i + size], y[i : i + size]) for i in range(0, len(y), size)]


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "unknown rows", "frame"])
def test_bits_of_fit_chunks(metric, kind, rows):
    X, y = rows
    expected = SparseCenterClassifier(2, metric=metric).fit_chunks(chunks_of(X, y, 30))
    labels = da.from_array(y, chunks=30)
    if kind == "frame":
        pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
        frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=y)
        parts = dd.from_delayed(
            [dask.delayed(frame.iloc[i : i + 30]) for i in range(0, 200, 30)], meta=frame[:0]
        )
        data, labels = parts[list("abcdef")], parts["y"]
    else:
        data = da.from_array(X, chunks=(30, -1))
        if kind == "sparse":
            data = data.map_blocks(sparse.csr_array)
        if kind == "unknown rows":
            keep = labels >= 0
            data, labels = data[keep], labels[keep]
    model = DaskSparseCenterClassifier(2, metric=metric).fit(data, labels)
    local = model.to_local()
    np.testing.assert_array_equal(local.class_centers_, expected.class_centers_)
    np.testing.assert_array_equal(local.gains_, expected.gains_)
    np.testing.assert_array_equal(local.support_, expected.support_)
    np.testing.assert_array_equal(model.predict(data).compute(), expected.predict(X))
    shares = model.predict_proba(data).compute()
    np.testing.assert_allclose(shares, expected.predict_proba(X), rtol=1e-12)
    if kind == "frame":
        assert local.feature_names_in_.tolist() == list("abcdef")


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_weights(rows, scale):
    X, y = rows
    weights = np.random.default_rng(1).integers(1, 4, size=200) * scale
    parts = [(X[i : i + 50], y[i : i + 50], weights[i : i + 50]) for i in range(0, 200, 50)]
    expected = SparseCenterClassifier(2, metric="l1").fit_chunks(parts)
    model = DaskSparseCenterClassifier(2, metric="l1").fit(
        *(da.from_array(a, chunks=(50, -1)[: a.ndim]) for a in (X, y, weights))
    )
    np.testing.assert_array_equal(model.to_local().gains_, expected.gains_)
    whole = SparseCenterClassifier(2, metric="l1").fit(X, y, weights)
    np.testing.assert_allclose(model.to_local().class_count_, whole.class_count_, rtol=1e-12)


def test_predictions_are_lazy(rows):
    X, y = rows
    data, labels = da.from_array(X, chunks=(50, -1)), da.from_array(y, chunks=50)
    predicted = DaskSparseCenterClassifier().fit(data, labels).predict(data)
    assert isinstance(predicted, da.Array)
    assert predicted.chunks == ((50,) * 4,)


def test_wrong_blocks(rows):
    X, y = rows
    data, labels = da.from_array(X, chunks=(50, -1)), da.from_array(y, chunks=50)
    model = DaskSparseCenterClassifier(metric="l1")
    with pytest.raises(ValueError, match="rechunk"):
        model.fit(da.from_array(X, chunks=(50, 2)), labels)
    with pytest.raises(ValueError, match="must be a Dask array"):
        model.fit(X, labels)
    with pytest.raises(ValueError, match="4 blocks of rows, but y has 2"):
        model.fit(data, da.from_array(y, chunks=100))

    def spoil(change):
        blocks = [dask.delayed(X[i : i + 50]) for i in range(0, 200, 50)]
        blocks[2] = dask.delayed(change(X[100:150]))
        parts = [da.from_delayed(b, (50, 6), np.float64) for b in blocks]
        return da.concatenate(parts)

    with pytest.raises(ValueError, match=r"Chunk 2.*NaN"):
        model.fit(spoil(lambda block: np.where(block > 1, np.nan, block)), labels)
    with pytest.raises(
        ValueError, match="Chunks 2 and 3 have different numbers of features: 5 and 6"
    ):
        model.fit(spoil(lambda block: block[:, :5]), labels)
    with pytest.raises(ValueError, match="Chunk 2"):
        model.fit(spoil(lambda block: block.astype(str).astype(object) + "x"), labels)


def test_ordinary_estimator_refuses(rows):
    X, y = rows
    with pytest.raises(TypeError, match="DaskSparseCenterClassifier"):
        SparseCenterClassifier().fit(da.from_array(X, chunks=(50, -1)), y)


def test_fits_leave_the_settings_of_dask_alone():
    code = """
import dask.array as da
from tamis.dask import DaskSparseCenterClassifier
X = da.from_array([[0.0], [1.0], [0.1], [0.9]], chunks=(2, 1))
y = da.from_array([0, 1, 0, 1], chunks=2)
for metric in ("l2", "l1"):
    DaskSparseCenterClassifier(1, metric=metric).fit(X, y)
import dask, distributed
assert dask.config.get("distributed.comm.timeouts.connect")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
