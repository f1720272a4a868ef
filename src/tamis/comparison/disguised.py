"""Numbers that are not measurements: dates, times and row numbers."""

import numpy as np

__all__ = ["find_disguised"]

_FEWEST_ROWS = 20
_EPOCHS = ((0.6e9, 2.5e9), (0.6e12, 2.5e12))  # seconds and milliseconds since 1970


def find_disguised(table):
    """Find numeric columns that are not measurements.

    Parameters
    ----------
    table : Columns
        Raw columns.

    Returns
    -------
    times, counters : list of str
        Columns that look like dates or times, and columns that number the rows.
    """
    times, counters = [], []
    if table.is_sparse or table.n_rows < _FEWEST_ROWS:
        return times, counters
    for j, name in enumerate(table.numeric_names.tolist()):
        column = np.asarray(table.numeric[:, j], dtype=np.float64)
        if np.isnan(column).any() or column[0] == column[-1]:
            continue
        if not (column == np.floor(column)).all():
            continue
        if _is_time(column):
            times.append(name)
        elif _counts_rows(column):
            counters.append(name)
    return times, counters


def _is_time(column):
    """Seconds or milliseconds since 1970, or dates such as 20240131."""
    low, high = column.min(), column.max()
    if np.unique(column).size < 10:
        return False
    if any(start <= low and high <= end for start, end in _EPOCHS):
        return True
    if not 19000101 <= low <= high <= 21001231:
        return False
    month, day = column // 100 % 100, column % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def _counts_rows(column):
    """Whether numbers rise (or fall) from row to row, nearly always by the same step."""
    steps = np.diff(column)
    if not ((steps > 0).all() or (steps < 0).all()):
        return False
    return bool((steps == np.median(steps)).mean() >= 0.9)
