"""Checks of the recommended model: each has a case in which it speaks, and a near miss."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from tamis import compare
from tamis.comparison.checks.model import (
    batch_effects,
    edge_of_path,
    miscalibration,
    redundant_panel,
    unstable_predictions,
)
from tamis.comparison.choosing.choice import Candidates
from tests.comparison.problems import make


def codes_of(checks):
    return [check.code for check in checks]


def panel_of_two(noise, n=100):
    """Two features that differ between the classes, the second being the first and some noise."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    first = rng.normal(size=n) + 4 * y
    return make(np.column_stack([first, first + noise * rng.normal(size=n)]), y)


def test_features_that_repeat_each_other_within_the_classes_are_told():
    (check,) = redundant_panel(panel_of_two(0.1), np.array([0, 1]))
    assert check.code == "redundant-panel" and "x0 and x1 (1.00)" in check.sentence


def test_features_that_only_tell_the_same_classes_apart_are_not():
    problem = panel_of_two(0.5)
    values = problem.encoded
    assert np.corrcoef(values, rowvar=False)[0, 1] > 0.95  # over all rows, because of the classes
    assert codes_of(redundant_panel(problem, np.array([0, 1]))) == []


def test_features_of_a_handful_of_rows_are_not():
    assert codes_of(redundant_panel(panel_of_two(0.1, n=6), np.array([0, 1]))) == []


def path_of(*sizes):
    return SimpleNamespace(
        levels=sizes,
        overall=np.array(sizes, dtype=float),
        method=SimpleNamespace(title="a method"),
    )


def test_a_model_at_the_end_of_its_path_is_told():
    (check,) = edge_of_path(path_of(1, 2, 4), 2, n_features=20)
    assert check.code == "edge-of-path" and "4 of 20 features" in check.sentence


@pytest.mark.parametrize(
    ("sizes", "place", "n_features"),
    [((1, 2, 4), 1, 20), ((1, 2, 4), 2, 4), ((0,), 0, 20)],
    ids=["before the end", "all features", "no path"],
)
def test_a_path_that_ends_where_it_should_is_not(sizes, place, n_features):
    assert codes_of(edge_of_path(path_of(*sizes), place, n_features)) == []


def calibrated(slope, n=2000, seed=0):
    """Labels, and their probabilities with log odds that are `slope` times too small."""
    rng = np.random.default_rng(seed)
    odds = 2 * rng.normal(size=n)
    y = rng.random(n) < 1 / (1 + np.exp(-odds))
    p = 1 / (1 + np.exp(-odds / slope))
    return make(rng.normal(size=(n, 1)), y, balanced=False), np.column_stack([1 - p, p])


@pytest.mark.parametrize(("slope", "word"), [(0.5, "too near 0"), (2.0, "too far from 0")])
def test_probabilities_that_are_too_extreme_or_too_cautious_are_told(slope, word):
    (check,) = miscalibration(*calibrated(slope))
    assert check.code == "miscalibration" and word in check.sentence
    found = float(re.search(r"slope (\S+),", check.sentence)[1])
    assert found == pytest.approx(slope, rel=0.15)


@pytest.mark.parametrize(("slope", "n"), [(1.0, 2000), (0.9, 2000), (0.6, 30)])
def test_probabilities_that_are_nearly_calibrated_or_few_are_not(slope, n):
    assert codes_of(miscalibration(*calibrated(slope, n))) == []


def test_calibrated_probabilities_raise_at_most_two_alarms_in_a_hundred():
    alarms = sum(bool(codes_of(miscalibration(*calibrated(1.0, 200, s)))) for s in range(100))
    assert alarms <= 2


def held_out(score, half):
    return {"score": score, "interval_95": [score - half, score + half]}


def test_a_score_that_drops_between_batches_is_told():
    assert codes_of(batch_effects(0.95, held_out(0.7, 0.1))) == ["batch-effects"]


@pytest.mark.parametrize(("score", "half"), [(0.91, 0.01), (0.82, 0.15), (0.97, 0.01)])
def test_a_score_that_drops_by_little_or_within_its_interval_is_not(score, half):
    assert codes_of(batch_effects(0.95, held_out(score, half))) == []


def two_levels(n_wrong, n=120):
    """Two levels of one size; the first is wrong in 20 rows, the second in `n_wrong` others."""
    codes = np.arange(n) % 2
    labels = np.stack([codes, codes])[:, None].astype(np.uint8)
    labels[0, 0, :20] = 1 - codes[:20]
    labels[1, 0, 40 : 40 + n_wrong] = 1 - codes[40 : 40 + n_wrong]
    result = SimpleNamespace(
        labels=labels,
        levels=(1, 2),
        scores=(labels[:, 0] == codes).mean(axis=1),
        method=SimpleNamespace(name="a", is_baseline=False, is_readable=True, trains_with=""),
        sparsity=lambda minimize: np.ones(2),
    )
    return Candidates([result], codes, 2, scoring="accuracy", tolerance=0.0)


def test_labels_that_depend_on_the_resample_are_told():
    (check,) = unstable_predictions(two_levels(20))
    assert check.code == "unstable-predictions"
    # Half of the resamples choose each level, and they differ in a third of the rows.
    share = int(re.search(r"(\d+) % of", check.sentence)[1])
    assert share == pytest.approx(100 * 0.5 * 40 / 120, abs=3)


def test_labels_of_a_firm_choice_are_not():
    assert codes_of(unstable_predictions(two_levels(60))) == []


def test_a_comparison_makes_these_checks_unless_chance_explains_its_score():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    first = rng.normal(size=80) + 1.5 * y
    X = np.column_stack([first, first + 1e-3 * rng.normal(size=80), rng.normal(size=80)])
    options = {"methods": ["centers", "most-frequent"], "cv": 3, "random_state": 0}
    comparison = compare(X, y, tolerance=0.0, **options)
    found = {check.code for check in comparison.checks}
    result, place = comparison.chosen
    assert ("redundant-panel" in found) == (result.selected[place][:2].min() >= 0.5)
    nothing = compare(rng.normal(size=(40, 3)), np.arange(40) % 2, **options)
    codes = [check.code for check in nothing.checks]
    assert "chance" in codes and "miscalibration" not in codes
