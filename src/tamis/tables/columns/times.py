"""Times of rows: numbers, or dates, that can be ordered."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis.tables.columns.values import to_number
from tamis.tables.errors import InputError, counted

__all__ = ["read_times"]

_FORMATS = (
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%Y-%m",
    "%d.%m.%Y",
    "%d-%b-%Y",
    "%d-%B-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d %Y",
    "%B %d %Y",
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
# 3/4/2024 is the third of April or the fourth of March: the other rows must tell.
_SLASHED = re.compile(r"^(\d{1,2})[/-](\d{1,2})[/-]\d{4}\b")


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
    of_word: dict[str, datetime | None] = dict.fromkeys(words)
    numbers = {word: to_number(word) for word in of_word}
    if all(number is not None for number in numbers.values()):
        return np.array([numbers[word] for word in words], dtype=np.float64)
    slashed = _slashed_format(of_word, name)
    for word in of_word:
        of_word[word] = _moment(word, slashed)
        if of_word[word] is None:
            raise InputError(
                f"time: {word!r} in {name!r} is neither a number nor a date that is understood; "
                "write dates as YYYY-MM-DD"
            )
    return np.array([of_word[word] for word in words], dtype="datetime64[us]")


def _slashed_format(words, name):
    """Whether days or months come first in dates such as 3/4/2024, by those above 12."""
    found = [match.groups() for word in words if (match := _SLASHED.match(word))]
    if not found:
        return ()
    first, second = np.array(found, dtype=int).max(axis=0)
    if (first > 12) == (second > 12):
        raise InputError(
            f"time: days and months cannot be told apart in {name!r}; write dates as YYYY-MM-DD"
        )
    order = "%d{0}%m{0}%Y" if first > 12 else "%m{0}%d{0}%Y"
    return order.format("/"), order.format("-")


def _moment(word, slashed):
    """A date in UTC, or None; a time without a zone counts as UTC."""
    try:
        moment = datetime.fromisoformat(word)
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    except ValueError:
        pass
    text = " ".join(word.replace(",", " ").split())
    for date in (*slashed, *_FORMATS):
        for clock in _CLOCKS:
            try:
                return datetime.strptime(text, date + clock)
            except ValueError:
                continue
    return None
