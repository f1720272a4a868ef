r"""Rows that agree, up to rounding, with another row in all but a few columns.

Repeated measurements of a sample often differ in a visit number, a rater, or a few missing cells,
and are equal elsewhere. Two rows agree if they do so in at least three quarters of the columns
that are known in both, and of the fine ones among these, in three or more. A column is fine if
most of its values are rare: a value that a tenth of the rows have, or far more rows than have
others, such as a detection limit, says nothing about two rows.

They are reported if 5 % of the rows are in such a pair and there are many more pairs than chance
makes likely, by two standards:

- Columns that depend on each other, an age and a year of birth, agree together. But there are as
  many pairs, or more, that are a step apart in these columns: up to three values.
- Columns of which each is shuffled on its own show how many pairs agree by coincidence.

Only some rows are compared with all. In the order of a column, those that agree with a row or are
a step apart lie next to each other, so the others need not be looked at.
"""

from __future__ import annotations

import numpy as np

__all__ = ["find_agreeing"]

_TOLERANCE = 1e-5
# Rows for which this tolerance is meant; it is smaller where values lie more densely.
_USUAL_ROWS = 2000
# A value is common if a larger share of the rows has it, or so many times more than the fifth.
_COMMON, _OUTSTANDING, _FIFTH = 0.1, 3, 5
# A step is this share of the different values, but at least one and at most three.
_STEP, _MOST_STEPS = 0.03, 3
_FEWEST_FINE = 3
_FEW_ROWS = 0.05
_MORE_THAN_NEAR, _MORE_THAN_CHANCE = 3, 10
_MOST_COLUMNS, _MOST_READ = 50, 200
_FEWEST_QUERIES, _MOST_QUERIES, _MOST_MATCHES = 50, 1000, 3_000_000
# Codes of what is missing, in a row and in the row that it is compared with.
_NONE, _NONE_OF_QUERY = 1 << 29, -(1 << 29)


def find_agreeing(U, known, categories, together):
    """Find rows that agree with another one in all but a few columns.

    `U` (n_rows, n_numbers): numbers on a scale on which typical values are about 1 apart; `known`
    (n_rows, n_numbers); `categories`, `together`: as in
    `tamis.comparison.checks.near_copies.check_near_copies`. Returns `found`: which of the rows
    that were compared agree with another one, and an example of two rows. None if chance explains
    it.
    """
    fine, steps, coarse = _sort_columns(U, known, categories)
    if steps.size < _FEWEST_FINE:
        return None
    n_rows = U.shape[0]
    rng = np.random.default_rng(41)
    queries = rng.permutation(n_rows)[:_MOST_QUERIES]
    agreeing, near, pairs = _count(fine, steps, coarse, together, queries)
    queries = queries[: agreeing.size]
    counted = agreeing <= n_rows * _COMMON
    is_near = counted & (agreeing > 0)
    n_agreeing = agreeing[is_near].sum()
    if is_near.mean() < _FEW_ROWS:
        return None
    if n_agreeing <= _MORE_THAN_NEAR * (near[counted].sum() + 1):
        return None
    shuffled = rng.permuted(fine, axis=0), rng.permuted(coarse, axis=0)
    by_chance = _count(shuffled[0], steps, shuffled[1], together, queries)[0].sum()
    if n_agreeing <= _MORE_THAN_CHANCE * (by_chance + 1):
        return None
    return is_near, min(pair for pair, is_told in zip(pairs, is_near, strict=True) if is_told)


def _sort_columns(U, known, categories):
    """Codes of fine columns, what one step is in these, and codes of the other columns."""
    fine, steps, coarse = [], [], []
    n_rows = U.shape[0]
    read = range(0, U.shape[1], -(-U.shape[1] // _MOST_READ) or 1)
    columns = [(_number(U[:, j], known[:, j]), True) for j in read]
    columns += [(np.where(codes < 0, _NONE, codes), False) for codes in categories]
    for codes, is_ordered in columns:
        is_known = codes != _NONE
        counts = np.bincount(codes[is_known], minlength=1)
        is_rare = counts <= min(n_rows * _COMMON, _OUTSTANDING * np.sort(counts)[-_FIFTH:][0])
        rare = is_known & is_rare[np.where(is_known, codes, 0)]
        if np.count_nonzero(rare) >= n_rows / 2:
            fine.append(np.where(rare, codes, _NONE))
            steps.append(np.clip(round(_STEP * counts.size), 1, _MOST_STEPS) * is_ordered)
        elif np.count_nonzero(counts) > 1:
            coarse.append(codes)
    return _some(fine, n_rows), np.array(steps)[:: _every(steps)], _some(coarse, n_rows)


def _every(columns):
    return -(-len(columns) // _MOST_COLUMNS) or 1


def _some(columns, n_rows):
    some = columns[:: _every(columns)]
    return np.array(some, dtype=np.int32).reshape(-1, n_rows).T.copy()


def _number(values, known):
    """Number values in ascending order; those that differ by rounding have the same number."""
    codes = np.full(values.size, _NONE, dtype=np.int64)
    order = np.flatnonzero(known)[np.argsort(values[known])]
    tolerance = _TOLERANCE * min(1.0, _USUAL_ROWS / values.size)
    codes[order] = np.cumsum(np.diff(values[order], prepend=values[order[:1]]) > tolerance)
    return codes


def _count(fine, steps, coarse, together, queries):
    """How many rows agree with each query, how many more but for a step, and an example of each.

    Ends early after many matches, so there may be fewer counts than queries.
    """
    order = np.argsort(fine, axis=0)
    ordered = np.take_along_axis(fine, order, axis=0)
    ends = [
        (
            np.searchsorted(ordered[:, j], here - step),
            np.searchsorted(ordered[:, j], here + step, "right"),
        )
        for j, (step, here) in enumerate(zip(steps, fine[queries].T, strict=True))
    ]
    agreeing, near, pairs, n_matches = [], [], [], 0
    for place, query in enumerate(queries):
        if n_matches > _MOST_MATCHES and place >= _FEWEST_QUERIES:
            break
        matches = np.concatenate(
            [
                order[low[place] : high[place], j]
                for j, (low, high) in enumerate(ends)
                if fine[query, j] != _NONE
            ]
            or [np.zeros(0, dtype=np.int64)]
        )
        n_matches += matches.size
        others = np.flatnonzero(np.bincount(matches) >= _FEWEST_FINE)
        others = others[others != query]
        for ids in together:
            others = others[ids[others] != ids[query]]
        agree, but_for_a_step = _compare(fine, steps, coarse, query, others)
        agreeing.append(np.count_nonzero(agree))
        near.append(np.count_nonzero(but_for_a_step & ~agree))
        pairs.append((int(query), int(others[np.argmax(agree)]) if agree.any() else -1))
    return np.array(agreeing), np.array(near), pairs


def _compare(fine, steps, coarse, query, others):
    """Whether rows agree with a query, and whether they do but for a step."""
    here, there = fine[query], fine[others]
    away = np.abs(np.where(here == _NONE, _NONE_OF_QUERY, here) - there)
    n_known = ((here != _NONE) & (there != _NONE)).sum(axis=1)
    here, there = coarse[query], coarse[others]
    known = (here != _NONE) & (there != _NONE)
    n_equal, n_all = (known & (here == there)).sum(axis=1), n_known + known.sum(axis=1)
    return tuple(
        (3 * n_known >= steps.size)
        & (count >= _FEWEST_FINE)
        & (4 * count >= 3 * n_known)
        & (4 * (count + n_equal) >= 3 * n_all)
        for count in ((away == 0).sum(axis=1), (away <= steps).sum(axis=1))
    )
