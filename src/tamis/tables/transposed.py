"""CSV and TSV with features in rows, named by the first column, and samples in columns."""

from collections.abc import Collection

import numpy as np

from tamis.tables.delimited import Cleaned, chunks, number_rows
from tamis.tables.errors import EmptyTableError, InputError
from tamis.tables.raw import RawTable, tell_repeated, unique_names
from tamis.tables.source import COLUMN, Source
from tamis.tables.text import sniff, split
from tamis.tables.values import as_objects, is_large_integer

__all__ = ["read_transposed"]


def read_transposed(
    source: Source,
    missing: frozenset[str],
    delimiter: str | None = None,
    encoding: str | None = None,
    as_written: Collection[str | int] = (),
    drop: Collection[str] = (),
) -> RawTable:
    """Read a file with one feature per row; a feature that holds a word is not numeric.

    Parameters
    ----------
    source : Source
        The file.
    missing : frozenset of str
        Words that stand for a missing value among numbers.
    delimiter, encoding : str or None
        As in `read_table`.
    as_written : collection of str
        Features to read as words, even if they look like numbers.
    drop : collection of str
        Columns of the file that are not samples, such as a description of the features.

    Returns
    -------
    RawTable
        Features in columns.
    """
    dialect = sniff(source, delimiter=delimiter, encoding=encoding)
    samples = dialect.names[1:]
    keep = [j for j, name in enumerate(samples, 1) if name not in drop]
    if not keep:
        raise InputError(f"{source.name}: expected names of features and at least one sample")
    cleaned = Cleaned()
    heads: list[str] = []
    blocks, others = [], {}
    for lines in chunks(dialect):
        rows = [split(line, dialect) for line in lines]
        first = len(heads)
        heads += [row[0].strip() for row in rows]
        rows = [[row[j] for j in keep] for row in rows]
        matrix, odd = number_rows(rows, missing, dialect.decimal)
        source.budget.spend(matrix.nbytes + COLUMN * len(rows))
        wordy = {i for i, _ in odd}
        wordy |= {i for i in range(len(rows)) if heads[first + i] in as_written}
        wordy |= {i for i, row in enumerate(rows) if any(map(is_large_integer, row))}
        for i in wordy:
            others[first + i] = as_objects([cleaned[word] for word in rows[i]])
        numeric = [i for i in range(len(rows)) if i not in wordy]
        blocks.append(matrix if not wordy else matrix[numeric])
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
