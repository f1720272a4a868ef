"""Categories with few training rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from tamis._base import Record
from tamis.tables import Columns, InputError, lay_out, read_table
from tamis.tables.preparing.table_record import read_preparation, write_preparation


def table_of(counts, as_sparse=False):
    words = [word for word, n in counts.items() for _ in range(n)]
    numeric = np.arange(float(len(words)))[:, None]
    numeric = sparse.csr_array(numeric) if as_sparse else numeric
    return Columns(numeric, np.array(["age"]), {"sex": np.array(words, dtype=object)})


def learned(counts, weights=None, as_sparse=False):
    preparation, encoded = lay_out(table_of(counts, as_sparse), {"sex": "categorical"})
    return preparation.learn(encoded, weights=weights)


def columns_of(preparation, word):
    """The columns of a category, NaN where it is missing."""
    one = Columns(np.zeros((1, 1)), np.array(["age"]), {"sex": np.array([word], dtype=object)})
    used = preparation.restrict(np.flatnonzero(~preparation.unused))
    found = used.transform(one, impute=False)
    return dict(zip(used.columns[1:], found[0, 1:], strict=True))


@pytest.mark.parametrize("as_sparse", [False, True])
def test_rare_categories_that_reach_five_rows_are_other(as_sparse):
    found = learned({"male": 8, "female": 9, "M": 3, "Male": 2}, as_sparse=as_sparse)
    assert columns_of(found, "male") == {"sex=female": 0, "sex=male": 1}
    for word in ("M", "Male", "never seen"):
        assert columns_of(found, word) == {"sex=female": 0, "sex=male": 0}


@pytest.mark.parametrize("as_sparse", [False, True])
def test_rare_categories_below_five_rows_are_missing(as_sparse):
    found = learned({"male": 8, "female": 9, "M": 3, "Male": 1}, as_sparse=as_sparse)
    assert columns_of(found, "male") == {"sex=male": 1}
    assert columns_of(found, "female") == {"sex=male": 0}
    for word in ("M", "Male", "never seen"):
        assert np.isnan(columns_of(found, word)["sex=male"])


def test_typing_errors_are_prepared_as_missing_values_are():
    with_errors = table_of({"male": 8, "female": 9, "M": 1, "Male": 1})
    blank = table_of({"male": 8, "female": 9, None: 2})
    matrices = []
    for table in (with_errors, blank):
        preparation, encoded = lay_out(table, {"sex": "categorical"})
        preparation = preparation.learn(encoded)
        matrices.append(preparation.finish(encoded)[:, ~preparation.unused])
    assert_array_equal(*matrices)


def test_a_column_with_two_values_is_never_pooled():
    found = learned({"yes": 1, "no": 60})
    assert columns_of(found, "yes") == {"sex=yes": 1}
    assert columns_of(found, "no") == {"sex=yes": 0}
    assert np.isnan(columns_of(found, "perhaps")["sex=yes"])


def test_what_is_rare_is_learned_from_the_training_rows():
    preparation, encoded = lay_out(table_of({"a": 20, "b": 20, "c": 6}), {"sex": "categorical"})
    assert not preparation.learn(encoded).pools["sex"].rare
    fold = preparation.learn(encoded[:-2])
    assert fold.pools["sex"].rare == ["c"] and not fold.pools["sex"].is_other
    assert np.isnan(fold.finish(encoded, impute=False)[-2:, 1:]).all()
    assert_array_equal(fold.finish(encoded)[-1, 1:], [1, 0, 0])  # the first of the most frequent


def test_a_weight_of_two_is_a_row_that_occurs_twice():
    counts = {"a": 6, "b": 6, "c": 3}
    assert learned(counts).pools["sex"].rare == ["c"]
    assert learned(counts, np.full(15, 2.0)).pools["sex"].rare == []
    # Weights that are not whole numbers count no rows.
    assert learned(counts, np.full(15, 1 / 15)).pools["sex"].rare == ["c"]


def test_categories_beyond_the_fifty_most_frequent_are_other():
    found = learned({f"c{at:02d}": 60 - at for at in range(53)})
    assert found.pools["sex"].rare == ["c50", "c51", "c52"]
    assert set(columns_of(found, "c51").values()) == {0.0}


def test_a_record_of_an_earlier_version_reads_a_new_category_as_zeros():
    record = write_preparation(learned({"a": 20, "b": 20, "c": 6}))
    for key in ("rare", "rare_as", "new_as"):
        del record["columns"][1][key]
    old = read_preparation(Record(record))
    assert set(columns_of(old, "never seen").values()) == {0.0}


@pytest.mark.parametrize("counts", [{"a": 9, "b": 9, "c": 3, "d": 2}, {"a": 9, "b": 9, "c": 1}])
def test_a_record_keeps_the_pool(counts):
    before = learned(counts)
    before = before.restrict(np.flatnonzero(~before.unused))
    again = read_preparation(Record(write_preparation(before)))
    assert again.pools == before.pools
    for word in ("a", "b", "c", "never seen", None):
        assert_array_equal(*(list(columns_of(one, word).values()) for one in (before, again)))


# Declared choices.


def write(path, sexes):
    lines = [f"{40 + at % 7},{sex},{'ny'[at % 2]}" for at, sex in enumerate(sexes)]
    path.write_text("\n".join(["age,sex,ill", *lines]))
    return path


SEXES = ["male", "female"] * 10 + ["M", "Male", "M"]


def test_a_value_that_is_not_a_choice_is_an_error_that_names_it_and_its_rows(tmp_path):
    path = write(tmp_path / "data.csv", SEXES)
    with pytest.raises(InputError) as caught:
        read_table(path, "ill", choices={"sex": ["male", "female"]})
    assert "'M' (rows 21, 23), 'Male' (row 22) are not among its choices" in str(caught.value)


def test_a_value_that_is_not_a_choice_is_missing_where_that_is_told(tmp_path):
    path = write(tmp_path / "data.csv", SEXES)
    table = read_table(path, "ill", choices={"sex": ["male", "female"]}, unlisted=["sex"])
    assert table.columns.others["sex"].tolist() == [*SEXES[:20], None, None, None]
    assert any("3 values not among its choices read as missing" in note for note in table.notes)


def test_a_new_value_of_declared_choices_is_never_other(tmp_path):
    path = write(tmp_path / "data.csv", [*SEXES[:20], *("unknown", "both") * 3])
    declared = {"sex": ["male", "female", "unknown", "both"]}
    table = read_table(path, "ill", choices=declared)
    preparation, encoded = lay_out(table.columns, table.kinds, missing=table.missing)
    found = preparation.learn(encoded)
    assert set(columns_of(found, "both").values()) == {0.0}
    assert np.isnan(list(columns_of(found, "M").values())).all()
