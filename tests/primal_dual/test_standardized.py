import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tamis.primal_dual.standardized import Standardized

FORMS = [np.ascontiguousarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
forms = pytest.mark.parametrize("form", FORMS, ids=["C", "F", "csr", "csc"])
KINDS = ["raw", "centered", "scaled", "both"]
kinds = pytest.mark.parametrize("kind", KINDS)


def make(form, kind, shape=(12, 7), seed=0, offset=0.0):
    """The object, and the matrix that it stands for."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) * (rng.random(shape) < 0.6) + offset
    X[:, -1] = 2.0  # a constant column
    mean = X.mean(axis=0) if kind in ("centered", "both") else None
    inverse = rng.uniform(0.5, 2.0, shape[1]) if kind in ("scaled", "both") else None
    full = X - (0.0 if mean is None else mean)
    if inverse is not None:
        inverse[-1] = 0.0
        full = full * inverse
    return Standardized(form(X), mean, inverse), full


@forms
@kinds
@pytest.mark.parametrize("n_columns", [1, 3, 4, 9])
def test_products_are_those_of_the_explicit_matrix(form, kind, n_columns):
    matrix, full = make(form, kind)
    rng = np.random.default_rng(1)
    W, Z = rng.normal(size=(7, n_columns)), rng.normal(size=(12, n_columns))
    assert matrix.shape == full.shape
    assert_allclose(matrix.apply(W), full @ W, rtol=1e-12, atol=1e-12)
    assert_allclose(matrix.adjoint(Z), full.T @ Z, rtol=1e-12, atol=1e-12)
    assert isinstance(matrix.apply(W), np.ndarray)
    assert isinstance(matrix.adjoint(Z), np.ndarray)


@forms
@kinds
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_take_arguments_in_any_order(form, kind, order):
    matrix, full = make(form, kind)
    W = np.asarray(np.random.default_rng(1).normal(size=(7, 3)), order=order)
    Z = np.asarray(np.random.default_rng(2).normal(size=(12, 5)), order=order)
    assert_allclose(matrix.apply(W), full @ W, rtol=1e-12, atol=1e-12)
    assert_allclose(matrix.adjoint(Z), full.T @ Z, rtol=1e-12, atol=1e-12)
    assert_allclose(matrix.apply(W[::-1]), full @ W[::-1], rtol=1e-12, atol=1e-12)


@forms
@kinds
def test_the_adjoint_is_the_adjoint(form, kind):
    matrix, _ = make(form, kind)
    rng = np.random.default_rng(3)
    W, Z = rng.normal(size=(7, 3)), rng.normal(size=(12, 3))
    assert np.vdot(matrix.apply(W), Z) == pytest.approx(np.vdot(W, matrix.adjoint(Z)))


@forms
@kinds
@pytest.mark.parametrize("zeros", [0, 5])
def test_gram_is_that_of_the_explicit_matrix(form, kind, zeros):
    matrix, full = make(form, kind)
    weights = np.random.default_rng(4).uniform(0.1, 2.0, 12)
    weights[:zeros] = 0.0
    gram = matrix.gram(weights)
    assert_allclose(gram, full.T @ (weights[:, None] * full), rtol=1e-11, atol=1e-11)


@forms
@kinds
@pytest.mark.parametrize("chosen", [[0, 2, 6], [5], [], list(range(7))], ids=str)
def test_columns_are_those_of_the_explicit_matrix(form, kind, chosen):
    matrix, full = make(form, kind)
    before = matrix.X.toarray() if sparse.issparse(matrix.X) else matrix.X.copy()
    part = matrix.columns(np.array(chosen, dtype=np.intp))
    assert part.shape == (12, len(chosen))
    assert sparse.issparse(part.X) == sparse.issparse(matrix.X)
    W = np.random.default_rng(6).normal(size=(len(chosen), 3))
    assert_allclose(part.apply(W), full[:, chosen] @ W, rtol=1e-12, atol=1e-12)
    assert_allclose(part.adjoint(full), full[:, chosen].T @ full, rtol=1e-12, atol=1e-12)
    after = matrix.X.toarray() if sparse.issparse(matrix.X) else matrix.X
    assert_array_equal(after, before)


@pytest.mark.parametrize("form", FORMS[:2], ids=["C", "F"])
@kinds
def test_all_columns_by_a_slice_leave_the_data_alone(form, kind):
    matrix, full = make(form, kind)
    before = matrix.X.copy()
    assert_allclose(matrix.columns(slice(None)).X, full, rtol=1e-12, atol=1e-12)
    assert_array_equal(matrix.X, before)


@forms
@pytest.mark.parametrize("kind", ["raw", "both"])
@pytest.mark.parametrize(
    "shape", [(12, 7), (7, 12), (230, 9), (9, 230), (203, 210), (2, 2), (2, 3), (3, 1)], ids=str
)
def test_squared_norm_is_the_largest_eigenvalue_from_above(form, kind, shape):
    matrix, full = make(form, kind, shape)
    weights = np.random.default_rng(5).uniform(0.1, 2.0, shape[0])
    true = np.linalg.svd(np.sqrt(weights)[:, None] * full, compute_uv=False)[0] ** 2
    found = matrix.squared_norm(weights)
    assert found >= true * (1 - 1e-12)
    assert found <= true * (1 + 2e-3) + 1e-25


@pytest.mark.parametrize("form", FORMS[2:], ids=["csr", "csc"])
@pytest.mark.parametrize("shape", [(2, 300), (300, 301), (300, 2)], ids=str)
def test_squared_norm_of_nothing_is_0(form, shape):
    assert Standardized(form(np.zeros(shape))).squared_norm(np.ones(shape[0])) == 0


@forms
def test_squared_norm_is_the_same_every_time(form):
    matrix, _ = make(form, "both", (203, 210))
    assert matrix.squared_norm(np.ones(203)) == matrix.squared_norm(np.ones(203))


@forms
def test_columns_with_scale_0_count_for_nothing_at_all(form):
    matrix, _ = make(form, "both")
    W = np.zeros((7, 2))
    W[-1] = 1e6
    assert not matrix.apply(W).any()
    assert not matrix.adjoint(np.ones((12, 2)))[-1].any()
    assert not matrix.gram(np.ones(12))[-1].any()


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csc_matrix])
def test_sparse_matrices_of_the_old_kind_work_as_arrays_do(container):
    matrix, full = make(container, "both")
    weights = np.linspace(0.5, 1.5, 12)
    assert_allclose(matrix.gram(weights), full.T @ (weights[:, None] * full), atol=1e-11)
    assert_allclose(matrix.apply(np.eye(7)), full, atol=1e-12)
    assert matrix.squared_norm(np.ones(12)) > 0
