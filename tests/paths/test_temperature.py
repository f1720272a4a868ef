import numpy as np
import pytest
from scipy.special import softmax

from tamis.paths.temperature import fit_temperature, hottest, match_folds


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
    assert fit_temperature(right, np.array([0, 1, 2]), np.ones(3), np.inf) < 0.1
    assert fit_temperature(right, np.array([1, 2, 0]), np.ones(3)) > 1e3
    assert fit_temperature(right, np.array([0, 1, 2]), np.zeros(3)) == 1.0
    unseen = np.array([[0.0, -np.inf], [1.0, -np.inf]])
    assert np.isfinite(fit_temperature(unseen, np.array([0, 1]), np.ones(2)))


@pytest.mark.parametrize("n", [4, 100])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_rows_that_are_all_right_make_nothing_certain(n, scale):
    codes = np.arange(n) % 2
    decisions = scale * np.eye(2)[codes]
    sure = softmax(decisions / fit_temperature(decisions, codes, np.ones(n)), axis=1)
    np.testing.assert_allclose(sure[np.arange(n), codes], (n + 1) / (n + 2), rtol=1e-6)
    weighted = fit_temperature(decisions[:2], codes[:2], np.full(2, n / 2), n_rows=n)
    assert weighted == pytest.approx(fit_temperature(decisions, codes, np.ones(n)), rel=1e-5)


def test_one_wrong_row_leaves_the_temperature_alone_that_is_most_likely():
    codes = np.arange(100) % 2
    decisions = np.eye(2)[codes]
    decisions[0] = decisions[0, ::-1]
    found = softmax(decisions / fit_temperature(decisions, codes, np.ones(100)), axis=1)
    np.testing.assert_allclose(found[1:][np.arange(99), codes[1:]], 0.99, rtol=1e-5)


def test_a_fold_that_is_far_surer_than_the_others_is_shrunk():
    rng = np.random.default_rng(0)
    decisions, fold_of, ones = rng.normal(size=(60, 3)), np.arange(60) % 4, np.ones(60)
    assert match_folds(decisions, fold_of, ones) is decisions
    sure = decisions * np.where(fold_of == 2, 1e6, 1.0)[:, None]
    matched = match_folds(sure, fold_of, ones)
    margins = np.diff(np.sort(matched, axis=1)[:, 1:])[:, 0]
    sizes = [np.median(margins[fold_of == fold]) for fold in range(4)]
    assert sizes[2] == pytest.approx(2 * np.sort(sizes)[1])
    np.testing.assert_array_equal(matched[fold_of != 2], decisions[fold_of != 2])
    unseen = np.where(np.arange(3) == 0, -np.inf, sure)
    assert np.isfinite(match_folds(unseen, fold_of, ones)[:, 1:]).all()


def test_a_weight_of_two_in_a_fold_that_is_shrunk_is_the_row_twice():
    rng = np.random.default_rng(1)
    decisions, fold_of = rng.normal(size=(60, 3)), np.arange(60) % 4
    decisions[fold_of == 2] *= 1e3
    weights = rng.integers(1, 4, size=60)
    again = np.repeat(np.arange(60), weights)
    repeated = match_folds(decisions[again], fold_of[again], np.ones(again.size))
    weighed = match_folds(decisions, fold_of, weights.astype(float))
    np.testing.assert_allclose(weighed[again], repeated)


def test_a_handful_of_rows_bounds_the_temperature_if_a_feature_stands_out():
    codes = np.array([0, 1, 0, 1])
    marker = np.array([[0.0], [10.0], [0.4], [10.3]])
    decisions = np.hstack([-marker, marker]) - [0.0, 10.0]
    weights = np.array([1.0, 2.0, 1.0, 1.0])
    most = hottest(decisions, codes, weights, marker, 6)
    typical = softmax(decisions / most, axis=1)[np.arange(4), codes]
    assert np.isclose(typical, 3.5 / 4.5).any() and np.sort(typical)[2] >= 3.5 / 4.5
    again = np.repeat(np.arange(4), weights.astype(int))
    repeated = hottest(decisions[again], codes[again], np.ones(5), marker[again], 6)
    assert repeated == pytest.approx(most)
    # Among many features, one like this is found in noise; and more rows are for folds to judge.
    assert hottest(decisions, codes, weights, marker, 10_000) == np.inf
    assert hottest(decisions, codes, 4 * weights, marker, 6) == np.inf
    assert hottest(-decisions, codes, weights, marker, 6) == np.inf
