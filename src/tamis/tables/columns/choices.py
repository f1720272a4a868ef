"""Declared categories: what else stands in a column is an error, or a missing value."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis.tables.columns.coded import Coded
from tamis.tables.columns.missing import MissingWords
from tamis.tables.errors import InputError, counted, listed


def enforce_choices(
    name: str,
    values: NDArray,
    missing: MissingWords,
    notes: list[str] | None = None,
    rows: NDArray | None = None,
) -> NDArray:
    """A column in which words that are not among its declared categories are missing.

    `missing`: with the declared categories, and the columns in which others are an error. `notes`:
    receives a message about the words that are read as missing. `rows`: places of the values in
    the file, from 0; None: as they are.
    """
    if name not in missing.choices:
        return values
    column, known = Coded.of(values), missing.choices[name]
    wrong = column.find(set(column.words).difference(known))
    if not wrong:
        return values
    words, sizes = column.some(np.array(wrong)), column.sizes[wrong].tolist()
    if name in missing.refused:
        told = []
        for code, word in zip(wrong, words, strict=True):
            at = np.flatnonzero(column.codes == code)
            at = (at if rows is None else rows[at]) + 1
            told.append(f"{word!r} (row{'s' * (at.size > 1)} {listed(map(str, at.tolist()), 3)})")
        raise InputError(
            f"column {name}: {listed(told)} {'is' if len(told) == 1 else 'are'} not among its"
            f" choices ({listed(known)}); correct the data, add a choice, or set 'unlisted' to"
            " 'missing' for it in the features file"
        )
    if notes is not None:
        told = [f"{word!r} ({n:,})" for word, n in zip(words, sizes, strict=True)]
        notes.append(
            f"{name}: {counted(sum(sizes), 'value')} not among its choices read as missing:"
            f" {listed(told)}"
        )
    return np.asarray(column.without(words))
