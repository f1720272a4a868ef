"""Words in a table: which of them stand for nothing, which are numbers."""

from collections import Counter

import numpy as np

from tamis._base import LARGEST_INTEGER
from tamis.tables.errors import InputError
from tamis.tables.integers import is_large_integer

__all__ = [
    "PLACEHOLDERS",
    "Cleaned",
    "as_text",
    "canonical",
    "is_number",
    "missing_in",
    "parse_numbers",
    "strings",
    "without",
]

#: What people write where a value is missing, and what can just as well be one.
PLACEHOLDERS = ("-", "?", ".")
# A word such as NA is a category where so many others, in this share of their rows, are written
# like it.
_FEWEST_OTHERS, _ALIKE = 5, 0.95


class Cleaned(dict):
    """Every word met so far, without surrounding blanks; None where nothing is left.

    A dictionary, so that a column of few values is read at the speed of lookups and holds each
    value once.
    """

    def __missing__(self, word):
        """Clean a word that was not met before."""
        self[word] = value = word.strip() or None
        return value


def without(values, missing):
    """A column of words with None for those that stand for a missing value.

    Parameters
    ----------
    values : ndarray of object of shape (n_rows,)
        Words and None.
    missing : frozenset of str
    """
    if missing.isdisjoint(values):
        return values
    out = np.empty(len(values), dtype=object)
    out[:] = [None if value in missing else value for value in values.tolist()]
    return out


def missing_in(values, missing):
    """Words that stand for a missing value in one column.

    One of the usual words (NA, NaN, ...) is a category instead where that is evident: at least
    five other words are written in the same way (as many letters, in upper or lower case: NA
    beside DE, FR, US), nearly all other rows have one of these, and the word is in less than half
    of the rows. Labels play no part. A list of the user's counts as it is.

    Parameters
    ----------
    values : ndarray of object of shape (n_rows,)
        Words and None.
    missing : MissingWords

    Returns
    -------
    frozenset of str

    Examples
    --------
    >>> from tamis.tables import MissingWords
    >>> countries = np.array("DE FR US NA PL DE IT FR".split(), dtype=object)
    >>> "NA" in missing_in(countries, MissingWords())
    False
    >>> "NA" in missing_in(countries, MissingWords(["NA"]))
    True
    >>> "NA" in missing_in(np.array("yes no NA yes".split(), dtype=object), MissingWords())
    True
    """
    usual = missing.spellings
    if missing.words is not None or usual.isdisjoint(values):
        return usual
    counts = Counter(values.tolist())
    counts.pop(None, None)
    others = Counter({word: n for word, n in counts.items() if word not in usual})
    evident = set()
    for word in usual.intersection(counts):
        alike = [n for other, n in others.items() if _form(other) == _form(word)]
        are_alike = len(alike) >= _FEWEST_OTHERS and sum(alike) >= _ALIKE * others.total()
        if are_alike and counts[word] < counts.total() / 2:
            evident.add(word)
    return usual - evident


def _form(word):
    """How a word is written: "AA" for two capital letters, "a9" for a small one and a digit."""
    return "".join(
        "A" if c.isupper() else "a" if c.islower() else "9" if c.isdigit() else c for c in word
    )


def is_number(word):
    """Whether a word is a number; Python's underscores inside numbers are not meant in data."""
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def as_text(value):
    """Bytes as text; an error where they are not UTF-8."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{value!r:.60} is not UTF-8 text: save the column as strings, or as UTF-8"
        ) from error


def parse_numbers(words, decimal="."):
    """Numbers of a list of words, NaN for None and odd ones.

    Returns
    -------
    values : ndarray of float64
        The numbers.
    odd : list of str
        The words that are not numbers, one entry per occurrence.
    """
    values = np.full(len(words), np.nan)
    odd = []
    for i, word in enumerate(words):
        if word is None:
            continue
        text = word.replace(",", ".") if decimal == "," else word
        try:
            values[i] = float(text)
        except ValueError:
            odd.append(word.strip())
            continue
        if "_" in text:
            values[i] = np.nan
            odd.append(word.strip())
    return values, odd


def canonical(value):
    """How a category is written: 1, 1.0 and "1.0" are all "1", whatever the file's format.

    None where there is nothing; a word such as "NA" stays a word.

    Examples
    --------
    >>> [canonical(v) for v in (1, 2.0, "2.50", " red", "x_1", None, float("nan"), True)]
    ['1', '2', '2.5', 'red', 'x_1', None, None, 'True']
    """
    if value is None:
        return None
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, bytes):
        value = as_text(value)
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, str):
        text = value.strip()
        if not text:
            return None
        if text[0].isalpha() or not is_number(text):  # no finite number starts with a letter
            return text
        if is_large_integer(text):
            return str(int(text))
        number = float(text)
        if not np.isfinite(number):
            return text
    else:
        try:
            number = float(value)
        except (TypeError, ValueError):
            return str(value)
        if np.isnan(number):
            return None
    if abs(number) <= LARGEST_INTEGER and number == int(number):
        return str(int(number))
    # The shortest form in the type it was stored in: 0.1 as float32 is "0.1" too.
    return str(value) if isinstance(value, np.floating) else str(number)


def strings(values):
    """Column of categories: an object array of canonical strings, None where there is nothing."""
    values = np.asarray(values)
    if values.dtype != object and values.dtype.kind in "fiub":
        unique, inverse = np.unique(values, return_inverse=True)
        words = np.array([canonical(value) for value in unique], dtype=object)
        return words[inverse.reshape(-1)]
    written = {}
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values.tolist()):
        try:
            out[i] = written[value]
        except KeyError:
            out[i] = written[value] = canonical(value)
        except TypeError:
            out[i] = canonical(value)
    return out
