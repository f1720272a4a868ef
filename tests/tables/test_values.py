"""Values of columns: names of rows, large integers, numbers that mean missing values."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tamis.tables import InputError, MissingWords
from tamis.tables.columns.values import (
    as_labels,
    canonical,
    is_large_integer,
    match_labels,
    row_names,
    without_numbers,
)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (np.array(["007", None, "a b"], dtype=object), ["007", None, "a b"]),
        (np.array(["007", "1.0"]), ["007", "1.0"]),
        (np.array([3.0, -1.0]), ["3", "-1"]),
        (np.array([3, 2**60]), ["3", str(2**60)]),
        (np.array([0.5, np.nan]), ["0.5", None]),
        (np.array([b"x", b"y"], dtype=object), ["x", "y"]),
        (np.array([True, False]), ["True", "False"]),
    ],
)
def test_names_of_rows(values, names):
    found = row_names(values)
    assert found.dtype == object
    assert found.tolist() == names


def test_names_of_100_000_rows_are_not_converted():
    names = np.array([f"row {i}" for i in range(100_000)], dtype=object)
    found = row_names(names)
    assert found[99_999] is names[99_999]


def test_numbers_that_mean_missing_labels():
    y, is_known = as_labels(np.array([1.0, -9.0, 2.0]), MissingWords(["-9"]))
    assert_array_equal(is_known, [True, False, True])
    assert y.dtype.kind == "i" and y[is_known].tolist() == [1, 2]
    y, is_known = as_labels(np.array([1.0, -9.0, 2.0]))
    assert is_known.all() and y.tolist() == [1, -9, 2]


def test_zeros_of_a_sparse_table_cannot_be_missing():
    from scipy import sparse

    with pytest.raises(InputError, match="stores no zeros"):
        without_numbers(sparse.eye_array(3, format="csr"), (0.0,))
    found = without_numbers(sparse.csr_array([[0.0, 5.0], [7.0, 0.0]]), (5.0,))
    assert_array_equal(found.toarray(), [[0, np.nan], [7, 0]])


def test_labels_are_matched_by_value():
    classes = np.array([0, 1])
    found = match_labels(np.array(["1.0", "0", "", "2"], dtype=object), classes)
    assert found.tolist() == [1, 0, None, None]
    found = match_labels(np.array(["NA", "x"], dtype=object), np.array(["NA", "x"]))
    assert found.tolist() == ["NA", "x"]


def test_bytes_that_are_not_utf8_are_refused():
    with pytest.raises(InputError, match="is not UTF-8 text"):
        canonical(b"\xff\xfe")


def test_integers_of_thousands_of_digits_are_words():
    long = "-" + "7" * 5_000
    assert is_large_integer(long)
    assert canonical(f" {long}") == long
    assert canonical("+000" + "7" * 20) == "7" * 20
    assert canonical(-7 * (10**5_000 // 9)) == long
