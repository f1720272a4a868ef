"""Compiled kernels of backward induction: see `induction` for the rules.

Shapes: n rows, S sets (small ones first), m moves from one set.
"""

from typing import NamedTuple

import numpy as np

from tamis._compile import compiled

__all__ = ["Ahead", "Here", "choose_rule", "move_values"]


class Ahead(NamedTuple):
    """What each row ends with from each set on: three arrays of shape (S, n)."""

    losses: np.ndarray
    outcomes: np.ndarray
    paid: np.ndarray


class Here(NamedTuple):
    """One set: what stopping and what every move costs each row.

    Attributes
    ----------
    stop, loss, outcome : ndarray of shape (n,)
        Expected loss of stopping, what stopping is counted with, and the loss that came true.
    values, paid, local : ndarray of shape (n, m)
        Value of each move, what it pays, and local means of the values.
    thresholds, shares : ndarray
        Of the threshold rules and of the local rules.
    """

    stop: np.ndarray
    loss: np.ndarray
    outcome: np.ndarray
    values: np.ndarray
    paid: np.ndarray
    local: np.ndarray
    thresholds: np.ndarray
    shares: np.ndarray


@compiled
def move_values(ahead, costs, targets, starts, new, cost_weight):
    """What each move costs each row, and what is paid for it: two arrays of shape (n, m).

    Move k leads to the set ``targets[k]`` and buys the blocks ``new[starts[k]:starts[k + 1]]``;
    `costs` has a row for every block.
    """
    n_samples, n_moves = costs.shape[1], targets.size
    values, paid = np.empty((n_samples, n_moves)), np.empty((n_samples, n_moves))
    for k in range(n_moves):
        losses, later = ahead.losses[targets[k]], ahead.paid[targets[k]]
        for i in range(n_samples):
            total = 0.0
            for b in range(starts[k], starts[k + 1]):
                total += costs[new[b], i]
            total += later[i]
            paid[i, k] = total
            values[i, k] = losses[i] + cost_weight * total
    return values, paid


@compiled
def _act(rule, here, means, best, i):
    # The move that a rule makes with row i; -1 when it stops.
    n_moves = means.size
    if rule == 0:
        return -1
    if rule <= n_moves:
        return rule - 1
    rule -= 1 + n_moves
    if rule < here.thresholds.size:
        return -1 if here.stop[i] <= here.thresholds[rule] else best
    share = here.shares[rule - here.thresholds.size]
    cheapest, move = np.inf, 0
    for k in range(n_moves):
        expected = share * here.local[i, k] + (1 - share) * means[k]
        if expected < cheapest:
            cheapest, move = expected, k
    return -1 if here.stop[i] <= cheapest else move


@compiled
def choose_rule(here, ahead, place, targets, fold_of):
    """The rule with the smallest mean cost, and the move it makes with each row (-1: it stops).

    What every row ends with is written to row `place` of `ahead`: it comes of the rule that the
    other folds choose. Rules are numbered: stop, go with each move, thresholds, local rules.
    """
    n_samples, n_moves = here.values.shape
    means = np.zeros(n_moves)
    for i in range(n_samples):
        for k in range(n_moves):
            means[k] += here.values[i, k]
    means /= n_samples
    best = means.argmin()
    n_rules = 1 + n_moves + here.thresholds.size + here.shares.size
    n_folds = fold_of.max() + 1
    sums = np.zeros((n_folds, n_rules))
    for i in range(n_samples):
        own = sums[fold_of[i]]
        for rule in range(n_rules):
            move = _act(rule, here, means, best, i)
            own[rule] += here.loss[i] if move < 0 else here.values[i, move]
    # Summed anew for each fold: of rules that do the same with all other rows the first is taken,
    # and not the one that rounding, or the rows left out, would favour.
    chosen, totals = np.empty(n_folds, np.int64), np.empty(n_rules)
    for fold in range(n_folds):
        totals[:] = 0.0
        for other in range(n_folds):
            if other != fold:
                totals += sums[other]
        chosen[fold] = totals.argmin()
    totals[:] = 0.0
    for fold in range(n_folds):
        totals += sums[fold]
    overall = totals.argmin()
    taken = np.empty(n_samples, np.int64)
    for i in range(n_samples):
        taken[i] = _act(overall, here, means, best, i)
        move = _act(chosen[fold_of[i]], here, means, best, i)
        if move < 0:
            ahead.losses[place, i], ahead.outcomes[place, i] = here.loss[i], here.outcome[i]
            ahead.paid[place, i] = 0.0
        else:
            target = targets[move]
            ahead.losses[place, i] = ahead.losses[target, i]
            ahead.outcomes[place, i] = ahead.outcomes[target, i]
            ahead.paid[place, i] = here.paid[i, move]
    return overall, taken
