"""Features that are named by their indices."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def feature_indices(features: ArrayLike, n_features: int) -> NDArray[np.int64]:
    """Indices of features, checked: whole numbers from 0, each of them once."""
    found = np.asarray(features).ravel()
    if found.size == 0:
        return np.zeros(0, dtype=np.int64)
    if found.dtype.kind not in "iu":
        hint = " (of a mask: numpy.flatnonzero)" if found.dtype.kind == "b" else ""
        raise ValueError(f"Features must be given by their indices{hint}, got {features!r}.")
    if found.min() < 0 or found.max() >= n_features:
        wrong = found.min() if found.min() < 0 else found.max()
        raise ValueError(
            f"There is no feature {wrong}: indices of features are from 0 to {n_features - 1}."
        )
    if np.unique(found).size != found.size:
        raise ValueError("A feature is listed twice. List each feature once.")
    return found.astype(np.int64)
