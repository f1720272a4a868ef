"""CSV and TSV with features in rows: the first column names them, the header names the samples."""

import numpy as np

from tamis.io.delimited import chunks, number_rows
from tamis.io.dialect import sniff, split
from tamis.io.errors import EmptyTableError, InputError
from tamis.io.integers import is_large_integer
from tamis.io.raw import RawTable, check_names
from tamis.io.source import name_of
from tamis.io.tokens import Cleaned

__all__ = ["read_transposed"]


def read_transposed(path, missing, delimiter=None, encoding=None, as_written=()):
    """All features of a file that has one a row; a row with a word in it is a column of words."""
    dialect = sniff(path, delimiter=delimiter, encoding=encoding)
    source = name_of(path)
    if len(dialect.names) < 2:
        raise InputError(f"{source}: expected names of features and at least one sample")
    ids = dialect.names[1:] if dialect.has_header else None
    cleaned = Cleaned()
    names, blocks, others = [], [], {}
    for lines in chunks(path, dialect, encoding):
        rows = [split(line, dialect) for line in lines]
        heads = [row.pop(0).strip() for row in rows]
        matrix, odd = number_rows(rows, missing, dialect.decimal)
        wordy = {i for i, _ in odd} | {i for i, name in enumerate(heads) if name in as_written}
        wordy |= {i for i, row in enumerate(rows) if any(map(is_large_integer, row))}
        for i in sorted(wordy):
            check_names([heads[i], *others], source)
            others[heads[i]] = np.array([cleaned[word] for word in rows[i]], dtype=object)
        kept = [i for i in range(len(rows)) if i not in wordy]
        blocks.append(matrix if not wordy else matrix[kept])
        names += [heads[i] for i in kept]
    if not blocks:
        raise EmptyTableError(f"{source} has a header and no rows")
    check_names([*names, *others], source)
    return RawTable(
        np.concatenate(blocks).T,
        names,
        others,
        ids=None if ids is None else np.array(ids, dtype=object),
        decimal=dialect.decimal,
        notes=list(dialect.notes),
    )
