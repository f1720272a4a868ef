"""The sets of blocks among which a policy moves, and the moves.

A state of the decision process is a set of blocks and their values. There are 2^n sets; with few
blocks all of them are used, and the learned policy is the optimum of the whole process. Otherwise
a **lattice** contains some of them:

* the *chain*, the prefixes of one order of all blocks, from the most informative. All constant
  policies ("ask everybody for these k blocks") are among its paths, so that nothing learned on the
  lattice is far behind the best of them;
* *branches*: a set that many samples reach gets the children that are most informative for these
  samples. How informative a block is, is measured along the paths of a forest on all blocks, so a
  block that says nothing by itself, but decides which other block to ask for, counts.

A move goes from a set to a larger one, and buys the new blocks one after the other. Sets over
budget are excluded, so no policy can exceed it.
"""

import numpy as np

from tamis.datumwise.budgets import budget_units

# With at most this many blocks, all sets are used.
FEW_BLOCKS = 6
# The chain has all sizes up to this one, then ever larger steps.
_EVERY_SIZE = 10
_LATER_SIZES = 7
# Moves along the chain lead to this many of the next prefixes.
_AHEAD = 3
# Children that a set gets at a time; the first sets get twice as many.
_CHILDREN = 4
# A set reached by fewer training rows gets none.
_FEW = 12


class Lattice:
    """Sets of blocks and the moves between them.

    `gains` (n_samples, n_blocks). `moves`: for each set, a tuple of blocks in ascending order, the
    list of sets that can come next. `rank` (n_blocks,).
    """

    def __init__(self, gains, blocks, process, n_sets, chain_only):
        self.gains, self.process, self.n_sets, self.chain_only = gains, process, n_sets, chain_only
        self.n_blocks = blocks.size
        self._units, self._budget = budget_units(process.costs, process.max_cost)
        overall = gains.mean(axis=0)
        # The most informative for their cost come first; free blocks before everything else.
        costs = process.costs[blocks]
        worth = overall[blocks] / np.where(costs > 0, costs, 1.0)
        order = blocks[np.lexsort((blocks, -worth, costs > 0))]
        self.rank = np.full(process.n_blocks, process.n_blocks)
        self.rank[order] = np.arange(order.size)
        self.moves, self._expanded = {}, set()
        self.chain = self._make_chain(order)
        for i, prefix in enumerate(self.chain):
            self.moves[prefix] = self.chain[i + 1 : i + 1 + _AHEAD]
        if not chain_only and self.n_blocks <= FEW_BLOCKS:
            self._take_all(sorted(blocks.tolist()))

    def is_affordable(self, blocks):
        """Whether a set is within the budgets."""
        within = sum(self._units[block] for block in blocks) <= self._budget
        return within and len(blocks) <= self.process.max_blocks

    def can_grow(self):
        """Whether more sets may be added."""
        return not (self.chain_only or self.is_complete()) and len(self.moves) < self.n_sets

    def is_complete(self):
        """Whether all affordable sets are there."""
        return not self.chain_only and self.n_blocks <= FEW_BLOCKS

    def grow(self, visits, n_more):
        """Give children to the sets that most samples reach."""
        wanted = min(len(self.moves) + n_more, self.n_sets)
        often = [
            (int(rows.sum()), blocks)
            for blocks, rows in visits.items()
            if blocks not in self._expanded and rows.sum() >= min(_FEW, rows.size)
        ]
        for _, blocks in sorted(often, key=lambda pair: (-pair[0], pair[1])):
            if len(self.moves) >= wanted:
                break
            self._expanded.add(blocks)
            self._add_children(blocks, visits[blocks])
        self._connect()

    def _make_chain(self, order):
        """Prefixes of an order, without blocks that would exceed the budget."""
        kept = []
        for block in order.tolist():
            if self.is_affordable([*kept, block]):
                kept.append(block)
        every = min(_EVERY_SIZE, len(kept))
        later = np.geomspace(max(every, 1), max(len(kept), 1), _LATER_SIZES)
        sizes = {0, len(kept), *range(every), *(round(size) for size in later)}
        sizes = sorted(size for size in sizes if size <= len(kept))
        return [tuple(sorted(kept[:size])) for size in sizes]

    def _take_all(self, blocks):
        for subset in range(2 ** len(blocks)):
            chosen = tuple(b for i, b in enumerate(blocks) if subset >> i & 1)
            if self.is_affordable(chosen):
                self.moves.setdefault(chosen, [])
        self._connect()

    def _add_children(self, blocks, rows):
        gains = self.gains[rows].mean(axis=0) / np.maximum(self.process.costs, 1e-12)
        gains[list(blocks)] = -np.inf
        gains[self.rank == self.process.n_blocks] = -np.inf
        n_children = _CHILDREN * (2 if len(blocks) < 2 else 1)
        for block in np.argsort(-gains, kind="stable")[:n_children].tolist():
            child = tuple(sorted((*blocks, block)))
            if gains[block] > -np.inf and child not in self.moves and self.is_affordable(child):
                inside = set(child)
                larger = [prefix for prefix in self.chain if inside < set(prefix)]
                self.moves[child] = larger[:2]

    def _connect(self):
        """Let every set move to all sets that have one more block."""
        members = {blocks: frozenset(blocks) for blocks in self.moves}
        of_size = {}
        for blocks in self.moves:
            of_size.setdefault(len(blocks), []).append(blocks)
        for blocks, moves in self.moves.items():
            for larger in of_size.get(len(blocks) + 1, []):
                if members[blocks] < members[larger] and larger not in moves:
                    moves.append(larger)
