"""Heads of many rows: fitted in blocks, and only when they are needed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis import PanelClassifier
from tamis.panel import many_rows, path
from tamis.panel.many_rows import HeadsOnDemand, ManyRows
from tamis.panel.settings import Setting, fit_settings


def make_rows(n_classes, n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = 3 + rng.normal(size=(n, 6))
    codes = rng.integers(n_classes, size=n)
    X[np.arange(n), codes] += 1.5
    return X, codes, rng.integers(0, 3, n).astype(np.float64)


def rows_of(X, codes, weights, kernels_of_sample=False):
    keys = np.arange(codes.size, dtype=np.uint64)
    n_classes = int(codes.max()) + 1
    return ManyRows(X, codes, weights, n_classes, "balanced", 0, None, keys, kernels_of_sample)


@pytest.fixture
def few_rows(monkeypatch):
    """A hundred rows are many, and are computed with seventy at a time."""
    monkeypatch.setattr(path, "MOST_ROWS", 100)
    monkeypatch.setattr(many_rows, "SAMPLED_ROWS", 300)
    monkeypatch.setattr(many_rows, "_BLOCK_ROWS", 70)


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("setting", [Setting("lda"), Setting("logistic", (3.0,))])
def test_linear_heads_are_those_of_all_rows_at_once(n_classes, setting):
    X, codes, weights = make_rows(n_classes)
    columns = np.array([0, 1, 4])
    (head,) = rows_of(X, codes, weights).heads([columns], [setting])
    data = (X[:, columns], codes, weights, n_classes)
    (wanted,) = fit_settings(*data, [setting], "balanced", 0)
    centered = [h.decisions(X[:, columns]) for h in (head, wanted)]
    centered = [d - d.mean(axis=1, keepdims=True) for d in centered]
    assert_allclose(*centered, atol=1e-6)


@pytest.mark.usefixtures("few_rows")
def test_kernels_have_landmarks_of_a_sample_and_coefficients_of_all_rows():
    X, codes, weights = make_rows(2)
    columns, setting = np.array([0, 1, 5]), Setting("kernel", (1.0, 1.0))
    (judged,) = rows_of(X, codes, weights, True).heads([columns], [setting])
    (final,) = rows_of(X, codes, weights).heads([columns], [setting])
    in_units = [head.landmarks * head.scale + head.center for head in (judged, final)]
    assert_allclose(*in_units)
    y = np.eye(2)[codes] - 0.5
    weights = weights / np.bincount(codes, weights)[codes]
    errors = [
        weights @ ((head.decisions(X[:, columns]) - y) ** 2).sum(axis=1)
        for head in (judged, final)
    ]
    assert errors[1] < errors[0]


def test_a_head_is_fitted_when_it_is_asked_for_and_once():
    asked = []
    heads = HeadsOnDemand(lambda level: asked.append(level) or f"head {level}", 3)
    assert [heads[2], heads[0], heads[2]] == ["head 2", "head 0", "head 2"]
    assert asked == [2, 0]
    assert list(heads) == ["head 0", "head 1", "head 2"]


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("head", ["linear", "kernel"])
def test_a_path_of_many_rows_has_the_models_of_single_sizes(head):
    X, codes, _ = make_rows(3)
    found = PanelClassifier(head=head).fit_path(X, codes, [1, 3])
    for place, k in enumerate((1, 3)):
        model = PanelClassifier(k, head=head).fit(X, codes)
        assert_array_equal(found.model(place).support_, model.support_)
        assert_allclose(found.model(place).predict_proba(X), model.predict_proba(X), atol=0.05)
        assert_allclose(
            found.model(place).decision_function(X), found.decisions(X)[place], rtol=1e-9
        )
