import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tamis.primal_dual.training import prepare
from tests.oracles import primal_dual as oracle

FORMS = [np.ascontiguousarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
forms = pytest.mark.parametrize("form", FORMS, ids=["C", "F", "csr", "csc"])


def make_data(seed=0, n=40, offset=0.0):
    rng = np.random.default_rng(seed)
    codes = np.r_[0, 1, 2, rng.choice(3, n - 3, p=[0.7, 0.2, 0.1])]
    X = rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.7) + offset
    return X + codes[:, None] * np.linspace(0, 1, 6), codes, rng.uniform(0.1, 2.0, n)


def matrix_of(data):
    """The matrix that the solver works with, in full."""
    return data.matrix.apply(np.eye(data.matrix.shape[1]))


@forms
def test_mean_and_scale_give_every_class_the_same_say(form):
    X, codes, weights = make_data()
    data = prepare(form(X), codes, 3, weights)
    mean, scale = oracle.class_balanced_moments(X, codes, weights)
    assert_allclose(data.mean, mean, rtol=1e-12, atol=1e-14)
    assert_allclose(data.scale, scale, rtol=1e-12)
    assert_allclose(matrix_of(data), (X - mean) / scale, rtol=1e-11, atol=1e-12)
    assert_array_equal(data.rows, np.arange(40))


@forms
def test_class_weights_change_neither_mean_nor_scale(form):
    X, codes, weights = make_data()
    one = prepare(form(X), codes, 3, weights)
    other = prepare(form(X), codes, 3, weights * np.array([1.0, 7.0, 0.2])[codes])
    assert_allclose(one.mean, other.mean, rtol=1e-12, atol=1e-14)
    assert_allclose(one.scale, other.scale, rtol=1e-12)


@forms
def test_rows_of_weight_0_are_as_good_as_absent(form):
    X, codes, weights = make_data()
    weights[::3] = 0.0
    weights[1] = 0.0
    kept = weights > 0
    with_zeros = prepare(form(X), codes, 3, weights)
    without = prepare(form(X[kept]), codes[kept], 3, weights[kept])
    assert_array_equal(with_zeros.rows, np.flatnonzero(kept))
    assert_array_equal(with_zeros.codes, codes[kept])
    assert_allclose(with_zeros.mean, without.mean, rtol=1e-13, atol=1e-15)
    assert_allclose(with_zeros.scale, without.scale, rtol=1e-13)
    assert_allclose(matrix_of(with_zeros), matrix_of(without), rtol=1e-12, atol=1e-13)


@forms
@pytest.mark.parametrize("offset", [1e4, 1e8, -1e10])
def test_far_offsets_cost_no_digits_beyond_those_of_the_data(form, offset):
    X, codes, weights = make_data(offset=offset)
    data = prepare(form(X), codes, 3, weights)
    mean, scale = oracle.class_balanced_moments(X, codes, weights)
    lost = abs(offset) * 1e-15
    assert_allclose(data.scale, scale, rtol=10 * lost)
    assert_allclose(matrix_of(data), (X - mean) / scale, rtol=0, atol=40 * lost)
    assert sparse.issparse(data.matrix.X) == sparse.issparse(form(X))


@forms
def test_the_matrix_is_what_mean_and_scale_say(form):
    X, codes, weights = make_data(offset=1e8)
    data = prepare(form(X), codes, 3, weights)
    # Predictions use mean and scale: training must have used the same numbers.
    assert_allclose(matrix_of(data), (X - data.mean) / data.scale, rtol=0, atol=1e-9)


@forms
def test_one_zero_in_a_far_column_keeps_its_place(form):
    X, codes, weights = make_data(offset=1e8)
    X[5, 2] = 0.0
    data = prepare(form(X), codes, 3, weights)
    mean, scale = oracle.class_balanced_moments(X, codes, weights)
    assert_allclose(matrix_of(data), (X - mean) / scale, rtol=1e-6, atol=1e-6)


@forms
@pytest.mark.parametrize("value", [0.0, 1.0, -3.3, 1e8 / 3, 0.1, 1e-12, 1e150])
def test_constant_columns_are_exactly_constant(form, value):
    X, codes, weights = make_data()
    X[:, 2] = value
    data = prepare(form(X), codes, 3, weights)
    assert data.scale[2] == 1.0
    assert data.mean[2] == pytest.approx(value, rel=1e-13)
    assert not matrix_of(data)[:, 2].any()


@forms
@pytest.mark.parametrize("seed", range(5))
def test_columns_constant_for_many_rows_are_found_whatever_the_weights(form, seed):
    rng = np.random.default_rng(seed)
    codes = np.r_[0, 1, rng.integers(0, 2, 998)]
    weights = 10.0 ** rng.uniform(-6, 6, 1000)
    X = np.column_stack([np.full(1000, v) for v in (0.1, 1 / 3, 123456.789, -1e-7)])
    data = prepare(form(X), codes, 2, weights)
    assert_array_equal(data.scale, np.ones(4))
    assert not matrix_of(data).any()


@forms
def test_columns_that_hardly_vary_are_not_constant(form):
    X, codes, weights = make_data()
    X[:, 2] = 1.0 + 1e-9 * X[:, 0]
    X[:, 3] *= 1e-140
    data = prepare(form(X), codes, 3, weights)
    scale = oracle.class_balanced_moments(X, codes, weights)[1]
    assert_allclose(data.scale, scale, rtol=1e-5)
    assert np.all(np.abs(matrix_of(data)).max(axis=0) > 0.5)


@forms
def test_single_precision_is_computed_in_double(form):
    X, codes, weights = make_data()
    X = X.astype(np.float32)
    single = prepare(form(X), codes, 3, weights)
    double = prepare(form(X.astype(np.float64)), codes, 3, weights)
    assert single.matrix.X.dtype == np.float64
    assert_array_equal(single.mean, double.mean)
    assert_array_equal(matrix_of(single), matrix_of(double))


@forms
def test_without_standardization_the_data_stay_as_they_are(form):
    X, codes, weights = make_data()
    data = prepare(form(X), codes, 3, weights, standardize=False)
    assert_array_equal(matrix_of(data), X)
    assert_array_equal(data.mean, np.zeros(6))
    assert_array_equal(data.scale, np.ones(6))


@forms
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_the_data_of_the_user_are_left_alone(form, standardize, offset):
    X, codes, weights = make_data(offset=offset)
    given, kept = form(X), weights.copy()
    data = prepare(given, codes, 3, weights, standardize=standardize)
    data.matrix.squared_norm(weights)
    data.matrix.columns(slice(None))
    data.matrix.columns(np.array([1, 3]))
    now = given.toarray() if sparse.issparse(given) else given
    assert_array_equal(now, X)
    assert_array_equal(weights, kept)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
def test_entries_given_twice_or_out_of_order_are_summed(form):
    X, codes, weights = make_data()
    half = sparse.coo_array(X / 2)
    row, column = np.r_[half.row, half.row][::-1], np.r_[half.col, half.col][::-1]
    csr = sparse.csr_array(X)
    twice = form(csr)
    major, minor = (row, column) if form is sparse.csr_array else (column, row)
    order = np.argsort(major, kind="stable")
    twice.data = np.r_[half.data, half.data][::-1][order]
    twice.indices = minor[order].astype(csr.indices.dtype)
    size = X.shape[0] if form is sparse.csr_array else X.shape[1]
    twice.indptr = np.searchsorted(major[order], np.arange(size + 1)).astype(csr.indptr.dtype)
    twice.has_sorted_indices = twice.has_canonical_format = False
    n_stored = twice.nnz
    data = prepare(twice, codes, 3, weights)
    plain = prepare(X, codes, 3, weights)
    assert_allclose(matrix_of(data), matrix_of(plain), rtol=1e-9, atol=1e-12)
    assert twice.nnz == n_stored


@forms
@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_units_do_not_matter(form, size):
    X, codes, weights = make_data()
    one, other = prepare(form(X), codes, 3, weights), prepare(form(X * size), codes, 3, weights)
    assert_allclose(other.scale, one.scale * size, rtol=1e-9)
    assert_allclose(matrix_of(other), matrix_of(one), rtol=1e-9, atol=1e-12)


@forms
@pytest.mark.parametrize("standardize", [True, False])
def test_overflow_is_an_error_and_not_a_warning(form, standardize):
    X, codes, weights = make_data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X[3, 1] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            prepare(form(X), codes, 3, weights, standardize=standardize)
        X[3, 1] = 1e300
        with pytest.raises(ValueError, match=r"1e\+300"):
            prepare(form(X), codes, 3, weights)


# The sums over classes.


@forms
@pytest.mark.parametrize("standardize", [True, False])
def test_sums_of_the_columns_over_the_classes_come_with_the_moments(form, standardize):
    X, codes, weights = make_data(offset=3.0)
    factors = np.linspace(0.5, 2.0, 6)
    data = prepare(form(X), codes, 3, weights, standardize=standardize, feature_weights=factors)
    indicator = weights[:, None] * (codes[:, None] == np.arange(3))
    expected = matrix_of(data).T @ indicator
    assert_allclose(data.class_columns, expected, rtol=1e-11, atol=1e-11)


def test_sums_far_from_0_are_not_used():
    X, codes, weights = make_data(offset=1e7)
    assert prepare(X, codes, 3, weights).class_columns is None


@pytest.mark.parametrize("n_rows", [40, 5000])
def test_blocks_of_columns_give_the_moments_of_all(n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 23))
    codes, weights = np.arange(n_rows) % 3, rng.uniform(0.1, 2.0, n_rows)
    rows, columns = (prepare(form(X), codes, 3, weights) for form in FORMS[:2])
    assert_allclose(rows.mean, columns.mean, rtol=1e-10)
    assert_allclose(rows.scale, columns.scale, rtol=1e-12)
    assert_allclose(rows.class_columns, columns.class_columns, rtol=1e-9, atol=1e-9)
