"""Predictions of rows by choices in which they had no say."""

import numpy as np
import pytest

from tamis import compare
from tamis.comparison.predictions import temper


def noise(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_columns)), rng.permutation(np.arange(n_rows) % 2)


@pytest.mark.parametrize("n_rows", [120, 600])
def test_every_row_has_one_calibrated_prediction(n_rows):
    X, y = noise(n_rows, 5)
    X[y == 1, 0] += 2
    comparison = compare(X, y, methods=["centers", "most-frequent"], cv=3, repeats=1)
    made = comparison.honest_score.predictions
    assert made.probabilities.shape == (n_rows, 2)
    np.testing.assert_allclose(made.probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(made.labels, made.probabilities.argmax(axis=1))
    right = np.mean([(made.labels == y)[y == c].mean() for c in (0, 1)])
    assert right == pytest.approx(comparison.honest_score.score, abs=0.03)


def test_choice_among_noise_is_not_in_its_predictions():
    """The chosen level looks good on the rows that chose it, and not on honest predictions."""
    chosen, honest = [], []
    for seed in range(8):
        X, y = noise(40, 150, seed)
        comparison = compare(
            X, y, methods=["centers", "medians", "most-frequent"], cv=4, repeats=1
        )
        result, place = comparison.chosen
        chosen.append(result.scores[place])
        honest.append(np.mean(comparison.honest_score.predictions.labels == y))
    assert np.mean(chosen) > np.mean(honest) + 0.03
    assert np.mean(honest) < 0.55


def test_threshold_is_chosen_without_the_row():
    X, y = noise(600, 4)
    X[y == 1, 0] += 1
    comparison = compare(
        X, y, methods=["centers", "most-frequent"], positive=1, min_sensitivity=0.95
    )
    found = comparison.honest_score.predictions.labels[y == 1].mean()
    assert found == pytest.approx(comparison.honest_score.sensitivity, abs=0.03)
    assert found > 0.9


def test_temper():
    p = np.array([[0.8, 0.2], [1.0, 0.0]])
    np.testing.assert_allclose(temper(p, 1.0), p, atol=1e-15)
    np.testing.assert_allclose(temper(p, 2.0)[0], [2 / 3, 1 / 3])
