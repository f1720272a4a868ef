"""Sheets of Excel files are read as the CSV files that they would be saved as."""

import datetime
import io
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tamis.tables import InputError, read_rows, read_table

openpyxl = pytest.importorskip("openpyxl")

HEADER = ["u", "color", "when", "flag", "y"]
ROWS = [
    [i / 4, ["red", "blue"][i % 2], datetime.date(2024, 1, 1 + i), i % 3 == 0, "ab"[i % 2]]
    for i in range(20)
]


def write(path, sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        page = book.create_sheet(name)
        for row in rows:
            page.append(row)
    book.save(path)
    return path


@pytest.fixture
def path(tmp_path):
    first, second = [HEADER, *ROWS], [["v", "y"], *[[i + 0.5, i % 2] for i in range(12)]]
    return write(tmp_path / "t.xlsx", {"data": first, "other": second})


def test_cells_become_columns_of_their_kinds(path):
    data = read_table(path, "y")
    assert data.columns.numeric_names.tolist() == ["u"]
    assert_array_equal(data.columns.numeric[:, 0], np.arange(20) / 4)
    assert data.kinds == {"color": "categorical", "flag": "categorical"}
    assert data.columns.others["flag"][:2].tolist() == ["TRUE", "FALSE"]
    assert data.y.tolist() == ["a", "b"] * 10
    told = "when (dates); to use dates, add a column with an interval in days"
    assert any(told in note for note in data.notes)


@pytest.mark.parametrize("sheet", ["other", "2"])
def test_other_sheets_have_a_name_or_a_number(path, sheet):
    data = read_table(path, "y", sheet=sheet)
    assert_array_equal(data.columns.numeric[:, 0], np.arange(12) + 0.5)
    with pytest.raises(InputError, match="no sheet 'none': it has data, other"):
        read_table(path, "y", sheet="none")


def test_rows_for_predictions_are_those_of_training(path):
    data = read_table(path, "y")
    chunks = list(read_rows(path, data.columns.names, data.kinds, extra=["y"], chunk_rows=7))
    assert_array_equal(np.concatenate([c.numeric for c, _ in chunks]), data.columns.numeric)
    words = np.concatenate([c.others["color"] for c, _ in chunks])
    assert words.tolist() == data.columns.others["color"].tolist()
    assert chunks[0][1]["y"].tolist() == ["a", "b"] * 3 + ["a"]


def test_the_format_is_found_by_its_bytes(path):
    other = path.with_suffix(".data")
    path.rename(other)
    assert read_table(other, "y").n_rows == 20


def test_empty_cells_and_rows(tmp_path):
    rows = [["u", "v", "y", None], [1, None, "a"], [], [2.5, 3, "b"], [4, "NA", "a"], [5, 6, "b"]]
    data = read_table(write(tmp_path / "t.xlsx", {"data": rows}), "y")
    assert_array_equal(data.columns.numeric, [[1, np.nan], [2.5, 3], [4, np.nan], [5, 6]])


def test_rows_that_are_too_long_are_named(tmp_path):
    rows = [["u", "y"], *[[i, i % 2] for i in range(200)], [1, 2, 3]]
    with pytest.raises(InputError, match=r"t\.xlsx line 202: expected 2 fields, found 3"):
        read_table(write(tmp_path / "t.xlsx", {"data": rows}), "y")


def test_sheets_of_other_formats_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("u,y\n1,a\n2,b\n")
    np.save(tmp_path / "t.npy", np.eye(3))
    for name in ("t.csv", "t.npy"):
        with pytest.raises(InputError, match="sheet is for xlsx files"):
            read_table(tmp_path / name, "y", sheet="data")
        with pytest.raises(InputError, match="sheet is for xlsx files"):
            list(read_rows(tmp_path / name, ["u"], sheet="data"))


def test_archives_that_unpack_to_too_much_are_refused(path):
    content = path.read_bytes()
    out = io.BytesIO(content)
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/zeros.bin", bytes(30_000_000))
    path.write_bytes(out.getvalue())
    assert path.stat().st_size < 100_000
    with pytest.raises(InputError, match=r"needs about 30\.\d MB of memory.*max_size="):
        read_table(path, "y", max_size=10_000_000)
    assert read_table(path, "y", max_size=100_000_000).n_rows == 20


def test_damaged_files_give_one_line(path):
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(InputError, match=r"cannot read t\.xlsx as xlsx"):
        read_table(path, "y")
