import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tamis.selectors import OddsRatioSelector
from tests.oracles.selectors import log_odds_ratio
from tests.oracles.weights import as_read


def make_data(seed=0, n=60, m=8, n_classes=2, density=0.4):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)]
    chance = density * rng.uniform(0.2, 2.0, size=(n_classes, m))
    present = rng.uniform(size=(n, m)) < chance[y]
    return present * rng.normal(1.0, 2.0, size=(n, m)), y, rng.uniform(0.5, 2.0, size=n)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("threshold", [0.0, 0.7, -0.3])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_ratios_are_those_of_the_definition(n_classes, threshold, form):
    X, y, weight = make_data(n_classes=n_classes)
    selector = OddsRatioSelector(smoothing=0.5, threshold=threshold)
    ratios = selector.fit(form(X), y, sample_weight=weight).log_odds_ratios_
    for c in range(n_classes):
        expected = [log_odds_ratio(x, y == c, as_read(weight), 0.5, threshold) for x in X.T]
        assert_allclose(ratios[c], expected, atol=1e-12)


def test_little_smoothing_gives_the_published_formula():
    X, y, _ = make_data(1)
    ratios = OddsRatioSelector(smoothing=1e-12).fit(X, y).log_odds_ratios_
    expected = [log_odds_ratio(x, y == 1) for x in X.T]
    assert_allclose(ratios[1], expected, rtol=1e-9)


def test_no_class_is_preferred_without_a_positive_label():
    X, y, _ = make_data(2)
    one, other = OddsRatioSelector().fit(X, y), OddsRatioSelector().fit(X, 1 - y)
    assert_array_equal(one.scores_, np.abs(one.log_odds_ratios_[1]))
    assert_array_equal(one.scores_, other.scores_)
    assert_array_equal(one.log_odds_ratios_[0], -one.log_odds_ratios_[1])


@pytest.mark.parametrize("n_classes", [3, 4])
def test_score_of_many_classes_is_the_largest_ratio_of_any(n_classes):
    X, y, _ = make_data(3, n_classes=n_classes)
    fit = OddsRatioSelector(4).fit(X, y)
    assert_array_equal(fit.scores_, np.abs(fit.log_odds_ratios_).max(axis=0))
    assert_array_equal(fit.feature_order_, np.argsort(-fit.scores_))
    assert_array_equal(np.flatnonzero(fit.support_), np.sort(fit.feature_order_[:4]))


@pytest.mark.parametrize("label", ["a", "b", "c"])
def test_positive_label_ranks_by_the_signed_ratio(label):
    X, y, _ = make_data(4, n_classes=3)
    labels = np.array(["a", "b", "c"])[y]
    fit = OddsRatioSelector(3, pos_label=label).fit(X, labels)
    expected = [log_odds_ratio(x, labels == label, smoothing=1.0) for x in X.T]
    assert_allclose(fit.scores_, expected, atol=1e-12)
    assert fit.scores_.min() < 0
    assert_array_equal(fit.get_support(indices=True), np.sort(np.argsort(-np.array(expected))[:3]))


def test_features_that_tell_nothing_score_zero_in_unequal_classes():
    y = np.repeat([0, 1, 2], [3, 30, 300])
    X = np.column_stack([np.zeros(333), np.ones(333), np.tile([1.0, 0.0, 0.0], 111)])
    assert_array_equal(OddsRatioSelector().fit(X, y).scores_, 0.0)


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_threshold_by_rule_compares_each_feature_with_its_own(rule):
    X, y, _ = make_data(5, n=61)
    X = X * np.logspace(-2, 2, 8) + np.linspace(-50, 50, 8)
    ratios = OddsRatioSelector(threshold=rule).fit(X, y).log_odds_ratios_
    own = {"mean": np.mean, "median": np.median}[rule](X, axis=0)
    expected = [
        log_odds_ratio(x, y == 1, smoothing=1.0, threshold=t)
        for x, t in zip(X.T, own, strict=True)
    ]
    assert_allclose(ratios[1], expected, atol=1e-12)


@pytest.mark.parametrize("label", ["spam", 7, True])
def test_unknown_positive_label_is_refused(label):
    X, y, _ = make_data()
    with pytest.raises(ValueError, match=r"pos_label must be one of the classes \['a', 'b'\]"):
        OddsRatioSelector(pos_label=label).fit(X, np.array(["a", "b"])[y])


@pytest.mark.parametrize("smoothing", [0, -1.0, np.nan, np.inf, True, "1", None])
def test_smoothing_that_is_not_positive_is_refused(smoothing):
    X, y, _ = make_data()
    with pytest.raises(ValueError, match="smoothing must be a finite number > 0, got"):
        OddsRatioSelector(smoothing=smoothing).fit(X, y)


@pytest.mark.parametrize("threshold", ["mode", np.nan, np.inf, True, None, [0.0]])
def test_wrong_threshold_is_refused(threshold):
    X, y, _ = make_data()
    with pytest.raises(ValueError, match='threshold must be a finite number, "mean" or "median"'):
        OddsRatioSelector(threshold=threshold).fit(X, y)


def test_mean_that_overflows_is_refused():
    X = np.full((6, 3), 1e308)
    with pytest.raises(ValueError, match="overflow"):
        OddsRatioSelector(threshold="mean").fit(X, [0, 1, 0, 1, 0, 1])


def test_thresholds_mean_the_same_for_sparse_and_dense():
    X = np.array([[0.1], [0.1], [0], [0]], dtype=np.float32)
    y = [0, 0, 1, 1]
    dense = OddsRatioSelector(1, threshold=0.1).fit(X, y).scores_
    thin = OddsRatioSelector(1, threshold=0.1).fit(sparse.csr_array(X), y).scores_
    assert_array_equal(dense, thin)
    X, weight = np.array([[0.0], [1], [2], [2]]), [0.1 + 0.2, 0.2, 0.4, 0.1]
    dense = OddsRatioSelector(1, threshold="median").fit(X, y, weight).scores_
    thin = OddsRatioSelector(1, threshold="median").fit(sparse.csr_array(X), y, weight).scores_
    back = OddsRatioSelector(1, threshold="median").fit(X[::-1], y[::-1], weight[::-1]).scores_
    assert_allclose(dense, thin)
    assert_allclose(dense, back)
