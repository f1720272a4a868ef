"""Selection frequencies of the sparse centers for every number of features, from ranks in halves.

The rank of a feature in a half says for every k at once whether the half chooses it, so all k
cost as much as the largest. Shapes: X (n, m), frequencies (levels, m).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_consistent_length, check_random_state

from tamis._base import encode_labels
from tamis.guarantees.half_shares import choose_largest, half_shares
from tamis.stability import SelectionFrequencies, complementary_pairs


def center_frequencies(
    X: ArrayLike,
    y: ArrayLike,
    levels: ArrayLike | None = None,
    *,
    metric: str = "l2",
    groups: ArrayLike | None = None,
    n_pairs: int = 50,
    random_state: int | np.random.RandomState | None = None,
) -> SelectionFrequencies:
    """How often half-samples choose each feature among their k best, for many k.

    The same as `tamis.stability.selection_frequencies` of a `SparseCenterClassifier`, but on pairs
    of half-samples of equal size, and computed for all of them together.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Labels of two classes or more, each with at least two samples or sample groups.
    levels : array-like of int, default=None
        Numbers of features, ascending; by default 1, 2, ... up to 100 or all features.
    metric : {"l2", "l1"}, default="l2"
        Means or medians.
    groups : array-like of shape (n_samples,), default=None
        Sample groups, which are in one half as a whole.
    n_pairs : int, default=50
        Number of pairs of half-samples.
    random_state : int, RandomState instance or None, default=None
        Seed of the half-samples.

    Returns
    -------
    result : SelectionFrequencies
        `levels`, and `frequencies` of shape (n_levels, n_features).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis.guarantees import center_frequencies
    >>> X, y = load_iris(return_X_y=True)
    >>> center_frequencies(X, y, [1, 2], random_state=0).frequencies.round(2).tolist()
    [[0.0, 0.0, 0.85, 0.15], [0.0, 0.0, 1.0, 1.0]]
    """
    X = check_array(X, accept_sparse="csc", dtype=[np.float64, np.float32])
    classes, codes = encode_labels(y)
    check_consistent_length(X, codes)
    if metric not in ("l2", "l1"):
        raise ValueError(f"metric must be 'l2' or 'l1', got {metric!r}.")
    levels = np.arange(1, min(100, X.shape[1]) + 1) if levels is None else np.asarray(levels)
    if levels.ndim != 1 or levels.size == 0 or levels[0] < 1 or (np.diff(levels) < 1).any():
        raise ValueError("levels must be numbers of features >= 1, ascending.")
    random_state = check_random_state(random_state)
    groups = None if groups is None else np.asarray(groups)
    pairs = complementary_pairs(codes, groups, n_pairs, random_state)
    if min((pairs[0] == 0)[codes == c].sum() for c in range(classes.size)) == 0:
        raise ValueError("Each class needs at least two samples or sample groups.")
    frequencies = np.zeros((levels.size, X.shape[1]))
    for shares in half_shares(X, codes, pairs, classes.size, metric):
        order = _order(shares, int(levels[-1]), random_state)
        # A feature at place r, from 0, is among the k best from the first level k > r on.
        frequencies[np.searchsorted(levels, np.arange(order.size), side="right"), order] += 1
    return SelectionFrequencies(levels, np.cumsum(frequencies, axis=0) / (2 * n_pairs))


def _order(shares, k, random_state) -> NDArray[np.int64]:
    """The k features of the largest shares, the best first; ties in random order."""
    best = choose_largest(shares, k, random_state)
    best = random_state.permutation(best[best >= 0])
    return best[np.argsort(-np.round(shares[best], 10), kind="stable")]
