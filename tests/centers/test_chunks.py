"""Training on chunks equals training on all rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from tamis import PrimalDualClassifier, SparseCenterClassifier
from tamis._passes import merge_in_tree
from tamis.centers.median_search import MedianSearch, plan_search, survey
from tamis.centers.medians import class_medians
from tests.quick import few_quick


def make_rows(seed, kind):
    rng = np.random.default_rng(seed)
    n_rows, n_features, n_classes = rng.integers(8, 60), rng.integers(1, 9), rng.integers(2, 5)
    codes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_rows)])
    shape = codes.size, n_features
    X = {
        "normal": lambda: rng.normal(size=shape),
        "float32": lambda: rng.normal(size=shape).astype(np.float32),
        "ties": lambda: rng.integers(-2, 3, size=shape).astype(float),
        "zeros": lambda: (
            np.where(rng.random(shape) < 0.7, 0, rng.integers(-3, 9, size=shape)) * 1.0
        ),
    }[kind]()
    weights = [None, rng.integers(0, 4, codes.size) * 1.0, rng.random(codes.size) + 0.1][seed % 3]
    if weights is not None:
        weights[:n_classes] = np.maximum(weights[:n_classes], 1)
    return X, codes, weights


def split(X, codes, weights, seed):
    cuts = np.sort(np.random.default_rng(seed).integers(1, codes.size, size=3))
    rows = [part for part in np.split(np.arange(codes.size), cuts) if part.size]
    return [(X[r], codes[r], None if weights is None else weights[r]) for r in rows]


@pytest.mark.filterwarnings("ignore:.*features were requested")
@few_quick(
    "kind, is_sparse, seed",
    ["normal", "float32", "ties", "zeros"],
    [False, True],
    range(6),
)
def test_medians_are_bit_equal(kind, is_sparse, seed):
    X, codes, weights = make_rows(seed, kind)
    X = sparse.csr_array(X) if is_sparse else X
    n_classes = int(codes.max()) + 1
    expected = class_medians(X, codes, n_classes, weights)
    model = SparseCenterClassifier(None, metric="l1", scaling=None)
    model.fit_chunks(split(X, codes, weights, seed), max_bytes=10.0 ** (3 + seed % 4))
    np.testing.assert_array_equal(model.class_centers_, expected.median)
    np.testing.assert_array_equal(model.common_center_, expected.common)
    np.testing.assert_allclose(model.gains_, expected.gain, rtol=1e-12, atol=1e-13)
    whole = SparseCenterClassifier(3, metric="l1").fit(X, codes, weights)
    chunked = SparseCenterClassifier(3, metric="l1").fit_chunks(split(X, codes, weights, seed))
    np.testing.assert_array_equal(chunked.support_, whole.support_)
    assert chunked.objective_ == pytest.approx(whole.objective_, rel=1e-12)


@pytest.mark.parametrize("scaling", ["spread", "std", "variance", None])
@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_model_is_that_of_all_rows(metric, scaling):
    X, codes, weights = make_rows(1, "normal")
    labels = np.array(["d", "a", "c", "b"])[codes]
    chunks = [(X, labels[r], w) for X, r, w in split(X, np.arange(codes.size), weights, 0)]
    whole = SparseCenterClassifier(2, metric=metric, scaling=scaling).fit(X, labels, weights)
    model = SparseCenterClassifier(2, metric=metric, scaling=scaling).fit_chunks(lambda: chunks)
    assert model.classes_.tolist() == whole.classes_.tolist()
    np.testing.assert_allclose(model.centers_, whole.centers_, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    np.testing.assert_array_equal(model.support_, whole.support_)


def test_chunks_with_different_classes():
    X = np.arange(12.0)[:, None] + np.zeros((12, 2))
    y = np.repeat(["x", "y", "z"], 4)
    chunks = [(X[8:], y[8:]), (X[:4], y[:4]), (X[4:8], y[4:8])]
    for metric in ("l2", "l1"):
        model = SparseCenterClassifier(metric=metric).fit_chunks(chunks)
        assert model.classes_.tolist() == ["x", "y", "z"]
        assert model.class_centers_[:, 0].tolist() == [1.5, 5.5, 9.5]
    message = r"Chunk 0: y has the label 'z', .* Name it in classes=, or leave classes= out\.$"
    with pytest.raises(ValueError, match=message):
        SparseCenterClassifier().fit_chunks(chunks, classes=["x", "y"])


@pytest.mark.parametrize("model", [SparseCenterClassifier(metric="l1"), PrimalDualClassifier()])
def test_a_label_that_only_a_later_pass_sees_is_an_error(model):
    X, y = np.arange(12.0)[:, None], np.repeat(["x", "y"], 6)
    labels = iter([y, np.repeat(["x", "z"], 6)])
    with pytest.raises(ValueError, match=r"label 'z', .* The chunks must be the same in every"):
        model.fit_chunks(lambda: [(X, next(labels))])


@pytest.mark.filterwarnings("ignore:.*features were requested")
@pytest.mark.parametrize("empty", [np.zeros((0, 9)), sparse.csr_array((0, 2)), []])
@pytest.mark.parametrize(
    "model",
    [
        SparseCenterClassifier(2),
        pytest.param(PrimalDualClassifier(head="lda"), marks=pytest.mark.slow),
    ],
)
def test_chunks_without_rows_are_skipped(model, empty):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    expected = clone(model).fit_chunks([(X[:10], y[:10]), (X[10:], y[10:])]).predict_proba(X)
    gap = (empty, np.zeros(0))
    found = model.fit_chunks([gap, (X[:10], y[:10]), gap, (X[10:], y[10:]), gap])
    np.testing.assert_array_equal(found.predict_proba(X), expected)
    with pytest.raises(ValueError, match="There are no rows"):
        model.fit_chunks([gap, gap])


@pytest.mark.filterwarnings("ignore:.*features were requested")
def test_common_ties_are_exact_for_awkward_class_sizes():
    """Class sizes whose least common multiple is too large for exact floats."""
    sizes = [9973, 9967, 9949, 9941, 9931]
    codes = np.repeat(np.arange(5), sizes)
    X = np.where(np.arange(codes.size) % 2 == 0, 1.0, 2.0)[:, None]
    starts = np.cumsum([0, *sizes[:-1]])
    X[starts] = 2.0
    expected = class_medians(X, codes, 5)
    model = SparseCenterClassifier(metric="l1").fit_chunks(
        [(X[::2], codes[::2]), (X[1::2], codes[1::2])]
    )
    assert model.common_center_[0] == expected.common[0]


def test_means_need_one_pass_and_medians_more():
    X, codes, _ = make_rows(3, "normal")
    SparseCenterClassifier().fit_chunks(iter([(X, codes)]))
    with pytest.raises(ValueError, match="only once"):
        SparseCenterClassifier(metric="l1").fit_chunks(iter([(X, codes)]))


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([], "no rows"),
        ([(np.zeros((0, 2)), [])] * 2, "no rows"),
        ([(np.zeros((0, 2)), [0, 1])], "Chunk 0: Found array with 0 sample"),
        ([np.zeros((3, 2))], "Chunk 0 must be a tuple"),
        (5, "chunks must be a list"),
        ([(np.zeros((2, 2)), [0, 1]), (np.zeros((2, 3)), [0, 1])], "Chunks 0 and 1"),
        ([(np.zeros((2, 2)), [0, 1]), (np.full((2, 2), np.nan), [0, 1])], "NaN"),
        ([(np.zeros((2, 2)), [0, 0])], "class"),
    ],
)
@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_nonsense(chunks, message, metric):
    with pytest.raises(ValueError, match=message):
        SparseCenterClassifier(metric=metric).fit_chunks(chunks)


def test_values_too_large_for_sums():
    X = np.array([[1e308], [-1e308], [1e308], [3e307]])
    with pytest.raises(ValueError, match="Column 0"):
        SparseCenterClassifier(metric="l1").fit_chunks([(X, [0, 0, 1, 1])])


def test_fewest_passes():
    assert plan_search(10, 2, 64, 1e9)[1] == [slice(0, 10)]
    bits, blocks = plan_search(20_000, 2, 64, 1e6)
    assert len(blocks) > 1
    assert 16 * 2 * 2**bits * max(b.stop - b.start for b in blocks) <= 1.1e6


def test_tree_is_fixed():
    assert merge_in_tree("abcdefg", lambda a, b: f"({a}{b})") == "(((ab)(cd))((ef)g))"
    assert merge_in_tree([], max) is None


def test_counts_are_added():
    """Counts made anywhere and added in any order give the same medians."""
    X, codes, weights = make_rows(7, "ties")
    chunks = split(X, codes, weights, 7)
    n_classes = int(codes.max()) + 1
    found = []
    for order in (chunks, chunks[::-1]):
        whole = survey(*order[0][:2], n_classes, order[0][2])
        for chunk in order[1:]:
            whole = whole.merge(survey(*chunk[:2], n_classes, chunk[2]))
        search = MedianSearch(slice(0, X.shape[1]), whole, 8)
        while not search.is_found:
            counted = search.count(*order[0])
            for chunk in order[1:]:
                counted = search.merge_counts(counted, search.count(*chunk))
            search.descend(counted)
        found.append(search.medians)
    np.testing.assert_array_equal(*found)
