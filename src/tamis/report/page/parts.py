"""Results by site, period and subgroup, and how small counts are hidden."""

from __future__ import annotations

import re
from typing import Any

#: Counts below this would point to single rows.
FEWEST = 5
# "(2)", "2 rows", "2 of 80 rows" and "2 values".
_SMALL_COUNT = re.compile(
    rf"(?<=\()[1-{FEWEST - 1}](?=[);])"
    rf"|(?<![\w.,:=-])[1-{FEWEST - 1}](?= (?:of [\d,]+ )?(?:row|value)s?\b)"
)


def hide_few(n: int, include_rows: bool = False) -> int | str:
    """A number of rows, unless it is so small that it points to single rows."""
    return n if include_rows or n >= FEWEST or n == 0 else f"fewer than {FEWEST}"


def hide_counts(sentence: str) -> str:
    """A sentence about columns without its small numbers of rows and values."""
    hidden = _SMALL_COUNT.sub(f"fewer than {FEWEST}", sentence)
    return re.sub(rf"(fewer than {FEWEST} (?:row|value))\b", r"\1s", hidden)


def describe_parts(model: dict[str, Any], include_rows: bool) -> list[dict[str, Any]]:
    """Tables of scores, sensitivity and specificity of parts of the rows.

    Returns `tables`: "title", "is" (what the numbers are), "positive" (class of sensitivity and
    specificity, or None), "rows": each with "name", "rows", "score", "interval", "sensitivity",
    "specificity" (pairs of a share and its interval, or None) and "why" there is no score.
    """
    tables = []
    found = model.get("left_out_batches")
    if found:
        parts = {"all sites or batches": found} | found["batches"]
        note = "Each site or batch is left out in turn: the model that predicts it was chosen and "
        note += "trained without it."
        tables.append(_table("Sites or batches", note, parts, include_rows))
        for name in found["not_predicted"]:
            why = "not predicted: the others do not have two classes"
            tables[-1]["rows"].append(_row(name, {"rows": None, "not_scored": why}))
    found = model.get("time_order")
    if found:
        parts = {"all later rows": found}
        parts |= {f"{_time(one['from'])} to {_time(one['to'])}": one for one in found["blocks"]}
        note = "Each period is predicted by a model that was chosen and trained on earlier rows."
        tables.append(_table("Periods", note, parts, include_rows))
    found = model.get("subgroups") or {"columns": {}}
    for column, values in found["columns"].items():
        note = "Honest predictions. Differences between subgroups are descriptive: each interval "
        note += "is for one subgroup alone, and among many, some differ by chance."
        parts = {"all rows": found["all"]} | values
        tables.append(_table(f"Subgroups of {column}", note, parts, include_rows))
    return tables


def _table(title, note, parts, include_rows):
    rows = [_row(name, one) for name, one in parts.items()]
    if not include_rows:
        _hide(rows[1:])
    positive = next((one["positive"] for one in parts.values() if one.get("positive")), None)
    return {"title": title, "is": note, "positive": positive, "rows": rows}


def _row(name, one):
    is_scored = not one["not_scored"]
    pairs = {
        rate: (one[rate]["share"], one[rate]["interval_95"]) if rate in one else None
        for rate in ("sensitivity", "specificity")
    }
    return {
        "name": name,
        "rows": one["rows"],
        "score": one["score"] if is_scored else None,
        "interval": one["interval_95"] if is_scored else None,
        "why": one["not_scored"],
        **pairs,
    }


def _hide(rows):
    """Replace small counts, and one more if they would follow from the total.

    That one has no intervals and rates either: its count could be computed from them.
    """
    known = sorted((row for row in rows if row["rows"]), key=lambda row: row["rows"])
    few = [row["rows"] for row in known if row["rows"] < FEWEST]
    # One alone is what is left; several are known if all must be 1, or as large as they can be.
    follows = len(few) == 1 or (few and sum(few) in (len(few), len(few) * (FEWEST - 1)))
    for row in known[: len(few)]:
        row["rows"] = hide_few(row["rows"])
    if follows and len(few) < len(known):
        one = known[len(few)]
        one |= {"rows": "not shown", "interval": None, "sensitivity": None, "specificity": None}
        one["why"] = one["why"] or "not shown"


def _time(value):
    return value if isinstance(value, str) else f"{value:g}"
