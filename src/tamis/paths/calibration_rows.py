"""Calibration rows: rows that train nothing, so that what was trained can be judged on them.

A guarantee needs calibration rows that look like new rows: drawn at random, whole sample groups at
a time, and with one random row of each sample group counted. So nothing here balances group sizes,
as the folds of `tamis.paths.folds` do. Rows may be dealt class by class, and so may sample groups
that have rows of one class only: within a class they are still drawn at random, which is what
statements about a class need. Statements about all rows together need draws without classes.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length

from tamis._base import is_real

__all__ = [
    "CALIBRATION_SHARE",
    "check_share",
    "count_as_strange",
    "deal_rows",
    "keep_rows",
    "number_groups",
    "one_row_per_group",
    "take_rows",
]

#: Share of the rows that is kept by default.
CALIBRATION_SHARE = 0.3
# Scores closer than this are equal: those of equal rows may differ in their last digits.
TIES = 1e-9


def check_share(name: str, value: float) -> float:
    """`value`, if it is a number between 0 and 1, both excluded; otherwise an error."""
    if not is_real(value) or not 0 < value < 1:
        raise ValueError(f"{name} must be a number between 0 and 1, got {value!r}.")
    return float(value)


def number_groups(groups: ArrayLike | None, n_rows: int) -> NDArray[np.intp] | None:
    """Sample groups as numbers 0, 1, ...; None if there are none."""
    if groups is None:
        return None
    check_consistent_length(range(n_rows), groups)
    return np.unique(np.asarray(groups), return_inverse=True)[1]


def keep_rows(
    strata: NDArray | None,
    groups: NDArray | None,
    n_rows: int,
    share: float,
    seed: int,
    left: int = 1,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Set rows aside at random; sample groups stay whole.

    `strata` (n_rows,) or None: classes from each of which the same share is kept. Not used if any
    sample group has rows of several classes. `groups` (n_rows,) or None: sample groups, numbered
    from 0. `share`: share of the rows, or sample groups, to keep. `left`: rows (or sample groups)
    of each class that are not kept, at least. Returns `train`, `kept`: both ascending.
    """
    rng = np.random.default_rng(seed)
    part_of, strata = _parts(strata, groups, n_rows)
    is_kept = np.zeros(strata.size, dtype=bool)
    for stratum in np.unique(strata):
        members = rng.permutation(np.flatnonzero(strata == stratum))
        n_kept = min(round(share * members.size), members.size - left)
        is_kept[members[: max(0, n_kept)]] = True
    return np.flatnonzero(~is_kept[part_of]), np.flatnonzero(is_kept[part_of])


def deal_rows(
    strata: NDArray | None, groups: NDArray | None, n_rows: int, n_folds: int, seed: int
) -> NDArray[np.intp]:
    """Deal rows to folds at random; sample groups stay whole.

    `strata`, `groups`, `n_rows`, `seed`: as for `keep_rows`. Returns `fold_of` (n_rows,): fold of
    each row. Without sample groups, folds differ by at most one row of each class.
    """
    if not isinstance(n_folds, Integral) or isinstance(n_folds, bool) or n_folds < 2:
        raise ValueError(f"cv must be a number of folds, 2 or more, got {n_folds!r}.")
    rng = np.random.default_rng(seed)
    part_of, strata = _parts(strata, groups, n_rows)
    if strata.size < n_folds:
        kind = "rows" if groups is None else "sample groups"
        raise ValueError(f"{n_folds} folds need at least {n_folds} {kind}, got {strata.size}.")
    fold_of = np.empty(strata.size, dtype=np.intp)
    first = 0
    for stratum in np.unique(strata):
        members = rng.permutation(np.flatnonzero(strata == stratum))
        fold_of[members] = (first + np.arange(members.size)) % n_folds
        first += members.size
    return fold_of[part_of]


def one_row_per_group(
    rows: NDArray[np.intp], groups: NDArray | None, rng: np.random.Generator
) -> NDArray[np.intp]:
    """One random row of each sample group that has any among `rows`, ascending."""
    if groups is None:
        return rows
    shuffled = rng.permutation(rows)
    return np.sort(shuffled[np.unique(groups[shuffled], return_index=True)[1]])


def count_as_strange(known: NDArray, scores: NDArray) -> NDArray[np.intp]:
    """Calibration rows that look at least as strange as each new row.

    `known` (n_calibration,): scores of calibration rows, ascending: the larger, the stranger;
    `scores` (n_rows,): scores of new rows. Returns `n_rows` (n_rows,).
    """
    return known.size - np.searchsorted(known, scores - TIES)


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of an array, a sparse matrix or a data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.tocsr()[rows] if hasattr(X, "tocsr") else X[rows]


def _parts(strata, groups, n_rows):
    """What is drawn (rows or sample groups) as a number per row, and the stratum of each."""
    if groups is None:
        return np.arange(n_rows), np.zeros(n_rows, dtype=np.intp) if strata is None else strata
    none = np.zeros(groups.max() + 1, dtype=np.intp)
    if strata is None:
        return groups, none
    of_group = none.copy()
    of_group[groups] = strata
    return groups, of_group if (of_group[groups] == strata).all() else none
