"""Panels of Dask collections equal those of the same chunks on one machine."""

import numpy as np
import pytest
from scipy import sparse

from tamis import PanelClassifier
from tamis.panel import chunks as room

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from tamis.dask import DaskPanelClassifier  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    monkeypatch.setattr(room, "MOST_ROWS", 150)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    X = rng.normal(size=(200, 6))
    X[:, 2] += 2 * y
    X[:, 4] += y == 1
    return X, y


@pytest.mark.parametrize("max_bytes", [2e8, 1e3], ids=["gathered", "in passes"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "unknown rows", "frame"])
def test_bits_of_fit_chunks(kind, max_bytes, rows):
    X, y = rows
    weights = np.random.default_rng(1).uniform(1, 4, size=200)
    n_rows = 180 if kind == "unknown rows" else 200
    parts = [slice(at, min(at + 30, n_rows)) for at in range(0, n_rows, 30)]
    container = sparse.csr_array if kind == "sparse" else np.asarray
    chunks = [(container(X[part]), y[part], weights[part]) for part in parts]
    model = PanelClassifier(2, head="linear")
    expected = model.fit_chunks(chunks, max_bytes=max_bytes)
    data = da.from_array(X, chunks=(30, -1))
    labels, shares = da.from_array(y, chunks=30), da.from_array(weights, chunks=30)
    if kind == "frame":
        pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
        frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=y, w=weights)
        blocks = [dask.delayed(frame.iloc[part]) for part in parts]
        frame = dd.from_delayed(blocks, meta=frame[:0])
        data, labels, shares = frame[list("abcdef")], frame["y"], frame["w"]
    elif kind == "sparse":
        data = data.map_blocks(sparse.csr_array)
    elif kind == "unknown rows":  # and an empty block
        keep = da.from_array(np.arange(200) < n_rows, chunks=30)
        data, labels, shares = data[keep], labels[keep], shares[keep]
    model = DaskPanelClassifier(2, head="linear", max_bytes=max_bytes).fit(data, labels, shares)
    local = model.to_local()
    np.testing.assert_array_equal(local.get_support(indices=True), [2, 4])
    np.testing.assert_array_equal(local.support_, expected.support_)
    np.testing.assert_array_equal(local.predict_proba(X), expected.predict_proba(X))
    predicted = model.predict(data)
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(predicted.compute(), expected.predict(X[:n_rows]))


def test_blocks_that_change_between_passes_are_noticed(rows):
    X, y = rows
    reads = iter(range(100))

    def block():
        return X[::-1] if next(reads) else X

    data = da.from_delayed(dask.delayed(block, pure=False)(), X.shape, X.dtype)
    with pytest.raises(ValueError, match=r"The blocks have .*another order: .*X\.persist\(\)"):
        DaskPanelClassifier(2).fit(data, da.from_array(y, chunks=200))
