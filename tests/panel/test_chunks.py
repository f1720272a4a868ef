"""Panels of chunks of rows: a sample chooses, all rows screen and train."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tamis import PanelClassifier
from tamis.panel import chunks as room
from tamis.panel.settings import Setting, fit_settings


def make_rows(n_classes=2, n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 12)) * 10.0 ** rng.uniform(-3, 3, 12) + 5
    score = rng.normal(size=n) + 2 * (X[:, [3, 7]] - 5) @ (1 / X[:, [3, 7]].std(axis=0))
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def in_chunks(*data, rows=97):
    n = len(data[1])
    return [tuple(part[at : at + rows] for part in data) for at in range(0, n, rows)]


@pytest.fixture
def small_sample(monkeypatch):
    monkeypatch.setattr(room, "MOST_ROWS", 300)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("selection", ["auto", "medians"])
def test_few_rows_give_the_panel_of_all_rows_in_memory(n_classes, selection):
    X, y = make_rows(n_classes, 250)
    model = PanelClassifier(2, selection=selection)
    whole, chunked = model.fit(X, y).predict_proba(X), model.fit_chunks(in_chunks(X, y))
    assert_allclose(chunked.predict_proba(X), whole, rtol=1e-9)


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("head", ["lda", "logistic", "kernel"])
@pytest.mark.parametrize("weighted", [False, True])
def test_passes_give_the_head_of_all_rows(n_classes, head, weighted):
    X, y = make_rows(n_classes)
    weights = np.random.default_rng(1).uniform(0, 2, y.size) if weighted else np.ones(y.size)
    weights[:10] = 0.0
    data = (X, y, weights) if weighted else (X[10:], y[10:])
    make = PanelClassifier(2, head=head)
    gathered = make.fit_chunks(in_chunks(*data), max_bytes=1e9)
    assert_array_equal(gathered.get_support(indices=True), [3, 7])
    passed = PanelClassifier(2, head=head).fit_chunks(in_chunks(*data, rows=501), max_bytes=5e4)
    assert_allclose(passed.predict_proba(X), gathered.predict_proba(X), rtol=1e-8)
    if head == "kernel":
        return
    scaled = weights[10:] * ((y.size - 10) / weights.sum() if weighted else 1.0)
    setting = Setting(head, tuple(passed._head_state["values"]))
    (whole,) = fit_settings(X[10:, [3, 7]], y[10:], scaled, n_classes, [setting], "balanced", 0)
    assert_allclose(passed._head_state["coef"], whole.coef, rtol=1e-8)
    assert_allclose(passed._head_state["intercept"], whole.intercept, rtol=1e-8)


@pytest.mark.usefixtures("small_sample")
def test_many_coefficients_are_found_without_the_curvature():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 40)), rng.integers(8, size=2000)
    X[np.arange(2000), y] += 2
    model = PanelClassifier(40, head="logistic")
    gathered = model.fit_chunks(in_chunks(X, y)).predict_proba(X)
    passed = model.fit_chunks(in_chunks(X, y), max_bytes=3e5)
    assert_allclose(passed.predict_proba(X), gathered, atol=1e-4)


@pytest.mark.usefixtures("small_sample")
def test_neither_the_size_nor_the_order_of_the_chunks_matters():
    X, y = make_rows()
    one = PanelClassifier(3).fit_chunks(in_chunks(X, y))
    order = np.random.default_rng(0).permutation(y.size)
    other = PanelClassifier(3).fit_chunks(in_chunks(X[order], y[order], rows=700))
    assert_array_equal(one.support_, other.support_)
    assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-8)


@pytest.mark.usefixtures("small_sample")
def test_all_rows_screen():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 400)), rng.integers(2, size=20_000)
    X[:, 123] += 0.15 * y  # in 300 rows this is one of many
    model = PanelClassifier(1, selection="centers", head="lda")
    chunked = model.fit_chunks(in_chunks(X, y, rows=5000))
    assert_array_equal(chunked.get_support(indices=True), [123])


@pytest.mark.usefixtures("small_sample")
def test_words_stay_sparse():
    rng = np.random.default_rng(0)
    X = sparse.random_array((4000, 300), density=0.02, rng=rng, format="csr")
    y = np.asarray(X[:, [5, 9]].sum(axis=1)).ravel() > 0
    chunks = [(X[at : at + 500], y[at : at + 500]) for at in range(0, 4000, 500)]
    model = PanelClassifier(2, head="logistic").fit_chunks(chunks)
    assert_array_equal(model.get_support(indices=True), [5, 9])
    assert model.score(X, y) > 0.95
    with pytest.raises(ValueError, match="set max_bytes to more"):
        model.fit_chunks(chunks, max_bytes=1e4)


def test_few_patterns_of_many_rows_have_their_weights():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(50_000, 1)).astype(float)
    y = (X[:, 0] + rng.normal(size=50_000) > 0.5).astype(int)
    chunks = in_chunks(X, y, rows=1000)
    model = PanelClassifier(1, head="logistic", class_weight=None).fit_chunks(chunks)
    shares = [y[X[:, 0] == value].mean() for value in (0, 1)]
    assert_allclose(model.predict_proba([[0.0], [1.0]])[:, 1], shares, atol=0.005)


def test_chunks_that_cannot_be_trained_on_are_refused():
    X, y = make_rows(n=100)
    with pytest.raises(ValueError, match="several times"):
        PanelClassifier().fit_chunks(iter(in_chunks(X, y)))
    with pytest.raises(ValueError, match="No feature varies"):
        PanelClassifier().fit_chunks(in_chunks(np.ones_like(X), y))
    with pytest.raises(ValueError, match="Chunks 0 and 1 have different numbers"):
        PanelClassifier().fit_chunks([(X, y), (X[:, :5], y), (X, y)])
    with pytest.raises(ValueError, match="no rows"):
        PanelClassifier().fit_chunks([])
    with pytest.raises(ValueError, match="head must be one of"):
        PanelClassifier(head="none").fit_chunks(in_chunks(X, y))
