"""The sets of blocks among which a policy moves, and the moves.

A state of the decision process is a set of blocks and their values. There are 2^n sets; with few
blocks all of them are taken, and what is learned is the optimum of the whole process. Otherwise a
**lattice** holds some of them:

* the *chain*, the prefixes of one order of all blocks, from the one that clears up most. All
  constant policies ("ask these k blocks of everybody") are among its paths, so that nothing
  learned on the lattice is far behind the best of them;
* *branches*: a set that many samples come by gets the children that clear up most for just these
  samples. What a block clears up is read off the paths of a forest on all blocks, so a block that
  tells nothing by itself, but decides which other block to ask, counts.

A move goes from a set to a larger one, and buys what is new one block after the other. Sets over
budget are left out, so no policy can go over it.
"""

import numpy as np

from tamis.datumwise.budgets import budget_units

__all__ = ["Lattice"]

# Of so few blocks all sets are taken.
_FEW_BLOCKS = 6
# The chain has all sizes up to this one, then ever larger steps.
_EVERY_SIZE = 10
_LATER_SIZES = 7
# Moves along the chain: to so many of the next prefixes.
_AHEAD = 3
# Children that a set gets at once; the first sets get twice as many.
_CHILDREN = 4
# A set with fewer samples of the training rows gets none.
_FEW = 12


class Lattice:
    """Sets of blocks and the moves between them.

    Parameters
    ----------
    gains : ndarray of shape (n_samples, n_blocks)
        How much each block clears up the class of each row.
    blocks : ndarray of int
        The blocks that may be asked for.
    process : Process
        For costs and budgets.
    n_sets : int
        Most sets, unless there are few blocks.
    chain_only : bool
        Whether all samples are asked in the same order.

    Attributes
    ----------
    moves : dict
        From every set, a tuple of blocks in ascending order, to the list of sets that can come
        next.
    rank : ndarray of shape (n_blocks,)
        Place of each block in the order of the chain.
    """

    def __init__(self, gains, blocks, process, n_sets, chain_only):
        self.gains, self.process, self.n_sets, self.chain_only = gains, process, n_sets, chain_only
        self.n_blocks = blocks.size
        self._units, self._budget = budget_units(process.costs, process.max_cost)
        overall = gains.mean(axis=0)
        # The most for the cost comes first; what is free before everything else.
        costs = process.costs[blocks]
        worth = overall[blocks] / np.where(costs > 0, costs, 1.0)
        order = blocks[np.lexsort((blocks, -worth, costs > 0))]
        self.rank = np.full(process.n_blocks, process.n_blocks)
        self.rank[order] = np.arange(order.size)
        self.moves, self._expanded = {}, set()
        self.chain = self._make_chain(order)
        for at, prefix in enumerate(self.chain):
            self.moves[prefix] = self.chain[at + 1 : at + 1 + _AHEAD]
        if not chain_only and self.n_blocks <= _FEW_BLOCKS:
            self._take_all(sorted(blocks.tolist()))

    def is_affordable(self, blocks):
        """Whether a set is within the budgets."""
        within = sum(self._units[block] for block in blocks) <= self._budget
        return within and len(blocks) <= self.process.max_blocks

    def can_grow(self):
        """Whether there may be more sets."""
        return not (self.chain_only or self.is_complete()) and len(self.moves) < self.n_sets

    def is_complete(self):
        """Whether all affordable sets are there."""
        return not self.chain_only and self.n_blocks <= _FEW_BLOCKS

    def grow(self, visits, n_more):
        """Give children to the sets that most samples come by.

        Parameters
        ----------
        visits : dict
            From sets to the training rows (a mask) that come by and go on.
        n_more : int
            About how many sets to add.
        """
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
        """Prefixes of an order, without what would go over the budget."""
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
            chosen = tuple(b for at, b in enumerate(blocks) if subset >> at & 1)
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
        """Every set can move to all that have one block more."""
        members = {blocks: frozenset(blocks) for blocks in self.moves}
        of_size = {}
        for blocks in self.moves:
            of_size.setdefault(len(blocks), []).append(blocks)
        for blocks, moves in self.moves.items():
            for larger in of_size.get(len(blocks) + 1, []):
                if members[blocks] < members[larger] and larger not in moves:
                    moves.append(larger)
