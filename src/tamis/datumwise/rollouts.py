r"""States, scores and returns of the paper's learner, for whole batches.

Definitions, so that a slow version can do exactly the same:

- *Blocks* 0, ..., n_blocks - 1 can be bought; block b has the columns
  ``columns[start[b]:start[b + 1]]``, ascending.
- A *state* is a row x of standardized values and a mask of bought blocks. Column c counts as
  known, z_c = 1, when its block is bought and x_c is not missing (NaN).
- *Actions* are the classes 0, ..., n_classes - 1, then the blocks: action n_classes + b buys b.
  The score of all actions is

  .. math:: s(x, z) = \beta + \sum_{c: z_c = 1} (U_c + x_c V_c)

  with the `bias` :math:`\beta` of shape (n_actions,), and `for_known` U and `for_value` V of shape
  (n_columns, n_actions). Sums are computed block by block, starting from the bias: the blocks of
  the mask in ascending order, then each purchase as it is made; within a block its columns are
  added up first, in ascending order.
- A block *may be bought* when it is not bought yet, has at least one value in this row, and fits
  both budgets: one more block is at most `max_blocks`, and the exact sum of the costs of all
  bought blocks and its own (`budgets`) is at most `max_cost`.
- The *policy* takes the action of the largest score among the classes and the blocks that may be
  bought. Ties go to the lower action: classes before blocks, lower index first.
- The *return* of an action in a state is the sum of rewards until a class is named: each purchase
  of b gives ``-cost_weight * costs[b]``, naming a wrong class for a row of class y gives
  ``-class_losses[y]``, the right one 0. Costs are multiples of a unit (`costs`), summed before
  they are weighted, so that their order does not matter.
- The *return of block b at (x, mask)* removes b from the mask first, if it is there, then buys it
  and follows the policy. For a bought block this is the return of the policy from the mask itself
  less the block's cost, so one rollout serves all bought blocks.

A rollout that reaches a set of blocks which the policy's own rollout from this state has also
reached continues as that one did, so its return is known. The set is recognised by counting: k
blocks that all come before position k in the other rollout are its first k.
"""

from typing import NamedTuple

import numpy as np

from tamis._compile import compiled, prange, twins
from tamis.datumwise.budgets import budget_digits, forbid_dear, is_dear, pay
from tamis.datumwise.costs import whole_costs
from tamis.datumwise.runs import RunBlocks, Scores, blocks_as_lists, first_largest

_N_CHUNKS = 64


@compiled
def _follow(scores, keys, gains, n_classes, digits, costs, left, n_left, places, way):
    """Follow the policy from the scores of a state to its class.

    `scores`, `keys` (n_actions,): scores, forbidden blocks -inf, and their bits; overwritten.
    `gains` (n_blocks, n_actions): what buying a block adds to the scores; -inf to its own.
    `digits` (n_digits, n_blocks). `costs` (n_blocks,). `left` (n_digits,). `places` (n_blocks,).
    `way` (n_blocks,): on entry, way[0] is the first purchase of this rollout if one was made, and
    -1 otherwise; on return, all purchases, followed by -1. Returns `label`: the class; -1 if the
    rollout has met the other one; `cost`: sum of the costs of the blocks bought here, without the
    first purchase.
    """
    n_actions, n_blocks = scores.size, costs.size
    length, furthest = 0, -1
    if n_blocks and way[0] >= 0:
        length, furthest = 1, places[way[0]]
    cost = 0.0
    while True:
        if length > 0 and furthest == length - 1:
            return -1, cost
        action = first_largest(scores, keys, n_actions if n_left > 0 else n_classes)
        if action < n_classes:
            break
        b = action - n_classes
        for k in range(n_actions):
            scores[k] += gains[b, k]
        n_left -= 1
        cost += costs[b]
        if left.size > 0:
            pay(left, digits, b)
            forbid_dear(scores, n_classes, digits, left)
        way[length] = b
        length += 1
        furthest = max(furthest, places[b])
    if length < n_blocks:
        way[length] = -1
    return action, cost


@compiled
def _add_block(gains, X, present, i, b, start, columns, for_known, for_value):
    """What buying block b of row i adds to the scores: the sum over columns not missing."""
    for k in range(gains.shape[1]):
        gains[b, k] = 0.0
    for at in range(start[b], start[b + 1]):
        c = columns[at]
        if present[i, c]:
            of = X[i, c]
            for k in range(gains.shape[1]):
                gains[b, k] += for_known[c, k] + of * for_value[c, k]


class _States(NamedTuple):
    """States: rows, their classes, and which blocks are bought; and what each block may bring."""

    X: np.ndarray
    present: np.ndarray
    codes: np.ndarray
    rows: np.ndarray
    masks: np.ndarray
    available: np.ndarray


class _Rewards(NamedTuple):
    """Costs of the blocks, what a unit of them is worth, and the losses of the classes."""

    costs: np.ndarray
    cost_weight: float
    losses: np.ndarray


@twins
def _returns(states, policy, limits, rewards, returns):
    X, present, codes, rows = states.X, states.present, states.codes, states.rows
    masks, available = states.masks, states.available
    bias, for_known, for_value = policy.bias, policy.for_known, policy.for_value
    start, columns, max_blocks = limits.start, limits.columns, limits.max_blocks
    digits, budget = limits.digits, limits.budget
    costs, cost_weight, losses = rewards.costs, rewards.cost_weight, rewards.losses
    n_states, n_blocks = masks.shape
    n_actions = bias.size
    n_classes = n_actions - n_blocks
    limited = budget.size > 0
    for chunk in prange(_N_CHUNKS):
        gains = np.empty((n_blocks, n_actions))
        base, scores = np.empty(n_actions), np.empty(n_actions)
        keys = scores.view(np.int64)
        places, nowhere = np.empty(n_blocks, np.int64), np.empty(n_blocks, np.int64)
        way, other = np.empty(n_blocks, np.int64), np.empty(n_blocks, np.int64)
        left_here, left = np.empty(budget.size, np.int64), np.empty(budget.size, np.int64)
        for b in range(n_blocks):
            nowhere[b] = n_blocks
        for s in range(chunk, n_states, _N_CHUNKS):
            i = rows[s]
            for k in range(n_actions):
                base[k] = bias[k]
            for d in range(budget.size):
                left_here[d] = budget[d]
            n_left = max_blocks
            for b in range(n_blocks):
                _add_block(gains, X, present, i, b, start, columns, for_known, for_value)
                # Nothing is bought twice.
                gains[b, n_classes + b] = -np.inf
                if masks[s, b]:
                    for k in range(n_actions):
                        base[k] += gains[b, k]
                    n_left -= 1
                    if limited:
                        pay(left_here, digits, b)
            for b in range(n_blocks):
                if not available[i, b]:
                    base[n_classes + b] = -np.inf
            if limited:
                forbid_dear(base, n_classes, digits, left_here)

            # The policy's own rollout from here.
            for k in range(n_actions):
                scores[k] = base[k]
            for d in range(budget.size):
                left[d] = left_here[d]
            for b in range(n_blocks):
                way[b] = -1
                places[b] = n_blocks
            label, own_cost = _follow(
                scores, keys, gains, n_classes, digits, costs, left, n_left, nowhere, way
            )
            own_wrong = 0.0 if label == codes[i] else losses[codes[i]]
            for t in range(n_blocks):
                if way[t] < 0:
                    break
                places[way[t]] = t

            for b in range(n_blocks):
                if masks[s, b]:
                    returns[s, b] = -cost_weight * (costs[b] + own_cost) - own_wrong
                    continue
                dear = limited and is_dear(digits, b, left_here)
                if dear or not available[i, b] or n_left <= 0:
                    returns[s, b] = np.nan
                    continue
                for k in range(n_actions):
                    scores[k] = base[k] + gains[b, k]
                if limited:
                    for d in range(budget.size):
                        left[d] = left_here[d]
                    pay(left, digits, b)
                    forbid_dear(scores, n_classes, digits, left)
                other[0] = b
                label, cost = _follow(
                    scores, keys, gains, n_classes, digits, costs, left, n_left - 1, places, other
                )
                if label < 0:
                    returns[s, b] = -cost_weight * own_cost - own_wrong
                else:
                    wrong = 0.0 if label == codes[i] else losses[codes[i]]
                    returns[s, b] = -cost_weight * (costs[b] + cost) - wrong


def expected_returns(X, present, codes, rows, masks, scores, process):
    """Return of each block in each state: see the definitions at the top of this module.

    `X` (n_samples, n_columns). `present` (n_samples, n_columns). `codes` (n_samples,). `rows`
    (n_states,). `masks` (n_states, n_blocks). `scores`: the policy: arrays of shape (n_actions,),
    (n_columns, n_actions), (n_columns, n_actions). Returns `returns` (n_states, n_blocks): NaN
    where a block may not be bought.
    """
    start, columns = blocks_as_lists(process.block_of, process.n_blocks)
    available = np.zeros((X.shape[0], process.n_blocks), dtype=bool)
    for b in range(process.n_blocks):
        available[:, b] = present[:, columns[start[b] : start[b + 1]]].any(axis=1)
    costs, unit = whole_costs(process.costs)
    returns = np.empty(masks.shape)
    work = rows.size * process.n_blocks * scores[0].size
    digits = budget_digits(process.costs, process.max_cost)
    _returns.choose(work)(
        _States(X, present, codes, rows, masks, available),
        Scores(*scores),
        RunBlocks(start, columns, *digits, process.max_blocks),
        _Rewards(costs, process.cost_weight * unit, process.class_losses),
        returns,
    )
    return returns
