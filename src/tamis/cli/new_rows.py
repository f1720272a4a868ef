"""Read the rows of DATA for a saved model in chunks, so that memory use stays bounded."""

from itertools import chain

from tamis.cli.progress import say
from tamis.tables import MissingWords
from tamis.tables.errors import EmptyTableError, InputError, listed

__all__ = ["missing_words", "read_new"]

# Values per chunk; most and fewest rows per chunk.
_VALUES, _MOST_ROWS, _FEWEST_ROWS = 2_000_000, 10_000, 50


def read_new(options, model, *, extra=(), width=None, allow_empty=True, tell=say):
    """Read the rows of DATA in chunks.

    Values that are treated as missing are reported: absent columns after the first chunk, words in
    numeric columns after the last one.

    Parameters
    ----------
    options : Namespace
        Options of the command: `data`, `id_column`, and how to read.
    model : TableModel
    extra : list of str
        Other columns to return if the file has them.
    width : int or None
        Values held per row; None: one per column of the model.
    allow_empty : bool
        Whether a table without rows gives a message instead of an error.
    tell : callable
        Called with each message; the default writes it to standard error.

    Returns
    -------
    name : str
        Heading for the names of the rows: the column of `--id`, or "row".
    chunks : iterator of (Columns, list, dict)
        The model's columns; names of the rows, or their numbers from 1; other columns.
    """
    from tamis.tables import read_rows

    width = max(1, model.preparation.n_columns if width is None else width)
    notes, absent = [], ([] if model.asks else None)
    wanted = [*extra, *([options.id_column] if options.id_column else [])]
    rows = read_rows(
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
        lacking=absent,
    )
    name = options.id_column or "row"
    try:
        # Reading the first chunk raises an error for absent columns before anything is written.
        first = next(rows)
    except EmptyTableError as error:
        if not allow_empty:
            raise
        tell(f"{error}: nothing to predict")
        return name, iter(())
    if absent:
        tell(f"columns not in the file, treated as missing: {listed(absent, 10)}")
    if options.id_column and options.id_column not in first[1]:
        raise InputError(f"--id {options.id_column}: {options.data} has no such column.")
    return name, _number(chain([first], rows), options.id_column, notes, tell)


def missing_words(options, model):
    """Words that stand for missing values: those of the options, else those used in training."""
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
