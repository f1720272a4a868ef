r"""Rows that are equal up to rounding.

A number that was written with six digits, or kept in 32 bits, is off by some millionths. Let

.. math:: u_{ij} = \operatorname{asinh}(x_{ij} / s_j)

with the median :math:`s_j` of :math:`|x_{ij}|` over the values other than zero: a difference of u
is relative for large values and absolute for small ones, whatever the unit. Rows are equal up to
rounding if they differ by at most :math:`\tau = 10^{-5}` in every u; columns of whole numbers and
missing values must agree exactly.

The idea that makes this fast in tables of any width: rows are projected on four random directions
of length 1, where rounding moves them by about :math:`\tau` however many columns there are. The
projections are rounded on a grid, and only rows of one cell are compared: each with the first row
of the cell, never neighbour with neighbour, so there are no chains. A second grid, shifted by half
a step, keeps together what an edge of the first separates; a row joins the larger of its groups.

Different rows of a fine column can be that close by chance. If the density of the rows is smooth
on the scale of a cell of 2048 :math:`\tau`, at most one pair in 1024 of those in a cell is within
:math:`\tau`, even if all columns depend on one quantity. Rows count as equal up to rounding only
if there are more than 10 times as many pairs of them, and if a Poisson number of that mean is as
large with a probability below 0.01.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from tamis._array import Matrix, is_sparse
from tamis.paths.hashing import mix, sum_numbers

__all__ = ["round_columns", "round_rows"]

_TOLERANCE = 1e-5
# Steps of the grids: of those that find groups, and of the one that shows the density of the rows.
_STEP, _WIDE_STEP = 64 * _TOLERANCE, 2048 * _TOLERANCE
_DIRECTIONS = 4
_BY_CHANCE, _FAR_MORE = 0.01, 10
# A cell with more different rows than this is no place to look for copies.
_ROUNDS = 20
# Values that are looked at at once.
_BLOCK_VALUES = 1_000_000


def round_rows(columns: Sequence[Matrix], equal: NDArray) -> NDArray[np.int64]:
    """Number rows so that those which are equal up to rounding have the same number.

    `columns`: matrices of numbers of shape (n_rows, n_columns); `equal` (n_rows,): rows with the
    same number, from 0, are exactly equal. Returns `near` (n_rows,): `equal` itself if no more
    rows are equal up to rounding than chance makes likely.
    """
    sizes = [_sizes(block) for block in columns]
    if not any(np.isfinite(size).any() for size in sizes):
        return equal
    n_distinct = int(equal.max()) + 1
    if n_distinct < equal.size:
        first = np.unique(equal, return_index=True)[1]
        columns, of_row = [block[first] for block in columns], equal
    else:  # no need to take rows in another order
        of_row = np.arange(n_distinct)
    projected, exact = _project(columns, sizes, n_distinct)
    groups = [
        _group(columns, sizes, projected, _cells(projected, exact, _STEP, shift))
        for shift in (0.0, 0.5)
    ]
    numbers = [np.bincount(group, minlength=n_distinct)[group] for group in groups]
    if max(number.max() for number in numbers) == 1:
        return equal
    near = np.where(numbers[0] >= numbers[1], groups[0], n_distinct + groups[1])
    near = np.unique(near, return_inverse=True)[1].astype(np.int64)
    n_near = _count_pairs(near)
    n_around = _count_pairs(_cells(projected, exact, _WIDE_STEP, 0.25)) - n_near
    expected = (max(n_around, 0.0) + 1) * 2 * _TOLERANCE / _WIDE_STEP
    is_likely = stats.poisson.sf(n_near - 1, expected) >= _BY_CHANCE
    if is_likely or n_near <= _FAR_MORE * expected:
        return equal
    return near[of_row]


def round_columns(columns: Sequence[Matrix], near: NDArray) -> list[Matrix]:
    """Columns in which rows with the same number are equal, for `tamis.paths.copies`.

    Every row becomes the first of its number. In a column with at most n/2 values that rounding
    does not explain, values that are equal up to rounding become equal in all rows.

    `near` (n_rows,): from `round_rows`.
    """
    first = np.unique(near, return_index=True)[1][near]
    rounded: list[Matrix] = []
    for block in columns:
        sizes = _sizes(block)
        if is_sparse(block):
            stored = block.tocsc(copy=True)
            column = np.repeat(np.arange(block.shape[1]), np.diff(stored.indptr))
            stored.data = _snap(stored.data, column, sizes, near.size)
            rounded.append(sparse.csr_array(stored.tocsr())[first])
            continue
        values = np.array(block, dtype=np.float64)
        for j in np.flatnonzero(np.isfinite(sizes)):
            column = np.zeros(near.size, dtype=np.int64)
            values[:, j] = _snap(values[:, j], column, sizes[j : j + 1], near.size)
        rounded.append(values[first])
    return rounded


def _snap(values, column, sizes, n_rows):
    """Number the values of coarse columns; rounding errors do not matter then."""
    u = _scale(values, sizes[column])
    order = np.lexsort((u, column))
    is_new = np.ones(order.size, dtype=bool)
    # Missing values, which are last, are one value.
    is_new[1:] = (np.diff(column[order]) > 0) | ~(np.diff(u[order]) <= _TOLERANCE)
    is_new[1:] &= ~(np.isnan(u[order])[1:] & np.isnan(u[order])[:-1])
    n_values = np.bincount(column[order][is_new], minlength=sizes.size)
    is_coarse = np.isfinite(sizes) & (n_values <= n_rows / 2)
    number = np.empty(order.size)
    number[order] = np.cumsum(is_new)
    return np.where(is_coarse[column] & (values != 0), number, values)


def _sizes(block):
    """Median size of the values of each column; infinite for columns of whole numbers."""
    sizes = np.full(block.shape[1], np.inf)
    if is_sparse(block):
        stored = block.tocsc()
        column = np.repeat(np.arange(block.shape[1]), np.diff(stored.indptr))
        size = np.abs(stored.data.astype(np.float64))
        used = np.isfinite(size) & (size > 0)
        order = np.lexsort((size[used], column[used]))
        column, size = column[used][order], size[used][order]
        counts = np.bincount(column, minlength=sizes.size)
        starts = np.cumsum(counts) - counts
        fine = np.unique(column[size % 1 != 0])
        low, high = (starts[fine] + (counts[fine] - k) // 2 for k in (1, 0))
        sizes[fine] = (size[low] + size[high]) / 2
        return sizes
    width = max(1, _BLOCK_VALUES // max(1, block.shape[0]))
    for start in range(0, sizes.size, width):
        size = np.abs(np.asarray(block[:, start : start + width], dtype=np.float64))
        size[~np.isfinite(size) | (size == 0)] = np.nan
        fine = np.flatnonzero((np.nan_to_num(size) % 1).any(axis=0))
        if fine.size:
            sizes[start + fine] = np.nanmedian(size[:, fine], axis=0)
    return sizes


def _project(columns, sizes, n_rows):
    """Projections of the rows, and numbers of what must be equal exactly."""
    rng = np.random.default_rng(31)
    projected = np.zeros((n_rows, _DIRECTIONS))
    exact = np.zeros(n_rows, dtype=np.uint64)
    weights = [
        rng.uniform(0.5, 1.5, (size.size, _DIRECTIONS))
        * rng.choice([-1.0, 1.0], (size.size, _DIRECTIONS))
        * np.isfinite(size)[:, None]
        for size in sizes
    ]
    length = np.sqrt(sum((weight**2).sum(axis=0) for weight in weights))
    for place, (block, size, weight) in enumerate(zip(columns, sizes, weights, strict=True)):
        height = max(1, _BLOCK_VALUES // max(1, block.shape[1]))
        for start in range(0, n_rows, n_rows if is_sparse(block) else height):
            some = slice(start, start + (n_rows if is_sparse(block) else height))
            u, others = _split(block[some], size)
            projected[some] += u @ (weight / length)
            numbers = sum_numbers([others], others.shape[0], 1)[0]
            exact[some] += mix(numbers + np.uint64(place))
    return projected, exact


def _split(block, sizes):
    """The part of a block that may differ by rounding, as u, and the part that may not."""
    if is_sparse(block):
        size = sizes[block.indices]
        u, others = _split(block.data, size)
        return tuple(
            sparse.csr_array((data, block.indices, block.indptr), block.shape)
            for data in (u, others)
        )
    values = np.asarray(block, dtype=np.float64)
    is_fine = np.isfinite(values) & np.isfinite(sizes)
    return _scale(np.where(is_fine, values, 0.0), sizes), np.where(is_fine, 0.0, values)


def _scale(values, sizes):
    with np.errstate(over="ignore"):
        return np.arcsinh(np.clip(values / sizes, -1e300, 1e300))


def _cells(projected, exact, step, shift):
    """Number of the cell of a grid that each row is in."""
    key = exact.copy()
    for k, of_direction in enumerate(projected.T):
        place = np.floor(of_direction / step + shift).astype(np.int64).view(np.uint64)
        key += mix(mix(place) + np.uint64(k))
    return np.unique(key, return_inverse=True)[1]


def _group(columns, sizes, projected, cells):
    """For each row the first row of its cell that it equals up to rounding; else itself."""
    groups = np.arange(cells.size)
    # In the order of a projection, so that the order of the rows does not matter.
    rows = np.lexsort((projected[:, 0], cells))
    for _ in range(_ROUNDS):
        is_alone = np.bincount(cells[rows], minlength=cells.size)[cells[rows]] == 1
        rows = rows[~is_alone]
        if not rows.size:
            break
        starts = np.flatnonzero(np.diff(cells[rows], prepend=-1))
        first = rows[np.repeat(starts, np.diff(np.append(starts, rows.size)))]
        same = _agree(columns, sizes, rows, first)
        groups[rows[same]] = first[same]
        rows = rows[~same]
    return groups


def _agree(columns, sizes, rows, others):
    """Whether pairs of rows of one cell are equal up to rounding."""
    same = np.ones(rows.size, dtype=bool)
    for block, size in zip(columns, sizes, strict=True):
        height = max(1, _BLOCK_VALUES // max(1, block.shape[1]))
        for start in range(0, rows.size if np.isfinite(size).any() else 0, height):
            some = slice(start, start + height)
            away = abs(_split(block[rows[some]], size)[0] - _split(block[others[some]], size)[0])
            furthest = away.max(axis=1)
            same[some] &= (furthest.toarray() if is_sparse(block) else furthest) <= _TOLERANCE
    return same


def _count_pairs(numbers):
    sizes = np.bincount(numbers).astype(np.float64)
    return float((sizes * (sizes - 1)).sum() / 2)
