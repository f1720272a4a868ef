"""CSV and TSV: what is written is what is read, however it is written."""

import bz2
import csv
import gzip
import io
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tamis.tables import InputError, read_rows, read_table

ROWS = [[1.5, 2.0, "a"], [2.5, -3e-4, "b"], [0.0, 7.25, "a"], [4.0, 1e10, "b"]]


def write(path, text, encoding="utf-8"):
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def lines(delimiter, rows=ROWS, header=("u", "v", "y"), end="\n"):
    rows = [header, *rows] if header else rows
    return "".join(delimiter.join(map(str, row)) + end for row in rows)


@pytest.fixture(params=["one batch", "small batches", "lines"])
def batches(request, monkeypatch):
    """Files are read at once, in batches of a few lines, or split line by line."""
    if request.param == "small batches":
        monkeypatch.setattr("tamis.tables.formats.batches._BLOCK", 100)
        monkeypatch.setattr("tamis.tables.formats.batches._ROWS_PER_BLOCK", 1)
    if request.param == "lines":
        monkeypatch.setattr("tamis.tables.formats.batches._WIDE", 0)
        monkeypatch.setattr("tamis.tables.formats.batches._CHUNK_FIELDS", 30)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " ", "   "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.txt", "t.csv.gz"])
def test_delimiters_and_line_ends_are_found(tmp_path, delimiter, end, name):
    data = read_table(write(tmp_path / name, lines(delimiter, end=end)), "y")
    assert_array_equal(data.columns.numeric, [row[:2] for row in ROWS])
    assert data.columns.numeric_names.tolist() == ["u", "v"]
    assert data.y.tolist() == ["a", "b", "a", "b"]
    assert data.target == "y"


def zstd(content):
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as file:
        file.write(content)
    return out.getvalue().to_pybytes()


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, zstd])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.data.zst"])
def test_compression_is_found_by_its_bytes(tmp_path, pack, name):
    path = tmp_path / name
    path.write_bytes(pack(lines(",", ROWS * 50).encode()))
    assert read_table(path, "y").columns.numeric.shape == (200, 2)
    assert sum(table.n_rows for table, _ in read_rows(path, ["v", "u"], chunk_rows=60)) == 200


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, zstd])
def test_what_unpacks_to_one_endless_line_is_refused(tmp_path, pack):
    path = tmp_path / "t.csv"
    path.write_bytes(pack(lines(",").encode() + b"1" * 3_000_000))
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match="has a line of more than 1"):
        read_table(path, "y", max_size=50_000_000)


COMMENTS = [
    "# made by a program\n# on a Monday, at noon, twice\nu,v,y\n",
    "#!a,b,c\n##x\n\nu,v,y\n",
    "u,v,y\n# the first rows\n",
]


@pytest.mark.parametrize("header", COMMENTS)
def test_comments_are_not_rows(tmp_path, batches, header):
    body = lines(",", ROWS * 6, header=None)
    text = header + body + "# in the middle\n   \n#\n" + body + "# the end\n"
    data = read_table(write(tmp_path / "t.csv", text), "y")
    assert data.columns.names == ["u", "v"]
    assert_array_equal(data.columns.numeric, [row[:2] for row in ROWS * 12])


def test_a_header_may_start_with_a_number_sign(tmp_path):
    text = "# made by a program\n" + lines("\t", header=("#u", "v", "y"))
    data = read_table(write(tmp_path / "t.tsv", text), "y")
    assert data.columns.names == ["#u", "v"]


def test_values_that_start_with_a_number_sign_are_values(tmp_path, batches):
    rows = [[["#ff0000", "#00ff00"][i % 2], i / 3, "pq"[i % 2]] for i in range(10)]
    data = read_table(write(tmp_path / "t.csv", lines(",", rows)), "y")
    assert data.columns.others["u"][:2].tolist() == ["#ff0000", "#00ff00"]
    assert data.n_rows == 10


def test_thousands_and_percent_signs(tmp_path, batches):
    rows = [['"1,234.5"', "12%", "a"], ['"2,000,000"', "7.5 %", "b"], ["17", "NA", "a"]]
    path = write(tmp_path / "t.csv", lines(",", [*rows, ['"-3,001"', "0.3", "b"]]))
    expected = [[1234.5, 0.12], [2e6, 0.075], [17, np.nan], [-3001, 0.3]]
    data = read_table(path, "y")
    assert_array_equal(data.columns.numeric, expected)
    told = ["v: percentages are read as proportions, 12% as 0.12"]
    assert data.notes[:2] == [*told, "u: separators between thousands are removed"]
    found = [table.numeric for table, _ in read_rows(path, ["u", "v"], chunk_rows=3)]
    assert_array_equal(np.concatenate(found), expected)


def test_thousands_of_decimal_commas(tmp_path, batches):
    text = "u;v;y\n1.234,5;2;a\n-0,25;3;b\n7.000;4,125;a\n1e2;5;b\n"
    path = write(tmp_path / "t.csv", text)
    expected = [[1234.5, 2], [-0.25, 3], [7000, 4.125], [100, 5]]
    assert_array_equal(np.sort(read_table(path, "y").columns.numeric), np.sort(expected))
    found = [table.numeric for table, _ in read_rows(path, ["u", "v"])]
    assert_array_equal(np.concatenate(found), expected)


ODD = ["+1.5", " 2", " NA ", ".5", "5.", "-0", "1_0", "0x1", "\u0663", "", "1e-3", "nan", "word"]
VALUES = [1.5, 2, np.nan, 0.5, 5, 0, np.nan, np.nan, 3, np.nan, 1e-3, np.nan, np.nan]


@pytest.mark.parametrize("mark", [".", ","])
def test_odd_numbers_are_read_as_python_reads_them(tmp_path, batches, mark):
    rows = [[7, f"{i}{mark}25", "z"] for i in range(40)]
    rows += [[i, word.replace(".", mark), "z"] for i, word in enumerate(ODD)]
    path = write(tmp_path / "t.csv", lines(";", rows))
    notes = []
    found = [table.numeric for table, _ in read_rows(path, ["v", "u"], notes=notes, chunk_rows=9)]
    found = np.concatenate(found)
    assert_array_equal(found[:, 0], [*(np.arange(40) + 0.25), *VALUES])
    assert_array_equal(found[40:, 1], np.arange(len(ODD)))
    assert notes == ["words among numbers, read as missing: v (3)"]


def test_numbers_beyond_floats_are_refused_everywhere(tmp_path, batches):
    rows = [[i, 2**53 + i, "ab"[i % 2]] for i in range(30)]
    path = write(tmp_path / "t.csv", lines(",", rows))
    with pytest.raises(InputError, match="column v holds integers beyond"):
        read_table(path, "y")
    with pytest.raises(InputError, match="column v holds integers beyond"):
        list(read_rows(path, ["v"]))
    data = read_table(path, "y", categorical=["v"])
    assert data.columns.others["v"][29] == str(2**53 + 29)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_unicode_is_found_by_its_mark(tmp_path, encoding):
    path = write(tmp_path / "t.csv", lines(",", header=("ü", "v", "é")), encoding)
    data = read_table(path, "é")
    assert data.columns.names == ["ü", "v"]


def test_other_encodings_are_asked_for(tmp_path):
    path = write(tmp_path / "t.csv", lines(",", header=("ü", "v", "y")), "latin-1")
    with pytest.raises(InputError, match="encoding=latin-1"):
        read_table(path, "y")
    assert read_table(path, "y", encoding="latin-1").columns.names == ["ü", "v"]
    with pytest.raises(InputError, match="no encoding"):
        read_table(path, "y", encoding="latin-77")


def test_without_header_columns_are_numbered(tmp_path):
    rows = [[1, 2.5, 0], [3, 4.5, 1], [5, 6.5, 0], [7, 8.5, 1]]
    path = write(tmp_path / "t.csv", lines(",", rows, header=None))
    for target in ("x2", "2", "-1", 2, -1):
        data = read_table(path, target)
        assert data.columns.names == ["x0", "x1"]
        assert data.y.tolist() == [0, 1, 0, 1]
    assert any("no header" in note for note in data.notes)


def test_places_count_as_the_file_does(tmp_path):
    rows = [["pq"[i % 2], 5 + i / 7, ["red", "blue"][i % 2], i / 3] for i in range(12)]
    path = write(tmp_path / "t.csv", lines(",", rows, header=None))
    assert read_table(path, 0).target == "x0"
    assert read_table(path, "-2").target == "x2"
    assert read_table(path, "0", categorical=["x2"], drop=[-1]).columns.names == ["x1", "x2"]


def test_values_that_come_back_are_no_header(tmp_path):
    rows = [[5.1, 3.5, "setosa"], [4.9, 3.0, "setosa"], [6.1, 3.5, "other"], [6, 3, "other"]]
    data = read_table(write(tmp_path / "iris.data", lines(",", rows, header=None)), "x2")
    assert data.columns.n_rows == 4


def test_r_leaves_the_names_of_rows_without_a_name(tmp_path):
    text = '"u" "v" "y"\n' + "".join(f'"s{i}" {i}.5 {i + 2} "{"ab"[i % 2]}"\n' for i in range(12))
    data = read_table(write(tmp_path / "t.txt", text), "y")
    assert data.columns.names == ["u", "v"]
    assert data.ids.tolist() == [f"s{i}" for i in range(12)]


def test_quotes_protect_delimiters_quotes_and_line_ends(tmp_path, batches):
    text = 'u,name,y\n1,"a,b",p\n2,"c ""d"" e",q\n3,"f\ng",p\n4,h,q\n'
    data = read_table(write(tmp_path / "t.csv", text), "y", categorical=["name"])
    assert data.columns.others["name"].tolist() == ["a,b", 'c "d" e', "f\ng", "h"]


def test_stray_quotes_in_tabs_are_letters(tmp_path):
    text = "y\ttext\n" + "".join(f'{i % 2}\t"open {i}\n' for i in range(9)) + "1\tclosed\n"
    data = read_table(write(tmp_path / "t.tsv", text), "y", text=["text"])
    assert data.columns.n_rows == 10
    assert data.columns.others["text"][0] == '"open 0'


@pytest.mark.parametrize(
    ("word", "listed"),
    [(w, None) for w in ("", "NA", "NaN", "nan", "null", "N/A", "#N/A", "<NA>", " NA ")]
    + [(w, ["?", "-", "none", "-9", "don't know"]) for w in ("?", "-", "none", "-9.0", " - ", "")]
    + [("don't know", ["don't know"])],
)
def test_missing_values_have_many_names(tmp_path, word, listed):
    rows = [[1, word, "a"], [2, 3, "b"], [word, 5, "a"], [4, 6, "b"]]
    path = write(tmp_path / "t.csv", lines(",", rows))
    data = read_table(path, "y", missing_values=listed)
    assert_array_equal(data.columns.numeric, [[1, np.nan], [2, 3], [np.nan, 5], [4, 6]])
    assert any("2 values missing" in note for note in data.notes)


def test_decimal_commas_are_read_and_told(tmp_path, batches):
    text = "u;v;y\n1,5;2;a\n-0,25;3;b\n7;4,125;a\n1e2;5;b\n"
    data = read_table(write(tmp_path / "t.csv", text), "y")
    assert_array_equal(data.columns.numeric, [[1.5, 2], [-0.25, 3], [7, 4.125], [100, 5]])
    assert any("decimal comma" in note for note in data.notes)


def test_a_word_that_comes_late_makes_a_column_of_words(tmp_path, batches):
    rows = [[i, "b" if i > 60 else 1, "pq"[i % 2]] for i in range(100)]
    data = read_table(write(tmp_path / "t.csv", lines(",", rows)), "y")
    assert data.columns.others["v"].tolist() == ["1"] * 61 + ["b"] * 39
    assert data.kinds == {"v": "categorical"}


@cache
def long_table(n_rows=60_000):
    """Several batches, which pyarrow reads ahead in a thread."""
    rng = np.random.default_rng(0)
    u, v = rng.integers(10**6, size=n_rows), rng.normal(size=n_rows).round(6)
    rows = zip(u.tolist(), v.tolist(), strict=True)
    return u, v, "".join(f"{a},{b!r},{'pq'[a % 2]}\n" for a, b in rows)


@pytest.mark.parametrize("late", ["unknown", " NA ", "+7%", "9007199254740993", '"a"b', "\u0663"])
def test_what_comes_late_in_a_long_file_changes_nothing_before(tmp_path, late):
    u, v, body = long_table()
    path = write(tmp_path / "t.csv", f"u,v,y\n{body}3,{late},p\n")
    data = read_table(path, "y", categorical=["v"])
    assert_array_equal(data.columns.numeric[:, 0], [*u, 3])
    words = data.columns.others["v"]
    assert_array_equal(words[:-1].astype(float), v)
    numbers = read_rows(path, ["u"], {"v": "categorical"}, extra=["v"], chunk_rows=7_000)
    parts = [(table.numeric[:, 0], extras["v"]) for table, extras in numbers]
    assert_array_equal(np.concatenate([part[0] for part in parts]), [*u, 3])
    assert np.concatenate([part[1] for part in parts])[:-1].astype(float).tolist() == v.tolist()


def test_underscores_make_words(tmp_path):
    rows = [["1_0" if i % 2 else "2_0", i / 3, "pq"[i % 2]] for i in range(10)]
    data = read_table(write(tmp_path / "t.csv", lines(",", rows)), "y")
    assert data.kinds == {"u": "categorical"}


@pytest.mark.parametrize("n_broken", [1, 5])
def test_ragged_rows_are_named_with_their_line(tmp_path, batches, n_broken):
    text = lines(",", ROWS * 5) + "1,2\n" * n_broken
    with pytest.raises(InputError, match=r"line 22: expected 3 fields, found 2"):
        read_table(write(tmp_path / "t.csv", text), "y")


def test_ragged_quoted_rows_too(tmp_path, batches):
    text = 'u,v,y\n1,"a,b",c\n1,"a\nb",d\n1,2,3,"4,5"\n1,2,c\n'
    with pytest.raises(InputError, match=r"line 5: expected 3 fields, found 4"):
        read_table(write(tmp_path / "t.csv", text), "y")


def test_a_quote_that_is_open_at_the_end_is_named(tmp_path, batches):
    text = lines(",", ROWS * 30) + '3,4,"b\n' + lines(",", ROWS * 2, header=None)
    with pytest.raises(InputError, match="line 122: a quote is opened and never closed"):
        read_table(write(tmp_path / "t.csv", text), "y")


def test_a_quote_that_never_closes_is_named(tmp_path, batches):
    text = lines(",", ROWS * 30) + '3,"4,b\n' + lines(",", ROWS * 2, header=None)
    with pytest.raises(InputError, match="line 122: a quote is opened and never closed"):
        read_table(write(tmp_path / "t.csv", text), "y")


def test_transposed_files_have_features_in_rows(tmp_path):
    text = "gene\ts1\ts2\ts3\ts4\ng1\t1\t2\t3\t4\ng2\t0.5\tNA\t1.5\t2\nclass\ta\tb\ta\tb\n"
    data = read_table(write(tmp_path / "t.tsv", text), "class", transpose=True)
    assert_array_equal(data.columns.numeric, [[1, 0.5], [2, np.nan], [3, 1.5], [4, 2]])
    assert data.ids.tolist() == ["s1", "s2", "s3", "s4"]
    assert data.y.tolist() == ["a", "b", "a", "b"]


numbers = st.floats(allow_nan=False, allow_infinity=False)
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1).map(
    lambda word: "w" + word.strip() + "w"
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.lists(st.tuples(numbers, words, numbers), min_size=4, max_size=12),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
)
def test_what_is_written_is_read(tmp_path_factory, rows, delimiter, quoting):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, quoting=quoting)
    writer.writerow(["first", "word", "last", "y"])
    writer.writerows([*row, "pq"[i % 2]] for i, row in enumerate(rows))
    path = write(tmp_path_factory.mktemp("round") / "t.csv", out.getvalue())
    data = read_table(path, "y", delimiter=delimiter, categorical=["word"])
    assert_array_equal(data.columns.numeric, [[row[0], row[2]] for row in rows])
    assert data.columns.others["word"].tolist() == [row[1] for row in rows]
