"""Thresholds that keep a sensitivity: order statistics against exact fractions, and refusals."""

import numpy as np
import pytest

from tamis.guarantees import find_sensitivity_threshold, positives_needed
from tests.oracles import conformal as oracle


@pytest.mark.parametrize(("sensitivity", "n"), [(0.9, 29), (0.95, 59), (0.99, 299)])
def test_positives_needed_are_those_that_make_the_smallest_score_enough(sensitivity, n):
    assert positives_needed(sensitivity) == n
    scores = np.random.default_rng(0).random(n)
    found = find_sensitivity_threshold(scores, sensitivity=sensitivity)
    assert (found.rank, found.threshold) == (1, scores.min())
    message = (
        f"needs {n} positive rows in the calibration set, and there are {n - 1}. Keep more rows"
    )
    with pytest.raises(ValueError, match=message):
        find_sensitivity_threshold(scores[1:], sensitivity=sensitivity)


@pytest.mark.parametrize("n", [30, 47, 120])
@pytest.mark.parametrize("sensitivity", [0.5, 0.75, 0.90625])
def test_rank_against_exact_fractions(n, sensitivity):
    scores = np.random.default_rng(n).permutation(n) / n
    found = find_sensitivity_threshold(scores, sensitivity=sensitivity, confidence=0.9)
    rank = oracle.threshold_rank(n, 1 - sensitivity, 0.9)
    assert found.rank == rank
    assert found.threshold == (rank - 1) / n  # the rank-th smallest score
    assert found.is_positive(scores).sum() == n - rank + 1
    assert f"rank {rank} of {n} positive rows in the calibration set" in str(found)


def test_one_row_of_each_group_counts():
    scores = np.random.default_rng(0).random(90)
    groups = np.arange(90) // 3
    found = find_sensitivity_threshold(scores, sensitivity=0.9, groups=groups, random_state=0)
    assert (found.n_positives, found.rank) == (30, 1)
    drawn = {
        find_sensitivity_threshold(
            scores, sensitivity=0.9, groups=groups, random_state=seed
        ).threshold
        for seed in range(10)
    }
    assert len(drawn) > 1
    assert drawn <= set(scores)
    with pytest.raises(
        ValueError,
        match="29 sample groups with positive rows in the calibration set, and there are",
    ):
        find_sensitivity_threshold(scores[:81], sensitivity=0.9, groups=groups[:81])


@pytest.mark.parametrize("scores", [[[0.1]], [0.1, np.nan], 0.5])
def test_scores_must_be_a_list_of_numbers(scores):
    with pytest.raises(ValueError, match="scores must be a list of finite numbers"):
        find_sensitivity_threshold(scores, sensitivity=0.9)


@pytest.mark.parametrize("options", [{"sensitivity": 1.0}, {"sensitivity": 0.9, "confidence": 95}])
def test_shares_must_be_between_0_and_1(options):
    with pytest.raises(ValueError, match="must be a number between 0 and 1"):
        find_sensitivity_threshold(np.ones(100), **options)
