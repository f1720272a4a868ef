"""Rows of DATA for a model that exists, a chunk at a time: memory does not grow with the rows."""

from itertools import chain

from tamis.cli.progress import say
from tamis.tables import MissingWords
from tamis.tables.errors import EmptyTableError, InputError, listed

__all__ = ["missing_words", "read_new"]

# Values of a chunk, and its rows.
_VALUES, _MOST_ROWS, _FEWEST_ROWS = 2_000_000, 10_000, 50


def read_new(options, model, *, extra=(), width=None, allow_empty=True, tell=say):
    """The rows of DATA, in chunks.

    What was read as missing is told: columns that are not there when the first chunk has come,
    words among numbers after the last one.

    Parameters
    ----------
    options : Namespace
        Words of the command: `data`, `id_column`, and how to read.
    model : TableModel
    extra : list of str
        Other columns to hand over, where the file has them.
    width : int or None
        Values that are held for every row; None: those of the model's columns.
    allow_empty : bool
        Whether a table without rows is told, and not an error.
    tell : callable
        Takes a line for the user; the default writes it on standard error.

    Returns
    -------
    name : str
        Of what names a row: the column of `--id`, or "row".
    chunks : iterator of (Columns, list, dict)
        The model's columns; names of the rows, or their numbers from 1 on; other columns.
    """
    from tamis.tables import read_rows

    width = max(1, model.preparation.n_columns if width is None else width)
    notes, lacking = [], ([] if model.asks else None)
    wanted = [*extra, *([options.id_column] if options.id_column else [])]
    found = read_rows(
        options.data,
        model.required,
        model.preparation.kinds,
        format=options.format,
        delimiter=options.delimiter,
        encoding=options.encoding,
        layer=options.layer,
        transpose=options.transpose,
        drop=options.drop,
        missing=missing_words(options, model),
        max_size=options.max_size,
        chunk_rows=max(_FEWEST_ROWS, min(_MOST_ROWS, _VALUES // width)),
        extra=list(dict.fromkeys(wanted)),
        notes=notes,
        lacking=lacking,
    )
    name = options.id_column or "row"
    try:
        # The first chunk tells whether all columns are there, before anything is written.
        first = next(found)
    except EmptyTableError as error:
        if not allow_empty:
            raise
        tell(f"{error}: nothing to predict")
        return name, iter(())
    if lacking:
        tell(f"missing in every row, for there is no such column: {listed(lacking, 10)}")
    if options.id_column and options.id_column not in first[1]:
        raise InputError(f"--id {options.id_column}: {options.data} has no such column.")
    return name, _number(chain([first], found), options.id_column, notes, tell)


def missing_words(options, model):
    """Words that stand for missing values: those that are given, else those of training."""
    if options.missing_values is None:
        return model.preparation.missing
    return MissingWords(list(options.missing_values))


def _number(chunks, id_column, notes, tell):
    n_rows = 0
    for table, extras in chunks:
        if id_column:
            names = [_plain(value) for value in extras[id_column].tolist()]
        else:
            names = list(range(n_rows + 1, n_rows + table.n_rows + 1))
        n_rows += table.n_rows
        yield table, names, extras
    for note in notes:
        tell(note)


def _plain(value):
    if value is None:
        return ""
    return int(value) if isinstance(value, float) and value.is_integer() else value
