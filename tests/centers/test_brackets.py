"""Medians of dense chunks by brackets are those of digits."""

from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tamis import SparseCenterClassifier
from tamis._passes import LocalChunks
from tamis.centers import brackets, chunks
from tamis.centers.medians import class_medians


def make_rows(kind, n_rows=3000, n_classes=3):
    rng = np.random.default_rng(5)
    X = {
        "normal": lambda: rng.normal(size=(n_rows, 5)),
        "sorted": lambda: np.sort(rng.normal(size=(n_rows, 5)), axis=0),
        "whole": lambda: rng.integers(-4, 5, (n_rows, 5)) * 1.0,
        "halves": lambda: np.repeat(np.arange(n_rows) % 2, 5).reshape(n_rows, 5) * 1.0,
        "zeros": lambda: np.where(
            rng.random((n_rows, 5)) < 0.5, -0.0, rng.normal(size=(n_rows, 5))
        ),
        "constant": lambda: np.full((n_rows, 5), 3.5),
    }[kind]()
    return X, np.arange(n_rows) // 2 % n_classes


def train(X, y, weights=None, rows=500, max_bytes=2e8):
    data = (X, y) if weights is None else (X, y, weights)
    parts = [tuple(part[at : at + rows] for part in data) for at in range(0, len(y), rows)]
    passes = LocalChunks(parts, is_read_again=True)
    model = SparseCenterClassifier(5, metric="l1", scaling=None)
    with mock.patch.object(passes, "_run", wraps=passes._run) as run:
        chunks.train_passes(model, passes, None, max_bytes)
    return model, run.call_count


def by_digits(*data, **options):
    with mock.patch.object(chunks, "_search_brackets", lambda *_: {}):
        return train(*data, **options)


@pytest.fixture
def small_sample(monkeypatch):
    monkeypatch.setattr(brackets, "_MOST_ROWS", 300)


@pytest.mark.usefixtures("small_sample")
@pytest.mark.filterwarnings("ignore:.*features were requested")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["normal", "sorted", "whole", "halves", "zeros", "constant"])
@pytest.mark.parametrize("weighted", ["no", "whole", "other"])
def test_results_are_those_of_digits_and_of_data_in_memory(kind, dtype, weighted):
    X, y = make_rows(kind)
    X, rng = X.astype(dtype), np.random.default_rng(1)
    weights = {
        "no": None,
        "whole": rng.integers(0, 3, y.size) * 1.0,
        "other": rng.uniform(0, 2, y.size),
    }[weighted]
    found, n_passes = train(X, y, weights)
    digits, n_more = by_digits(X, y, weights)
    whole = class_medians(X, y, 3, weights)
    for one, other in ((found.class_centers_, whole.median), (found.common_center_, whole.common)):
        assert_array_equal(one, other)
    assert_array_equal(found.common_center_, digits.common_center_)
    if weighted == "other":
        np.testing.assert_allclose(found.gains_, digits.gains_, rtol=1e-12, atol=1e-15)
    else:
        assert_array_equal(found.gains_, digits.gains_)
    assert n_passes == 3 < n_more


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("rows", [1, 7, 900])
def test_chunks_do_not_matter(rows):
    X, y = make_rows("normal", 900)
    found, _ = train(X, y, rows=rows)
    whole = class_medians(X, y, 3)
    assert_array_equal(found.class_centers_, whole.median)
    assert_array_equal(found.common_center_, whole.common)


@pytest.mark.usefixtures("small_sample")
def test_little_memory_takes_narrower_brackets_first(monkeypatch):
    X, y = make_rows("normal", 20_000)
    expected, n_passes = train(X, y, rows=3000)
    assert n_passes == 3
    monkeypatch.setattr(brackets, "_VALUE_BYTES", 2e8 / 6000)
    most, merge = [], brackets.Inside.merge

    def watch(one, other):
        merged = merge(one, other)
        most.append(sum(values.size for values, *_ in merged.pieces))
        return merged

    monkeypatch.setattr(brackets.Inside, "merge", watch)
    found, n_passes = train(X, y, rows=3000)
    assert n_passes > 3
    assert max(most) < 6000
    assert_array_equal(found.class_centers_, expected.class_centers_)
    assert_array_equal(found.gains_, expected.gains_)


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("moved", [-5.0, 0.3, 5.0])
def test_brackets_that_miss_are_noticed(moved, monkeypatch):
    X, y = make_rows("normal", 4000)
    expected, n_more = by_digits(X, y)
    start = brackets.BracketSearch.start

    def miss(search, sample):
        start(search, sample)
        search.low += moved
        search.high += moved

    monkeypatch.setattr(brackets.BracketSearch, "start", miss)
    found, n_passes = train(X, y)
    assert n_passes == n_more + 1
    assert_array_equal(found.class_centers_, expected.class_centers_)
    assert_array_equal(found.gains_, expected.gains_)


@pytest.mark.usefixtures("small_sample")
def test_classes_that_chunks_lack_or_that_have_no_weight():
    X, y = make_rows("normal", 3000)
    order, weights = np.argsort(y, kind="stable"), np.where(y == 1, 0.0, 2.0)
    found, n_passes = train(X[order], y[order], weights[order], rows=400)
    assert n_passes == 3
    some = y != 1
    whole = class_medians(X[some], y[some] // 2, 2)
    assert_array_equal(found.class_centers_[[0, 2]], whole.median)
    assert_array_equal(found.common_center_, whole.common)
