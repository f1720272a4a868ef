"""Half-samples of the rows, in complementary pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["complementary_pairs", "half_samples"]


def half_samples(
    codes: NDArray, n_resamples: int, random_state: np.random.RandomState
) -> Iterator[NDArray[np.intp]]:
    """Rows of stratified half-samples, in complementary pairs.

    The row of a class with a single row is in every half.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Class of each row.
    n_resamples : int
        Number of halves.
    random_state : numpy.random.RandomState

    Yields
    ------
    rows : ndarray of int
    """
    classes = [np.flatnonzero(codes == c) for c in np.unique(codes)]
    for start in range(0, n_resamples, 2):
        first, second = [], []
        for c, members in enumerate(classes):
            mixed = random_state.permutation(members)
            half = mixed.size // 2 + (mixed.size % 2) * ((c + start // 2) % 2)
            if mixed.size == 1:
                first.append(mixed)
                second.append(mixed)
            else:
                first.append(mixed[:half])
                second.append(mixed[half:])
        for half in (first, second)[: n_resamples - start]:
            member = np.zeros(codes.size, dtype=bool)
            member[np.concatenate(half)] = True
            yield np.flatnonzero(member)


def complementary_pairs(
    codes: NDArray,
    groups: NDArray | None,
    n_pairs: int,
    random_state: np.random.RandomState,
) -> NDArray[np.int8]:
    """Pairs of halves of exactly the same size, as the theorems on stability selection need them.

    Half of the sample groups (or rows) of each class, rounded down, are in each half; the odd one
    is left out. Groups with rows of the same set of classes are a class of their own.

    Parameters
    ----------
    codes : ndarray of int of shape (n_samples,)
        Class of each row.
    groups : ndarray of shape (n_samples,) or None
        Sample groups, which are not divided.
    n_pairs : int
    random_state : numpy.random.RandomState

    Returns
    -------
    halves : ndarray of int8 of shape (n_pairs, n_samples)
        0 and 1 for the halves, -1 for rows that are left out.
    """
    units, kinds = np.arange(codes.size), np.unique(codes, return_inverse=True)[1]
    if groups is not None:
        units = np.unique(groups, return_inverse=True)[1]
        present = np.zeros((units.max() + 1, kinds.max() + 1), dtype=bool)
        present[units, kinds] = True
        kinds = np.unique(present, axis=0, return_inverse=True)[1].ravel()
    members = [np.flatnonzero(kinds == kind) for kind in range(kinds.max() + 1)]
    halves = np.full((n_pairs, kinds.size), -1, dtype=np.int8)
    for pair in halves:
        for some in members:
            mixed = random_state.permutation(some)
            half = mixed.size // 2
            pair[mixed[:half]] = 0
            pair[mixed[half : 2 * half]] = 1
    return halves[:, units]
