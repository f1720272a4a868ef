"""Columns of words: every distinct word once, and its place for every row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Characters of a category or a label; a longer word is text.
LONGEST_CATEGORY = 1_000
# Bytes of a word from which its key is made, and what mixes the two halves (the golden ratio).
_KEY_BYTES, _MULTIPLIER = 16, np.uint64(0x9E3779B97F4A7C15)


def as_objects(values: Sequence) -> NDArray:
    """Put a list into an array of objects."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


class Coded:
    """A column of words.

    What is decided about words is decided once for each distinct word, so that a column of a
    million rows and three colors costs three decisions.

    `codes` (n_rows,): place of each row's word among the words; -1 where it is missing.
    """

    dtype = np.dtype(object)

    def __init__(self, codes: NDArray, words: Any):
        self.codes = codes
        self._words = words
        self._places: dict[frozenset, list[int]] = {}

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
            return self.some(self.codes[[rows]])[0] if self.codes[rows] >= 0 else None
        return Coded(self.codes[rows], self._words)

    def __array__(self, dtype=None, copy=None):
        return self._objects[self.codes]

    def tolist(self) -> list:
        """The word of each row, or None."""
        return self.__array__().tolist()

    @cached_property
    def _objects(self):
        """The words, and None at the place of a missing one."""
        objects = np.full(len(self._words) + 1, None, dtype=object)
        is_list = isinstance(self._words, list)
        objects[:-1] = self._words if is_list else self._words.to_numpy(zero_copy_only=False)
        return objects

    @property
    def words(self) -> list:
        """Distinct words, of which some may not occur."""
        return self._words if isinstance(self._words, list) else self._objects[:-1].tolist()

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Number of rows of each word."""
        return np.bincount(self.codes + 1, minlength=len(self._words) + 1)[1:]

    @property
    def counts(self) -> dict[str, int]:
        """How often each word occurs, for those that do."""
        both = zip(self.words, self.sizes.tolist(), strict=True)
        return {word: count for word, count in both if count}

    @property
    def longest(self) -> int:
        """Characters of the longest word that occurs."""
        return max((len(str(word)) for word in self.counts), default=0)

    @property
    def n_missing(self) -> int:
        """Number of rows without a word."""
        return int(np.count_nonzero(self.codes < 0))

    @property
    def n_distinct(self) -> int:
        """Number of words that occur."""
        return int(np.count_nonzero(self.sizes))

    def present(self) -> NDArray:
        """Codes of the rows that have a word."""
        return self.codes[self.codes >= 0]

    def some(self, codes: NDArray) -> list:
        """Words with the given codes."""
        if isinstance(self._words, list):
            return [self._words[code] for code in codes.tolist()]
        # Long words that occur often are held once.
        distinct, place = np.unique(codes, return_inverse=True)
        words = self._words.take(distinct).to_pylist()
        return [words[at] for at in place.tolist()]

    def find(self, words: Collection[str]) -> list[int]:
        """Codes of those of the given words that occur."""
        wanted = frozenset(words)
        if wanted not in self._places:
            self._places[wanted] = self._find(wanted)
        return self._places[wanted]

    def _find(self, wanted):
        if isinstance(self._words, list):
            if wanted.isdisjoint(self._words):
                return []
            found = [code for code, word in enumerate(self._words) if word in wanted]
        else:
            import pyarrow as pa
            from pyarrow import compute

            is_one = compute.is_in(self._words, pa.array(list(wanted), pa.string()))
            found = np.flatnonzero(is_one.to_numpy(zero_copy_only=False)).tolist()
        return [code for code in found if self.sizes[code]]

    def map(self, change: Callable[[Any], str | None]) -> Coded:
        """Replace every word by what a function returns for it; None: missing."""
        places: dict[Any, int] = {}
        new = [change(word) for word in self.words]
        codes = [-1 if word is None else places.setdefault(word, len(places)) for word in new]
        if codes == list(range(len(codes))):
            return Coded(self.codes, new)
        return Coded(np.array([*codes, -1], dtype=np.int32)[self.codes], list(places))

    def without(self, missing: Collection[str]) -> Coded:
        """Read some words as missing values."""
        gone = self.find(missing)
        if not gone:
            return self
        places = np.arange(len(self._words) + 1, dtype=np.int32)
        places[[*gone, -1]] = -1
        return Coded(places[self.codes], self._words)

    def numbers(self, values: NDArray) -> NDArray:
        """One number per row, given that of each word; NaN where the word is missing."""
        return np.append(values, np.nan)[self.codes]


class CodedBuilder:
    """A column of words that is read in batches; words are stripped, and empty ones missing."""

    def __init__(self) -> None:
        self._batches: list[Any] = []
        self._objects: list[NDArray] = []
        self._keys: list[NDArray] = []

    def add(self, array: Any) -> int:
        """Add an array of pyarrow; returns the number of distinct words in it, or of all words."""
        self._batches.append(array)
        if hasattr(array, "dictionary"):
            return len(array.dictionary)
        from pyarrow import compute

        # Perhaps names of rows: short words that are all distinct. Keys are made while pyarrow
        # reads on, and different keys belong to different words.
        words = compute.utf8_trim_whitespace(array)
        padded = compute.ascii_rpad(words, _KEY_BYTES, padding="\0").buffers()[2]
        if len(self._keys) == len(self._batches) - 1 and padded.size == _KEY_BYTES * len(array):
            halves = np.frombuffer(padded, dtype=np.uint64).reshape(-1, 2)
            self._keys.append(halves[:, 0] * _MULTIPLIER ^ halves[:, 1])
            self._objects.append(words.to_numpy(zero_copy_only=False))
        return len(array)

    def finish(self) -> Coded:
        """The column."""
        import pyarrow as pa
        from pyarrow import compute

        if self._are_distinct():
            words = np.concatenate(self._objects).tolist()
            return Coded(np.arange(len(words), dtype=np.int32), words)
        parts = [p if hasattr(p, "dictionary") else p.dictionary_encode() for p in self._batches]
        chunks = pa.chunked_array(parts).unify_dictionaries()
        codes = np.concatenate([chunk.indices.to_numpy() for chunk in chunks.chunks])
        written = chunks.chunk(0).dictionary
        words = compute.utf8_trim_whitespace(written)
        column = Coded(codes, words)
        if words.equals(written):
            return column.without([""])
        return column.map(lambda word: word or None)

    def _are_distinct(self):
        """Whether all words are known to be distinct, and none is empty."""
        if not self._batches or len(self._keys) < len(self._batches):
            return False
        keys = np.sort(np.concatenate(self._keys))
        return bool(keys[0] != 0 and (keys[1:] != keys[:-1]).all())
