r"""How often halves choose a feature or a substitute of it.

Substitutes of feature i are the features j with :math:`|r_{ij}| \ge r`, their correlation over
all rows; labels play no part, so the clusters are no choice that would have to be repeated in each
half. Only features that some half chose can add to a frequency, so only these are compared.
Shapes: X (n, m), chosen (halves, candidates), frequencies (features,).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse

_BLOCK = 512


def frequencies_with_substitutes(
    X: Matrix, features: NDArray, candidates: NDArray, chosen: NDArray, correlation: float
) -> NDArray[np.float64]:
    """Share of the halves that choose each feature or a substitute of it.

    `X` (n_rows, n_columns), `candidates` (n_candidates,), `chosen` (n_halves, n_candidates).
    Returns `frequencies` (n_features,).
    """
    values, chosen = _standardized(X, candidates), chosen.astype(np.float32)
    result = np.empty(features.size)
    for first in range(0, features.size, _BLOCK):
        some = features[first : first + _BLOCK]
        near = np.abs(_standardized(X, some).T @ values) >= correlation
        near |= some[:, None] == candidates
        result[first : first + _BLOCK] = (chosen @ near.T.astype(np.float32) > 0).mean(axis=0)
    return result


def _standardized(X, columns):
    part = X[:, columns]
    part = np.array(part.toarray() if is_sparse(part) else part, dtype=np.float64)
    part -= part.mean(axis=0)
    norms = np.linalg.norm(part, axis=0)
    return part / np.where(norms > 0, norms, 1.0)
