"""Checks of values beyond a detection limit."""

from collections import Counter

import numpy as np

from tamis.comparison.checks.check import Check, name_some
from tamis.tables.columns.rare import FEWEST_ROWS

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
    """Say how many values are beyond a detection limit, by class and site, and how they count."""
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
            if values is not None and (told := _by_part(values, words, is_limit, known)):
                parts.append(f"by {kind}: {told}")
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
                "Where proportions or limits differ between classes or sites, check that the "
                "result is the same with another --below-detection.",
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
    """The share of values beyond a limit, and the limits; nothing that points to single rows."""
    n_known, n_limits = int(known.sum()), int(is_limit[known].sum())
    if 0 < n_limits < FEWEST_ROWS:
        return f"fewer than {FEWEST_ROWS} values"
    share = f"{100 * n_limits / n_known:.0f} %"
    counts = Counter(word.replace(" ", "") for word in words[is_limit & known].tolist())
    limits = sorted(word for word, n in counts.items() if n >= FEWEST_ROWS)
    return f"{share} ({name_some(limits)})" if limits else share


def _by_part(values, words, is_limit, known):
    told = []
    for part in np.unique(values):
        there = known & (values == part)
        if there.sum() >= FEWEST_ROWS:
            told.append(f"{part} {_share(words, is_limit, there)}")
    return name_some(told, _MOST_PARTS)
