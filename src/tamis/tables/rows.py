"""`read_rows`: rows for a model that exists, a chunk at a time, in constant memory."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from os import PathLike

import numpy as np

from tamis.tables.errors import EmptyTableError, InputError, listed, require_names
from tamis.tables.limits import Budget
from tamis.tables.missing import MissingWords
from tamis.tables.raw import tell_repeated, without_numbers
from tamis.tables.readers import read_raw
from tamis.tables.source import check_path, format_of, name_of, readable
from tamis.tables.table import Columns
from tamis.tables.wanted import Wanted, as_objects

__all__ = ["read_rows"]

_CHUNK_FIELDS = 1_000_000


def read_rows(
    path: str | PathLike,
    columns: Iterable[str],
    kinds: dict | None = None,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    layer: str | None = None,
    transpose: bool = False,
    drop: Iterable[str] = (),
    missing: MissingWords | None = None,
    max_size: int | None = None,
    chunk_rows: int = 10_000,
    extra: Iterable[str] = (),
    notes: list | None = None,
    lacking: list | None = None,
) -> Iterator[tuple[Columns, dict]]:
    """Read some columns by their names, a chunk of rows at a time.

    Memory stays constant for CSV, TSV, parquet, npy and svmlight; the other formats are read
    whole and handed over in chunks.

    Parameters
    ----------
    path : str or path
        The file.
    columns : list of str
        Names of the columns a model needs; others in the file are ignored.
    kinds : dict of str to {"categorical", "text"}
        Which of them are words; all others are numbers.
    format, delimiter, encoding, layer, transpose
        As in `read_table`.
    drop : list of str
        Columns of a transposed text file that are no samples.
    missing : MissingWords, optional
        Words that stand for missing values, as a model's preparation has them; when not said, the
        usual ones.
    max_size : int, optional
        As in `read_table`, for formats that are read whole.
    chunk_rows : int, default=10_000
        Most rows of a chunk.
    extra : list of str
        Columns to hand over as they are, where the file has them: labels, names of rows. "ids"
        stands for the names of rows of npz, h5ad and transposed files.
    notes : list, optional
        Receives, at the end, what was read as missing although it was there.
    lacking : list, optional
        Receives the columns that the file does not have, all of whose values are then missing.
        Without it, or when the file has none of the columns, that is an error.

    Yields
    ------
    table : Columns
        The columns in the order of `columns`, numbers first.
    extras : dict of str to ndarray of shape (n_rows,)
        Those of `extra` that the file has.

    Raises
    ------
    EmptyTableError
        When the file has columns and no rows.
    """
    path = check_path(path)
    wanted = Wanted(
        list(columns),
        dict(kinds or {}),
        list(extra),
        name_of(path),
        missing or MissingWords(),
        lacking,
    )
    budget = Budget(name_of(path), max_size)
    with readable(path, format or "a table"):
        format = format_of(path, format)
    if drop and not (format in ("csv", "tsv") and transpose):
        raise InputError(
            "--drop is for columns of a --transpose text file that are no samples; columns that"
            " the model does not need are ignored anyway"
        )
    if format in ("csv", "tsv") and not transpose:
        found = _text_rows(path, wanted, delimiter, encoding, chunk_rows, budget)
    elif format == "parquet" and not transpose:
        from tamis.tables.parquet import iter_parquet

        found = (
            (wanted.from_columns(batch), {name: batch[name] for name in wanted.extra_in(batch)})
            for batch in iter_parquet(path, wanted.needed, chunk_rows, wanted.check)
        )
    elif format == "svmlight":
        found = _svmlight_rows(path, wanted, chunk_rows, budget)
    else:
        options = {"delimiter": delimiter, "encoding": encoding, "layer": layer}
        raw = read_raw(
            path,
            format=format,
            transpose=transpose,
            as_written=wanted.needed_words,
            drop=list(drop),
            missing=wanted.missing.spellings,
            max_size=max_size,
            **options,
        )
        require_names([n for n in drop if n not in raw.dropped], raw.names, "drop")
        found = _raw_rows(raw, wanted, chunk_rows)
    return _watched(found, path, format, wanted, notes)


def _watched(found, path, format, wanted, notes):
    """The chunks, with whatever goes wrong on the way in one line."""
    n_rows = 0
    with readable(path, format):
        for table, extras in found:
            n_rows += table.n_rows
            numeric = without_numbers(table.numeric, wanted.missing.numbers)
            yield wanted.with_lacking(replace(table, numeric=numeric)), extras
    if n_rows == 0:
        raise EmptyTableError(f"{name_of(path)} has no rows")
    if notes is not None and wanted.repeated:
        notes.append(tell_repeated(wanted.repeated))
    if notes is not None and wanted.odd:
        words = [f"{name} ({count:,})" for name, count in wanted.odd.items()]
        notes.append(f"words among numbers, read as missing: {listed(words)}")


def _text_rows(path, wanted, delimiter, encoding, chunk_rows, budget):
    from tamis.tables.delimited import ChunkParser, chunks
    from tamis.tables.dialect import sniff

    dialect = sniff(path, budget, delimiter=delimiter, encoding=encoding, expected=wanted.columns)
    wanted.check(dialect.names, dialect.repeated)
    at = {name: j for j, name in enumerate(dialect.names)}
    # loadtxt wants each column once and in order; the table wants them as the model does.
    order = sorted(set(wanted.numbers), key=at.get)
    numbers = [at[name] for name in order]
    place = [order.index(name) for name in wanted.numbers]
    extra = [name for name in wanted.extra if name in at]
    word_at = sorted({at[name] for name in [*wanted.words, *extra]})
    parser = ChunkParser(dialect, numbers, word_at, wanted.missing.spellings)
    names = np.array(wanted.numbers, dtype=str)
    # Rows of a wide file come in smaller chunks: its lines are held whole.
    n_rows = min(chunk_rows, max(1, _CHUNK_FIELDS // len(dialect.names)))
    for lines in chunks(path, dialect, encoding, budget, n_rows):
        matrix, columns, odd = parser.parse(lines)
        for _, j in odd:
            wanted.count_odd(order[j], 1)
        for name in order:
            wanted.refuse_large(name, at[name] in parser.large)
        if np.isinf(matrix).any():
            for j, name in enumerate(order):
                wanted.refuse_infinite(name, matrix[:, j])
        words = {
            dialect.names[j]: as_objects([word.strip() for word in column])
            for j, column in zip(word_at, columns, strict=True)
        }
        others = {name: wanted.words_of(name, words[name]) for name in wanted.words}
        if place != list(range(len(order))):
            matrix = matrix[:, place]
        yield Columns(matrix, names, others), {name: words[name] for name in extra}


def _svmlight_rows(path, wanted, chunk_rows, budget):
    from tamis.tables.svmlight import iter_svmlight

    if wanted.words:
        raise InputError(
            f"{wanted.source}: svmlight holds numbers only, not {listed(wanted.words)}"
        )
    is_place = [name[:1] == "f" and name[1:].isdecimal() for name in wanted.numbers]
    if not all(is_place):
        wanted.check([name for name, ok in zip(wanted.numbers, is_place, strict=True) if ok])
    at = [int(name[1:]) for name in wanted.numbers]
    names = np.array(wanted.numbers, dtype=str)
    for X, y in iter_svmlight(path, at, chunk_rows, budget):
        if not np.isfinite(X.data).all():
            raise InputError(f"{wanted.source} holds a number that is not finite")
        extras = {"target": y} if "target" in wanted.extra else {}
        yield Columns(X, names), extras


def _raw_rows(raw, wanted, chunk_rows):
    known = [*raw.numeric_names, *raw.others]
    wanted.check(known, raw.repeated)
    at = {name: j for j, name in enumerate(raw.numeric_names)}
    from_numeric = [name for name in wanted.numbers if name in at]
    is_plain = len(from_numeric) == len(wanted.numbers)
    places = [at[name] for name in from_numeric]
    names = np.array(wanted.numbers, dtype=str)
    ids = {} if raw.ids is None else {"ids": raw.ids}
    beside = {**ids, **raw.others, **raw.side}
    for start in range(0, raw.n_rows, chunk_rows):
        rows = slice(start, start + chunk_rows)
        block = raw.numeric[rows]
        is_sparse = hasattr(block, "toarray")

        def column(name, block=block, rows=rows, is_sparse=is_sparse):
            if name not in at:
                return np.asarray(beside[name][rows])
            values = block[:, [at[name]]]
            return (values.toarray() if is_sparse else np.asarray(values)).ravel()

        extras = {name: column(name) for name in wanted.extra if name in beside or name in at}
        if is_plain:
            numeric = block[:, places]
            values = numeric.data if is_sparse else numeric
            if np.isinf(values).any():
                raise InputError(f"{wanted.source} holds an infinite number")
            others = {name: wanted.words_of(name, column(name)) for name in wanted.words}
            yield Columns(numeric if is_sparse else np.asarray(numeric), names, others), extras
        else:
            columns = {name: column(name) for name in wanted.columns}
            yield wanted.from_columns(columns, raw.decimal), extras
