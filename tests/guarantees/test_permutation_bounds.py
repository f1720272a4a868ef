import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tamis import SparseCenterClassifier
from tamis.guarantees import true_features
from tamis.guarantees.permutations import make_units, permuted_labels
from tamis.guarantees.shares import shares_of_labellings
from tests.oracles.guarantees import share


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_are_those_of_the_definition(metric, n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(17, 5)) * np.logspace(-3, 3, 5) + 1e4
    X[:, 1] = np.rint(rng.random(17))
    X[:, 2] = 7.0
    X[:, 3] = 1e308 * np.sign(X[:, 3] - 1e4)
    classes = np.minimum(np.arange(17) // 3, n_classes - 1)  # of three rows, and a large one
    labels = np.array([rng.permutation(classes) for _ in range(4)])
    found = shares_of_labellings(X, labels, n_classes, metric)
    fair = X / np.array([1, 1, 1, 1e308, 1])
    for b, codes in enumerate(labels):
        expected = [share(x, codes, metric) for x in fair.T]
        assert_allclose(found[:, b], expected, atol=1e-8)
    assert_array_equal(found[2], 0)
    assert_array_equal(shares_of_labellings(sparse.csc_array(X), labels, n_classes, metric), found)


@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_in_classes_of_equal_size_features_rank_as_the_centers_rank_them(metric):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(21, 30)), np.arange(21) % 3
    gains = SparseCenterClassifier(None, metric=metric).fit(X, y).gains_
    assert_allclose(shares_of_labellings(X, y[None], 3, metric)[:, 0], gains, atol=1e-9)


def test_groups_are_averaged_and_permuted_within_their_batch():
    groups = np.array([3, 3, 3, 0, 0, 1, 1, 2, 2, 4, 4, 5, 6, 7])
    batches = groups >= 4
    codes = np.array([0, 1, 0, 1, 1, 1, 0, 0])[groups]
    X = np.random.default_rng(0).normal(size=(14, 2))
    units = make_units(X, codes, groups, batches, np.random.RandomState(0))
    assert_array_equal(units.codes, [0, 1, 0, 1, 1, 1, 0, 0])
    # The smallest group of the first batch has two rows, and that of the second has one.
    assert_allclose(units.X[:3], [X[groups == g].mean(axis=0) for g in range(3)])
    pairs = [X[[0, 1]], X[[0, 2]], X[[1, 2]]]
    assert any(np.allclose(units.X[3], pair.mean(axis=0)) for pair in pairs)
    assert any(np.allclose(units.X[4], X[row]) for row in (9, 10))
    assert_allclose(units.X[5:], X[11:])
    of_sparse = make_units(sparse.csc_array(X), codes, groups, batches, np.random.RandomState(0))
    assert_allclose(of_sparse.X.toarray(), units.X)
    labels = permuted_labels(units.codes, units.blocks, 400, np.random.RandomState(0))
    assert_array_equal(labels[0], units.codes)
    assert_array_equal(labels[:, :4].sum(axis=1), 2)
    assert_array_equal(labels[:, 4:].sum(axis=1), 2)
    assert np.unique(labels, axis=0).shape[0] == 36  # 6 x 6 labellings exist


def test_groups_of_several_classes_permute_their_labels_within():
    groups, codes = np.repeat(np.arange(4), 2), np.array([0, 1, 0, 1, 0, 0, 1, 1])
    X = np.arange(8.0)[:, None]
    units = make_units(X, codes, groups, None, np.random.RandomState(0))
    assert_array_equal(units.X[:, 0], [4.5, 6.5, 0, 1, 2, 3])
    labels = permuted_labels(units.codes, units.blocks, 100, np.random.RandomState(0))
    assert_array_equal(labels[:, :2].sum(axis=1), 1)
    assert_array_equal(labels[:, 2:4].sum(axis=1), 1)
    assert np.unique(labels, axis=0).shape[0] == 8


def test_a_group_in_two_batches_is_an_error():
    with pytest.raises(ValueError, match="several batches"):
        make_units(np.eye(3), np.array([0, 0, 1]), np.array([0, 0, 1]), np.arange(3), None)


@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_strong_features_are_counted_in_any_set_and_noise_is_not(metric):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 300)) * np.logspace(-3, 3, 300), np.repeat(["a", "b"], 20)
    X[:20, :4] += 3 * np.logspace(-3, 3, 300)[:4]
    found = true_features(pd.DataFrame(X), y, metric=metric, n_permutations=199, random_state=0)
    assert found.at_least(range(4)) == 4
    assert found.at_least([0, 2, 100, 200]) == 2
    assert found.at_least(range(4, 300)) == 0
    assert_array_equal(found.at_least_along([0, 100, 1]), [1, 1, 2])
    assert found.max_t_p_values[:4].max() <= 0.05 < found.max_t_p_values[4:].min()
    assert found.p_values.min() == 1 / 200
    assert found.statement([0, 1, 9]).startswith(
        "At least 2 of these 3 differ between the classes, confidence 95 %,"
    )
    assert found.statement([0, 9]).startswith("At least 1 of these 2 differs between")
    assert found.statement([8, 9]).startswith("None of these 2 is shown to differ between")


def test_simes_needs_many_permutations():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 8)), np.arange(30) % 2
    X[::2, 0] += 3
    options = {"method": "simes", "random_state": 0}
    assert true_features(X, y, n_permutations=400, **options).at_least([0]) == 1
    assert true_features(X, y, n_permutations=100, **options).at_least([0]) == 0


def test_dummies_of_one_column_are_one_feature():
    rng = np.random.default_rng(3)
    codes = np.arange(60) % 2
    category = np.where(rng.random(60) < 0.9, codes * 2, 1)
    X = np.column_stack([category[:, None] == np.arange(3), rng.normal(size=(60, 20))])
    groups = {"kind": [0, 1, 2]} | {f"g{j}": [j] for j in range(3, 23)}
    found = true_features(X, codes, feature_groups=groups, n_permutations=199, random_state=0)
    assert found.feature_names[0] == "kind"
    assert found.statistic.size == 21
    assert found.at_least([0]) == 1
    assert found.at_least(range(1, 21)) == 0


def test_bounds_rarely_claim_too_much():
    """A smoke test: noise of many kinds, proxies of a signal, unequal classes and groups."""
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(16), [1, 2] * 8)
    codes = (np.arange(16) % 3 == 0).astype(int)[groups]
    wrong = 0
    for _ in range(100):
        noise = rng.normal(size=(16, 20))[groups] + 0.3 * rng.normal(size=(24, 20))
        noise[:, :5] *= 10
        noise[:, 5:10] = noise[:, 5:10] > 0.8
        noise[:, 10:] = noise[:, 10:11] + 0.2 * noise[:, 10:]
        signal = 2.0 * codes[:, None] + rng.normal(size=(24, 2))
        X = np.hstack([noise, signal])
        found = true_features(
            X, codes, groups=groups, n_permutations=59, random_state=rng.integers(1 << 30)
        )
        order = np.argsort(-found.statistic)
        true_so_far = np.cumsum(order >= 20)
        wrong += bool((found.at_least_along(order) > true_so_far).any())
    assert wrong <= 12  # 5 on average at most; more than 12 has probability 0.1 %


def test_groups_may_have_more_rows_in_one_class():
    """Means of five rows vary less than single rows, and must not pass for a difference."""
    rng = np.random.default_rng(6)
    groups = np.repeat(np.arange(48), [1] * 8 + [5] * 40)
    wrong = 0
    for _ in range(40):
        X = rng.normal(size=(208, 30))
        found = true_features(
            X, groups >= 8, groups=groups, n_permutations=59, random_state=rng.integers(1 << 30)
        )
        wrong += found.at_least(range(30)) > 0
    assert wrong <= 7  # 2 on average; more than 7 has probability 0.1 %


def test_ignoring_groups_claims_too_much():
    """A positive control: rows of a patient are no further patients."""
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(8), [1, 9] * 4)  # as many rows as the class demands
    codes = (np.arange(8) % 2)[groups]
    wrong = {}
    for name, of_test in (("groups", groups), ("rows", None)):
        wrong[name] = 0
        for _ in range(30):
            X = rng.normal(size=(8, 20))[groups] + 0.1 * rng.normal(size=(40, 20))
            found = true_features(X, codes, groups=of_test, n_permutations=59, random_state=0)
            wrong[name] += found.at_least(range(20)) > 0
    assert wrong["groups"] <= 5
    assert wrong["rows"] >= 20


def make_cells(n_rare, n_types=4, seed=0):
    """Counts of 200 genes in types of 150 cells, 12 of them markers, and one rare type without."""
    rng = np.random.default_rng(seed)
    types = np.repeat(np.arange(n_types + 1), [150] * n_types + [n_rare])
    means = np.tile(np.exp(rng.normal(-3.5, 1.5, size=200)), (types.size, 1))
    for c in range(n_types):
        means[types == c, 3 * c : 3 * c + 3] = 1.0
    return np.log1p(rng.poisson(means * rng.gamma(2, 0.5, size=means.shape))), types


@pytest.mark.parametrize(("metric", "at_least"), [("l2", 12), ("l1", 7)])
def test_a_class_of_five_cells_does_not_hide_what_the_others_show(metric, at_least):
    for n_rare in (0, 5, 10):
        X, types = make_cells(n_rare)
        found = true_features(X, types, metric=metric, n_permutations=199, random_state=0)
        assert found.at_least(range(12)) >= at_least
        assert found.at_least(range(12, 200)) == 0


def test_bounds_rarely_claim_too_much_with_small_classes_and_skewed_counts():
    """A smoke test: no gene differs, and a few of them do."""
    rng = np.random.default_rng(7)
    wrong = {"none differ": 0, "some differ": 0}
    types = np.repeat(np.arange(4), [5, 10, 20, 60])
    means = np.exp(np.linspace(-4, 1, 40))
    for _ in range(100):
        X = rng.poisson(means * rng.gamma(1, 1, size=(types.size, 40))).astype(float)
        options = {"n_permutations": 59, "random_state": rng.integers(1 << 30)}
        wrong["none differ"] += true_features(X, types, **options).at_least(range(40)) > 0
        X[types == 0, :4] += 3.0
        found = true_features(X, types, **options)
        order = np.argsort(-found.statistic)
        too_many = found.at_least_along(order) > np.cumsum(order < 4)
        of_family = (found.max_t_p_values[4:] <= 0.05).any()
        wrong["some differ"] += bool(too_many.any() or of_family)
    assert max(wrong.values()) <= 12  # 5 on average at most; more than 12 has probability 0.1 %


def test_a_test_that_takes_too_long_is_abandoned():
    X, y = np.random.default_rng(0).normal(size=(40, 300)), np.arange(40) % 2
    with pytest.raises(TimeoutError, match="200 permutations would take about"):
        true_features(X, y, n_permutations=200, random_state=0, max_seconds=1e-9)
    limited = true_features(X, y, n_permutations=200, random_state=0, max_seconds=600.0)
    alone = true_features(X, y, n_permutations=200, random_state=0)
    assert_array_equal(limited.max_t_p_values, alone.max_t_p_values)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([0.5], "by their indices"),
        ([True, False, False], "numpy.flatnonzero"),
        (["x1"], "by their indices"),
        ([-1], "no feature -1: indices of features are from 0 to 2"),
        ([3], "no feature 3"),
        ([1, 1], "twice"),
    ],
)
def test_features_are_named_by_their_indices(features, message):
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 2
    found = true_features(X, y, n_permutations=19, random_state=0)
    for ask in (found.statement, found.at_least, found.at_least_along):
        with pytest.raises(ValueError, match=message):
            ask(features)
    assert found.at_least([]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "l3"}, "metric"),
        ({"alpha": 0}, "alpha"),
        ({"method": "bonferroni"}, "method"),
        ({"n_permutations": 10}, "n_permutations"),
        ({"groups": [1, 2]}, "groups"),
    ],
)
def test_invalid_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        true_features(np.ones((4, 2)), [0, 1, 0, 1], **options)


def test_blocks_do_not_change_the_result(monkeypatch):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(20, 90)), np.arange(20) % 2
    X[::2, 50] += 3
    groups = np.concatenate([[0, 0, 0], np.arange(1, 88)])
    options = {"feature_groups": groups, "n_permutations": 30, "random_state": 0}
    whole = true_features(X, y, **options)
    monkeypatch.setattr("tamis.guarantees.shares._BLOCK", 31 * 16)
    monkeypatch.setattr("tamis.guarantees.permutation_bounds._COLLECTED", 20)
    monkeypatch.setattr("tamis.guarantees.permutation_bounds._DEPTH", 30)
    parts = true_features(X, y, **options)
    for name in ("statistic", "p_values", "max_t_p_values"):
        first = np.argsort(-whole.statistic)[:30]
        assert_allclose(getattr(parts, name)[first], getattr(whole, name)[first])
    assert_allclose(parts.critical, whole.critical[:30])
    assert parts.at_least([48]) == whole.at_least([48]) == 1


@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_blocks_of_labellings_do_not_change_shares(metric, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    labels = np.array([rng.permutation(np.arange(30) % 3) for _ in range(25)])
    whole = shares_of_labellings(X, labels, 3, metric)
    monkeypatch.setattr("tamis.guarantees.shares._BLOCK_LABELS", 90)
    assert_array_equal(shares_of_labellings(X, labels, 3, metric), whole)


def test_permuted_labels_need_one_byte_each():
    codes = np.arange(300) % 3
    labels = permuted_labels(codes, np.zeros(300, dtype=int), 20, np.random.RandomState(0))
    assert labels.itemsize == 1
    assert (np.sort(labels, axis=1) == np.sort(codes)).all()
