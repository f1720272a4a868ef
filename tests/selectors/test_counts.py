import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tamis.selectors import counts
from tamis.selectors.counts import class_presence, class_sums, class_totals, thresholds_of

FORMS = pytest.mark.parametrize(
    "form", [np.ascontiguousarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
)
RULES = pytest.mark.parametrize("rule", ["mean", "median"])


def make_data(n=40, m=50):
    rng = np.random.default_rng(0)
    X = np.rint(rng.normal(size=(n, m)) * 2) * (rng.uniform(size=(n, m)) < 0.6)
    X[:, 0], X[:, 1], X[:, 2] = 0.0, -3.0, np.arange(n) - 7.0
    return X, np.arange(n) % 3, rng.integers(1, 4, size=n).astype(float)


@FORMS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_those_of_a_loop(form, dtype):
    X, codes, weight = make_data()
    expected = [weight[codes == c] @ X[codes == c] for c in range(3)]
    found = class_sums(form(X.astype(dtype)), codes, 3, weight)
    assert found.dtype == np.float64
    assert_allclose(found, expected)
    assert_allclose(class_totals(codes, 3, weight), [weight[codes == c].sum() for c in range(3)])


@FORMS
@pytest.mark.parametrize("threshold", [0.0, 1.0, -1.0, "mixed"])
def test_presence_is_that_of_a_loop(form, threshold):
    X, codes, weight = make_data()
    threshold = {"mixed": np.linspace(-3, 3, 50)}.get(threshold, threshold)
    expected = [weight[codes == c] @ np.greater(X, threshold)[codes == c] for c in range(3)]
    assert_array_equal(class_presence(form(X), codes, 3, weight, threshold), expected)


@FORMS
@RULES
def test_thresholds_with_weights_are_those_of_repeated_rows(form, rule):
    X, _, weight = make_data()
    repeated = np.repeat(X, weight.astype(int), axis=0)
    assert_allclose(thresholds_of(form(X), rule, weight), thresholds_of(repeated, rule, None))


@FORMS
@RULES
@pytest.mark.parametrize("n", [39, 40])
def test_thresholds_split_the_samples_as_mean_and_median_do(form, rule, n):
    X = make_data(n)[0]
    found = thresholds_of(form(X), rule, None)
    expected = {"mean": np.mean, "median": np.median}[rule](X, axis=0)
    assert_array_equal(np.greater(X, found), np.greater(X, expected))


@FORMS
def test_blocks_of_columns_change_nothing(form, monkeypatch):
    X, codes, weight = make_data()
    whole = [
        class_sums(form(X), codes, 3, weight),
        class_presence(form(X), codes, 3, weight),
        thresholds_of(form(X), "median", weight),
    ]
    monkeypatch.setattr(counts, "_BLOCK", 1)
    assert len(list(counts._column_blocks(X))) == 4
    assert_array_equal(class_sums(form(X), codes, 3, weight), whole[0])
    assert_array_equal(class_presence(form(X), codes, 3, weight), whole[1])
    assert_array_equal(thresholds_of(form(X), "median", weight), whole[2])
