"""The budget of a sample, kept exactly: costs and the remaining budget as integers.

Whether one more block may be bought is decided in integer multiples of a unit in which all costs
and the budget are whole (see `costs`). In compiled code these are rows of digits in base 2**62,
the most significant first, of type int64: one digit unless costs have very many decimals. No
digits mean that there is no budget, or one that is enough for everything.

Numba's cache does not notice that kernels which call these functions must be recompiled when one
of them changes: touch `runs` and `rollouts`.
"""

from functools import lru_cache

import numpy as np

from tamis._compile import compiled
from tamis.datumwise.costs import as_integers

_BITS = 62
_BASE = 2**_BITS


def budget_units(costs, max_cost):
    """Costs and the budget as integers of the same unit.

    `costs` (n_blocks,).
    """
    if max_cost == np.inf:
        return [0] * costs.size, 0
    (*units, budget), _ = as_integers([*np.minimum(costs, max_cost).tolist(), max_cost])
    is_beyond = (costs > max_cost).tolist()
    return [
        budget + 1 if dear else cost for cost, dear in zip(units, is_beyond, strict=True)
    ], budget


def budget_digits(costs, max_cost):
    """Costs and the budget in digits of 62 bits, which compiled code can add and compare.

    `costs` (n_blocks,). Returns `digits` (n_digits, n_blocks), `budget` (n_digits,).
    """
    digits, budget = _digits_of(np.asarray(costs, dtype=np.float64).tobytes(), max_cost)
    return digits, budget.copy()  # a copy, because it will be spent


@lru_cache(maxsize=16)  # the same policy is run repeatedly, often for a single row
def _digits_of(costs, max_cost):
    units, budget = budget_units(np.frombuffer(costs), max_cost)
    n_digits = -(-(budget + 1).bit_length() // _BITS) if sum(units) > budget else 0
    digits = np.empty((n_digits, len(units) + 1), dtype=np.int64)
    for d in range(n_digits):
        shift = _BITS * (n_digits - 1 - d)
        digits[d] = [(number >> shift) % _BASE for number in (*units, budget)]
    return digits[:, :-1].copy(), digits[:, -1].copy()


@compiled
def is_dear(digits, b, left):
    """Whether the cost of block b exceeds the remaining budget."""
    for d in range(left.size):
        if digits[d, b] != left[d]:
            return digits[d, b] > left[d]
    return False


@compiled
def pay(left, digits, b):
    """Subtract the cost of block b from the remaining budget."""
    for d in range(left.size - 1, -1, -1):
        left[d] -= digits[d, b]
        if left[d] < 0 and d > 0:
            left[d] += _BASE
            left[d - 1] -= 1


@compiled
def forbid_dear(scores, n_classes, digits, left):
    """Exclude the blocks that exceed the remaining budget.

    They stay excluded, because costs are >= 0.
    """
    first, most = digits[0], left[0]
    for b in range(first.size):
        if first[b] > most:
            scores[n_classes + b] = -np.inf
    if left.size > 1:
        for b in range(first.size):
            if first[b] == most and is_dear(digits, b, left):
                scores[n_classes + b] = -np.inf


def are_dear(digits, left):
    """Whether costs exceed what is left: `is_dear` for many.

    `digits` (n_digits, n), `left` (n_digits, n) or (n_digits,). Returns `dear` (n,).
    """
    dear = np.zeros(digits.shape[1:], dtype=bool)
    for one, most in zip(digits[::-1], left[::-1], strict=True):
        dear = (one > most) | ((one == most) & dear)
    return dear


def charge(left, digits):
    """Subtract costs from what is left: `pay` for many."""
    left -= digits
    for d in range(len(left) - 1, 0, -1):
        borrows = left[d] < 0
        left[d] += _BASE * borrows
        left[d - 1] -= borrows


def _leave_out_dear(order, taken, digits, budget):
    """Exclude the blocks that a row cannot pay for when their turn comes.

    `order` (n_rows, n_blocks), `taken` (n_rows, n_blocks).
    """
    if not budget.size:
        return
    left = np.repeat(budget[:, None], order.shape[0], axis=1)
    for t in range(order.shape[1]):
        costs = digits[:, order[:, t]]
        taken[:, t] &= ~are_dear(costs, left)
        charge(left, costs * taken[:, t])


def draw_masks(available, process, rng):
    """Draw random masks: a size that is uniform from 0 to the largest possible, and random blocks.

    Without budgets, this equals drawing each block with probability p, where p is uniform.

    `available` (n_states, n_blocks). Returns `masks` (n_states, n_blocks).
    """
    n_states, n_blocks = available.shape
    tickets = np.where(available, rng.random_sample((n_states, n_blocks)), 2.0)
    order = tickets.argsort(axis=1)
    most = np.minimum(available.sum(axis=1), process.max_blocks)
    size = (rng.random_sample(n_states) * (most + 1)).astype(np.int64)
    taken = np.arange(n_blocks) < size[:, None]
    _leave_out_dear(order, taken, *budget_digits(process.costs, process.max_cost))
    masks = np.zeros((n_states, n_blocks), dtype=bool)
    np.put_along_axis(masks, order, taken, axis=1)
    return masks
