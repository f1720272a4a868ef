"""`read_rows`: the columns that a model needs, read as in training, a chunk at a time."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from os import PathLike

from tamis.tables.columns.missing import MissingWords
from tamis.tables.columns.table import Columns
from tamis.tables.columns.values import without_numbers
from tamis.tables.columns.wanted import Wanted
from tamis.tables.errors import EmptyTableError, InputError
from tamis.tables.formats.registry import open_reader
from tamis.tables.formats.source import readable


def read_rows(
    path: str | PathLike,
    columns: Iterable[str],
    kinds: dict | None = None,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    layer: str | None = None,
    sheet: str | None = None,
    transpose: bool = False,
    drop: Iterable[str] = (),
    missing: MissingWords | None = None,
    max_size: int | None = None,
    chunk_rows: int = 10_000,
    extra: Iterable[str] = (),
    notes: list | None = None,
    lacking: list | None = None,
    shares: Iterable[str] = (),
) -> Iterator[tuple[Columns, dict]]:
    """Read some columns by their names, a chunk of rows at a time.

    Memory use is constant for CSV, TSV, xlsx, parquet, npy, svmlight and h5ad; npz files, and
    tables with features in rows, are read as a whole and returned in chunks.

    Parameters
    ----------
    path : str or path
        The file.
    columns : list of str
        Names of the columns that a model needs; other columns are ignored.
    kinds : dict of str to {"categorical", "text"}
        Kinds of columns of words; all others are numbers.
    format, delimiter, encoding, layer, sheet, transpose
        As in `read_table`.
    drop : list of str
        Columns of a transposed text file that are not samples.
    missing : MissingWords, optional
        Words that stand for missing values, from the preparation of the model; by default the
        usual ones.
    max_size : int, optional
        As in `read_table`, for formats that are read as a whole.
    chunk_rows : int, default=10_000
        Maximum number of rows in a chunk.
    extra : list of str
        Columns to return unchanged if the file has them: labels, names of rows. "ids" stands for
        the names of rows of npz, h5ad and transposed files.
    notes : list, optional
        Receives, after the last chunk, messages about values that were read as missing, or as
        percents.
    lacking : list, optional
        Receives the names of columns that are not in the file; their values are then missing.
        Without this list, or if the file has none of the columns, an error is raised.
    shares : list of str
        Columns of percents from 0 to 100 in training: in them, 95 without a sign is 95 %.

    Yields
    ------
    table : Columns
        The columns in the order of `columns`, numbers first.
    extras : dict of str to ndarray of shape (n_rows,)
        Those of `extra` that the file has.

    Raises
    ------
    EmptyTableError
        If the file has columns but no rows.
    """
    written = {"delimiter": delimiter, "encoding": encoding, "layer": layer, "sheet": sheet}
    reader = open_reader(path, format, max_size, transpose=transpose, **written)
    reader.refuse_sheet()
    missing = missing or MissingWords()
    names = list(columns), kinds or {}, list(extra)
    wanted = Wanted(*names, reader.source.name, missing, lacking, list(shares))
    if drop and not (reader.is_text and transpose):
        raise InputError(
            "--drop is for columns of a --transpose text file that are not samples; columns that"
            " the model does not need are ignored anyway"
        )
    chunks = reader.rows(wanted, chunk_rows, list(drop))
    return _checked(chunks, reader.source, wanted, notes)


def _checked(chunks, source, wanted, notes):
    """The chunks; every error on the way becomes one line."""
    n_rows = 0
    missing_numbers = wanted.missing.numbers if wanted.missing.words else ()
    with readable(source):
        for table, extras in chunks:
            n_rows += table.numeric.shape[0]
            if missing_numbers:
                table = replace(table, numeric=without_numbers(table.numeric, missing_numbers))
            yield wanted.with_lacking(table), extras
    if n_rows == 0:
        raise EmptyTableError(f"{source.name} has no rows")
    if notes is not None:
        notes += wanted.messages()
