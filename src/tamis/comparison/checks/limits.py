"""Checks of values beyond a detection limit."""

import numpy as np

from tamis.comparison.checks.check import Check, name_some

__all__ = ["check_limits"]

# Above this share of its values, a column is hardly a measurement.
_MOST = 0.5
_MOST_PARTS = 5
_READ_AS = {
    "half": "half of the limit (above a limit, as the limit)",
    "limit": "the limit",
    "missing": "missing",
}


def check_limits(table):
    """Say how many values are beyond a detection limit, by class and site, and how they are read.

    Parameters
    ----------
    table : Table

    Returns
    -------
    checks : list of Check
    """
    place = {name: j for j, name in enumerate(table.columns.numeric_names.tolist())}
    few, many = [], []
    for name, words in table.limits.items():
        column = table.columns.numeric[:, [place[name]]]
        column = (column.toarray() if hasattr(column, "toarray") else column).ravel()
        is_limit = np.not_equal(words, None)
        known = is_limit | ~np.isnan(column)
        if not is_limit.any():
            continue
        parts = [f"{name} {_share(words, is_limit, known)}"]
        for kind, values in (("class", table.y), ("site", table.batches)):
            if values is not None:
                parts.append(f"by {kind}: {_by_part(values, words, is_limit, known)}")
        is_most = is_limit.sum() > _MOST * known.sum()
        (many if is_most else few).append("; ".join(parts))
    read_as = _READ_AS[table.missing.below_detection]
    checks = []
    if few:
        checks.append(
            Check(
                "detection-limits",
                "note",
                f"Values beyond a detection limit are read as {read_as}: {name_some(few)}.",
                "Where shares or limits differ between classes or sites, see whether the result "
                "is the same with another --below-detection.",
            )
        )
    if many:
        checks.append(
            Check(
                "detection-limits",
                "warning",
                f"More than half of the values are beyond a detection limit, and read as "
                f"{read_as}: {name_some(many)}.",
                "Such a column is hardly a measurement: a yes or no (detected or not) may say as "
                "much, or --drop it.",
            )
        )
    return checks


def _share(words, is_limit, known):
    """The share of values beyond a limit, and the limits."""
    n_known = int(known.sum())
    if not n_known:
        return "no value"
    share = f"{100 * is_limit[known].sum() / n_known:.0f} %"
    limits = sorted({word.replace(" ", "") for word in words[is_limit & known].tolist()})
    return f"{share} ({name_some(limits)})" if limits else share


def _by_part(values, words, is_limit, known):
    parts = np.unique(values)
    told = [f"{part} {_share(words, is_limit, known & (values == part))}" for part in parts]
    return name_some(told, _MOST_PARTS)
