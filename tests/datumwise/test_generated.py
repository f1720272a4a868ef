"""Data whose best policy is known: the forest finds it, where looking one step ahead does not."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from tamis import DatumWiseClassifier
from tamis.datasets import make_context, make_cube, make_xor

BEYOND_PAIRS = [(0.0, 2, 0), (0.0, 3, 3), (0.1, 2, 3), (0.1, 3, 0)]


def train_and_test(make, *arguments, **parameters):
    train = make(1000, *arguments, random_state=0, **parameters)
    return train, make(2000, *arguments, random_state=1, **parameters)


def measure(data, cost_weight):
    """Risk, mean number of questions, and what was acquired, on the test part."""
    train, test = data
    model = DatumWiseClassifier(learner="forest", cost_weight=cost_weight, random_state=0)
    acquired = model.fit(train.data, train.target).acquire(test.data)
    number = acquired.mask.sum(axis=1).mean()
    risk = np.mean(acquired.labels != test.target) + cost_weight * number
    return risk, number, acquired


@pytest.mark.parametrize(
    ("flip", "n_branches", "n_noise"),
    [
        (0.0, 2, 3),
        (0.0, 3, 0),
        (0.1, 2, 0),
        (0.1, 3, 3),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in BEYOND_PAIRS),
    ],
)
def test_the_context_is_asked_first_and_then_what_it_points_at(n_branches, n_noise, flip):
    data = train_and_test(make_context, n_branches, n_noise=n_noise, flip=flip)
    risk, number, acquired = measure(data, 0.03)
    assert risk <= 2 * 0.03 + flip + 0.02
    assert number <= 2.2
    assert np.mean(acquired.order[:, 0] == 0) > 0.9


@pytest.mark.parametrize("n_noise", [0, 3])
def test_both_bits_of_a_parity_are_asked_though_one_tells_nothing(n_noise):
    risk, number, acquired = measure(train_and_test(make_xor, n_noise=n_noise), 0.03)
    assert risk <= 2 * 0.03 + 0.02
    assert number <= 2.3
    assert acquired.mask[:, :2].mean() > 0.95


def test_a_parity_too_dear_is_left_alone():
    risk, number, _ = measure(train_and_test(make_xor), 0.3)
    assert number == 0 and 0.45 < risk < 0.55


@pytest.mark.slow
def test_corners_of_a_cube_need_fewer_features_than_a_global_choice():
    train, test = data = train_and_test(make_cube, sigma=0.1)
    _, number, acquired = measure(data, 0.01)
    trees = ExtraTreesClassifier(300, random_state=0).fit(train.data, train.target)
    best = np.argsort(-trees.feature_importances_)[: int(np.ceil(number))]
    trees.fit(train.data[:, best], train.target)
    accuracy = np.mean(acquired.labels == test.target)
    assert accuracy > trees.score(test.data[:, best], test.target) + 0.05
    assert acquired.mask[:, 10:].mean() < 0.05


def test_linear_scores_cannot_follow_a_context():
    train, test = train_and_test(make_context, 4, n_noise=5)
    model = DatumWiseClassifier("linear", 0.03, random_state=0).fit(train.data, train.target)
    assert model.score(test.data, test.target) < 0.9
