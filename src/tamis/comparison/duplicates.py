"""Copies of rows in a data set: kept together, kept apart, or dropped."""

import numpy as np

from tamis.paths.copies import find_copies

__all__ = ["DUPLICATES", "handle_duplicates"]

DUPLICATES = ("group", "keep", "drop")


def handle_duplicates(dataset, duplicates="group", ignored=()):
    """Find copies of rows, and drop them if requested.

    Parameters
    ----------
    dataset : Table
    duplicates : {"group", "keep", "drop"}
        "drop" keeps the first of the copies that have the same label.
    ignored : sequence of str
        Columns that are not compared: identifiers and dates differ between copies.

    Returns
    -------
    dataset : Table
        Without copies if they are dropped.
    copies : Copies
        Copies among the remaining rows.
    n_dropped : int
    """
    copies = _find(dataset.columns, ignored)
    if duplicates != "drop" or copies.groups is None:
        return dataset, copies, 0
    codes = np.unique(dataset.y, return_inverse=True)[1]
    rows = np.unique(copies.groups * (codes.max() + 1) + codes, return_index=True)[1]
    n_dropped = codes.size - rows.size
    dataset = dataset.take(np.sort(rows))
    return dataset, _find(dataset.columns, ignored), n_dropped


def _find(table, ignored):
    if ignored and len(ignored) < len(table.names):
        table = table.drop(ignored)
    columns = [table.numeric]
    for values in table.others.values():
        words = np.array(["" if value is None else value for value in values.tolist()])
        columns.append(np.unique(words, return_inverse=True)[1].astype(np.float64)[:, None])
    return find_copies(columns, table.n_rows)
