import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from tamis.paths.row_keys import row_keys


def make(seed, n=40, p=6):
    """Numbers with ties, zeros and signs; two rows are repeated."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, p)) * rng.choice([0.5, 1.0], size=(n, p))
    X[:, 0] = rng.random(n)  # without zeros
    X[[3, 4]] = X[[1, 2]]
    return X, rng


@given(st.integers(0, 2**32 - 1))
def test_equal_rows_have_equal_keys_and_others_do_not(seed):
    X, _ = make(seed)
    expected = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    keys = np.unique(row_keys(X), return_inverse=True)[1]
    assert np.unique(np.stack([expected, keys]), axis=1).shape[1] == expected.max() + 1


@given(st.integers(0, 2**32 - 1))
def test_neither_order_nor_units_nor_storage_change_a_key(seed):
    X, rng = make(seed)
    keys = row_keys(X)
    rows, columns = rng.permutation(40), rng.permutation(6)
    assert_array_equal(row_keys(X[rows][:, columns]), keys[rows])
    assert_array_equal(row_keys(X * rng.uniform(0.1, 10, 6)), keys)
    assert_array_equal(row_keys(np.exp(X)), keys)
    assert_array_equal(row_keys(sparse.csr_array(X)), keys)
    assert_array_equal(row_keys(sparse.csc_array(X[rows][:, columns])), keys[rows])


@given(st.integers(0, 2**32 - 1))
def test_repeated_rows_change_no_key(seed):
    X, rng = make(seed)
    again = np.concatenate([np.arange(40), rng.integers(0, 40, 30)])
    assert_array_equal(row_keys(X[again]), row_keys(X)[again])


def test_missing_values_are_one_value_and_stored_zeros_are_zeros():
    X, _ = make(0)
    X[:5, 2] = np.nan
    X[7:9, 4] = np.nan
    stored = sparse.csr_array((X.ravel(), np.tile(np.arange(6), 40), np.arange(0, 241, 6)))
    assert stored.nnz == X.size
    assert_array_equal(row_keys(stored), row_keys(X))
    assert_array_equal(row_keys(X[:, ::-1]), row_keys(X))


@pytest.mark.parametrize("shape", [(3, 0), (1, 4), (5, 2)])
def test_tables_without_any_value_have_keys(shape):
    for X in (np.zeros(shape), sparse.csr_array(shape)):
        assert np.unique(row_keys(X)).size == 1


def test_blocks_of_columns_change_nothing(monkeypatch):
    X, _ = make(0)
    keys = row_keys(X)
    monkeypatch.setattr("tamis.paths.row_keys._BLOCK_VALUES", 80)
    assert_array_equal(row_keys(X), keys)


def test_swapped_values_of_a_column_change_the_keys():
    X = np.random.default_rng(0).normal(size=(30, 4))
    changed = X.copy()
    changed[:2, 1] = X[1::-1, 1]
    assert np.any(row_keys(changed) != row_keys(X))
