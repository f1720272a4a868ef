"""The forest learner: forests on a lattice of sets of blocks, and the best policy among them.

1. With many blocks, the candidates are those that a forest on all columns uses most.
2. A lattice of sets of candidates is laid out (`lattice`), and for each of its sets forests are
   grown in folds: their out-of-fold predictions are the evidence (`evidence`).
3. Backward induction finds the best rules (`induction`); sets that many samples reach get more
   children; this is repeated a few times.
4. For each cost weight, rules are found by backward induction, and the sets that these can reach
   get forests on all rows.

The forests dominate, O(n_sets n_trees n_samples log n_samples), and none of them depends on the
cost weight: a path of many cost weights takes little longer than one.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np
from sklearn.utils import check_random_state

from tamis.datumwise.costs import whole_costs
from tamis.datumwise.evidence import Gatherer, number_cells
from tamis.datumwise.forest import Sample, grow, membership
from tamis.datumwise.forest_policy import ForestPolicy, Stage
from tamis.datumwise.induction import Induction, by_size, follow, visits
from tamis.datumwise.lattice import FEW_BLOCKS, Lattice
from tamis.datumwise.process import MISSING, find_status

_ROUNDS = 6
# Standard errors by which branches must be better than the chain alone.
_CLEAR = 1.0
# Cost weights for which the lattice is grown, at most.
_GROWN_FOR = 3
# More folds, with as many trees as they want, for few rows and all sets of few blocks: there the
# policy is the best of all. Otherwise more than these do not lead to better policies.
_FOLDS, _MORE_FOLDS, _FEW_ROWS = 5, 10, 400
_MOST_FOLD_TREES = 50
# Few rows give small trees, so more of them are affordable; but they support fewer sets.
_TREES, _TREES_TIMES_ROWS = (100, 300), 40_000
_SETS, _ROWS_PER_SET = (30, 100), 4
# Moves that less than one in this many rows makes are dropped.
_ROWS_PER_MOVE = 100
# With more rows than this, a random sample of this size is used.
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

    `X` (n_samples, n_features): training rows; NaN means unavailable. If there are more than
    10,000, a random sample is used, with the same class shares. `codes` (n_samples,). `order`:
    "fixed": all samples are asked in one order. `n_trees`, `n_sets`: trees of a forest; largest
    number of sets of blocks that have one. None: 100 to 300 trees, and 30 to 100 sets, by the
    number of rows. Returns `policies`, `runs`: one policy per cost weight, and what each does with
    the rows, one after the other.
    """
    rng = check_random_state(random_state)
    seed = int(rng.randint(2**31 - 1))
    every, sampled = X, codes.size > _MOST_ROWS
    if sampled:
        rows = _sample_rows(codes, rng)
        X, codes = X[rows], codes[rows]
    if n_trees is None:
        n_trees = int(np.clip(_TREES_TIMES_ROWS // codes.size, *_TREES))
    if n_sets is None:
        n_sets = int(np.clip(codes.size // _ROWS_PER_SET, *_SETS))
    learner = _Learner(X, codes, process, cost_weights, n_candidates, n_trees, seed)
    policies = []
    plan = ["candidates", *(f"growth {r + 1}" for r in range(_ROUNDS))]
    plan += [f"cost_weight {weight:g}" for weight in cost_weights]
    for step, _ in enumerate(steps(plan)):
        if step == 0:
            learner.lay_out(n_sets, order == "fixed")
        elif step <= _ROUNDS:
            learner.grow(_ROUNDS + 1 - step)
        else:
            policies.append(learner.find_policy(step - 1 - _ROUNDS))
    policies += [learner.find_policy(i) for i in range(len(policies), len(cost_weights))]
    status = find_status(process.block_of, process.n_blocks, every)
    answers = {} if sampled else learner.gatherer.answers
    return policies, ForestPolicy.run_all(policies, every, status, answers)


class _Learner:
    """The steps of learning on one set of training rows and their candidate blocks."""

    def __init__(self, X, codes, process, cost_weights, n_candidates, n_trees, seed):
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
        exact = self.blocks.size <= FEW_BLOCKS and codes.size <= _FEW_ROWS
        n_folds, most = (_MORE_FOLDS, n_trees) if exact else (_FOLDS, _MOST_FOLD_TREES)
        self.gatherer = Gatherer(X, codes, self.process, n_trees, n_folds, seed, most)
        missing = find_status(self.process.block_of, self.blocks.size, X) == MISSING
        whole, self.unit = whole_costs(self.process.costs)
        self.costs = np.where(missing, 0.0, whole)
        self.available = np.flatnonzero(~missing.all(axis=0))
        self.cost_weights, self.lattice = cost_weights, None
        spread = np.linspace(0, len(cost_weights) - 1, _GROWN_FOR).round().astype(int)
        self._growing = self._induce([cost_weights[i] for i in sorted(set(spread.tolist()))])

    def _induce(self, cost_weights):
        return Induction(self.gatherer, self.costs, [w * self.unit for w in cost_weights])

    def lay_out(self, n_sets, fixed):
        """Lay out the first sets."""
        gains = self.gatherer.gains_of_blocks()
        self.lattice = Lattice(gains, self.available, self.process, n_sets, fixed)

    def grow(self, rounds_left):
        """Add sets where many samples go."""
        lattice = self.lattice
        if not lattice.can_grow():
            return
        onward = {}
        for solution in self._growing.solve(lattice.moves):
            for blocks, rows in visits(solution).items():
                if blocks not in onward or rows.sum() > onward[blocks].sum():
                    onward[blocks] = rows
        lattice.grow(onward, max(1, (lattice.n_sets - len(lattice.moves)) // rounds_left))

    def find_policy(self, i):
        """Find the best policy for cost weight i, with the forests that it needs."""
        solution = self._solutions[i]
        moves = self._moves_to_keep(solution)
        kept = by_size(moves)
        place = {blocks: s for s, blocks in enumerate(kept)}
        return ForestPolicy(
            [self._make_stage(blocks, moves[blocks], place, solution) for blocks in kept],
            self.blocks,
            self.columns,
            self.process.costs,
            self.process.class_losses,
            self.cost_weights[i],
        )

    @cached_property
    def _solutions(self):
        """The best rules on the lattice for each cost weight, without its branches unless these
        are clearly better.

        Branches offer a choice among many policies, the chain among few: so the gain from branches
        must exceed its standard error.
        """
        lattice, induction = self.lattice, self._induce(self.cost_weights)
        every = induction.solve(lattice.moves)
        if lattice.is_complete() or lattice.chain_only:
            return every
        chosen = []
        for free, plain in zip(every, induction.solve(lattice.moves, lattice.chain), strict=True):
            gain = plain.outcome(()) - free.outcome(())
            clear = gain.mean() > _CLEAR * gain.std() / np.sqrt(gain.size)
            chosen.append(free if clear else plain)
        return chosen

    def _moves_to_keep(self, solution):
        """The sets that the policy can reach, and the moves it can make there.

        If a block may be unavailable, there is an alternative move.
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
        """Keep the sets of a list, and all that can be reached from them."""
        while wanted:
            blocks = wanted.pop()
            if blocks not in kept:
                kept[blocks] = self._common_moves(solution, taken, blocks)
                wanted += [solution.moves[blocks][m] for m in kept[blocks]]

    def _common_moves(self, solution, taken, blocks):
        """The moves that are made at a set, except those that are too rare for a forest."""
        rule = solution.rules[blocks]
        if rule.kind == "stop":
            return []
        if rule.kind != "local":
            return [rule.move]
        move = taken[blocks]
        if not (move >= 0).any():  # no training row gets here
            move = solution.taken[blocks]
        moves, counts = np.unique(move[move >= 0], return_counts=True)
        few = min(counts.max(initial=1), max(1, move.size // _ROWS_PER_MOVE))
        return moves[counts >= few].tolist()

    def _spare_move(self, solution, blocks, moves):
        """The best move that does not need a block which all the kept ones need."""
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
        forest, (_, cells) = self.gatherer.final(blocks)
        every = solution.moves[blocks]
        means = np.empty(0)
        row_of = table = None
        if moves:
            values = solution.move_values(self.costs, blocks)[:, moves]
            means = values.mean(axis=0)
            if rule.kind == "local":
                row_of, sizes = number_cells(cells, forest.forest.n_nodes)
                local = membership(row_of[cells], sizes.size).T @ values / sizes[:, None]
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
            [np.array(blocks_of_move, dtype=np.int64) for blocks_of_move in new],
            means,
            row_of,
            table,
        )


def _sample_rows(codes, rng):
    """Sample the rows of each class to about `_MOST_ROWS` in total, at least one per class."""
    kept = []
    for c in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == c))
        kept.append(rows[: max(1, round(rows.size * _MOST_ROWS / codes.size))])
    return np.sort(np.concatenate(kept))


def _choose_candidates(X, codes, process, n_candidates, n_trees, seed):
    """Choose all blocks, or those that a forest on all columns uses most, in ascending order."""
    if process.n_blocks <= n_candidates:
        return np.arange(process.n_blocks)
    XT = np.array(X.T, dtype=np.float64, order="C")  # kernels want writable arrays
    rows, columns = np.arange(codes.size), np.arange(X.shape[1])
    sample = Sample(XT, codes, process.class_losses, rows, columns)
    forest, _ = grow(sample, 3 * n_trees, seed)
    gains = forest.feature_gains(X.shape[1], process.class_losses)
    of_blocks = np.bincount(process.block_of, weights=gains, minlength=process.n_blocks)
    return np.sort(np.argsort(-of_blocks, kind="stable")[:n_candidates])
