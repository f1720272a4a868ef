"""Labels from a separate file, joined to the rows of a table by their names."""

from os import PathLike

import numpy as np
from numpy.typing import NDArray

from tamis.tables.columns.raw import RawTable
from tamis.tables.columns.values import canonical
from tamis.tables.errors import InputError, counted, listed, require_names
from tamis.tables.formats.registry import open_reader
from tamis.tables.formats.source import WORD, readable
from tamis.tables.formats.text import records, sniff, split


def read_labels(
    path: str | PathLike,
    raw: RawTable,
    *,
    target: str | int | None = None,
    id_column: str | None = None,
    encoding: str | None = None,
    notes: list[str] | None = None,
    max_size: int | None = None,
) -> tuple[str, NDArray, str | None]:
    """Read the labels of the rows of a table from a separate file.

    `notes`: receives a message about labels without a row. `max_size`: bytes of memory that the
    labels may use; None: half of what is available. Returns `labels` (n_rows,).
    """
    source = open_reader(path, "csv", max_size).source
    rows = []
    with readable(source):
        dialect = sniff(source, encoding=encoding)
        for _, line in records(dialect.lines, dialect):
            row = [word.strip() for word in split(line, dialect)]
            if line.startswith("#") and len(row) != len(dialect.names):
                continue
            rows.append(row)
            source.budget.spend(WORD * len(row) + len(line))
        dialect.lines.close()
    if len(dialect.names) == 1 or all(len(row) == 1 for row in rows):
        return *_in_order(rows, raw, source.name, target), None
    return _joined(rows, dialect, raw, source.name, target, id_column, notes)


def _in_order(rows, raw, source, target):
    labels = [row[0] for row in rows]
    name = "target"
    if len(labels) == raw.n_rows + 1:
        name, labels = labels[0], labels[1:]
    if len(labels) != raw.n_rows:
        raise InputError(
            f"{source} has {len(labels):,} labels for {raw.n_rows:,} rows: expected one per line,"
            " or a column with the names of the rows"
        )
    return str(target or name), np.array(labels, dtype=object)


def _names_of_rows(raw, id_column, ours):
    """Column of the table with the names of its rows: given, or the best match."""
    if id_column is not None:
        known = {**raw.others, **raw.side}
        if id_column in known:
            return id_column, known[id_column]
        require_names([id_column], raw.names, "id_column")
        return id_column, raw.numeric[:, raw.numeric_names.index(id_column)]
    if raw.ids is not None:
        return None, raw.ids
    best = (0, None, None)
    whole = [
        (name, raw.numeric[:, j])
        for j, name in enumerate(raw.numeric_names[:200])
        if not hasattr(raw.numeric, "tocsr") and name in ours["names"]
    ]
    for name, values in [*raw.others.items(), *raw.side.items(), *whole]:
        keys = {canonical(value) for value in values.tolist()}
        score = max(len(keys & column) for column in ours["columns"])
        if score > best[0] and len(keys) == len(values):
            best = (score, name, values)
    return best[1:]


def _joined(rows, dialect, raw, source, target, id_column, notes):
    if any(len(row) != len(dialect.names) for row in rows[1:]):
        bad = next(i for i, row in enumerate(rows) if i and len(row) != len(dialect.names))
        raise InputError(
            f"{source} row {bad + 1}: expected {len(dialect.names)} fields, found {len(rows[bad])}"
        )
    body = rows[1:] if dialect.has_header else rows
    columns = [{canonical(row[j]) for row in body} for j in range(len(dialect.names))]
    column, values = _names_of_rows(raw, id_column, {"names": dialect.names, "columns": columns})
    if values is None:
        raise InputError(
            f"{source} has names of rows, but no column of the table matches them:"
            " specify it with --id"
        )
    keys = [canonical(value) for value in values.tolist()]
    distinct = set(keys)
    if len(distinct) < len(keys):
        raise InputError(
            f"labels cannot be joined: names of rows are not unique ({column or 'ids'})"
        )
    names_at = int(np.argmax([len(distinct & words) for words in columns]))
    names = dialect.names
    if dialect.has_header and rows[0][names_at] and canonical(rows[0][names_at]) in distinct:
        body, names = rows, [f"x{j}" for j in range(len(names))]
    others = [j for j in range(len(names)) if j != names_at]
    if target is not None and target in names:
        label_at = names.index(target)
    elif len(others) == 1:
        label_at = others[0]
    else:
        some = listed([names[j] for j in others])
        raise InputError(
            f"{source} has several columns: specify that of the labels with --target: {some}"
        )
    label_of = {}
    for row in body:
        label_of.setdefault(canonical(row[names_at]), row[label_at])
    without = [key for key in keys if key not in label_of]
    if without:
        raise InputError(
            f"{len(without):,} of {len(keys):,} rows have no label in {source}:"
            f" {listed(without)}; it has labels for {listed(list(label_of))}"
        )
    unused = [key for key in label_of if key not in distinct]
    if unused and notes is not None:
        notes.append(f"{source}: {counted(len(unused), 'label')} without a row: {listed(unused)}")
    name = names[label_at] if target is None or target in names else target
    return str(name), np.array([label_of[key] for key in keys], dtype=object), column
