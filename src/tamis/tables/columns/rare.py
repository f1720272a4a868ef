"""Categories with few training rows: together they are "other", or else they count as missing.

A category of one or two rows says nothing about its class, but a model would believe it: a typing
error would become a predictor. So categories with fewer than `FEWEST_ROWS` training rows are
pooled into "other" if they reach that number together, and count as missing if they do not. A row
that is "other" has 0 in all columns of its source. Columns with two values are never pooled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import Matrix, is_sparse

#: Training rows that a category has at least.
FEWEST_ROWS = 5


@dataclass(frozen=True)
class Pool:
    """What rare and new categories of a column count as."""

    rare: list[str] = field(default_factory=list)  # categories with few training rows
    is_other: bool = False  # whether the rare ones are "other"; they are missing otherwise
    is_open: bool = False  # whether new ones are "other"; they are missing otherwise


def find_pool(part: NDArray, known: Sequence[str], pool: Pool, weights: NDArray | None) -> Pool:
    """Find the rare categories among training rows.

    `part` (n_rows, n_categories): one column per category, NaN where a value is missing. `weights`
    (n_rows,) or None: whole numbers count rows; of others, those above 0 are one row each.
    """
    rows = np.ones(len(part))
    if weights is not None:
        rows = weights if (weights == np.floor(weights)).all() else (weights > 0).astype(float)
    is_present = ~np.isnan(part).any(axis=1)
    part, rows = part[is_present], rows[is_present]
    sizes = rows @ part
    is_rare = sizes < FEWEST_ROWS
    n_pooled = sizes[is_rare].sum() + rows[part.sum(axis=1) == 0].sum()
    rare = sorted({*pool.rare, *(c for c, few in zip(known, is_rare, strict=True) if few)})
    is_other = bool(n_pooled >= FEWEST_ROWS)
    return Pool(rare, is_other, is_other and pool.is_open)


def pool_part(
    part: NDArray, known: Sequence[str], others: Sequence[str], pool: Pool
) -> NDArray | None:
    """The columns of one source with its rare categories pooled; None if nothing changes.

    `part` (n_rows, n_categories).
    """
    is_rare = _is_rare(known, pool)
    with np.errstate(invalid="ignore"):
        found = part[:, is_rare].any(axis=1) & ~np.isnan(part).any(axis=1)
    if not pool.is_other and not pool.is_open and not others:
        found |= (part == 0).all(axis=1)
    if not found.any():
        return None
    part = part.copy()
    part[found] = 0.0 if pool.is_other else np.nan
    return part


def pool_parts(
    encoded: Matrix,
    start: int,
    categories: Mapping[str, Sequence[str]],
    others: Mapping[str, Sequence[str]],
    pools: Mapping[str, Pool],
) -> Matrix:
    """A matrix with the rare categories of all sources pooled; itself if nothing changes.

    `encoded` (n_rows, n_columns).
    """
    changed: dict[int, NDArray] = {}
    for name, known in categories.items():
        stop = start + len(known)
        if name in pools:
            part = encoded[:, start:stop]
            part = part.toarray() if is_sparse(part) else part
            pooled = pool_part(part, known, others.get(name, ()), pools[name])
            if pooled is not None:
                changed[start] = pooled
        start = stop
    if not changed:
        return encoded
    if not is_sparse(encoded):
        encoded = encoded.copy()
        for at, part in changed.items():
            encoded[:, at : at + part.shape[1]] = part
        return encoded
    parts, done = [], 0
    for at, part in changed.items():
        parts += [encoded[:, done:at], sparse.csr_array(part)]
        done = at + part.shape[1]
    joined = sparse.hstack([*parts, encoded[:, done:]], format="csr")
    return sparse.csr_array(joined)


def unused_columns(
    n_columns: int, start: int, categories: Mapping[str, Sequence[str]], pools: Mapping[str, Pool]
) -> NDArray[np.bool_]:
    """Columns that say nothing once rare categories are pooled.

    These are the columns of rare categories; and, where exactly two categories are left, the first
    one, which is then the opposite of the second. Every source keeps one column at least.

    Returns `unused` (n_columns,).
    """
    unused = np.zeros(n_columns, dtype=bool)
    for name, known in categories.items():
        pool = pools.get(name, Pool())
        is_rare = _is_rare(known, pool)
        left = np.flatnonzero(~is_rare)
        if is_rare.any() and not pool.is_other and left.size == 2:
            is_rare[left[0]] = True
        is_rare[0] &= left.size > 0
        unused[start : start + len(known)] = is_rare
        start += len(known)
    return unused


def _is_rare(known, pool):
    rare = {*pool.rare}
    return np.array([category in rare for category in known], dtype=bool)
