"""Columns of words: every distinct word once, and its place for every row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Coded", "CodedBuilder", "as_objects"]


def as_objects(values: Sequence) -> NDArray:
    """Put a list into an array of objects."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


class Coded:
    """A column of words.

    What is decided about words is decided once for each distinct word, so that a column of a
    million rows and three colors costs three decisions.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
        Place of each row's word in `words`; -1 where it is missing.
    words : list of str
        Distinct words; after `column[rows]`, some may not occur.
    """

    dtype = np.dtype(object)

    def __init__(self, codes: NDArray, words: list[str]):
        self.codes = codes
        self.words = words

    @classmethod
    def of(cls, values: Any) -> Coded:
        """Make a column from words, None where one is missing; a `Coded` is returned as it is."""
        if isinstance(values, Coded):
            return values
        values = values.tolist() if isinstance(values, np.ndarray) else values
        places: dict[Any, int] = {}
        number = places.setdefault
        codes = [-1 if value is None else number(value, len(places)) for value in values]
        return cls(np.array(codes, dtype=np.int32), list(places))

    def __len__(self):
        return len(self.codes)

    def __getitem__(self, rows):
        if isinstance(rows, (int, np.integer)):
            code = self.codes[rows]
            return None if code < 0 else self.words[code]
        return Coded(self.codes[rows], self.words)

    def __array__(self, dtype=None, copy=None):
        return as_objects([*self.words, None])[self.codes]

    def tolist(self) -> list:
        """The word of each row, or None."""
        return self.__array__().tolist()

    @cached_property
    def counts(self) -> dict[str, int]:
        """How often each word occurs, for those that do."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.words))
        both = zip(self.words, counts.tolist(), strict=True)
        return {word: count for word, count in both if count}

    @property
    def n_missing(self) -> int:
        """Number of rows without a word."""
        return int(np.count_nonzero(self.codes < 0))

    def present(self) -> NDArray:
        """Codes of the rows that have a word."""
        return self.codes[self.codes >= 0]

    def some(self, codes: NDArray) -> list[str]:
        """Words with the given codes."""
        return [self.words[code] for code in codes.tolist()]

    def map(self, change: Callable[[Any], str | None]) -> Coded:
        """Replace every word by what a function returns for it; None: missing."""
        places: dict[Any, int] = {}
        new = [change(word) for word in self.words]
        codes = [-1 if word is None else places.setdefault(word, len(places)) for word in new]
        if codes == list(range(len(codes))):
            return Coded(self.codes, new)  # type: ignore[arg-type]
        return Coded(np.array([*codes, -1], dtype=np.int32)[self.codes], list(places))

    def without(self, missing: Iterable[str]) -> Coded:
        """Read some words as missing values."""
        gone = [word for word in missing if word in self.counts]
        return self.map(lambda word: None if word in gone else word) if gone else self

    def numbers(self, values: NDArray) -> NDArray:
        """One number per row, given that of each word; NaN where the word is missing."""
        return np.append(values, np.nan)[self.codes]


class CodedBuilder:
    """A column of words that is read in batches; words are stripped, and empty ones missing."""

    def __init__(self):
        self._places: dict[str, int] = {}
        self._codes: list[NDArray] = []

    def add(self, array: Any) -> int:
        """Add a dictionary array of pyarrow; returns the number of new words."""
        n_known = len(self._places)
        number = self._places.setdefault
        words = array.dictionary.to_numpy(zero_copy_only=False).tolist()
        codes = [
            number(word, len(self._places)) if (word := written.strip()) else -1
            for written in words
        ]
        self._codes.append(np.array([*codes, -1], dtype=np.int32)[array.indices.to_numpy()])
        return len(self._places) - n_known

    def finish(self) -> Coded:
        """The column."""
        codes = np.concatenate(self._codes) if self._codes else np.zeros(0, dtype=np.int32)
        return Coded(codes, list(self._places))
