import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from tamis import PanelClassifier, SparseCenterClassifier
from tamis.guarantees import StableSelector
from tamis.guarantees.half_shares import (
    choose_largest,
    half_rows,
    half_shares,
    other_half_centers,
)
from tamis.stability import complementary_pairs


@parametrize_with_checks([StableSelector()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def some_data(n=33, m=40, n_true=3, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, m))
    X[:, :n_true] += 1.5 * y[:, None]
    return X * np.logspace(-2, 2, m) + 50.0, y


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("grouped", [False, True])
def test_shares_of_halves_are_those_of_separate_fits(metric, n_classes, grouped):
    X, y = some_data(n=35, n_classes=n_classes)
    X[:, 5] = 1.0
    groups = np.arange(35) // n_classes // 2 * n_classes + y if grouped else None
    pairs = complementary_pairs(y, groups, 4, np.random.RandomState(0))
    found = half_shares(X, y, pairs, n_classes, metric)
    for rows, shares in zip(half_rows(pairs), found, strict=True):
        model = SparseCenterClassifier(None, metric=metric)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            gains = model.fit(X[rows], y[rows]).gains_
        assert_allclose(shares, gains, atol=1e-8)
    of_sparse = half_shares(sparse.csc_array(X), y, pairs, n_classes, metric)
    assert_allclose(of_sparse, found, atol=1e-12)


def test_ties_are_broken_at_random():
    scores = np.array([0.5, 0.2, 0.2, 0.2 + 1e-14, 0.0, 0.1])
    random_state = np.random.RandomState(0)
    second = [choose_largest(scores, 2, random_state).tolist() for _ in range(60)]
    assert {tuple(c) for c in second} == {(0, 1), (0, 2), (0, 3)}
    assert choose_largest(scores, 7, random_state).tolist() == [0, 1, 2, 3, 5, -1, -1]


def test_frequent_features_are_selected_and_the_sentence_says_what_that_means():
    X, y = some_data(n=60, m=400)
    selector = StableSelector(random_state=0).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [0, 1, 2]
    assert (selector.n_chosen_, selector.n_eligible_) == (14, 400)  # floor(sqrt(400 / 2))
    assert_allclose(selector.frequencies_.sum(), 14)
    assert_allclose(selector.bounds_["assumption_free"], 14**2 / 200)
    assert selector.bounds_["r_concave"] < selector.bounds_["unimodal"]
    assert selector.statement([0, 1, 2, 7, 8]) == (
        "3 of the 5 pass a rule that, over repeated studies, admits on average at most 1 noise "
        "feature (chosen by a random half-sample no more often than by chance). Nothing is "
        "guaranteed for the other 2."
    )
    assert selector.statement().startswith("3 of the 3 pass")
    assert selector.statement([0]).startswith("This feature passes a rule")
    assert selector.statement([7]).startswith("This feature does not pass a rule")
    assert selector.statement([0, 7]).startswith("1 of the 2 passes a rule")
    assert selector.statement([0, 7]).endswith("Nothing is guaranteed for the other one.")
    assert selector.statement([7, 8]).startswith("None of the 2 passes a rule")
    assert selector.statement([7, 8]).endswith("Nothing is guaranteed for them.")
    assert selector.statement([]).startswith("No feature passes a rule")
    with pytest.raises(ValueError, match="no feature -1"):
        selector.statement([-1])
    again = StableSelector(random_state=0).fit(sparse.csr_array(X), y)
    assert_array_equal(again.choices_, selector.choices_)


def test_units_do_not_matter():
    X, y = some_data(n=60, m=400)
    plain = StableSelector(random_state=0).fit(X, y)
    scaled = StableSelector(random_state=0).fit(X * np.where(np.arange(400) < 380, 1, 1e4), y)
    assert_array_equal(plain.choices_, scaled.choices_)


@pytest.mark.parametrize(
    ("estimator", "m", "reason"),
    [
        (None, 1, "too few"),
        (None, 8, "pass, and the rule may admit"),
        (SparseCenterClassifier(scaling=None), 100, "scaling='spread'"),
        (PanelClassifier(selection="primal-dual", head="lda"), 30, "frequencies are all"),
        (
            PanelClassifier(
                selection="centers", head="lda", feature_groups=[0, 1] * 15, max_per_group=1
            ),
            30,
            "frequencies are all",
        ),
    ],
)
def test_where_nothing_can_be_said_nothing_is_said(estimator, m, reason):
    X, y = some_data(n=40, m=m, n_true=1)
    selector = StableSelector(estimator, n_pairs=4, random_state=0).fit(X, y)
    assert selector.statement().startswith("No statement possible: ")
    assert reason in selector.refusal_
    assert selector.frequencies_.max() > 0.5


def test_separate_fits_choose_what_the_fast_way_chooses():
    X, y = some_data(n=40, m=100)
    fast = StableSelector(n_pairs=5, random_state=0).fit(X, y)
    panel = PanelClassifier(selection="centers", head="lda")
    assert_array_equal(
        StableSelector(panel, n_pairs=5, random_state=0).fit(X, y).choices_, fast.choices_
    )
    slow = StableSelector(SparseCenterClassifier(scaling="std"), n_pairs=5, random_state=0)
    # Classes of the same size: both scales rank alike.
    assert_array_equal(slow.fit(X, y).choices_, fast.choices_)


def test_kept_features_are_not_counted_and_groups_are_judged_per_column():
    X, y = some_data(n=60, m=300, n_true=2)
    estimator = SparseCenterClassifier(keep=[0], feature_groups=np.arange(300) // 2)
    selector = StableSelector(estimator, random_state=0).fit(X, y)
    assert (selector.n_eligible_, selector.frequencies_[0]) == (149, 0.0)
    many = [0] * 30 + list(range(1, 271))  # noise: a group of 30 columns is no better than one
    noise = StableSelector(SparseCenterClassifier(feature_groups=many), random_state=0)
    assert noise.fit(X[:, ::-1], y).frequencies_[0] <= 0.1


def test_substitutes_share_their_frequency():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    gene = 1.5 * y + rng.normal(size=60)
    X = rng.normal(size=(60, 300))
    X[:, :10] = gene[:, None] + 0.3 * rng.normal(size=(60, 10))
    selector = StableSelector(expected_false=0.2, random_state=0).fit(X, y)  # chooses 5
    alone = selector.frequencies_[:10]
    together = selector.substitute_frequencies(X, np.arange(10))
    assert alone.mean() < 0.6
    assert together.min() > 0.9
    assert_allclose(selector.substitute_frequencies(X, [200]), selector.frequencies_[200])


def test_the_other_halves_do_not_overrate_what_a_half_chose():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    frequencies, fair, naive = [], [], []
    for seed in range(60):
        X = rng.normal(size=(40, 100))
        X[:, :20] += 0.9 * y[:, None]
        selector = StableSelector(n_pairs=10, random_state=seed).fit(X, y)
        frequencies.append(selector.frequencies_[:20])
        fair.append(np.diff(np.nan_to_num(selector.other_half_centers_[:, :20]), axis=0)[0])
        naive.append((X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))[:20])
    frequencies, fair, naive = map(np.concatenate, (frequencies, fair, naive))
    assert abs(np.average(fair, weights=frequencies) - 0.9) < 0.06
    assert np.average(naive, weights=frequencies) > 1.05
    # Picking by frequency is a choice that no half can undo: the docs say so.
    assert fair[frequencies >= 0.75].mean() > 1.1


def test_centers_are_those_of_the_other_halves():
    X, y = some_data(n=20, m=6)
    pairs = complementary_pairs(y, None, 2, np.random.RandomState(0))
    chosen = [np.array([0]), np.array([0, 3]), np.array([1]), np.array([], dtype=int)]
    found = other_half_centers(X, y, pairs, chosen, 2, "l1")
    other = [pairs[0] == 1, pairs[1] == 1]
    expected = np.mean([np.median(X[o & (y == 1), 0]) for o in other])
    assert_allclose(found[1, 0], expected)
    assert_allclose(found[0, 1], np.median(X[(pairs[0] == 0) & (y == 0), 1]))
    assert np.isnan(found[:, [2, 4, 5]]).all()


def test_noise_passes_rarely():
    """A smoke test, with columns of many kinds; unscaled gains are the positive control."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    passed = {"spread": [], None: []}
    for seed in range(15):
        X = rng.normal(size=(40, 200))
        X[:, :20] *= 10
        X[:, 20:60] = X[:, 20:60] > 1
        for scaling, found in passed.items():
            estimator = SparseCenterClassifier(scaling=scaling)
            selector = StableSelector(estimator, n_pairs=10, random_state=seed)
            found.append(selector.fit(X, y).support_.sum())
    assert np.mean(passed["spread"]) <= 1
    assert np.mean(passed[None]) > 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"expected_false": 0}, "expected_false"),
        ({"threshold": 0.5}, "threshold"),
        ({"n_pairs": 0}, "n_pairs"),
        ({"estimator": SparseCenterClassifier(covariance="shrunk")}, "n_features_to_select"),
    ],
)
def test_invalid_parameters_are_named(parameters, message):
    X, y = some_data()
    with pytest.raises(ValueError, match=message):
        StableSelector(**parameters).fit(X, y)


def test_too_few_samples_are_named():
    X, y = some_data()
    with pytest.raises(ValueError, match="two samples, one for each half, got 1 of class 1"):
        StableSelector().fit(X[:3], y[:3])
    groups = np.where(y == 1, 0, np.arange(33))
    with pytest.raises(ValueError, match="two sample groups, one for each half, got 1 of class 1"):
        StableSelector().fit(pd.DataFrame(X), y, groups=groups)
    assert "a class has 3 samples" in StableSelector(n_pairs=3).fit(X[:7], y[:7]).refusal_
    mixed = np.where(y == 1, np.arange(33) // 20, np.arange(33) + 5)
    mixed[[0, 2]] = 0
    with pytest.raises(ValueError, match="Half-samples without rows of class 1"):
        StableSelector().fit(X, y, groups=mixed)
