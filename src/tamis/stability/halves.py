"""Half-samples of the rows, in complementary pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["half_samples"]


def half_samples(
    codes: NDArray, n_resamples: int, random_state: np.random.RandomState
) -> Iterator[NDArray[np.intp]]:
    """Rows of stratified half-samples, in complementary pairs.

    A class with a single row is in every half.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Class of every row.
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
