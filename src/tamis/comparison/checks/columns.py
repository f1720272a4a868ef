"""Checks for columns that are identifiers, times or survey weights in disguise."""

import re

import numpy as np

from tamis.comparison.checks.check import Check, name_some

__all__ = ["check_columns"]

_WEIGHT_NAME = re.compile(
    r"(^|[_\W])(fnlwgt|p?wgt|p?wt|pweights?|sample[_ ]?weights?|survey[_ ]?weights?"
    r"|final[_ ]?weights?|design[_ ]?weights?)([_\W]|$)",
    re.IGNORECASE,
)
_PLAIN_WEIGHT = re.compile(r"^weights?$", re.IGNORECASE)


def check_columns(table, times, counters):
    """Find identifiers, times and survey weights among the features.

    Parameters
    ----------
    table : Columns
        Raw columns.
    times, counters : list of str
        From `tamis.comparison.disguised.find_disguised`.

    Returns
    -------
    checks : list of Check
    """
    if table.is_sparse:
        return []
    return [*_identifiers(times, counters), *_weights(table)]


def _identifiers(times, counters):
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
            "Rows are often sorted by class, and then their number reveals it; remove it with "
            f"--drop {','.join(counters)}.",
        )


def _weights(table):
    names = []
    for j, name in enumerate(table.numeric_names.tolist()):
        if not (_WEIGHT_NAME.search(name) or _PLAIN_WEIGHT.match(name)):
            continue
        column = np.asarray(table.numeric[:, j], dtype=np.float64)
        column = column[~np.isnan(column)]
        if not column.size or column.min() < 0 or np.unique(column).size < 3:
            continue
        # A plain "weight" is a body weight, unless its mean is 1.
        if _WEIGHT_NAME.search(name) or abs(column.mean() - 1) < 0.05:
            names.append(name)
    if names:
        yield Check(
            "survey-weights",
            "note",
            f"{name_some(names)} look{'s' if len(names) == 1 else ''} like survey weights.",
            f"If so, use --weights {names[0]}; they are treated as a feature now.",
        )
