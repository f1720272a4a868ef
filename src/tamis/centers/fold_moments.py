"""Class moments of several sets of rows, such as training folds, from one pass over the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix
from tamis.centers.statistics import ClassMoments, summarise

# If rows fall into more parts than this, the sets are summarised one by one.
_MOST_PARTS = 40


def moments_of_row_sets(
    X: Matrix,
    codes: NDArray,
    n_classes: int,
    sample_weight: NDArray | None,
    row_sets: Sequence[NDArray],
) -> list[ClassMoments | None]:
    """Moments of each set of rows.

    Rows that are in the same sets form a part. The parts are summarised together, as if each had
    its own classes, and merged for each set.

    `X` (n_samples, n_features). `codes` (n_samples,). `sample_weight` (n_samples,) or None.
    Returns `moments`: None if there are too many parts, or a set has a row twice.
    """
    unknown: list[ClassMoments | None] = [None] * len(row_sets)
    if len(row_sets) > _MOST_PARTS:
        return unknown
    key = np.zeros(X.shape[0], dtype=np.int64)
    for f, rows in enumerate(row_sets):
        member = np.zeros(X.shape[0], dtype=bool)
        member[rows] = True
        if np.count_nonzero(member) < rows.size:
            return unknown
        key[member] |= 1 << f
    patterns, part = np.unique(key, return_inverse=True)
    n_parts = patterns.size
    if n_parts > _MOST_PARTS:
        return unknown
    pooled = summarise(X, part * n_classes + codes, n_parts * n_classes, sample_weight)
    pieces = [pooled.take(slice(p * n_classes, (p + 1) * n_classes)) for p in range(n_parts)]
    moments: list[ClassMoments | None] = []
    for f in range(len(row_sets)):
        chosen = [piece for piece, bits in zip(pieces, patterns, strict=True) if bits >> f & 1]
        moments.append(replace(reduce(ClassMoments.merge, chosen), n_rows=X.shape[0]))
    return moments
