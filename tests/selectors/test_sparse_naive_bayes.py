import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, minimize_scalar
from scipy.special import rel_entr, softmax
from sklearn.metrics import mutual_info_score

from tamis.selectors import SparseNaiveBayesSelector
from tests.oracles.selectors import (
    bernoulli_log_likelihood,
    bernoulli_parameters,
    best_log_likelihood,
    log_likelihood,
    multinomial_dual,
    multinomial_log_likelihood,
    multinomial_parameters,
)
from tests.oracles.weights import as_read

BOTH = pytest.mark.parametrize("likelihood", ["multinomial", "bernoulli"])


def make_counts(seed, n=12, m=6, n_classes=2, mean=2.0):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)]
    rate = mean * rng.exponential(size=(n_classes, m)) ** 2
    return rng.poisson(rate[y]).astype(float), y


@st.composite
def small_problems(draw, largest=3):
    n_classes = draw(st.integers(2, 4))
    sizes = draw(st.lists(st.integers(1, 4), min_size=n_classes, max_size=n_classes))
    y = np.repeat(np.arange(n_classes), sizes)
    m = draw(st.integers(1, 6))
    values = draw(st.lists(st.integers(0, largest), min_size=y.size * m, max_size=y.size * m))
    X = np.array(values, dtype=float).reshape(y.size, m)
    X[:, draw(st.integers(0, m - 1))] *= draw(st.integers(0, 1))  # a zero column now and then
    weights = st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=y.size, max_size=y.size)
    weight = draw(st.one_of(st.none(), weights))
    return X, y, None if weight is None else np.array(weight), draw(st.integers(1, m))


# The oracle itself.


@pytest.mark.parametrize("n_classes", [2, 3])
def test_multinomial_parameters_of_the_oracle_are_feasible_and_the_most_likely(n_classes):
    rng = np.random.default_rng(0)
    X, y = make_counts(3, n_classes=n_classes)
    inside = np.array([True, False, True, True, False, False])
    theta = multinomial_parameters(X, y, {0, 2, 3})
    best = multinomial_log_likelihood(X, y, theta)
    for c in theta:
        assert_allclose(sum(theta[c]), 1.0)
        assert_allclose(np.array(theta[c])[~inside], np.array(theta[0])[~inside])
    for size in np.geomspace(1e-4, 1.0, 200):
        common = np.array(theta[0]) * np.exp(size * rng.normal(size=6))
        common /= common.sum()
        others = {}
        for c in theta:
            own = np.array(theta[c]) * np.exp(size * rng.normal(size=6))
            own *= common[inside].sum() / own[inside].sum()
            others[c] = np.where(inside, own, common)
        assert multinomial_log_likelihood(X, y, others) <= best + 1e-9


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bernoulli_parameters_of_the_oracle_are_feasible_and_the_most_likely(n_classes):
    rng = np.random.default_rng(0)
    X, y = make_counts(3, n_classes=n_classes)
    inside = np.array([True, False, True, True, False, False])
    theta = bernoulli_parameters(X, y, {0, 2, 3})
    best = bernoulli_log_likelihood(X, y, theta)
    for c in theta:
        assert_allclose(np.array(theta[c])[~inside], np.array(theta[0])[~inside])
    for size in np.geomspace(1e-4, 1.0, 200):
        common = rng.uniform(size=6)
        others = {
            c: (1 - size) * np.array(theta[c])
            + size * np.where(inside, rng.uniform(size=6), common)
            for c in theta
        }
        assert bernoulli_log_likelihood(X, y, others) <= best + 1e-9


# Exactness.


@settings(max_examples=150, deadline=None)
@given(small_problems())
def test_bernoulli_support_is_globally_optimal(problem):
    X, y, weight, k = problem
    found = SparseNaiveBayesSelector(k, likelihood="bernoulli").fit(X, y, sample_weight=weight)
    best = best_log_likelihood(X, y, k, "bernoulli", as_read(weight))
    achieved = log_likelihood(X, y, np.flatnonzero(found.support_), "bernoulli", as_read(weight))
    assert_allclose(achieved, best, atol=1e-9)
    assert_allclose(found.log_likelihood_, best, atol=1e-9)
    assert found.upper_bound_ == found.log_likelihood_
    assert found.gap_ == 0


@settings(max_examples=150, deadline=None)
@given(st.one_of(small_problems(), small_problems(largest=1)))
def test_multinomial_support_is_globally_optimal_on_counts_and_on_binary_data(problem):
    X, y, weight, k = problem
    X[0, 0] = 1.0  # at least one count
    found = SparseNaiveBayesSelector(k).fit(X, y, sample_weight=weight)
    best = best_log_likelihood(X, y, k, "multinomial", as_read(weight))
    achieved = log_likelihood(X, y, np.flatnonzero(found.support_), "multinomial", as_read(weight))
    assert_allclose(achieved, best, atol=1e-9)
    assert_allclose(found.log_likelihood_, best, atol=1e-9)
    assert found.gap_ == 0
    assert found.upper_bound_ == found.log_likelihood_


@settings(max_examples=100, deadline=None)
@given(small_problems())
def test_the_dual_alone_brackets_the_optimum(problem):
    X, y, weight, k = problem
    X[0, 0] = 1.0
    found = SparseNaiveBayesSelector(k, max_nodes=0).fit(X, y, sample_weight=weight)
    best = best_log_likelihood(X, y, k, "multinomial", as_read(weight))
    achieved = log_likelihood(X, y, np.flatnonzero(found.support_), "multinomial", as_read(weight))
    assert_allclose(found.log_likelihood_, achieved, atol=1e-9)
    assert achieved <= best + 1e-9
    assert best <= found.upper_bound_ + 1e-9
    assert_allclose(found.gap_, found.upper_bound_ - found.log_likelihood_, atol=1e-9)
    assert found.gap_ >= 0


@pytest.mark.parametrize("n_problems", [12, pytest.param(60, marks=pytest.mark.slow)])
def test_the_dual_alone_is_optimal_on_most_problems_and_branching_on_all(n_problems):
    dual_optimal, dual_certain, branching_optimal, branching_certain = [], [], [], []
    for seed in range(n_problems):
        X, y = make_counts(seed, n=30, m=7, n_classes=2 + seed % 3)
        k = 2 + seed % 4
        best = best_log_likelihood(X, y, k, "multinomial")
        dual = SparseNaiveBayesSelector(k, max_nodes=0).fit(X, y)
        branching = SparseNaiveBayesSelector(k).fit(X, y)
        dual_optimal.append(dual.log_likelihood_ >= best - 1e-8)
        dual_certain.append(dual.gap_ == 0)
        branching_optimal.append(branching.log_likelihood_ >= best - 1e-8)
        branching_certain.append(branching.gap_ == 0)
    assert np.mean(dual_optimal) >= 0.85
    assert 0.1 <= np.mean(dual_certain) <= 0.9  # so branching has had something to do
    assert all(branching_optimal)
    assert all(branching_certain)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_bound_of_two_classes_is_the_minimum_of_the_one_dimensional_dual(k, seed):
    X, y = make_counts(seed, n=20)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, size=20)
    bound = SparseNaiveBayesSelector(k, max_nodes=0).fit(X, y, sample_weight=weight).upper_bound_

    def dual(a):
        return multinomial_dual(X, y, k, (1 - a, a), as_read(weight))

    least = minimize_scalar(dual, bounds=(0, 1), method="bounded", options={"xatol": 1e-12}).fun
    assert_allclose(bound, least, atol=1e-6)


@pytest.mark.parametrize("n_classes", [3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_bound_of_more_classes_is_the_minimum_of_the_dual_over_the_simplex(n_classes, seed):
    X, y = make_counts(seed, n=20, n_classes=n_classes)
    bound = SparseNaiveBayesSelector(3, max_nodes=0).fit(X, y).upper_bound_

    def dual(logits):
        return multinomial_dual(X, y, 3, softmax(logits))

    start = np.log([X[y == c].sum() for c in range(n_classes)])
    options = {"maxiter": 4000, "xatol": 1e-9, "fatol": 1e-9}
    for _ in range(3):  # the simplex of Nelder and Mead collapses on kinks: begin again
        start = minimize(dual, start, method="Nelder-Mead", options=options).x
    assert bound <= dual(start) + 1e-9
    assert_allclose(bound, dual(start), atol=1e-3)


def test_more_nodes_never_loosen_the_bound_nor_lose_likelihood():
    X = np.random.default_rng(1).poisson(1.0, size=(200, 60)).astype(float)  # noise is hardest
    y = np.arange(200) % 6
    fits = [SparseNaiveBayesSelector(5, max_nodes=n).fit(X, y) for n in (0, 2, 8, 32, 128)]
    bounds = [fit.upper_bound_ for fit in fits]
    likelihoods = [fit.log_likelihood_ for fit in fits]
    assert bounds[-1] < bounds[0]
    assert likelihoods[-1] > likelihoods[0]
    assert all(np.diff(bounds) <= 1e-9)
    assert all(np.diff(likelihoods) >= 0)
    assert all(fit.gap_ >= 0 for fit in fits)


# What the numbers mean.


def test_bernoulli_score_is_the_mutual_information_of_presence_and_class():
    X, y = make_counts(1, n=40, n_classes=3)
    scores = SparseNaiveBayesSelector(likelihood="bernoulli").fit(X, y).scores_
    assert_allclose(scores, [40 * mutual_info_score(y, x > 0) for x in X.T], atol=1e-12)


def test_multinomial_scores_of_the_best_features_sum_to_the_bound():
    X, y = make_counts(2, n=40, m=20, n_classes=3)
    fit = SparseNaiveBayesSelector(5, max_nodes=0).fit(X, y)
    common = log_likelihood(X, y, (), "multinomial")
    assert_allclose(np.sort(fit.scores_)[-5:].sum(), fit.upper_bound_ - common)


@BOTH
def test_all_features_give_plain_naive_bayes(likelihood):
    X, y = make_counts(4, n_classes=3)
    fit = SparseNaiveBayesSelector(None, likelihood=likelihood).fit(X, y)
    assert_array_equal(fit.get_support(indices=True), np.arange(6))
    assert_allclose(fit.log_likelihood_, log_likelihood(X, y, range(6), likelihood))
    assert fit.gap_ == 0


def test_one_feature_alone_gains_nothing_and_the_best_score_decides():
    X, y = make_counts(5, m=30)
    fit = SparseNaiveBayesSelector(1).fit(X, y)
    assert_allclose(fit.log_likelihood_, log_likelihood(X, y, (), "multinomial"))
    assert fit.gap_ == 0
    assert fit.get_support(indices=True) == fit.scores_.argmax()
    f = np.array([X[y == 0].sum(axis=0), X[y == 1].sum(axis=0)])
    expected = rel_entr(f, f.sum(axis=0) * f.sum(axis=1, keepdims=True) / f.sum()).sum(axis=0)
    assert_allclose(fit.scores_, expected, atol=1e-12)


@BOTH
def test_a_feature_that_is_the_same_in_all_classes_has_no_bernoulli_gain(likelihood):
    y = np.repeat([0, 1, 2], [2, 4, 6])
    X = np.column_stack([np.tile([1.0, 0.0], 6), np.ones(12), np.zeros(12), y == 1])
    scores = SparseNaiveBayesSelector(1, likelihood=likelihood).fit(X, y).scores_
    assert scores.argmax() == 3
    assert scores[2] == 0
    assert_array_equal(scores[:2] == 0, likelihood == "bernoulli")


def test_equal_rates_have_no_gain_whatever_the_rounding():
    y = np.repeat([0, 1], [3 * 49, 7 * 49])
    X = np.tile(np.arange(49) == 0, 10)[:, None]
    assert SparseNaiveBayesSelector(1, "bernoulli").fit(X, y).scores_ == 0


def test_kept_features_lead_the_ranking():
    found_unlike_the_scores = 0
    for seed in range(40):
        X, y = make_counts(seed, n=20, m=12, n_classes=3)
        fit = SparseNaiveBayesSelector(4).fit(X, y)
        assert_array_equal(np.sort(fit.feature_order_[:4]), np.flatnonzero(fit.support_))
        assert_array_equal(np.sort(fit.feature_order_), np.arange(12))
        assert all(np.diff(fit.scores_[fit.feature_order_[:4]]) <= 0)
        assert all(np.diff(fit.scores_[fit.feature_order_[4:]]) <= 0)
        found_unlike_the_scores += (
            fit.scores_[fit.support_].min() < fit.scores_[fit.feature_order_[4]]
        )
    assert found_unlike_the_scores > 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_multinomial_smoothing_is_a_pseudo_sample_of_every_class(n_classes):
    X, y = make_counts(6, n_classes=n_classes)
    share = np.array([X[y == c].sum() for c in range(n_classes)]) / X.sum()
    pseudo = 0.7 * n_classes * share[:, None] * np.ones(6)
    smooth = SparseNaiveBayesSelector(3, smoothing=0.7).fit(X, y)
    by_hand = SparseNaiveBayesSelector(3).fit(
        np.vstack([X, pseudo]), np.r_[y, np.arange(n_classes)]
    )
    assert_allclose(smooth.scores_, by_hand.scores_)
    assert_allclose(smooth.log_likelihood_, by_hand.log_likelihood_)
    plain = SparseNaiveBayesSelector(3).fit(X, y)
    assert np.abs(smooth.scores_ - plain.scores_).max() > 0.01


def test_bernoulli_smoothing_is_two_pseudo_samples_of_every_class():
    X, y = make_counts(7, n_classes=3)
    weight = np.ones(12)
    pseudo = 0.7 * 3 * np.bincount(y) / 12
    smooth = SparseNaiveBayesSelector(3, "bernoulli", smoothing=0.7).fit(X, y)
    by_hand = SparseNaiveBayesSelector(3, "bernoulli").fit(
        np.vstack([X, np.ones((3, 6)), np.zeros((3, 6))]),
        np.r_[y, 0, 1, 2, 0, 1, 2],
        sample_weight=np.r_[weight, pseudo, pseudo],
    )
    scale = (12 + 2 * pseudo.sum()) / 18  # these weights are relative: they are made to sum to 18
    assert_allclose(smooth.scores_, scale * by_hand.scores_, atol=1e-12)
    assert_allclose(smooth.log_likelihood_, scale * by_hand.log_likelihood_)


def test_a_smoothed_feature_that_is_never_there_gains_nothing_in_unequal_classes():
    y = np.repeat([0, 1], [5, 500])
    X = np.column_stack([np.zeros(505), np.tile([1.0, 0.0, 1.0, 1.0, 0.0], 101)])
    scores = SparseNaiveBayesSelector(1, "bernoulli", smoothing=1.0).fit(X, y).scores_
    assert_allclose(scores, 0.0, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e-3, 1e150])
def test_units_do_not_matter(scale):
    X, y = make_counts(8, n=30, m=12, n_classes=3)
    plain = SparseNaiveBayesSelector(4).fit(X, y)
    scaled = SparseNaiveBayesSelector(4).fit(X * scale, y)
    assert_array_equal(scaled.support_, plain.support_)
    assert_allclose(scaled.scores_, plain.scores_ * scale, rtol=1e-6, atol=1e-9 * scale)
    assert scaled.gap_ == 0


# Extremes.


@BOTH
def test_data_without_any_count_are_all_ties(likelihood):
    fit = SparseNaiveBayesSelector(2, likelihood).fit(np.zeros((4, 5)), [0, 0, 1, 1])
    assert_array_equal(fit.get_support(indices=True), [0, 1])
    assert_array_equal(fit.scores_, 0)
    assert fit.log_likelihood_ == fit.gap_ == 0


def test_a_class_without_any_count_has_no_say():
    X, y = make_counts(9, n_classes=3)
    X[y == 1] = 0
    fit = SparseNaiveBayesSelector(3).fit(X, y)
    without = SparseNaiveBayesSelector(3).fit(X[y != 1], y[y != 1])
    assert_array_equal(fit.support_, without.support_)
    assert_allclose(fit.scores_, without.scores_)


def test_classes_with_words_of_their_own_are_told_apart():
    # Every feature belongs to one class: the first supports lack whole classes.
    X = np.kron(np.eye(5), np.ones((3, 2))) * np.arange(1, 11)
    y = np.repeat(np.arange(5), 3)
    for k in range(2, 8):
        fit = SparseNaiveBayesSelector(k).fit(X, y)
        best = max(
            log_likelihood(X, y, support, "multinomial") for support in combinations(range(10), k)
        )
        assert_allclose(fit.log_likelihood_, best)
        assert fit.gap_ == 0


def test_many_classes_and_features_are_bounded_tightly():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 40
    X = rng.poisson(rng.exponential(size=(40, 3000)) ** 2 * 0.2)[y].astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = SparseNaiveBayesSelector(50, max_nodes=0).fit(X, y)
    gain = fit.log_likelihood_ - SparseNaiveBayesSelector(1).fit(X, y).log_likelihood_
    assert fit.gap_ < 0.01 * gain


def test_negative_values_are_refused_by_the_multinomial_likelihood_only():
    X, y = make_counts(0)
    X[3, 2] = -1.5
    with pytest.raises(ValueError, match=r"needs values >= 0, got -1\.5.*bernoulli"):
        SparseNaiveBayesSelector().fit(X, y)
    SparseNaiveBayesSelector(likelihood="bernoulli").fit(X, y)


def test_sums_that_overflow_are_refused():
    with pytest.raises(ValueError, match="overflow"):
        SparseNaiveBayesSelector().fit(np.full((6, 3), 1e308), [0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize("parameter", ["likelihood", "smoothing", "max_nodes"])
@pytest.mark.parametrize("value", ["gaussian", None, -1, True, np.nan, [1]], ids=str)
def test_wrong_parameters_are_named(parameter, value):
    X, y = make_counts(0)
    with pytest.raises(ValueError, match=f"{parameter} must be .*, got"):
        SparseNaiveBayesSelector(**{parameter: value}).fit(X, y)
