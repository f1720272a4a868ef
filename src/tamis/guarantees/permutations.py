r"""Permuted labels: the labellings that are as likely as the true one if nothing differs.

A sample group whose rows are of one class is one unit, with the mean of its rows: several
rows of a patient are no further patients. Means of many rows vary less than those of few, so
wherever the number of rows depends on the class, permutations of such means would be wrong:
all units of a batch are means of as many rows, drawn at random, as its smallest group has. Units
swap their labels with the other units of their batch. A group with rows of several classes (before
and after a treatment) permutes its labels within. These permutations form a group, so if some
features have the same joint distribution in all classes, the true labels and w - 1 random
permutations of them are exchangeable for these features. Shapes: X (n, m), labels (w, units), the
true labels first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamis._array import Matrix, is_sparse


class Units(NamedTuple):
    """What labels are permuted between."""

    X: Matrix  # (n_units, n_columns)
    codes: NDArray  # (n_units,): class indices
    # (n_units,): labels are only exchanged within a block: a batch, or a group of several classes.
    blocks: NDArray


def make_units(
    X: Matrix,
    codes: NDArray,
    groups: NDArray | None,
    batches: NDArray | None,
    random_state: np.random.RandomState,
) -> Units:
    """Average as many rows of each group of one class, and find the blocks.

    `X` (n_rows, n_columns). `codes` (n_rows,). `groups` (n_rows,) or None: sample groups.
    `batches` (n_rows,) or None.
    """
    blocks = np.zeros(codes.size, dtype=np.int64)
    if batches is not None:
        blocks = np.unique(batches, return_inverse=True)[1]
    if groups is None:
        return Units(X, codes, blocks)
    group_of = np.unique(groups, return_inverse=True)[1]
    first = np.unique(group_of, return_index=True)[1]  # a row of each group
    if (blocks[first][group_of] != blocks).any():
        raise ValueError("A sample group has rows of several batches; it must be in one batch.")
    is_mixed = np.zeros(first.size, dtype=bool)
    is_mixed[group_of[codes[first][group_of] != codes]] = True
    blocks = np.where(is_mixed[group_of], blocks.max() + 1 + group_of, blocks)
    unit_of = np.where(is_mixed[group_of], first.size + np.arange(codes.size), group_of)
    _, rows, unit_of, sizes = np.unique(
        unit_of, return_index=True, return_inverse=True, return_counts=True
    )
    blocks = blocks[rows]
    if rows.size < codes.size:
        least = np.full(blocks.max() + 1, codes.size)
        np.minimum.at(least, blocks, sizes)
        n_used = least[blocks]
        mixed = random_state.permutation(codes.size)
        mixed = mixed[np.argsort(unit_of[mixed], kind="stable")]
        place = np.arange(codes.size) - (np.cumsum(sizes) - sizes)[unit_of[mixed]]
        used = mixed[place < n_used[unit_of[mixed]]]
        entries = (1 / n_used[unit_of[used]], (unit_of[used], used))
        X = sparse.csr_array(entries, shape=(rows.size, codes.size)) @ X
        X = sparse.csc_array(X) if is_sparse(X) else X
    else:
        X = X[rows]
    return Units(X, codes[rows], blocks)


def permuted_labels(
    codes: NDArray, blocks: NDArray, n_permutations: int, random_state: np.random.RandomState
) -> NDArray[np.signedinteger]:
    """Labels of all units: the true ones, then random permutations.

    `codes` (n_units,). `blocks` (n_units,): labels are only exchanged within a block. Returns
    `labels` (n_permutations + 1, n_units): of the smallest signed type that holds the classes.
    """
    codes = codes.astype(np.min_scalar_type(-1 - int(codes.max())))
    labels = np.tile(codes, (n_permutations + 1, 1))
    for block in np.unique(blocks):
        units = np.flatnonzero(blocks == block)
        for b in range(1, n_permutations + 1):
            labels[b, units] = codes[random_state.permutation(units)]
    return labels
