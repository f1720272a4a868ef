"""Words in a table: which of them stand for nothing, which are numbers."""

import numpy as np

from tamis.io.errors import InputError
from tamis.io.integers import EXACT, is_large_integer

__all__ = [
    "MISSING",
    "Cleaned",
    "as_text",
    "canonical",
    "is_number",
    "parse_numbers",
    "strings",
]

#: What stands for a value that is not there; the first is the empty word.
_NOTHING = " NA na N/A n/a #N/A <NA> NaN nan NAN -nan NaT null NULL Null None none NONE ? - ."
MISSING = frozenset(_NOTHING.split(" "))


class Cleaned(dict):
    """Every word met so far, without surrounding blanks; None where it stands for nothing.

    A dictionary, so that a column of few values is read at the speed of lookups and holds each
    value once.
    """

    def __init__(self, missing=MISSING):
        super().__init__()
        self.missing = missing

    def __missing__(self, word):
        """Clean a word that was not met before."""
        stripped = word.strip()
        value = None if stripped in self.missing else stripped
        self[word] = value
        return value


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
    """Numbers of a list of words, NaN for missing and odd ones.

    Returns
    -------
    values : ndarray of float64
        The numbers.
    odd : list of str
        The words that are neither numbers nor missing, one entry an occurrence.
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
            if word.strip() not in MISSING:
                odd.append(word.strip())
            continue
        if "_" in text:
            values[i] = np.nan
            odd.append(word.strip())
    return values, odd


def canonical(value):
    """How a category is written: 1, 1.0 and "1.0" are all "1", whatever the file's format.

    None where it is missing, and "NA" means the same in all formats.

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
        if text in MISSING:
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
    if abs(number) <= EXACT and number == int(number):
        return str(int(number))
    # The shortest form in the type it was stored in: 0.1 as float32 is "0.1" too.
    return str(value) if isinstance(value, np.floating) else str(number)


def strings(values):
    """Column of categories: an object array of canonical strings, None where missing."""
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
