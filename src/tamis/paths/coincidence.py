r"""Whether rows can be equal by coincidence, judged over all columns jointly.

Let N(C) be the number of pairs of different rows that agree in the columns C. If columns were
independent, the expected number of equal pairs would be a product of shares, but dependent columns
(an age and a year of birth) make that product far too small. Here columns are added from the
coarsest to the finest. While N(C) is at least 30, it is counted, whatever the dependence. Every
later column j multiplies the last count by the largest of the shares

.. math:: \frac{N(C \cup \{j\}) + 1}{N(C) + 1}

over sets C of earlier columns: those of the chain so far, each single column, and each together
with the single column that determines j best.

If fewer than 0.01 equal pairs are expected, equal rows are copies, except where

- the values they share are not rare: the most frequent value of a column and missing values are no
  evidence (a form that was never filled in);
- more than :math:`\sqrt{n}` rows are equal: such rows are a common pattern;
- another row shares more than 60 % of these values, by their information :math:`-\log f` for a
  share f of the rows: then many rows are alike there.

Neither the order of the columns nor their units matter.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis.paths.hashing import bits_of, mix

__all__ = ["are_no_coincidence"]

_BY_CHANCE = 0.01
# Pairs that a share is estimated from.
_FEWEST_PAIRS = 30
# The finest columns; ignoring the others makes coincidence more likely, never less.
_COLUMNS = 30
# Different rows that shares are estimated from, and that a set of equal rows is compared with.
_ROWS = 5_000
_COMPARED = 1_000_000
_FEWEST_COMPARED = 300
_ALIKE = 0.6


def are_no_coincidence(
    columns: Sequence[Matrix], equal: NDArray, candidates: NDArray
) -> NDArray[np.bool_]:
    """Find sets of equal rows that chance does not explain.

    `columns`: matrices of numbers of shape (n_rows, n_columns). Only dense ones are looked at.
    `equal` (n_rows,): rows with the same number, from 0, are equal. `candidates`
    (n_distinct_rows,): sets of equal rows to judge. Returns `is_copy` (n_distinct_rows,).
    """
    is_copy = np.zeros(candidates.size, dtype=bool)
    n_rows = equal.size
    sizes, first = np.bincount(equal), np.unique(equal, return_index=True)[1]
    candidates = np.flatnonzero(candidates & (sizes > 1) & (sizes**2 <= n_rows))
    some = _spread(first, _ROWS)
    if not candidates.size or some.size < 2:
        return is_copy
    codes, places = _finest(columns, some)
    if not places:
        return is_copy
    n_pairs = n_rows * (n_rows - 1) / (some.size * (some.size - 1))
    if n_pairs * _expected_pairs(codes) >= _BY_CHANCE:
        return is_copy
    rows = first[candidates]
    others = _spread(some, max(_FEWEST_COMPARED, _COMPARED // candidates.size))
    values, compared = (
        np.column_stack([bits_of(columns[b][which, j]) for b, j in places])
        for which in (rows, others)
    )
    information = np.column_stack(
        [
            _information(bits_of(columns[b][:, j]), shared)
            for (b, j), shared in zip(places, values.T, strict=True)
        ]
    )
    enough = information.sum(axis=1) > np.log(n_rows * (n_rows - 1) / 2 / _BY_CHANCE)
    for place in np.flatnonzero(enough):
        shared = (compared == values[place]) @ information[place]
        shared[others == rows[place]] = 0.0
        is_copy[candidates[place]] = shared.max() <= _ALIKE * information[place].sum()
    return is_copy


def _information(column, values):
    """Information of some values of a column; 0 for the most frequent and for missing ones."""
    column = np.sort(column)
    starts = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    counts = np.diff(np.append(starts, column.size))
    count = counts[np.searchsorted(column[starts], values)]
    is_rare = (count < counts.max()) & (values != bits_of(np.array([np.nan])))
    return np.where(is_rare, np.log(column.size / count), 0.0)


def _spread(rows, n):
    """At most n of some rows, evenly spread."""
    if rows.size <= n:
        return rows
    return rows[np.linspace(0, rows.size - 1, n).astype(np.int64)]


def _finest(columns, rows):
    """Codes of the columns with the fewest agreeing pairs of rows, coarse ones first.

    Equal columns, in any units, have the same codes, and only their content decides the order.
    """
    found = []
    numbers = np.arange(rows.size, dtype=np.uint64)
    for b, block in enumerate(columns):
        if is_sparse(block):
            continue
        for j in range(block.shape[1]):
            _, start, inverse = np.unique(
                bits_of(block[rows, j]), return_index=True, return_inverse=True
            )
            code = start[inverse]
            content = mix(mix(code.astype(np.uint64)) + numbers).sum(dtype=np.uint64)
            found.append((-_count_pairs(code), int(content), code, (b, j)))
        found = sorted(found, key=lambda column: column[:2])[-_COLUMNS:]
    return [column[2] for column in found], [column[3] for column in found]


def _expected_pairs(codes):
    """Equal pairs of rows that are likely by chance, given the columns, coarse ones first."""
    n_rows = codes[0].size
    counts = [_count_pairs(code) for code in codes]
    chain = [(np.zeros(n_rows, dtype=np.int64), n_rows * (n_rows - 1) / 2)]
    n_chained = 0
    for code in codes:
        joint = _join(chain[-1][0], code)
        n_agree = _count_pairs(joint)
        if n_agree < _FEWEST_PAIRS:
            break
        chain.append((joint, n_agree))
        n_chained += 1
    expected = chain[-1][1]
    for j in range(n_chained, len(codes)):
        share = max(_share(codes[j], *given) for given in chain)
        singles = [_share(codes[j], codes[i], counts[i]) for i in range(j)]
        if singles:
            best = int(np.argmax(singles))
            share = max(share, singles[best])
            for i in range(j):
                both = _join(codes[best], codes[i])
                n_agree = _count_pairs(both)
                if i != best and n_agree >= _FEWEST_PAIRS / 3:
                    share = max(share, _share(codes[j], both, n_agree))
        expected *= share
    return expected


def _share(code, given, n_agree):
    """Share of the pairs that agree in some columns which agree in another one, too."""
    return (_count_pairs(_join(given, code)) + 1) / (n_agree + 1)


def _join(one, other):
    return np.unique(one * np.int64(one.size) + other, return_inverse=True)[1]


def _count_pairs(code):
    sizes = np.bincount(code).astype(np.float64)
    return float((sizes * (sizes - 1)).sum() / 2)
