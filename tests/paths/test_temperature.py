import numpy as np
import pytest
from scipy.special import softmax

from tamis.paths.temperature import fit_temperature


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
