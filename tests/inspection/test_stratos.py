"""Calibration, decision curves and probabilities, against slow and obvious computations."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime, minimize
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from tamis.inspection import (
    CalibrationDisplay,
    DecisionCurveDisplay,
    ProbabilityDisplay,
    rebase,
)

DISPLAYS = [CalibrationDisplay, DecisionCurveDisplay, ProbabilityDisplay]


def make_predictions(n=300, seed=0, share=0.4):
    """Rows of two classes with overconfident probabilities, many of them tied."""
    rng = np.random.default_rng(seed)
    y = rng.uniform(size=n) < share
    z = 2.0 * rng.normal(size=n) + 2.0 * y - 1.5
    return np.where(y, "ill", "well"), (1 / (1 + np.exp(-z))).round(2)


def net_benefit(y, p, threshold, prevalence):
    true_positives = [pi >= threshold for yi, pi in zip(y, p, strict=True) if yi == "ill"]
    false_positives = [pi >= threshold for yi, pi in zip(y, p, strict=True) if yi != "ill"]
    sensitivity = sum(true_positives) / len(true_positives)
    specificity = 1 - sum(false_positives) / len(false_positives)
    odds = threshold / (1 - threshold)
    return sensitivity * prevalence - (1 - specificity) * (1 - prevalence) * odds


def log_odds(p):
    p = np.clip(p, 1e-15, 1 - 1e-15)
    return np.log(p / (1 - p))


def recalibration(y, z):
    """Intercept at slope 1, slope, and their variances from numerical second derivatives."""
    is_ill = y == "ill"

    def loss(coefs, offset):
        eta = coefs[0] + (coefs[1] * z if len(coefs) == 2 else 0) + offset
        return np.logaddexp(0, np.where(is_ill, -eta, eta)).sum()

    found = []
    for start, offset in [([0.0], z), ([0.0, 1.0], 0.0)]:
        best = minimize(loss, start, (offset,), method="Nelder-Mead", options={"xatol": 1e-8}).x

        def slope_of_loss(coefs, offset=offset):
            return approx_fprime(coefs, loss, 1e-5, offset)

        hessian = np.array(approx_fprime(best, slope_of_loss, 1e-4)).reshape(best.size, -1)
        found.append((best[-1], np.linalg.inv(hessian)[-1, -1]))
    return found


# Re-basing.


def test_rebased_probabilities_follow_bayes_rule():
    p = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    old, new = np.array([1, 1, 1]) / 3, np.array([0.7, 0.2, 0.1])
    expected = p * new / old
    assert_allclose(rebase(p, old, new), expected / expected.sum(axis=1, keepdims=True))
    assert_allclose(rebase([0.2, 0.0, 1.0], 0.5, 0.1), [0.2 * 0.1 / (0.02 + 0.72), 0, 1])


def test_rebasing_there_and_back_changes_nothing():
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 20)
    there = rebase(p, [0.2, 0.3, 0.5], [0.6, 0.3, 0.1])
    assert_allclose(rebase(there, [0.6, 0.3, 0.1], [0.2, 0.3, 0.5]), p)
    assert np.abs(there - p).max() > 0.1


@pytest.mark.parametrize("new", [0.0, 1.0, -0.1, np.nan])
def test_impossible_prevalences_are_refused(new):
    with pytest.raises(ValueError, match="class frequencies must be between 0 and 1"):
        rebase([0.5], 0.5, new)


# Calibration.


def test_slope_and_intercept_have_the_largest_likelihood():
    y, p = make_predictions()
    display = CalibrationDisplay.from_predictions(y, p, pos_label="ill")
    expected = recalibration(y, log_odds(p))
    for estimate, (value, variance) in zip(
        (display.intercept, display.slope), expected, strict=True
    ):
        assert_allclose(estimate.value, value, atol=1e-5)
        half = 1.96 * np.sqrt(variance)
        assert_allclose([estimate.low, estimate.high], [value - half, value + half], atol=2e-3)
    assert f"slope {display.slope.value:.2f} [" in display.text_.get_text()


def test_slope_and_intercept_do_not_depend_on_the_prevalence():
    y, p = make_predictions()
    here, there = (
        CalibrationDisplay.from_predictions(y, p, pos_label="ill", prevalence=pi)
        for pi in (None, 0.05)
    )
    assert_allclose(there.slope.value, here.slope.value, rtol=1e-3)
    assert_allclose(there.intercept.value, here.intercept.value, atol=1e-3)
    assert there.prevalence == 0.05
    assert_allclose(there.y_prob, rebase(p, (y == "ill").mean(), 0.05))


def test_probabilities_that_assume_equal_priors_are_rebased():
    y, p = make_predictions(2000, share=0.1)
    p = rebase(p, 0.3, 0.5)
    display = CalibrationDisplay.from_predictions(y, p, pos_label="ill", assumed_prevalence=0.5)
    assert_allclose(display.y_prob, rebase(p, 0.5, (y == "ill").mean()))


def test_bins_are_those_of_scikit_learn():
    y, p = make_predictions(500)
    display = CalibrationDisplay.from_predictions(y, p, pos_label="ill", n_bins=7)
    shares, means = calibration_curve(y == "ill", p, n_bins=7, strategy="quantile")
    assert_allclose(display.prob_true, shares)
    assert_allclose(display.line_.get_ydata(), shares)
    assert_allclose(display.line_.get_xdata(), means)
    assert (display.intervals[0] <= shares).all() and (shares <= display.intervals[1]).all()


def test_one_bin_has_the_stated_prevalence():
    y, p = make_predictions()
    display = CalibrationDisplay.from_predictions(
        y, p, pos_label="ill", n_bins=1, prevalence=0.123
    )
    assert_allclose(display.prob_true, 0.123)


def test_wilson_intervals_of_a_bin():
    y = np.array(["ill"] * 3 + ["well"] * 7)
    display = CalibrationDisplay.from_predictions(y, np.full(10, 0.3), pos_label="ill", n_bins=1)
    assert_allclose(display.intervals[:, 0], [0.1078, 0.6032], atol=1e-4)  # of 3 in 10
    assert np.isnan(display.slope.value) and "cannot be estimated" in display.text_.get_text()


def test_a_curve_needs_a_hundred_rows_of_each_class():
    y, p = make_predictions(600)
    few = np.flatnonzero(y == "ill")[:99]
    rows = np.append(few, np.flatnonzero(y == "well"))
    with_curve = CalibrationDisplay.from_predictions(y, p, pos_label="ill")
    without = CalibrationDisplay.from_predictions(y[rows], p[rows], pos_label="ill")
    grouped = CalibrationDisplay.from_predictions(
        y, p, pos_label="ill", groups=np.arange(600) // 8
    )
    assert with_curve.curve is not None and with_curve.curve_ is not None
    assert without.curve is None and without.curve_ is None
    assert grouped.curve is None


def test_the_curve_of_a_linear_truth_is_the_recalibration():
    rng = np.random.default_rng(0)
    z = rng.normal(scale=2, size=100_000)
    y = rng.uniform(size=z.size) < 1 / (1 + np.exp(-(0.5 + 0.7 * z)))
    curve = CalibrationDisplay.from_predictions(y, 1 / (1 + np.exp(-z))).curve
    truth = 1 / (1 + np.exp(-(0.5 + 0.7 * log_odds(curve.predicted))))
    assert_allclose(curve.observed, truth, atol=0.02)
    assert ((curve.low <= truth) & (truth <= curve.high)).mean() > 0.8


def test_copies_in_one_group_do_not_narrow_the_intervals():
    y, p = make_predictions(100)
    single = CalibrationDisplay.from_predictions(y, p, pos_label="ill", groups=np.arange(100))
    copies = CalibrationDisplay.from_predictions(
        np.tile(y, 4), np.tile(p, 4), pos_label="ill", groups=np.tile(np.arange(100), 4)
    )
    for name in ("slope", "intercept"):
        one, other = getattr(single, name), getattr(copies, name)
        assert_allclose([other.low, other.high], [one.low, one.high], rtol=1e-6)
    assert_allclose(copies.intervals, single.intervals)


def test_the_sandwich_of_sums_over_groups():
    y, p = make_predictions(120)
    groups = np.arange(120) % 30
    display = CalibrationDisplay.from_predictions(y, p, pos_label="ill", groups=groups)
    z, value = log_odds(p), display.intercept.value
    fitted = 1 / (1 + np.exp(-(z + value)))
    residuals = (y == "ill") - fitted
    meat = sum(residuals[groups == g].sum() ** 2 for g in range(30)) * 30 / 29
    error = np.sqrt(meat) / (fitted * (1 - fitted)).sum()
    assert_allclose(display.intercept.high - value, 1.959964 * error, rtol=1e-6)


def test_separated_classes_have_no_slope():
    display = CalibrationDisplay.from_predictions([0] * 10 + [1] * 10, np.arange(20) / 20)
    assert np.isnan(display.slope.value) and np.isfinite(display.intercept.value)


# Net benefit.


@pytest.mark.parametrize("prevalence", [None, 0.1])
def test_net_benefit_against_a_slow_computation(prevalence):
    y, p = make_predictions()
    display = DecisionCurveDisplay.from_predictions(y, p, pos_label="ill", prevalence=prevalence)
    pi = (y == "ill").mean() if prevalence is None else prevalence
    rebased = p if prevalence is None else rebase(p, (y == "ill").mean(), pi)
    at = np.arange(1, 100) / 100
    expected = [net_benefit(y, rebased, t, pi) for t in at]
    assert_allclose(display.line_.get_xdata(), at)
    assert_allclose(display.line_.get_ydata(), expected, atol=1e-12)
    assert_allclose(display.all_line_.get_ydata(), pi - (1 - pi) * at / (1 - at))
    assert_array_equal(display.none_line_.get_ydata(), 0)
    assert (display.low <= display.net_benefit + 1e-12).all()
    assert (display.net_benefit <= display.high + 1e-12).all()


def test_intervals_are_percentiles_of_rows_drawn_within_classes():
    y, p = make_predictions(80)
    display = DecisionCurveDisplay.from_predictions(
        y, p, pos_label="ill", thresholds=[0.3], n_draws=4000
    )
    rng = np.random.default_rng(5)
    ill, well = np.flatnonzero(y == "ill"), np.flatnonzero(y == "well")
    drawn = []
    for _ in range(2000):
        rows = np.append(rng.choice(ill, ill.size), rng.choice(well, well.size))
        drawn.append(net_benefit(y[rows], p[rows], 0.3, ill.size / y.size))
    expected = np.percentile(drawn, [2.5, 97.5])
    assert_allclose([display.low[0], display.high[0]], expected, atol=0.015)


def test_groups_are_drawn_whole():
    y, p = make_predictions(100)
    single = DecisionCurveDisplay.from_predictions(y, p, pos_label="ill", groups=np.arange(100))
    copies = DecisionCurveDisplay.from_predictions(
        np.tile(y, 4), np.tile(p, 4), pos_label="ill", groups=np.tile(np.arange(100), 4)
    )
    assert_allclose(copies.low, single.low)
    assert_allclose(copies.high, single.high)
    apart = DecisionCurveDisplay.from_predictions(np.tile(y, 4), np.tile(p, 4), pos_label="ill")
    assert (apart.high - apart.low).mean() < 0.7 * (copies.high - copies.low).mean()


def test_both_classes_of_a_group_are_drawn_together():
    # A group of one row of each class, on the same side of the threshold: benefit and harm
    # belong together.
    y = np.tile(["ill", "well"], 40)
    groups = np.arange(80) // 2
    p = np.where(np.random.default_rng(0).uniform(size=40) < 0.5, 0.9, 0.1)[groups]
    display = DecisionCurveDisplay.from_predictions(
        y, p, pos_label="ill", groups=groups, thresholds=[0.5]
    )
    assert_allclose([display.low[0], display.high[0]], 0, atol=1e-12)


def test_thresholds_of_zero_or_one_are_refused():
    with pytest.raises(ValueError, match="thresholds must be between 0 and 1"):
        DecisionCurveDisplay.from_predictions([0, 1], [0.1, 0.9], thresholds=[0.5, 1.0])


# Probabilities.


def test_bars_are_shares_of_each_class():
    y, p = make_predictions()
    display = ProbabilityDisplay.from_predictions(y, p, pos_label="ill", n_bins=10)
    for name, bars, sign in (("ill", display.bars_[0], 1), ("well", display.bars_[1], -1)):
        of_class = p[y == name]
        for bar in bars:
            low, high = bar.get_x(), bar.get_x() + bar.get_width()
            inside = (of_class >= low) & ((of_class < high) | (high > 1 - 1e-9))
            assert_allclose(bar.get_height(), sign * inside.mean(), atol=1e-12)
    texts = [text.get_text() for text in display.ax_.texts]
    n_ill = np.count_nonzero(y == "ill")
    assert texts == [f"ill ({n_ill} rows)", f"well ({300 - n_ill} rows)"]


# All three.


@pytest.mark.parametrize("cls", DISPLAYS)
def test_honest_predictions_of_a_comparison_are_rebased(cls, comparison):
    display = cls.from_comparison(comparison, positive="low")
    problem = comparison.problem
    p = comparison.honest_score.predictions.probabilities * np.bincount(problem.codes)
    p = (p / p.sum(axis=1, keepdims=True))[:, list(problem.classes).index("low")]
    y = problem.classes[problem.codes]
    same = cls.from_predictions(y, p, pos_label="low")
    for name, value in vars(same).items():
        if isinstance(value, np.ndarray):
            assert_allclose(getattr(display, name), value, err_msg=name)
    assert_allclose(display.prevalence, 20 / 90)
    assert "low" in display.ax_.get_xlabel()


@pytest.mark.parametrize("cls", DISPLAYS)
def test_estimators_are_asked_for_the_positive_class(cls):
    X, y = load_breast_cancer(return_X_y=True)
    y = np.where(y == 0, "malignant", "benign")
    model = LogisticRegression(max_iter=10_000).fit(X[::2, :5], y[::2])
    display = cls.from_estimator(model, X[1::2, :5], y[1::2], pos_label="benign")
    p = model.predict_proba(X[1::2, :5])[:, 0]
    same = cls.from_predictions(y[1::2], p, pos_label="benign")
    for name, value in vars(same).items():
        if isinstance(value, np.ndarray):
            assert_allclose(getattr(display, name), value, err_msg=name)
    assert display.pos_label == "benign"


@pytest.mark.parametrize("cls", DISPLAYS)
def test_one_row_of_a_class_and_long_names(cls):
    name = "a class with a very long name that does not fit under any axis $x_1$"
    y = np.array([name] + ["rest"] * 30)
    display = cls.from_predictions(y, np.linspace(0.9, 0.1, 31), pos_label=name)
    display.figure_.canvas.draw()
    assert len(display.ax_.get_xlabel().splitlines()[0]) < 60


@pytest.mark.parametrize("cls", DISPLAYS)
@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([0, 1], [0.5, np.nan], "between 0 and 1, without NaN"),
        ([0, 1], [0.5, 1.2], "between 0 and 1, without NaN"),
        ([1, 1], [0.5, 0.2], "rows of class 1 and of another class"),
        ([0, 1, 2], [0.5, 0.2, 0.1], "name one of the 3 classes"),
    ],
)
def test_impossible_predictions_are_refused(cls, y, p, message):
    with pytest.raises(ValueError, match=message):
        cls.from_predictions(y, p)


@pytest.mark.parametrize("cls", DISPLAYS)
def test_comparisons_of_many_classes_need_a_positive_one(cls, comparison):
    with pytest.raises(ValueError, match="3 classes: name the positive one"):
        cls.from_comparison(comparison)
    with pytest.raises(ValueError, match="'none' is none of the classes, high, low, middle"):
        cls.from_comparison(comparison, positive="none")


@pytest.mark.parametrize("cls", DISPLAYS)
def test_without_matplotlib_the_message_says_what_to_install(cls, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"^{cls.__name__} needs .*'tamis\[plot\]'"):
        cls.from_predictions([0, 1, 1], [0.1, 0.4, 0.9])
