"""Values of columns: which of them are missing, numbers, categories or labels."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tamis._array import Matrix, is_sparse
from tamis._base import LARGEST_INTEGER, large_columns
from tamis.tables.columns.coded import LONGEST_CATEGORY, Coded, as_objects
from tamis.tables.columns.missing import MissingWords
from tamis.tables.errors import InputError

TOO_LARGE = (
    f"holds integers beyond {LARGEST_INTEGER}, which are not exact as numbers: drop it"
    " (--drop) if they are identifiers, or use --categorical"
)
#: Words that often stand for a missing value but may also be a category.
PLACEHOLDERS = ("-", "?", ".")
# NA counts as a category if at least this many other words, in at least this share of the other
# rows, are written in the same way.
_FEWEST_OTHERS, _ALIKE = 5, 0.95
# Numbers with separators between thousands, by the decimal mark of the file.
_GROUPED = {
    ".": re.compile(
        r"^[-+]?[1-9]\d{0,2}(?:(?:,\d{3})+|(?:['\u00a0\u2009\u202f]\d{3})+)(?:\.\d*)?$"
    ),
    ",": re.compile(
        r"^[-+]?[1-9]\d{0,2}(?:(?:\.\d{3})+|(?:['\u00a0\u2009\u202f]\d{3})+)(?:,\d*)?$"
    ),
}
_SEPARATORS = {
    ".": str.maketrans("", "", ",'\u00a0\u2009\u202f"),
    ",": str.maketrans(",", ".", ".'\u00a0\u2009\u202f"),
}


def is_large_integer(word: str | None) -> bool:
    """Whether a word is an integer beyond 2**53, where floating-point numbers are not exact.

    Examples
    --------
    >>> [is_large_integer(w) for w in ("9007199254740993", "-12", "9.1e30", None)]
    [True, False, False, False]
    """
    digits = "" if word is None else word.strip().lstrip("+-").lstrip("0")
    if len(digits) < 16 or not digits.isdecimal():
        return False
    return len(digits) > 16 or int(digits) > LARGEST_INTEGER  # int() refuses 4,301 digits


def missing_in(values: Coded | NDArray, missing: MissingWords) -> frozenset[str]:
    """Words that stand for a missing value in one column.

    One of the usual words (NA, NaN, ...) is read as a category instead if at least five other
    words are written in the same way (the same number of letters, in the same case: NA beside DE,
    FR, US), nearly all other rows hold one of these, and fewer than half of the rows hold the
    word. Labels are not used. A list given by the user is taken literally.

    `values` (n_rows,): words and None; `missing`: the usual words, or those given by the user.

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
    if missing.words is not None:
        return usual
    column = Coded.of(values)
    found = column.find(usual)
    if not found:
        return usual
    counts = column.counts
    others = {word: n for word, n in counts.items() if word not in usual}
    n_rows, n_others = sum(counts.values()), sum(others.values())
    evident = set()
    for word in column.some(np.array(found)):
        alike = [n for other, n in others.items() if _form(other) == _form(word)]
        are_alike = len(alike) >= _FEWEST_OTHERS and sum(alike) >= _ALIKE * n_others
        if are_alike and counts[word] < n_rows / 2:
            evident.add(word)
    return usual - evident


def _form(word):
    """How a word is written: "AA" for two capital letters, "a9" for a small one and a digit."""
    return "".join(
        "A" if c.isupper() else "a" if c.islower() else "9" if c.isdigit() else c for c in word
    )


def is_number(word: str) -> bool:
    """Whether a word is a number; 1_000, which Python accepts, is not."""
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def _as_text(value):
    """Decode bytes; an error if they are not UTF-8."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{value!r:.60} is not UTF-8 text: save the column as strings or as UTF-8"
        ) from error


def to_number(word: str, decimal: str = ".") -> float | None:
    """The number that a word means, or None.

    Thousands may be separated, and a percent sign divides by 100.

    Examples
    --------
    >>> [to_number(w) for w in ("1e3", " .5", "1,234.5", "12 %", "1_000", "1,2345", "NA")]
    [1000.0, 0.5, 1234.5, 0.12, None, None, None]
    >>> [to_number(w, decimal=",") for w in ("1,5", "1.234,5", "1.234", "0.25")]
    [1.5, 1234.5, 1234.0, 0.25]
    """
    text = word.strip()
    if _GROUPED[decimal].match(text):
        return float(text.translate(_SEPARATORS[decimal]))
    try:
        value = float(text.replace(",", ".") if decimal == "," else text)
    except ValueError:
        value = to_number(text[:-1], decimal) if text.endswith("%") else None
        return None if value is None else value / 100
    return None if "_" in text else value


def parse_numbers(
    words: Sequence[str | None], decimal: str = "."
) -> tuple[NDArray[np.float64], list[str]]:
    """Convert words to numbers; None and words that are not numbers become NaN.

    Returns `values`: the numbers; `odd`: the words that are not numbers, one entry per occurrence.
    """
    values = np.full(len(words), np.nan)
    odd = []
    for i, word in enumerate(words):
        value = None if word is None else to_number(word, decimal)
        if value is not None:
            values[i] = value
        elif word is not None:
            odd.append(word.strip())
    return values, odd


def canonical(value: Any) -> str | None:
    """The spelling of a category: 1, 1.0 and "1.0" are all "1", whatever the file format.

    None for a missing value; a word such as "NA" stays a word.

    Examples
    --------
    >>> [canonical(v) for v in (1, 2.0, "2.50", " red", "x_1", None, float("nan"), True)]
    ['1', '2', '2.5', 'red', 'x_1', None, None, 'True']
    """
    if value is None:
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, bytes):
        value = _as_text(value)
    if isinstance(value, int | np.integer):
        value = str(Decimal(int(value)))  # str refuses integers of 4,301 digits
    if isinstance(value, str):
        text = value.strip()
        if not text:
            return None
        if text[0].isalpha() or not is_number(text):  # no finite number begins with a letter
            return text
        if is_large_integer(text):
            return "-" * text.startswith("-") + text.lstrip("+-").lstrip("0")
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
    # The shortest form in the type of the value: 0.1 in float32 is "0.1", too.
    return str(value) if isinstance(value, np.floating) else str(number)


def strings(values: ArrayLike | Coded) -> Coded:
    """Convert a column to categories: canonical strings, and None for missing values."""
    if isinstance(values, Coded):
        return values.map(canonical)
    values = np.asarray(values)
    if values.dtype != object and values.dtype.kind in "fiub":
        unique, inverse = np.unique(values, return_inverse=True)
        return Coded(inverse.reshape(-1), list(unique)).map(canonical)
    try:
        return Coded.of(values).map(canonical)
    except TypeError:  # values without a hash
        return Coded.of([canonical(value) for value in values.tolist()])


def row_names(values: ArrayLike | Coded) -> NDArray:
    """Convert a column to names of rows: strings as they are written, None where one is missing.

    Examples
    --------
    >>> row_names(np.array([1.0, 2.0])).tolist(), row_names(["007", None]).tolist()
    (['1', '2'], ['007', None])
    """
    if isinstance(values, Coded):
        return np.asarray(values)
    values = np.asarray(values)
    if values.dtype.kind == "U" or (values.dtype == object and _are_words(values)):
        return values.astype(object)
    if values.dtype.kind == "f" and (np.abs(values) <= LARGEST_INTEGER).all():
        whole = values.astype(np.int64)
        values = whole if (whole == values).all() else values
    if values.dtype.kind in "iu":
        return values.astype(str).astype(object)
    return np.asarray(strings(values))


def _are_words(values):
    return {type(value) for value in values.tolist()} <= {str, type(None)}


def as_floats(values: NDArray, source: str = "X") -> NDArray:
    """Convert numbers to float32 or float64, whichever holds them; copy only if necessary."""
    if values.dtype in (np.float32, np.float64):
        return values
    if values.dtype.kind == "c" or values.dtype.kind not in "fiub":
        raise InputError(f"{source} must hold numbers, got {values.dtype}")
    large = large_columns(values)
    if large.size:
        raise InputError(f"{source}: column {large[0]} (counting from 0) {TOO_LARGE}")
    is_small = values.dtype.itemsize <= 2
    return values.astype(np.float32 if is_small else np.float64)


def without_numbers(matrix: Matrix, numbers: Sequence[float]) -> Matrix:
    """Replace the numbers that stand for a missing value by NaN; dense or sparse."""
    if not numbers or not matrix.shape[1]:
        return matrix
    if is_sparse(matrix):
        if 0.0 in numbers:
            raise InputError(
                "--missing-values 0: a sparse table stores no zeros, so they cannot be missing"
            )
        return sparse.csr_array(
            (without_numbers(matrix.data[:, None], numbers)[:, 0], matrix.indices, matrix.indptr),
            shape=matrix.shape,
        )
    return np.where(np.isin(matrix, numbers), np.nan, matrix)


def as_labels(
    values: ArrayLike | Coded, missing: MissingWords | None = None, classes: Sequence = ()
) -> tuple[NDArray, NDArray[np.bool_]]:
    """Convert a column to labels, and find the rows that have one.

    `values` (n_rows,). `missing`: words that stand for a missing label; None: the usual ones,
    unless they are evidently classes. Returns `y` (n_rows,), `is_known` (n_rows,).
    """
    missing = missing or MissingWords()
    labels: Any = values if isinstance(values, Coded) else np.asarray(values)
    if labels.dtype.kind == "b":
        return labels, np.ones(len(labels), dtype=bool)
    if labels.dtype.kind in "OUS":
        column = Coded.of(labels)
        if not column.n_missing and all(isinstance(w, bool | np.bool_) for w in column.words):
            return np.asarray(column).astype(bool), np.ones(len(labels), dtype=bool)
        column = column.map(lambda v: (_as_text(v) if isinstance(v, bytes) else str(v)).strip())
        if len(classes):
            nothing = missing.spellings.difference(map(str, classes))
        else:
            nothing = missing_in(column, missing)
        column = column.without(nothing)
        is_known, known = column.codes >= 0, set(column.counts)
        if column.longest > LONGEST_CATEGORY:
            raise InputError(
                f"a label has {column.longest:,} characters: is the column free text?"
            )
        as_words = np.array([*column.words, ""], dtype=str)[column.codes]
        if not known or not all(map(is_number, known)):
            return as_words, is_known
        if len(set(map(float, known))) < len(known) or any(map(is_large_integer, known)):
            return as_words, is_known  # "01" and "1" are two labels
        numbers = [float(word) if word in known else np.nan for word in column.words]
        labels = column.numbers(np.array(numbers))
    if labels.dtype.kind in "iuf" and missing.words:
        labels = without_numbers(labels[:, None], missing.numbers)[:, 0]
    if labels.dtype.kind in "iu":
        return labels.astype(np.int64), np.ones(len(labels), dtype=bool)
    if labels.dtype.kind != "f":
        raise InputError(f"labels must be strings or numbers, got {labels.dtype}")
    if np.isinf(labels).any():
        raise InputError("a label is infinite: expected classes")
    known = labels[is_known := ~np.isnan(labels)]
    if (known == np.floor(known)).all() and (np.abs(known) < 2**53).all():
        return np.where(is_known, labels, 0).astype(np.int64), is_known
    return labels, is_known


def match_labels(
    values: ArrayLike, classes: ArrayLike, missing: MissingWords | None = None
) -> NDArray:
    """Find the class of a model for every label read from a file.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Labels as `read_rows` returns them: strings or numbers.
    classes : ndarray of shape (n_classes,)
        Classes of the model.
    missing : MissingWords or None
        Words that stand for a missing label, as in the model's preparation; None: the usual ones.

    Returns
    -------
    y : ndarray of object of shape (n_rows,)
        The class of `classes` with the same value; None for a missing or unknown label.
    """
    classes = np.asarray(classes)
    labels, is_known = as_labels(values, missing, classes.tolist())

    def key(label):
        if isinstance(label, (bool, np.bool_)):
            return str(bool(label))
        text = str(label).strip()
        return float(text) if is_number(text) and not is_large_integer(text) else text

    of_key = {key(label): label for label in classes.tolist()}
    found = Coded.of(labels)
    matched = as_objects([*(of_key.get(key(label)) for label in found.words), None])
    return matched[np.where(is_known, found.codes, -1)]
