"""Features per class by definition: exact fractions, one class and one feature at a time."""

import math
from fractions import Fraction


def moments(values):
    """Number, mean and unbiased variance, exactly."""
    values = [Fraction(float(v)) for v in values]
    mean = sum(values) / len(values)
    return len(values), mean, sum((v - mean) ** 2 for v in values) / (len(values) - 1)


def welch(inside, outside):
    """Welch's t and its degrees of freedom; 0 and 1 without any variance or difference."""
    (n, mean, variance), (m, other_mean, other_variance) = moments(inside), moments(outside)
    a, b = variance / n, other_variance / m
    difference = mean - other_mean
    if a + b == 0:
        return math.copysign(math.inf, difference) if difference else 0.0, 1.0
    t = float(difference) / math.sqrt(a + b)
    return t, float((a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1)))


def fraction_of_nonzeros(values):
    return sum(1 for v in values if v != 0) / len(values)


def log_fold_change(inside, outside):
    """Of values that are natural logarithms of 1 + x, as scanpy defines it."""
    means = [math.expm1(sum(map(float, values)) / len(values)) for values in (inside, outside)]
    return math.log2((means[0] + 1e-9) / (means[1] + 1e-9))


def adjust(pvals):
    """Benjamini and Hochberg: the smallest level at which a hypothesis is rejected."""
    m = len(pvals)
    rank = {p: sum(q <= p for q in pvals) for p in pvals}
    return [min(q * m / rank[q] for q in pvals if q >= p) for p in pvals]
