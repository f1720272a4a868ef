"""A table survives being written to arrays, and nothing in them needs pickle."""

import io

import numpy as np
import pytest
from scipy import sparse

from tamis.tables import Columns, MissingWords, Table
from tamis.tables.formats.table_file import read_arrays, write_arrays


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_table_is_read_as_it_was_written(is_sparse):
    X = np.array([[1.5, np.nan], [0.0, -0.0], [3.0, 4.0]])
    words = np.array(['é, "odd"', None, ""], dtype=object)
    table = Table(
        Columns(
            sparse.csr_array(X) if is_sparse else X, np.array(["a=1", "b c"]), {"word": words}
        ),
        {"word": "categorical"},
        np.array(["no", "yes", "no"]),
        "y",
        ids=np.array(["r1", "r2", "r3"], dtype=object),
        groups=np.array(["g", "g", "h"], dtype=object),
        weights=np.array([1.0, 2.0, 0.5]),
        notes=["a note"],
        missing=MissingWords(["-"], {"word": ["NA"]}),
        times=np.array(["2024-01-01", "2024-01-02", "2024-01-03"], dtype="datetime64[D]"),
        subgroups={"sex": np.array(["f", None, "m"], dtype=object)},
    )
    file = io.BytesIO()
    np.savez(file, **write_arrays(table))
    file.seek(0)
    with np.load(file, allow_pickle=False) as saved:
        again = read_arrays(dict(saved))
    one, other = again.columns.numeric, table.columns.numeric
    if is_sparse:
        one, other = one.toarray(), other.toarray()
    np.testing.assert_array_equal(one, other)
    assert again.columns.names == table.columns.names and again.kinds == table.kinds
    assert again.columns.others["word"].tolist() == words.tolist()
    for name in ("y", "ids", "groups", "weights", "times"):
        np.testing.assert_array_equal(getattr(again, name), getattr(table, name))
    assert again.batches is None and again.subgroups["sex"].tolist() == ["f", None, "m"]
    assert (again.target, again.notes, again.missing) == ("y", ["a note"], table.missing)
