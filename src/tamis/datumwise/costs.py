"""Costs as the decimal numbers that the user wrote, and their exact sums.

0.1 + 0.2 + 0.3 is 0.6 in any order, but the sum of these binary floats depends on the order and,
with the built-in `sum`, on the version of Python. So a cost stands for its `repr`: the shortest
decimal number that reads back as the same float. Costs are added up as integers over a common
denominator, and the total is rounded once, to the nearest float.
"""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from tamis._base import LARGEST_INTEGER


def as_float(number):
    """A number as a float; a shorter NumPy float counts as the decimal that it prints as."""
    is_short = isinstance(number, np.floating) and not isinstance(number, float)
    return float(str(number)) if is_short else float(number)


def as_integers(numbers):
    """Floats, read as decimal numbers, as integers over a common denominator."""
    ratios = [Decimal(repr(float(number))).as_integer_ratio() for number in numbers]
    denominator = math.lcm(*(below for _, below in ratios))
    return [above * (denominator // below) for above, below in ratios], denominator


def exact_sum(numbers):
    """The float that is nearest to the sum of decimal numbers."""
    integers, denominator = as_integers(numbers)
    return sum(integers) / denominator


def paid(order, costs):
    """Total cost of each sample.

    `order` (n_samples, length): blocks bought, padded with -1; `costs` (n_blocks,): costs. Returns
    `paid` (n_samples,): the floats nearest to the exact sums.
    """
    units, denominator = _units(order, costs)
    return _to_floats(units[order].sum(axis=1), denominator)


def paid_so_far(order, costs):
    """Cost of each sample before its first purchase, after it, after the second, ...

    `order` (n_samples, length): blocks bought, padded with -1; `costs` (n_blocks,): costs. Returns
    `paid` (n_samples, length + 1): the floats nearest to the exact sums, padded with NaN.
    """
    units, denominator = _units(order, costs)
    running = np.zeros((order.shape[0], order.shape[1] + 1))
    running[:, 1:] = _to_floats(np.cumsum(units[order], axis=1), denominator)
    running[:, 1:][order < 0] = np.nan
    return running


def mean_paid(order, costs):
    """Mean over the samples of their total costs, as a fraction.

    `order` (n_samples, length): blocks bought, padded with -1; `costs` (n_blocks,): costs.
    """
    counts = np.bincount(order[order >= 0], minlength=costs.size)
    blocks = np.flatnonzero(counts)
    integers, denominator = as_integers(costs[blocks].tolist())
    total = sum(n * cost for n, cost in zip(counts[blocks].tolist(), integers, strict=True))
    return Fraction(total, denominator * order.shape[0])


def whole_costs(costs):
    """Costs as multiples of a unit, so that sums of floats do not depend on the order.

    Used for expected costs, which are estimates. If they would need more than 53 bits, the costs
    are returned unchanged, with the unit 1.

    `costs` (n_blocks,). Returns `whole` (n_blocks,).
    """
    integers, denominator = as_integers(costs.tolist())
    common = math.gcd(*integers) or 1
    integers = [cost // common for cost in integers]
    if sum(integers) > LARGEST_INTEGER:
        return costs, 1.0
    return np.array(integers, dtype=np.float64), common / denominator


def _units(order, costs):
    """Integer costs of the blocks bought, then a 0 for the padding; and the denominator."""
    is_bought = np.zeros(costs.size + 1, dtype=bool)
    is_bought[order] = True
    blocks = np.flatnonzero(is_bought[:-1])
    integers, denominator = as_integers(costs[blocks].tolist())
    fits = max(integers, default=0) * max(1, order.shape[1]) <= np.iinfo(np.int64).max
    units = np.zeros(costs.size + 1, dtype=np.int64 if fits else object)
    units[blocks] = integers
    return units, denominator


def _to_floats(totals, denominator):
    """Integers over a denominator as the nearest floats."""
    if totals.dtype == np.int64 and max(totals.max(initial=0), denominator) <= LARGEST_INTEGER:
        return totals / denominator  # a single rounding, in the division
    floats = [int(total) / denominator for total in totals.flat]
    return np.array(floats, dtype=np.float64).reshape(totals.shape)
