"""Integers so large that floating-point numbers merge them: identifiers, as a rule."""

import numpy as np

from tamis._base import LARGEST_INTEGER

__all__ = ["TOO_LARGE", "is_large_integer", "large_columns"]

TOO_LARGE = (
    f"holds integers beyond {LARGEST_INTEGER}, which are not exact as numbers: leave it out"
    " (--drop) if they are identifiers, or use --categorical"
)


def is_large_integer(word):
    """Whether a word is an integer that a floating-point number may not tell from its neighbour.

    Examples
    --------
    >>> [is_large_integer(w) for w in ("9007199254740993", "-12", "9.1e30", None)]
    [True, False, False, False]
    """
    digits = "" if word is None else word.strip().lstrip("+-")
    return len(digits) > 15 and digits.isdecimal() and int(digits) > LARGEST_INTEGER


def large_columns(values):
    """Columns of an array of 64-bit integers with one beyond 2**53."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or values.size == 0:
        return np.zeros(0, dtype=np.intp)
    if max(-int(values.min()), int(values.max())) <= LARGEST_INTEGER:
        return np.zeros(0, dtype=np.intp)
    values = values.reshape(len(values), -1)
    low, high = values.min(axis=0).tolist(), values.max(axis=0).tolist()
    return np.flatnonzero([max(-a, b) > LARGEST_INTEGER for a, b in zip(low, high, strict=True)])
