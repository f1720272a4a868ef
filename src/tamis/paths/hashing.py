"""Random numbers for what a row holds.

A value becomes a random 64-bit number that depends on its column, and a row the sum, modulo 2^64,
of its values' numbers. Then the cost of a sparse row is that of its stored values, each of which
adds its number less that of zero to the sum of a row of zeros; ignoring a part of the columns is a
subtraction, and equal rows, dense or sparse, are found by sorting n integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import Matrix, is_sparse

__all__ = ["Sketch", "bits_of", "hash_rows", "mix", "stored_numbers", "sum_numbers"]

# Values that get their numbers at once.
_BLOCK_VALUES = 1_000_000
_MISSING = np.uint64(0x7FF8000000000000)


def hash_rows(columns: Sequence[Matrix], n_rows: int) -> NDArray[np.uint64]:
    """One 64-bit number per row; equal rows have the same, in whichever chunk they are.

    `columns`: matrices of numbers of shape (n_rows, n_columns); NaN equals NaN. Returns `hashes`
    (n_rows,).
    """
    return sum_numbers(columns, n_rows, 1)[0]


def sum_numbers(columns: Sequence[Matrix], n_rows: int, n_parts: int) -> NDArray[np.uint64]:
    """Sums of the random numbers of each row, by part of the columns: (n_parts, n_rows)."""
    sums = np.zeros((n_parts, n_rows), dtype=np.uint64)
    place = 0
    for block in columns:
        which = np.arange(place, place + block.shape[1])
        if is_sparse(block):
            numbers = stored_numbers(block, place)
            for part in range(n_parts):
                zeros = mix(_salts(which[(part - place) % n_parts :: n_parts]))
                sums[part] += zeros.sum(dtype=np.uint64)
            rows = np.repeat(np.arange(n_rows), np.diff(numbers.indptr))
            np.add.at(sums, (which[numbers.indices] % n_parts, rows), numbers.data)
        else:
            height = max(1, _BLOCK_VALUES // max(1, block.shape[1]))
            for start in range(0, n_rows, height):
                some = slice(start, start + height)
                numbers = mix(bits_of(block[some]) ^ _salts(which))
                for part in range(n_parts):
                    first = (part - place) % n_parts
                    sums[part, some] += numbers[:, first::n_parts].sum(axis=1, dtype=np.uint64)
        place += block.shape[1]
    return sums


def stored_numbers(block: Matrix, place: int) -> Matrix:
    """Random numbers of sparse values, less those of zero; the first column is number `place`."""
    stored = sparse.csr_array(block)
    salts = _salts(np.arange(place, place + stored.shape[1]))
    numbers = mix(bits_of(stored.data) ^ salts[stored.indices]) - mix(salts)[stored.indices]
    return sparse.csr_array((numbers, stored.indices, stored.indptr), stored.shape)


def bits_of(values: NDArray) -> NDArray[np.uint64]:
    """Bits of numbers; equal numbers, and all missing ones, have equal bits."""
    values = np.asarray(values, dtype=np.float64) + 0.0  # -0 becomes 0
    bits = values.view(np.uint64)
    bits[np.isnan(values)] = _MISSING
    return bits


def _salts(places):
    return mix(places.astype(np.uint64) + np.uint64(1))


def mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Splitmix64: a bijection of the 64-bit integers that looks random."""
    with np.errstate(over="ignore"):
        bits = bits + np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@dataclass(frozen=True)
class Sketch:
    """The smallest distinct numbers, and how often each occurred."""

    size: int  # how many are kept
    # Ascending.
    numbers: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    # How often each occurred.
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def add(self, numbers: NDArray[np.uint64]) -> Sketch:
        """With more numbers."""
        found, counts = np.unique(numbers, return_counts=True)
        return self.merge(Sketch(self.size, found[: self.size], counts[: self.size]))

    def merge(self, other: Sketch) -> Sketch:
        """Of the numbers of both."""
        both = np.concatenate([self.numbers, other.numbers])
        found, place = np.unique(both, return_inverse=True)
        counts = np.bincount(place, np.concatenate([self.counts, other.counts]), found.size)
        counts = counts.astype(np.int64)
        return Sketch(self.size, found[: self.size], counts[: self.size])

    @property
    def is_complete(self) -> bool:
        """Whether no number was dropped."""
        return self.numbers.size < self.size

    def n_distinct(self) -> float:
        """Number of distinct numbers: exact while all of them are kept, else an estimate.

        The k-th smallest of n random numbers between 0 and 1 is about k / n.
        """
        if self.is_complete:
            return float(self.numbers.size)
        return (self.size - 1) / (float(self.numbers[-1]) / 2.0**64)
