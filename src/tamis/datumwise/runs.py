"""Samples go through a linear policy, in whole batches: see the definitions in `rollouts`."""

import numpy as np

from tamis._compile import compiled, prange, twins
from tamis.datumwise.budgets import forbid_dear, pay
from tamis.datumwise.process import ASK, KNOWN, MISSING, OPEN

__all__ = ["blocks_as_lists", "chain_of_blocks", "first_largest", "run_batch"]

# Standardized training values are far below this; new ones beyond it are cut, so that no score
# overflows.
_FAR = 1e6
_LOWEST = np.iinfo(np.int64).min
_MAGNITUDE = np.iinfo(np.int64).max
_N_CHUNKS = 64
_SHORT = 96


@compiled
def first_largest(scores, keys, size):
    """Position of the first of the largest among `size` scores; `keys` are their bits.

    Integers of the same order as the scores have a maximum that the compiler makes a vector
    instruction of; floats have not, because of NaN.
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
    else:  # to the end without a branch is quicker than to the place with one
        k = size
        for other in range(size):
            k = min(k, other if keys[other] == bits else size)
    if scores[k] == 0.0:  # 0.0 and -0.0 are equal, their bits are not
        for first in range(k):
            if scores[first] == 0.0:
                return first
    return k


def blocks_as_lists(block_of, n_blocks):
    """Columns of all blocks one after the other, and where each block starts."""
    columns = np.argsort(block_of, kind="stable").astype(np.int64)
    start = np.concatenate([[0], np.cumsum(np.bincount(block_of, minlength=n_blocks))])
    return start.astype(np.int64), columns


@compiled
def _buy(scores, gain, X, i, b, start, columns, where, scaling, for_known, for_value, n_actions):
    """Add what block b of row i of raw X says to the first `n_actions` scores."""
    gain[:n_actions] = 0.0
    for c in range(start[b], start[b + 1]):
        raw = X[i, where[columns[c]]]
        if raw == raw:
            j = columns[c]
            of = (0.25 * raw - scaling[0, j]) / scaling[1, j] - scaling[2, j]
            of = min(max(of, -_FAR), _FAR)
            known, value = for_known[j], for_value[j]
            for k in range(n_actions):
                gain[k] += known[k] + of * value[k]
    for k in range(n_actions):
        scores[k] += gain[k]


@twins
def run_batch(
    X,
    status,
    where,
    blocks,
    scaling,
    bias,
    for_known,
    for_value,
    start,
    columns,
    digits,
    budget,
    max_blocks,
    chain,
    chain_scores,
    decisions,
    order,
    request,
    trace,
):
    """Run a policy on raw rows; write the class scores, the order and the requests.

    `blocks` and `where` are the numbers of the policy's blocks and columns among those of `status`
    and X. With a `chain` (fixed order), samples that can have every block follow it, at O(classes)
    a step. `trace` is written when it has room.
    """
    n_samples, n_blocks = X.shape[0], blocks.size
    n_actions = bias.size
    n_classes = n_actions - n_blocks
    tracing, limited = trace.shape[1] > 0, budget.size > 0
    for chunk in prange(_N_CHUNKS):
        scores, gain = np.empty(n_actions), np.empty(n_actions)
        keys = scores.view(np.int64)
        left = np.empty(budget.size, np.int64)
        for i in range(chunk, n_samples, _N_CHUNKS):
            request[i] = -1
            length = 0
            plain = chain.size > 0
            if plain:
                for b in range(n_blocks):
                    plain = plain and status[i, blocks[b]] == ASK
                if columns.size > n_blocks:
                    for c in range(columns.size):
                        plain = plain and X[i, where[c]] == X[i, where[c]]
            if plain:
                scores[:n_classes] = bias[:n_classes]
                if tracing:
                    trace[i, 0] = scores[:n_classes]
                for t in range(chain.size):
                    best = scores[0]
                    for k in range(1, n_classes):
                        best = max(best, scores[k])
                    if best >= chain_scores[t]:
                        break
                    b = chain[t]
                    _buy(scores, gain, X, i, b, start, columns, where, scaling, for_known,
                         for_value, n_classes)  # fmt: skip
                    order[i, length] = blocks[b]
                    length += 1
                    if tracing:
                        trace[i, length] = scores[:n_classes]
                decisions[i] = scores[:n_classes]
                continue
            scores[:] = bias
            for b in range(n_blocks):
                if status[i, blocks[b]] == KNOWN:
                    _buy(scores, gain, X, i, b, start, columns, where, scaling, for_known,
                         for_value, n_actions)  # fmt: skip
            for b in range(n_blocks):
                now = status[i, blocks[b]]
                if now in (KNOWN, MISSING):
                    scores[n_classes + b] = -np.inf
            if limited:
                left[:] = budget
                forbid_dear(scores, n_classes, digits, left)
            if tracing:
                trace[i, 0] = scores[:n_classes]
            while True:
                size = n_actions if length < max_blocks else n_classes
                action = first_largest(scores, keys, size)
                if action < n_classes:
                    break
                b = action - n_classes
                if status[i, blocks[b]] == OPEN:
                    request[i] = blocks[b]
                    break
                _buy(scores, gain, X, i, b, start, columns, where, scaling, for_known, for_value,
                     n_actions)  # fmt: skip
                scores[action] = -np.inf
                if limited:
                    pay(left, digits, b)
                    forbid_dear(scores, n_classes, digits, left)
                order[i, length] = blocks[b]
                length += 1
                if tracing:
                    trace[i, length] = scores[:n_classes]
            decisions[i] = scores[:n_classes]


@compiled
def chain_of_blocks(bias, for_known, start, columns, digits, budget, max_blocks):
    """The order in which a fixed-order policy buys, were it never to stop, and the scores.

    Made with the very additions of `run_batch`, for a sample that can have every block.
    """
    n_blocks = start.size - 1
    n_classes = bias.size - n_blocks
    scores, gain = bias.copy(), np.empty(bias.size)
    keys = scores[n_classes:].copy()
    order, at = np.empty(n_blocks, np.int64), np.empty(n_blocks)
    length, left, limited = 0, budget.copy(), budget.size > 0
    if limited:
        forbid_dear(scores, n_classes, digits, left)
    while length < min(max_blocks, n_blocks):
        keys[:] = scores[n_classes:]
        b = int(keys.argmax())
        if keys[b] == -np.inf:
            break
        order[length], at[length] = b, keys[b]
        length += 1
        gain[:] = 0.0
        for c in range(start[b], start[b + 1]):
            for k in range(bias.size):
                gain[k] += for_known[columns[c], k]
        for k in range(bias.size):
            scores[k] += gain[k]
        scores[n_classes + b] = -np.inf
        if limited:
            pay(left, digits, b)
            forbid_dear(scores, n_classes, digits, left)
    return order[:length], at[:length]
