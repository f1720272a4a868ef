"""Rows of a CSV file as one array of characters, from which the unused ones are removed.

Formatting a million probabilities one by one takes longer than predicting them. Here every column
is a block of characters of fixed width, padded with NUL, which is deleted in the end.
"""

import numpy as np

# Longest number that `number` writes, and longest cell that is worth padding all others to.
_NUMBER, _LONGEST = 16, 100
_N_DIGITS = 10
_NUL, _ZERO = b"\0", ord("0")


def number(value):
    """Format a number for a CSV file: ten digits, empty for NaN."""
    # Adding 0 makes -0 a plain 0.
    return "" if value != value else f"{value + 0.0:.{_N_DIGITS}g}"


def join_fields(columns, escape):
    """Lines of some columns, or None if a cell is too long or contains NUL.

    `columns`: a range of whole numbers, an array of floats, or a list of cells. `escape`: called
    with a cell; returns its text in the file.
    """
    fields = []
    for column in columns:
        if isinstance(column, range):
            fields.append(_whole_numbers(column))
        elif isinstance(column, np.ndarray):
            fields.append(_floats(column))
        else:
            places = {}
            codes = [places.setdefault(cell, len(places)) for cell in column]
            texts = [escape(cell).encode() for cell in places]
            if any(_NUL in text or len(text) > _LONGEST for text in texts):
                return None
            fields.append(_padded(texts, 1 + max(map(len, texts), default=0))[codes])
        fields.append(np.full((len(column), 1), ord(","), dtype=np.uint8))
    fields[-1][:] = ord("\n")
    return np.hstack(fields).tobytes().translate(None, _NUL).decode()


def _padded(texts, width):
    """Texts as rows of characters."""
    return np.array(texts, dtype=f"S{width}").view(np.uint8).reshape(len(texts), width)


def _whole_numbers(column):
    """Whole numbers of at least 0, without the zeros before them."""
    values = np.arange(column.start, column.stop)
    n_digits = len(str(column.stop))
    field = np.zeros((values.size, n_digits), dtype=np.uint8)
    for at in range(n_digits - 1, -1, -1):
        rest = values // 10
        field[:, at] = np.where((values > 0) | (at == n_digits - 1), values - 10 * rest + _ZERO, 0)
        values = rest
    return field


def _floats(column):
    """Floats as `number` writes them; those from 0.0001 to 1 without a call for each."""
    is_small = (column >= 1e-4) & (column < 1)
    values = np.where(is_small, column, 0.5)
    # Zeros between the point and the first digit, and the ten digits after them.
    n_zeros = (values < 0.1).astype(np.intp) + (values < 0.01) + (values < 0.001)
    digits = np.rint(values * (10.0 ** (_N_DIGITS + np.arange(4)))[n_zeros]).astype(np.int64)
    is_small &= digits < 10**_N_DIGITS
    field = np.zeros((column.size, _NUMBER), dtype=np.uint8)
    field[:, 0], field[:, 1] = _ZERO, ord(".")
    for at in range(3):
        field[:, 2 + at] = np.where(n_zeros > at, _ZERO, 0)
    is_end = np.ones(column.size, dtype=bool)
    for at in range(4 + _N_DIGITS, 4, -1):
        rest = digits // 10
        digit = (digits - 10 * rest).astype(np.uint8)
        is_end &= digit == 0
        field[:, at] = np.where(is_end, 0, digit + _ZERO)
        digits = rest
    others = np.flatnonzero(~is_small)
    if others.size:
        texts = [number(value).encode() for value in column[others].tolist()]
        field[others] = _padded(texts, _NUMBER)
    return field
