"""Parquet files, read with pyarrow."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tamis._base import LARGEST_INTEGER
from tamis.tables.columns.coded import CodedBuilder, as_objects
from tamis.tables.columns.raw import RawTable, unique_names
from tamis.tables.errors import EmptyTableError, InputError, listed, load
from tamis.tables.formats.reader import NUMBER, FormatReader, TableSize
from tamis.tables.formats.source import COLUMN, WORD

_CHUNK_ROWS, _CHUNK_VALUES = 1 << 16, 1 << 23
_BUFFER = 1 << 20


class Parquet(FormatReader):
    """A parquet file."""

    format, suffixes, magic = "parquet", (".parquet", ".pq"), b"PAR1"
    can_transpose, can_stream, can_chunk = False, True, True

    def _read(self, keep_rows, **words):
        return _read_all(self.source, keep_rows)

    def _rows(self, wanted, chunk_rows):
        with _open(self.source.path) as file:
            names = _Names(file.schema_arrow)
            known = [name for name in names.unique if names.kinds[name] is not None]
            wanted.check(known, names.repeated)
            columns = [name for name in dict.fromkeys(wanted.needed) if name in set(known)]
            for batch in names.batches(file, columns, chunk_rows):
                some = {name: _values(_exact(batch.column(name))) for name in columns}
                extras = {name: some[name] for name in wanted.extra_in(some)}
                yield wanted.from_columns(some), extras

    def chunks(self, wishes):
        """Some rows of a row group at a time."""
        return _chunks(*_numeric_batches(self.source), wishes, self.source.name)

    def columns(self) -> tuple[list[str], list[str], bool]:
        """All columns."""
        return _numeric_batches(self.source)[0], [], True

    def size(self) -> TableSize | None:
        """As declared by the metadata."""
        from pyarrow import parquet

        with parquet.ParquetFile(self.source.path) as file:
            n_rows, n_columns = file.metadata.num_rows, len(file.schema_arrow.names)
        return TableSize(n_rows, n_columns, n_rows * n_columns * NUMBER)


@contextmanager
def _open(path):
    """A parquet file of which pages are read when they are needed, not whole files ahead.

    Words stay in dictionaries, because a few long ones may stand for gigabytes of text.
    """
    pa, parquet = (load(n, "reading parquet") for n in ("pyarrow", "pyarrow.parquet"))
    with pa.OSFile(str(path)) as opened:
        first = parquet.ParquetFile(opened)
        words = [field.name for field in first.schema_arrow if _kind(field.type) == "word"]
        yield parquet.ParquetFile(
            opened,
            metadata=first.metadata,
            read_dictionary=words,
            pre_buffer=False,
            buffer_size=_BUFFER,
        )


def _kind(dtype):
    """Whether a column is "number", "word" or neither (None)."""
    from pyarrow import types

    if types.is_dictionary(dtype):
        return _kind(dtype.value_type)
    if (
        types.is_boolean(dtype)
        or types.is_integer(dtype)
        or types.is_floating(dtype)
        or types.is_decimal(dtype)
    ):
        return "number"
    is_date = types.is_temporal(dtype) and not types.is_duration(dtype)
    if types.is_string(dtype) or types.is_large_string(dtype) or is_date:
        return "word"
    return "word" if types.is_null(dtype) or types.is_string_view(dtype) else None


def _is_integer(dtype):
    """Whether all values of a type are integers."""
    from pyarrow import types

    dtype = dtype.value_type if types.is_dictionary(dtype) else dtype
    return types.is_integer(dtype) or (types.is_decimal(dtype) and dtype.scale == 0)


def _is_large(column):
    """Whether a column of integers has one beyond 2**53."""
    from pyarrow import compute, types

    if not _is_integer(column.type):
        return False
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    ends = compute.min_max(column).as_py().values()
    return any(end is not None and abs(end) > LARGEST_INTEGER for end in ends)


def _exact(column):
    """The column; integers beyond 2**53, which are not exact as floats, become words."""
    import pyarrow as pa

    if not _is_large(column):
        return column
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string())


def _values(column):
    """Convert a column to an array: float64 with NaN, bool, or objects with None."""
    import pyarrow as pa
    from pyarrow import types

    if _kind(column.type) == "word":
        coded = _as_words(column)
        words = as_objects([word.strip() or None for word in coded.dictionary.to_pylist()])
        return words[coded.indices.to_numpy()]
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_boolean(column.type) and column.null_count == 0:
        return column.to_numpy(zero_copy_only=False)
    if types.is_float32(column.type):
        return column.to_numpy(zero_copy_only=False).astype(np.float64)
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _as_words(column):
    """A column as strings, each distinct one once; "" for a missing one."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column.cast(pa.string()).fill_null("").dictionary_encode()
    # The words of a dictionary are never repeated for each row: they can be long.
    written, places = column.dictionary.cast(pa.string()).fill_null(""), column.indices
    if places.null_count:
        places = places.fill_null(len(written))
        written = pa.concat_arrays([written, pa.array([""])])
    words = written.dictionary_encode()
    return pa.DictionaryArray.from_arrays(words.indices.take(places), words.dictionary)


class _Names:
    """Unique names for the columns of a file, in which several may share a name."""

    def __init__(self, schema):
        self.unique, self.repeated = unique_names(schema.names)
        self.written = dict(zip(self.unique, schema.names, strict=True))
        self.kinds = {
            name: _kind(field.type) for name, field in zip(self.unique, schema, strict=True)
        }

    def batches(self, file, columns, n_rows):
        """Batches of at most `n_rows` rows of some columns, with their unique names."""
        left: dict[str, list[str]] = {}
        for name, written in self.written.items():
            left.setdefault(written, []).append(name)
        wanted = list(dict.fromkeys(self.written[name] for name in columns))
        for batch in _merged(file.iter_batches(batch_size=n_rows, columns=wanted), n_rows):
            if batch.num_rows:
                found = {written: iter(names) for written, names in left.items()}
                yield batch.rename_columns([next(found[name]) for name in batch.schema.names])


def _merged(batches, n_rows):
    """Batches of at most `n_rows` rows; pyarrow ends one with each row group, however small."""
    import pyarrow as pa

    def joined():
        if len(waiting) == 1:
            return waiting
        return pa.Table.from_batches(waiting).unify_dictionaries().combine_chunks().to_batches()

    waiting, size = [], 0
    for batch in batches:
        if waiting and size + batch.num_rows > n_rows:
            yield from joined()
            waiting, size = [], 0
        waiting.append(batch)
        size += batch.num_rows
    if waiting:
        yield from joined()


def _read_all(source, keep_rows):
    """Read booleans and numbers as numbers; strings, categories and dates as words.

    Columns of integers that are not exact as floats, in whichever row, are words.
    """
    with _open(source.path) as file:
        names = _Names(file.schema_arrow)
        known = [name for name in names.unique if names.kinds[name] is not None]
        value = sum(8 if names.kinds[name] == "number" else WORD for name in known)
        n_rows = file.metadata.num_rows
        if n_rows == 0:
            raise EmptyTableError(f"{source.name} has no rows")
        rows = None
        if keep_rows is not None:
            rows = _find_rows(file, names, keep_rows)
            n_rows = rows.size
        source.budget.spend(value * n_rows + COLUMN * len(known), is_all=True)
        numbers = [name for name in known if names.kinds[name] == "number"]
        numeric = np.empty((n_rows, len(numbers)))
        words = {name: CodedBuilder() for name in known if names.kinds[name] == "word"}
        booleans: dict[str, list] = {}
        large = set()
        start = 0
        n_batch = max(1, min(_CHUNK_ROWS, _CHUNK_VALUES // max(1, len(known))))
        for batch, kept in _kept(names.batches(file, known, n_batch), rows):
            at = slice(start, start := start + kept.num_rows)
            for j, name in enumerate(numbers):
                if _is_large(batch.column(name)):
                    large.add(name)
                numeric[at, j] = values = _values(kept.column(name))
                if values.dtype == bool:
                    booleans.setdefault(name, []).append(values)
            for name, builder in words.items():
                column = _as_words(kept.column(name))
                source.budget.spend(max(0, column.dictionary.nbytes - WORD * len(column)))
                builder.add(column)
        if large:
            # Integers that are not exact as floats: these columns are read again, as words.
            words |= {name: CodedBuilder() for name in numbers if name in large}
            for _, kept in _kept(names.batches(file, list(large), _CHUNK_ROWS), rows):
                for name in large:
                    words[name].add(_as_words(kept.column(name)))
            numeric = numeric[:, [j for j, name in enumerate(numbers) if name not in large]]
            numbers = [name for name in numbers if name not in large]
    raw = RawTable(
        numeric,
        numbers,
        {name: words[name].finish() for name in known if name in words},
        booleans={
            name: flags
            for name, parts in booleans.items()
            if len(flags := np.concatenate(parts)) == n_rows  # no batch has a missing value
        },
        repeated=names.repeated,
    )
    dropped = [name for name, kind in names.kinds.items() if kind is None]
    if dropped:
        raw.notes.append(f"dropped {listed(dropped)}: neither numbers nor words")
    return raw


def _find_rows(file, names, keep_rows):
    """Places of the rows to read; only the columns that are asked for are read to find them."""
    rows, start = [], 0
    asked: dict[str, None] = {}
    # The columns that are needed are known after the first call.
    keep_rows(0, 0, lambda name: asked.setdefault(name) or np.zeros(0))
    for batch in names.batches(file, list(asked), _CHUNK_ROWS):
        columns = {name: _values(_exact(batch.column(name))) for name in asked}
        is_kept = keep_rows(start, batch.num_rows, columns.__getitem__)
        rows.append(start + np.flatnonzero(is_kept))
        start += batch.num_rows
    return np.concatenate(rows)


def _kept(batches, rows):
    """Batches, and the rows of each to keep."""
    start = 0
    for batch in batches:
        kept = batch
        if rows is not None:
            first, last = np.searchsorted(rows, [start, start + batch.num_rows])
            kept = batch.take(rows[first:last] - start)
        start += batch.num_rows
        yield batch, kept


def _chunks(names, start, wishes, name):
    target, features = wishes.find(names, True, name)
    n_rows = wishes.rows(len(features))
    return features, lambda: start(target, features, n_rows)


def _numeric_batches(source):
    """Names of the columns, and a function that starts reading.

    It takes the target (or None), the features and the number of rows of a batch, and yields
    features as numbers and labels (None without target).
    """
    with _open(source.path) as file:
        names = _Names(file.schema_arrow)

    def start(target, features, n_rows):
        columns = features if target is None else [*features, target]
        with _open(source.path) as file:
            for batch in names.batches(file, columns, n_rows):
                yield _numbers_and_labels(batch, target, features, source.name)

    return names.unique, start


def table_chunks(table: Any, wishes: Any) -> tuple[list[str], Callable[[], Iterator[tuple]]]:
    """`FormatReader.chunks` of an object with an Arrow stream."""
    pa = load("pyarrow", "reading Arrow data")
    # A reader can be read only once, so that it is kept; others give a new stream each time.
    once = table if isinstance(table, pa.RecordBatchReader) else None
    schema = once.schema if once else pa.RecordBatchReader.from_stream(table).schema
    if len(set(schema.names)) < len(schema.names):
        raise InputError("the table has several columns of the same name; rename them")
    read: list[bool] = []

    def start(target, features, n_rows):
        if once and read:
            raise InputError(
                "this Arrow reader can be read only once; pass a table, a dataset or a query"
            )
        read.append(True)
        for batch in once or pa.RecordBatchReader.from_stream(table):
            for first in range(0, batch.num_rows, n_rows):
                part = batch.slice(first, n_rows)
                yield _numbers_and_labels(part, target, features, "the table")

    return _chunks(list(schema.names), start, wishes, "the table")


def _numbers_and_labels(batch, target, features, name):
    X = np.empty((batch.num_rows, len(features)))
    for j, feature in enumerate(features):
        column = batch.column(feature)
        if _is_large(column):
            raise InputError(
                f"{name}: column {feature!r} holds integers beyond {LARGEST_INTEGER}, which are "
                "not exact as numbers; name the columns to use with columns=."
            )
        if _kind(column.type) != "number":
            raise InputError(
                f"{name}: column {feature!r} has values that are not numbers; name the columns to "
                "use with columns=."
            )
        X[:, j] = _values(column)
    return X, None if target is None else _labels(batch.column(target), target)


def _labels(column, target):
    if column.null_count:
        raise InputError(f"column {target!r} has missing labels; drop these rows")
    values = _values(_exact(column))
    if values.dtype == object:
        return values.astype(str)
    return values.astype(np.int64) if _is_integer(column.type) else values
