"""Fits of panels with very unequal weights against a general solver."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit

from tamis._base import decided
from tamis.panel import best_panels
from tamis.panel.forward import Choices
from tamis.panel.proof import fits
from tamis.panel.proof.duals import look
from tamis.panel.proof.effort import Effort
from tamis.panel.proof.problem import lay_out_fit
from tamis.panel.proof.search import Search

RATIOS = (1e6, 1e9, 1e12)


def make_problem(ratio, kind, n_classes=2, signal=12.0, class_weight="balanced", seed=0):
    """Classes that are separable if the signal is large, and rows of very unequal weight."""
    rng = np.random.default_rng(seed)
    n, p = 40, 5
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p))
    X[:, 1] += signal * y
    X[:, 3] -= signal * (y == 1)
    weights = {
        "between": ratio ** rng.random(n),
        "one row": np.where(np.arange(n) == 3, ratio, 1.0),
        "one class": np.where(y == 0, 1.0, ratio),
    }[kind]
    choices = Choices(np.arange(p), np.zeros(p, bool), np.ones(p), np.zeros(p, int), p)
    return X, y, weights, lay_out_fit(X, y, weights, n_classes, choices, 3.0, class_weight)


def least_loss(Z, is_class, weights, ridge):
    """Trust regions on the primal, then Newton steps that are halved while they do not help."""
    design = np.column_stack([Z, np.ones(len(Z))])
    sign = np.where(is_class, -1.0, 1.0)
    penalty = np.array([ridge] * Z.shape[1] + [0.0])

    def loss(v):
        return weights @ np.logaddexp(0, sign * (design @ v)) + 0.5 * penalty @ v**2

    def slope(v):
        return design.T @ (weights * sign * expit(sign * (design @ v))) + penalty * v

    def curvature(v):
        m = design @ v
        return (design.T * (weights * expit(m) * expit(-m))) @ design + np.diag(penalty)

    start = np.zeros(design.shape[1])
    options = {"gtol": 1e-13 * weights.sum(), "maxiter": 3000}
    v = minimize(loss, start, jac=slope, hess=curvature, method="trust-exact", options=options).x
    for _ in range(200):
        step = np.linalg.lstsq(curvature(v), slope(v), rcond=None)[0]
        shares = 0.5 ** np.arange(40)
        losses = [loss(v - share * step) for share in shares]
        if min(losses) >= loss(v):
            break
        v = v - shares[int(np.argmin(losses))] * step
    return loss(v)


def all_least(problem, k):
    """Least loss of every panel of k columns, in the order of combinations."""
    return [
        sum(
            least_loss(problem.columns[list(panel)].T, t > 0, problem.weights, problem.ridge)
            for t in problem.targets
        )
        for panel in combinations(range(problem.n_groups), k)
    ]


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("kind", ["between", "one row", "one class"])
@pytest.mark.parametrize(
    ("n_classes", "signal", "class_weight"),
    [(2, 12.0, None), (2, 100.0, None), (3, 12.0, None), (2, 1.0, None), (2, 12.0, "balanced")],
)
def test_losses_are_least_whatever_the_weights(ratio, kind, n_classes, signal, class_weight):
    _, _, _, problem = make_problem(ratio, kind, n_classes, signal, class_weight)
    panels = np.array([[0, 1], [1, 3], [0, 4]])
    found = fits.fit_panels(problem, panels, np.inf)
    least = all_least(problem, 2)
    every = list(combinations(range(5), 2))
    expected = [least[every.index(tuple(panel))] for panel in panels.tolist()]
    assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("kind", ["between", "one row", "one class"])
def test_no_bound_is_above_the_best_panel_whatever_the_weights(kind, monkeypatch):
    monkeypatch.setattr("tamis.panel.proof.search._MOST_FITTED", 1)
    X, y, weights, problem = make_problem(1e9, kind, class_weight=None)
    least = np.array(all_least(problem, 2))
    search = Search(problem, 2, lambda loss: 1.2 * loss, Effort(max_nodes=0))
    while search.open:
        assert search.lower_bound <= least.min() * (1 + 1e-8)
        search.effort.max_nodes += 1
        search.run()
    weights = decided(weights)  # not scaled
    best = best_panels(X, y, 2, sample_weight=weights, class_weight=None, tolerance=0.0)
    assert best.is_proved
    assert_allclose([search.best, best.losses[0], best.lower_bound], least.min(), rtol=1e-8)
    places = [tuple(panel.tolist()) for panel in best.panels]
    every = list(combinations(range(5), 2))
    assert_allclose([least[every.index(panel)] for panel in places], least.min(), rtol=1e-8)


@pytest.mark.parametrize("size", [1.0, 30.0])
def test_duals_of_heavy_rows_bound_every_panel(size):
    _, _, _, problem = make_problem(1e12, "between", class_weight=None)
    least = all_least(problem, 2)
    seen = look(problem, size * np.random.default_rng(0).normal(size=(1, 1, 40)))
    scores = ((seen.dual[0] @ problem.free_columns.T) ** 2).sum(axis=0)
    bounds = [
        seen.entropy[0] - scores[list(panel)].sum() / (2 * problem.ridge)
        for panel in combinations(range(5), 2)
    ]
    assert (np.array(bounds) <= np.array(least) * (1 + 1e-9)).all()


def test_a_fit_that_does_not_converge_is_refused(monkeypatch):
    monkeypatch.setattr(fits, "_MAX_ITER", 2)
    _, _, _, problem = make_problem(1e9, "one row", class_weight=None)
    with pytest.raises(ValueError, match=r"does not converge; .* factor of 1e\+09"):
        fits.fit_panels(problem, np.array([[1, 3]]), np.inf)
