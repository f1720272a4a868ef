import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tamis._base import Explanation, count_classes, encode_labels


@pytest.mark.parametrize(
    "y",
    [
        np.array([0, 1, 1, 0, 2]),
        np.array([5, -3, 5, 2]),
        np.array([0, 2, 2], dtype=np.uint8),
        np.array([10**12, 0, 10**12]),
        np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max]),
        np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).min + 3]),
        np.array([2**64 - 1, 2**64 - 3], dtype=np.uint64),
        np.array([3, 1, 3], dtype=">i4"),
        np.array([True, False, True]),
        np.array([True, True]),
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], dtype=object),
        np.array([1.0, 0.0, 1.0]),
    ],
    ids=str,
)
def test_classes_and_codes_are_those_of_unique(y):
    classes, codes = encode_labels(y)
    expected, inverse = np.unique(y, return_inverse=True)
    assert_array_equal(classes, expected)
    assert classes.dtype == expected.dtype
    assert_array_equal(codes, inverse)


@pytest.mark.parametrize(
    ("present", "dtype"), [([0, 1], np.int64), ([-3, 0, 4], np.int16), ([250, 255], np.uint8)]
)
def test_many_labels_of_few_classes_are_those_of_unique(present, dtype):
    y = np.random.default_rng(0).choice(np.array(present, dtype), 9000)
    classes, codes = encode_labels(y)
    expected, inverse, count = np.unique(y, return_inverse=True, return_counts=True)
    assert_array_equal(classes, expected)
    assert classes.dtype == expected.dtype
    assert_array_equal(codes, inverse)
    assert_array_equal(count_classes(codes, len(present) + 1), [*count, 0])


def test_codes_are_the_labels_themselves_when_they_count_from_zero():
    y = np.array([0, 1, 2, 0])
    assert np.shares_memory(encode_labels(y)[1], y)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("thin", [False, True])
def test_explanations_become_those_of_shap(n_classes, thin, monkeypatch):
    def record(values, base, data, feature_names):
        return SimpleNamespace(values=values, base=base, data=data, names=feature_names)

    monkeypatch.setitem(sys.modules, "shap", SimpleNamespace(Explanation=record))
    form = sparse.csr_array if thin else np.asarray
    rng = np.random.default_rng(0)
    parts, X = rng.normal(size=(n_classes, 5, 4)), rng.normal(size=(5, 4))
    values = form(parts[0]) if n_classes == 2 else np.moveaxis(parts, 0, 2)
    values = [form(p) for p in parts] if thin and n_classes > 2 else values
    base = 0.5 if n_classes == 2 else np.arange(3.0)
    explanation = Explanation(values, base, np.array(list("abcd")), form(X))
    out = explanation.to_shap()
    assert_allclose(out.values.sum(axis=1) + out.base, explanation.decision)
    assert_array_equal(out.data, X)
    assert out.names == list("abcd")


def test_without_shap_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match="pip install shap"):
        Explanation(np.zeros((1, 1)), 0.0, np.array(["a"]), np.zeros((1, 1))).to_shap()
