import time
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis import SparseCenterClassifier
from tamis.guarantees import NearOptimalPanels, best_panel, near_optimal_panels


def by_brute_force(gains, k, eps):
    panels = list(combinations(range(gains.size), k))
    sums = np.array([gains[list(panel)].sum() for panel in panels])
    near = np.flatnonzero(sums >= sums.max() - eps - 1e-12)
    return [(sums[i], set(panels[i])) for i in near[np.argsort(-sums[near], kind="stable")]]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [1, 3, 8, 11])
def test_panels_are_those_of_brute_force_in_order(seed, k):
    rng = np.random.default_rng(seed)
    gains = rng.random(12).round(1 if seed % 2 else 8) + 0.05
    eps = rng.choice([0.0, 0.2, 0.5])
    panels = NearOptimalPanels(gains, k, eps)
    found, expected = list(panels), by_brute_force(gains, k, eps)
    assert_allclose([p.gain for p in found], [gain for gain, _ in expected])
    assert_allclose([p.gain for p in found], [gains[p.features].sum() for p in found])
    as_sets = [frozenset(p.features.tolist()) for p in found]
    assert len(set(as_sets)) == len(found)
    assert set(as_sets) == {frozenset(panel) for _, panel in expected}
    assert panels.count() == (len(expected), len(expected))
    often = np.sum([[j in panel for j in range(12)] for _, panel in expected], axis=0)
    names = np.where(often == len(expected), "all", np.where(often > 0, "some", "none"))
    assert_array_equal(panels.status(), names)


def test_all_panels_of_sixteen_features_are_counted():
    gains = np.random.default_rng(0).random(16) + 0.01
    panels = NearOptimalPanels(gains, 8, np.inf)
    assert panels.count(20_000) == (12_870, 12_870)
    low, high = panels.count(100)
    assert low <= 12_870 <= high < 12_871


@pytest.mark.parametrize("seed", range(5))
def test_counts_that_are_not_exact_are_bounded(seed):
    gains = np.random.default_rng(seed).random(14) + 0.01
    exact = len(by_brute_force(gains, 5, 0.8))
    low, high = NearOptimalPanels(gains, 5, 0.8).count(max_counted=10)
    assert low <= exact <= high
    assert high <= 1.1 * low + 20  # and close


def test_equal_gains_are_counted_within_bounds():
    low, high = NearOptimalPanels(np.full(60, 0.5), 10, 0.0).count(max_counted=10)
    n_all = 75_394_027_566  # 60 over 10
    assert low <= n_all <= high <= low * 1.001


def test_the_best_panel_without_a_feature():
    gains = np.array([0.3, 0.9, 0.5, 0.4, 0.0])
    panel = NearOptimalPanels(gains, 2, 0.1).without([1])
    assert_array_equal(panel.features, [2, 3])
    assert_allclose([panel.gain, panel.loss], [0.9, 0.5])


def test_features_without_gain_are_in_no_panel():
    panels = NearOptimalPanels([0.5, 0.0, 0.2], 3, 1.0)
    assert [p.features.tolist() for p in panels] == [[0, 2]]
    assert panels.status().tolist() == ["all", "none", "all"]


def test_the_features_of_the_only_panel_are_in_all():
    assert NearOptimalPanels([0.5, 0.4], 2, np.inf).status().tolist() == ["all", "all"]
    some = NearOptimalPanels([0.5, 0.4, 0.1, 0.0], 2, np.inf).status()
    assert some.tolist() == ["some", "some", "some", "none"]


@pytest.mark.parametrize("features", [[0.5], [-1], [5], [True]])
def test_features_that_are_not_there_cannot_be_left_out(features):
    with pytest.raises(ValueError, match=r"no feature|by their indices"):
        NearOptimalPanels([0.3, 0.9, 0.5, 0.4, 0.0], 2, 0.1).without(features)


@pytest.mark.parametrize("seed", range(10))
def test_at_most_n_of_each_group_is_exact(seed):
    rng = np.random.default_rng(seed)
    gains, groups = rng.random(10).round(1), rng.integers(0, 4, 10)
    at_most, k = int(rng.integers(1, 4)), int(rng.integers(1, 8))
    fitting = [
        s
        for size in range(1, k + 1)
        for s in combinations(range(10), size)
        if np.bincount(groups[list(s)]).max() <= at_most
    ]
    found = best_panel(gains, k, groups=groups, at_most=at_most)
    assert np.bincount(groups[found]).max() <= at_most
    assert_allclose(gains[found].sum(), max(gains[list(s)].sum() for s in fitting))


@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_eps_is_one_standard_error_of_the_gain(metric):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 1], 60)
    X = rng.normal(size=(180, 4)) + y[:, None] * [1.5, 1.0, 0.5, 0.2]
    model = SparseCenterClassifier(2, metric=metric).fit(X, y)
    eps = near_optimal_panels(model, X, y).eps
    chosen = np.flatnonzero(model.support_)
    draws = []
    for _ in range(100):
        rows = np.concatenate([rng.choice(np.flatnonzero(y == c), (y == c).sum()) for c in (0, 1)])
        again = SparseCenterClassifier(2, metric=metric).fit(X[rows], y[rows])
        draws.append(again.gains_[chosen].sum())
    assert_allclose(eps, np.std(draws), rtol=0.25)
    twice = np.repeat(np.arange(180), 2)
    model = SparseCenterClassifier(2, metric=metric).fit(X[twice], y[twice])
    assert_allclose(near_optimal_panels(model, X[twice], y[twice], groups=twice).eps, eps)


def test_models_without_comparable_gains_are_refused():
    X, y = np.random.default_rng(0).normal(size=(20, 4)), np.arange(20) % 2
    with pytest.raises(ValueError, match="scaling='spread'"):
        near_optimal_panels(SparseCenterClassifier(2, scaling=None).fit(X, y), X, y)
    with pytest.raises(ValueError, match="keep=None"):
        near_optimal_panels(SparseCenterClassifier(2, keep=[0]).fit(X, y), X, y)
    with pytest.raises(ValueError, match="Give X and y"):
        near_optimal_panels(SparseCenterClassifier(2).fit(X, y))


def test_twenty_panels_take_about_a_millisecond():
    gains = np.random.default_rng(0).random(22_215) ** 4
    taken = []
    for _ in range(5):
        start = time.process_time()
        NearOptimalPanels(gains, 10, 0.01).first(20)
        taken.append(time.process_time() - start)
    assert min(taken) < 0.003  # 0.5 ms on an idle core
