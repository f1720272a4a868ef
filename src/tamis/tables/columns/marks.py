"""How numbers are written: with decimal commas or points, and percents without their sign."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from tamis.tables.columns.coded import Coded
from tamis.tables.columns.values import to_number

_COMMA_NUMBER = re.compile(r"^[-+]?\d*,\d+([eE][-+]?\d+)?$")
# A number with commas that cannot be decimal ones.
_THOUSANDS = re.compile(r"^[-+]?\d{1,3}(,\d{3}){2,}|^[-+]?\d{1,3},\d{3}\.\d")
# Rows of a table that are looked at, and characters of a number at most.
_ROWS, _LONGEST = 1000, 50


def decimal_mark(words: Iterable[str], usual: str = ".", is_sure: bool = True) -> str:
    """The decimal mark that most of some words have.

    `words`: among them numbers, which may have percent signs or be beyond a detection limit.
    `usual`: the mark if no word shows it. `is_sure`: whether 1,234 is never a sign of decimal
    commas; False: only where other words have commas between thousands.

    Examples
    --------
    >>> [decimal_mark(words) for words in (["93,4%", "<0,5", "12"], ["1,234"], ["1,5", "2.5"])]
    [',', '.', '.']
    """
    bare = [word.strip().lstrip("<>=≤≥ ").rstrip("% ") for word in words]
    commas = [word for word in bare if _COMMA_NUMBER.match(word)]
    if is_sure or any(map(_THOUSANDS.match, bare)):  # then 1,234 is 1234
        commas = [word for word in commas if to_number(word) is None]
    points = sum("." in word and to_number(word) is not None for word in bare)
    if not commas and not points:
        return usual
    return "," if len(commas) > points else "."


def are_shares(low: float, high: float) -> bool:
    """Whether training values of a column of percents, as proportions, are all from 0 to 1.

    Then a value above 1 without a percent sign, up to 100, is a percent; one that is not is read
    as it is written: 0.95 is 95 %.
    """
    return bool(low >= 0 and high <= 1)


def lacks_sign(word: str, decimal: str = ".") -> bool:
    """Whether a word of such a column is a percent without its sign; it may be a limit.

    Examples
    --------
    >>> [lacks_sign(word) for word in ("95.1", "<90", "95.1%", "0.951", "1", "9510", "NA")]
    [True, True, False, False, False, False, False]
    """
    text = word.strip()
    number = None if text.endswith("%") else to_number(text.lstrip("<>=≤≥ "), decimal)
    return number is not None and 1 < number <= 100


def as_shares(values: NDArray) -> tuple[NDArray, int]:
    """Numbers of such a column as proportions, and how many of them were percents."""
    lack = (values > 1) & (values <= 100)
    return np.where(lack, values / 100, values), int(np.count_nonzero(lack))


def mark_of_columns(columns: Mapping[str, np.ndarray | Coded], usual: str = ".") -> str:
    """The decimal mark of the words in some columns; other values than words are skipped."""
    words: list = []
    for values in columns.values():
        if isinstance(values, Coded):
            words += values.some(values.present()[:_ROWS])
        elif values.dtype.kind in "OU":
            words += values[:_ROWS].tolist()
    words = [word for word in words if isinstance(word, str) and len(word) <= _LONGEST]
    return decimal_mark(words, usual)
