from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from tamis.comparison.choice import Draws, choose, estimate, measure_errors
from tamis.comparison.comparison import Settings, compare
from tamis.comparison.results import MethodResult, find_threshold, judge
from tamis.comparison.scores import area_under_curve, cautious_interval
from tests.comparison.problems import make
from tests.oracles import comparison as oracle


def given(name, scores, errors, sizes, is_baseline=False):
    result = MethodResult(
        SimpleNamespace(name=name, is_baseline=is_baseline),
        tuple(range(len(scores))),
        np.zeros((len(scores), 1, 4, 2)),
        np.zeros((len(scores), 3)),
        np.array(sizes, dtype=float),
        np.array(sizes, dtype=float)[:, None, None] * np.ones((1, 1, 4)),
        1.0,
    )
    result.scores, result.errors = np.array(scores), np.array(errors)
    return result


@pytest.mark.parametrize("seed", range(30))
def test_the_choice_is_the_sparsest_within_one_standard_error(seed):
    rng = np.random.default_rng(seed)
    results, candidates = [], []
    for name, is_baseline in (("a", False), ("b", False), ("base", True)):
        scores = rng.uniform(0.6, 0.9, 5).round(2)
        errors = rng.uniform(0, 0.1, 5)
        sizes = rng.integers(1, 6, 5)
        results.append(given(name, scores, errors, sizes, is_baseline))
        candidates += [
            ((name, at), scores[at], errors[at], sizes[at], not is_baseline) for at in range(5)
        ]
    found = choose(results, "overall")
    (name, at), score, *_ = oracle.choose(candidates)
    assert found.method == name
    chosen = next(r for r in results if r.method.name == name)
    assert chosen.scores[found.at] == score and chosen.overall[found.at] == chosen.overall[at]


def test_a_baseline_out_of_reach_is_told_and_never_chosen():
    results = [
        given("a", [0.7, 0.8], [0.05, 0.05], [1, 9]),
        given("b", [0.99], [0.01], [50], True),
    ]
    found = choose(results, "overall")
    assert (found.method, found.at) == ("a", 1)
    assert_allclose(found.behind, 0.98 - 0.8)


def random_result(codes, n_levels, seed, skill=0.4):
    rng = np.random.default_rng(seed)
    right = rng.uniform(size=(n_levels, 1, codes.size)) < 0.5 + skill
    labels = np.where(right, codes, 1 - codes)
    p = np.stack([1 - labels, labels], axis=-1) * 0.6 + 0.2
    result = MethodResult(
        SimpleNamespace(name="a", is_baseline=False),
        tuple(range(1, n_levels + 1)),
        p.astype(np.float32),
        np.zeros((n_levels, 3)),
        np.arange(1.0, n_levels + 1),
        np.ones((n_levels, 1, codes.size)),
        1.0,
    )
    judge(result, codes, "balanced_accuracy")
    return result


def test_the_honest_score_is_that_of_the_slow_bootstrap():
    codes = np.arange(60) % 2
    result = random_result(codes, 5, seed=3, skill=0.2)
    draws = Draws(codes, 2, None, 1000, 0)
    scores = measure_errors([result], draws, "balanced_accuracy")
    honest = estimate([result], draws, scores, scoring="balanced_accuracy", minimize="overall")
    slow = oracle.bootstrap_bias_corrected(
        result.labels[:, 0], codes, result.overall, result.errors, np.random.default_rng(9), 1000
    )
    noise = slow.std() / np.sqrt(1000)
    assert abs(honest.score - slow.mean()) < 5 * noise
    assert_allclose([honest.low, honest.high], np.percentile(slow, [2.5, 97.5]), atol=0.02)


def test_rows_of_a_group_are_drawn_together():
    codes, groups = np.arange(40) % 2, np.arange(40) // 4
    for weights in Draws(codes, 2, groups, 50, 0):
        for start in range(0, 40, 4):
            assert (weights[:, start : start + 4] == weights[:, [start]]).all()


@pytest.mark.parametrize("wanted", [0.5, 0.8, 0.9, 1.0])
def test_a_threshold_reaches_the_wanted_sensitivity_and_no_more(wanted):
    rng = np.random.default_rng(0)
    scores, positive = rng.uniform(size=50), np.arange(50) % 3 == 0
    threshold = find_threshold(scores, positive, wanted)
    assert (scores[positive] >= threshold).mean() >= wanted
    above = np.sort(scores[positive])
    above = above[above > threshold]
    assert threshold == 0.5 or (scores[positive] >= above[0]).mean() < wanted


def test_a_threshold_gives_up_no_row_that_is_found_anyway():
    scores = np.array([0.0, 0.1, 1.0, 1.0, 1.0, 1.0], dtype=np.float32)
    assert find_threshold(scores, scores > 0.5, 0.5) == 0.5


def test_on_noise_the_interval_covers_chance_and_the_naive_score_does_not():
    covered, naive = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 150)), rng.permutation(np.arange(60) % 2)
        settings = Settings(("centers", "medians", "most-frequent"), n_folds=3, seed=seed)
        comparison, _ = compare(make(X, y), settings)
        honest = comparison.honest
        covered.append(honest.low <= 0.5 <= honest.high)
        naive.append(max(r.scores.max() for r in comparison.results))
    # By chance at most one of twenty intervals misses; the best of many scores is far above.
    assert sum(covered) >= 18
    assert np.mean(naive) > 0.57


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "roc_auc"])
def test_many_small_classes_have_an_honest_score(scoring):
    """No draw has all thirty classes on both sides."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 30
    X = 2.0 * y[:, None] + rng.normal(size=(90, 4))
    comparison, _ = compare(make(X, y), Settings(("centers",), n_folds=3, scoring=scoring))
    honest = comparison.honest
    assert honest.n_draws > 900
    assert 0 < honest.low <= honest.score <= honest.high <= 1


def test_a_class_without_rows_takes_no_part_in_the_area():
    codes = np.array([0, 0, 1, 1])
    p = np.array([[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.1, 0.8, 0.1]])
    assert area_under_curve(codes, p) == 1.0
    assert np.isnan(area_under_curve(np.zeros(4, dtype=int), p, nothing=np.nan))


@pytest.mark.parametrize(
    "scoring", ["balanced_accuracy", "accuracy", "f1_macro", "mcc", "roc_auc"]
)
def test_twenty_rows_that_are_all_right_are_not_certain(scoring):
    """Draws of rows that are all right are all right: the interval must not be a point."""
    y = np.arange(20) % 2
    X = 9.0 * y[:, None] + np.random.default_rng(0).normal(size=(20, 2))
    comparison, _ = compare(make(X, y), Settings(("centers",), n_folds=5, scoring=scoring))
    honest = comparison.honest
    assert honest.score == honest.high == 1.0
    assert 0.3 < honest.low < 0.95


def test_the_interval_covers_the_truth_where_hardly_a_row_is_wrong():
    covered = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y = np.arange(40) % 2
        X = 4.0 * y[:, None] + rng.normal(size=(40, 1))
        comparison, _ = compare(make(X, y), Settings(("centers",), n_folds=5))
        covered += comparison.honest.low <= 0.977 <= comparison.honest.high  # Bayes
    assert covered >= 27


def test_the_cautious_interval_is_that_of_jeffreys():
    low, high = cautious_interval(np.array([[0, 0], [1, 19]]), "accuracy")
    assert_allclose([low, high], stats.beta(19.5, 1.5).ppf([0.025, 0.975]), atol=0.01)
