"""Checks of what columns measure: identifiers, times and survey weights in disguise."""

import re

import numpy as np
from scipy import sparse

from tamis.comparison.checks.check import Check, name_some

__all__ = ["check_columns"]

_WEIGHT_NAME = re.compile(
    r"(^|[_\W])(fnlwgt|p?wgt|p?wt|pweights?|sample[_ ]?weights?|survey[_ ]?weights?"
    r"|final[_ ]?weights?|design[_ ]?weights?)([_\W]|$)",
    re.IGNORECASE,
)
_PLAIN_WEIGHT = re.compile(r"^weights?$", re.IGNORECASE)
_FEWEST_ROWS = 20
_EPOCHS = ((0.6e9, 2.5e9), (0.6e12, 2.5e12))  # seconds and milliseconds since 1970


def check_columns(table):
    """Identifiers, times and survey weights among the features.

    Parameters
    ----------
    table : Table
        Raw columns.

    Returns
    -------
    checks : list of Check
    """
    if sparse.issparse(table.numeric):
        return []
    return [*_identifiers(table), *_weights(table)]


def _identifiers(table):
    """Numbers that count or name the rows, and numbers that are times."""
    if table.numeric.shape[0] < _FEWEST_ROWS:
        return
    times, counters = [], []
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
    if times:
        yield Check(
            "time-in-disguise",
            "warning",
            f"{name_some(times)} look{'s' if len(times) == 1 else ''} like a date or time "
            "written as a number.",
            f"Unless the class depends on the time, remove it with --drop {','.join(times)}.",
        )
    if counters:
        yield Check(
            "identifier-in-disguise",
            "warning",
            f"{name_some(counters)} number{'s' if len(counters) == 1 else ''} the rows of the "
            "table.",
            "Rows are often sorted by class, and then the number gives it away; remove it with "
            f"--drop {','.join(counters)}.",
        )


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
    """Whether numbers go up (or down) from row to row, nearly always by the same step."""
    steps = np.diff(column)
    if not ((steps > 0).all() or (steps < 0).all()):
        return False
    return bool((steps == np.median(steps)).mean() >= 0.9)


def _weights(table):
    found = []
    for j, name in enumerate(table.numeric_names.tolist()):
        if not (_WEIGHT_NAME.search(name) or _PLAIN_WEIGHT.match(name)):
            continue
        column = np.asarray(table.numeric[:, j], dtype=np.float64)
        column = column[~np.isnan(column)]
        if not column.size or column.min() < 0 or np.unique(column).size < 3:
            continue
        # A plain "weight" is that of a body, unless its mean is 1.
        if _WEIGHT_NAME.search(name) or abs(column.mean() - 1) < 0.05:
            found.append(name)
    if found:
        yield Check(
            "survey-weights",
            "note",
            f"{name_some(found)} look{'s' if len(found) == 1 else ''} like survey weights.",
            f"If so, use --weights {found[0]}; they are treated as a feature now.",
        )
