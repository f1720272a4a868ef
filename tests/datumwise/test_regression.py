import numpy as np
import pytest
from numpy.testing import assert_allclose

from tamis.datumwise.regression import _RIDGE, fit_scores


def make_regression(rng, n_states=60, missing=False):
    block_of = np.array([0, 1, 1, 2, 3])
    masks = rng.random((n_states, 4)) < 0.5
    known = masks[:, block_of] & (rng.random((n_states, 5)) < 0.9)
    valued = known * rng.normal(size=(n_states, 5))
    targets, returns = rng.normal(size=(n_states, 2)), rng.normal(size=(n_states, 4))
    if missing:
        returns[rng.random((n_states, 4)) < [0.0, 0.2, 0.8, 1.0]] = np.nan
        returns[:3] = np.nan
    return block_of, known, valued, targets, returns


def ridge(features, target):
    """Ridge regression of one action, by the augmented least-squares problem."""
    n_states, n = features.shape
    penalty = np.sqrt(_RIDGE * n_states) * np.eye(n)[:-1]
    A = np.vstack([features, penalty])
    return np.linalg.lstsq(A, np.concatenate([target, np.zeros(n - 1)]), rcond=None)[0]


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_scores_are_the_regression_of_every_action_by_itself(fixed, missing):
    data = make_regression(np.random.default_rng(0), missing=missing)
    block_of, known, valued, targets, returns = data
    bias, for_known, for_value = fit_scores(known, valued, targets, returns, block_of, fixed=fixed)
    found = np.vstack([for_known, for_value, bias])
    features = np.hstack([known, valued, np.ones((60, 1))])
    for k in range(2):
        assert_allclose(found[:, k], ridge(features, targets[:, k]), atol=1e-9)
    for b in range(4):
        rows = ~np.isnan(returns[:, b])
        own = features.copy()
        own[:, [*np.tile(block_of == b, 2), False]] = 0.0  # valued where it is not bought
        own[:, 5:10] *= not fixed
        expected = ridge(own[rows], returns[rows, b]) if rows.any() else [0.0] * 10 + [-np.inf]
        assert_allclose(found[:, 2 + b], expected, atol=1e-9)


def test_without_states_for_blocks_only_classes_are_fitted():
    data = make_regression(np.random.default_rng(1))
    block_of, known, valued, targets, returns = data
    bias, *_ = fit_scores(
        known, valued, targets, np.full(returns.shape, np.nan), block_of, fixed=False
    )
    assert np.isfinite(bias[:2]).all()
    assert np.isneginf(bias[2:]).all()
