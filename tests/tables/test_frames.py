"""Columns of data frames that are hard to read."""

import numpy as np
import pytest

from tamis.tables.reading.frames import as_raw


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean"])
def test_nullable_columns_of_pandas_may_lack_values(dtype):
    pandas = pytest.importorskip("pandas")
    column = pandas.array([1, None, 0], dtype=dtype)
    numeric = as_raw(pandas.DataFrame({"a": column})).numeric
    assert np.array_equal(numeric.ravel(), [1, np.nan, 0], equal_nan=True)


def test_large_nullable_integers_keep_their_digits():
    pandas = pytest.importorskip("pandas")
    column = pandas.array([2**60 + 1, None, 7], dtype="Int64")
    raw = as_raw(pandas.DataFrame({"a": column}))
    assert raw.others["a"].tolist() == [str(2**60 + 1), None, "7"]
