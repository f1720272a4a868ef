r"""Copies of rows: rows that are equal for other reasons than coincidence.

Equal rows are common in coarse tables: six yes/no questions have only 64 patterns. Such rows are
independent samples, and treating them as one sample would score unseen patterns only. Equal rows
are *copies*, one sample recorded several times, only if coincidence is implausible:

- In a column with more than n/2 distinct values they share a value that few other rows have.
- Or there are far too many of them. Let E be the number of equal pairs of rows and A that of pairs
  which agree in all but one of (up to) eight parts of the columns. In a coarse table near misses
  outnumber equal pairs; rows are copies when E > 10 (A + 1) and E is more than 10 times what
  independent columns make likely. If more than half of the rows repeat another one, redundant
  columns (an age and a year of birth) would look the same, so each third of the columns must
  identify the rows on its own.
- Or the whole table is repeated: every row occurs a multiple of g > 1 times.
- Or chance does not explain that they agree in all columns (`tamis.paths.coincidence`).

Rows that are equal up to rounding (`tamis.paths.rounding`) are judged by the same rule, after they
have been made equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis.paths.coincidence import are_no_coincidence
from tamis.paths.hashing import bits_of, hash_rows, stored_numbers, sum_numbers
from tamis.paths.rounding import round_columns, round_rows

__all__ = ["Copies", "expected_pairs", "find_copies"]

_PARTS = 8
_FAR_MORE = 10
# A repeated table has at least this many distinct rows.
_REPEATED_ROWS = 20
# A value is rare if at most this many times as many rows have it as are equal.
_FEW_OTHERS = 2


@dataclass(frozen=True)
class Copies:
    """Which rows are equal, and which of these are copies."""

    equal: np.ndarray  # (n_rows,): rows with the same number are equal, or equal up to rounding
    # (n_rows,) or None: rows with the same number are copies of each other; None if there are no
    # copies.
    groups: np.ndarray | None
    n_copies: int = field(init=False)  # number of rows that repeat another one

    def __post_init__(self):
        n_copies = 0 if self.groups is None else int(self.groups.size - self.groups.max() - 1)
        object.__setattr__(self, "n_copies", n_copies)

    def times(self) -> NDArray:
        """How often each row occurs, including itself."""
        if self.groups is None:
            return np.ones(self.equal.size)
        return np.bincount(self.groups)[self.groups].astype(np.float64)


def find_copies(columns: Sequence[Matrix], n_rows: int) -> Copies:
    """Find equal rows and copies.

    `columns`: matrices of numbers of shape (n_rows, n_columns); NaN equals NaN.
    """
    hashes = hash_rows(columns, n_rows)
    exact = np.unique(hashes, return_inverse=True)[1].astype(np.int64)
    equal = _in_order(round_rows(columns, exact))
    n_distinct = int(equal.max()) + 1
    if n_distinct == n_rows:  # the usual case, without the memory that the others need
        return Copies(np.arange(n_rows), None)
    if n_distinct <= exact.max():
        columns = round_columns(columns, equal)
    is_copy, n_expected = _look_at_columns(columns, equal)
    if _are_too_many(sum_numbers(columns, n_rows, _PARTS), equal, n_expected):
        return Copies(equal, equal)
    is_copy |= are_no_coincidence(columns, equal, ~is_copy)
    if not is_copy.any():
        return Copies(equal, None)
    # Equal rows that are copies keep their number; every other row is a group of its own.
    groups = np.where(is_copy[equal], equal, equal.max() + 1 + np.arange(n_rows))
    return Copies(equal, _in_order(groups))


def expected_pairs(columns: Sequence[Matrix], n_pairs: float) -> float:
    """How many of some pairs of rows are equal by coincidence, if columns were independent.

    `columns`: a sample of the rows, from which the share of equal values of each column is
    estimated; `n_pairs`: number of pairs.
    """
    n_rows = columns[0].shape[0]
    share = _look_at_columns(columns, np.arange(n_rows))[1] / (n_rows * (n_rows - 1) / 2)
    return n_pairs * share


def _in_order(numbers):
    """Numbers from 0 in the order of the rows, whatever the units and the order of columns."""
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int64)


def _are_too_many(parts, equal, n_expected):
    """Whether the number of equal rows cannot be a coincidence, for the table as a whole."""
    sizes, n_rows = np.bincount(equal), equal.size
    if sizes.size >= _REPEATED_ROWS and np.gcd.reduce(sizes) > 1:
        return True
    n_equal = _count_pairs(sizes)
    if n_equal <= _FAR_MORE * n_expected:
        return False
    total = parts.sum(axis=0, dtype=np.uint64)
    present = parts[parts.any(axis=1)]  # there may be fewer columns than parts
    near_misses = sum(_count_equal(total - part) - n_equal for part in present)
    if n_equal <= _FAR_MORE * (near_misses + 1):
        return False
    if sizes.size > n_rows / 2:
        return True
    thirds = [parts[start::3].sum(axis=0, dtype=np.uint64) for start in range(3)]
    return all(_count_equal(third) <= 1.1 * n_equal for third in thirds)


def _look_at_columns(columns, equal):
    """Find sets of equal rows that share a rare value, and the equal pairs expected by chance.

    Returns `is_copy` (n_distinct_rows,): whether the rows share a value that few others have, in a
    column with more than n/2 distinct values; `n_expected`: number of equal pairs expected if the
    columns were independent.
    """
    sizes, n_rows = np.bincount(equal), equal.size
    is_copy = np.zeros(sizes.size, dtype=bool)
    n_pairs = n_rows * (n_rows - 1) / 2
    log_share = 0.0
    repeated = sizes > 1
    first = np.unique(equal, return_index=True)[1]
    for block in columns:
        if is_sparse(block):
            log_share += _log_shares_stored(stored_numbers(block, 0), n_pairs)
            continue
        for j in range(block.shape[1]):
            values, inverse, counts = np.unique(
                bits_of(block[:, j]), return_inverse=True, return_counts=True
            )
            log_share += np.log(max(_count_pairs(counts), 0.5) / n_pairs)
            if values.size > n_rows / 2:
                shared = counts[inverse[first]]
                is_copy |= repeated & (shared <= _FEW_OTHERS * sizes)
    return is_copy, n_pairs * np.exp(log_share)


def _log_shares_stored(numbers, n_pairs):
    """Sum over sparse columns of the logarithm of the share of pairs that agree."""
    n_rows, n_columns = numbers.shape
    stored = numbers.tocsc()
    column = np.repeat(np.arange(n_columns), np.diff(stored.indptr))
    order = np.lexsort((stored.data, column))
    column, values = column[order], stored.data[order]
    is_new = np.ones(values.size, dtype=bool)
    is_new[1:] = (column[1:] != column[:-1]) | (values[1:] != values[:-1])
    starts = np.flatnonzero(is_new)
    counts = np.diff(np.append(starts, values.size)).astype(np.float64)
    pairs = np.bincount(column[starts], counts * (counts - 1) / 2, minlength=n_columns)
    zeros = n_rows - np.diff(stored.indptr).astype(np.float64)
    return np.log(np.maximum(pairs + zeros * (zeros - 1) / 2, 0.5) / n_pairs).sum()


def _count_pairs(sizes):
    sizes = sizes.astype(np.float64)
    return float((sizes * (sizes - 1)).sum() / 2)


def _count_equal(numbers):
    return _count_pairs(np.unique(numbers, return_counts=True)[1])
