"""Generated data: what was promised of their distributions, and of the best policy on them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis.datasets import make_context, make_cube, make_xor
from tests.oracles.datumwise import (
    find_risk,
    make_world,
    optimal_risk,
    solve,
    walk,
)

GENERATORS = [make_cube, make_context, make_xor]


def every_context(n_branches):
    """All values of the context and the bits, each once: their exact distribution."""
    bits = np.indices((2,) * n_branches).reshape(n_branches, -1).T
    X = np.vstack([np.column_stack([np.full(len(bits), c), bits]) for c in range(n_branches)])
    return X, X[np.arange(len(X)), 1 + X[:, 0]]


def with_wrong_labels(X, y, n_right, n_wrong):
    """Every row several times, some with the other label: a flip of known probability."""
    n = n_right + n_wrong
    wrong = np.tile(np.arange(n) >= n_right, len(y))
    return np.repeat(X, n, axis=0), np.repeat(y, n) ^ wrong


@pytest.mark.parametrize("make", GENERATORS)
def test_the_seed_fixes_everything(make):
    first, again, other = (make(50, random_state=seed) for seed in (3, 3, 4))
    assert_array_equal(first.data, again.data)
    assert_array_equal(first.target, again.target)
    assert_array_equal(first.relevant, again.relevant)
    assert not np.array_equal(first.data, other.data)
    assert first.data.dtype == np.float64 and first.relevant.shape == first.data.shape


def test_a_corner_shows_its_digits_at_its_own_three_features():
    cube = make_cube(4000, 12, sigma=0.2, random_state=0)
    assert cube.data.shape == (4000, 12)
    for k in range(8):
        rows = cube.data[cube.target == k]
        assert 400 < len(rows) < 600
        marked = cube.relevant[cube.target == k]
        assert marked[:, k : k + 3].all() and marked.sum() == marked[:, k : k + 3].size
        digits = [int(d) for d in f"{k:03b}"]
        assert_allclose(rows[:, k : k + 3].mean(axis=0), digits, atol=0.05)
        assert_allclose(rows[:, k : k + 3].std(axis=0), 0.2, atol=0.03)
        noise = np.delete(rows, range(k, k + 3), axis=1)
        assert noise.min() >= 0 and noise.max() <= 1
        assert_allclose(noise.mean(axis=0), 0.5, atol=0.06)
        assert_allclose(noise.std(axis=0), 12**-0.5, atol=0.04)


def test_the_classes_of_a_cube_can_be_told_apart_by_their_densities():
    sigma, cube = 0.1, make_cube(2000, 10, random_state=1)
    scores = np.zeros((2000, 8))
    for k in range(8):
        digits = [int(d) for d in f"{k:03b}"]
        bell = -(((cube.data[:, k : k + 3] - digits) / sigma) ** 2) / 2 - np.log(sigma)
        noise = np.delete(cube.data, range(k, k + 3), axis=1)
        scores[:, k] = bell.sum(axis=1) + np.where((noise >= 0) & (noise <= 1), 0, -1e9).sum(1)
    assert np.mean(scores.argmax(axis=1) == cube.target) > 0.96


def test_the_context_points_at_the_bit_that_decides():
    context = make_context(5000, 3, n_noise=2, random_state=0)
    X, y = context.data.astype(int), context.target
    assert X.shape == (5000, 6)
    assert_array_equal(X[np.arange(5000), 1 + X[:, 0]], y)
    assert_array_equal(context.relevant.sum(axis=1), 2)
    assert_array_equal(X[:, 1:][context.relevant[:, 1:]], y)
    assert_allclose(np.bincount(X[:, 0]) / 5000, 1 / 3, atol=0.03)
    assert_allclose(X[:, 1:].mean(axis=0), 0.5, atol=0.03)
    # By itself the context tells nothing, a bit a third of the truth, noise nothing.
    assert_allclose([y[X[:, 0] == c].mean() for c in range(3)], 0.5, atol=0.04)
    agree = (X[:, 1:] == y[:, None]).mean(axis=0)
    assert_allclose(agree, [2 / 3, 2 / 3, 2 / 3, 1 / 2, 1 / 2], atol=0.03)


@pytest.mark.parametrize("make", [make_context, make_xor])
def test_labels_are_flipped_as_often_as_said(make):
    clean, noisy = (make(5000, flip=flip, random_state=0) for flip in (0.0, 0.2))
    assert_array_equal(clean.data, noisy.data)
    assert_allclose(np.mean(clean.target != noisy.target), 0.2, atol=0.02)


def test_xor_is_the_parity_of_the_first_bits():
    xor = make_xor(5000, 3, n_noise=2, random_state=0)
    X, y = xor.data.astype(int), xor.target
    assert_array_equal(X[:, :3].sum(axis=1) % 2, y)
    assert_array_equal(xor.relevant[0], [True, True, True, False, False])
    assert_allclose((y[:, None] == X).mean(axis=0), 0.5, atol=0.03)
    pairs = X[:, 0] ^ X[:, 1]
    assert_allclose(np.mean(pairs == y), 0.5, atol=0.03)


@pytest.mark.parametrize("n_branches", [2, 3])
@pytest.mark.parametrize("n_wrong", [0, 1])
@pytest.mark.parametrize("cost_weight", [0.01, 0.1, 0.2, 0.24, 0.26, 0.4])
def test_the_optimal_risk_of_the_context_is_the_one_documented(n_branches, n_wrong, cost_weight):
    X, y = with_wrong_labels(*every_context(n_branches), 9, n_wrong)
    p = n_wrong / (9 + n_wrong)
    world = make_world(1 + n_branches, cost_weight=cost_weight)
    one_bit = cost_weight + p + (1 - 2 * p) * (n_branches - 1) / (2 * n_branches)
    documented = min(0.5, one_bit, 2 * cost_weight + p)
    assert_allclose(optimal_risk(world, X, y), documented, rtol=1e-9)


def test_the_best_policy_asks_the_context_and_then_what_it_points_at():
    X, y = every_context(3)
    world = make_world(4, cost_weight=0.1)
    _, policy = solve(world, X, y)
    orders, labels = walk(world, X, policy.__getitem__)
    assert orders == [[0, 1 + c] for c in X[:, 0]]
    assert_array_equal(labels, y)
    assert_allclose(find_risk(world, X, y, orders, labels), 0.2)


@pytest.mark.parametrize("cost_weight", [0.05, 0.16, 0.17])
def test_the_optimal_risk_of_xor_is_the_one_documented(cost_weight):
    X = np.indices((2,) * 4).reshape(4, -1).T
    world = make_world(4, cost_weight=cost_weight)
    found = optimal_risk(world, X, X[:, :3].sum(axis=1) % 2)
    assert_allclose(found, min(0.5, 3 * cost_weight))


@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (make_cube, {"n_features": 9}, "n_features must be an integer >= 10, got 9"),
        (make_cube, {"n_samples": 0}, "n_samples must be an integer >= 1, got 0"),
        (make_cube, {"n_samples": 2.5}, "n_samples must be an integer >= 1, got 2.5"),
        (make_cube, {"sigma": -1.0}, "sigma must be >= 0 and finite, got -1.0"),
        (make_cube, {"sigma": np.nan}, "sigma must be >= 0 and finite, got nan"),
        (make_context, {"n_branches": 1}, "n_branches must be an integer >= 2, got 1"),
        (make_context, {"n_noise": -1}, "n_noise must be an integer >= 0, got -1"),
        (make_context, {"flip": 0.5}, "flip must be >= 0 and < 0.5, got 0.5"),
        (make_xor, {"n_bits": 0}, "n_bits must be an integer >= 1, got 0"),
        (make_xor, {"n_noise": True}, "n_noise must be an integer >= 0, got True"),
        (make_xor, {"flip": np.nan}, "flip must be >= 0 and < 0.5, got nan"),
    ],
)
def test_bad_arguments_are_refused(make, parameters, message):
    with pytest.raises(ValueError, match=message):
        make(**parameters)
