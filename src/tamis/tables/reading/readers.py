"""`read_table`: one function for all file formats."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from inspect import unwrap
from os import PathLike
from typing import TYPE_CHECKING, ParamSpec

from tamis.tables.columns.raw import RawTable
from tamis.tables.columns.roles import Wishes, assign_roles
from tamis.tables.columns.table import Table
from tamis.tables.errors import InputError, in_python
from tamis.tables.formats.registry import open_reader
from tamis.tables.reading.targets import read_labels

if TYPE_CHECKING:
    from tamis.tables.formats.sampling import KeepRows


_P = ParamSpec("_P")


def _in_parameters(read: Callable[_P, Table]) -> Callable[_P, Table]:
    """As a function that reads a table, with notes that name parameters instead of options."""

    @wraps(read)
    def read_in_python(*args: _P.args, **kwargs: _P.kwargs) -> Table:
        table = read(*args, **kwargs)
        table.notes[:] = [in_python(note) for note in table.notes]
        return table

    return read_in_python


@_in_parameters
def read_table(
    path: str | PathLike,
    target: str | int | None = None,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    layer: str | None = None,
    sheet: str | None = None,
    transpose: bool = False,
    target_file: str | PathLike | None = None,
    id_column: str | None = None,
    groups: str | None = None,
    batch: str | None = None,
    weights: str | None = None,
    time: str | None = None,
    subgroups: Iterable[str] = (),
    text: Iterable[str] = (),
    categorical: Iterable[str] = (),
    drop: Iterable[str] = (),
    include: Iterable[str] = (),
    missing: str = "impute",
    missing_values: Iterable[str] | None = None,
    choices: Mapping[str, Iterable[str]] | None = None,
    unlisted: Iterable[str] = (),
    below_detection: str | None = "half",
    require_target: bool = True,
    max_size: int | None = None,
    keep_rows: "KeepRows | None" = None,
) -> Table:
    """Read a file of features and labels.

    Where the labels are, by format:

    ============ ===================================================================
    CSV, TSV     the column `target`; in a file without header also its position (-1)
    xlsx         as in CSV
    parquet      the column `target`
    svmlight     the first word of every line; called "target"
    npz          the array `target`; "y" by default
    npy          the column `target`: x3, or its position; in a structured array its name
    h5ad         the column `target` of ``obs``
    any          `target_file`
    ============ ===================================================================

    Parameters
    ----------
    path : str or path
        The file; text may be compressed with gzip, bzip2 or zstd.
    target : str or int, optional
        Name of the column of labels. If columns have no names: x0, x1, ... or a position, counting
        from 0, or from the end if negative.
    format : {"csv", "tsv", "xlsx", "svmlight", "npz", "npy", "parquet", "h5ad"}, optional
        By default detected from the name of the file, or else from its content.
    delimiter, encoding : str, optional
        Of a text file; detected by default.
    layer : str, optional
        Layer of an h5ad file to read instead of ``X``; "raw" for ``raw/X``.
    sheet : str, optional
        Sheet of an xlsx file: its name, or its number from 1; by default the first one.
    transpose : bool, default=False
        Whether features are in rows. In a text file, the first column then holds their names and
        the first line the names of the samples.
    target_file : str or path, optional
        A separate file of labels: with the names of the rows, or one label per line in the order
        of the rows.
    id_column, groups, batch, weights : str, optional
        Columns with the names of the rows, the groups they belong to (patients), the batches they
        come from (laboratories), and their sample weights.
    time : str, optional
        Column that says when each row was measured: numbers or dates.
    subgroups : list of str
        Columns of which every value has its own score; they stay features.
    text, categorical, drop, include : list of str
        Columns to use as text; as categories; not at all; even if they look like names of rows,
        dates or text. They take precedence over what is detected. With `transpose`, `drop` can
        also name columns of a text file that are not samples, such as descriptions.
    missing : {"impute", "error"}, default="impute"
        Whether missing values are reported or raise an error.
    missing_values : list of str, optional
        Words that stand for a missing value, exactly as written (numbers: by their value), in
        addition to empty fields. By default NA, NaN, NULL, N/A, #N/A and <NA> in upper or lower
        case, unless such a word is evidently a category of its column (NA among DE, FR, ...).
    choices : dict of str to list of str, optional
        Categories that columns may have; another value raises an error that names it.
    unlisted : list of str
        Columns of `choices` in which another value is missing instead.
    below_detection : {"half", "limit", "missing"}, default="half"
        What "<0.1" is read as among numbers: half of the limit, the limit, or a missing value;
        ">100" is the limit, or missing.
    require_target : bool, default=True
        Whether a table without labels, or with too few for training, raises an error.
    max_size : int, optional
        Bytes of memory that the table may use; a larger one raises an error before it is read. By
        default half of the memory that is available (to the container).
    keep_rows : callable, optional
        Which rows to read: see `tamis.tables.formats.sampling`. By default all.

    Returns
    -------
    Table
        Features with their kinds, labels, names of rows, and notes about what was detected.

    Raises
    ------
    InputError
        If the file or the arguments cannot be used; the message is one line.
    """
    if not isinstance(path, str | PathLike):
        raise InputError(
            f"read_table reads files: expected a path, got {type(path).__name__}. compare and "
            "TableClassifier take frames and arrays; tamis.dask and tamis.spark train on those of "
            "a cluster."
        )
    wishes = Wishes(
        target=target,
        id_column=id_column,
        groups=groups,
        batch=batch,
        weights=weights,
        time=time,
        subgroups=subgroups,
        text=text,
        categorical=categorical,
        drop=drop,
        include=include,
        missing=missing,
        missing_values=missing_values,
        require_target=require_target,
        choices=choices,
        unlisted=unlisted,
        below_detection=below_detection,
    )
    in_words = [target, id_column, groups, batch, *wishes.text]
    raw = read_raw(
        path,
        format=format,
        delimiter=delimiter,
        encoding=encoding,
        layer=layer,
        sheet=sheet,
        transpose=transpose,
        as_written=[name for name in in_words if name is not None],
        drop=wishes.drop,
        missing=wishes.missing_words.spellings,
        max_size=max_size,
        keep_rows=keep_rows,
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
    return assign_roles(raw, wishes, labels, getattr(keep_rows, "weights", None))


#: As `read_table`, with notes that name options of the command.
read_for_command: Callable[..., Table] = unwrap(read_table)


def read_raw(
    path: str | PathLike,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    layer: str | None = None,
    sheet: str | None = None,
    transpose: bool = False,
    as_written: Collection[str | int] = (),
    drop: Collection[str] = (),
    missing: frozenset[str] = frozenset(),
    max_size: int | None = None,
    keep_rows: "KeepRows | None" = None,
) -> RawTable:
    """Read all columns of a file of any format."""
    written = {"delimiter": delimiter, "encoding": encoding, "layer": layer, "sheet": sheet}
    reader = open_reader(path, format, max_size, transpose=transpose, **written)
    return reader.read(keep_rows, as_written=as_written, drop=drop, missing=missing)
