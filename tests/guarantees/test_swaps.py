"""Swaps of forward panels against refits by scikit-learn."""

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from tamis import PanelClassifier
from tamis.guarantees import swap_panels
from tamis.panel.forward import content_folds


def make_data(n_classes=2, seed=0, n=90, p=8):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p))
    X[:, 0] += 1.5 * y
    X[:, 1] -= 1.5 * (y == 0)
    X[:, 2] = X[:, 0] + 0.5 * rng.normal(size=n)
    return X, y


def brute_force(X, y, features, alpha=30.0):
    """Out-of-fold log loss of every row, by scikit-learn: margins of classes are logits."""
    folds = content_folds(X, y, 5, None, 0)
    weights = 1.0 / np.bincount(y)[y]
    weights *= y.size / weights.sum()
    mean = np.average(X, axis=0, weights=weights)
    Z = ((X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights)))[:, features]
    margins = np.zeros((y.size, y.max() + 1))
    classes = [1] if y.max() == 1 else range(y.max() + 1)
    for f in range(5):
        for c in classes:
            fit = LogisticRegression(C=1 / alpha, tol=1e-10, max_iter=10_000)
            train, test = folds != f, folds == f
            fit.fit(Z[train], y[train] == c, sample_weight=weights[train])
            margins[test, c] = fit.decision_function(Z[test])
    losses = logsumexp(margins, axis=1) - margins[np.arange(y.size), y]
    return losses, weights / weights.sum()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_near_swaps_are_those_of_brute_force(n_classes):
    X, y = make_data(n_classes, seed=1)
    model = PanelClassifier(4, selection="forward", head="lda").fit(X, y)
    panels = swap_panels(model, X, y)
    chosen = np.flatnonzero(model.support_)
    assert panels.features.tolist() == chosen.tolist() and not panels.is_exhaustive
    before, share = brute_force(X, y, chosen)
    expected = {}
    for removed in chosen:
        for added in np.setdiff1d(np.arange(8), chosen):
            after, _ = brute_force(X, y, np.append(chosen[chosen != removed], added))
            loss = share @ (after - before)
            parts = share * (after - before - loss)
            error = np.sqrt((parts**2).sum() * y.size / (y.size - 1))
            assert abs(loss - error) > 1e-4, "too close to call"
            if loss <= error:
                expected[int(removed), int(added)] = loss, error
    assert panels.n_tried == 16 and 0 < len(expected) < 16
    found = {(s.removed, s.added): (s.loss, s.standard_error) for s in panels.near}
    assert set(found) == set(expected)
    for key, numbers in expected.items():
        np.testing.assert_allclose(found[key], numbers, rtol=1e-3, atol=2e-5)
    losses = [swap.loss for swap in panels.near]
    assert losses == sorted(losses)


def test_a_copy_is_near_and_its_original_is_in_some_panels_only():
    X, y = make_data(n=200)
    X = np.column_stack([X, X[:, 1] + 0.01 * np.random.default_rng(1).normal(size=200)])
    model = PanelClassifier(2, selection="forward", head="lda").fit(X, y)
    panels = swap_panels(model, X, y)
    one, other = (1, 8) if model.support_[1] else (8, 1)
    assert (one, other) in {(s.removed, s.added) for s in panels.near}
    status = panels.status()
    assert status[one] == status[other] == "some" and status[5] == "none"


def test_groups_count_once_and_limits_are_respected():
    X, y = make_data()
    model = PanelClassifier(2, selection="forward", head="lda").fit(X, y)
    plain = swap_panels(model, X, y)
    rows = np.repeat(np.arange(90), 3)
    tripled = swap_panels(model, X[rows], y[rows], groups=rows)
    assert {s.removed for s in tripled.near} <= {s.removed for s in plain.near} | {0, 1, 2}
    errors = {(s.removed, s.added): s.standard_error for s in plain.near}
    for swap in tripled.near:
        if (swap.removed, swap.added) in errors:
            ratio = swap.standard_error / errors[swap.removed, swap.added]
            assert 0.6 < ratio < 1.6  # three copies of a row would make it 0.58 of it
    sets = [0, 1, 2, 1, 1, 1, 1, 1]
    limited = PanelClassifier(
        2, selection="forward", head="lda", feature_groups=sets, max_per_group=1
    ).fit(X, y)
    for swap in swap_panels(limited, X, y).near:
        assert len({sets[f] for f in swap.features}) == 2
    kept = PanelClassifier(
        2, selection="forward", head="lda", feature_groups=sets, max_per_group=1, keep=[3]
    ).fit(X, y)
    assert all(sets[swap.added] != 1 for swap in swap_panels(kept, X, y).near)


def test_other_panels_are_refused():
    X, y = make_data()
    with pytest.raises(ValueError, match="near_optimal_panels lists all"):
        swap_panels(PanelClassifier(2, selection="centers").fit(X, y), X, y)
    grouped = PanelClassifier(2, selection="forward", feature_groups=[0, 0, 1, 2, 3, 4, 5, 6]).fit(
        X, y
    )
    with pytest.raises(ValueError, match="one column each"):
        swap_panels(grouped, X, y)
