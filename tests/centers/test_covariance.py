import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf

from tamis import SparseCenterClassifier
from tamis.centers import model
from tamis.centers.covariance import _CenteredRows, pooled_whitening


def make_data(n=60, m=8, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, m)) @ rng.normal(size=(m, m)) + 0.7 * y[:, None]
    return X, y


def within_class(X, y):
    return X - np.array([X[y == c].mean(axis=0) for c in np.unique(y)])[y]


def explicit_root(S):
    values, vectors = linalg.eigh(S)
    return (vectors / np.sqrt(values)) @ vectors.T


@pytest.mark.parametrize(
    ("kind", "shape"), [("empirical", (60, 8)), ("shrunk", (60, 8)), ("shrunk", (30, 100))]
)
def test_whitening_is_the_inverse_root_of_the_pooled_covariance(kind, shape):
    X, y = make_data(*shape)
    means = np.array([X[y == c].mean(axis=0) for c in range(2)])
    offset = X[0]
    whitening = pooled_whitening(X, y, offset, means - offset, np.ones(shape[1]), kind)
    R = within_class(X, y)
    S, shrinkage = ledoit_wolf(R, assume_centered=True)
    S = S if kind == "shrunk" else R.T @ R / len(R)
    assert_allclose(whitening.apply(np.eye(shape[1])), explicit_root(S), atol=1e-9)
    assert_allclose(whitening.undo(whitening.apply(X)), X, atol=1e-9)
    assert whitening.shrinkage == pytest.approx(shrinkage if kind == "shrunk" else 0.0)


def test_no_square_matrix_of_the_features_when_there_are_more_of_them_than_rows():
    X, y = make_data(20, 20)
    X = np.tile(X, (1, 2000))  # 40,000 features: their square would need 12.8 GB
    fitted = SparseCenterClassifier(5, covariance="shrunk").fit(X, y)
    assert fitted.score(X, y) > 0.5


@pytest.mark.parametrize("shape", [(60, 8), (20, 50)])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("scaling", [None, "spread"])
def test_sparse_equals_dense(shape, form, scaling):
    X, y = make_data(*shape, n_classes=3)
    X[np.abs(X) < 1] = 0
    weight = np.random.default_rng(1).integers(0, 3, y.size)
    weight[:3] = 1
    estimator = SparseCenterClassifier(4, covariance="shrunk", scaling=scaling)
    dense = estimator.fit(X, y, weight).decision_function(X)
    thin = estimator.fit(form(X), y, weight).decision_function(form(X))
    assert_allclose(dense, thin, atol=1e-8)


def assert_sparse_fit_equals_dense_fit(estimator, X, y, weight, form):
    dense = clone(estimator).fit(X, y, weight)
    thin = clone(estimator).fit(form(X), y, weight)
    expected = dense.decision_function(X)
    assert_allclose(thin.decision_function(X), expected, rtol=1e-6, atol=1e-6)
    assert_allclose(thin.decision_function(form(X)), expected, rtol=1e-6, atol=1e-6)
    assert_array_equal(thin.predict(form(X)), dense.predict(X))
    assert_array_equal(thin.path_predict(form(X), [1, 4]), dense.path_predict(X, [1, 4]))


@pytest.mark.parametrize("offset", [1e5, 1e8, 1e12])
@pytest.mark.parametrize("kind", ["shrunk", "empirical"])
@pytest.mark.parametrize("scaling", [None, "spread"])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
def test_a_large_offset_of_sparse_data_costs_no_digits(offset, kind, scaling, form):
    X, y = make_data(60, 8, n_classes=3)
    X[:, :6] = np.rint(X[:, :6] * 2**8) / 2**8 + offset  # exact at every offset
    X[:, 6:][np.abs(X[:, 6:]) < 1] = 0
    weight = np.random.default_rng(1).integers(0, 3, y.size)
    weight[:3] = 1
    estimator = SparseCenterClassifier(4, covariance=kind, scaling=scaling)
    assert_sparse_fit_equals_dense_fit(estimator, X, y, weight, form)


def test_a_large_offset_of_sparse_data_costs_no_digits_in_more_features_than_rows():
    X, y = make_data(20, 50, n_classes=3)
    estimator = SparseCenterClassifier(4, covariance="shrunk")
    assert_sparse_fit_equals_dense_fit(estimator, X + 1e8, y, None, sparse.csr_array)


def test_sparse_classes_that_lie_far_apart_are_whitened_like_dense_ones():
    X, y = make_data(60, 8, n_classes=3)
    X[:, :4] += 1e9 * (y == 1)[:, None]  # together they spread widely, one by one they do not
    estimator = SparseCenterClassifier(4, covariance="empirical", scaling=None)
    assert_sparse_fit_equals_dense_fit(estimator, X, y, None, sparse.csr_array)


def test_sparse_rows_are_not_made_dense_by_their_means():
    X = sparse.random_array((300, 199), density=0.05, rng=np.random.default_rng(0))
    X = sparse.hstack([X, np.full((300, 1), 7.0)], format="csr")
    rows = _CenteredRows(
        X, np.arange(300) % 2, np.zeros(200), np.ones((2, 200)), np.ones(200), np.ones(300)
    )
    assert rows.X.nnz <= 2 * X.nnz


@pytest.mark.parametrize("n_classes", [2, 3])
def test_all_features_give_the_discrimination_function_of_the_paper(n_classes):
    X, y = make_data(90, 6, n_classes)
    fitted = SparseCenterClassifier(None, covariance="empirical", scaling=None).fit(X, y)
    R = within_class(X, y)
    P = linalg.inv(R.T @ R / len(R))
    theta = np.array([X[y == c].mean(axis=0) for c in range(n_classes)])
    # eq. (12), up to the constant that all classes share and the one scale of the likelihood
    distance = np.array([[(x - t) @ P @ (x - t) for t in theta] for x in X])
    assert_array_equal(fitted.predict(X), distance.argmin(axis=1))
    decisions = fitted._decisions(X)
    gaps = decisions - decisions[:, :1]
    assert_allclose(gaps * fitted.dispersion_ * 2, distance[:, :1] - distance, atol=1e-8)
    assert_allclose(fitted.centers_, theta)


@pytest.mark.parametrize("k", [1, 3])
def test_sparse_centers_of_whitened_rows_are_the_l2_problem_in_them(k):
    X, y = make_data(90, 6, 3)
    fitted = SparseCenterClassifier(k, covariance="empirical", scaling=None).fit(X, y)
    R = within_class(X, y)
    root = explicit_root(R.T @ R / len(R))
    whitened = SparseCenterClassifier(k, scaling=None).fit(X @ root, y)
    assert_allclose(fitted.gains_, whitened.gains_)
    assert_array_equal(fitted._selected, np.flatnonzero(whitened.support_))
    assert fitted.n_features_ == whitened.n_features_ == k
    assert_allclose(fitted.objective_, whitened.objective_)
    assert_allclose(fitted.decision_function(X), whitened.decision_function(X @ root))
    assert_allclose(fitted.centers_ @ root, whitened.centers_)
    assert_array_equal(
        fitted.path_predict(X, [1, 2, 6]), whitened.path_predict(X @ root, [1, 2, 6])
    )
    assert fitted.support_.all()
    assert fitted.get_support().all()


def test_empirical_covariance_without_full_rank_is_an_error():
    X, y = make_data(20, 30)
    with pytest.raises(ValueError, match=r"full rank, got rank 18 for 30 features.*'shrunk'"):
        SparseCenterClassifier(covariance="empirical").fit(X, y)
    X, y = make_data(60, 4)
    X[:, 3] = X[:, 0]
    with pytest.raises(ValueError, match="got rank 3 for 4 features"):
        SparseCenterClassifier(covariance="empirical").fit(X, y)


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_chunks_of_whitened_rows_give_the_same_path(scoring, monkeypatch):
    X, y = make_data(60, 8)
    fitted = SparseCenterClassifier(4, covariance="shrunk").fit(X, y)
    whole = fitted.path_score(X, y, [1, 4], scoring=scoring), fitted.path_predict(X, [1, 4])
    monkeypatch.setattr(model, "_DENSE_VALUES", 8 * 7)
    assert_allclose(fitted.path_score(X, y, [1, 4], scoring=scoring), whole[0])
    assert_array_equal(fitted.path_predict(X, [1, 4]), whole[1])


def test_classes_that_are_points_can_be_whitened():
    X, y = np.array([[0.0, 1], [0, 1], [2, 1], [2, 1]]), np.array([0, 0, 1, 1])
    fitted = SparseCenterClassifier(1, covariance="shrunk", scaling=None).fit(X, y)
    assert_array_equal(fitted.predict(X), y)


def test_covariance_requires_l2():
    X, y = make_data()
    with pytest.raises(ValueError, match="requires metric='l2'"):
        SparseCenterClassifier(metric="l1", covariance="shrunk").fit(X, y)
    assert not hasattr(SparseCenterClassifier(covariance="shrunk"), "partial_fit")
