r"""All panels of sparse centers that are nearly as good as the best one.

The gain of a panel is the sum of the gains of its features, so with gains
:math:`g_1 \ge g_2 \ge \dots` the best panel of k features is {1, ..., k}, and panel S loses

.. math:: L(S) = \sum_{i \le k} g_i - \sum_{i \in S} g_i
               = \sum_{i \le k,\, i \notin S} (g_i - g_k) + \sum_{i > k,\, i \in S} (g_k - g_i).

Near-optimal are the panels with :math:`L(S) \le \epsilon`, in training gain.

- **In order, lazily.** Write a panel as places :math:`c_1 < \dots < c_k`. Each panel but the best
  has one parent: undo the last step of moving feature k to its place, then feature k - 1, and so
  on. A step moves one feature down by one place, so no panel beats its parent, and a heap
  that replaces a panel by its at most two children gives all panels in order: O(k + log t) for
  the t-th.
- **In all, some or none of them.** The best panel without feature :math:`i \le k` loses
  :math:`g_i - g_{k+1}`, the best one with :math:`i > k` loses :math:`g_k - g_i`: no panel needs to
  be looked at.
- **Counting.** A panel drops r of the first k features and adds r others; both losses are sums of
  terms, so panels are counted by r and by loss, as in the knapsack problem. Losses rounded down to
  1/1000 of :math:`\epsilon` count too many panels, rounded up too few: an interval.
- **At most n features per group.** Sets with at most n features of each group are the independent
  sets of a partition matroid, and those with at most k features as well (truncation). Taking the
  best feature that still fits is optimal: let S be its result and T any other panel, each sorted
  by gain, and suppose the t-th feature of T has a larger gain than the t-th of S. The first t
  features of T are more than the t - 1 that S had before, so some group has more of them and
  hence room in S for one of them. It fits, and its gain is larger than that of the t-th feature of
  S, so it would have been taken: a contradiction. So S is at least as good as T, place by place.

Shapes: gains (m,), panels as index arrays (k,).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tamis._base import order_by_score
from tamis.centers import SparseCenterClassifier, SparseCenterClassifierCV
from tamis.guarantees._indices import feature_indices
from tamis.guarantees.gain_errors import gain_standard_error

# Sums of gains that differ by less than this share of the best one are equal.
_ROUNDING = 1e-12
_COUNTED = 10_000
_STEPS = 1000


class Panel(NamedTuple):
    """A panel of features and its gain.

    Attributes
    ----------
    features : ndarray of int
        Indices of the features, the best first.
    gain : float
        Sum of their gains.
    loss : float
        How much less that is than the gain of the best panel.
    """

    features: NDArray[np.intp]
    gain: float
    loss: float


class NearOptimalPanels:
    """The panels of k features whose gain is within `eps` of the best, the best first.

    Iterating computes them one by one. Their number can be astronomical: see `count`.

    Parameters
    ----------
    gains : array-like of shape (n_features,)
        Gain of each feature; a feature without a positive gain is in no panel.
    n_features_to_select : int
        Number of features of a panel, at most as many as have a gain.
    eps : float
        How much gain may be lost, in training gain; infinity for all panels.

    Attributes
    ----------
    gains : ndarray of shape (n_features,)
    n_features : int
        Number of features of each panel.
    eps : float
    best : Panel
        The best panel.

    Examples
    --------
    >>> from tamis.guarantees import NearOptimalPanels
    >>> panels = NearOptimalPanels([0.5, 0.1, 0.4, 0.45, 0.0], 2, eps=0.1)
    >>> [panel.features.tolist() for panel in panels]
    [[0, 3], [0, 2], [3, 2]]
    >>> panels.status().tolist()
    ['some', 'none', 'some', 'some', 'none']
    >>> panels.without([3]).features.tolist()
    [0, 2]
    """

    def __init__(self, gains: ArrayLike, n_features_to_select: int, eps: float) -> None:
        self.gains = np.asarray(gains, dtype=np.float64)
        if self.gains.ndim != 1 or not np.isfinite(self.gains).all():
            raise ValueError("gains must be a list of finite numbers, one per feature.")
        if not isinstance(n_features_to_select, int | np.integer) or n_features_to_select < 1:
            raise ValueError(
                f"n_features_to_select must be an integer >= 1, got {n_features_to_select!r}."
            )
        if not eps >= 0:
            raise ValueError(f"eps must be >= 0, got {eps!r}.")
        positive = int(np.count_nonzero(self.gains > 0))
        if positive == 0:
            raise ValueError("No feature has a positive gain, so there is no panel.")
        self.n_features = min(int(n_features_to_select), positive)
        self.eps = float(eps)
        # Only these can be in a near-optimal panel; sorting all would take most of the time.
        k = self.n_features
        self._kth = float(np.partition(self.gains, self.gains.size - k)[self.gains.size - k])
        slack = _ROUNDING * max(self._kth, 0.0)
        candidates = np.flatnonzero((self.gains > 0) & (self.gains >= self._kth - eps - slack))
        self._order = candidates[order_by_score(self.gains[candidates])]
        self._sorted = self.gains[self._order]
        total = float(self._sorted[:k].sum())
        self._limit = self.eps + _ROUNDING * total
        self.best = Panel(self._order[:k], total, 0.0)

    def __iter__(self) -> Iterator[Panel]:
        """Yield the panels, best first; equal ones: features of larger gain first."""
        gains = self._sorted.tolist()
        k, m = self.n_features, len(gains)
        total = self.best.gain
        # Loss, places, and the feature that moved last: only it and the one before may move.
        heap: list[tuple[float, tuple[int, ...], int]] = [(0.0, tuple(range(k)), k)]
        while heap:
            loss, places, active = heapq.heappop(heap)
            yield Panel(self._order[list(places)], total - loss, loss)
            for i in (active, active - 1):
                if not 0 <= i < k or (i < active and places[i] != i):
                    continue
                below = places[i] + 1
                if below < (places[i + 1] if i + 1 < k else m):
                    worse = loss + (gains[below - 1] - gains[below])
                    if worse <= self._limit:
                        child = (*places[:i], below, *places[i + 1 :])
                        heapq.heappush(heap, (worse, child, i))

    def first(self, n_panels: int) -> list[Panel]:
        """The best `n_panels` panels, or all if there are fewer.

        Parameters
        ----------
        n_panels : int

        Returns
        -------
        panels : list of Panel
        """
        return list(islice(self, n_panels))

    def status(self) -> NDArray[np.str_]:
        """Whether each feature is in "all", "some" or "none" of the near-optimal panels.

        Returns
        -------
        status : ndarray of str of shape (n_features,)
        """
        k = self.n_features
        status = np.full(self.gains.size, "none", dtype="<U4")
        status[self._order[k:]] = np.where(
            self._kth - self._sorted[k:] <= self._limit, "some", "none"
        )
        status[self._order[:k]] = "all"
        if self._sorted.size > k:
            in_all = self._sorted[:k] - self._sorted[k] > self._limit
            status[self._order[:k]] = np.where(in_all, "all", "some")
        return status

    def without(self, features: ArrayLike) -> Panel:
        """The best panel without some features, whether it is near-optimal or not.

        Parameters
        ----------
        features : array-like of int
            Indices of the features.

        Returns
        -------
        panel : Panel
            With fewer features if not enough have a gain.
        """
        chosen = best_panel(self.gains, self.n_features, without=features)
        gain = float(self.gains[chosen].sum())
        return Panel(chosen, gain, self.best.gain - gain)

    def count(self, max_counted: int = _COUNTED) -> tuple[float, float]:
        """Lower and upper limit of the number of near-optimal panels; equal if it is exact.

        Panels are counted one by one up to `max_counted`, beyond that by their losses rounded to
        a thousandth of `eps`.

        Parameters
        ----------
        max_counted : int, default=10000

        Returns
        -------
        at_least, at_most : float
        """
        n_found = sum(1 for _ in islice(self, max_counted + 1))
        if n_found <= max_counted:
            return n_found, n_found
        if not np.isfinite(self.eps):
            n_candidates = self._sorted.size
            n_all = np.exp(_log_binomial(n_candidates, self.n_features))
            return max(n_found, n_all * (1 - 1e-9)), n_all * (1 + 1e-9)
        k = self.n_features
        dropped, added = self._sorted[:k] - self._kth, self._kth - self._sorted[k:]
        upper = _count_by_loss(dropped, added, self._limit, np.floor)
        lower = _count_by_loss(dropped, added, self._limit, np.ceil)
        return max(n_found, lower * (1 - 1e-9)), upper * (1 + 1e-9)


def _log_binomial(n, k):
    i = np.arange(1, k + 1)
    return float(np.log((n - k + i) / i).sum())


def _count_by_loss(dropped, added, limit, rounding):
    """Number of panels whose rounded loss is within the limit."""
    unit = limit / _STEPS
    tables = []
    for terms in (dropped, added):
        table = np.zeros((dropped.size + 1, _STEPS + 1))  # number of terms, sum of their losses
        table[0, 0] = 1.0
        # A ratio within rounding of a whole number may fall on either side of it.
        nudge = 1e-9 if rounding is np.ceil else -1e-9
        steps = np.maximum(rounding(terms / unit + nudge), 0).astype(np.int64)
        for step in steps[steps <= _STEPS]:
            table[1:, step:] += table[:-1, : _STEPS + 1 - step].copy()
        tables.append(table)
    cumulated = np.cumsum(tables[1], axis=1)
    return float((tables[0] * cumulated[:, ::-1]).sum())


def best_panel(
    gains: ArrayLike,
    n_features_to_select: int,
    *,
    without: ArrayLike = (),
    groups: ArrayLike | None = None,
    at_most: int = 1,
) -> NDArray[np.intp]:
    """The panel with the largest gain, optionally with at most n features of each group.

    Exact in all cases: the module's docstring has the proof.

    Parameters
    ----------
    gains : array-like of shape (n_features,)
        Gain of each feature; only features with a positive gain are chosen.
    n_features_to_select : int
        Number of features; fewer if not enough can be chosen.
    without : array-like of int, default=()
        Indices of features that must not be chosen.
    groups : array-like of shape (n_features,), default=None
        Label of each feature's group, such as its pathway.
    at_most : int, default=1
        Largest number of features of one group; only with `groups`.

    Returns
    -------
    features : ndarray of int
        Indices of the features, the best first; equal gains: lower index first.

    Examples
    --------
    >>> from tamis.guarantees import best_panel
    >>> best_panel([0.5, 0.4, 0.3, 0.2], 2, groups=["a", "a", "b", "b"]).tolist()
    [0, 2]
    """
    gains = np.array(gains, dtype=np.float64)
    gains[feature_indices(without, gains.size)] = 0.0
    order = order_by_score(gains)
    order = order[gains[order] > 0]
    if groups is not None:
        if at_most < 1:
            raise ValueError(f"at_most must be an integer >= 1, got {at_most!r}.")
        labels = np.unique(np.asarray(groups), return_inverse=True)[1]
        if labels.shape != gains.shape:
            raise ValueError(f"groups must have one label per feature, {gains.size} in all.")
        # Place of each feature within its group, in the order of the gains.
        by_group = np.argsort(labels[order], kind="stable")
        sizes = np.bincount(labels[order], minlength=labels.max() + 1)
        place = np.empty(order.size, dtype=np.int64)
        place[by_group] = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        order = order[place < at_most]
    return order[:n_features_to_select]


def near_optimal_panels(
    model: SparseCenterClassifier | SparseCenterClassifierCV,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    eps: float | None = None,
    groups: ArrayLike | None = None,
) -> NearOptimalPanels:
    """The panels that are nearly as good as that of a fitted sparse center classifier.

    By default `eps` is one standard error of the gain of the best panel
    (`tamis.guarantees.gain_errors`).

    Parameters
    ----------
    model : SparseCenterClassifier or SparseCenterClassifierCV
        Fitted, with scaling="spread", and without a covariance, feature groups or kept features.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        The rows that it was fitted on; needed unless `eps` is given.
    y : array-like of shape (n_samples,), default=None
        Their labels.
    eps : float, default=None
        How much gain may be lost; None for one standard error.
    groups : array-like of shape (n_samples,), default=None
        Sample groups; the standard error counts each of them once.

    Returns
    -------
    panels : NearOptimalPanels

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamis import SparseCenterClassifier
    >>> from tamis.guarantees import near_optimal_panels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SparseCenterClassifier(2).fit(X, y)
    >>> [panel.features.tolist() for panel in near_optimal_panels(model, X, y)]
    [[27, 22], [27, 7], [27, 20]]
    """
    check_is_fitted(model)
    reason = None
    if model._whitening is not None:
        reason = "covariance=None"
    elif model._group_of is not None:
        reason = "feature_groups=None and keep=None"
    elif model.scaling != "spread":
        reason = "scaling='spread'"
    if reason is not None:
        raise ValueError(f"near_optimal_panels needs a model with {reason}: {model!r}.")
    n_features = max(model.n_features_, 1)
    if eps is None:
        if X is None or y is None:
            raise ValueError("Give X and y, which the standard error is computed from, or eps.")
        best = NearOptimalPanels(model.gains_, n_features, 0.0).best
        eps = gain_standard_error(model, X, y, best.features, groups)
    return NearOptimalPanels(model.gains_, n_features, eps)
