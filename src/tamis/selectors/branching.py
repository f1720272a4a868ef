"""The best support under the multinomial likelihood, by branch and bound.

Usually a support reaches the bound of `relaxation`, and nothing else is needed. Otherwise the
relaxed solution has a few features, about as many as classes, that are neither in nor out.
Branching fixes one of them as in or out and bounds both halves again. Before that, features whose
score is so far from the k-th that moving them across costs more than the gap are fixed, which
leaves few.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tamis.selectors.likelihoods import entropy, purity_of
from tamis.selectors.relaxation import relax

# Sums of products are accurate to about this fraction of their terms.
_ROUNDING = 1e-12


@dataclass
class BestSupport:
    """A support and how good it is."""

    features: NDArray  # (k,): ascending indices
    gain: float  # log-likelihood over that of the model with common parameters
    # No support of k features has a larger gain; equal to `gain` when this one is optimal.
    bound: float
    scores: NDArray  # (n_features,): scores of all features at the bound of the whole problem


def best_support(counts: NDArray, k: int, max_nodes: int) -> BestSupport:
    """Find k features whose own parameters add most to the multinomial log-likelihood.

    `counts` (n_classes, n_features).
    """
    if k == 1:
        return _best_single(counts)
    search = _Search(counts, k)
    everything, nothing = np.arange(counts.shape[1]), np.arange(0)
    root = search.visit(everything, nothing, np.inf)
    open_nodes = [] if root is None else [root]
    while open_nodes and search.n_visited < max_nodes:  # each branching visits two
        node = heapq.heappop(open_nodes)
        for free, fixed in search.halves(node):
            child = search.visit(free, fixed, node.bound)
            if child is not None:
                heapq.heappush(open_nodes, child)
        # The incumbent may have improved: the best of the heap decides whether anything is left.
        if open_nodes and not search.can_improve(open_nodes[0].bound):
            open_nodes.clear()
    bound = max([search.gain, *(node.bound for node in open_nodes)])
    return BestSupport(np.sort(search.features), search.gain, bound, search.scores)


def _best_single(counts):
    """Parameters that sum to one cannot differ in one place only, so every feature gains 0.

    The tie goes to the feature whose counts depart most from the classes' shares of all counts.
    """
    everything = counts.shape[1]
    # With all features there is no choice: the dual solution is the shares of all counts.
    scores = relax(counts, purity_of(counts), everything, np.zeros(counts.shape[0]), 0.0).scores
    return BestSupport(scores.argmax(keepdims=True), 0.0, 0.0, scores)


@dataclass(order=True)
class _Node:
    """Supports that contain `fixed` and are completed from `free`; the best bound comes first."""

    priority: float
    number: int
    fixed: NDArray = field(compare=False)
    free: NDArray = field(compare=False)
    feature: int = field(compare=False)

    @property
    def bound(self):
        return -self.priority


class _Search:
    """The best support so far, and the bounds that could beat it."""

    def __init__(self, counts, k):
        self.counts, self.purity, self.k = counts, purity_of(counts), k
        self.features, self.gain, self.rounding = None, -np.inf, 0.0
        self.scores = None
        self.n_visited = 0

    def visit(self, free, fixed, ceiling):
        """Bound the supports of a node; returns the node if one of them may beat the incumbent."""
        k = self.k - fixed.size
        self.n_visited += 1
        if k == 0:
            self.offer(fixed)
            return None
        relaxed = relax(
            self.counts[:, free],
            self.purity[free],
            k,
            self.counts[:, fixed].sum(axis=1),
            self.purity[fixed].sum(),
        )
        if self.scores is None:
            self.scores = relaxed.scores
        for support in reversed(relaxed.supports):  # ties go to the one nearest the bound
            self.offer(np.append(fixed, free[support]))
        bound = min(relaxed.bound, ceiling)
        if k == free.size or not self.can_improve(bound):
            return None

        # Moving a feature across the threshold costs at least its distance to the other side.
        order = np.sort(relaxed.scores)[::-1]
        spare = relaxed.bound - self.gain + self.rounding
        settled_out = order[k - 1] - relaxed.scores > spare
        settled_in = relaxed.scores - order[k] > spare
        unsettled = ~(settled_in | settled_out)
        if not unsettled.any():
            return None
        doubt = np.where(unsettled, np.abs(relaxed.fractions - 0.5), np.inf)
        return _Node(
            -bound,
            self.n_visited,
            np.append(fixed, free[settled_in]),
            free[unsettled],
            free[doubt.argmin()],
        )

    def halves(self, node):
        """Free and fixed features of the two children: one without and one with the feature.

        Equal columns are used in their order, so a feature goes out with its equals above it
        and comes in with those below. Without this, branching would try them in every order.
        """
        equal = (self.counts[:, node.free] == self.counts[:, [node.feature]]).all(axis=0)
        leaving = equal & (node.free >= node.feature)
        coming = equal & (node.free <= node.feature)
        halves = [
            (node.free[~leaving], node.fixed),
            (node.free[~coming], np.append(node.fixed, node.free[coming])),
        ]
        return [(free, fixed) for free, fixed in halves if 0 <= self.k - fixed.size <= free.size]

    def offer(self, features):
        """Accept the support if it is better than the incumbent by more than rounding."""
        counts, purity = self.counts[:, features].sum(axis=1), self.purity[features].sum()
        gain = purity + entropy(counts)
        if gain > self.gain + self.rounding:
            self.features, self.gain = features, float(gain)
            self.rounding = _ROUNDING * (entropy(counts) - purity)

    def can_improve(self, bound):
        """Whether a bound leaves room for a support that is better by more than rounding."""
        return bound - self.gain > self.rounding
