"""Heads against scikit-learn and against their own formulas, and data that are hard on them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression

from tamis.heads import fit_kernel, fit_lda, fit_logistic
from tamis.heads.head import standardize
from tests.quick import quick_pairs


def make_data(n_classes, n=90, k=4, seed=0):
    """Correlated features in different units, and class indices of unequal frequency."""
    rng = np.random.default_rng(seed)
    codes = np.sort(rng.integers(0, n_classes + 1, n) % n_classes)
    X = rng.normal(size=(n, k)) @ rng.normal(size=(k, k)) + rng.normal(size=(n_classes, k))[codes]
    return X * np.logspace(-2, 2, k) + 5.0, codes


def centered(decisions):
    """Decisions without their constant per row."""
    return decisions - decisions.mean(axis=1, keepdims=True)


def fit_lda_evenly(X, codes, weights, n_classes):
    return fit_lda(X, codes, weights, np.full(n_classes, 1 / n_classes))


def fit_logistic_once(X, codes, weights, n_classes):
    return fit_logistic(X, codes, weights, n_classes, [2.0])[0]


def fit_kernel_once(X, codes, weights, n_classes):
    landmarks = np.unique(X, axis=0, return_index=True)[1][:20]
    return fit_kernel(X, codes, weights, n_classes, [(1.0, 0.5)], landmarks)[0]


FITS = {"lda": fit_lda_evenly, "logistic": fit_logistic_once, "kernel": fit_kernel_once}
heads = pytest.mark.parametrize("fit", FITS.values(), ids=FITS)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("n", [60, 200])
def test_lda_is_that_of_scikit_learn(n_classes, n):
    X, codes = make_data(n_classes, n)
    priors = np.arange(1, n_classes + 1) / sum(range(1, n_classes + 1))
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto", priors=priors)
    model.fit(X, codes)
    expected = X @ model.coef_.T + model.intercept_
    if n_classes == 2:
        expected = np.column_stack([-expected / 2, expected / 2])
    ours = fit_lda(X, codes, np.ones(n), priors).decisions(X)
    assert_allclose(centered(ours), centered(expected), rtol=1e-6, atol=1e-6)


@heads
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_weight_of_two_is_the_row_twice(fit, n_classes):
    X, codes = make_data(n_classes)
    weights = np.random.default_rng(1).integers(1, 4, codes.size)
    weighted = fit(X, codes, weights.astype(float), n_classes)
    repeated = fit(
        np.repeat(X, weights, axis=0),
        np.repeat(codes, weights),
        np.ones(weights.sum()),
        n_classes,
    )
    plain = fit(X, codes, np.ones(codes.size), n_classes).decisions(X)
    assert_allclose(weighted.decisions(X), repeated.decisions(X), rtol=1e-4, atol=1e-5)
    assert not np.allclose(weighted.decisions(X), plain, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_logistic_is_that_of_scikit_learn_for_every_ridge(n_classes):
    X, codes = make_data(n_classes)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, codes.size)
    scale = standardize(X, weights)
    alphas = [1.0, 30.0, 0.1]  # neither ascending nor descending
    found = fit_logistic(X, codes, weights, n_classes, alphas)
    for alpha, head in zip(alphas, found, strict=True):
        model = LogisticRegression(C=1 / alpha, tol=1e-10, max_iter=10_000)
        model.fit(scale(X), codes, sample_weight=weights)
        expected = model.predict_log_proba(scale(X))
        assert_allclose(centered(head.decisions(X)), centered(expected), rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_small_ridge_separates_separable_rows_without_overshooting(n_classes):
    X = np.arange(30.0)[:, None]
    codes = np.arange(30) * n_classes // 30
    head = fit_logistic(X, codes, np.ones(30), n_classes, [1e-6])[0]
    assert np.all(np.isfinite(head.coef))
    assert np.array_equal(head.decisions(X).argmax(axis=1), codes)


def dense_kernel_decisions(X, codes, weights, n_classes, width, ridge, landmarks):
    """The formula of the module: normal equations, one dense solve."""
    Z = standardize(X, weights)(X)
    K = np.exp(-width / X.shape[1] * cdist(Z, Z[landmarks], "sqeuclidean"))
    targets = np.eye(n_classes)[codes] - 1 / n_classes
    W = np.diag(weights)
    A = np.linalg.lstsq(K.T @ W @ K + ridge * K[landmarks], K.T @ W @ targets, rcond=None)[0]
    return K @ A


@pytest.mark.parametrize("n_classes", [2, 3])
def test_kernel_solves_its_formula_for_every_setting(n_classes):
    X, codes = make_data(n_classes)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, codes.size)
    landmarks = np.arange(0, 90, 7)
    settings = [(3.0, 1.0), (0.3, 0.1), (3.0, 10.0)]
    found = fit_kernel(X, codes, weights, n_classes, settings, landmarks)
    for (width, ridge), head in zip(settings, found, strict=True):
        expected = dense_kernel_decisions(X, codes, weights, n_classes, width, ridge, landmarks)
        assert_allclose(head.decisions(X), expected, atol=3e-3)


def test_kernel_with_all_rows_as_landmarks_is_kernel_ridge_regression():
    X, codes = make_data(3)
    Z = standardize(X, np.ones(90))(X)
    model = KernelRidge(alpha=0.5, kernel="rbf", gamma=2.0 / 4).fit(Z, np.eye(3)[codes] - 1 / 3)
    head = fit_kernel(X, codes, np.ones(90), 3, [(2.0, 0.5)], np.arange(90))[0]
    assert_allclose(head.decisions(X), model.predict(Z), atol=1e-3)


@heads
@pytest.mark.parametrize(
    ("scale", "n_classes"), quick_pairs([1e-150, 1e-20, 1.0, 1e20, 1e150], [2, 3])
)
def test_units_make_no_difference(fit, n_classes, scale):
    X, codes = make_data(n_classes)
    expected = fit(X, codes, np.ones(90), n_classes).decisions(X)
    found = fit(X * scale, codes, np.ones(90), n_classes).decisions(X * scale)
    assert_allclose(centered(found), centered(expected), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_of_a_feature_that_is_constant_in_a_class_make_no_difference(scale):
    X, codes = make_data(3)
    X[codes == 1, 0] = 0.0
    expected = fit_lda_evenly(X, codes, np.ones(90), 3).decisions(X)
    X[:, 0] *= scale
    found = fit_lda_evenly(X, codes, np.ones(90), 3).decisions(X)
    assert_allclose(centered(found), centered(expected), rtol=1e-6, atol=1e-6)


@heads
@pytest.mark.parametrize("n_classes", [2, 3])
def test_features_of_very_different_units_go_together(fit, n_classes):
    X, codes = make_data(n_classes)
    units = np.array([1e-150, 1e150, 1.0, 1e-9])
    expected = fit(X, codes, np.ones(90), n_classes).decisions(X)
    found = fit(X * units, codes, np.ones(90), n_classes).decisions(X * units)
    assert_allclose(centered(found), centered(expected), rtol=1e-4, atol=1e-4)


def test_a_constant_feature_changes_nothing_in_logistic_regression():
    X, codes = make_data(3)
    with_constant = np.column_stack([np.full(90, 1e6), X])
    expected = fit_logistic_once(X, codes, np.ones(90), 3).decisions(X)
    found = fit_logistic_once(with_constant, codes, np.ones(90), 3).decisions(with_constant)
    assert_allclose(centered(found), centered(expected), atol=1e-5)


def test_lda_with_a_constant_feature_is_that_of_scikit_learn():
    X, codes = make_data(3)
    X[:, 1] = 0.1  # in all classes; the mean of such values is not exactly 0.1
    X[codes == 2, 2] = 0.1
    X /= standardize(X, np.ones(90)).scale
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto", priors=np.full(3, 1 / 3))
    expected = model.fit(X, codes).decision_function(X)
    found = fit_lda_evenly(X, codes, np.ones(90), 3).decisions(X)
    assert_allclose(centered(found), centered(expected), rtol=1e-6, atol=1e-6)


@heads
@pytest.mark.parametrize("value", [0.0, 0.1, 1e150])
def test_nothing_but_constant_features_gives_finite_and_equal_decisions(fit, value):
    codes = np.arange(30) % 3
    X = np.full((30, 2), value)
    decisions = fit(X, codes, np.ones(30), 3).decisions(X)
    assert np.all(np.isfinite(decisions))
    assert_allclose(decisions, decisions[:1].repeat(30, axis=0))


@heads
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_feature_is_enough(fit, n_classes):
    X, codes = make_data(n_classes, k=1)
    decisions = fit(X, codes, np.ones(90), n_classes).decisions(X)
    assert decisions.shape == (90, n_classes)
    assert np.all(np.isfinite(decisions))


@heads
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_class_without_rows_is_never_predicted(fit, missing):
    X, codes = make_data(3)
    rows = codes != missing
    decisions = fit(X[rows], codes[rows], np.ones(rows.sum()), 3).decisions(X)
    assert not np.any(np.isnan(decisions))
    assert not np.any(decisions.argmax(axis=1) == missing)


def test_lda_of_one_row_per_class_puts_the_border_in_the_middle():
    X, codes = np.array([[0.0], [10.0]]), np.array([0, 1])
    head = fit_lda(X, codes, np.ones(2), np.array([0.5, 0.5]))
    assert head.decisions(np.array([[4.9], [5.1]])).argmax(axis=1).tolist() == [0, 1]


def test_lda_is_the_same_in_blocks_of_rows(monkeypatch):
    X, codes = make_data(3)
    weights = np.random.default_rng(0).integers(0, 3, 90).astype(float)
    expected = fit_lda_evenly(X, codes, weights, 3)
    monkeypatch.setattr("tamis.heads.head._BLOCK_VALUES", 7 * X.shape[1])
    found = fit_lda_evenly(X, codes, weights, 3)
    assert_allclose(found.coef, expected.coef, rtol=1e-9, atol=1e-12)
    assert_allclose(found.intercept, expected.intercept, rtol=1e-9)
