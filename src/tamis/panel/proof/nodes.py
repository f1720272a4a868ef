"""Nodes of the search, and the arrays of those that are bounded together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.panel.proof.duals import margins_of
from tamis.panel.proof.problem import FitProblem
from tamis.panel.proof.rules import Panel

__all__ = ["MOST_LISTED", "FeasibleDual", "Node", "NodeBatch", "NodeStart", "make_batch"]

#: How many free groups a relaxation sees; its bounds are those of all groups.
MOST_LISTED = 64
# Weight of a group that is new in the list, and the least with which one stays.
_FIRST_WEIGHT, _LEAST_WEIGHT = 0.02, 0.01


@dataclass
class NodeStart:
    """Where the relaxation of a node begins."""

    groups: NDArray  # (g,)
    weights: NDArray  # (g,)
    places: NDArray  # (a,): columns of the groups and those that are always there
    coef: NDArray  # (C, a)


class FeasibleDual(NamedTuple):
    """A feasible dual, which bounds the losses of all panels."""

    entropy: float
    scores: NDArray  # (G,)
    of_kept: float  # score of the kept columns


class Node:
    """The panels that have the groups `inside` and for the rest some of `free`."""

    __slots__ = ("bound", "dual", "free", "inside", "latest", "start")

    def __init__(
        self,
        bound: float,
        inside: Panel,
        free: NDArray,
        dual: FeasibleDual,
        start: NodeStart | None = None,
    ) -> None:
        self.bound = bound  # no panel of the node has a smaller loss
        self.inside, self.free = inside, free
        self.dual = dual  # the best one that is known, at first that of the parent
        self.latest: NDArray | None = None  # (G,): scores of the latest dual
        self.start = start

    def listed(self) -> NDArray[np.intp]:
        """The groups inside, and the free ones that matter."""
        # Those of the latest dual: the best one would list the same groups in every step.
        scores = self.dual.scores if self.latest is None else self.latest
        free = self.free
        if free.size > MOST_LISTED:
            rank = scores[free]
            if self.start is not None:
                stays = np.zeros(scores.size, dtype=bool)
                stays[self.start.groups[self.start.weights > _LEAST_WEIGHT]] = True
                rank = np.where(stays[free], np.inf, rank)
            free = np.sort(free[np.argpartition(-rank, MOST_LISTED)[:MOST_LISTED]])
        return np.concatenate([np.array(self.inside, dtype=np.intp), free])


@dataclass
class NodeBatch:
    """The relaxations of B nodes; shapes as in `tamis.panel.proof.relaxation`."""

    nodes: list[Node]
    groups: NDArray  # (B, g): -1 pads
    weights: NDArray  # (B, g)
    inside: NDArray  # (B, g)
    free: NDArray  # (B, g)
    n_wanted: NDArray  # (B,)
    places: NDArray  # (B, a)
    of: NDArray  # (B, a)
    coef: NDArray  # (B, C, a)
    margins: NDArray  # (B, C, n)

    def select(self, rows: NDArray) -> NodeBatch:
        """Some of the nodes."""
        arrays = (part[rows] for name, part in vars(self).items() if name != "nodes")
        return NodeBatch([self.nodes[row] for row in rows], *arrays)

    def start(self, row: int) -> NodeStart:
        """Where one node stands."""
        listed = self.groups[row] >= 0
        return NodeStart(
            self.groups[row][listed], self.weights[row][listed], self.places[row], self.coef[row]
        )


def make_batch(problem: FitProblem, k: int, nodes: list[Node]) -> NodeBatch:
    """Lay out the relaxations of some nodes, each at its start."""
    C = len(problem.targets)
    lists = [node.listed() for node in nodes]
    groups = np.full((len(nodes), max(some.size for some in lists)), -1)
    weights = np.zeros(groups.shape)
    n_inside = np.array([len(node.inside) for node in nodes])
    for row, some in enumerate(lists):
        groups[row, : some.size] = some
    places, of = problem.places(groups)
    coef = np.zeros((len(nodes), C, places.shape[1]))
    for row, (node, some) in enumerate(zip(nodes, lists, strict=True)):
        start = node.start
        if start is None:
            coef[row, :, -1] = problem.log_odds
            weights[row, : some.size] = (k - n_inside[row]) / max(some.size - n_inside[row], 1)
        else:
            known = np.zeros((C, len(problem.columns)))
            known[:, start.places] = start.coef
            coef[row] = known[:, places[row]]
            before = np.full(problem.n_groups, _FIRST_WEIGHT)
            before[start.groups] = start.weights
            weights[row, : some.size] = before[some]
    inside = np.arange(groups.shape[1]) < n_inside[:, None]
    weights[inside] = 1.0
    free = (groups >= 0) & ~inside
    margins = margins_of(problem, places, coef)
    return NodeBatch(nodes, groups, weights, inside, free, k - n_inside, places, of, coef, margins)
