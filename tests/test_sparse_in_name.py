"""Sparse data that are sparse in name only."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_classification

from tamis import PrimalDualClassifierCV
from tamis._array import dense_if_it_pays


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_data_without_zeros_are_trained_on_as_dense_ones(form):
    X, y = make_classification(120, 12, n_informative=5, random_state=1)
    dense = PrimalDualClassifierCV([0.1, 0.5, 1.0], cv=3).fit(X, y)
    thin = PrimalDualClassifierCV([0.1, 0.5, 1.0], cv=3).fit(form(X), y)
    assert_array_equal(thin.predict_proba(X), dense.predict_proba(X))
    assert thin.n_iter_ == dense.n_iter_


@pytest.mark.parametrize(
    ("share", "n_values", "is_dense"),
    [(0.05, 1000, False), (0.2, 1000, True), (0.2, 500, False), (0.9, 500, True)],
)
def test_data_become_dense_if_it_pays(share, n_values, is_dense, monkeypatch):
    monkeypatch.setattr("tamis._array._DENSE_VALUES", n_values)
    X = sparse.random_array((50, 20), density=share, rng=np.random.default_rng(0), format="csr")
    found = dense_if_it_pays(X)
    assert isinstance(found, np.ndarray) == is_dense
    assert_array_equal(found if is_dense else found.toarray(), X.toarray())
    values = X.toarray()
    assert dense_if_it_pays(values) is values
