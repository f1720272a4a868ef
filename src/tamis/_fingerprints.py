r"""Fingerprints of rows: the same as long as the rows are, in their order, however they are cut.

With :math:`s_i` the sum of the bits of the values of row i, read as unsigned integers, n rows have

.. math:: h = \sum_{i=1}^n s_i B^{n-i} \bmod 2^{64}, \qquad h = h_1 B^{n_2} + h_2 \bmod 2^{64},

the latter for rows of two parts. A fingerprint costs one read of the rows and is no proof: rows
whose values change places within the row have the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis._array import is_sparse

__all__ = ["Fingerprint", "FingerprintedTask", "MergeFingerprinted"]

# Odd, so that no bit is lost: the multiplier of Knuth's generator MMIX.
_BASE = 6364136223846793005
_SIZE = 2**64
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(frozen=True)
class Fingerprint:
    """Of some rows."""

    n_rows: int
    value: int

    @classmethod
    def of(cls, *parts: Any) -> Fingerprint:
        """Of rows of which each part has some columns: matrices, labels, weights or None."""
        sums = _row_sums(parts[0])
        for place, part in enumerate(parts[1:], 1):
            if part is not None:
                sums = sums + _row_sums(part) * np.uint64(2 * place + 1)
        n_rows = sums.size
        powers = np.full(n_rows, _BASE, dtype=np.uint64)
        powers[:1] = 1
        powers = np.multiply.accumulate(powers)[::-1]
        return cls(n_rows, int((sums * powers).sum(dtype=np.uint64)))

    def merge(self, other: Fingerprint) -> Fingerprint:
        """Of these rows, then the others."""
        value = self.value * pow(_BASE, other.n_rows, _SIZE) + other.value
        return Fingerprint(self.n_rows + other.n_rows, value % _SIZE)

    def require_same(self, now: Fingerprint, whose: str, advice: str) -> None:
        """Raise an error if the rows of a later pass are others; `whose`: subject and verb."""
        if self == now:
            return
        what = "other values than in the first pass, or the same rows in another order"
        if self.n_rows != now.n_rows:
            what = f"{now.n_rows} rows, but had {self.n_rows} in the first pass"
        raise ValueError(f"{whose} {what}: {advice}")


def _row_sums(part):
    """Sums of the bits of each row: (n_rows,)."""
    if is_sparse(part):
        part = part.tocsr()
        bits = _bits(part.data).astype(np.uint64) * (2 * part.indices.astype(np.uint64) + 1)
        ends = np.append(np.uint64(0), np.add.accumulate(bits, dtype=np.uint64))
        return ends[part.indptr[1:]] - ends[part.indptr[:-1]]
    part = np.asarray(part)
    if part.dtype.kind not in "biuf" or part.dtype.itemsize not in _UNSIGNED:
        part = part.astype(str)
        part = part.view(np.uint32).reshape(len(part), -1)
    if part.ndim == 1:
        return _bits(part).astype(np.uint64)
    if part.flags.f_contiguous and not part.flags.c_contiguous:
        return _bits(part.T).sum(axis=0, dtype=_sum_type(part)).astype(np.uint64)
    part = np.ascontiguousarray(part)
    return _bits(part).sum(axis=1, dtype=_sum_type(part)).astype(np.uint64)


def _bits(values):
    return values.view(_UNSIGNED[values.dtype.itemsize])


def _sum_type(part):
    """Sums of wide numbers wrap in their own type, which is several times faster."""
    return _UNSIGNED[part.dtype.itemsize] if part.dtype.itemsize >= 4 else np.uint64


@dataclass
class FingerprintedTask:
    """The result of a task for a chunk, and the fingerprint of the chunk."""

    task: Callable

    def __call__(self, number: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Fingerprint]:
        """See `tamis._passes`."""
        found = self.task(number, X, y, sample_weight)  # first, because it checks the chunk
        return found, Fingerprint.of(X, y, sample_weight)


@dataclass
class MergeFingerprinted:
    """Merges results and fingerprints."""

    merge: Callable

    def __call__(self, one: Any, other: Any) -> tuple[Any, Fingerprint]:
        """See `tamis._passes`."""
        return self.merge(one[0], other[0]), one[1].merge(other[1])
