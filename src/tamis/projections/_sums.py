"""Sums: fast ones in four lanes, and compensated ones where accuracy matters.

Numpy computes those of fewer than `LARGE` numbers, kernels the others: compiling takes seconds,
as much as numpy loses in about a thousand projections of that size.
"""

import math

import numpy as np

from tamis._compile import compiled

LARGE = 1 << 16

EPSILON = 2.220446049250313e-16


def is_large(values, factor=1):
    """Whether kernels are worth compiling for an array of this size.

    `factor` is how much longer than for a sum of magnitudes numpy takes for what is computed.
    """
    return factor * values.size >= LARGE


def sum_exactly(x):
    """Sum of an array of one dimension, rounded once."""
    return math.fsum(x.tolist())


def row_sums(X, start):
    """`start` and the sum of each row, rounded once or, in few long columns, nearly so."""
    if X.shape[0] < X.shape[1]:
        return np.array(
            [math.fsum([first, *row]) for first, row in zip(start, X.tolist(), strict=True)]
        )
    total, lost = start, np.zeros(X.shape[0])
    for column in X.T:
        total, lost = add_exactly.py_func(total, lost, column)
    return total + lost


@compiled
def add_exactly(total, lost, a):
    """`total` + `a`, with the rounding error added to `lost` (Knuth's two-sum)."""
    larger = total + a
    back = larger - total
    return larger, lost + ((total - (larger - back)) + (a - back))


@compiled
def exact_sum(v):
    """Sum of the magnitudes, rounded once."""
    total = 0.0
    lost = 0.0
    for i in range(v.size):
        total, lost = add_exactly(total, lost, np.float64(abs(v[i])))
    return total + lost


@compiled
def plain_sum(x):
    """Sum in four lanes, so that an addition need not wait for the one before."""
    total0 = total1 = total2 = total3 = 0.0
    whole = x.size - x.size % 4
    for i in range(0, whole, 4):
        total0 += x[i]
        total1 += x[i + 1]
        total2 += x[i + 2]
        total3 += x[i + 3]
    for i in range(whole, x.size):
        total0 += x[i]
    return (total0 + total1) + (total2 + total3)


def survey(v, absolute, radius):
    """Sum and largest of the entries (or of their magnitudes), and whether the sum is finite.

    The sum of magnitudes is compensated if it is so close to the radius that rounding matters.
    """
    if is_large(v):
        return _survey(v, absolute, radius)
    a = np.abs(v) if absolute else v
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(a.sum(dtype=np.float64))
    largest = float(a.max(initial=-np.inf))
    if absolute and abs(total - radius) <= v.size * EPSILON * radius:
        total = sum_exactly(a)
    return total, largest, math.isfinite(total)


@compiled
def _survey(v, absolute, radius):
    total0 = total1 = total2 = total3 = 0.0
    largest0 = largest1 = largest2 = largest3 = -np.inf
    whole = v.size - v.size % 4
    for i in range(0, whole, 4):
        a, b, c, d = v[i], v[i + 1], v[i + 2], v[i + 3]
        if absolute:
            a, b, c, d = abs(a), abs(b), abs(c), abs(d)
        total0 += a
        total1 += b
        total2 += c
        total3 += d
        largest0 = a if a > largest0 else largest0
        largest1 = b if b > largest1 else largest1
        largest2 = c if c > largest2 else largest2
        largest3 = d if d > largest3 else largest3
    for i in range(whole, v.size):
        a = abs(v[i]) if absolute else v[i]
        total0 += a
        largest0 = max(largest0, a)
    total = (total0 + total1) + (total2 + total3)
    largest = max(max(largest0, largest1), max(largest2, largest3))
    if absolute and abs(total - radius) <= v.size * EPSILON * radius:
        total = exact_sum(v)
    return total, largest, np.isfinite(total)
