"""What an external validation says about the probabilities of a class."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import auc, brier_score_loss, roc_auc_score

from tamis.comparison.further.external import measure_class
from tamis.inspection import rebase


def rows(n_rows=900, seed=0):
    """Probabilities that are too extreme, and what came of them."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n_rows) - 1
    happened = rng.random(n_rows) < 1 / (1 + np.exp(-truth))
    return happened, 1 / (1 + np.exp(-1.6 * truth))


def test_slope_intercept_brier_and_area_are_those_of_the_definitions():
    y, p = rows()
    found = measure_class(y, p, name="ill", prevalence=y.mean())
    free = LogisticRegression(C=np.inf, tol=1e-10).fit(logit(p)[:, None], y)
    assert found["slope"]["value"] == pytest.approx(free.coef_[0, 0], abs=1e-4)
    fixed = brentq(lambda a: (expit(a + logit(p)) - y).sum(), -5, 5)
    assert found["intercept"]["value"] == pytest.approx(fixed, abs=1e-6)
    assert found["brier"]["score"] == pytest.approx(brier_score_loss(y, p))
    assert found["brier"]["of_share"] == pytest.approx(y.mean() * (1 - y.mean()))
    assert found["roc"]["area"] == pytest.approx(roc_auc_score(y, p))
    x, found_rate = found["roc"]["false_positive_rate"], found["roc"]["sensitivity"]
    assert auc(x, found_rate) == pytest.approx(roc_auc_score(y, p), abs=0.01)
    for entry in (found["slope"], found["intercept"]):
        low, high = entry["interval_95"]
        assert low < entry["value"] < high
    low, high = found["brier"]["interval_95"]
    assert low < found["brier"]["score"] < high


def test_net_benefit_is_that_of_treating_from_the_threshold_on():
    y, p = rows()
    found = measure_class(y, p, name="ill", prevalence=y.mean())["net_benefit"]
    at = found["thresholds"].index(0.3)
    treated = p >= 0.3
    expected = ((treated & y).sum() - (treated & ~y).sum() * 3 / 7) / y.size
    assert found["model"][at] == pytest.approx(expected)
    assert found["treat_all"][at] == pytest.approx(y.mean() - (1 - y.mean()) * 3 / 7)
    assert found["low"][at] < expected < found["high"][at]


def test_the_intercept_tells_the_prevalence_from_the_rest():
    y, p = rows()
    usual = measure_class(y, p, name="ill", prevalence=y.mean())
    moved = measure_class(y, rebase(p, y.mean(), 0.5), name="ill", prevalence=0.5)
    change = logit(y.mean())
    assert moved["intercept"]["value"] == pytest.approx(usual["intercept"]["value"] + change)
    assert moved["intercept_at_share"]["value"] == pytest.approx(usual["intercept"]["value"])
    assert moved["slope"]["value"] == pytest.approx(usual["slope"]["value"])


def test_probabilities_very_near_0_and_1_count_as_they_are_at_every_prevalence():
    y, p = rows()
    odds = np.append(logit(p), [-24.0, -20.0, 18.0, 24.0])
    y = np.append(y, [True, False, False, True])
    free = LogisticRegression(C=np.inf, tol=1e-10).fit(odds[:, None], y)
    fixed = brentq(lambda a: (expit(a + odds) - y).sum(), -5, 5)
    for prevalence in (y.mean(), 0.02, 0.9):
        shifted = expit(odds + logit(prevalence) - logit(y.mean()))
        found = measure_class(y, shifted, name="ill", prevalence=prevalence)
        assert found["slope"]["value"] == pytest.approx(free.coef_[0, 0], abs=1e-4)
        assert found["intercept_at_share"]["value"] == pytest.approx(fixed, abs=1e-4)


def test_few_events_have_no_smooth_curve():
    y, p = rows(150)
    few = measure_class(y, p, name="ill", prevalence=0.3)
    assert few["rows"] < 100 and few["calibration_curve"]["smooth"] is None
    y, p = rows()
    many = measure_class(y, p, name="ill", prevalence=0.3)["calibration_curve"]
    assert len(many["smooth"]["predicted"]) == len(many["smooth"]["low"]) <= 200
    assert len(many["bins"]) == 10


def test_one_class_alone_cannot_be_measured():
    assert measure_class(np.ones(5, dtype=bool), np.full(5, 0.5), name="a", prevalence=0.5) is None


def test_groups_count_as_one_unit_and_everything_is_plain():
    y, p = rows(300)
    twice = [np.tile(part, 2) for part in (y, p)]
    groups = np.tile(np.arange(y.size), 2)
    once = measure_class(y, p, name="ill", prevalence=0.3)
    grouped = measure_class(*twice, name="ill", prevalence=0.3, groups=groups)
    assert_allclose(grouped["slope"]["value"], once["slope"]["value"])
    widths = [np.ptp(found["slope"]["interval_95"]) for found in (once, grouped)]
    assert widths[1] == pytest.approx(widths[0], rel=0.2)
    assert json.loads(json.dumps(once, allow_nan=False)) == once
