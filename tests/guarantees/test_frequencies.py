import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis import SparseCenterClassifier
from tamis.guarantees import center_frequencies
from tamis.guarantees.half_shares import half_rows
from tamis.stability import complementary_pairs


@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_frequencies_are_those_of_separate_fits(metric):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [9, 10, 12])
    X = rng.normal(size=(31, 12)) + 0.6 * y[:, None] * (np.arange(12) < 4)
    levels = [1, 3, 7]
    found = center_frequencies(X, y, levels, metric=metric, n_pairs=5, random_state=3)
    assert_array_equal(found.levels, levels)
    pairs = complementary_pairs(y, None, 5, np.random.RandomState(3))
    expected = np.zeros((3, 12))
    for rows in half_rows(pairs):
        path = SparseCenterClassifier(metric=metric).fit_path(X[rows], y[rows], levels)
        for i in range(3):
            expected[i, path.features(i)] += 0.1
    assert_allclose(found.frequencies, expected, atol=1e-12)


def test_levels_are_all_small_numbers_by_default():
    X, y = np.random.default_rng(0).normal(size=(20, 6)), np.arange(20) % 2
    found = center_frequencies(X, y, n_pairs=3, random_state=0)
    assert_array_equal(found.levels, np.arange(1, 7))
    assert_allclose(found.frequencies.sum(axis=1), np.arange(1, 7))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": [2, 1]}, "ascending"),
        ({"metric": "l3"}, "metric"),
        ({"groups": [0] * 8}, "two"),
    ],
)
def test_invalid_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        center_frequencies(np.eye(8), np.arange(8) % 2, **options)
