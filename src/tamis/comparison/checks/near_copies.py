r"""Rows that are closer to each other than the density of the data makes likely.

Distances are measured on the columns of the table. A number becomes
:math:`\operatorname{asinh}((x - m) / s)` with the median m of its column and the median s of
:math:`|x - m|` over the values other than m; categories that differ are 1 apart.

Let E(r) be the number of pairs within a distance r, and A(r) that of pairs between r and 10 r.
Where the density is smooth, E(r) is about A(r) / 9 if the rows lie on a line, and less in more
dimensions. Rows are near-copies if E(r) > 10 (A(r) + 1) for some r, and E(r) is more than 10 times
what independent columns make likely. A row with more than a tenth of all rows within r is in a
cluster and not counted.

In wide tables, rows that correlate above 0.99 are near-copies too, even a single pair. So are rows
that agree in all but a few columns (`tamis.comparison.checks.agreement`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis.comparison.checks.agreement import find_agreeing
from tamis.comparison.checks.check import Check
from tamis.tables.columns.coded import Coded

__all__ = ["check_near_copies", "split_columns"]

# Rows of wide data that are correlated more than this could be the same sample.
_NEAR = 0.99
_WIDE = 50
_MOST_ROWS, _MOST_COLUMNS = 2000, 5000
_FAR_MORE = 10
# Distances are counted in quarters of a decade, from 1e-8 to 1e4.
_PER_DECADE, _LOWEST, _DECADES = 4, -8, 12
# Differences that are computed at once, and in all.
_BLOCK, _MOST_DIFFERENCES = 4_000_000, 1_000_000_000
# Rows whose lengths are found at once.
_SQUARED = 10_000
# Numbers of the rows that others are compared with.
_MOST_VALUES = 10_000_000
# Rows that are put in the order of each column.
_MOST_SORTED = 200_000


def split_columns(table, preparation, encoded):
    """Numbers and words of a table as a matrix, and its categories as codes, not dummies.

    `preparation`, `encoded`: from `tamis.tables.lay_out`. Returns `numbers` (n_rows, n_numbers);
    `categories` (n_rows,).
    """
    categories = [Coded.of(table.others[name]).codes for name in preparation.categories]
    if not categories:
        return encoded, categories
    is_number = [source not in preparation.categories for source in preparation.sources]
    return encoded[:, np.flatnonzero(is_number)], categories


def check_near_copies(
    numbers: Matrix, categories: Sequence[NDArray], together: Sequence[NDArray]
) -> list[Check]:
    """Find near-copies of rows.

    `numbers` (n_rows, n_numbers); `categories` (n_rows,); `together` (n_rows,): rows with the same
    number in one of these are equal or of one sample group, and are not compared.
    """
    n_rows, n_columns = numbers.shape
    if n_rows < 3 or (is_sparse(numbers) and n_rows > _MOST_ROWS):
        return []
    some = _some_rows(n_rows, max(_MOST_ROWS, _MOST_VALUES // max(n_columns, 1)))
    if some.size < n_rows:
        numbers = numbers[some]
        categories, together = [c[some] for c in categories], [ids[some] for ids in together]
    X = numbers[:, :: -(-n_columns // _MOST_COLUMNS) or 1]
    X = X.toarray() if is_sparse(X) else X
    U = _scaled(X)
    if n_columns >= _WIDE and n_rows <= _MOST_ROWS:
        near = _correlated(U)
        for ids in together:
            near &= ids[:, None] != ids
        if near.any():
            pair = np.argwhere(near)[0]
            return [_tell(near.any(axis=0), n_rows, pair, f" (correlation above {_NEAR})")]
    found, how = _look_at_distances(U, categories, together), ""
    if found is None:
        fewer = _some_rows(some.size, _MOST_SORTED)
        found = find_agreeing(
            *(U[fewer], np.isfinite(X[fewer])),
            *([codes[fewer] for codes in some_codes] for some_codes in (categories, together)),
        )
        some, how = some[fewer], " in most columns"
    return [] if found is None else [_tell(found[0], n_rows, some[np.array(found[1])], how)]


def _some_rows(n_rows, most):
    """At most so many of the rows, ascending."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(37).choice(n_rows, most, replace=False))


def _tell(is_near, n_rows, pair, how):
    n = int(np.count_nonzero(is_near))
    one, other = sorted(pair + 1)
    of_all = "" if is_near.size == n_rows else f" of {is_near.size:,} rows that were compared"
    return Check(
        "near-duplicates",
        "warning",
        f"{n:,}{of_all or (' row' if n == 1 else ' rows')} {'is' if n == 1 else 'are'} nearly "
        f"equal to another row{how}, such as rows {one} and {other}. If these are "
        "measurements of the same sample, the scores are unreliable: they are too high.",
        "If so, say which rows belong to which sample with --groups COL.",
    )


def _correlated(U):
    """Whether pairs of rows correlate, each pair once."""
    U = U - U.mean(axis=0)  # rows are alike where all rows are
    U -= U.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(U, axis=1, keepdims=True)
    U = np.divide(U, norms, out=np.zeros_like(U), where=norms > 0)
    return np.triu(U @ U.T > _NEAR, 1)


def _scaled(X):
    """Columns on a scale on which typical values are about 1 apart, and tails are short."""
    scaled = np.zeros(X.shape)
    for j in range(X.shape[1]):
        column = np.asarray(X[:, j], dtype=np.float64)
        known = np.isfinite(column)
        if not known.any():
            continue
        away = np.where(known, column, 0.0) - np.median(column[known])
        moved = np.abs(away[known & (away != 0)])
        if moved.size:
            scaled[:, j] = np.where(known, np.arcsinh(away / np.median(moved)), 0.0)
    return scaled


def _look_at_distances(U, categories, together):
    """Which of some rows are near another one, and an example; None if chance explains it."""
    n_rows, n_columns = U.shape[0], U.shape[1] + len(categories)
    n_queries = max(50, min(_MOST_ROWS, _MOST_DIFFERENCES // (n_rows * max(n_columns, 1))))
    queries = _some_rows(n_rows, n_queries)
    counts = np.zeros((queries.size, _DECADES * _PER_DECADE), dtype=np.int64)
    height, squares = max(1, _BLOCK // n_rows), np.empty(n_rows)
    for start in range(0, n_rows, _SQUARED):
        squares[start : start + _SQUARED] = (U[start : start + _SQUARED] ** 2).sum(axis=1)
    for start in range(0, queries.size, height):
        some = slice(start, start + height)
        bins = _bins(U, squares, categories, together, queries[some])
        shape = (bins.shape[0], counts.shape[1] + 1)
        cells = np.arange(shape[0])[:, None] * shape[1] + bins
        counts[some] = np.bincount(cells.ravel(), minlength=np.prod(shape)).reshape(shape)[:, :-1]
    within = np.cumsum(counts, axis=1)
    for place in range(within.shape[1] - _PER_DECADE):
        near = within[:, place]
        counted = near <= n_rows / 10
        n_near = near[counted].sum()
        n_around = (within[counted, place + _PER_DECADE] - near[counted]).sum()
        if n_near <= _FAR_MORE * (n_around + 1):
            continue
        radius = 10.0 ** (_LOWEST + (place + 1) / _PER_DECADE)
        if n_near <= _FAR_MORE * queries.size * n_rows * _share_within(U, categories, radius):
            continue
        is_near = counted & (near > 0)
        query = int(queries[np.argmax(is_near)])
        bins = _bins(U, squares, categories, together, np.array([query]))[0]
        return is_near, np.array([query, int(np.argmin(bins))])
    return None


def _bins(U, squares, categories, together, queries):
    """Place on the scale of distances for pairs of a row of `queries` and any row.

    `squares` (n_rows,): squared length of each row of `U`.
    """
    away = squares[queries, None] + squares
    products = U[queries] @ U.T
    products *= 2
    away -= products
    del products
    for codes in categories:
        away += codes[queries, None] != codes
    np.maximum(away, 0.0, out=away)
    with np.errstate(divide="ignore"):
        np.log10(away, out=away)
    away /= 2
    away -= _LOWEST
    away *= _PER_DECADE
    last = _DECADES * _PER_DECADE
    bins = np.clip(np.floor(away, out=away), 0, last - 1, out=away).astype(np.int64)
    for ids in together:
        bins[ids[queries, None] == ids] = last  # not compared
    return bins


def _share_within(U, categories, radius):
    """Share of pairs that are within a radius in every column, if columns were independent."""
    n_rows, log_share = U.shape[0], 0.0
    for column in U.T:
        ordered = np.sort(column)
        ends = np.searchsorted(ordered, ordered + radius, side="right")
        log_share += np.log((ends - np.arange(n_rows)).sum() * 2 / n_rows**2)
    for codes in categories:
        log_share += np.log((np.unique(codes, return_counts=True)[1] ** 2).sum() / n_rows**2)
    return float(np.exp(min(log_share, 0.0)))
