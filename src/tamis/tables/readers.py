"""`read_table`: one function for all formats."""

from collections.abc import Iterable
from os import PathLike

from tamis.tables.errors import InputError
from tamis.tables.limits import Budget
from tamis.tables.raw import find_column
from tamis.tables.roles import Wishes, assign_roles
from tamis.tables.source import check_path, format_of, name_of, readable
from tamis.tables.table import Table
from tamis.tables.targets import read_labels

__all__ = ["read_raw", "read_table"]


def read_table(
    path: str | PathLike,
    target: str | int | None = None,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    layer: str | None = None,
    transpose: bool = False,
    target_file: str | PathLike | None = None,
    id_column: str | None = None,
    groups: str | None = None,
    batch: str | None = None,
    weights: str | None = None,
    text: Iterable[str] = (),
    categorical: Iterable[str] = (),
    drop: Iterable[str] = (),
    include: Iterable[str] = (),
    missing: str = "impute",
    missing_values: Iterable[str] | None = None,
    require_target: bool = True,
    max_size: int | None = None,
) -> Table:
    """Read a table of features with the classes of its rows.

    Where the labels are:

    ============ ===================================================================
    CSV, TSV     the column `target`; in a file without header also its place (-1)
    parquet      the column `target`
    svmlight     the first word of every line; called "target"
    npz          the array `target`, "y" when not said
    npy          the column `target`: x3, or its place; in a structured array by name
    h5ad         the column `target` of ``obs``
    any          `target_file`
    ============ ===================================================================

    Parameters
    ----------
    path : str or path
        The file; text may be packed with gzip.
    target : str or int, optional
        Name of the labels; where columns have no names, x0, x1, ... or a place counted from 0,
        or from the end when negative.
    format : {"csv", "tsv", "svmlight", "npz", "npy", "parquet", "h5ad"}, optional
        Found by the file's name, else by its first bytes.
    delimiter, encoding : str, optional
        Of text; found when not said.
    layer : str, optional
        Layer of an h5ad file in place of ``X``; "raw" for ``raw/X``.
    transpose : bool, default=False
        Whether features lie in rows: in text the first column then holds their names and the
        first line names the samples.
    target_file : str or path, optional
        Labels in a file of their own: with names of rows, or one a line in the rows' order.
    id_column, groups, batch, weights : str, optional
        Columns that name the rows, say whom they belong to, where they come from, how much they
        count.
    text, categorical, drop, include : list of str
        Columns to use for their words; as categories; not at all; although they look like names,
        dates or text. They overrule every guess. With `transpose`, `drop` can also name columns of
        a text file that are no samples, such as descriptions of the features.
    missing : {"impute", "error"}, default="impute"
        Whether missing values are only reported, or refused.
    missing_values : list of str, optional
        What stands for a missing value, exactly as it is written (numbers: by their value); the
        empty field does, too. When not said: NA, NaN, NULL, N/A, #N/A and <NA> in upper or lower
        case, unless such a word is evidently one of a column's categories (NA among DE, FR, ...).
    require_target : bool, default=True
        Whether a table without labels, or with too few of them to learn from, is refused.
    max_size : int, optional
        Bytes of memory that the table may take; a larger one is refused before it is read. Half
        of the memory that is available (to the container) when not said.

    Returns
    -------
    Table
        Features with their kinds, labels, names of rows, and notes on all that was guessed.

    Raises
    ------
    InputError
        For every file or call that cannot be used, in one line.
    """
    path = check_path(path)
    wishes = Wishes(
        target=target,
        id_column=id_column,
        groups=groups,
        batch=batch,
        weights=weights,
        text=text,
        categorical=categorical,
        drop=drop,
        include=include,
        missing=missing,
        missing_values=missing_values,
        require_target=require_target,
    )
    in_words = [target, id_column, groups, batch, *wishes.text]
    raw = read_raw(
        path,
        format=format,
        delimiter=delimiter,
        encoding=encoding,
        layer=layer,
        transpose=transpose,
        as_written=[name for name in in_words if name is not None],
        drop=wishes.drop,
        missing=wishes.missing_words.spellings,
        max_size=max_size,
    )
    labels = None
    if target_file is not None:
        name, values, used_id = read_labels(
            target_file,
            raw,
            target=target,
            id_column=id_column,
            encoding=encoding,
            notes=raw.notes,
            max_size=max_size,
        )
        labels = name, values
        if wishes.id_column is None:
            wishes.id_column = used_id
    return assign_roles(raw, wishes, labels)


def read_raw(
    path,
    *,
    format=None,
    delimiter=None,
    encoding=None,
    layer=None,
    transpose=False,
    as_written=(),
    drop=(),
    missing=frozenset(),
    max_size=None,
    expected=None,
):
    """All columns of a file of any format.

    Parameters
    ----------
    path : Path
        The file.
    format, delimiter, encoding, layer, transpose
        As in `read_table`.
    as_written : list of str or int
        Columns that are words, even if they look like numbers: labels, names of rows.
    drop : list of str
        Columns that are no samples, where features lie in rows.
    missing : frozenset of str
        Words that stand for a missing value among numbers; in columns of words they stay.
    max_size : int or None
        Bytes of memory that the table may take; None: half of what is available.
    expected : list of str, optional
        Names some of which are in the header, where known.

    Returns
    -------
    RawTable
        The columns.
    """
    with readable(path, format or "a table"):
        format = format_of(path, format)
    if layer is not None and format != "h5ad":
        raise InputError(f"layer is for h5ad files, {name_of(path)} is read as {format}")
    if transpose and format in ("svmlight", "parquet"):
        raise InputError(f"transpose is for CSV, TSV, npz and npy files, not for {format}")
    budget = Budget(name_of(path), max_size)
    with readable(path, format):
        if format in ("csv", "tsv") and transpose:
            from tamis.tables.transposed import read_transposed

            return read_transposed(path, missing, budget, delimiter, encoding, as_written, drop)
        if format in ("csv", "tsv"):
            return _read_text(path, delimiter, encoding, as_written, missing, budget, expected)
        if format == "svmlight":
            from tamis.tables.svmlight import read_svmlight

            return read_svmlight(path, budget)
        if format == "npz":
            from tamis.tables.arrays import read_npz

            return read_npz(path, budget, transpose)
        if format == "npy":
            from tamis.tables.arrays import read_npy

            return read_npy(path, budget, transpose)
        if format == "parquet":
            from tamis.tables.parquet import read_parquet

            return read_parquet(path, budget)
        from tamis.tables.h5ad import read_h5ad

        return read_h5ad(path, budget, layer, transpose)


def _read_text(path, delimiter, encoding, as_written, missing, budget, expected):
    from tamis.tables.delimited import read_delimited
    from tamis.tables.dialect import sniff

    dialect = sniff(path, budget, delimiter=delimiter, encoding=encoding, expected=expected)
    found = [find_column(name, dialect.names, dialect.has_header) for name in as_written]
    raw = [name for name in found if name is not None]
    return read_delimited(path, dialect, missing, budget, encoding=encoding, raw=raw)
