"""Run a linear policy on batches of samples: see the definitions in `rollouts`."""

from typing import NamedTuple

import numpy as np

from tamis._compile import compiled, prange, twins
from tamis.datumwise.budgets import are_dear, charge, forbid_dear, pay
from tamis.datumwise.process import ASK, KNOWN, MISSING, OPEN

# Standardized training values are far below this; new ones beyond it are clipped, so that no score
# overflows.
_FAR = 1e6
_LOWEST = np.iinfo(np.int64).min
_MAGNITUDE = np.iinfo(np.int64).max
_N_CHUNKS = 64
_SHORT = 96


class Scores(NamedTuple):
    """Linear scores of all actions: see `rollouts`."""

    bias: np.ndarray
    for_known: np.ndarray
    for_value: np.ndarray


class RunBlocks(NamedTuple):
    """Blocks and budgets."""

    # start, columns: columns of all blocks, concatenated, and where each block starts.
    start: np.ndarray
    columns: np.ndarray
    # digits, budget: costs and their limit: see `budgets.budget_digits`.
    digits: np.ndarray
    budget: np.ndarray
    max_blocks: int  # how many may be bought


class RunRows(NamedTuple):
    """Raw rows, and what the policy uses of them."""

    # X, status: values, and the status of each block.
    X: np.ndarray
    status: np.ndarray
    # where, blocks: numbers of the policy's columns and blocks among those of `X` and `status`.
    where: np.ndarray
    blocks: np.ndarray
    scaling: np.ndarray  # (3, n_columns): how values are standardized


class Chain(NamedTuple):
    """The order of a fixed-order policy, and the score of each block at its turn."""

    order: np.ndarray
    scores: np.ndarray


class Taken(NamedTuple):
    """What a run writes: class scores, order, requests, and class scores after each purchase."""

    decisions: np.ndarray
    order: np.ndarray
    request: np.ndarray
    trace: np.ndarray


@compiled
def first_largest(scores, keys, size):
    """Position of the first largest among `size` scores; `keys` are their bits.

    The compiler vectorises the maximum of integers in the same order as the scores, but not that
    of floats, because of NaN.
    """
    largest = np.int64(_LOWEST)
    for k in range(size):
        bits = keys[k]
        largest = max(largest, bits ^ ((bits >> 63) & _MAGNITUDE))
    bits = largest ^ ((largest >> 63) & _MAGNITUDE)
    if size <= _SHORT:
        k = 0
        while keys[k] != bits:
            k += 1
    else:  # scanning to the end without a branch is faster than stopping early
        k = size
        for other in range(size):
            k = min(k, other if keys[other] == bits else size)
    if scores[k] == 0.0:  # 0.0 and -0.0 are equal, their bits are not
        for first in range(k):
            if scores[first] == 0.0:
                return first
    return k


def blocks_as_lists(block_of, n_blocks):
    """Columns of all blocks, concatenated, and where each block starts."""
    columns = np.argsort(block_of, kind="stable").astype(np.int64)
    start = np.concatenate([[0], np.cumsum(np.bincount(block_of, minlength=n_blocks))])
    return start.astype(np.int64), columns


@compiled
def _buy(now, gain, rows, i, scores, blocks, b, n_actions):
    """Add the contribution of block b of row i to the first `n_actions` scores of this moment."""
    scaling = rows.scaling
    for k in range(n_actions):
        gain[k] = 0.0
    for c in range(blocks.start[b], blocks.start[b + 1]):
        j = blocks.columns[c]
        raw = rows.X[i, rows.where[j]]
        if raw == raw:
            of = (0.25 * raw - scaling[0, j]) / scaling[1, j] - scaling[2, j]
            of = min(max(of, -_FAR), _FAR)
            for k in range(n_actions):
                gain[k] += scores.for_known[j, k] + of * scores.for_value[j, k]
    for k in range(n_actions):
        now[k] += gain[k]


@compiled
def _write(trace, i, length, scores, n_classes):
    """Write the class scores after so many purchases, unless the trace is empty."""
    if trace.shape[1] > 0:
        for k in range(n_classes):
            trace[i, length, k] = scores[k]


@twins
def run_batch(rows, policy, limits, chain, taken):
    """Run a policy on raw rows; write what it decides."""
    X, status, where, blocks = rows.X, rows.status, rows.where, rows.blocks
    bias, columns = policy.bias, limits.columns
    digits, budget, max_blocks = limits.digits, limits.budget, limits.max_blocks
    decisions, order, request, trace = taken.decisions, taken.order, taken.request, taken.trace
    n_samples, n_blocks = X.shape[0], blocks.size
    n_actions = bias.size
    n_classes = n_actions - n_blocks
    limited = budget.size > 0
    for chunk in prange(_N_CHUNKS):
        scores, gain = np.empty(n_actions), np.empty(n_actions)
        keys = scores.view(np.int64)
        left = np.empty(budget.size, np.int64)
        for i in range(chunk, n_samples, _N_CHUNKS):
            request[i] = -1
            length = 0
            plain = chain.order.size > 0
            if plain:
                for b in range(n_blocks):
                    plain = plain and status[i, blocks[b]] == ASK
                if columns.size > n_blocks:
                    for c in range(columns.size):
                        plain = plain and X[i, where[c]] == X[i, where[c]]
            if plain:
                for k in range(n_classes):
                    scores[k] = bias[k]
                _write(trace, i, 0, scores, n_classes)
                for t in range(chain.order.size):
                    best = scores[0]
                    for k in range(1, n_classes):
                        best = max(best, scores[k])
                    if best >= chain.scores[t]:
                        break
                    b = chain.order[t]
                    _buy(scores, gain, rows, i, policy, limits, b, n_classes)
                    order[i, length] = blocks[b]
                    length += 1
                    _write(trace, i, length, scores, n_classes)
                for k in range(n_classes):
                    decisions[i, k] = scores[k]
                continue
            for k in range(n_actions):
                scores[k] = bias[k]
            for b in range(n_blocks):
                if status[i, blocks[b]] == KNOWN:
                    _buy(scores, gain, rows, i, policy, limits, b, n_actions)
            for b in range(n_blocks):
                now = status[i, blocks[b]]
                if now in (KNOWN, MISSING):
                    scores[n_classes + b] = -np.inf
            if limited:
                for d in range(budget.size):
                    left[d] = budget[d]
                forbid_dear(scores, n_classes, digits, left)
            _write(trace, i, 0, scores, n_classes)
            while True:
                size = n_actions if length < max_blocks else n_classes
                action = first_largest(scores, keys, size)
                if action < n_classes:
                    break
                b = action - n_classes
                if status[i, blocks[b]] == OPEN:
                    request[i] = blocks[b]
                    break
                _buy(scores, gain, rows, i, policy, limits, b, n_actions)
                scores[action] = -np.inf
                if limited:
                    pay(left, digits, b)
                    forbid_dear(scores, n_classes, digits, left)
                order[i, length] = blocks[b]
                length += 1
                _write(trace, i, length, scores, n_classes)
            for k in range(n_classes):
                decisions[i, k] = scores[k]


def chain_of_blocks(bias, for_known, start, columns, digits, budget, max_blocks):
    """The order in which a fixed-order policy buys if it never stops, and the scores.

    Computed with exactly the additions of `run_batch`, for a sample with all blocks available.
    """
    n_blocks = start.size - 1
    scores = bias.copy()
    keys = scores[bias.size - n_blocks :]  # a view
    order, at, left = [], [], budget.copy()
    keys[are_dear(digits, left)] = -np.inf
    while len(order) < min(max_blocks, n_blocks):
        b = int(keys.argmax())
        if keys[b] == -np.inf:
            break
        order.append(b)
        at.append(keys[b])
        gain = np.zeros(bias.size)
        for c in columns[start[b] : start[b + 1]]:
            gain += for_known[c]
        scores += gain
        keys[b] = -np.inf
        charge(left, digits[:, b])
        keys[are_dear(digits, left)] = -np.inf
    return np.array(order, dtype=np.int64), np.array(at, dtype=np.float64)
