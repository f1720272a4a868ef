import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from tamis import SparseCenterClassifier
from tamis.stability import half_samples, selection_frequencies


def make_data(n=120, m=15, n_classes=3):
    rng = np.random.default_rng(0)
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)]
    X = rng.normal(size=(n, m))
    X[:, :3] += 1.5 * y[:, None]
    return X, y


@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_frequencies_are_shares_of_the_half_samples(metric):
    X, y = make_data()
    estimator = SparseCenterClassifier(metric=metric)
    result = selection_frequencies(estimator, X, y, [1, 5], n_resamples=7, random_state=3)
    counts = np.zeros((2, 15))
    for half in half_samples(y, 7, np.random.RandomState(3)):
        for level, k in enumerate([1, 5]):
            counts[level] += (
                SparseCenterClassifier(k, metric=metric).fit(X[half], y[half]).support_
            )
    assert_array_equal(result.levels, [1, 5])
    assert_array_equal(result.frequencies, counts / 7)
    assert not hasattr(estimator, "classes_")


def test_features_that_matter_are_stable():
    X, y = make_data()
    result = selection_frequencies(SparseCenterClassifier(), X, y, random_state=0)
    assert_array_equal(result.levels, np.arange(1, 16))
    at_three = result.frequencies[2]
    assert at_three[:3].min() > 0.9
    assert at_three[3:].mean() < 0.1
    assert_array_equal(result.frequencies[-1], 1.0)


@pytest.mark.parametrize("form", [pd.DataFrame, sparse.csr_array, sparse.csc_array])
def test_any_form_of_data_and_any_number_of_threads(form):
    X, y = make_data()
    labels = np.array(["a", "b", "c"])[y]
    estimator, options = SparseCenterClassifier(), {"n_resamples": 6, "random_state": 0}
    plain = selection_frequencies(estimator, X, y, [2, 4], **options)
    other = selection_frequencies(estimator, form(X), labels, [2, 4], n_jobs=2, **options)
    assert_array_equal(other.frequencies, plain.frequencies)


def test_rows_of_weight_zero_are_in_no_half():
    X, y = make_data()
    weight = np.r_[np.zeros(40), np.ones(80)]
    options = {"levels": [3], "n_resamples": 6, "random_state": 0}
    estimator = SparseCenterClassifier()
    weighted = selection_frequencies(estimator, X, y, sample_weight=weight, **options)
    without = selection_frequencies(estimator, X[40:], y[40:], **options)
    assert_array_equal(weighted.frequencies, without.frequencies)


def test_errors():
    X, y = make_data(n=60, m=40, n_classes=2)
    with pytest.raises(ValueError, match=r"half-sample of 30 rows failed: .*full rank"):
        selection_frequencies(SparseCenterClassifier(covariance="empirical"), X, y, random_state=0)
    for n_resamples in (0, -1, 2.5):
        with pytest.raises(ValueError, match="n_resamples must be an integer >= 1"):
            selection_frequencies(SparseCenterClassifier(), X, y, n_resamples=n_resamples)
