import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris

from tamis.paths.copies import find_copies

RNG = np.random.default_rng(0)
AGE = RNG.integers(20, 70, size=200)
COPIED = {
    "fifteen rows six times": np.repeat(RNG.normal(size=(15, 20)), 6, axis=0),
    "every row three times": np.repeat(RNG.normal(size=(100, 5)), 3, axis=0),
    "one column three times": np.repeat(RNG.normal(size=(100, 1)), 3, axis=0),
    "counts three times": np.repeat(RNG.poisson(0.1, size=(100, 500)), 3, axis=0),
    "sparse counts three times": sparse.csr_array(
        np.repeat(RNG.poisson(0.1, size=(100, 500)), 3, axis=0)
    ),
    "a minority twenty times": np.concatenate(
        [RNG.poisson(1, size=(100, 30)), np.repeat(RNG.poisson(1, size=(10, 30)), 20, axis=0)]
    ),
    "drawn with replacement": RNG.normal(size=(100, 3))[RNG.integers(0, 100, size=100)],
    "a coarse table twice": np.repeat(RNG.integers(0, 4, size=(150, 5)), 2, axis=0),
}
COARSE = {
    "six yes/no questions": RNG.integers(0, 2, size=(1000, 6)),
    "two yes/no questions": RNG.integers(0, 2, size=(1000, 2)),
    "the same question twice": np.repeat(RNG.integers(0, 2, size=(1000, 1)), 2, axis=1),
    "age and year of birth": np.column_stack([AGE, 2020 - AGE]),
    "one column of ten values": RNG.integers(0, 10, size=(500, 1)),
    "thirty values and two": np.column_stack([RNG.integers(0, 30, 500), RNG.integers(0, 2, 500)]),
    "iris": load_iris().data,
    "nothing but distinct rows": RNG.normal(size=(50, 3)),
}


@pytest.mark.parametrize("name", COPIED)
def test_copies_are_found(name):
    X = COPIED[name]
    copies = find_copies([X], X.shape[0])
    n_distinct = copies.equal.max() + 1
    assert copies.n_copies == X.shape[0] - n_distinct > 0
    assert_array_equal(copies.groups, copies.equal)


@pytest.mark.parametrize("name", COARSE)
def test_chance_repeats_stay_as_they_are(name):
    X = COARSE[name]
    copies = find_copies([X], X.shape[0])
    assert copies.n_copies == 0 and copies.groups is None
    assert_array_equal(copies.times(), np.ones(X.shape[0]))


def test_a_few_copies_in_a_table_of_measurements():
    X = RNG.normal(size=(60, 4))
    X[[10, 20]] = X[5]
    X[31] = X[30]
    copies = find_copies([X], 60)
    assert copies.n_copies == 3
    times = np.ones(60)
    times[[5, 10, 20]], times[[30, 31]] = 3, 2
    assert_array_equal(copies.times(), times)


def test_rows_that_share_a_frequent_value_of_a_fine_column_are_no_copies():
    """Most incomes differ, but many are 0; rows without income repeat by chance."""
    income = np.where(np.arange(100) < 30, 0.0, RNG.normal(size=100))
    X = np.column_stack([income, RNG.integers(0, 2, size=(100, 2))])
    assert find_copies([X], 100).n_copies == 0


@given(st.integers(0, 2**32 - 1))
def test_equal_rows_are_found_in_any_form(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(30, 3)).astype(float)
    expected = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    for columns in ([X], [sparse.csr_array(X)], [X[:, :1], X[:, 1:]]):
        equal = find_copies(columns, 30).equal
        pairs = np.unique(np.stack([equal, expected]), axis=1)
        assert pairs.shape[1] == expected.max() + 1 == equal.max() + 1


def test_missing_values_and_negative_zeros_are_equal():
    X = np.array([[0.0, np.nan, 1.5], [-0.0, np.nan, 1.5], [0.0, np.nan, 2.5]])
    assert_array_equal(find_copies([X], 3).equal[:2], find_copies([X], 3).equal[[0, 0]])
    stored = sparse.csr_array((np.array([0.0, 2.0, 2.0]), [0, 1, 1], [0, 2, 3]), shape=(2, 2))
    equal = find_copies([stored], 2).equal
    assert equal[0] == equal[1]


@pytest.mark.parametrize("name", [*COPIED, *COARSE])
def test_blocks_of_rows_give_the_same_copies(name, monkeypatch):
    X = {**COPIED, **COARSE}[name]
    expected = find_copies([X], X.shape[0])
    monkeypatch.setattr("tamis.paths.hashing._BLOCK_VALUES", 7 * X.shape[1])
    found = find_copies([X], X.shape[0])
    assert_array_equal(found.equal, expected.equal)
    assert_array_equal(found.groups, expected.groups)


def test_distinct_rows_of_a_tall_table_need_little_memory():
    X = RNG.normal(size=(100_000, 30))
    tracemalloc.start()
    find_copies([X], X.shape[0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * X.nbytes


def test_copies_are_numbered_in_the_order_of_the_rows():
    """Folds are dealt in the order of the groups: units and columns must not change it."""
    X = np.concatenate([RNG.normal(size=(30, 4))] * 2)
    groups = find_copies([X], 60).groups
    assert_array_equal(groups, np.tile(np.arange(30), 2))
    assert_array_equal(find_copies([X[:, ::-1] * 3.7], 60).groups, groups)


def ward(rng, n_rows):
    """Patients as a clinic records them: no column has n/2 different values."""
    columns = [
        np.round(rng.normal(64, 14, n_rows)),
        rng.integers(0, 2, n_rows),
        np.round(rng.normal(170, 9, n_rows)),
        np.round(np.minimum(100, rng.normal(95.5, 2.6, n_rows)), 1),
        rng.random(n_rows) < 0.25,
        rng.random(n_rows) < 0.3,
        rng.integers(0, 4, n_rows),
        rng.integers(0, 4, n_rows),
        np.round(rng.normal(27, 4, n_rows), 1),
        np.round(rng.normal(139, 3.5, n_rows)),
        np.round(rng.normal(4.1, 0.5, n_rows), 1),
        rng.integers(0, 11, n_rows),
    ]
    X = np.column_stack(columns).astype(float)
    X[rng.random(X.shape) < 0.02] = np.nan
    return X


@pytest.mark.parametrize("n_copies", [1, 3, 10])
def test_a_few_copies_in_a_coarse_table_are_found(n_copies):
    n_planted = n_found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = ward(rng, 400)
        assert max(np.unique(column).size for column in X.T) < 200
        X = np.concatenate([X, X[rng.permutation(400)[:n_copies]]])
        copies = find_copies([X], X.shape[0])
        assert copies.groups is None or np.unique(copies.groups[:400]).size == 400
        n_planted, n_found = n_planted + n_copies, n_found + copies.n_copies
    assert n_found >= 0.9 * n_planted


def test_neither_columns_nor_units_change_which_rows_are_copies():
    rng = np.random.default_rng(3)
    X = ward(rng, 300)
    X = np.concatenate([X, X[:10]])[rng.permutation(310)]
    groups = find_copies([X], 310).groups
    assert groups is not None
    order = rng.permutation(12)
    assert_array_equal(find_copies([X[:, order] * -0.37], 310).groups, groups)
    assert_array_equal(find_copies([X[:, :5], X[:, 5:]], 310).groups, groups)


def redundant(rng):
    """One age in many units, and a body mass index: eleven columns that hold little."""
    age, sex = rng.integers(20, 70, 200), rng.integers(0, 2, 200)
    weight, height = rng.integers(55, 85, 200), rng.integers(16, 19, 200) * 10
    index = np.round(weight / height**2 * 1e4, 1)
    ages = [age, 2020 - age, 12 * age, 365 * age, age // 2]
    return np.column_stack([*ages, weight, height, index, 2 * weight, sex, 1 - sex])


def of_few_kinds(rng):
    """Forty kinds of rows, with an error in some of the values."""
    X = rng.integers(0, 12, size=(40, 20))[rng.integers(0, 40, 300)]
    return np.where(rng.random(X.shape) < 0.1, rng.integers(0, 12, X.shape), X)


def correlated(rng):
    return np.round(3 * (rng.normal(size=(500, 1)) + 0.1 * rng.normal(size=(500, 8))))


def never_filled_in(rng):
    """Measurements with one decimal; some rows are missing but for two answers."""
    X = np.round(10 * rng.normal(size=(300, 12)))
    X[:9] = np.nan
    return np.column_stack([X, rng.integers(0, 2, size=(300, 2))])


@pytest.mark.parametrize("draw", [redundant, of_few_kinds, correlated, never_filled_in])
def test_dependent_columns_make_no_copies(draw):
    n_equal = 0
    for seed in range(10):
        X = draw(np.random.default_rng(seed)).astype(float)
        copies = find_copies([X], X.shape[0])
        n_equal += X.shape[0] - copies.equal.max() - 1
        assert copies.n_copies == 0
    assert n_equal > 0
