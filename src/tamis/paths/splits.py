"""Splits: the folds of the `...CV` classes, as scikit-learn users give them."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length

from tamis._array import Matrix
from tamis.paths.folds import GroupFolds

if TYPE_CHECKING:
    from sklearn.model_selection import BaseCrossValidator

__all__ = ["make_splits", "weighted_splits"]


def make_splits(
    cv: int | BaseCrossValidator | Iterable | None,
    X: Matrix,
    y: NDArray,
    groups: ArrayLike | None = None,
    seed: int | None = None,
) -> list[tuple[NDArray, NDArray]]:
    """Training and test rows of each fold.

    `cv`: a number means stratified folds, which keep sample groups together if given; a splitter
    is used unchanged; None means scikit-learn's own folds. `X` (n_samples, n_features). `y`
    (n_samples,): labels. `groups` (n_samples,) or None: sample groups. `seed`: shuffles the rows
    if `cv` is a number; None keeps their order.
    """
    from sklearn.model_selection import StratifiedKFold, check_cv  # slow to import

    if isinstance(cv, Integral) and not isinstance(cv, bool):
        if groups is not None:
            check_consistent_length(X, groups)
            cv = GroupFolds(int(cv), seed)
        elif seed is not None:
            cv = StratifiedKFold(int(cv), shuffle=True, random_state=seed)
    splits = [
        tuple(_as_rows(part, X.shape[0]) for part in split)
        for split in check_cv(cv, y, classifier=True).split(X, y, groups)
    ]
    if not splits:
        raise ValueError(f"cv={cv!r} gave no split: at least one is needed.")
    if any(train.size == 0 or test.size == 0 for train, test in splits):
        raise ValueError(f"cv={cv!r} gave a split without training or without test rows.")
    return splits


def weighted_splits(
    cv: int | BaseCrossValidator | Iterable | None,
    X: Matrix,
    y: NDArray,
    groups: ArrayLike | None,
    weights: NDArray | None,
) -> list[tuple[NDArray, NDArray]]:
    """Splits of rows with sample weights: those of `make_splits` if `weights` is None.

    If `cv` is a number, rows of weight 0 are in no fold. A splitter and given splits see all rows;
    splits whose test rows have no weight are dropped, and training rows must have some.
    """
    if weights is None:
        return make_splits(cv, X, y, groups)
    used = np.flatnonzero(weights > 0)
    if used.size < y.size and (cv is None or isinstance(cv, Integral)):
        check_consistent_length(X, groups)
        groups = None if groups is None else np.asarray(groups)[used]
        inner = make_splits(cv, used[:, None], y[used], groups)  # of X, only its length matters
        return [(used[train], used[test]) for train, test in inner]
    splits = make_splits(cv, X, y, groups)
    for f, (train, _) in enumerate(splits):
        if not weights[train].any():
            raise ValueError(f"All training rows of split {f} have zero weight.")
    kept = [(train, test) for train, test in splits if weights[test].any()]
    if not kept:
        raise ValueError("No split has a test row with weight.")
    return kept


def _as_rows(rows, n_samples):
    """Row numbers, also from a mask."""
    rows = np.asarray(rows)
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    if rows.size and (rows.ndim != 1 or rows.min() < -n_samples or rows.max() >= n_samples):
        raise ValueError(f"cv gave rows that are not among the {n_samples} samples.")
    return rows
