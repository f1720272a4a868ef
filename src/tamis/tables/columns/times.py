"""Times of rows: numbers, or dates, that can be ordered."""

from __future__ import annotations

import re
from calendar import month_name
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.tables.columns.values import to_number
from tamis.tables.errors import InputError, counted

# Three parts (or a year and a month), then perhaps a clock and a zone; fullmatch of small letters.
_FORM = re.compile(
    r"(\d{4}|\d\d?|[a-z]{3,9})([-/. ])(\d\d?|[a-z]{3,9})(?:\2(\d{4}|\d\d?))?"
    r"(?:[t ] ?(\d\d?)(:\d\d)(:\d\d(?:\.\d+)?)? ?([ap]m)? ?(z|[-+]\d\d:?\d\d)?)?"
)
# 3/4/2024 is the third of April or the fourth of March, and 3/4/05 may also begin with the year.
_ORDERS = ("dmy", "mdy", "ymd")
_MONTHS = tuple(map(str.lower, month_name))[1:]
_EPOCHS = ((0.6e9, 2.5e9), (0.6e12, 2.5e12))  # seconds and milliseconds since 1970


def is_date(word: str) -> bool:
    """Whether a word is a date, in whatever order its day, month and year are."""
    # A date has two digits side by side: most words need no closer look.
    return bool(re.search(r"\d\d", word)) and any(_moment(word, order) for order in _ORDERS)


def are_times(numbers: NDArray) -> bool:
    """Whether whole numbers are seconds or milliseconds since 1970, or dates such as 20240131."""
    if np.unique(numbers).size < 10:
        return False
    low, high, month, day = numbers.min(), numbers.max(), numbers // 100 % 100, numbers % 100
    are_dates = low >= 19000101 and high <= 21001231 and (month >= 1) & (month <= 12)
    are_dates = np.all(are_dates & (day >= 1) & (day <= 31))
    return bool(are_dates or any(start <= low and high <= end for start, end in _EPOCHS))


def read_times(values: NDArray, name: str) -> NDArray:
    """Times as numbers or dates.

    `values` (n_rows,): numbers, or words: numbers, ISO dates and times, or dates in other common
    forms; `name`: the column, for messages. Returns `times` (n_rows,).

    Examples
    --------
    >>> read_times(np.array(["1970-01-02", "1970-01-01 00:01"], dtype=object), "date").tolist()
    [datetime.datetime(1970, 1, 2, 0, 0), datetime.datetime(1970, 1, 1, 0, 1)]
    >>> read_times(np.array([3, 1]), "year").tolist()
    [3.0, 1.0]
    """
    if values.dtype.kind in "biuf":
        times = values.astype(np.float64)
        is_missing = ~np.isfinite(times)
    elif values.dtype.kind == "M":
        is_missing = np.isnat(values)
        times = values.astype("datetime64[us]")
    else:
        words = [_word(value) for value in values.tolist()]
        is_missing = np.array([word is None for word in words])
        times = _parse([word for word in words if word is not None], name)
    n_missing = int(np.count_nonzero(is_missing))
    if n_missing:
        raise InputError(
            f"time: {counted(n_missing, 'row')} without a value in {name!r}; fill them in"
        )
    return times


def _word(value: Any) -> str | None:
    if value is None or value != value:
        return None
    return str(value).strip() or None


def _parse(words, name):
    """Words as numbers if all are; otherwise as dates."""
    numbers = {word: to_number(word) for word in dict.fromkeys(words)}
    if all(number is not None for number in numbers.values()):
        return np.array([numbers[word] for word in words], dtype=np.float64)
    order = _order(numbers, name)
    of_word = {word: _moment(word, order) for word in numbers}
    if not all(of_word.values()):
        wrong = next(word for word, moment in of_word.items() if moment is None)
        raise InputError(
            f"time: {wrong!r} in {name!r} is neither a number nor a date that is understood; "
            "write dates as YYYY-MM-DD"
        )
    return np.array([of_word[word] for word in words], dtype="datetime64[us]")


def _order(words, name):
    """The one order of day, month and year that all dates such as 3/4/2024 can have."""
    matches = [match.groups() for word in words if (match := _match(word))]
    unsure = [(a, b, c) for a, mark, b, c, *_ in matches if not _own_order(a, mark, b, c)]
    if not unsure:
        return _ORDERS[0]
    highs = np.array(unsure, dtype=int).max(axis=0)
    orders = [o for o in _ORDERS if highs[o.index("d")] <= 31 and highs[o.index("m")] <= 12]
    if len(orders) != 1:
        raise InputError(
            f"time: days and months cannot be told apart in {name!r}; write dates as YYYY-MM-DD"
        )
    return orders[0]


def _own_order(a, mark, b, c):
    """The order of day, month and year if a date itself tells it, otherwise None."""
    if a.isalpha() or len(a) == 4:
        return "mdy" if a.isalpha() else "ymd"
    return "dmy" if not c or b.isalpha() or (mark == "." and len(c) == 4) else None


def _match(word):
    return _FORM.fullmatch(" ".join(word.replace(",", " ").lower().split()))


def _moment(word, order):
    """A date in UTC, or None; a time without a zone counts as UTC."""
    for text in (word, _iso(word, order)):
        try:
            moment = datetime.fromisoformat(text)
            return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
        except (OverflowError, ValueError):
            continue
    return None


def _iso(word, order):
    """A date of another form as ISO writes it; what is no date is no ISO date either."""
    if not (match := _match(word)):
        return ""
    a, mark, b, c, hour, minute, second, half, zone = match.groups("")
    parts = dict(zip(_own_order(a, mark, b, c) or order, (a, b, c or "1"), strict=True))
    year, month = parts["y"], parts["m"]
    if month.isalpha():
        month = next((i for i, name in enumerate(_MONTHS, 1) if name.startswith(month)), 0)
    if len(year) == 2:  # as POSIX has it: 1969 to 2068
        year = ("19" if year >= "69" else "20") + year
    if half:
        hour = int(hour) % 12 + 12 * (half == "pm")
    clock = f"{hour or 0:0>2}{minute or ':00'}{second}{zone.upper()}"
    return f"{year}-{month:0>2}-{parts['d']:0>2}T{clock}"
