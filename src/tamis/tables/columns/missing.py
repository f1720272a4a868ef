"""Words that stand for missing values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product

#: What a value below a detection limit may be read as: half of the limit, the limit, missing.
BELOW_DETECTION = ("half", "limit", "missing")

#: What programs write for a missing value, in upper or lower case, and the empty field.
USUAL = ("NA", "NaN", "NULL", "N/A", "#N/A", "<NA>")


@dataclass(frozen=True)
class MissingWords:
    """Which words of a table stand for missing values; the empty field always does.

    Attributes
    ----------
    words : list of str or None
        Exactly these words, and numbers by their value; None: `USUAL`.
    categories : dict of str to list of str
        Columns in which some of the words are ordinary categories: NA for Namibia.
    choices : dict of str to list of str
        Columns with declared categories; all other words are missing there.
    refused : list of str
        Columns with declared categories in which another word is an error.
    below_detection : {"half", "limit", "missing"}
        What values beyond a detection limit ("<0.1") are read as: see `limits`.
    limited : list of str
        Columns that have such values.
    percents : tuple of str
        Columns of numbers with percent signs: 93 % is 0.93 in the table, and shown as 93 %.
    decimal : {".", ","}
        Decimal mark of numbers that are written as words.

    Examples
    --------
    >>> missing = MissingWords(categories={"country": ["NA"]})
    >>> "na" in missing.spellings, "none" in missing.spellings, "NA" in missing.of("country")
    (True, False, False)
    >>> MissingWords(["-", "-999"]).numbers
    (-999.0,)
    """

    words: list[str] | None = None
    categories: dict[str, list[str]] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    below_detection: str = "missing"
    limited: list[str] = field(default_factory=list)
    percents: Sequence[str] = ()  # so that older skops files have it
    decimal: str = "."  # likewise

    def __post_init__(self):
        object.__setattr__(self, "percents", tuple(self.percents))

    @property
    def spellings(self) -> frozenset[str]:
        """All words that can stand for a missing value."""
        return _spellings(None if self.words is None else tuple(self.words))

    @property
    def numbers(self) -> tuple[float, ...]:
        """Numbers that stand for a missing value."""
        return _numbers(tuple(self.words or ()))

    def of(self, column: str) -> frozenset[str]:
        """Words that stand for a missing value in one column."""
        return self.spellings.difference(self.categories.get(column, ()))

    def restrict(self, columns: Collection[str]) -> MissingWords:
        """The same for some of the columns."""
        kept = {c: words for c, words in self.categories.items() if c in columns}
        return replace(
            self,
            categories=kept,
            limited=[c for c in self.limited if c in columns],
            percents=[c for c in self.percents if c in columns],
        )


@cache
def _spellings(words):
    if words is not None:
        return frozenset(["", *words, *map(_shortest, _numbers(words))])
    cases = (product(*zip(word.lower(), word.upper(), strict=True)) for word in USUAL)
    return frozenset(["", *("".join(letters) for case in cases for letters in case)])


@cache
def _numbers(words):
    numbers = []
    for word in words:
        try:
            numbers.append(float(word))
        except ValueError:
            continue
    return tuple(number for number in numbers if number == number)


def _shortest(number):
    """A number as categories are written: -999 for -999.0."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else str(number)
