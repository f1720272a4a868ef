"""The baselines: scikit-learn's models, trained on the columns they need."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from tamis.comparison.methods.sparse_baselines import fit_l1_logistic


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("n_columns", [5, 300])
def test_few_columns_give_the_solution_of_all(n_columns, is_sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, n_columns))
    is_class = X[:, :5] @ [2.0, -1.5, 1.0, 0.5, 0.2] + rng.logistic(size=60) > 0
    weights = rng.uniform(0.5, 2.0, size=60)
    penalties = [0.02, 0.1, 0.5, 3.0]
    data = sparse.csr_array(X) if is_sparse else X
    found = fit_l1_logistic(data, is_class, weights, penalties, 0)
    for (coef, intercept), C in zip(found, penalties, strict=True):
        whole = LogisticRegression(
            l1_ratio=1.0, C=C, solver="liblinear", max_iter=10_000, tol=1e-10
        ).fit(X, is_class, weights)

        def objective(w, b, C=C):
            margins = np.where(is_class, 1, -1) * (X @ w + b)
            return np.abs(w).sum() + abs(b) + C * weights @ np.logaddexp(0, -margins)

        best = objective(whole.coef_[0], whole.intercept_[0])
        assert objective(coef, intercept) <= best * 1.001
        large = np.abs(whole.coef_[0]) > 0.05
        assert_allclose(coef[large], whole.coef_[0][large], atol=0.05)


def test_a_matrix_without_information():
    found = fit_l1_logistic(np.zeros((10, 3)), np.arange(10) % 2 == 0, np.ones(10), [0.1, 1.0], 0)
    assert not any(coef.any() for coef, _ in found)
