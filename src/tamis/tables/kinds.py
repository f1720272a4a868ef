"""Kinds of columns: which words are categories, which are names, dates, texts or odd numbers."""

import re

import numpy as np
from scipy import sparse

from tamis.tables.errors import listed
from tamis.tables.tokens import parse_numbers

__all__ = ["Guess", "guess_words", "looks_like_id", "numeric_guesses"]

_ID_NAME = re.compile(
    r"(^|[_\W\d])(id|ids|uuid|guid|index|idx|row|rownames?|row_names?|barcode)$"
    r"|^(id|uuid|guid)[_\W]|^unnamed: \d+$|^__index_level_\d+__$",
    re.IGNORECASE,
)
_CAMEL_ID = re.compile(r"[a-z](Id|ID|Uuid|UUID)$")
_DATE = re.compile(
    r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})"
    r"|\d{1,2}[- ][A-Za-z]{3,9}[- ,]+\d{2,4}|[A-Za-z]{3,9} \d{1,2},? \d{4})"
    r"([T ]+\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*([AaPp][Mm]|Z|[-+]\d{2}:?\d{2})?)?$"
)


# So few words among so many different numbers may stand for missing values.
_FEW_WORDS, _FEWEST_NUMBERS = 3, 3


class Guess:
    """What a column of words was taken for.

    Attributes
    ----------
    kind : {"categorical", "text", "number", "identifier", "date", "many", "empty"}
        The first three are used, the others are left out.
    reason : str
        In words for the user.
    values : ndarray or None
        The numbers of a column that is one.
    odd : tuple of str
        The few words because of which the numbers of the column are not read as numbers.
    """

    def __init__(self, kind, reason="", values=None):
        self.kind = kind
        self.reason = reason
        self.values = values
        self.odd = ()


def looks_like_id(name):
    """Whether a name is one that people give to names of rows.

    Examples
    --------
    >>> [looks_like_id(n) for n in ("id", "patient_id", "sampleId", "Unnamed: 0", "acid", "paid")]
    [True, True, True, True, False, False]
    """
    return bool(_ID_NAME.search(name) or _CAMEL_ID.search(name))


def guess_words(values, decimal="."):
    """What a column of words is: an object array of str and None."""
    present = [value for value in values.tolist() if value is not None]
    n = len(present)
    if n == 0:
        return Guess("empty", "it is empty")
    distinct = set(present)
    # Mostly words in a sample: no need to try every value.
    sample = present[:: max(1, n // 1000)]
    odd = parse_numbers(sample, decimal)[1]
    if len(odd) < 0.3 * len(sample):
        guess = _guess_numbers(values, present, list(distinct), decimal)
        if guess is not None:
            return guess
    guess = _guess_kind(present, distinct)
    words = set(odd)
    if len(words) <= _FEW_WORDS and len(set(sample) - words) >= _FEWEST_NUMBERS:
        guess.odd = tuple(sorted(words))
    return guess


def _guess_kind(present, distinct):
    n = len(present)
    if len(distinct) <= 2:
        return Guess("categorical")
    some = present[:1000]
    if sum(bool(_DATE.match(value)) for value in some) > 0.95 * len(some):
        return Guess("date", "dates")
    is_varied = len(distinct) > max(2, n / 2)
    if is_varied and np.mean([len(value.split()) for value in some]) > 4:
        return Guess("text", "free text")
    if n >= 10 and len(distinct) == n:
        return Guess("identifier", f"{n:,} distinct names")
    if is_varied or len(distinct) > 100:
        return Guess("many", f"{len(distinct):,} distinct values in {n:,} rows")
    return Guess("categorical")


def _guess_numbers(values, present, distinct, decimal):
    """A column of numbers with a few odd words, or None."""
    numbers, odd = parse_numbers(distinct, decimal)
    is_odd = set(odd)
    n_odd = sum(value in is_odd for value in present) if odd else 0
    if n_odd >= 0.05 * len(present):
        return None
    number_of = dict(zip(distinct, numbers.tolist(), strict=True))
    number_of[None] = np.nan
    numeric = np.array([number_of[value] for value in values.tolist()])
    words = f"{listed(sorted(is_odd), 3)} ({n_odd} of {len(present)}) read as missing"
    return Guess("number", words if odd else "", numeric)


def numeric_guesses(matrix, names):
    """Columns of numbers that name rows, could be codes, repeat names, never change, are empty.

    Parameters
    ----------
    matrix : ndarray or CSR array of shape (n_rows, n_columns)
        The numbers.
    names : list of str
        Their names.

    Returns
    -------
    dict of str to list of str
        Names under "identifiers", "codes", "owners", "constant", "empty".
    """
    found = {"identifiers": [], "codes": [], "owners": [], "constant": [], "empty": []}
    n_columns = matrix.shape[1]
    for start, block in _blocks(matrix):
        if sparse.issparse(matrix):
            lows, highs = block.min(axis=0).toarray().ravel(), block.max(axis=0).toarray().ravel()
            is_whole = np.zeros(block.shape[1], dtype=bool)
        else:
            is_nan = np.isnan(block)
            has_nan = is_nan.any()
            lows = np.where(is_nan, np.inf, block).min(axis=0) if has_nan else block.min(axis=0)
            highs = np.where(is_nan, -np.inf, block).max(axis=0) if has_nan else block.max(axis=0)
            is_whole = ((block == np.floor(block)) | is_nan).all(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            spans = highs - lows
        for k in np.flatnonzero(lows > highs):
            found["empty"].append(names[start + k])
        for k in np.flatnonzero(lows == highs):
            found["constant"].append(names[start + k])
        for k in np.flatnonzero(is_whole & (lows < highs)):
            name = names[start + k]
            kind = _kind_of_integers(block[:, k], name, start + k == 0, spans[k])
            if kind is not None:
                found[kind].append(name)
    # A wide table of small whole numbers holds counts, not codes.
    if len(found["codes"]) > max(20, 0.5 * n_columns) and n_columns > 100:
        found["codes"] = []
    return found


def _blocks(matrix, n_values=4_000_000):
    if sparse.issparse(matrix):
        yield 0, matrix.tocsc()
        return
    width = max(1, n_values // max(1, matrix.shape[0]))
    for start in range(0, matrix.shape[1], width):
        yield start, np.asarray(matrix[:, start : start + width])


def _kind_of_integers(column, name, is_first, span):
    n = column.size
    if np.isnan(column).any():
        column = column[~np.isnan(column)]
    if looks_like_id(name) or (is_first and n >= 10 and span == n - 1):
        is_counter = column.size == n and (np.diff(column) == 1).all() and column[0] in (0, 1)
        if is_counter or (looks_like_id(name) and np.unique(column).size == n and n > 2):
            return "identifiers"
        n_distinct = np.unique(column).size
        if looks_like_id(name) and 10 < n_distinct < n:
            return "owners"
    if n < 30 or np.unique(column[:1000]).size > 10:
        return None
    values = np.unique(column)
    if not 2 < values.size <= 10:
        return None
    return "codes"
