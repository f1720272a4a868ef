"""The modern learner: forests on a lattice of sets of blocks, and the best policy among them.

1. With many blocks, those that a forest on all columns uses most are the candidates.
2. A lattice of sets of candidates is laid out (`lattice`), and for each of its sets forests are
   grown in folds: what they say out of fold is the evidence (`evidence`).
3. Backward induction finds the best rules (`induction`); sets that many samples come by get
   more children; and so on, a few times.
4. For each cost weight, rules are found by backward induction, and the sets that these can come
   by get forests on all rows.

The forests dominate, O(n_sets n_trees n_samples log n_samples), and none of them depends on the
cost weight: a path of many cost weights costs little more than one.
"""

from dataclasses import replace

import numpy as np
from sklearn.utils import check_random_state

from tamis.datumwise import _forest_kernels as kernels
from tamis.datumwise._growth_kernels import Sample
from tamis.datumwise.costs import whole_costs
from tamis.datumwise.evidence import Gatherer, number_cells
from tamis.datumwise.forest import grow
from tamis.datumwise.forest_policy import ForestPolicy, Stage
from tamis.datumwise.induction import by_size, follow, solve, visits
from tamis.datumwise.lattice import Lattice
from tamis.datumwise.process import MISSING, find_status

__all__ = ["learn_forest_path"]

_ROUNDS = 6
# Standard errors by which branches must be better than the chain alone.
_CLEAR = 1.0
# Cost weights for which the lattice is grown, at most.
_GROWN_FOR = 3
# More folds where rows are few, and each of them counts.
_FOLDS, _MORE_FOLDS, _FEW_ROWS = 5, 10, 400
# Few rows make small trees, so there can be more of them; and they cannot tell many sets apart.
_TREES, _TREES_TIMES_ROWS = (100, 300), 40_000
_SETS, _ROWS_PER_SET = (30, 100), 4
# Moves that fewer than one in so many rows make are left out.
_ROWS_PER_MOVE = 100
# More rows than this, and a random sample of so many is learned from.
_MOST_ROWS = 10_000


def learn_forest_path(
    X,
    codes,
    process,
    cost_weights,
    *,
    order="free",
    n_trees=None,
    n_sets=None,
    n_candidates=100,
    random_state=None,
    steps=iter,
):
    """Policies for many cost weights, from the same forests.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Training rows; NaN means unavailable. Of more than 10,000 a random sample is used,
        with the same shares of the classes.
    codes : ndarray of int64 of shape (n_samples,)
        Classes of the rows.
    process : Process
        Costs, budgets and losses; its cost weight is not used.
    cost_weights : sequence of float
        Lambda, from the largest to the smallest.
    order : {"free", "fixed"}
        "fixed": all samples are asked in one order.
    n_trees, n_sets : int or None
        Trees of a forest; most sets of blocks that have one. None: 100 to 300 trees, and 30 to
        100 sets, by the number of rows.
    n_candidates : int
        With more blocks than this only so many, those that a forest on all of them uses most, are
        ever asked for.
    random_state : int, RandomState or None
        Seed.
    steps : callable
        Goes through a list of names, one a step of the work; when it stops early, the lattice
        stays as it is.

    Returns
    -------
    policies : list of ForestPolicy
        One for every cost weight.
    """
    rng = check_random_state(random_state)
    seed = int(rng.randint(2**31 - 1))
    if codes.size > _MOST_ROWS:
        rows = _sample_rows(codes, rng)
        X, codes = X[rows], codes[rows]
    if n_trees is None:
        n_trees = int(np.clip(_TREES_TIMES_ROWS // codes.size, *_TREES))
    if n_sets is None:
        n_sets = int(np.clip(codes.size // _ROWS_PER_SET, *_SETS))
    learner = _Learner(X, codes, process, n_candidates, n_trees, seed)
    policies = []
    plan = ["candidates", *(f"growth {r + 1}" for r in range(_ROUNDS))]
    plan += [f"cost_weight {weight:g}" for weight in cost_weights]
    for at, _ in enumerate(steps(plan)):
        if at == 0:
            learner.lay_out(n_sets, order == "fixed")
        elif at <= _ROUNDS:
            learner.grow(cost_weights, _ROUNDS + 1 - at)
        else:
            policies.append(learner.find_policy(cost_weights[at - 1 - _ROUNDS]))
    return policies + [learner.find_policy(w) for w in cost_weights[len(policies) :]]


class _Learner:
    """The steps of learning on one set of training rows and their candidate blocks."""

    def __init__(self, X, codes, process, n_candidates, n_trees, seed):
        codes = np.ascontiguousarray(codes, dtype=np.int64)
        self.blocks = _choose_candidates(X, codes, process, n_candidates, n_trees, seed)
        self.columns = np.flatnonzero(np.isin(process.block_of, self.blocks))
        self.process = replace(
            process,
            block_of=np.searchsorted(self.blocks, process.block_of[self.columns]),
            costs=process.costs[self.blocks],
            names=process.names[self.blocks],
        )
        X = X[:, self.columns]
        n_folds = _MORE_FOLDS if codes.size <= _FEW_ROWS else _FOLDS
        self.gatherer = Gatherer(X, codes, self.process, n_trees, n_folds, seed)
        missing = find_status(self.process.block_of, self.blocks.size, X) == MISSING
        whole, self.unit = whole_costs(self.process.costs)
        self.costs = np.where(missing, 0.0, whole)
        self.available = np.flatnonzero(~missing.all(axis=0))
        self.lattice = None

    def lay_out(self, n_sets, fixed):
        """The first sets."""
        gains = self.gatherer.gains_of_blocks()
        self.lattice = Lattice(gains, self.available, self.process, n_sets, fixed)

    def grow(self, cost_weights, rounds_left):
        """More sets, where samples come by."""
        lattice = self.lattice
        if not lattice.can_grow():
            return
        spread = np.linspace(0, len(cost_weights) - 1, _GROWN_FOR).round().astype(int)
        onward = {}
        for at in sorted(set(spread.tolist())):
            solution = solve(lattice, self.gatherer, self.costs, cost_weights[at] * self.unit)
            for blocks, rows in visits(solution).items():
                if blocks not in onward or rows.sum() > onward[blocks].sum():
                    onward[blocks] = rows
        lattice.grow(onward, max(1, (lattice.n_sets - len(lattice.moves)) // rounds_left))

    def find_policy(self, cost_weight):
        """The best policy for a cost weight, with the forests that it needs."""
        solution = self._solve(cost_weight)
        moves = self._moves_to_keep(solution)
        kept = by_size(moves)
        place = {blocks: s for s, blocks in enumerate(kept)}
        return ForestPolicy(
            [self._make_stage(blocks, moves[blocks], place, solution) for blocks in kept],
            self.blocks,
            self.columns,
            self.process.costs,
            self.process.class_losses,
            cost_weight,
        )

    def _solve(self, cost_weight):
        """The best rules on the lattice; without its branches, unless these are clearly better.

        Branches are a choice among many policies, and the chain is one among few: what branches
        promise must be more than its standard error.
        """
        lattice, gatherer, costs = self.lattice, self.gatherer, self.costs
        weight = cost_weight * self.unit
        free = solve(lattice, gatherer, costs, weight)
        if lattice.is_complete() or lattice.chain_only:
            return free
        plain = solve(lattice, gatherer, costs, weight, lattice.chain)
        gain = plain.outcome(()) - free.outcome(())
        clear = gain.mean() > _CLEAR * gain.std() / np.sqrt(gain.size)
        return free if clear else plain

    def _moves_to_keep(self, solution):
        """The sets that the policy can come by, and the moves it can make there.

        Where it may have to do without a block, there is a second way on.
        """
        _, taken = follow(solution)
        kept, wanted = {}, [()]
        self._keep_onward(solution, taken, kept, wanted)
        for blocks in list(kept):
            if kept[blocks]:
                spare = self._spare_move(solution, blocks, kept[blocks])
                if spare is not None:
                    kept[blocks].append(spare)
                    wanted.append(solution.moves[blocks][spare])
        self._keep_onward(solution, taken, kept, wanted)
        return kept

    def _keep_onward(self, solution, taken, kept, wanted):
        """Keep the sets of a list, and all that can be come by from them."""
        while wanted:
            blocks = wanted.pop()
            if blocks not in kept:
                kept[blocks] = self._common_moves(solution, taken, blocks)
                wanted += [solution.moves[blocks][m] for m in kept[blocks]]

    def _common_moves(self, solution, taken, blocks):
        """The moves that are made at a set, but for those that are too rare for a forest."""
        rule = solution.rules[blocks]
        if rule.kind == "stop":
            return []
        if rule.kind != "local":
            return [rule.move]
        move = taken[blocks]
        if not (move >= 0).any():  # no training row comes by
            move = solution.taken[blocks]
        moves, counts = np.unique(move[move >= 0], return_counts=True)
        few = min(counts.max(initial=1), max(1, move.size // _ROWS_PER_MOVE))
        return moves[counts >= few].tolist()

    def _spare_move(self, solution, blocks, moves):
        """The best move that does not need what all the kept ones need."""
        every = solution.moves[blocks]
        needed = set.intersection(*(set(every[m]) - set(blocks) for m in moves))
        if not needed:
            return None
        means = solution.move_values(self.costs, blocks).mean(axis=0)
        others = [
            m
            for m in range(len(every))
            if m not in moves and not set(every[m]) - set(blocks) <= needed
        ]
        return min(others, key=lambda m: means[m]) if others else None

    def _make_stage(self, blocks, moves, place, solution):
        rule = solution.rules[blocks]
        forest, cells = self.gatherer.final(blocks)
        every = solution.moves[blocks]
        means = np.empty(0)
        row_of = table = None
        if moves:
            values = solution.move_values(self.costs, blocks)[:, moves]
            means = values.mean(axis=0)
            if rule.kind == "local":
                row_of, sizes = number_cells(cells, forest.forest.n_nodes)
                local = kernels.cell_means(row_of[cells], values, sizes.size)
                table = (rule.at * local + (1 - rule.at) * means).astype(np.float32)
            else:
                rule = replace(rule, move=moves.index(rule.move))
        rank = self.lattice.rank
        new = [sorted(set(every[m]) - set(blocks), key=lambda b: rank[b]) for m in moves]
        return Stage(
            np.array(blocks, dtype=np.int64),
            forest,
            rule,
            np.array([place[every[m]] for m in moves], dtype=np.int64),
            [np.array(own, dtype=np.int64) for own in new],
            means,
            row_of,
            table,
        )


def _sample_rows(codes, rng):
    """So many rows of every class that there are about `_MOST_ROWS`, at least one."""
    kept = []
    for c in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == c))
        kept.append(rows[: max(1, round(rows.size * _MOST_ROWS / codes.size))])
    return np.sort(np.concatenate(kept))


def _choose_candidates(X, codes, process, n_candidates, n_trees, seed):
    """All blocks, or those that a forest on all columns uses most, in ascending order."""
    if process.n_blocks <= n_candidates:
        return np.arange(process.n_blocks)
    XT = np.ascontiguousarray(X.T)
    rows, columns = np.arange(codes.size), np.arange(X.shape[1])
    sample = Sample(XT, codes, process.class_losses, rows, columns)
    forest = grow(sample, 3 * n_trees, seed)
    gains = forest.feature_gains(X.shape[1], process.class_losses)
    of_blocks = np.bincount(process.block_of, weights=gains, minlength=process.n_blocks)
    return np.sort(np.argsort(-of_blocks, kind="stable")[:n_candidates])
