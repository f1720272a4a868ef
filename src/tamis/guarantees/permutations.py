r"""Permuted labels: the labellings that are as likely as the true one if nothing differs.

A unit is a sample group, or a row that belongs to none. Units of one class swap their labels with
the other units of their batch; a group with rows of several classes (before and after a treatment)
permutes its labels within. These permutations form a group, so if a feature has the same
distribution in all classes, the true labels and w - 1 random permutations of them are exchangeable
for it, and for all such features jointly. Shapes: labels (w, n), the true labels first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["permuted_labels"]


def permuted_labels(
    codes: NDArray,
    groups: NDArray | None,
    batches: NDArray | None,
    n_permutations: int,
    random_state: np.random.RandomState,
) -> NDArray[np.int64]:
    """Labels of all rows: the true ones, then random permutations.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
        Class indices.
    groups : ndarray of int of shape (n_rows,) or None
        Sample groups, which are permuted whole.
    batches : ndarray of int of shape (n_rows,) or None
        Labels are only exchanged within a batch.
    n_permutations : int
    random_state : numpy.random.RandomState

    Returns
    -------
    labels : ndarray of int64 of shape (n_permutations + 1, n_rows)
    """
    units = np.arange(codes.size) if groups is None else np.unique(groups, return_inverse=True)[1]
    batches = np.zeros(codes.size, dtype=np.int64) if batches is None else np.asarray(batches)
    first = np.unique(units, return_index=True)[1]  # a row of each unit
    if (batches[first][units] != batches).any():
        raise ValueError("A sample group has rows of several batches; it must be in one batch.")
    mixed = np.zeros(first.size, dtype=bool)
    mixed[units[codes[first][units] != codes]] = True
    labels = np.tile(codes.astype(np.int64), (n_permutations + 1, 1))
    for batch in np.unique(batches[first]):
        some = np.flatnonzero((batches[first] == batch) & ~mixed)
        rows = np.flatnonzero(np.isin(units, some))
        place = np.searchsorted(some, units[rows])
        for b in range(1, n_permutations + 1):
            labels[b, rows] = codes[first[random_state.permutation(some)]][place]
    for unit in np.flatnonzero(mixed):
        rows = np.flatnonzero(units == unit)
        for b in range(1, n_permutations + 1):
            labels[b, rows] = codes[random_state.permutation(rows)]
    return labels
