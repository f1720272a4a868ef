"""Ridge-logistic regression on sparse features, against scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from tamis.heads import fit_sparse_logistic


def make_words(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, 500)
    X = rng.poisson(0.2 * np.exp(rng.normal(size=(n_classes, 30)))[codes]) * 3.0
    return sparse.csr_array(X), codes, rng.integers(1, 4, 500).astype(float)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_agrees_with_scikit_learn_in_units_of_the_stored_values(n_classes):
    X, codes, weights = make_words(n_classes)
    stored = X.toarray()
    scale = np.sqrt(weights @ stored**2 / (weights @ (stored != 0)))
    heads = fit_sparse_logistic(X, codes, weights, n_classes, [0.3, 10.0], tol=1e-10)
    for head, alpha in zip(heads, [0.3, 10.0], strict=True):
        # A coefficient of one margin is the difference of two halves.
        peer = LogisticRegression(C=1 / alpha, tol=1e-10, max_iter=10_000)
        peer.fit(stored / scale, codes, sample_weight=weights)
        expected = peer.predict_log_proba(stored / scale)
        decisions = head.decisions(X)
        decisions -= np.logaddexp.reduce(decisions, axis=1, keepdims=True)
        assert_allclose(decisions, expected, atol=1e-4)


def test_units_do_not_matter_and_empty_columns_do_no_harm():
    X, codes, weights = make_words(3)
    head = fit_sparse_logistic(X, codes, weights, 3, [1.0], tol=1e-10)[0]
    wider = sparse.hstack([X * 1000.0, sparse.csr_array((500, 1))], format="csr")
    other = fit_sparse_logistic(wider, codes, weights, 3, [1.0], tol=1e-10)[0]
    assert_allclose(other.coef[:, :-1] * 1000, head.coef, atol=1e-5)
    assert_allclose(other.coef[:, -1], 0.0, atol=1e-12)
