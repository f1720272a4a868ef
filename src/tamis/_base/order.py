"""Numbers of features, and features in the order of their scores."""

from numbers import Integral

import numpy as np

__all__ = ["largest", "order_by_score", "resolve_n_features"]


def order_by_score(scores):
    """Features from the largest score to the smallest; equal scores: lower index first."""
    return np.argsort(-scores, kind="stable")


def largest(scores, k):
    """Indices, ascending, of the k largest scores; equal scores: lower index first. O(m)."""
    if k <= 0 or k >= scores.size:
        return np.arange(scores.size if k > 0 else 0)
    threshold = np.partition(scores, scores.size - k)[scores.size - k]
    above = np.flatnonzero(scores > threshold)
    tied = np.flatnonzero(scores == threshold)[: k - above.size]
    return np.sort(np.concatenate([above, tied]))


def resolve_n_features(value, n_features, name="n_features_to_select"):
    """Number of features that `value` stands for, out of `n_features`.

    An integer is a count (at most `n_features`), a float in (0, 1] a fraction (at least one
    feature), None all.
    """
    if value is None:
        return n_features
    if isinstance(value, Integral) and not isinstance(value, bool | np.bool_) and value >= 1:
        return min(int(value), n_features)
    if isinstance(value, float | np.floating) and 0 < value <= 1:
        return max(1, int(value * n_features + 1e-9))
    raise ValueError(
        f"{name} must be an integer >= 1, a fraction in (0, 1] or None for all features, "
        f"got {value!r}."
    )
