"""Sample weights: whole numbers are counts, all others are relative, decided for whole tables."""

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression

from tamis import (
    PanelClassifier,
    PanelClassifierCV,
    PrimalDualClassifier,
    PrimalDualClassifierCV,
    SparseCenterClassifier,
    SparseCenterClassifierCV,
    TableClassifier,
)
from tamis._base import WeightSummary, check_weights, decided, read_weights
from tamis._base.weights import LARGEST_RATIO, MOST_COUNTED
from tamis.selectors import OddsRatioSelector, SparseNaiveBayesSelector
from tamis.stability import selection_frequencies

ESTIMATORS = {
    "centers": SparseCenterClassifier(3),
    "medians": SparseCenterClassifier(3, metric="l1"),
    "covariance": SparseCenterClassifier(3, covariance="shrunk"),
    "centers CV": SparseCenterClassifierCV(cv=3),
    "lda": PrimalDualClassifier(1.0, head="lda"),
    "logistic": PrimalDualClassifier(1.0, head="logistic"),
    "primal-dual CV": PrimalDualClassifierCV([0.5, 1.0], cv=2),
    "panel": PanelClassifier(3, cv=2),
    "panel CV": PanelClassifierCV([1, 3], cv=2),
    "table": TableClassifier(LogisticRegression()),
}


@functools.cache
def data():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 2
    X = rng.normal(size=(90, 6)) + 0.8 * y[:, None]
    X[:, 1] += 2 * X[:, 0]  # correlated, so that shrinkage matters
    return X, y, rng.random(90) + 0.05


def answers(estimator, weights):
    X, y, _ = data()
    return clone(estimator).fit(X, y, sample_weight=weights).predict_proba(X)


# How weights are read.


@pytest.mark.parametrize(
    ("weights", "read"),
    [
        ([2.0, 0.0, 1.0], [2.0, 0.0, 1.0]),
        ([0.0, 1.0, 3.0, 0.5], [0.0, 2 / 3, 2.0, 1 / 3]),
        ([0.1, 0.0, 0.1, 0.1], [1.0, 0.0, 1.0, 1.0]),
        ([1e-99, 3e-99], [0.5, 1.5]),
        ([2 * MOST_COUNTED, MOST_COUNTED], [4 / 3, 2 / 3]),
    ],
    ids=["counts", "relative", "equal", "tiny", "beyond counting"],
)
def test_whole_numbers_are_counts_and_others_are_relative(weights, read):
    found = check_weights(weights, np.zeros((len(weights), 1)))
    assert_allclose(found, read, rtol=1e-15)
    assert_array_equal(found == 0, np.equal(weights, 0))


def test_equal_relative_weights_are_exactly_one():
    for size in (1 / 49, 0.1, 1 / 569):
        found, unit = read_weights(np.full(569, size), np.zeros((569, 1)))
        assert_array_equal(found, 1.0)
        assert unit == size


def test_parts_add_up_to_the_whole():
    weights = np.array([0.0, 2.0, 3.0, 0.5, 0.0, 7.0])
    whole = WeightSummary.of(weights)
    merged = WeightSummary.of(weights[:3]).merge(WeightSummary.of(weights[3:]))
    assert merged == whole == WeightSummary(4, 12.5, 0.5, 7.0, False)
    assert WeightSummary.of(np.zeros(3)).merge(WeightSummary.of(5)) == WeightSummary.of(np.ones(5))


def test_weights_beyond_the_limit_of_their_ratio_are_refused():
    X = np.zeros((3, 1))
    check_weights([0.0, 0.5, 0.5 * LARGEST_RATIO], X)
    with pytest.raises(ValueError, match=r"from 0.5 to 4.5e\+15, a ratio above the limit of"):
        check_weights([0.0, 0.5, LARGEST_RATIO], X)


def test_a_part_of_a_table_is_not_read_again():
    whole = decided(check_weights([0.5, 0.5, 1.5, 1.5], np.zeros((4, 1))))
    found = check_weights(whole[2:], np.zeros((2, 1)))
    assert_array_equal(found, [1.5, 1.5])
    assert type(found) is np.ndarray


# The same model whatever the scale.


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_scale_of_relative_weights_changes_nothing(name):
    weights = data()[2]
    expected = answers(ESTIMATORS[name], weights)
    assert_allclose(answers(ESTIMATORS[name], weights * 1e-99), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_equal_weights_are_no_weights(name):
    expected = answers(ESTIMATORS[name], None)
    assert_allclose(answers(ESTIMATORS[name], np.full(90, 1 / 90)), expected, rtol=1e-9)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name.endswith("CV")])
def test_a_row_of_weight_0_is_in_no_fold(name, grouped):
    X, y, weights = data()
    groups = np.arange(90) // 3
    weights = np.where(np.random.default_rng(1).random(90) < 0.1, 0.0, weights)
    used = weights > 0
    found = []
    for rows in (slice(None), used):
        given = {"groups": groups[rows]} if grouped else {}
        model = clone(ESTIMATORS[name]).fit(X[rows], y[rows], weights[rows], **given)
        found.append((model.predict_proba(X), model.path_["score"]))
    assert_allclose(found[0][0], found[1][0], rtol=1e-9)
    assert_allclose(found[0][1], found[1][1], rtol=1e-9)


@pytest.mark.parametrize(
    "selector", [OddsRatioSelector(2), SparseNaiveBayesSelector(2, smoothing=1.0)], ids=type
)
def test_selectors_do_not_see_the_scale(selector):
    X, y, weights = data()
    one, other = (clone(selector).fit(abs(X), y, w).scores_ for w in (weights, 1e-3 * weights))
    assert_allclose(one, other, rtol=1e-9)


class _Recording(BaseEstimator):
    """Keeps the weights of each training."""

    def __init__(self, seen):
        self.seen = seen

    def fit_path(self, X, y, levels, sample_weight):
        """A path of nothing."""
        self.seen.append((X[:, 0], check_weights(sample_weight, X)))
        return SparseCenterClassifier().fit_path(X, y, levels)


def test_half_samples_have_the_weights_of_the_whole_table():
    X, y, weights = data()
    X, seen = np.column_stack([np.arange(90.0), X]), []
    selection_frequencies(_Recording(seen), X, y, [1], sample_weight=weights, n_resamples=2)
    assert len(seen) == 3
    for rows, of_rows in seen:
        assert_allclose(of_rows, (weights / weights.mean())[rows.astype(int)], rtol=1e-12)


# Chunks.


@pytest.mark.parametrize("name", ["centers", "medians", "logistic"])
def test_chunks_are_read_as_the_whole_table_is(name):
    X, y, weights = data()
    weights = np.where(np.arange(90) < 30, 2.0, 0.01 * weights)  # whole numbers in one chunk
    chunks = [(X[i : i + 30], y[i : i + 30], weights[i : i + 30]) for i in (0, 30, 60)]
    whole = clone(ESTIMATORS[name]).fit(X, y, weights)
    parts = clone(ESTIMATORS[name]).fit_chunks(chunks)
    assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-4, atol=1e-6)
    sums = "class_weight_" if name == "logistic" else "class_count_"
    assert_allclose(getattr(parts, sums), getattr(whole, sums), rtol=1e-12)


@pytest.mark.parametrize("name", ["centers", "medians", "logistic"])
def test_the_limit_of_ratios_holds_across_chunks(name):
    X, y, _ = data()
    chunks = [(X, y, np.full(90, 1e-9)), (X, y, np.full(90, 1e9))]
    with pytest.raises(ValueError, match="a ratio above the limit"):
        clone(ESTIMATORS[name]).fit_chunks(chunks)


@pytest.mark.parametrize("first", ["fit", "fit_chunks", "partial_fit", "a file"])
def test_a_stream_continues_on_the_scale_of_its_first_weights(first):
    X, y, weights = data()
    weights = 1e-3 * weights
    model = SparseCenterClassifier(3)
    start = {
        "fit": lambda: model.fit(X[:40], y[:40], weights[:40]),
        "fit_chunks": lambda: model.fit_chunks([(X[:40], y[:40], weights[:40])]),
        "partial_fit": lambda: model.partial_fit(X[:40], y[:40], sample_weight=weights[:40]),
        "a file": lambda: SparseCenterClassifier.from_record(
            model.fit(X[:40], y[:40], weights[:40]).to_record()
        ),
    }[first]
    more = start().partial_fit(X[40:], y[40:], sample_weight=weights[40:])
    whole = SparseCenterClassifier(3).fit(X, y, weights)
    assert_allclose(more.centers_, whole.centers_, rtol=1e-12)
    assert_allclose(more.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
