"""Hashes of rows are of the values alone."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from tamis.paths.hashing import hash_rows, sum_numbers


def make_rows():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 7)) < 0.6, 0.0, rng.integers(-3, 9, (40, 7)) / 4)
    X[3, 2], X[4, 1] = np.nan, -0.0
    X[5] = 0.0
    return X


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_array, np.float32, np.array])
def test_equal_rows_have_equal_hashes_however_they_are_stored(container):
    X = make_rows()
    assert_array_equal(hash_rows([container(X)], 40), hash_rows([X], 40))
    mixed = [X[:, :2], container(X[:, 2:6]), X[:, 6:]]
    assert_array_equal(sum_numbers(mixed, 40, 3), sum_numbers([X], 40, 3))
    assert np.unique(hash_rows([container(X)], 40)).size == np.unique(X, axis=0).shape[0]


def test_stored_zeros_are_zeros():
    X = sparse.csr_array(([0.0, 2.0, -0.0], ([0, 1, 1], [1, 0, 2])), (2, 3))
    assert_array_equal(hash_rows([X], 2), hash_rows([X.toarray()], 2))
