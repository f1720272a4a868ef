"""Fixed-sequence testing against exact fractions and against MAPIE."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tamis.paths.fixed_sequence import Limit, make_limits, rows_needed, run_sequence
from tests.oracles import conformal as oracle


def wrong_rows(errors, n):
    """The first errors[m] of n rows are wrong for model m."""
    return np.arange(n) < np.array(errors)[:, None]


def all_rows(n, most):
    return [Limit("error rate", most, np.arange(n))]


@pytest.mark.parametrize("n", [45, 60, 200])
@pytest.mark.parametrize("most", [0.05, 0.125, 0.5])
def test_against_exact_fractions(n, most):
    rng = np.random.default_rng(n)
    for _ in range(10):
        errors = np.sort(rng.integers(0, max(2, int(n * most)), 5))
        test = run_sequence(wrong_rows(errors, n), all_rows(n, most), 0.9)
        assert test.chosen == oracle.last_passed(errors.tolist(), n, most, 0.1)
        exact = [float(oracle.binomial_at_most(int(e), n, most)) for e in errors]
        assert_allclose(test.p_values, exact, rtol=1e-9)
        assert_array_equal(test.errors, [errors])


def test_testing_stops_at_the_first_failure():
    test = run_sequence(wrong_rows([0, 50, 0], 100), all_rows(100, 0.1), 0.95)
    assert test.p_values[2] < 0.05 < test.p_values[1]
    assert (test.n_passed, test.chosen) == (1, 0)
    first = run_sequence(wrong_rows([50, 0, 0], 100), all_rows(100, 0.1), 0.95)
    assert (first.n_passed, first.chosen) == (0, None)
    assert first.statement().startswith("None: error rate at most 10 %, with 95 % confidence")


def test_several_limits_have_the_largest_p_value():
    rows = np.arange(100)
    both = [Limit("error rate", 0.1, rows), Limit("miss rate of class 1", 0.1, rows[:40])]
    test = run_sequence(wrong_rows([2], 100), both, 0.95)
    exact = [float(oracle.binomial_at_most(2, n, 0.1)) for n in (100, 40)]
    assert exact[0] < 0.05 < exact[1]
    assert_allclose(test.p_values, [exact[1]])
    assert test.chosen is None


@pytest.mark.parametrize(
    ("rate", "confidence", "n"),
    [(0.1, 0.95, 29), (0.05, 0.95, 59), (0.01, 0.95, 299), (0.05, 0.9, 45), (0.5, 0.75, 2)],
)
def test_rows_needed_are_the_fewest_that_pass_without_an_error(rate, confidence, n):
    assert rows_needed(rate, confidence) == n
    for size, passes in ((n, True), (n - 1, False)):
        test = run_sequence(wrong_rows([0], size), all_rows(size, rate), confidence)
        assert (test.chosen == 0) is passes


def test_too_few_rows_are_said():
    test = run_sequence(wrong_rows([0], 30), all_rows(30, 0.05), 0.95)
    assert (
        "needs at least 59 rows in the calibration set, even without any error; there are 30"
        in test.statement()
    )


def test_a_class_without_rows_never_passes():
    limits = [Limit("miss rate of class 'ill'", 0.1, np.arange(0))]
    assert run_sequence(wrong_rows([0], 30), limits, 0.95).p_values.tolist() == [1.0]


def test_limits_of_classes_count_one_row_of_the_class_per_group():
    codes, groups = np.array([0, 0, 1, 1, 1, 0]), np.array([0, 0, 0, 1, 1, 2])
    classes, rng = np.array(["ill", "well"]), np.random.default_rng(0)
    error, ill, well = make_limits(codes, classes, 0.1, 0.2, groups, rng)
    assert error.rows.size == 3
    assert_array_equal(codes[ill.rows], 0)
    assert_array_equal(groups[ill.rows], [0, 2])
    assert_array_equal(groups[well.rows], [0, 1])
    (only,) = make_limits(codes, classes, None, {"well": 0.3}, None, rng)
    assert_array_equal(only.rows, [2, 3, 4])
    assert str(only) == "false-negative rate of class 'well' at most 30 %"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((None, None), "Give max_error, max_misses or both"),
        ((1.5, None), "max_error must be a number between 0 and 1, got 1.5"),
        ((None, "x"), "max_misses must be a number, or a dict"),
        ((None, {"a": 0.1}), "names the class 'a', which is not among the classes 0, 1"),
        ((None, {1: 2}), "max_misses of class 1 must be a number between 0 and 1, got 2"),
    ],
)
def test_wrong_limits_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        make_limits(np.array([0, 1]), np.array([0, 1]), *options, None, np.random.default_rng(0))


@pytest.mark.filterwarnings("ignore:No predict parameters were found")
def test_agrees_with_the_controller_of_mapie():
    control = pytest.importorskip("mapie.risk_control")
    rng, n = np.random.default_rng(0), 256  # shares of 256 rows are exact numbers
    y = np.arange(n) % 2
    share = np.where(y, rng.random(n), 0.0)
    thresholds = np.array([0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5])  # from safest to most errors
    is_wrong = (share >= thresholds[:, None]) != y
    places = []
    for max_error in (0.03, 0.0625, 0.08, 0.2):
        controller = control.BinaryClassificationController(
            predict_function=lambda X: np.column_stack([1 - share, share]),
            risk="accuracy",
            target_level=1 - max_error,
            confidence_level=0.95,
            list_predict_params=thresholds,
            fwer_method="fixed_sequence",
        )
        controller.calibrate(np.zeros((n, 1)), y)
        test = run_sequence(is_wrong, all_rows(n, max_error), 0.95)
        assert_allclose(test.p_values, np.ravel(controller.p_values), rtol=1e-9)
        assert test.n_passed == len(controller.valid_predict_params)
        places.append(test.n_passed)
    assert places[0] == 0 < places[1] < places[-1] < thresholds.size
