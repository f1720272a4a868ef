"""All file formats; a file has the first that its name, or else its content, belongs to."""

import re
from os import PathLike
from typing import Any

from tamis.tables.errors import InputError
from tamis.tables.formats.arrays import Npy, Npz
from tamis.tables.formats.delimited import Csv, Tsv
from tamis.tables.formats.excel import Xlsx
from tamis.tables.formats.h5ad import H5ad
from tamis.tables.formats.parquet import Parquet
from tamis.tables.formats.reader import FormatReader
from tamis.tables.formats.source import Source, readable
from tamis.tables.formats.svmlight import Svmlight

_READERS: tuple[type[FormatReader], ...] = (Csv, Tsv, Xlsx, Svmlight, Npz, Npy, Parquet, H5ad)
FORMATS = {reader.format: reader for reader in _READERS}
_PACKED = (".gz", ".bz2", ".zst")
# How JSON files begin, unlike nearly every table.
_JSON = re.compile(r"^\s*(\{\s*[\"}]|\[\s*[\[{\"\]])")


def open_reader(
    path: str | PathLike, format: str | None = None, max_size: int | None = None, **options: Any
) -> FormatReader:
    """The reader of a file; parameters as in `read_table`, `options` those of `FormatReader`."""
    if format is not None and format not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    source = Source(path, format or "a table", max_size, FORMATS)
    if format is None:
        with readable(source):
            source.format = _detect(source)
    return FORMATS[source.format](source, **options)


def _detect(source):
    suffixes = [suffix.lower() for suffix in source.path.suffixes]
    if suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    for name, reader in FORMATS.items():
        if suffix in reader.suffixes:
            return name
    if suffix in (".xls", ".xlsb", ".ods"):
        raise InputError(f"{source.name} is a spreadsheet: save it as xlsx or CSV first")
    head = source.head()
    is_json = suffix in (".json", ".jsonl", ".ndjson")
    if is_json or _JSON.match(head.decode("latin-1")):
        raise InputError(
            f"{source.name} is JSON, not a table: convert it first, for instance with"
            " pandas.read_json(...).to_csv(...)"
        )
    found = (name for name, reader in FORMATS.items() if reader.recognises(head))
    return next(found, "csv")
