"""`read_rows`: the columns that a model needs, read as in training, a chunk at a time."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from os import PathLike

import numpy as np

from tamis.tables.columns.missing import MissingWords
from tamis.tables.columns.raw import RawTable
from tamis.tables.columns.table import Columns
from tamis.tables.columns.values import without_numbers
from tamis.tables.errors import EmptyTableError, InputError, listed, require_names
from tamis.tables.formats.excel import as_text, refuse_sheet
from tamis.tables.formats.source import Source, readable
from tamis.tables.reading.readers import read_raw
from tamis.tables.reading.wanted import Wanted

__all__ = ["read_rows"]


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
    source = Source(path, format, max_size)
    format = source.format
    refuse_sheet(source, sheet)
    missing = missing or MissingWords()
    names = list(columns), kinds or {}, list(extra)
    wanted = Wanted(*names, source.name, missing, lacking, list(shares))
    if drop and not (format in ("csv", "tsv", "xlsx") and transpose):
        raise InputError(
            "--drop is for columns of a --transpose text file that are not samples; columns that"
            " the model does not need are ignored anyway"
        )
    if format in ("csv", "tsv", "xlsx") and not transpose:
        chunks = _text_rows(source, sheet, wanted, delimiter, encoding, chunk_rows)
    elif format == "parquet" and not transpose:
        from tamis.tables.formats.parquet import iter_parquet

        chunks = (
            (wanted.from_columns(batch), {name: batch[name] for name in wanted.extra_in(batch)})
            for batch in iter_parquet(source, wanted.needed, chunk_rows, wanted.check)
        )
    elif format == "svmlight":
        chunks = _svmlight_rows(source, wanted, chunk_rows)
    elif format == "h5ad" and not transpose:
        chunks = _h5ad_rows(source, layer, wanted, chunk_rows)
    else:
        raw = read_raw(
            source,
            delimiter=delimiter,
            encoding=encoding,
            layer=layer,
            sheet=sheet,
            transpose=transpose,
            as_written=wanted.needed_words,
            drop=list(drop),
            missing=wanted.missing.spellings,
        )
        require_names([n for n in drop if n not in raw.dropped], raw.names, "drop")
        chunks = _raw_rows(raw, wanted, chunk_rows)
    return _checked(chunks, source, wanted, notes)


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


def _text_rows(source, sheet, wanted, delimiter, encoding, chunk_rows):
    with as_text(source, sheet) as text:
        yield from _delimited_rows(text, wanted, delimiter, encoding, chunk_rows)


def _delimited_rows(source, wanted, delimiter, encoding, chunk_rows):
    from tamis.tables.formats.batches import read_batches
    from tamis.tables.formats.delimited import coded
    from tamis.tables.formats.text import sniff

    dialect = sniff(
        source,
        delimiter=delimiter,
        encoding=encoding,
        expected=wanted.columns,
        decimal=wanted.missing.decimal,
    )
    wanted.check(dialect.names, dialect.repeated)
    position = {name: j for j, name in enumerate(dialect.names)}
    # Whether a percent has its sign is known from the words only.
    plain = [name for name in wanted.numbers if name not in wanted.shares]
    numbers = [position[name] for name in plain]
    extra = [name for name in wanted.extra if name in position]
    words = list(dict.fromkeys([*wanted.words, *wanted.shares, *extra]))
    names = np.array(wanted.numbers, dtype=str)
    places = [position[name] for name in words]
    try:
        missing = wanted.missing
        batches = read_batches(
            dialect, numbers, places, missing.spellings, missing.below_detection
        )
        for batch in batches:
            for name in plain:
                wanted.refuse_large(name, position[name] in batch.large)
            for start in range(0, batch.n_rows, chunk_rows):
                part = batch.take(start, start + chunk_rows)
                for j, rows in part.odd.items():
                    wanted.count_odd(dialect.names[j], rows.size)
                if np.isinf(part.numeric).any():
                    for k, name in enumerate(plain):
                        wanted.refuse_infinite(name, part.numeric[:, k])
                columns = {name: coded(part.words[k]) for k, name in enumerate(words)}
                others = {name: wanted.words_of(name, columns[name]) for name in wanted.words}
                # Words as written: an empty one is a word here.
                extras = {name: np.asarray(columns[name]) for name in extra}
                numeric = part.numeric
                for name in wanted.shares:
                    values = wanted.numbers_of(name, columns[name], dialect.decimal)
                    numeric = np.insert(numeric, wanted.numbers.index(name), values, axis=1)
                yield Columns(numeric, names, others), extras
    finally:
        dialect.lines.close()


def _svmlight_rows(source, wanted, chunk_rows):
    from tamis.tables.formats.svmlight import iter_svmlight

    if wanted.words:
        raise InputError(f"{source.name}: svmlight holds only numbers, not {listed(wanted.words)}")
    is_place = [name[:1] == "f" and name[1:].isdecimal() for name in wanted.numbers]
    if not all(is_place):
        wanted.check([name for name, ok in zip(wanted.numbers, is_place, strict=True) if ok])
    numbers = [int(name[1:]) for name in wanted.numbers]
    names = np.array(wanted.numbers, dtype=str)
    for X, y in iter_svmlight(source, numbers, chunk_rows):
        if not np.isfinite(X.data).all():
            raise InputError(f"{source.name} contains a number that is not finite")
        extras = {"target": y} if "target" in wanted.extra else {}
        yield Columns(X, names), extras


def _h5ad_rows(source, layer, wanted, chunk_rows):
    from tamis.tables.formats.h5ad import NotInRowsError, open_h5ad

    try:
        opened = open_h5ad(source, layer)
    except NotInRowsError:
        yield from _raw_rows(read_raw(source, layer=layer), wanted, chunk_rows)
        return
    with opened as file:
        side = [name for name in wanted.extra if name in file.side]
        with_ids = file.has_ids and "ids" in wanted.extra
        for start in range(0, file.shape[0], chunk_rows):
            rows = slice(start, min(start + chunk_rows, file.shape[0]))
            raw = RawTable(
                file.rows(rows),
                file.columns,
                side={name: file.obs(name, rows) for name in side},
                ids=file.ids(rows) if with_ids else None,
                repeated=file.repeated,
            )
            yield from _raw_rows(raw, wanted, chunk_rows)


def _raw_rows(raw, wanted, chunk_rows):
    known = [*raw.numeric_names, *raw.others]
    wanted.check(known, raw.repeated)
    position = {name: j for j, name in enumerate(raw.numeric_names)}
    from_numeric = [name for name in wanted.numbers if name in position]
    is_plain = len(from_numeric) == len(wanted.numbers) and not wanted.shares
    places = [position[name] for name in from_numeric]
    names = np.array(wanted.numbers, dtype=str)
    ids = {} if raw.ids is None else {"ids": raw.ids}
    not_numeric = {**ids, **raw.others, **raw.side}
    present = [name for name in wanted.extra if name in not_numeric or name in position]
    for start in range(0, raw.n_rows, chunk_rows):
        rows = slice(start, start + chunk_rows)
        block = raw.numeric[rows]
        is_sparse = hasattr(block, "toarray")

        def column(name, block=block, rows=rows, is_sparse=is_sparse):
            if name not in position:
                return np.asarray(not_numeric[name][rows])
            values = block[:, [position[name]]]
            return (values.toarray() if is_sparse else np.asarray(values)).ravel()

        extras = {name: column(name) for name in present}
        if is_plain:
            numeric = block[:, places]
            values = numeric.data if is_sparse else numeric
            if np.isinf(values).any():
                raise InputError(f"{wanted.source} contains an infinite number")
            others = {name: wanted.words_of(name, column(name)) for name in wanted.words}
            yield Columns(numeric if is_sparse else np.asarray(numeric), names, others), extras
        else:
            columns = {name: column(name) for name in wanted.columns}
            yield wanted.from_columns(columns, raw.decimal), extras
