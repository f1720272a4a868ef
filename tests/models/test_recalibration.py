import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from tamis.models import load_model, save_model
from tamis.models.recalibration import cross_fit, fit_recalibration, log_loss, recalibrate
from tamis.tables import InputError
from tamis.tables.classifying.explanations import explain_margins
from tamis.tables.classifying.table_model import Recalibration
from tests.models.new_tables import linear_table, new_table


def site(n_rows, temperature, intercept, seed=0):
    """Probabilities of a model, and labels that follow them after a recalibration."""
    rng = np.random.default_rng(seed)
    shares = softmax(2 * rng.normal(size=(n_rows, len(intercept))), axis=1)
    true = Recalibration(temperature, np.array(intercept)).apply(shares)
    codes = (rng.random((n_rows, 1)) > np.cumsum(true, axis=1)).sum(axis=1)
    return shares, codes, true


@pytest.mark.parametrize("intercept", [[0.6, -0.6], [1.0, 0.2, -1.2]])
def test_temperature_and_intercepts_are_found(intercept):
    shares, codes, true = site(40_000, 1.7, intercept)
    found = fit_recalibration(shares, codes)
    assert found.temperature == pytest.approx(1.7, rel=0.05)
    assert_allclose(found.intercept, intercept, atol=0.06)
    assert np.abs(found.apply(shares) - true).max() < 0.03


def test_a_calibrated_model_stays_nearly_as_it_is():
    shares, codes, _ = site(20_000, 1.0, [0.0, 0.0, 0.0])
    found = fit_recalibration(shares, codes)
    assert found.temperature == pytest.approx(1.0, abs=0.05)
    assert np.abs(found.intercept).max() < 0.05


def test_few_rows_and_absent_classes_give_finite_numbers():
    shares = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [1.0, 0.0, 0.0]])
    found = fit_recalibration(shares, np.array([0, 1, 0]))
    assert np.isfinite(found.intercept).all() and 0.001 < found.temperature < 1000
    again = found.apply(shares)
    assert np.isfinite(again).all() and again[2, 2] == 0.0


def test_cross_fitted_probabilities_are_better_than_those_before():
    shares, codes, _ = site(500, 2.0, [1.0, -1.0])
    before, after = log_loss(shares, codes), log_loss(cross_fit(shares, codes, 0), codes)
    within = log_loss(fit_recalibration(shares, codes).apply(shares), codes)
    assert within < after < before


@pytest.mark.parametrize("threshold", [None, 0.35])
@pytest.mark.parametrize("end", ["json", "skops"])
def test_a_recalibrated_model_comes_back_with_both_scores(threshold, end, tmp_path):
    pytest.importorskip("skops")
    model, rows = linear_table("logistic", threshold), new_table(300, with_text=False)
    before = model.predict_proba(rows)
    codes = (np.random.default_rng(0).random(300) < 0.8).astype(int)
    new = recalibrate(model, before, codes, {"score": 0.5, "recalibrated_score": 0.6})
    save_model(new, tmp_path / f"model.{end}")
    again = load_model(tmp_path / f"model.{end}").model_
    assert again.scores["balanced_accuracy"] == model.scores["balanced_accuracy"]
    assert again.scores["recalibration"] == {"score": 0.5, "recalibrated_score": 0.6}
    assert_allclose(again.predict_proba(rows), new.recalibration.apply(before), rtol=0, atol=0)
    assert again.predict_proba(rows)[:, 1].mean() == pytest.approx(codes.mean(), abs=0.01)
    # A threshold was chosen for its sensitivity, which the frequencies at a site do not change.
    same = again.predict(rows) == model.predict(rows)
    assert same.all() == (threshold is not None)
    assert again.predict_proba(rows, again.priors) == pytest.approx(again.predict_proba(rows))


def test_one_class_is_not_enough():
    model, rows = linear_table("logistic"), new_table(30, with_text=False)
    with pytest.raises(InputError, match="rows of two classes at least"):
        recalibrate(model, model.predict_proba(rows), np.zeros(30, dtype=int), {})


@pytest.mark.parametrize("threshold", [None, 0.35])
def test_explanations_sum_to_the_recalibrated_margin(threshold):
    model = linear_table("panel", threshold, recalibrated=True)
    rows = new_table(200, with_text=False)
    told = explain_margins(model, rows)
    shares = model.predict_proba(rows)
    assert told.labels.tolist() == model.predict(rows).tolist()
    place = np.searchsorted(model.classes_.astype(str), told.labels.astype(str))
    margins = np.log(shares[np.arange(200), place] / shares[np.arange(200), 1 - place])
    assert_allclose(told.margins, margins, atol=1e-9)
    assert_allclose(told.probabilities, shares[np.arange(200), place])
