"""Folds: the same for every method, rows of a group together, and one batch left out at a time."""

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

__all__ = ["Fold", "default_repeats", "leave_one_batch_out", "make_folds", "unit_seed"]


@dataclass(frozen=True)
class Fold:
    """Training and test rows.

    Attributes
    ----------
    repeat, number : int
    train, test : ndarray of int
    seed : int
        Of everything that is random in it.
    """

    repeat: int
    number: int
    train: np.ndarray
    test: np.ndarray
    seed: int


def default_repeats(n_rows):
    """Small data are split several times, for one split says little: 3 times below 200 rows."""
    return 3 if n_rows < 200 else 2 if n_rows < 500 else 1


def unit_seed(*parts):
    """A seed for every unit of work, whoever does it and when."""
    return int(np.random.SeedSequence(list(parts)).generate_state(1)[0] % (2**31 - 1))


def make_folds(codes, groups, n_folds, n_repeats, seed):
    """Stratified folds, several times; all rows of a group are in one fold.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
    groups : ndarray of int of shape (n_rows,) or None
    n_folds, n_repeats, seed : int

    Returns
    -------
    folds : list of Fold
    """
    folds = []
    for repeat in range(n_repeats):
        shuffle = {"shuffle": True, "random_state": unit_seed(seed, repeat)}
        if groups is None:
            splitter = StratifiedKFold(n_folds, **shuffle)
        else:
            splitter = StratifiedGroupKFold(n_folds, **shuffle)
        rows = np.zeros(codes.size)
        for number, (train, test) in enumerate(splitter.split(rows, codes, groups)):
            folds.append(Fold(repeat, number, train, test, unit_seed(seed, repeat, number)))
    return folds


def leave_one_batch_out(batches, groups, seed):
    """One fold for every batch: trained on all others, without the groups that the batch has.

    Parameters
    ----------
    batches : ndarray of int of shape (n_rows,)
    groups : ndarray of int of shape (n_rows,) or None
    seed : int

    Returns
    -------
    folds : list of Fold
    """
    folds = []
    for b in np.unique(batches):
        test = batches == b
        others = ~test if groups is None else ~np.isin(groups, groups[test])
        train = np.flatnonzero(others)
        folds.append(Fold(0, int(b), train, np.flatnonzero(test), unit_seed(seed, 7, int(b))))
    return folds
