"""Values beyond a detection limit: "<0.1" and ">100" among the numbers of a column.

A rule says what such a value is read as. Below the limit: half of it (if it is positive), the
limit itself, or missing. Above the limit: the limit, or missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tamis.tables.columns.coded import Coded
from tamis.tables.columns.values import parse_numbers, to_number

_SIGNS = ("<", ">", "≤", "≥")
_LIMIT = re.compile(r"\s*([<>≤≥])\s*=?\s*(.*)")
# Distinct numbers that a column with limits has at least; without them, "<30" is a category.
_FEWEST_NUMBERS = 3


def read_limit(word: str, rule: str, decimal: str = ".") -> float | None:
    """The number that a value beyond a detection limit is read as; None for another word.

    `rule`: "missing" gives NaN; `decimal`: decimal mark.

    Examples
    --------
    >>> [read_limit(word, "half") for word in ("<0.1", "> 100", "≤-2", "0.1", "<low")]
    [0.05, 100.0, -2.0, None, None]
    """
    match = _LIMIT.fullmatch(word)
    limit = None if match is None else to_number(match[2], decimal)
    if match is None or limit is None or not math.isfinite(limit):
        return None
    if rule == "missing":
        return math.nan
    is_halved = rule == "half" and match[1] in "<≤" and limit > 0
    return limit / 2 if is_halved else limit


def find_limits(column: Coded, decimal: str = ".") -> list[str]:
    """Words of a column that are beyond a detection limit, if its other values include numbers.

    Returns `words`: those that occur; none if there are fewer than three different numbers.
    """
    some = [word for word in column.counts if word[:1] in _SIGNS]
    some = [word for word in some if read_limit(word, "limit", decimal) is not None]
    if not some:
        return []
    numbers = {to_number(word, decimal) for word in column.counts}
    return some if len(numbers - {None}) >= _FEWEST_NUMBERS else []


def parse_limits(column: Coded, words: Sequence[str], rule: str, decimal: str) -> NDArray:
    """What some words of a column are read as, one number per row; NaN for all other rows."""
    known = set(words)
    values = [read_limit(w, rule, decimal) if w in known else math.nan for w in column.words]
    return column.numbers(np.array(values, dtype=np.float64))


def parse_limited(
    words: Sequence[str | None], rule: str, decimal: str = "."
) -> tuple[NDArray[np.float64], list[str]]:
    """As `parse_numbers`, with values beyond a detection limit; if they are missing, they are odd.

    Examples
    --------
    >>> values, odd = parse_limited(["<0.1", "3", "no", None], "half")
    >>> values.tolist(), odd
    ([0.05, 3.0, nan, nan], ['no'])
    """
    values, odd = parse_numbers(words, decimal)
    if rule == "missing" or not any(word[:1] in _SIGNS for word in odd):
        return values, odd
    odd = []
    for at in np.flatnonzero(np.isnan(values)).tolist():
        word = words[at]
        if word is None or to_number(word, decimal) is not None:
            continue
        value = read_limit(word, rule, decimal)
        if value is None:
            odd.append(word.strip())
        else:
            values[at] = value
    return values, odd
