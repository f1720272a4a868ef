"""File formats: adding one is a class, and its place in the registry."""

import numpy as np
import pytest

from tamis import read_chunks, read_table
from tamis.comparison.stream_decision import decide
from tamis.tables.columns.raw import RawTable
from tamis.tables.errors import InputError
from tamis.tables.formats.reader import FormatReader
from tamis.tables.formats.registry import FORMATS
from tamis.tables.reading.rows import read_rows


class Blanks(FormatReader):
    """Numbers between blanks."""

    format, suffixes = "blanks", (".blanks",)

    def _read(self, keep_rows, **words):
        return RawTable(np.loadtxt(self.source.path), ["a", "b", "y"])


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setitem(FORMATS, "blanks", Blanks)
    path = tmp_path / "t.blanks"
    path.write_text("1 2 0\n3 4 1\n" * 5, encoding="utf-8")
    return path


def test_a_new_format_is_read_whole_and_in_rows(path):
    assert read_table(path, "y").columns.names == ["a", "b"]
    chunks = list(read_rows(path, ["b"], extra=["y"], chunk_rows=6))
    assert [table.n_rows for table, _ in chunks] == [6, 4]
    assert chunks[1][0].numeric.ravel().tolist() == [2, 4, 2, 4]
    assert chunks[1][1]["y"].tolist() == [0, 1, 0, 1]


def test_a_new_format_says_what_it_cannot_do(path):
    with pytest.raises(InputError, match="blanks cannot be read in chunks; these can: csv, tsv"):
        read_chunks(path, "y")
    with pytest.raises(InputError, match="blanks files are read as a whole"):
        decide(path, {}, "on")
    with pytest.raises(
        InputError, match=r"layer is for h5ad files, but t\.blanks is read as blank"
    ):
        read_table(path, "y", layer="raw")
