"""Panels of chunks of rows: a sample chooses, all rows screen and train."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tamis import PanelClassifier, SparseCenterClassifier
from tamis._passes import LocalChunks
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


def coefficients(model):
    """Intercepts and coefficients of a linear head, selected features, temperature."""
    state = model._head_state
    return state["intercept"], state["coef"], model.get_support(indices=True), model.temperature_


@pytest.mark.parametrize(
    ("head", "container", "max_bytes"),
    [
        ("lda", np.asarray, 5e4),
        ("logistic", np.asarray, 1e9),
        ("lda", sparse.csr_array, 1e9),
        ("logistic", sparse.csr_array, 5e4),
    ],
)
def test_chunks_of_one_row_seven_rows_and_all_rows(head, container, max_bytes, monkeypatch):
    monkeypatch.setattr(room, "MOST_ROWS", 200)
    X, y = make_rows(3, 400)
    X[np.abs(X) < np.median(np.abs(X), axis=0)] = 0.0
    weights = np.random.default_rng(2).integers(0, 4, y.size)
    weights[:7] = 0  # chunks without any weight
    found = []
    for rows in (1, 7, y.size):
        chunks = in_chunks(container(X), y, weights, rows=rows)
        chunks[1:1] = [(X[:0], y[:0], weights[:0])]
        model = PanelClassifier(2, head=head).fit_chunks(chunks, max_bytes=max_bytes)
        found.append(coefficients(model))
    again = PanelClassifier(2, head=head)
    repeated = np.repeat(np.arange(y.size), weights)
    found.append(coefficients(again.fit_chunks(in_chunks(container(X)[repeated], y[repeated]))))
    for one, other in zip(found[0] * 3, [v for parts in found[1:] for v in parts], strict=True):
        assert_allclose(one, other, rtol=1e-8, atol=1e-8 * np.abs(other).max())
    # The head of data in memory, on the same features and with the same setting.
    setting = Setting(head, tuple(model._head_state["values"]))
    used, columns = weights > 0, found[0][2]
    given = X[used][:, columns], y[used], weights[used].astype(float), 3, [setting], "balanced", 0
    (whole,) = fit_settings(*given)
    assert_allclose(found[0][0], whole.intercept, rtol=1e-8)
    assert_allclose(found[0][1], whole.coef, rtol=1e-8)


@pytest.mark.usefixtures("small_sample")
def test_feature_groups_and_kept_features_are_those_of_data_in_memory(monkeypatch):
    X, y = make_rows(2, 2000)
    groups = np.repeat(np.arange(6), 2)
    model = PanelClassifier(3, feature_groups=groups, keep=[0], head="lda")
    chunked = model.fit_chunks(in_chunks(X, y)).get_support(indices=True)
    assert {0, 2, 3, 6, 7} <= set(chunked.tolist())  # whole groups, and the kept feature
    monkeypatch.setattr("tamis.panel.selection.MOST_ROWS", 300)
    assert_array_equal(chunked, model.fit(X, y).get_support(indices=True))


@pytest.mark.usefixtures("small_sample")
def test_a_class_may_be_missing_from_chunks_and_from_all_of_them():
    X, y = make_rows(3)
    order = np.argsort(y, kind="stable")  # a chunk has one class, or two
    mixed = PanelClassifier(2, head="logistic").fit_chunks(in_chunks(X, y))
    sorted_ = PanelClassifier(2, head="logistic").fit_chunks(in_chunks(X[order], y[order]))
    for one, other in zip(coefficients(mixed), coefficients(sorted_), strict=True):
        assert_allclose(one, other, rtol=1e-8)
    # A class that never occurs is never predicted.
    more = PanelClassifier(2).fit_chunks(in_chunks(X, y), classes=[0, 1, 2, 3])
    assert more.classes_.tolist() == [0, 1, 2, 3]
    assert_allclose(more.predict_proba(X)[:, 3], 0.0, atol=1e-5)
    with pytest.raises(ValueError, match=r"Chunk 0: .*classes="):
        PanelClassifier(2).fit_chunks(in_chunks(X, y), classes=[0, 1])


def another_value(X, y):
    X = X.copy()
    X[-1, 3] += 1e-9
    return X, y


CHANGES = {
    "a value": (another_value, "other values than in the first pass"),
    "a label": (lambda X, y: (X, np.append(y[:-1], 1 - y[-1])), "other values than"),
    "the order of rows": (lambda X, y: (X[::-1], y[::-1]), "the same rows in another order"),
    "a row less": (lambda X, y: (X[1:], y[1:]), "2999 rows, but had 3000 in the first pass"),
    "no row": (lambda X, y: (X[:0], y[:0]), "0 rows, but had 3000 in the first pass"),
}


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("when", [2, 3, 4])
def test_chunks_that_change_between_passes_are_noticed(change, when):
    (X, y), passes = make_rows(), iter(range(1, 100))
    changed, message = CHANGES[change]

    def chunks():
        return in_chunks(*(changed(X, y) if next(passes) >= when else (X, y)))

    model = PanelClassifier(2, head="lda")
    with pytest.raises(ValueError, match=f"The chunks have .*{message}.*each time they are read"):
        model.fit_chunks(chunks, max_bytes=5e4)
    assert next(passes) == when + 1


@pytest.mark.usefixtures("small_sample")
def test_missing_values_are_refused_with_the_number_of_their_chunk():
    X, y = make_rows()
    X[500, 3] = np.nan
    with pytest.raises(ValueError, match=r"Chunk 5: .*NaN"):
        PanelClassifier(2).fit_chunks(in_chunks(X, y))


@pytest.mark.usefixtures("small_sample")
def test_all_rows_screen():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 400)), rng.integers(2, size=20_000)
    X[:, 123] += 0.15 * y  # in 300 rows this is one of many
    model = PanelClassifier(1, selection="centers", head="lda")
    chunked = model.fit_chunks(in_chunks(X, y, rows=5000))
    assert_array_equal(chunked.get_support(indices=True), [123])


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("container", [sparse.csr_array, np.float32])
def test_equal_values_give_equal_samples_however_they_are_stored(container):
    X = np.random.default_rng(0).poisson(0.4, (3000, 12)) * 1.0
    y = np.asarray(X[:, 3] > X[:, 7], dtype=int)
    samples = []
    for rows in (X, container(X)):
        model, chunks = PanelClassifier(2), LocalChunks(in_chunks(rows, y), is_read_again=True)
        first, ranker = room._FirstPass(chunks, model), SparseCenterClassifier(None)
        room.train_centers(ranker, first, None, 1e9)
        read = room.ChunkReader(ranker, np.arange(2), 1.0)
        samples.append(room._draw(read, chunks, first, 1e9)[0])
        fitted = model.fit_chunks(in_chunks(rows, y))
        assert_array_equal(fitted.get_support(indices=True), [3, 7])
    assert_array_equal(samples[0].hashes, samples[1].hashes)
    values = samples[1].X.toarray() if container is sparse.csr_array else samples[1].X
    assert_array_equal(samples[0].X, values)


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
