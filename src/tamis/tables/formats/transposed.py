"""CSV and TSV with features in rows, named by the first column, and samples in columns."""

from collections.abc import Collection

import numpy as np

from tamis._base import LARGEST_INTEGER
from tamis.tables.columns.coded import Coded, as_objects
from tamis.tables.columns.raw import RawTable, tell_repeated, unique_names
from tamis.tables.columns.values import is_large_integer
from tamis.tables.errors import EmptyTableError, InputError, load
from tamis.tables.formats.batches import parse_words, split_batches
from tamis.tables.formats.source import COLUMN, Source
from tamis.tables.formats.text import Dialect


def read_transposed(
    source: Source,
    dialect: Dialect,
    missing: frozenset[str],
    as_written: Collection[str | int],
    drop: Collection[str],
) -> RawTable:
    """Read a file with one feature per row; a feature that holds a word is not numeric."""
    pa = load("pyarrow", "reading CSV")
    samples = dialect.names[1:]
    keep = [j for j, name in enumerate(samples, 1) if name not in drop]
    if not keep:
        raise InputError(f"{source.name}: expected names of features and at least one sample")
    heads: list[str] = []
    blocks, others = [], {}
    width = len(dialect.names)
    for fields in split_batches(dialect):
        n_rows, first = len(fields) // width, len(heads)
        fields = np.array(fields.to_numpy(zero_copy_only=False)).reshape(n_rows, width)
        heads += [word.strip() for word in fields[:, 0]]
        fields = fields[:, keep]
        values, odd = parse_words(pa.array(fields.ravel()), missing, dialect.decimal)
        matrix = values.reshape(fields.shape)
        source.budget.spend(matrix.nbytes + COLUMN * n_rows)
        wordy = set((odd // len(keep)).tolist())
        wordy |= {i for i in range(n_rows) if heads[first + i] in as_written}
        suspects = np.flatnonzero((np.abs(matrix) > LARGEST_INTEGER).any(axis=1)).tolist()
        wordy |= {i for i in suspects if any(map(is_large_integer, fields[i]))}
        for i in wordy:
            others[first + i] = Coded.of([word.strip() or None for word in fields[i]])
        numeric = [i for i in range(n_rows) if i not in wordy]
        blocks.append(matrix if not wordy else matrix[numeric])
    dialect.lines.close()
    if not blocks:
        raise EmptyTableError(f"{source.name} has a header and no rows")
    names, repeated = unique_names(heads)
    ids = [samples[j - 1] for j in keep] if dialect.has_header else None
    notes = [*dialect.notes, *([tell_repeated(dialect.repeated)] if dialect.repeated else [])]
    return RawTable(
        np.concatenate(blocks).T,
        [name for i, name in enumerate(names) if i not in others],
        {names[i]: others[i] for i in sorted(others)},
        ids=None if ids is None else as_objects(ids),
        order=names,
        decimal=dialect.decimal,
        notes=notes,
        repeated=repeated,
        dropped=[name for name in samples if name in drop],
    )
