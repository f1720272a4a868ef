"""Probabilities of datum-wise classifiers."""

import math
from decimal import Decimal
from fractions import Fraction

from tamis.models.standalone.numbers import softmax

__all__ = ["estimate_datumwise"]


def estimate_datumwise(model, x):
    """Probabilities of the classes; `x` has NaN where a value is missing."""
    policy = model["policy"]
    run = _linear_policy if policy["kind"] == "linear" else _forest_policy
    return softmax(run(model, policy, x))


def _forest_policy(model, policy, x):
    columns, process = policy["columns"], model["process"]
    missing = _missing_blocks(process, policy, x)
    x = [x[j] for j in columns]
    weight, losses = policy["cost_weight"], policy["class_losses"]
    decisions, learned, s = [0.0] * len(losses), True, 0
    while True:
        stage = policy["stages"][s]
        shares, cells = _ask_forest(model["forests"][stage["forest"]], x)
        if learned:
            top = max(shares)
            decisions = [0.0 if d - top > -1e-12 else d - top for d in shares]
        if stage["rule"]["kind"] == "stop" or not stage["targets"]:
            break
        expected = list(map(float, stage["means"]))
        if stage["table"] is not None:
            rows = [stage["table"][stage["row_of"][cell]] for cell in cells]
            expected = [sum(map(float, c)) / len(rows) for c in zip(*rows, strict=True)]
        in_vain = []
        for move, new in enumerate(stage["new"]):
            expected[move] -= weight * sum(policy["costs"][b] for b in new if missing[b])
            in_vain.append(all(missing[b] for b in new))
        if not all(in_vain):
            expected = [math.inf if v else e for v, e in zip(in_vain, expected, strict=True)]
        shares = softmax(decisions)
        stop = (1 - max(shares)) / sum(p / c for p, c in zip(shares, losses, strict=True))
        move, rule = expected.index(min(expected)), stage["rule"]
        stops = stop <= expected[move]
        if rule["kind"] != "local":
            move = rule["move"] if math.isfinite(expected[rule["move"]]) else move
            stops = rule["kind"] == "threshold" and stop <= float(rule["at"])
        if stops:
            break
        learned, s = not in_vain[move], stage["targets"][move]
    return [d / policy["temperature"] for d in decisions]


def _missing_blocks(process, policy, x):
    """Whether all values of each of the policy's blocks are missing."""
    present = {process["block_of"][j] for j in policy["columns"] if x[j] == x[j]}
    return [block not in present for block in policy["blocks"]]


def _ask_forest(forest, x):
    """Log probabilities up to a constant, and the coarse cell of each tree."""
    trees, cells = forest["trees"], []
    if trees is None:
        return [math.log(max(share, 1e-3)) for share in forest["prior"]], cells
    total = [0.0] * len(forest["prior"])
    for node in trees["offsets"][:-1]:
        cell = None
        while True:
            if cell is None and (
                trees["feature"][node] < 0 or trees["n_rows"][node] < forest["coarse"]
            ):
                cell = node
            if trees["feature"][node] < 0:
                break
            value, child = x[trees["feature"][node]], trees["first_child"][node]
            goes_on = value > float(trees["threshold"][node])
            node = child + (goes_on if value == value else not trees["missing_first"][node])
        cells.append(cell)
        total = [t + share for t, share in zip(total, trees["shares"][node], strict=True)]
    n = len(cells)
    return [math.log(max(t / n, 1e-3)) / forest["temperature"] for t in total], cells


def _linear_policy(model, policy, x):
    C = len(model["classes"])
    scores, missing = list(policy["bias"]), _missing_blocks(model["process"], policy, x)
    blocks: list = [[] for _ in policy["blocks"]]
    for at, block in enumerate(policy["block_of"]):
        blocks[block].append(at)

    def buy(block):
        for at in blocks[block]:
            value = x[policy["columns"][at]]
            if value == value:
                low, unit, center = (row[at] for row in policy["scaling"])
                value = min(max((0.25 * value - low) / unit - center, -1e6), 1e6)
                for k, known in enumerate(policy["for_known"][at]):
                    scores[k] += known + value * policy["for_value"][at][k]

    whole = not any(missing) and all(x[j] == x[j] for j in policy["columns"])
    if policy["chain"] and whole:
        for block, score in zip(policy["chain"], policy["chain_scores"], strict=True):
            if max(scores[:C]) >= score:
                break
            buy(block)
    else:
        costs = [Fraction(Decimal(repr(cost))) for cost in policy["costs"]]
        left, limit = policy["max_blocks"], float(policy["max_cost"])
        money = None if limit == math.inf else Fraction(Decimal(repr(limit)))
        taken = list(missing)
        while left:
            open_ = [
                b
                for b in range(len(blocks))
                if not taken[b] and (money is None or costs[b] <= money)
            ]
            best = max([*range(C), *(C + b for b in open_)], key=scores.__getitem__)
            if best < C:
                break
            buy(best - C)
            taken[best - C], left = True, left - 1
            money = None if money is None else money - costs[best - C]
    top = max(scores[:C])
    decisions = [(d - top) / policy["temperature"] for d in scores[:C]]
    return [0.0 if d > -1e-12 else d for d in decisions]
