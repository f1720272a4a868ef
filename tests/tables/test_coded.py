"""Columns of words: what is decided per distinct word holds for every row."""

import numpy as np
import pyarrow as pa
import pytest

from tamis.tables.columns.coded import Coded, CodedBuilder

WORDS = {
    "distinct": [f"row {i}" for i in range(1000)],
    "one twice": [*[f"r{i}" for i in range(999)], "r5"],
    "long": [f"a long name of row number {i}" for i in range(1000)],
    "long and twice": ["a long name of row number 7"] * 2 + [f"r{i}" for i in range(998)],
    "empty": ["", " ", *[f"r{i}" for i in range(998)]],
    "blanks": [" a", "a ", "b", "\u00e9 "] * 250,
    "same beginning": ["x" * 16 + str(i) for i in range(1000)],
}


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("is_coded", [False, True, None])
def test_batches_become_a_column(name, is_coded):
    builder = CodedBuilder()
    for start in range(0, 1000, 300):
        part = pa.array(WORDS[name][start : start + 300])
        # None: the first batches have codes, the others have not.
        coded = start < 500 if is_coded is None else is_coded
        builder.add(part.dictionary_encode() if coded else part)
    column = builder.finish()
    expected = [word.strip() or None for word in WORDS[name]]
    assert column.tolist() == expected
    assert column.n_distinct == len(set(expected) - {None})
    assert column.n_missing == expected.count(None)
    assert column.counts == {w: expected.count(w) for w in set(expected) - {None}}


@pytest.mark.parametrize("make", [list, pa.array])
def test_words_can_be_missing(make):
    column = Coded(np.array([0, 1, 2, 1, -1]), make(["a", "NA", "b"]))
    found = column.without(["NA", "none"])
    assert found.tolist() == ["a", None, "b", None, None]
    assert found.find(["NA", "b"]) == [2]
    assert found[np.array([1, 3])].tolist() == [None, None]
    assert found[2] == "b" and found[1] is None
    assert found.map({"a": "b", "b": "b"}.get).tolist() == ["b", None, "b", None, None]
    values = found.numbers(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(values, [1, np.nan, 3, np.nan, np.nan])
    assert Coded.of(found.tolist()).tolist() == found.tolist()
