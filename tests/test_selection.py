import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from tamis._selection import choose_level, standard_error
from tamis.paths.temperature import fit_temperature
from tamis.stability.halves import half_samples


def test_rules():
    mean = np.array([0.5, 0.78, 0.8, 0.8, 0.6])
    error = np.array([0.1, 0.1, 0.03, 0.5, 0.1])
    assert choose_level(mean, error, "best") == 2
    assert choose_level(mean, error, "1se") == 1
    assert choose_level(np.array([np.nan, 0.3]), np.zeros(2), "best") == 1
    with pytest.raises(ValueError, match="Every score is NaN"):
        choose_level(np.array([np.nan]), np.zeros(1), "best")


def test_standard_error_of_one_fold_is_zero():
    assert_array_equal(standard_error(np.ones((1, 3))), np.zeros(3))
    assert_allclose(standard_error(np.array([[1.0], [3.0]])), [1.0])


@pytest.mark.parametrize("temperature", [0.3, 1.0, 40.0])
def test_the_temperature_of_generated_labels_is_found(temperature):
    rng = np.random.default_rng(0)
    decisions = rng.normal(size=(20_000, 3)) * 3 * temperature
    chances = softmax(decisions / temperature, axis=1).cumsum(axis=1)
    codes = (rng.random(20_000)[:, None] > chances).sum(axis=1)
    found = fit_temperature(decisions, codes, np.ones(20_000))
    assert found == pytest.approx(temperature, rel=0.05)
    doubled = fit_temperature(
        np.vstack([decisions, -decisions]),
        np.r_[codes, codes],
        np.r_[np.full(20_000, 2.0), np.zeros(20_000)],
    )
    assert doubled == pytest.approx(found, rel=1e-4)


def test_temperature_at_the_ends():
    right = np.eye(3)[[0, 1, 2]] * 5
    assert fit_temperature(right, np.array([0, 1, 2]), np.ones(3)) < 0.1
    assert fit_temperature(right, np.array([1, 2, 0]), np.ones(3)) > 1e3
    assert fit_temperature(right, np.array([0, 1, 2]), np.zeros(3)) == 1.0
    unseen = np.array([[0.0, -np.inf], [1.0, -np.inf]])
    assert np.isfinite(fit_temperature(unseen, np.array([0, 1]), np.ones(2)))


def test_halves_are_stratified_and_come_in_complementary_pairs():
    codes = np.repeat([0, 1, 2], [20, 7, 1])
    halves = list(half_samples(codes, 10, np.random.RandomState(0)))
    assert len(halves) == 10
    for first, second in zip(halves[::2], halves[1::2], strict=True):
        assert_array_equal(np.union1d(first, second), np.arange(28))
        assert np.intersect1d(first, second).tolist() == [27]  # the class with one sample
        assert np.bincount(codes[first])[0] == 10
        assert abs(np.bincount(codes[first])[1] - np.bincount(codes[second])[1]) == 1
    assert len(list(half_samples(codes, 3, np.random.RandomState(0)))) == 3
