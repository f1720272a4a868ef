"""Rows unlike any in training."""

import numpy as np
import pytest
from scipy import sparse

from tamis.tables import Columns, lay_out
from tamis.tables.classifying.explanations import Values
from tamis.tables.classifying.unusual import Unusual, observe
from tamis.tables.preparing.table_record import read_preparation, write_preparation

KINDS = {"color": "categorical", "sex": "categorical"}


def make_table(ages, colors, sexes, as_sparse=False):
    numeric = np.column_stack([ages, np.zeros(len(ages))]).astype(float)
    others = {
        "color": np.array(colors, dtype=object),
        "sex": np.array(sexes, dtype=object),
    }
    numeric = sparse.csr_array(numeric) if as_sparse else numeric
    return Columns(numeric, np.array(["age", "dose"]), others)


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def preparation(request):
    columns = [30, np.nan, 50, 41], ["red", "blue", None, "green"], ["m", "f", "f", "m"]
    table = make_table(*(5 * column for column in columns), request.param)
    preparation, encoded = lay_out(table, KINDS)
    return observe(preparation.learn(encoded), encoded)


def test_ranges_and_categories_of_the_training_rows_are_known(preparation):
    assert preparation.ranges.tolist() == [[30, 50], [0, 0]]
    assert preparation.others == {"color": [], "sex": ["f"]}
    part = preparation.restrict([0, 3])
    assert part.ranges.tolist() == [[30, 50]]
    assert part.others == {"color": ["blue", "red"]}


def test_a_record_keeps_them(preparation):
    from tamis._base import Record

    for one in (preparation, preparation.restrict([0, 2])):
        again = read_preparation(Record(write_preparation(one)))
        assert np.array_equal(again.ranges, one.ranges)
        assert again.others == one.others


def test_rows_outside_and_new_categories_are_counted(preparation):
    unusual = Unusual(preparation)
    unusual.add(make_table([30, 50, 29.9], ["red", None, "blue"], ["m", "f", None]))
    unusual.add(make_table([np.nan, 70, 40], ["violet", "violet", "pink"], ["m", "m", "m"]))
    assert (unusual.n_rows, unusual.n_unusual) == (6, 4)
    first, ranges, categories, replaced = unusual.messages()
    assert first.startswith("4 of 6 rows are unlike any row in training")
    assert "age (2; 30 to 50)" in ranges and "dose" not in ranges
    assert "color 'violet' (2), 'pink' (1)" in categories and "sex" not in categories
    assert replaced.endswith("of training: color by blue")


def test_a_category_that_is_written_otherwise_is_named(preparation):
    unusual = Unusual(preparation)
    unusual.add(make_table([40] * 3, ["red"] * 3, [" F.", "M", "x"]))
    _, categories, replaced = unusual.messages()
    assert "' F.' (1; training had 'f'), 'M' (1; training had 'm'), 'x' (1)" in categories
    assert replaced.endswith("sex by m")
    unusual.fills = False  # a model that leaves missing values missing
    assert len(unusual.messages()) == 2


def test_without_rows_nothing_points_to_a_single_one(preparation):
    unusual = Unusual(preparation)
    colors = ["violet"] * 6 + ["pink"] * 2
    unusual.add(make_table([70] + [40] * 7, colors, ["m"] * 8))
    first, ranges, categories, _ = unusual.messages(with_rows=False)
    assert first.startswith("8 of 8 rows")
    assert ranges.endswith("age (fewer than 5)")
    assert categories.endswith("color 'violet' (6), categories of fewer than 5 rows each")


def test_usual_rows_need_no_message(preparation):
    unusual = Unusual(preparation)
    unusual.add(make_table([30, 50], ["red", "green"], ["m", "f"]))
    assert unusual.messages() == []


def test_a_preparation_that_knows_no_ranges_is_silent_about_numbers():
    table = make_table([1, 2], ["red", "blue"], ["m", "f"])
    preparation, encoded = lay_out(table, KINDS)
    unusual = Unusual(preparation.learn(encoded))
    unusual.add(make_table([5, 9], ["red", "blue"], ["m", "f"]))
    assert unusual.messages() == []


def test_what_replaces_a_missing_category_is_named(preparation):
    assert preparation.replacements() == {"color": "blue", "sex": "m"}
    # The matrix has red alone: no other colour is told apart.
    assert preparation.restrict([0, 4]).replacements() == {"color": "blue or green"}


def test_values_show_what_replaced_them(preparation):
    table = make_table([40, np.nan], ["violet", "red"], [None, "m"])
    values = Values(preparation, table, fills=True)
    assert values.tell(0, "color") == "violet (missing, blue)"
    assert values.tell(0, "sex") == "(missing, m)"
    assert values.tell(1, "age") == "(missing, 41)"
    assert [values.tell(1, name) for name in ("color", "sex")] == ["red", "m"]
    kept = Values(preparation, table)
    assert [kept.tell(0, name) for name in ("color", "sex", "age")] == ["violet", "", "40"]
