"""Compiled parts of `tamis.centers.median_search`: counts of digits, and deviations."""

import numpy as np

from tamis._compile import compiled

__all__ = ["csr_deviations", "csr_digits", "dense_deviations", "dense_digits"]

# Counts that stay in the cache.
_CACHED = 1 << 15
_COLUMNS = 64


@compiled
def key_of(bits, sign):
    # Unsigned integers in the order of the floating-point numbers; -0.0 and 0.0 are equal.
    if bits & sign:
        return sign if bits == sign else np.uint64(2) * sign - np.uint64(1) - bits
    return bits | sign


@compiled
def count_key(key, w, shift, bits, own, every, own_counts, every_counts, after, c):
    # own, every: what the medians of the class, and of all classes, begin with. After the last
    # digit, `after` is the smallest key above them.
    digit = (key >> shift) & ((np.uint64(1) << bits) - np.uint64(1))
    high = (key >> shift) >> bits
    if high == own:
        own_counts[digit] += w
    elif high > own and key < after[c]:
        after[c] = key
    if high == every:
        every_counts[digit] += w
    elif high > every and key < after[-1]:
        after[-1] = key


@compiled
def dense_digits(values, sign, codes, weights, step, shift, bits, prefix, counts, after):
    # prefix, after: (m, C + 1), the last column for all classes; counts: (m, C, 2, digits).
    # Some columns at a time, so that their counts stay in the cache.
    n_classes = counts.shape[1]
    width = max(8, _CACHED // counts[0].size)
    for first in range(0, values.shape[1], width):
        last = min(first + width, values.shape[1])
        for i in range(values.shape[0]):
            c = codes[i]
            w = weights[i * step]
            for j in range(first, last):
                count_key(
                    key_of(np.uint64(values[i, j]), sign),
                    w,
                    shift,
                    bits,
                    prefix[j, c],
                    prefix[j, n_classes],
                    counts[j, c, 0],
                    counts[j, c, 1],
                    after[j],
                    c,
                )


@compiled
def csr_digits(
    values, sign, place, indptr, codes, weights, step, shift, bits, prefix, counts, after
):
    # place: of each stored value, its column in the block, or -1.
    n_classes = counts.shape[1]
    for i in range(indptr.size - 1):
        c = codes[i]
        for p in range(indptr[i], indptr[i + 1]):
            j = place[p]
            if j >= 0:
                count_key(
                    key_of(np.uint64(values[p]), sign),
                    weights[i * step],
                    shift,
                    bits,
                    prefix[j, c],
                    prefix[j, n_classes],
                    counts[j, c, 0],
                    counts[j, c, 1],
                    after[j],
                    c,
                )


@compiled
def add_deviation(x, j, c, w, lower, median, common, sums):
    # sums: (m, C, 2): absolute deviations, and distances to the common median of values between
    # it and the lower median of the class.
    sums[j, c, 0] += w * abs(x - median[j, c])
    if lower[j, c] < x < common[j]:
        sums[j, c, 1] += w * (common[j] - x)
    elif common[j] < x < lower[j, c]:
        sums[j, c, 1] += w * (x - common[j])


@compiled
def dense_deviations(X, first, codes, weights, step, lower, median, common, sums):
    for start in range(0, common.size, _COLUMNS):
        stop = min(start + _COLUMNS, common.size)
        for i in range(X.shape[0]):
            for j in range(start, stop):
                add_deviation(
                    np.float64(X[i, first + j]),
                    j,
                    codes[i],
                    weights[i * step],
                    lower,
                    median,
                    common,
                    sums,
                )


@compiled
def csr_deviations(data, place, indptr, codes, weights, step, lower, median, common, sums):
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            if place[p] >= 0:
                add_deviation(
                    np.float64(data[p]),
                    place[p],
                    codes[i],
                    weights[i * step],
                    lower,
                    median,
                    common,
                    sums,
                )
