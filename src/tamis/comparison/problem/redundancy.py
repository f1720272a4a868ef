"""Dropping features that repeat the information of better ones."""

import numpy as np

from tamis._array import is_sparse
from tamis._base import decided
from tamis.centers import SparseCenterClassifier

__all__ = ["correlations", "drop_redundant"]

_BLOCK = 256
# This many features that are not redundant are enough to choose from.
_ENOUGH = 2000


def _standardized(X, columns):
    part = X[:, columns]
    part = part.toarray() if is_sparse(part) else np.array(part, dtype=np.float64)
    part -= part.mean(axis=0)
    norms = np.linalg.norm(part, axis=0)
    return np.divide(part, norms, out=np.zeros_like(part), where=norms > 0)


def correlations(X, columns):
    """Pearson correlations of some columns with all columns; 0 for constant ones.

    `X` (n_rows, n_columns). Returns `correlations` (len(columns), n_columns).
    """
    some = _standardized(X, columns)
    if is_sparse(X):
        # Standardized columns sum to 0, so the means of the other columns cancel.
        products = (X.T @ some).T
        squares = np.asarray(X.multiply(X).sum(axis=0)).ravel()
        spread = squares - np.asarray(X.sum(axis=0)).ravel() ** 2 / X.shape[0]
        norms = np.sqrt(np.maximum(spread, 0.0))
        small = norms <= 1e-7 * np.sqrt(squares)
        return products / np.where(small, np.inf, norms)
    result = np.empty((len(columns), X.shape[1]))
    for start in range(0, X.shape[1], _BLOCK):
        block = np.arange(start, min(start + _BLOCK, X.shape[1]))
        result[:, block] = some.T @ _standardized(X, block)
    return result


def drop_redundant(X, codes, feature_of, kept, limit, weights=None):
    """Find the columns that remain when features correlated with a better one are dropped.

    Goes through the features by decreasing gain of sparse centers, and drops each whose absolute
    correlation with one selected before exceeds `limit`. Features of several columns, and kept
    ones, are never dropped. At most 2,000 are selected.

    `X` (n_rows, n_columns); `feature_of` (n_columns,); `kept` (n_features,); `limit`: between 0
    and 1; `weights` (n_rows,) or None: sample weights, for the gains. Returns `columns`:
    ascending.
    """
    gains = SparseCenterClassifier(None).fit(X, codes, decided(weights)).gains_
    single = np.bincount(feature_of, minlength=kept.size)[feature_of] == 1
    free = single & ~kept[feature_of]
    taken = np.flatnonzero(~free)
    candidates = np.flatnonzero(free & (gains > 0))
    if not taken.size and not candidates.size:
        return np.arange(1)  # no feature has a gain, but at least one is needed
    candidates = candidates[np.argsort(-gains[candidates], kind="stable")]
    chosen, basis = [], np.zeros((X.shape[0], 0))
    for start in range(0, candidates.size, _BLOCK):
        block = candidates[start : start + _BLOCK]
        values = _standardized(X, block)
        fresh = (np.abs(basis.T @ values) <= limit).all(axis=0)
        within = np.abs(values.T @ values)
        for i in range(block.size):
            if fresh[i]:
                fresh[i + 1 :] &= within[i, i + 1 :] <= limit
        chosen.extend(block[fresh].tolist())
        basis = np.hstack([basis, values[:, fresh]])
        if len(chosen) >= _ENOUGH:
            break
    return np.sort(np.concatenate([taken, np.array(chosen[:_ENOUGH], dtype=np.intp)]))
