import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tamis.centers import medians, segments, sparse_medians, usual_counts
from tamis.centers._median_kernels import medians_of_segments
from tamis.centers.medians import class_medians
from tests.oracles.sparse_centers import class_weights, feature_cost, weighted_median
from tests.quick import few_quick

FORMS = [np.ascontiguousarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]


ARITHMETIC = {"compiled": 0, "numpy": 10**9}


def use(monkeypatch, arithmetic):
    for module in (medians, segments, sparse_medians, usual_counts):
        monkeypatch.setattr(module, "WORTH_COMPILING", ARITHMETIC[arithmetic])


def assert_same_bits(one, two):
    for name in ("median", "common", "dispersion", "gain"):
        assert_array_equal(getattr(one, name), getattr(two, name))


def assert_equals_oracle(result, X, y, weight=None):
    shares = class_weights(y, weight)
    for j in range(X.shape[1]):
        assert result.common[j] == pytest.approx(weighted_median(list(X[:, j]), shares), abs=1e-14)
        for c in np.unique(y):
            rows = np.flatnonzero(y == c)
            median = weighted_median(list(X[rows, j]), [shares[i] for i in rows])
            assert result.median[c, j] == pytest.approx(median, abs=1e-14)
        together = feature_cost(X[:, j], y, "l1", False, weight)
        apart = feature_cost(X[:, j], y, "l1", True, weight)
        assert result.gain[j] == pytest.approx(together - apart, abs=1e-12)
        assert result.dispersion[:, j].sum() == pytest.approx(apart, abs=1e-12)
        # Exactly zero, or clearly not: the values are coarse, so nothing lies between.
        assert (result.gain[j] == 0) == (together - apart < 1e-10)


@st.composite
def coarse_data(draw):
    n_classes = draw(st.integers(2, 4))
    sizes = draw(st.lists(st.integers(1, 6), min_size=n_classes, max_size=n_classes))
    y = np.repeat(np.arange(n_classes), sizes)
    values = draw(st.lists(st.integers(-3, 3), min_size=y.size * 2, max_size=y.size * 2))
    X = np.array(values, dtype=float).reshape(y.size, 2) * draw(st.sampled_from([1.0, 0.1]))
    weight = draw(
        st.one_of(st.none(), st.lists(st.integers(0, 3), min_size=y.size, max_size=y.size))
    )
    if weight is not None:
        weight = np.array(weight, dtype=float)
        weight[np.searchsorted(y, np.arange(n_classes))] += 1  # no class without weight
    return X, y, weight


@pytest.mark.parametrize("long_columns", [256, 0])
@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=coarse_data(), form=st.sampled_from(FORMS))
def test_medians_dispersions_and_gains_follow_the_paper(monkeypatch, long_columns, data, form):
    monkeypatch.setattr(medians, "_LONG_COLUMNS", long_columns)
    X, y, weight = data
    use(monkeypatch, "numpy")
    result = class_medians(form(X), y, y.max() + 1, weight)
    assert_equals_oracle(result, X, y, weight)
    use(monkeypatch, "compiled")
    assert_same_bits(result, class_medians(form(X), y, y.max() + 1, weight))


@few_quick(
    "form, values, weights",
    FORMS,
    ["extreme", "rounded", "counts", "reals"],
    ["reals", "heavy", None, "whole"],
)
def test_numpy_and_compiled_code_give_the_same_bits(monkeypatch, form, values, weights):
    rng = np.random.default_rng(0)
    n_rows = 333  # with three classes, columns are sorted; with two, they are partitioned
    X = rng.normal(size=(n_rows, 9)) * (rng.random((n_rows, 9)) < 0.6)
    X = {
        "reals": X,
        "rounded": np.round(X, 1),
        "counts": (np.abs(X) > 0.5) + 1.0 * (X > 2.5),
        "extreme": X * 10.0 ** rng.integers(-250, 250, 9),
    }[values]
    weight = {
        None: None,
        "reals": rng.random(n_rows) + 0.01,
        "whole": rng.integers(1, 4, n_rows).astype(float),
        "heavy": rng.choice([1.0, 3.0, 1e13], n_rows),
    }[weights]
    for n_classes in (2, 3):
        monkeypatch.setattr(medians, "_LONG_COLUMNS", {2: 0, 3: 256}[n_classes])
        y = rng.integers(0, n_classes, n_rows)
        moved = X + np.where(rng.random(9) < 0.5, 0.0, y[:, None])
        results = []
        for arithmetic in ARITHMETIC:
            use(monkeypatch, arithmetic)
            results.append(class_medians(form(moved), y, n_classes, weight))
        assert_same_bits(*results)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("distance", [0.0, 0.3, 50.0])
def test_windows_between_medians_give_the_same_bits_as_whole_sorts(
    monkeypatch, n_classes, distance
):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, 400)
    X = np.round(rng.normal(size=(400, 30)), 2) + distance * y[:, None]
    monkeypatch.setattr(medians, "_LONG_COLUMNS", 10**9)
    whole = class_medians(X, y, n_classes)
    monkeypatch.setattr(medians, "_LONG_COLUMNS", 0)
    windows = class_medians(X, y, n_classes)
    for name in ("median", "common", "gain"):
        assert_array_equal(getattr(whole, name), getattr(windows, name))
    assert_allclose(whole.dispersion, windows.dispersion)


@pytest.mark.parametrize("n_classes", [2, 7, 60])
@pytest.mark.parametrize("distance", [0.0, 0.02, 0.3, 50.0])
@pytest.mark.parametrize("decimals", [1, 9])
def test_near_and_distant_classes_have_the_same_bits_compiled(
    monkeypatch, n_classes, distance, decimals
):
    # Few steps lead from one class median to the common one, or so many that they are bisected.
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 900)])
    X = np.round(rng.normal(size=(y.size, 6)) + distance * y[:, None], decimals)
    monkeypatch.setattr(medians, "_LONG_COLUMNS", 10**9)
    results = []
    for arithmetic in ARITHMETIC:
        use(monkeypatch, arithmetic)
        results.append(class_medians(X, y, n_classes))
    assert_same_bits(*results)


@pytest.mark.parametrize("form", FORMS)
def test_median_intervals_that_overlap_cost_nothing(form):
    X = np.array([[0.0], [10.0], [4.0], [8.0]])
    result = class_medians(form(X), np.array([0, 0, 1, 1]), 2)
    assert_array_equal(result.median.ravel(), [5.0, 6.0])
    assert result.common[0] == 6.0
    assert result.gain[0] == 0.0


@pytest.mark.parametrize("form", FORMS)
def test_ties_are_decided_exactly_when_no_common_denominator_fits(form):
    rng = np.random.default_rng(0)
    sizes = [97, 101, 103, 107, 109, 113, 127, 131, 64, 64]
    y = np.repeat(np.arange(10), sizes)
    X = rng.integers(-1, 2, size=(y.size, 6)).astype(float)
    # One value in one half of each class and another in the other half: ties, up to the odd row.
    for c in range(10):
        rows = np.flatnonzero(y == c)
        X[rows, 5] = np.arange(rows.size) >= rows.size // 2
    result = class_medians(form(X), y, 10)
    assert_equals_oracle(result, X, y)
    balanced = np.r_[np.repeat([0.0, 1.0], 32), np.repeat([0.0, 1.0], 32)]
    odd = np.concatenate([np.repeat([0.0, 1.0], [s // 2, s - s // 2]) for s in sizes[:8]])
    even = np.concatenate([np.repeat([0.0, 1.0], [s - s // 2, s // 2]) for s in sizes[:8]])
    tie = np.where(np.arange(odd.size) % 2, odd, even)
    column = np.r_[tie, balanced][:, None]
    assert_equals_oracle(class_medians(form(column), y, 10), column, y)


def test_integers_decide_a_tie_that_floats_cannot_see(monkeypatch):
    # 2/3 + 3/7 + ... : shares that sum to exactly C/2 only in exact arithmetic.
    sizes = [9, 49, 121, 169, 289, 361, 529, 841, 961, 1369]
    y = np.repeat(np.arange(10), sizes)
    column = np.zeros(y.size)
    start = np.cumsum([0, *sizes])
    for c in range(0, 10, 2):  # pairs of classes: (n - 1)/2n is not reached by one class alone
        column[start[c] : start[c + 1]] = 1.0
    called = []
    exact = segments.exact_intervals
    monkeypatch.setattr(segments, "exact_intervals", lambda *a: called.append(1) or exact(*a))
    result = class_medians(column[:, None], y, 10)
    assert called  # five classes at 0 and five at 1: exactly one half
    assert result.common[0] == 0.5
    assert_equals_oracle(result, column[:, None], y)


@few_quick("form, heavy, seed", FORMS, [10**13, 2**53, 10**18, 10**30], range(8))
def test_whole_weights_of_any_ratio_are_decided_exactly(form, heavy, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(14) % 2
    X = rng.integers(-2, 3, size=(14, 5)).astype(float)
    weight = rng.choice(np.array([1, 2, 3, heavy, 2 * heavy], dtype=float), 14)
    result = class_medians(form(X), y, 2, weight)
    shares = class_weights(y, weight)
    for j in range(5):
        assert result.common[j] == weighted_median(list(X[:, j]), shares)
        for c in range(2):
            rows = np.flatnonzero(y == c)
            mine = [shares[i] for i in rows]
            assert result.median[c, j] == weighted_median(list(X[rows, j]), mine)


@few_quick("form, seed", [sparse.csr_array, sparse.csc_array], range(8))
def test_light_zeros_of_sparse_columns_count_next_to_heavy_rows(form, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(14) % 2
    X = rng.integers(-2, 3, size=(14, 5)).astype(float)
    weight = rng.choice([0.5, 1.25, 1e13 + 0.5, 2e13 + 1.0], 14)
    dense, thin = class_medians(X, y, 2, weight), class_medians(form(X), y, 2, weight)
    assert_array_equal(dense.median, thin.median)
    assert_array_equal(dense.common, thin.common)
    assert_allclose(dense.gain, thin.gain, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("factor", [0.1, 1 / 3, 1e-3])
def test_weights_that_are_not_whole_tie_within_rounding(factor):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [30, 42])
    X = rng.integers(0, 3, size=(72, 20)).astype(float)
    weight = rng.integers(1, 4, 72).astype(float)
    whole = class_medians(X, y, 2, weight)
    scaled = class_medians(X, y, 2, weight * factor)
    assert_array_equal(whole.median, scaled.median)
    assert_array_equal(whole.common, scaled.common)
    assert_array_equal(whole.gain > 0, scaled.gain > 0)
    assert_allclose(whole.gain, scaled.gain, atol=1e-12)


def test_nearly_all_text_gains_are_exactly_zero():
    X = sparse.random_array((500, 300), density=0.05, rng=np.random.default_rng(0), format="csr")
    X.data[:] = 0.1
    y = np.arange(500) % 3
    result = class_medians(X, y, 3)
    assert_array_equal(result.gain, 0.0)
    assert_array_equal(result.median, 0.0)
    dense = class_medians(X.toarray(), y, 3)
    assert_array_equal(dense.gain, 0.0)
    assert_allclose(dense.dispersion, result.dispersion)


@pytest.mark.slow  # compiles the threaded twins
def test_threads_give_the_same_bits(monkeypatch):
    rng = np.random.default_rng(0)
    use(monkeypatch, "compiled")
    X, y = rng.normal(size=(101, 400)), rng.integers(0, 3, 101)
    serial = class_medians(X, y, 3)
    monkeypatch.setattr(medians_of_segments, "choose", lambda n: medians_of_segments.parallel)
    threaded = class_medians(X, y, 3)
    for name in ("median", "common", "dispersion", "gain"):
        assert_array_equal(getattr(serial, name), getattr(threaded, name))


def test_blocks_of_columns_give_the_same_bits(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 50)), rng.integers(0, 2, 60)
    S = sparse.csr_array(np.where(rng.random(X.shape) < 0.7, X, 0.0))
    whole, whole_sparse = class_medians(X, y, 2), class_medians(S, y, 2)
    monkeypatch.setattr(medians, "_BLOCK_VALUES", 64)
    monkeypatch.setattr(sparse_medians, "_BLOCK_VALUES", 64)
    assert_array_equal(whole.gain, class_medians(X, y, 2).gain)
    assert_array_equal(whole_sparse.gain, class_medians(S, y, 2).gain)
    assert_allclose(class_medians(S.toarray(), y, 2).gain, whole_sparse.gain, atol=1e-14)
