import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tamis.datumwise.forest import (
    WORTH_COMPILING,
    Sample,
    grow,
    grow_together,
    mean_rows,
    membership,
)
from tests.oracles.datumwise import average_over_trees, find_node, find_way

ONES = np.ones(3)


def make_rows(seed=0, n_samples=80, n_features=4, missing=0.0, n_values=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    if n_values:
        X = np.floor(n_values * rng.random(X.shape))
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.integers(3, size=n_samples)


def grow_on(X, y, mass=ONES, n_trees=6, seed=0, smallest=2, rows=None, columns=None):
    rows = np.arange(len(X)) if rows is None else rows
    columns = np.arange(X.shape[1]) if columns is None else columns
    XT = np.ascontiguousarray(X.T)
    sample = Sample(XT, y.astype(np.int64), mass, rows, columns)
    return grow(sample, n_trees, seed, smallest)[0]


def cells_of(forest, X, *smallest, work=None):
    return forest.cells(np.ascontiguousarray(X.T), np.arange(len(X)), *smallest, work=work)


CASES = {
    "plain": {},
    "missing": {"missing": 0.3},
    "duplicates": {"n_values": 2},
    "duplicates and missing": {"n_values": 2, "missing": 0.4},
    "one column": {"n_features": 1},
    "one row": {"n_samples": 1},
    "two rows": {"n_samples": 2},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mass", [ONES, np.array([1.0, 20.0, 0.3])], ids=["equal", "unequal"])
def test_sizes_and_shares_are_those_of_the_rows_that_come_by(case, mass):
    X, y = make_rows(**CASES[case])
    forest = grow_on(X, y, mass)
    sizes = np.zeros(forest.n_nodes)
    counts = np.zeros((forest.n_nodes, 3))
    for x, code in zip(X, y, strict=True):
        for tree in range(6):
            for node in find_way(forest, tree, x):
                sizes[node] += 1
                counts[node, code] += mass[code]
    assert_array_equal(forest.sizes, sizes)
    assert_allclose(forest.shares, counts / counts.sum(axis=1, keepdims=True), rtol=1e-6)
    assert (forest.sizes > 0).all()


@pytest.mark.parametrize("case", CASES)
def test_cells_of_every_resolution_are_those_of_a_slow_descent(case):
    X, y = make_rows(**CASES[case])
    forest = grow_on(X, y)
    others, _ = make_rows(1, n_features=X.shape[1], missing=0.2)
    for rows in (X, others):
        by_numpy = cells_of(forest, rows, 2, 6, 16)
        compiled = cells_of(forest, rows, 2, 6, 16, work=WORTH_COMPILING)
        for r, smallest in enumerate((2, 6, 16)):
            slow = [[find_node(forest, t, x, smallest) for t in range(6)] for x in rows]
            assert_array_equal(by_numpy[r], slow)
            assert_array_equal(compiled[r], slow)


@pytest.mark.parametrize("smallest", [2, 6, 16])
def test_a_forest_with_large_leaves_is_a_fine_one_cut_short(smallest):
    X, y = make_rows(n_samples=200)
    fine, coarse = grow_on(X, y), grow_on(X, y, smallest=smallest)
    assert (coarse.sizes[coarse.feature >= 0] >= smallest).all()
    assert coarse.n_nodes <= fine.n_nodes


@pytest.mark.parametrize("case", CASES)
def test_forests_that_grow_together_equal_single_ones_and_tell_the_cells_of_all_rows(case):
    X, y = make_rows(**CASES[case])
    XT, everyone, seeds = np.ascontiguousarray(X.T), np.arange(len(X)), np.array([3, 0])
    n_training = np.array([(len(X) + 1) // 2, max(1, len(X) // 3)])
    rows = np.stack([everyone, everyone[::-1]])
    sample = Sample(XT, y.astype(np.int64), ONES, rows, np.arange(X.shape[1]))
    for smallest, resolutions in [(2, (2,)), (2, (2, 9)), (6, (0, 6, 16))]:
        both, cells = grow_together(sample, n_training, 6, seeds, smallest, resolutions)
        n_before = 0
        for f, n_rows in enumerate(n_training):
            own = sample._replace(rows=rows[f, :n_rows])  # the others have no say
            alone, _ = grow(own, 6, seeds[f], smallest)
            nodes = slice(n_before, n_before + alone.n_nodes)
            assert_array_equal(both.threshold[nodes], alone.threshold)
            assert_array_equal(both.shares[nodes], alone.shares)
            found = cells[:, 6 * f : 6 * f + 6].transpose(0, 2, 1) - n_before
            assert_array_equal(found, alone.cells(XT, everyone, *resolutions))
            n_before += alone.n_nodes
        assert both.n_nodes == n_before


@pytest.mark.parametrize("n_rows", [1, 3, 55, 9_000])
def test_mean_shares_and_values_are_those_of_the_cells(n_rows):
    X, y = make_rows(missing=0.1)
    forest = grow_on(X, y)
    others = np.ascontiguousarray(make_rows(1, 200, missing=0.1)[0].T)
    rows = np.random.default_rng(0).integers(200, size=n_rows)  # more than fit a tile
    fine, wide = forest.cells(others, rows, 0, 16)
    assert_array_equal(
        forest.cells(others, rows, 0, 16, work=WORTH_COMPILING), np.stack([fine, wide])
    )
    rng = np.random.default_rng(1)
    row_of = rng.permutation(forest.n_nodes).astype(np.int32)
    table = rng.random((forest.n_nodes, 2)).astype(np.float32)
    shares, values = forest.mean_shares_and_values(others, rows, 16, row_of, table)
    assert_array_equal(shares, mean_rows(fine, forest.shares))
    assert_array_equal(values, mean_rows(row_of[wide], table))
    assert_array_equal(forest.mean_shares(others, rows), shares)
    slow = [[find_node(forest, t, others[:, row], 16) for t in range(6)] for row in rows[-9:]]
    assert_array_equal(wide[-9:], slow)


@pytest.mark.parametrize("n_values", [1, 2, 3])
def test_the_mean_of_a_row_is_a_sum_in_order_whatever_the_other_rows(n_values):
    rng = np.random.default_rng(0)
    cells = rng.integers(40, size=(5, 300))
    table = rng.random((40, n_values)).astype(np.float32)
    slow = np.zeros((5, n_values))
    for t in range(300):
        slow += table[cells[:, t]]
    assert_array_equal(mean_rows(cells, table), slow / 300)
    for row in range(5):
        assert_array_equal(mean_rows(cells[row : row + 1], table), slow[row : row + 1] / 300)


def test_distinct_rows_end_in_pure_cells():
    X, y = make_rows(missing=0.1)
    forest = grow_on(X, y)
    (cells,) = cells_of(forest, X, 2)
    assert_array_equal(mean_rows(cells, forest.shares), np.eye(3)[y])


def test_a_pure_or_constant_or_empty_node_is_a_leaf():
    X, y = make_rows()
    assert_array_equal(grow_on(X, np.zeros(80)).feature, np.full(6, -1))
    assert_array_equal(grow_on(np.ones((80, 4)), y).feature, np.full(6, -1))
    assert_array_equal(grow_on(np.full((80, 4), np.nan), y).feature, np.full(6, -1))


def test_only_the_given_rows_and_columns_are_used():
    X, y = make_rows()
    rows, columns = np.arange(10, 50), np.array([1, 3])
    forest = grow_on(X, y, rows=rows, columns=columns)
    assert set(forest.feature) == {-1, 1, 3}
    assert_array_equal(forest.sizes[forest.offsets[:-1]], np.full(6, 40))
    X[:10], X[50:], X[:, [0, 2]] = 7.0, np.nan, -5.0
    again = grow_on(X, y, rows=rows, columns=columns)
    assert_array_equal(again.threshold, forest.threshold)


def test_the_seed_decides_and_nothing_else():
    X, y = make_rows(missing=0.1)
    one, two, other = grow_on(X, y), grow_on(X, y), grow_on(X, y, seed=1)
    for name, value in vars(one).items():
        assert_array_equal(value, vars(two)[name])
    assert other.n_nodes != one.n_nodes or (other.threshold != one.threshold).any()
    more = grow_on(X, y, n_trees=9)  # the first trees are the same
    assert_array_equal(more.offsets[:7], one.offsets)
    assert_array_equal(more.threshold[: one.n_nodes], one.threshold)


@pytest.mark.parametrize("side", [0, 1])
def test_missing_values_go_where_they_are_purer(side):
    x = np.r_[np.zeros(10), np.ones(10), np.full(5, np.nan)][:, None]
    y = np.r_[np.zeros(10), np.ones(10), np.full(5, side)]
    forest = grow_on(x, y)
    assert (forest.feature >= 0).sum() == 6  # one split is enough
    assert_array_equal(forest.missing_left[forest.feature >= 0], np.full(6, side == 0))


@pytest.mark.parametrize(("n_low", "goes_left"), [(3, False), (9, True)])
def test_missing_values_that_were_never_seen_go_to_the_larger_side(n_low, goes_left):
    x = np.r_[np.zeros(n_low), np.ones(12 - n_low)][:, None]
    forest = grow_on(x, x[:, 0])
    assert_array_equal(forest.missing_left[forest.feature >= 0], np.full(6, goes_left))


def test_lacking_a_value_can_tell_the_class():
    x = np.r_[np.full(8, 3.0), np.full(6, np.nan)][:, None]
    y = np.r_[np.zeros(8), np.ones(6)]
    forest = grow_on(x, y)
    (cells,) = cells_of(forest, np.array([[3.0], [np.nan], [-1e308], [1.7e308]]), 2)
    assert_array_equal(mean_rows(cells, forest.shares)[:, :2], [[1, 0], [0, 1], [1, 0], [1, 0]])


@pytest.mark.parametrize(
    ("unit", "offset"),
    [(1.0, 1e12), (1.0, -1e12), (1e-300, 0.0), (5e-324, 0.0), (1e300, 0.0), (2.0**1021, 0.0)],
)
def test_huge_offsets_and_values_are_split_like_others(unit, offset):
    rng = np.random.default_rng(0)
    values = rng.integers(-7, 8, size=(60, 2)).astype(float)
    y = (values[:, 0] > 0).astype(np.int64)
    X = values * unit + offset
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest = grow_on(X, y)
    assert np.isfinite(forest.threshold).all()
    shares = mean_rows(cells_of(forest, X, 2)[0], forest.shares)
    assert_array_equal(shares, np.eye(3)[y])


def test_neighbouring_numbers_can_be_told_apart():
    low = 1e12
    x = np.r_[np.full(5, low), np.full(5, np.nextafter(low, np.inf))][:, None]
    forest = grow_on(x, np.repeat([0, 1], 5))
    (cells,) = cells_of(forest, x, 2)
    assert_array_equal(mean_rows(cells, forest.shares), np.eye(3)[np.repeat([0, 1], 5)])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_rows_end_in_cells_of_their_own(data):
    n, p = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 3))
    numbers = st.sampled_from([0.0, 1.0, -1.0, 0.1, 1e308, -1.7e308, 5e-324, 1e12, np.nan])
    X = np.array([[data.draw(numbers) for _ in range(p)] for _ in range(n)])
    y = np.array([data.draw(st.integers(0, 2)) for _ in range(n)])
    forest = grow_on(X, y, n_trees=3)
    assert forest.n_nodes <= 3 * (2 * n - 1)
    (cells,) = cells_of(forest, X, 2)
    shares = mean_rows(cells, forest.shares)
    for i in range(n):
        same = ((X[i] == X) | (np.isnan(X) & np.isnan(X[i]))).all(axis=1)
        assert_allclose(shares[i], np.bincount(y[same], minlength=3) / same.sum(), rtol=1e-5)


def test_gains_are_those_of_the_nodes_on_the_way():
    X, y = make_rows(missing=0.1)
    mass = np.array([1.0, 30.0, 0.2])
    forest = grow_on(X, y, mass)
    masses = np.zeros(forest.n_nodes)
    for x, code in zip(X, y, strict=True):
        for tree in range(6):
            masses[find_way(forest, tree, x)] += mass[code]
    gini = [1 - sum(float(share) ** 2 for share in shares) for shares in forest.shares]

    def decrease(node):
        child = forest.left[node]
        below = sum(masses[c] * gini[c] for c in (child, child + 1))
        return gini[node] - below / masses[node]

    for_rows, total = np.zeros(X.shape), np.zeros(4)
    for i, x in enumerate(X):
        for tree in range(6):
            for node in find_way(forest, tree, x)[:-1]:
                for_rows[i, forest.feature[node]] += decrease(node) / 6
    for node in np.flatnonzero(forest.feature >= 0):
        total[forest.feature[node]] += masses[node] * decrease(node)
    leaves = cells_of(forest, X, 0)[0].T
    assert_allclose(forest.path_gains(leaves, 4, mass), for_rows, atol=1e-6)
    assert_allclose(forest.feature_gains(4, mass), total, rtol=1e-4)


@pytest.mark.parametrize("weight", [1e-6, 1.0, 1e6])
def test_the_best_feature_has_the_largest_gain_whatever_the_weights_of_the_classes(weight):
    X, y = make_rows(n_samples=300)
    y = (X[:, 2] > 0.3).astype(np.int64)
    mass = np.array([1.0, weight, 1.0])
    forest = grow_on(X, y, mass, n_trees=30)
    gains = forest.feature_gains(4, mass)
    assert gains.argmax() == 2
    assert (gains > -1e-6 * gains.max()).all()
    assert forest.path_gains(cells_of(forest, X, 0)[0].T, 4, mass).mean(axis=0).argmax() == 2


def test_means_of_cells():
    X, y = make_rows()
    values = np.random.default_rng(1).normal(size=(80, 2))
    forest = grow_on(X, y)
    (cells,) = cells_of(forest, X, 16)
    inside = membership(cells, forest.n_nodes)
    table = np.asarray(inside.T @ values / np.maximum(inside.sum(axis=0).T, 1))
    for node in np.unique(cells):
        inside = (cells == node).any(axis=1)
        assert_allclose(table[node], values[inside].mean(axis=0))
    slow = [average_over_trees(forest, x, 16, table.__getitem__) for x in X]
    assert_allclose(mean_rows(cells, table), slow)
