"""Markers that separate the classes, in all rows or all but one."""

import functools

import numpy as np
import pytest

from tamis import (
    DatumWiseClassifierCV,
    LandmarkClassifier,
    PanelClassifier,
    PanelClassifierCV,
    PrimalDualClassifierCV,
    SparseCenterClassifierCV,
)

MODELS = {
    "lda": PanelClassifier(1, head="lda"),
    "logistic": PanelClassifier(1, head="logistic"),
    "kernel": PanelClassifier(1, head="kernel"),
    "auto": PanelClassifier(1),
    "panel by cross-validation": PanelClassifierCV([1], cv=3),
    "means": SparseCenterClassifierCV(cv=3),
    "medians": SparseCenterClassifierCV(metric="l1", cv=3),
    "primal-dual": PrimalDualClassifierCV([0.5, 1.0], cv=3),
    "datum-wise": DatumWiseClassifierCV([0.01], cv=3, n_trees=20, random_state=0),
    "landmarks": LandmarkClassifier(classifier="ridge", random_state=0),
}
# Distances to landmarks would be those of the noise.
N_COLUMNS = {"landmarks": 1}
PANELS = ["lda", "logistic", "kernel", "auto"]


def make_marker(n, n_wrong=0, noise=0.0, seed=0):
    """A marker that is 0 or 1 like the class, except in some rows, and two columns of noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 3))
    X[:, 0] = np.where(np.arange(n) < n_wrong, 1 - y, y) + noise * rng.normal(size=n)
    return X, y


@functools.cache
def given_to_the_truth(name, n, n_wrong, noise, seed=0, n_columns=3):
    X, y = make_marker(n, n_wrong, noise, seed)
    X = X[:, :n_columns]
    return MODELS[name].fit(X, y).predict_proba(X)[np.arange(n), y]


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("name", MODELS)
def test_a_marker_that_is_wrong_in_one_row_is_trusted_in_the_others(name, noise):
    p = given_to_the_truth(name, 100, 1, noise, n_columns=N_COLUMNS.get(name, 3))
    assert 0.9 < np.median(p) < 0.9995


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [100, 400])
def test_no_row_decides_on_the_temperature_of_discriminant_analysis(n, seed):
    p = given_to_the_truth("lda", n, 1, 0.0, seed)
    assert 0.98 < np.median(p) < 1 - 0.1 / n
    assert p[0] < 0.02


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("name", MODELS)
def test_a_marker_that_is_always_right_is_trusted_but_not_beyond_its_rows(name, noise):
    p = given_to_the_truth(name, 100, 0, noise, n_columns=N_COLUMNS.get(name, 3))
    assert 0.98 < np.median(p) < 1 - 1e-5


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("name", PANELS)
def test_two_rows_of_each_class_say_something_but_not_much(name, noise, n_columns):
    p = given_to_the_truth(name, 4, 0, noise, n_columns=n_columns)
    assert p.min() > 0.75 and p.max() < 0.99


@pytest.mark.parametrize("n_wrong", [0, 1])
@pytest.mark.parametrize("name", PANELS)
def test_a_single_column_of_zeros_and_ones_is_learned_from(name, n_wrong):
    p = given_to_the_truth(name, 100, n_wrong, 0.0, n_columns=1)
    assert 0.98 < np.median(p) < 0.9999


@functools.cache
def fit_few(k, head, n, seed, shift=10.0):
    """A panel of a few rows with one marker among six columns."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 6))
    X[:, 2] += shift * y
    return PanelClassifier(k, head=head).fit(X, y), X, y


@pytest.mark.parametrize("head", ["auto", "lda", "logistic"])
@pytest.mark.parametrize(
    ("k", "n", "seed"), [(1, 4, 3), (3, 4, 1), (3, 4, 2), (3, 5, 1), (3, 6, 0), (3, 6, 1)]
)
def test_folds_of_a_handful_of_rows_do_not_hide_a_clear_marker(k, n, seed, head):
    model, X, y = fit_few(k, head, n, seed)
    p = model.predict_proba(X)[np.arange(n), y]
    assert np.median(p) > 0.7


@pytest.mark.parametrize("seed", [0, 4])
def test_folds_of_a_handful_of_rows_still_hide_noise(seed):
    model, X, _ = fit_few(1, "lda", 6, seed, shift=0.0)
    assert np.median(model.predict_proba(X).max(axis=1)) < 0.6
