"""Primal-dual classifiers of Dask collections equal those of the same chunks on one machine."""

import numpy as np
import pytest
from scipy import sparse

from tamis import PrimalDualClassifier

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from tamis.dask import DaskPrimalDualClassifier  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    X = rng.normal(size=(200, 6))
    X[:, 2] += y
    return X, y


@pytest.mark.parametrize("max_bytes", [1e9, 1e3])
@pytest.mark.parametrize("kind", ["dense", "sparse", "unknown rows", "frame"])
def test_bits_of_fit_chunks(kind, max_bytes, rows):
    X, y = rows
    n_rows = 180 if kind == "unknown rows" else 200
    chunks = [(X[i : i + 30], y[i : i + 30]) for i in range(0, n_rows, 30)]
    if kind == "sparse":
        chunks = [(sparse.csr_array(X), y) for X, y in chunks]
    head = {1e9: "auto", 1e3: "projection"}[max_bytes]
    expected = PrimalDualClassifier(head=head).fit_chunks(chunks, max_bytes=max_bytes)
    data, labels = da.from_array(X, chunks=(30, -1)), da.from_array(y, chunks=30)
    if kind == "frame":
        pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
        frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=y)
        parts = dd.from_delayed(
            [dask.delayed(frame.iloc[i : i + 30]) for i in range(0, 200, 30)], meta=frame[:0]
        )
        data, labels = parts[list("abcdef")], parts["y"]
    elif kind == "sparse":
        data = data.map_blocks(sparse.csr_array)
    elif kind == "unknown rows":  # and an empty block
        keep = da.from_array(np.arange(200) < n_rows, chunks=30)
        data, labels = data[keep], labels[keep]
    model = DaskPrimalDualClassifier(head=head, max_bytes=max_bytes).fit(data, labels)
    local = model.to_local()
    assert local.relative_gap_ <= 1e-4
    np.testing.assert_array_equal(local.support_, expected.support_)
    np.testing.assert_array_equal(local.weights_, expected.weights_)
    assert local.gap_ == expected.gap_
    predicted = model.predict(data)
    assert isinstance(predicted, da.Array)
    X = X[:n_rows]
    np.testing.assert_array_equal(predicted.compute(), expected.predict(X))
    shares = model.predict_proba(data).compute()
    np.testing.assert_allclose(shares, expected.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_weights(rows, scale):
    X, y = rows
    weights = np.random.default_rng(1).integers(1, 4, size=200) * scale
    expected = PrimalDualClassifier(tol=1e-8).fit(X, y, weights)
    model = DaskPrimalDualClassifier(tol=1e-8).fit(
        *(da.from_array(a, chunks=(50, -1)[: a.ndim]) for a in (X, y, weights))
    )
    np.testing.assert_allclose(model.to_local().coef_, expected.coef_, rtol=1e-3, atol=1e-5)


def test_wrong_blocks(rows):
    X, y = rows
    labels = da.from_array(y, chunks=50)

    def spoil(change):
        blocks = [dask.delayed(X[i : i + 50]) for i in range(0, 200, 50)]
        blocks[2] = dask.delayed(change(X[100:150]))
        return da.concatenate([da.from_delayed(b, (50, 6), np.float64) for b in blocks])

    model = DaskPrimalDualClassifier()
    with pytest.raises(ValueError, match=r"Chunk 2.*NaN"):
        model.fit(spoil(lambda block: np.where(block > 1, np.nan, block)), labels)
    with pytest.raises(ValueError, match="Chunks 2 and 3 have different numbers of features"):
        model.fit(spoil(lambda block: block[:, :5]), labels)
    with pytest.raises(ValueError, match="Chunk 2"):
        model.fit(spoil(lambda block: block.astype(str).astype(object) + "x"), labels)


def test_ordinary_estimator_refuses(rows):
    X, y = rows
    with pytest.raises(TypeError, match="DaskPrimalDualClassifier"):
        PrimalDualClassifier().fit(da.from_array(X, chunks=(50, -1)), y)


def test_parameters_are_those_of_the_ordinary_estimator():
    """All but those that need the dual point, the paper's algorithm or one machine's device."""
    ordinary = PrimalDualClassifier().get_params()
    ours = DaskPrimalDualClassifier().get_params()
    assert ordinary.keys() - ours.keys() == {"warm_start", "algorithm", "device"}
    assert all(ours[name] == value for name, value in ordinary.items() if name in ours)
