"""How often a file is opened while it is read."""

import gzip
import sys

import numpy as np
import pytest

from tamis.tables import read_rows, read_table
from tests.tables.test_bad_files import h5ad_bytes, npy_bytes, npz_bytes, parquet_bytes, svm_bytes

TEXT = "u,color,v,y\n" + "".join(
    f"{i / 4},{['red', 'blue'][i % 2]},{i * i % 17},{'ab'[i % 2]}\n" for i in range(300)
)
LATE_WORD = TEXT + "1,red,unknown,a\n"
QUOTED = TEXT.replace("red", '"re,d"')
# The file, its content, the column of labels, and how often Python opens it.
FILES = {
    "CSV": ("t.csv", TEXT.encode(), "y", 1),
    "TSV": ("t.tsv", TEXT.replace(",", "\t").encode(), "y", 1),
    "CSV packed with gzip": ("t.csv.gz", gzip.compress(TEXT.encode()), "y", 1),
    "UTF-16": ("t.csv", TEXT.encode("utf-16"), "y", 1),
    "quotes": ("t.csv", QUOTED.encode(), "y", 1),
    "format from content": ("t.dat", TEXT.encode(), "y", 2),
    "packed format from content": ("t.gz", gzip.compress(TEXT.encode()), "y", 2),
    "word after the first rows": ("t.csv", LATE_WORD.encode(), "y", 1),
    "svmlight": ("t.svm", svm_bytes(), None, 1),
    "npz": ("t.npz", npz_bytes(), None, 1),
    "npy": ("t.npy", npy_bytes(), -1, 1),
}
# pyarrow and h5py open files in C, where Python does not see it.
COMPILED = {"parquet": ("t.parquet", parquet_bytes), "h5ad": ("t.h5ad", h5ad_bytes)}

LISTENERS = []


def _hear(event, args):
    for opened in LISTENERS if event == "open" else ():
        opened.append(str(args[0]))


sys.addaudithook(_hear)


def count_opens(path, call):
    """How often Python opens a file during a call."""
    opened = []
    LISTENERS.append(opened)
    try:
        call()
    finally:
        LISTENERS.remove(opened)
    return opened.count(str(path))


@pytest.mark.parametrize("name", FILES)
def test_reading_opens_a_file_once(tmp_path, name):
    file_name, content, target, n_opens = FILES[name]
    path = tmp_path / file_name
    path.write_bytes(content)
    tables = []
    assert count_opens(path, lambda: tables.append(read_table(path, target))) == n_opens
    table = tables[0]
    rows = []
    opened = count_opens(
        path, lambda: rows.extend(read_rows(path, table.columns.names, table.kinds, chunk_rows=50))
    )
    assert opened == n_opens
    assert sum(chunk.n_rows for chunk, _ in rows) == table.n_rows


@pytest.mark.parametrize("name", COMPILED)
def test_binary_files_are_opened_by_their_library_alone(tmp_path, monkeypatch, name):
    file_name, make = COMPILED[name]
    path = tmp_path / file_name
    path.write_bytes(make())
    calls = []
    if name == "parquet":
        library, opener = pytest.importorskip("pyarrow"), "OSFile"
    else:
        library, opener = pytest.importorskip("h5py"), "File"
    original = getattr(library, opener)

    def counted(file, *args, **kwargs):
        calls.append(str(file))
        return original(file, *args, **kwargs)

    monkeypatch.setattr(library, opener, counted)
    tables = []
    assert count_opens(path, lambda: tables.append(read_table(path, "y"))) == 0
    assert calls == [str(path)]
    names = tables[0].columns.names
    assert count_opens(path, lambda: list(read_rows(path, names, tables[0].kinds))) == 0
    assert calls == [str(path), str(path)]


def test_a_second_reading_gives_the_same_lines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(LATE_WORD)
    table = read_table(path, "y", categorical=["v"])
    expected = [str(i * i % 17) for i in range(300)]
    assert table.columns.others["v"].tolist() == [*expected, "unknown"]
    np.testing.assert_array_equal(table.columns.numeric[:, 0], [*(np.arange(300) / 4), 1])
