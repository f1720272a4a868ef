import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tamis._base import encode_labels


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


def test_codes_are_the_labels_themselves_when_they_count_from_zero():
    y = np.array([0, 1, 2, 0])
    assert np.shares_memory(encode_labels(y)[1], y)
