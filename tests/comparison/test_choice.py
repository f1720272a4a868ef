from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from tamis.comparison.choosing.choice import Candidates, estimate
from tamis.comparison.choosing.draws import Draws
from tamis.comparison.choosing.results import MethodResult, find_threshold, judge
from tamis.comparison.choosing.scores import area_under_curve, cautious_interval
from tamis.comparison.settings import Settings
from tests.comparison.problems import compare, make
from tests.oracles import comparison as oracle
from tests.oracles import rule
from tests.quick import smaller


def given(codes, right, sizes, name="a", is_baseline=False, is_readable=True, family=""):
    """A result whose levels are right on the given rows: (n_levels, n_rows)."""
    labels = np.where(right, codes, 1 - codes)[:, None]
    p = np.stack([1 - labels, labels], axis=-1) * 0.6 + 0.2
    sizes = np.array(sizes, dtype=float)
    result = MethodResult(
        SimpleNamespace(
            name=name, is_baseline=is_baseline, is_readable=is_readable, trains_with=family
        ),
        tuple(sizes.tolist()),
        p.astype(np.float32),
        np.zeros((len(sizes), 3)),
        *(sizes, sizes, sizes, sizes),
        1.0,
    )
    judge(result, codes, "balanced_accuracy")
    return result


def chosen_by_the_rule(right, codes, sizes):
    """Place of the rule's choice, by the slow oracle."""
    ones, rows, one = np.ones(codes.size), range(codes.size), [0] * len(sizes)
    scores = [rule.score(r, codes, ones, rows, True) for r in right]
    errors = rule.standard_errors(right, codes, ones, [[i] for i in rows], True)
    return rule.choose(scores, sizes, 0.01, [True] * len(sizes), one, errors)[0]


def test_a_baseline_is_never_chosen_but_sets_the_standard():
    codes = np.arange(100) % 2
    right = np.ones((2, 100), dtype=bool)
    right[0, :20], right[1, :2] = False, False
    base = np.ones((1, 100), dtype=bool)
    results = [given(codes, right, [1, 9]), given(codes, base, [50], "b", True)]
    found = Candidates(results, codes, 2, scoring="balanced_accuracy").choice()
    assert (found.method, found.place) == ("a", 1)


def test_a_baseline_out_of_reach_leaves_the_best_of_ours_as_the_standard():
    codes = np.arange(100) % 2
    right = np.ones((2, 100), dtype=bool)
    right[0, :41], right[1, :40] = False, False
    base = np.ones((1, 100), dtype=bool)
    results = [given(codes, right, [1, 9]), given(codes, base, [50], "b", True)]
    candidates = Candidates(results, codes, 2, scoring="balanced_accuracy")
    assert candidates.choice().place == 0  # as good as the nine features, within the tolerance
    behind = candidates.behind(candidates.place("a", 0), candidates.place("b", 0))
    assert_allclose(behind.difference, 0.41)


def test_of_models_with_as_many_features_one_that_can_be_read_is_chosen():
    codes = np.arange(100) % 2
    right = np.ones((3, 100), dtype=bool)
    right[0, :40], right[1, 0] = False, False
    better = np.ones((2, 100), dtype=bool)
    better[0, :40] = False
    plain = given(codes, right, [1, 30, 33], "plain")
    dark = given(codes, better, [1, 30], "dark", is_readable=False)
    candidates = Candidates([plain, dark], codes, 2, scoring="balanced_accuracy")
    found = candidates.choice()
    assert (found.method, found.n_features) == ("plain", 30)  # although dark is better
    assert candidates.choose()[1] == candidates.place("dark", 1)  # which sets the standard
    assert candidates.choose_all(np.ones((2, 100))) == [candidates.choose()] * 2

    sparser = given(codes, better, [1, 20], "dark", is_readable=False)
    candidates = Candidates([plain, sparser], codes, 2, scoring="balanced_accuracy")
    assert candidates.choice().method == "dark"
    worse = right.copy()
    worse[1, :20] = False  # not good enough
    candidates = Candidates(
        [given(codes, worse, [1, 30, 33], "plain"), dark], codes, 2, scoring="balanced_accuracy"
    )
    assert candidates.choice().method == "dark"


def test_a_kernel_counts_only_where_it_is_clearly_better_than_its_readable_twin():
    codes = np.arange(400) % 2

    def results(n_linear, n_kernel):
        """Ten and twenty features; so many rows are wrong with twenty."""
        linear, kernel = np.ones((2, 2, 400), dtype=bool)
        linear[0, :40], linear[1, :n_linear] = False, False
        kernel[0, :40], kernel[1, :n_kernel] = False, False
        return [
            given(codes, linear, [10, 20], "panel", family="panel"),
            given(codes, kernel, [10, 20], "panel-kernel", is_readable=False, family="panel"),
        ]

    def choose(*n_wrong):
        candidates = Candidates(results(*n_wrong), codes, 2, scoring="balanced_accuracy")
        assert candidates.twins.tolist() == [-1, -1, 0, 1]
        chosen, best = candidates.choose()
        is_better = candidates.find(best)[0].method.name == "panel-kernel"
        assert candidates.counts.tolist() == [True, True, False, is_better]
        names = [(candidates.find(place)[0].method.name) for place in (chosen, best)]
        return names, float(candidates.sparsity[chosen])

    # Better by one hundredth or less: the kernel neither is chosen nor sets the standard.
    assert choose(38, 34) == (["panel", "panel"], 10)
    assert choose(38, 10) == (["panel-kernel", "panel-kernel"], 20)


def test_the_honest_score_is_that_of_the_slow_bootstrap():
    codes = np.arange(40) % 2
    right = np.random.default_rng(3).uniform(size=(5, 40)) < 0.7
    result = given(codes, right, [1, 2, 3, 4, 5])
    candidates = Candidates([result], codes, 2, scoring="balanced_accuracy")
    honest = estimate(candidates)
    slow = oracle.bootstrap_bias_corrected(
        result.labels[:, 0],
        codes,
        lambda rows: chosen_by_the_rule(
            right[:, rows].astype(float), codes[rows], [1, 2, 3, 4, 5]
        ),
        np.random.default_rng(9),
        300,
    )
    noise = slow.std() / np.sqrt(300)
    assert abs(honest.score - slow.mean()) < 5 * noise
    assert_allclose([honest.low, honest.high], np.percentile(slow, [2.5, 97.5]), atol=0.05)


def test_a_point_picked_after_seeing_the_curve_is_above_its_lower_limit():
    """Of twenty candidates that are no better than chance the best looks good."""
    above, naive = 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        codes = np.arange(80) % 2
        result = given(codes, rng.random((20, 80)) < 0.5, range(1, 21))
        candidates = Candidates([result], codes, 2, scoring="balanced_accuracy", seed=seed)
        limits = candidates.lower_band()
        best = int(np.argmax(candidates.scores))
        above += limits[best] <= 0.5
        naive += candidates.scores[best] - 1.645 * result.errors[best] <= 0.5
    assert above >= 36
    assert naive < 30


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


@pytest.mark.slow
def test_on_noise_the_interval_covers_chance_and_the_naive_score_does_not():
    covered, naive = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 150)), rng.permutation(np.arange(60) % 2)
        settings = Settings(("centers", "medians", "most-frequent"), n_folds=3, seed=seed)
        comparison = compare(make(X, y), settings)
        honest = comparison.honest_score
        covered.append(honest.low <= 0.5 <= honest.high)
        naive.append(max(r.scores.max() for r in comparison.results))
    # By chance at most one of twenty intervals misses; the best of many scores is far above.
    assert sum(covered) >= 18
    assert np.mean(naive) > 0.57


@pytest.mark.parametrize("scoring", smaller("balanced_accuracy", "roc_auc"))
def test_many_small_classes_have_an_honest_score(scoring):
    """No draw has all thirty classes on both sides."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 30
    X = 2.0 * y[:, None] + rng.normal(size=(90, 4))
    comparison = compare(make(X, y), Settings(("centers",), n_folds=3, scoring=scoring))
    honest = comparison.honest_score
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
    comparison = compare(make(X, y), Settings(("centers",), n_folds=5, scoring=scoring))
    honest = comparison.honest_score
    assert honest.score == honest.high == 1.0
    assert 0.3 < honest.low < 0.95


@pytest.mark.slow
def test_the_interval_covers_the_truth_where_hardly_a_row_is_wrong():
    covered = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y = np.arange(40) % 2
        X = 4.0 * y[:, None] + rng.normal(size=(40, 1))
        comparison = compare(make(X, y), Settings(("centers",), n_folds=5))
        covered += comparison.honest_score.low <= 0.977 <= comparison.honest_score.high  # Bayes
    assert covered >= 27


def test_the_cautious_interval_is_that_of_jeffreys():
    low, high = cautious_interval(np.array([[0, 0], [1, 19]]), "accuracy")
    assert_allclose([low, high], stats.beta(19.5, 1.5).ppf([0.025, 0.975]), atol=0.01)


def test_a_minimal_sensitivity_with_many_tiny_classes():
    """Draws in which the positive class is absent, or has no row left, say nothing about it."""
    y = np.repeat(np.arange(16), [80] + [3] * 15)
    X = np.random.default_rng(0).normal(size=(y.size, 3)) + y[:, None]
    settings = Settings(("centers",), n_folds=2, positive=1, min_sensitivity=0.9)
    honest = compare(make(X, y), settings).honest_score
    assert 0 <= honest.sensitivity <= 1 and 0 <= honest.specificity <= 1
