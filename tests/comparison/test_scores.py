import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from tamis.comparison.choosing.scores import (
    SCORINGS,
    area_under_curve,
    cautious_area,
    cautious_interval,
    class_table,
    confusion,
    effective_sizes,
    score_confusion,
)
from tamis.comparison.choosing.spread import ScoredRows
from tamis.paths.intervals import wilson
from tests.oracles import comparison as oracle


def predictions(n_classes, seed=0, n=60, ties=False):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    p = rng.dirichlet(np.ones(n_classes), size=n) + 0.3 * np.eye(n_classes)[codes]
    p = np.round(p, 1) + 0.01 if ties else p
    p /= p.sum(axis=1, keepdims=True)
    return codes, p


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("ties", [False, True])
def test_scores_are_those_of_scikit_learn(scoring, n_classes, ties):
    codes, p = predictions(n_classes, ties=ties)
    labels = p.argmax(axis=1)
    expected = oracle.score(scoring, codes, labels, p)
    if scoring == "roc_auc":
        found = area_under_curve(codes, p)
    else:
        found = score_confusion(confusion(codes, labels, n_classes), scoring)
    assert_allclose(found, expected)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_a_weight_is_the_row_so_many_times(scoring):
    codes, p = predictions(3, seed=1)
    labels = p.argmax(axis=1)
    weights = np.random.default_rng(2).integers(0, 4, size=(5, codes.size)).astype(float)
    if scoring == "roc_auc":
        found = area_under_curve(codes, p, weights)
    else:
        found = score_confusion(confusion(codes, labels, 3, weights), scoring)
    for row, value in zip(weights, found, strict=True):
        again = np.repeat(np.arange(codes.size), row.astype(int))
        assert_allclose(value, oracle.score(scoring, codes[again], labels[again], p[again]))


def test_the_class_table_counts():
    codes = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 1, 0, 0])
    p = np.column_stack([1 - labels, labels]) * 0.8 + 0.1
    row = class_table(codes, labels, p, np.array(["well", "ill"]))["ill"]
    assert row["sensitivity"] == 4 / 6 and row["specificity"] == 3 / 4
    assert row["ppv"] == 4 / 5 and row["npv"] == 3 / 5 and row["rows"] == 6


def test_a_ratio_of_nothing_is_none():
    codes, labels = np.array([0, 1, 2, 0]), np.array([0, 1, 1, 0])
    row = class_table(codes, labels, np.eye(3)[labels], np.array([5, 6, 7]))["7"]
    assert row["ppv"] is None and row["sensitivity"] == 0.0


def separated(area, n_one, n_other, rng):
    """Scores of two classes with a known area under the curve."""
    shift = np.sqrt(2) * stats.norm.ppf(area)
    return rng.normal(size=n_other), rng.normal(shift, size=n_one)


@pytest.mark.parametrize("area", [0.7, 0.9, 0.97])
@pytest.mark.parametrize("sizes", [(10, 10), (15, 60), (50, 50)])
def test_intervals_of_the_area_cover_the_truth_and_are_no_wider_than_needed(area, sizes):
    rng = np.random.default_rng(0)
    covered, width, old_width = 0, 0.0, 0.0
    for _ in range(300):
        down, up = separated(area, *sizes, rng)
        found = (up[:, None] > down).mean()
        low, high = cautious_area(found, np.array(sizes))
        covered += low <= area <= high
        width += high - low
        old = wilson(found * min(sizes), min(sizes))
        old_width += old[1] - old[0]
    assert covered >= 275  # 95 % of 300 is 285, less three standard errors
    assert width < 0.87 * old_width


def test_a_perfect_area_is_not_certain_and_symmetric():
    low, high = cautious_area(1.0, np.array([10, 10]))
    assert 0.6 < low < 0.95 and high == 1.0
    assert_allclose(cautious_area(0.0, np.array([10, 10])), (0.0, 1 - low))
    one, other = cautious_area(0.8, np.array([20, 7])), cautious_area(0.2, np.array([20, 7]))
    assert_allclose(one, (1 - other[1], 1 - other[0]))


def test_a_class_of_three_patients_counts_as_three_rows():
    codes = np.repeat([0, 1], 100)
    groups = np.concatenate([np.repeat([0, 1, 2], [34, 33, 33]), np.arange(10, 110)])
    assert_allclose(effective_sizes(codes, 3, groups), [3, 100, 0], rtol=1e-3)
    weights = np.where(np.arange(200) % 2 == 0, 1.0, 0.0)
    assert_allclose(effective_sizes(codes, 2, None, weights), [50, 50])
    rows = ScoredRows(codes, 2, "balanced_accuracy", groups)
    found = rows.describe(codes, np.eye(2)[codes], np.array(["ill", "well"]), positive=0)
    assert_allclose(found["sensitivity"]["interval_95"], wilson(3, 3), atol=1e-3)
    assert_allclose(found["specificity"]["interval_95"], wilson(100, 100), atol=1e-3)
    assert found["interval_95"][0] < 0.8


def test_sizes_do_not_change_the_mix_of_the_classes():
    counts = np.array([[90.0, 0.0], [5.0, 5.0]])
    low, high = cautious_interval(counts, "accuracy", 0, np.array([3.0, 10.0]))
    assert low < 0.95 < high
    assert low > 0.4
