"""The regularised path of long panels, against an independent solver."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from tamis import PanelClassifier
from tamis.panel import l1_path
from tamis.panel._l1_kernels import ColumnBlocks, SparseRows, State, descend
from tamis.panel.l1_path import follow_path


def make_words(n_rows=400, n_words=60, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n_rows)
    rate = 0.3 / np.arange(1, n_words + 1)[None, :] * np.exp(rng.normal(size=(n_classes, n_words)))
    return rng.poisson(rate[codes]).astype(float), codes


def solve(X, codes, n_problems, penalty, blocks=None, factor=None, ridge=0.0):
    """Coefficients and intercepts that `descend` finds on all blocks."""
    columns = sparse.csc_array(X)
    starts = np.arange(X.shape[1] + 1) if blocks is None else blocks
    weights = np.ones(codes.size)
    curvature = np.add.reduceat(0.25 * (weights @ columns.power(2)), starts[:-1])
    made = ColumnBlocks(
        columns.data,
        columns.indices.astype(np.int64),
        columns.indptr.astype(np.int64),
        starts,
        curvature + ridge,
        np.ones(starts.size - 1) if factor is None else factor,
        ridge,
    )
    n = codes.size
    state = State(
        np.zeros((X.shape[1], n_problems)),
        np.zeros(n_problems),
        np.zeros((n, n_problems)),
        np.zeros((n, n_problems)),
    )
    rows = SparseRows(codes, weights, 1 if n_problems == 1 else 0)
    descend(made, rows, state, np.arange(starts.size - 1), penalty, 3000, 1e-9)
    return state


def objective(coef, intercept, X, codes, n_problems, penalty, starts, factor, ridge):
    margins = X @ coef + intercept
    value = 0.0
    for c in range(n_problems):
        target = codes == (1 if n_problems == 1 else c)
        value += np.logaddexp(0, np.where(target, -margins[:, c], margins[:, c])).sum()
    squares = np.add.reduceat((coef**2).sum(axis=1), starts[:-1])
    value += 0.5 * ridge * (coef**2).sum()
    return value + penalty * (factor @ np.sqrt(squares))


def test_two_classes_agree_with_liblinear():
    X, codes = make_words()
    state = solve(X, codes, 1, 5.0)
    # liblinear penalises the intercept too, but hardly if it is scaled up.
    peer = LogisticRegression(
        C=1 / 5.0,
        l1_ratio=1.0,
        solver="liblinear",
        tol=1e-9,
        intercept_scaling=1e4,
        max_iter=10_000,
    ).fit(X, codes)
    assert_allclose(state.coef[:, 0], peer.coef_[0], atol=2e-3)
    assert 3 < np.count_nonzero(state.coef) < 40


@pytest.mark.parametrize("n_problems", [1, 3])
def test_groups_reach_the_least_objective(n_problems):
    X, codes = make_words(n_words=12, n_classes=max(2, n_problems))
    starts, factor = np.array([0, 1, 4, 6, 12]), np.array([1.0, 0.5, 0.0, 2.0])
    state = solve(X, codes, n_problems, 30.0, starts, factor, 1.0)
    arguments = (X, codes, n_problems, 30.0, starts, factor, 1.0)
    found = objective(state.coef, state.intercept, *arguments)
    size = 12 * n_problems

    def at(flat):
        return objective(flat[:size].reshape(12, n_problems), flat[size:], *arguments)

    rng = np.random.default_rng(1)
    start = np.concatenate([state.coef.ravel(), state.intercept])
    for _ in range(3):
        other = minimize(at, start + 0.05 * rng.normal(size=start.size), method="L-BFGS-B").fun
        assert found <= other + 1e-6 * abs(other)
    zero = np.sqrt(np.add.reduceat((state.coef**2).sum(axis=1), starts[:-1])) == 0
    assert zero.any() and not zero[2]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_order_is_that_of_entering(n_classes, monkeypatch):
    X, codes = make_words(n_classes=n_classes)
    monkeypatch.setattr(l1_path, "_TOL", 1e-6)
    monkeypatch.setattr(l1_path, "_MAX_PASSES", 2000)
    blocks, ones = [np.array([j]) for j in range(60)], np.ones(60)
    order = follow_path(X, codes, np.ones(400), n_classes, blocks, ones, 20, 3.0)
    assert_array_equal(np.sort(order), np.arange(60))
    Z = X / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    n_problems = 1 if n_classes == 2 else n_classes
    largest = 0.0
    for c in range(n_problems):
        target = codes == (1 if n_classes == 2 else c)
        largest = largest + (Z.T @ (target - target.mean())) ** 2
    penalty, entered = np.sqrt(largest.max()), []
    while len(entered) < 20:
        penalty *= l1_path._RATIO
        length = np.sqrt((solve(Z, codes, n_problems, penalty, ridge=3.0).coef ** 2).sum(axis=1))
        new = [j for j in np.argsort(-length) if length[j] > 1e-7 and j not in entered]
        entered += new
    assert order[: len(entered)].tolist() == entered


def test_sparse_and_dense_columns_enter_in_the_same_order():
    X, codes = make_words()
    blocks, ones = [np.array([j]) for j in range(60)], np.ones(60)
    dense = follow_path(X, codes, np.ones(400), 2, blocks, ones, 15, 3.0)[:15]
    some = follow_path(sparse.csr_array(X), codes, np.ones(400), 2, blocks, ones, 15, 3.0)[:15]
    assert len(set(dense) & set(some)) >= 14


def test_chosen_columns_have_no_penalty_and_costs_delay():
    X, codes = make_words()
    blocks, factor = [np.array([j]) for j in range(60)], np.ones(60)
    order = follow_path(X, codes, np.ones(400), 2, blocks, factor, 10, 3.0)
    factor[order[0]] = 0.0
    assert order[0] not in follow_path(X, codes, np.ones(400), 2, blocks, factor, 10, 3.0)
    factor[order[0]] = 50.0
    later = follow_path(X, codes, np.ones(400), 2, blocks, factor, 10, 3.0)
    assert later.tolist().index(order[0]) > 5


def test_panels_of_words_are_the_same_dense_or_sparse_and_keep_weights():
    X, codes = make_words(n_rows=600, n_words=200)
    assert np.count_nonzero(X) < 0.05 * X.size
    dense = PanelClassifier(12).fit(X, codes)
    some = PanelClassifier(12).fit(sparse.csr_array(X), codes)
    assert dense.head_ == "logistic"
    assert_array_equal(dense.support_, some.support_)
    assert_allclose(dense.coef_, some.coef_)
    assert_allclose(dense.feature_importances_, some.feature_importances_)
    assert_allclose(dense.predict_proba(X), some.predict_proba(sparse.csc_array(X)))
    again = PanelClassifier(12).fit(np.repeat(X, 2, axis=0), np.repeat(codes, 2))
    weighted = PanelClassifier(12).fit(X, codes, np.full(600, 2.0))
    assert_array_equal(again.support_, weighted.support_)
    assert_allclose(again.coef_, weighted.coef_, rtol=1e-3, atol=1e-4)


def test_long_panels_begin_with_the_forward_steps():
    rng = np.random.default_rng(0)
    codes = np.arange(200) % 2
    X = rng.normal(size=(200, 90)) + 0.4 * codes[:, None] * (np.arange(90) < 20)
    short = PanelClassifier(50, head="lda").fit(X, codes)
    long = PanelClassifier(70, head="lda").fit(X, codes)
    assert_array_equal(short.feature_order_[:50], long.feature_order_[:50])
    assert long.n_features_ == 70


def test_limits_hold_along_the_path():
    X, codes = make_words(n_words=150)
    groups = [f"group {j % 5}" for j in range(150)]
    model = PanelClassifier(60, feature_groups=groups, max_per_group=10).fit(X, codes)
    assert np.bincount(np.flatnonzero(model.support_) % 5).max() == 10
    assert model.n_features_ == 50
