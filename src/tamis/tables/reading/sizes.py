"""How large a table would be in memory, and how much memory `tamis fit` may use.

The size of a table is estimated without reading it: from its header (npy, parquet, h5ad), or from
the size of a text file and the first of its rows. Numbers need 8 bytes each, words 12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamis.tables.columns.values import is_number
from tamis.tables.errors import InputError
from tamis.tables.formats.delimited import expected_rows
from tamis.tables.formats.source import Source, packing_of, unpacked
from tamis.tables.formats.text import sniff

__all__ = ["TableSize", "estimate_size"]

_NUMBER, _WORD, _STORED = 8, 12, 12
_HEAD = 1 << 20


@dataclass(frozen=True)
class TableSize:
    """Estimated size of a table."""

    n_rows: float
    n_columns: int
    n_bytes: float  # in memory

    @property
    def row_bytes(self) -> float:
        """Bytes of a row, at least of one number."""
        return max(float(_NUMBER), self.n_bytes / max(1.0, self.n_rows))


def estimate_size(
    source: Source,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    layer: str | None = None,
) -> TableSize | None:
    """Estimate the size of the table of a file.

    `delimiter`, `encoding`, `layer`: as in `read_table`. Returns `size`: None for formats that are
    always read as a whole.
    """
    if source.format in ("csv", "tsv"):
        return _of_text(source, delimiter, encoding)
    if source.format == "svmlight":
        return _of_svmlight(source)
    if source.format == "npy":
        X = np.load(source.path, mmap_mode="r", allow_pickle=False)
        n_columns = len(X.dtype.names) if X.dtype.names else X.shape[-1]
        return TableSize(X.shape[0], n_columns, X.shape[0] * n_columns * _NUMBER)
    if source.format == "parquet":
        from pyarrow import parquet

        with parquet.ParquetFile(source.path) as file:
            n_rows, n_columns = file.metadata.num_rows, len(file.schema_arrow.names)
        return TableSize(n_rows, n_columns, n_rows * n_columns * _NUMBER)
    if source.format == "h5ad":
        from tamis.tables.formats.h5ad import NotInRowsError, open_h5ad

        try:
            with open_h5ad(source, layer) as file:
                return TableSize(file.shape[0], file.shape[1], file.n_bytes)
        except NotInRowsError:
            return None
    return None


def _unpacking(source):
    """How many bytes a byte of a compressed file becomes, from its beginning."""
    with open(source.path, "rb") as file:
        packing = packing_of(file.read(4))
        file.seek(0)
        if packing is None:
            return 1.0
        n_bytes = len(unpacked(file, packing).read(4 * _HEAD))
        return n_bytes / max(1, min(file.tell(), source.path.stat().st_size))


def _of_text(source, delimiter, encoding):
    dialect = sniff(source, delimiter=delimiter, encoding=encoding)
    dialect.lines.close()
    names, sample = dialect.names, dialect.sample
    if not sample:
        raise InputError(f"{source.name} has a header and no rows")
    n_rows = expected_rows(dialect) * _unpacking(source)
    last = [row for row in sample if len(row) == len(names)] or sample
    n_numbers = sum(is_number(word.replace(",", ".")) or not word.strip() for word in last[-1])
    n_words = len(names) - n_numbers
    return TableSize(n_rows, len(names), n_rows * (_NUMBER * n_numbers + _WORD * n_words))


def _of_svmlight(source):
    with open(source.path, "rb") as file:
        packing = packing_of(file.read(4))
        file.seek(0)
        head = unpacked(file, packing).read(_HEAD)
    n_bytes = source.path.stat().st_size * _unpacking(source)
    share = n_bytes / max(1, len(head))
    n_rows = head.count(b"\n") * share
    return TableSize(n_rows, 0, head.count(b":") * share * _STORED + 8 * n_rows)
