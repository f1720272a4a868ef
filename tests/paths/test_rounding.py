import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from tamis.paths.copies import find_copies
from tamis.paths.rounding import round_rows
from tests.quick import quick_pairs

LOADERS = (load_iris, load_wine, load_breast_cancer, load_digits)


def noisy(X, size, rng):
    return X * (1 + size * rng.normal(size=X.shape))


def six_digits(X):
    return np.array([[float(f"{value:.6g}") for value in row] for row in X])


def groups_of(X):
    return find_copies([X], X.shape[0]).groups


@pytest.mark.parametrize(("n_columns", "size"), quick_pairs([1, 8, 30, 3000], [1e-7, 1e-6]))
def test_copies_that_differ_in_a_late_digit_are_found(n_columns, size):
    rng = np.random.default_rng(n_columns)
    X = noisy(np.repeat(rng.normal(size=(20, n_columns)), 6, axis=0), size, rng)
    found = groups_of(X)
    assert_array_equal(found, np.repeat(found[::6], 6))
    assert np.unique(found).size == 20


@pytest.mark.parametrize("rewritten", [np.float32, six_digits], ids=["32 bits", "six digits"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_rows_that_were_rewritten_are_found(rewritten, container):
    X = np.random.default_rng(0).normal(size=(200, 12))
    X[:, 3:] *= np.random.default_rng(1).random((200, 9)) < 0.5
    X = np.vstack([X, rewritten(X[:40])])
    copies = find_copies([container(X)], 240)
    assert copies.n_copies == 40
    assert_array_equal(copies.groups[200:], copies.groups[:40])


def test_no_edge_of_a_grid_separates_copies():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 8))
    found = groups_of(np.vstack([X, noisy(X, 1e-6, rng)]))
    assert np.count_nonzero(found[:4000] != found[4000:]) <= 2


def test_missing_values_and_whole_numbers_agree_exactly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X[:, 3] = 10_000_000 + np.arange(60)
    twins = X.copy()
    twins[:20, 0] = np.nan
    twins[20:40, 3] += 100
    found = groups_of(np.vstack([X, twins]))
    assert_array_equal(found[:60] == found[60:], np.arange(60) >= 40)


def test_neighbours_form_no_chain():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    X[:40] = (1 + 6e-6 * np.arange(40))[:, None]
    near = round_rows([X], np.arange(100))
    widths = [np.ptp(X[:40][near[:40] == number, 0]) for number in np.unique(near[:40])]
    assert np.unique(near).size < 100 and max(widths) < 2e-5


def test_neither_the_order_of_rows_nor_units_matter():
    rng = np.random.default_rng(0)
    X = noisy(np.repeat(rng.normal(size=(30, 5)), 3, axis=0), 1e-6, rng)
    order = rng.permutation(90)
    for other in (X[order] * 1e9, X[order] * [1.0, 2.0, 3.0, 1e-5, 7.0]):
        pairs = np.unique(np.stack([groups_of(X)[order], groups_of(other)]), axis=1)
        assert pairs.shape[1] == 30


def fine(rng):
    return rng.normal(size=(20_000, 1))


def one_quantity_in_three_units(rng):
    return np.exp(2 * rng.normal(size=(5000, 1))) * [1.0, 2.54, 0.001]


def far_from_zero(rng):
    return 1e6 + rng.normal(size=(1000, 3))


def questions_with_errors(rng):
    return noisy(1.5 + rng.integers(0, 2, size=(1000, 6)), 1e-9, rng)


@pytest.mark.parametrize(
    "draw", [fine, one_quantity_in_three_units, far_from_zero, questions_with_errors]
)
def test_rows_that_are_close_by_chance_stay_as_they_are(draw):
    assert groups_of(draw(np.random.default_rng(0))) is None


@pytest.mark.parametrize("load", LOADERS)
def test_real_measurements_have_no_copies_even_with_rounding_errors(load):
    X, rng = load().data, np.random.default_rng(0)
    assert groups_of(noisy(X, 1e-8, rng)) is None
    assert groups_of(rng.permuted(X, axis=0)) is None


@pytest.mark.parametrize("load", LOADERS)
def test_real_measurements_twice_once_in_32_bits_are_copies(load):
    X = load().data
    groups = groups_of(np.vstack([X, X.astype(np.float32)]))
    assert_array_equal(groups[: len(X)], groups[len(X) :])
