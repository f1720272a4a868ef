import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tamis.centers import statistics, usual_counts
from tamis.centers._moment_kernels import dense_sums
from tamis.centers.statistics import summarise


@pytest.fixture(autouse=True, params=["compiled", "numpy"])
def arithmetic(request, monkeypatch):
    """Both ways to sum: compiled, and numpy for few values."""
    limit = {"compiled": 0, "numpy": 10**9}[request.param]
    monkeypatch.setattr(statistics, "WORTH_COMPILING", limit)


def make_data(n=200, m=12, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.7, size=(n, m)) * rng.choice([1.0, 1.0, 2.5], size=(n, m))
    return X, rng.integers(0, n_classes, n)


def assert_same_moments(a, b, **tolerance):
    assert_allclose(a.weight, b.weight)
    assert_allclose(a.offset + a.mean, b.offset + b.mean, **tolerance)
    assert_allclose(a.variance, b.variance, **tolerance)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "form",
    [
        np.ascontiguousarray,
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        sparse.csr_array,
        sparse.csc_array,
        sparse.csr_matrix,
        sparse.csc_matrix,
    ],
    ids=["C", "F", "strided", "csr", "csc", "csr_matrix", "csc_matrix"],
)
def test_moments_equal_those_of_numpy(form, dtype, weighted):
    X, y = make_data()
    X = X.astype(dtype)
    w = np.random.default_rng(1).random(y.size) if weighted else None
    moments = summarise(form(X), y, 3, w)
    for c in range(3):
        rows = X[y == c].astype(np.float64)
        weights = np.ones(len(rows)) if w is None else w[y == c]
        mean = np.average(rows, axis=0, weights=weights)
        assert_allclose(moments.weight[c], weights.sum())
        assert_allclose(moments.mean[c] + moments.offset, mean, atol=1e-14)
        variance = np.average((rows - mean) ** 2, axis=0, weights=weights)
        assert_allclose(moments.variance[c], variance, atol=1e-12)


@pytest.mark.parametrize("values", ["counts", "reals"])
def test_sparse_and_dense_give_the_same_bits(values):
    X, y = make_data()
    X = X if values == "counts" else X * np.random.default_rng(0).random(X.shape)
    dense, csr, csc = (
        summarise(f(X), y, 3) for f in (np.asarray, sparse.csr_array, sparse.csc_array)
    )
    assert_array_equal(dense.mean, csr.mean)
    assert_array_equal(dense.mean, csc.mean)
    assert_array_equal(dense.variance, csc.variance)


def test_counts_among_other_values_give_the_same_bits(monkeypatch):
    rng = np.random.default_rng(0)
    X = (rng.random((200, 12)) < 0.5) * rng.choice([1.0] * 20 + [2.0, 0.1], size=(200, 12))
    y = rng.integers(0, 3, 200)
    dense, csr = (summarise(form(X), y, 3) for form in (np.asarray, sparse.csr_array))
    assert_array_equal(dense.mean, csr.mean)
    assert_array_equal(dense.variance, csr.variance)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "form", [np.ascontiguousarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
)
def test_numpy_and_compiled_code_give_the_same_bits(monkeypatch, form, weighted):
    X, y = make_data()
    rng = np.random.default_rng(0)
    X = X * rng.random(X.shape)
    w = rng.random(y.size) if weighted else None
    results = []
    for limit in (0, 10**9):
        monkeypatch.setattr(statistics, "WORTH_COMPILING", limit)
        results.append(summarise(form(X), y, 3, w))
    assert_array_equal(results[0].mean, results[1].mean)
    assert_array_equal(results[0].variance, results[1].variance)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_in_the_order_of_classes_give_the_same_bits(monkeypatch, weighted):
    X, y = make_data(m=80)
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random(X.shape) + 0.1)
    w = rng.random(y.size) if weighted else None
    by_row = summarise(X, y, 3, w)
    monkeypatch.setattr(statistics, "_CACHED_SUMS", 0)
    by_class = summarise(X, y, 3, w)
    assert_array_equal(by_row.mean, by_class.mean)
    assert_array_equal(by_row.variance, by_class.variance)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_constant_columns_are_exactly_constant_and_offsets_do_not_cancel(form):
    rng = np.random.default_rng(0)
    n = 1001
    noise = rng.normal(size=n)
    X = np.column_stack([np.full(n, 0.1), np.full(n, 1e9 / 7), 1e9 + noise, noise])
    y = rng.integers(0, 2, n)
    moments = summarise(form(X), y, 2)
    assert_array_equal(moments.variance[:, :2], 0.0)
    assert_array_equal(moments.mean[0, :2], moments.mean[1, :2])
    exact = X[:, 2] - 1e9  # the noise as far as it survives next to 1e9
    for c in range(2):
        assert_allclose(moments.variance[c, 2], exact[y == c].var(), rtol=1e-9)
    gap = moments.mean[1, 2] - moments.mean[0, 2]
    assert_allclose(gap, exact[y == 1].mean() - exact[y == 0].mean(), rtol=1e-9)


def test_duplicate_and_unsorted_entries_are_summed_first():
    X = sparse.csr_array(
        (np.array([1.0, 1.0, 2.0, 1.0, 3.0]), np.array([1, 1, 0, 2, 0]), np.array([0, 3, 5])),
        shape=(2, 3),
    )
    y = np.array([0, 1])
    assert_same_moments(summarise(X, y, 2), summarise(X.toarray(), y, 2), atol=1e-14)
    C = sparse.csc_array(
        (np.array([1.0, 1.0, 2.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2)
    )
    assert_same_moments(summarise(C, y, 2), summarise(C.toarray(), y, 2), atol=1e-14)


def test_counts_with_too_many_other_values_are_summed(monkeypatch):
    # The sample that decides sees every fourth value only.
    values = np.tile([1.0, 2.0, 3.0, 4.0], 1024)
    X = sparse.csr_array((values, np.arange(4096) % 4, np.arange(0, 4097, 4)), shape=(1024, 4))
    y = np.arange(1024) % 2
    for limit in (0, 10**9):
        monkeypatch.setattr(usual_counts, "WORTH_COMPILING", limit)
        assert usual_counts.count_usual_values(X, y, 2) is None
    assert_same_moments(summarise(X, y, 2), summarise(X.toarray(), y, 2))


def rows_of_any_length(index_type):
    # The first row is longer than a block of the kernel, others are empty.
    rng = np.random.default_rng(0)
    lengths = np.concatenate([[70_000], rng.choice([0, 0, 1, 2, 31, 32, 33, 100], 3000), [0, 0]])
    indices = [np.sort(rng.choice(80_000, n, replace=False)) for n in lengths]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    values = 1.0 + (rng.random(indptr[-1]) < 0.05)
    X = sparse.csr_array((values, np.concatenate(indices), indptr), shape=(lengths.size, 80_000))
    X.indices, X.indptr = X.indices.astype(index_type), X.indptr.astype(index_type)
    return X, rng.integers(0, 3, lengths.size)


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_counts_of_blocks_are_those_of_rows(index_type, monkeypatch):
    X, y = rows_of_any_length(index_type)
    monkeypatch.setattr(usual_counts, "WORTH_COMPILING", 0)
    compiled = usual_counts.count_usual_values(X, y, 3)
    monkeypatch.setattr(usual_counts, "WORTH_COMPILING", 10**9)
    plain = usual_counts.count_usual_values(X, y, 3)
    assert compiled.canonical
    assert plain.canonical
    for name in ("count", "where", "what"):
        assert_array_equal(getattr(compiled, name), getattr(plain, name))
    place = X.indices.astype(np.int64) * 3 + np.repeat(y, np.diff(X.indptr))
    assert_array_equal(compiled.count.ravel(), np.bincount(place, minlength=240_000))
    sums = plain.sums()
    monkeypatch.setattr(usual_counts, "WORTH_COMPILING", 0)
    assert_array_equal(compiled.sums(), sums)
    assert_array_equal(sums[0].T.ravel(), np.bincount(place, X.data, 240_000))
    assert_array_equal(sums[1].T.ravel(), np.bincount(place, X.data**2, 240_000))


# The ends of a block of 2**15 values are inside the first row, the last place is in the last row.
@pytest.mark.parametrize("place", [1, 2**15 - 1, 2**15, 2**15 + 1, -1])
@pytest.mark.parametrize("repeats", [False, True])
def test_one_pair_of_indices_out_of_order_is_noticed(place, repeats, monkeypatch):
    X, y = rows_of_any_length(np.int32)
    last = np.flatnonzero(np.diff(X.indptr) > 1)[-1]
    place = int(X.indptr[last + 1]) - 1 if place < 0 else place
    pair = X.indices[place - 1 : place + 1]
    pair[:] = pair[[0, 0]] if repeats else pair[::-1]
    monkeypatch.setattr(usual_counts, "WORTH_COMPILING", 0)
    assert not usual_counts.count_usual_values(X, y, 3).canonical


@pytest.mark.parametrize("value", [0.5, 2.0**21, np.nan])
def test_counts_with_a_value_that_sums_inexactly_are_summed(value, monkeypatch):
    X, y = rows_of_any_length(np.int32)
    X.data[777] = value
    for limit in (0, 10**9):
        monkeypatch.setattr(usual_counts, "WORTH_COMPILING", limit)
        assert usual_counts.count_usual_values(X, y, 3) is None


def test_counters_that_overflow_a_byte_carry():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000)
    X = sparse.csr_array(np.column_stack([np.ones(3000), rng.random(3000) < 0.3, y]) * 1.0)
    assert_same_moments(summarise(X, y, 2), summarise(X.toarray(), y, 2))


def test_empty_rows_and_empty_matrices_are_fine():
    X = sparse.csr_array((5, 4))
    moments = summarise(X, np.array([0, 1, 0, 1, 1]), 2)
    assert_array_equal(moments.mean, 0.0)
    X = sparse.csr_array(np.array([[0, 0], [1, 0], [0, 0], [1, 2.0]]))
    y = np.array([0, 0, 1, 1])
    assert_same_moments(summarise(X, y, 2), summarise(X.toarray(), y, 2))


def test_small_index_types_are_read_right():
    X, y = make_data()
    S = sparse.csr_matrix(X)
    S.indices, S.indptr = S.indices.astype(np.int16), S.indptr.astype(np.int16)
    assert_same_moments(summarise(S, y, 3), summarise(X, y, 3))


def test_more_than_256_classes():
    rng = np.random.default_rng(0)
    y = np.r_[np.arange(300), rng.integers(0, 300, 300)]
    X = rng.integers(0, 3, size=(600, 4)).astype(float)
    assert_same_moments(summarise(sparse.csr_array(X), y, 300), summarise(X, y, 300))


@pytest.mark.parametrize("cuts", [[100], [1, 2, 3], [50, 51, 199]])
def test_merged_chunks_equal_all_data(cuts):
    X, y = make_data()
    X[:, 0] = 7.3
    X[:, 1] += 1e7
    parts = np.split(np.arange(y.size), cuts)
    moments = summarise(X[parts[0]], y[parts[0]], 3)
    for rows in parts[1:]:
        moments = moments.merge(summarise(sparse.csr_array(X[rows]), y[rows], 3))
    assert_same_moments(moments, summarise(X, y, 3), rtol=1e-9, atol=1e-9)
    assert_array_equal(moments.variance[:, 0], 0.0)
    assert_array_equal(moments.mean[:, 0] + moments.offset[0], 7.3)


def test_threads_give_the_same_bits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5000))
    rows, starts = np.arange(60), np.array([0, 25, 60])
    results = []
    for kernel in (dense_sums.serial, dense_sums.parallel):
        sums, squares = np.zeros((2, 5000)), np.zeros((2, 5000))
        kernel(X, rows, starts, np.ones(1), 0, sums, squares)
        results.append((sums, squares))
    assert_array_equal(results[0], results[1])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_what_is_not_finite_is_found_in_the_sums(form, bad):
    X, y = make_data()
    X[17, 3] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        summarise(form(X), y, 3)


@pytest.mark.parametrize("size", [1e-300, 1e300])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_columns_whose_squares_overflow_or_vanish_get_units_of_their_own(form, size):
    X, y = make_data()
    plain = summarise(X, y, 3)
    X[:, [3, 5]] *= size
    moments = summarise(form(X), y, 3)
    assert_array_equal(np.flatnonzero(moments.unit != 1), [3, 5])
    unit = moments.unit[[3, 5]]
    assert_array_equal(np.log2(unit), np.rint(np.log2(unit)))
    assert_allclose(moments.mean[:, [3, 5]], plain.mean[:, [3, 5]] * (size / unit))
    assert_allclose(moments.variance[:, [3, 5]], plain.variance[:, [3, 5]] * (size / unit) ** 2)
    others = [0, 1, 2, 4, *range(6, 12)]
    assert_array_equal(moments.mean[:, others], plain.mean[:, others])


def test_a_memory_map_is_read_without_a_copy(tmp_path):
    X, y = make_data()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_same_moments(summarise(mapped, y, 3), summarise(X, y, 3))
