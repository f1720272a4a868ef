"""Values beyond a detection limit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tamis import TableClassifier
from tamis._base import Record
from tamis.tables import lay_out, read_rows, read_table
from tamis.tables.preparing.table_record import read_preparation, write_preparation

CRP = ["<0.1", "0.5", "2", "3.5", "<0.1", "< 0.3", ">100", "7", "", "NA"] * 4
READ_AS = {
    "half": [0.05, 0.5, 2, 3.5, 0.05, 0.15, 100, 7, np.nan, np.nan],
    "limit": [0.1, 0.5, 2, 3.5, 0.1, 0.3, 100, 7, np.nan, np.nan],
    "missing": [np.nan, 0.5, 2, 3.5, np.nan, np.nan, np.nan, 7, np.nan, np.nan],
}


def write(path, values=CRP, name="crp"):
    lines = [f"{value},{at % 7},{'ny'[at % 2]}" for at, value in enumerate(values)]
    path.write_text("\n".join([f"{name},dose,ill", *lines]))
    return path


def column(table, name="crp"):
    return table.numeric[:, table.numeric_names.tolist().index(name)]


@pytest.mark.parametrize("rule", READ_AS)
def test_limits_are_read_by_the_rule_in_training_and_in_new_rows(rule, tmp_path):
    path = write(tmp_path / "data.csv")
    table = read_table(path, "ill", below_detection=rule)
    assert_array_equal(column(table.columns), 4 * READ_AS[rule])
    assert table.missing.limited == ["crp"]
    assert table.limits["crp"].tolist()[:7] == ["<0.1", None, None, None, "<0.1", "< 0.3", ">100"]
    missing = read_preparation(Record(write_preparation(learned(table)))).missing
    assert (missing.below_detection, missing.limited) == (rule, ["crp"])
    (rows, _), *_ = read_rows(path, ["crp", "dose"], {}, missing=missing)
    assert_array_equal(column(rows), 4 * READ_AS[rule])


def learned(table):
    preparation, encoded = lay_out(table.columns, table.kinds, missing=table.missing)
    return preparation.learn(encoded)


def test_a_subgroup_of_numbers_is_read_as_the_feature(tmp_path):
    table = read_table(write(tmp_path / "data.csv"), "ill", subgroups=["crp"])
    assert table.subgroups["crp"].tolist()[:3] == ["0.05", "0.5", "2"]


def test_the_default_is_half_of_the_limit(tmp_path):
    table = read_table(write(tmp_path / "data.csv"), "ill")
    assert_array_equal(column(table.columns), 4 * READ_AS["half"])


def test_a_column_of_mostly_limits_is_a_number(tmp_path):
    values = ["<1"] * 30 + ["1.5", "2", "3", "4"]
    table = read_table(write(tmp_path / "data.csv", values), "ill")
    assert column(table.columns).tolist() == [0.5] * 30 + [1.5, 2, 3, 4]


@pytest.mark.parametrize(
    "values",
    [["<30", "30-50", ">50"] * 9, ["<30", ">50"] * 15, ["<low", "1", "2", "3", "high"] * 8],
    ids=["ranges", "nothing else", "words"],
)
def test_limits_among_other_words_are_categories(values, tmp_path):
    table = read_table(write(tmp_path / "data.csv", values, "age"), "ill")
    assert table.kinds == {"age": "categorical"} and not table.limits


def test_a_decimal_comma_is_that_of_the_file(tmp_path):
    lines = [
        f"{value};{'ny'[at % 2]}" for at, value in enumerate(["<0,2", "1,5", "2,5", "3,5"] * 6)
    ]
    (tmp_path / "data.csv").write_text("\n".join(["crp;ill", *lines]))
    table = read_table(tmp_path / "data.csv", "ill")
    assert column(table.columns).tolist() == [0.1, 1.5, 2.5, 3.5] * 6


def test_a_model_of_an_earlier_version_reads_limits_as_missing(tmp_path):
    record = write_preparation(learned(read_table(write(tmp_path / "data.csv"), "ill")))
    del record["missing"]["below_detection"], record["missing"]["limited"]
    missing = read_preparation(Record(record)).missing
    notes = []
    ((rows, _),) = read_rows(tmp_path / "data.csv", ["crp"], {}, missing=missing, notes=notes)
    assert_array_equal(column(rows), 4 * READ_AS["missing"])
    assert notes == ["words among numbers, read as missing: crp (16)"]


def test_frames_are_read_in_the_same_way():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"crp": CRP[:8] * 4, "dose": np.arange(32.0)})
    model = TableClassifier().fit(frame, np.arange(32) % 2)
    halved = frame.assign(crp=READ_AS["half"][:8] * 4)
    assert_array_equal(model.predict_proba(frame), model.predict_proba(halved))


# Signs that numbers are read without.


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (["12%", "3%", "4.5 %"] * 8, ["x: percentages are read as proportions, 12% as 0.12"]),
        (['"1,200"', '"3,000"', "700"] * 8, ["x: separators between thousands are removed"]),
        (["1.5", "2.5", "x"] + ["3.5"] * 30, []),
    ],
    ids=["percents", "thousands", "a word"],
)
def test_only_the_signs_that_a_column_has_are_told(values, told, tmp_path):
    table = read_table(write(tmp_path / "data.csv", values, "x"), "ill")
    assert [n for n in table.notes if "percent" in n or "separators" in n] == told
