r"""The paper's learner: linear scores by approximate policy iteration with rollouts.

Each iteration samples states, finds the return of each block in each of them under the policy so
far (`rollouts`), and fits the score of each action to its returns by ridge regression on
:math:`\phi(x, z) = (z, x z, 1)` (Dulac-Arnold et al., ECML 2011, Sec. 3.3; `regression`).

Where this differs from the paper (choices were made by accuracy and risk on its data sets):

- A bias. Without it all scores of the empty state are 0.
- A fifth of the states have masks of random size, uniform from 0 to the largest possible, and
  random blocks; the others are states that the policy so far visits, at a random step.
- The alpha mixture of policies is made of their scores: the scores are the running average of
  those of all iterations, in which a new one has a share of at least ``1 - mixture``. The reading
  ``mixture * new + (1 - mixture) * old`` was clearly worse.
- The iterate with the smallest risk on the training rows is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from tamis._base.threads import limit_threads
from tamis.datumwise.budgets import budget_digits, draw_masks
from tamis.datumwise.candidates import choose_candidates, find_scaling, standardize
from tamis.datumwise.costs import mean_paid
from tamis.datumwise.process import ASK, Run, find_status
from tamis.datumwise.regression import fit_scores
from tamis.datumwise.rollouts import expected_returns
from tamis.datumwise.runs import (
    Chain,
    RunBlocks,
    RunRows,
    Scores,
    Taken,
    blocks_as_lists,
    chain_of_blocks,
    run_batch,
)
from tamis.paths.temperature import fit_temperature

# Iterations for the second and each later cost weight of a path.
_LATER = 4
_ON_POLICY = 0.8
# Smaller differences of decisions, or of risks, are rounding: ties go to the first.
_EQUAL = 1e-12
_BATCH = 4_000_000
# Score of a block that must never be asked for.
_NEVER = -1e300


@dataclass
class LinearPolicy:
    """Linear scores of all actions, and how samples are classified with them."""

    # (n_actions,): scores when nothing is known: first the classes, then the candidate blocks.
    bias: np.ndarray
    # for_known, for_value: (n_columns, n_actions): what knowing a column adds, and what its
    # standardized value adds per unit.
    for_known: np.ndarray
    for_value: np.ndarray
    # blocks, columns: the blocks that may be asked for, and their columns in X.
    blocks: np.ndarray
    columns: np.ndarray
    block_of: np.ndarray  # (n_columns,): block of each of these columns, as an index into `blocks`
    # (3, n_columns): a standardized value is ``(x / 4 - scaling[0]) / scaling[1] - scaling[2]``.
    scaling: np.ndarray
    costs: np.ndarray  # (n_blocks,): costs of `blocks`
    # max_blocks, max_cost: budgets.
    max_blocks: int
    max_cost: float
    temperature: float = 1.0  # class scores divided by it are log probabilities up to a constant
    # chain, chain_scores: fixed order: the blocks as indices into `blocks`, and the score of each
    # at its turn.
    chain: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    chain_scores: np.ndarray = field(default_factory=lambda: np.empty(0))
    # risk, loss, cost: risk on the training rows, and its parts: mean loss and mean cost.
    risk: float = np.inf
    loss: float = np.inf
    cost: float = np.inf
    # (n_iterations,): risk of each iterate on the training rows.
    history: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def n_classes(self):
        """Number of classes."""
        return self.bias.size - self.blocks.size

    @property
    def reachable(self):
        """The blocks that some sample can be asked for: any, if the budgets allow one."""
        return self.blocks if self.max_blocks else self.blocks[:0]

    def narrow(self, columns: NDArray, block_of: NDArray) -> LinearPolicy:
        """The same policy for samples of some columns only: see `ForestPolicy.narrow`."""
        if not self.reachable.size:  # nothing is ever asked for
            rest = np.arange(self.n_classes)
            none = np.empty((0, rest.size))
            return replace(
                self,
                bias=self.bias[rest],
                for_known=none,
                for_value=none,
                blocks=self.blocks[:0],
                columns=self.columns[:0],
                block_of=self.block_of[:0],
                scaling=self.scaling[:, :0],
                costs=self.costs[:0],
            )
        blocks = np.searchsorted(np.unique(block_of), self.blocks)
        return replace(self, blocks=blocks, columns=np.searchsorted(columns, self.columns))

    def run(self, X: NDArray, status: NDArray, trace: bool = False) -> Run:
        """Ask for blocks and classify.

        `X` (n_samples, n_features): samples in the units of training; NaN where a value is
        missing. `status` (n_samples, n_blocks).
        """
        X = np.require(X, np.float64, ["C", "W"])  # kernels are compiled for writable arrays
        most = min(self.max_blocks, self.blocks.size)
        size = max(1, _BATCH // max(1, most))
        parts = [
            self._run_part(X[first : first + size], status[first : first + size], most)
            for first in range(0, X.shape[0], size)
        ] or [self._run_part(X, status, most)]
        length = max(order.shape[1] for _, order, _ in parts)
        order = np.full((X.shape[0], length), -1, dtype=np.int32)
        first = 0
        for _, part, _ in parts:
            order[first : first + part.shape[0], : part.shape[1]] = part
            first += part.shape[0]
        scores = np.concatenate([part[0] for part in parts])
        request = np.concatenate([part[2] for part in parts])
        traced = None
        if trace:
            traced = np.full((X.shape[0], length + 1, self.n_classes), np.nan)
            self._run_part(X, status, length, traced)
            traced = self._decide(traced)
        return Run(self._decide(scores), order, request, traced)

    @staticmethod
    def run_all(policies: Sequence[LinearPolicy], X: NDArray, status: NDArray) -> Iterator[Run]:
        """Run the policies of one path on the same rows."""
        for policy in policies:
            yield policy.run(X, status)

    def _run_part(self, X, status, most, trace=None):
        """Class scores, order and requests of some rows."""
        n_samples = X.shape[0]
        start, columns = blocks_as_lists(self.block_of, self.blocks.size)
        scores = np.empty((n_samples, self.n_classes))
        order = np.full((n_samples, most), -1, dtype=np.int32)
        request = np.empty(n_samples, dtype=np.int32)
        run_batch.choose(n_samples * self.bias.size)(
            RunRows(X, np.ascontiguousarray(status), self.columns, self.blocks, self.scaling),
            Scores(self.bias, self.for_known, self.for_value),
            RunBlocks(start, columns, *budget_digits(self.costs, self.max_cost), self.max_blocks),
            Chain(self.chain, self.chain_scores),
            Taken(scores, order, request, np.empty((0, 0, 0)) if trace is None else trace),
        )
        length = int((order >= 0).sum(axis=1).max(initial=0))
        return scores, order[:, :length], request

    def _decide(self, scores):
        """Log probabilities up to a constant: the largest is 0, and ties stay ties."""
        decisions = (scores - scores.max(axis=-1, keepdims=True)) / self.temperature
        return np.where(decisions > -_EQUAL, 0.0, decisions)


def learn_linear_path(
    X,
    codes,
    process,
    cost_weights,
    *,
    order="free",
    n_states=2000,
    n_iterations=10,
    mixture=0.9,
    n_candidates=200,
    random_state=None,
    steps=iter,
):
    """Policies for many cost weights, each started from the one before.

    The first is learned in `n_iterations`, each later one in at most 4 more.

    `X` (n_samples, n_features): training rows; NaN means unavailable. `codes` (n_samples,).
    `order`: "fixed": the score of a block depends on what is known and not on the values, so that
    all samples are asked in one order (DWSM-Con, Sec. 4). Returns `policies`, `runs`: one policy
    per cost weight, fewer if stopped early, and what each does with the rows, one after the other.
    """
    rng = check_random_state(random_state)
    with limit_threads("blas"):  # so that sums do not depend on the number of threads
        learner = _Learner(X, codes, process, n_candidates, fixed=order == "fixed")
        plan = [(0, t) for t in range(n_iterations)]
        for level in range(1, len(cost_weights)):
            plan += [(level, t) for t in range(min(n_iterations, _LATER))]
        names = [f"cost_weight {cost_weights[level]:g}, iteration {t + 1}" for level, t in plan]

        policies, history = [], []
        current = best = learner.start(n_states, rng)
        for step, _ in enumerate(steps(names)):
            level, t = plan[step]
            own = replace(learner.process, cost_weight=cost_weights[level])
            if t == 0:
                best = learner.judge(best, own)
                history = []
            # The policy that a later level starts from is one of its iterates.
            share = max(1.0 / (t + 1 + (level > 0)), 1.0 - mixture)
            scores = learner.improve(current, own, n_states, rng)
            current = learner.judge(learner.mix(current, scores, share), own)
            history.append(current.risk)
            if current.risk < (1.0 - _EQUAL) * best.risk:
                best = current
            if len(policies) == level:
                policies.append(None)
            policies[level] = replace(best, history=np.array(history))
        policies = [learner.calibrate(policy) for policy in policies]
    status = find_status(process.block_of, process.n_blocks, X)
    return policies, LinearPolicy.run_all(policies, X, status)


class _Learner:
    """The steps of policy iteration on one set of training rows and their candidate blocks."""

    def __init__(self, X, codes, process, n_candidates, *, fixed):
        # Kernels are compiled for writable arrays.
        self.X, self.codes = (
            np.require(X, np.float64, ["C", "W"]),
            np.require(codes, np.int64, "CW"),
        )
        self.fixed = fixed
        self.all_costs = process.costs
        self.status = find_status(process.block_of, process.n_blocks, self.X)
        self.blocks = choose_candidates(self.X, codes, process, n_candidates)
        self.columns = np.flatnonzero(np.isin(process.block_of, self.blocks))
        self.process = replace(
            process,
            block_of=np.searchsorted(self.blocks, process.block_of[self.columns]),
            costs=process.costs[self.blocks],
            max_blocks=min(process.max_blocks, self.blocks.size),
            names=process.names[self.blocks],
        )
        values = self.X[:, self.columns]
        self.scaling = find_scaling(values)
        self.values, self.present = standardize(values, self.scaling), ~np.isnan(values)
        self.available = self.status[:, self.blocks] == ASK
        wrong = codes[:, None] != np.arange(process.n_classes)
        self.targets = -process.class_losses[codes][:, None] * wrong

    def start(self, n_states, rng):
        """The policy that never asks, with class scores for any known values."""
        process = self.process
        nothing = process.max_blocks == 0 or not (process.costs <= process.max_cost).any()
        if nothing:  # any values may be known for free
            process = replace(process, max_blocks=self.blocks.size, max_cost=np.inf)
        rows = self._draw_rows(n_states, rng)
        masks = draw_masks(self.available[rows], process, rng)
        scores = self._fit(rows, masks, np.full(masks.shape, np.nan))
        if nothing:  # the prior, exactly
            scores[0][: process.n_classes] = self.targets.mean(axis=0)
        return self._make(*scores)

    def improve(self, policy, process, n_states, rng):
        """Scores of one iteration: states, returns, regression."""
        rows = self._draw_rows(n_states, rng)
        masks = draw_masks(self.available[rows], process, rng)
        if (policy.bias[process.n_classes :] > -np.inf).any():
            visited = slice(0, int(_ON_POLICY * n_states))
            masks[visited] = self._visit(policy, rows[visited], rng)
        scores = policy.bias, policy.for_known, policy.for_value
        returns = expected_returns(
            self.values, self.present, self.codes, rows, masks, scores, process
        )
        # If the budget allows no more blocks, only classes are left to score. So all blocks have
        # the same states, except for costs and missing values.
        returns[masks.sum(axis=1) >= process.max_blocks] = np.nan
        return self._fit(rows, masks, returns)

    def mix(self, policy, scores, share):
        """The policy whose scores are a mixture; scores that were never fitted are ignored."""
        new_bias, old_bias = scores[0], policy.bias
        share = np.where(np.isneginf(old_bias), 1.0, np.where(np.isneginf(new_bias), 0.0, share))
        old = (old_bias, policy.for_known, policy.for_value)
        mixed = []
        for new_part, old_part in zip(scores, old, strict=True):
            with np.errstate(invalid="ignore"):
                part = share * new_part + (1.0 - share) * old_part
            part = np.where(share == 1.0, new_part, np.where(share == 0.0, old_part, part))
            mixed.append(part)
        return self._make(*mixed)

    def judge(self, policy, process):
        """The policy with its risk on the training rows."""
        run = policy.run(self.X, self.status)
        wrong = run.decisions.argmax(axis=1) != self.codes
        loss = float(np.where(wrong, process.class_losses[self.codes], 0.0).mean())
        cost = float(mean_paid(run.order, self.all_costs))
        return replace(policy, loss=loss, cost=cost, risk=loss + process.cost_weight * cost)

    def calibrate(self, policy):
        """The policy with the temperature of its decisions on the training rows."""
        largest = float(self.process.class_losses.max())
        decisions = policy.run(self.X, self.status).decisions * (policy.temperature / largest)
        weights = self.process.class_losses[self.codes] / largest
        temperature = fit_temperature(decisions, self.codes, weights) * largest
        bias = np.maximum(policy.bias, _NEVER)
        return replace(policy, bias=bias, temperature=temperature)

    def _make(self, bias, for_known, for_value):
        process = self.process
        policy = LinearPolicy(
            bias=bias,
            for_known=np.ascontiguousarray(for_known),
            for_value=np.ascontiguousarray(for_value),
            blocks=self.blocks,
            columns=self.columns,
            block_of=process.block_of,
            scaling=self.scaling,
            costs=process.costs,
            max_blocks=process.max_blocks,
            max_cost=process.max_cost,
        )
        if self.fixed:
            start, columns = blocks_as_lists(process.block_of, process.n_blocks)
            policy.chain, policy.chain_scores = chain_of_blocks(
                policy.bias,
                policy.for_known,
                start,
                columns,
                *budget_digits(process.costs, process.max_cost),
                process.max_blocks,
            )
        return policy

    def _draw_rows(self, n_states, rng):
        """Rows of the states: all rows equally often, as far as possible, in random order."""
        n_samples = self.codes.size
        rounds = [rng.permutation(n_samples) for _ in range(-(-n_states // n_samples))]
        return rng.permutation(np.concatenate(rounds)[:n_states])

    def _visit(self, policy, rows, rng):
        """Masks of states that the policy visits: its purchases, cut off at random."""
        order = policy.run(self.X[rows], self.status[rows]).order
        length = (order >= 0).sum(axis=1)
        cut = (rng.random_sample(rows.size) * (length + 1)).astype(np.int64)
        who, step = np.nonzero(np.arange(order.shape[1]) < cut[:, None])
        masks = np.zeros((rows.size, self.blocks.size), dtype=bool)
        masks[who, np.searchsorted(self.blocks, order[who, step])] = True
        return masks

    def _fit(self, rows, masks, returns):
        known = masks[:, self.process.block_of] & self.present[rows]
        return fit_scores(
            known,
            known * self.values[rows],
            self.targets[rows],
            returns,
            self.process.block_of,
            fixed=self.fixed,
        )
