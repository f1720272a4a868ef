"""Compiled parts of `tamis.centers.median_search` and `brackets`: counts, and deviations."""

import numpy as np

from tamis._compile import compiled

# Columns that are counted together, so that their counts stay in the cache.
_COLUMNS = 64


@compiled
def key_of(bits, sign):
    # Unsigned integers in the order of the floating-point numbers; -0.0 and 0.0 are equal.
    if bits & sign:
        return sign if bits == sign else np.uint64(2) * sign - np.uint64(1) - bits
    return bits | sign


@compiled
def dense_digits(values, sign, codes, weights, step, shift, lowest, counts, after):
    # lowest: (m, C + 1), the smallest keys, without the digits to come, of what the medians begin
    # with, the last column for all classes; counts: (m, C, 2, digits). With the last digit,
    # `after` (m, C + 1) receives the smallest keys above them.
    n_classes, mask = counts.shape[1], np.uint64(counts.shape[3] - 1)
    for first in range(0, values.shape[1], _COLUMNS):
        last = min(first + _COLUMNS, values.shape[1])
        for i in range(values.shape[0]):
            c = codes[i]
            w = weights[i * step]
            for j in range(first, last):
                key = key_of(np.uint64(values[i, j]), sign) >> shift
                digit = key - lowest[j, c]
                if digit <= mask:
                    counts[j, c, 0, digit] += w
                digit = key - lowest[j, n_classes]
                if digit <= mask:
                    counts[j, c, 1, digit] += w
            if shift == 0:
                for j in range(first, last):
                    key = key_of(np.uint64(values[i, j]), sign)
                    if key > lowest[j, c] + mask:
                        after[j, c] = min(after[j, c], key)
                    if key > lowest[j, n_classes] + mask:
                        after[j, n_classes] = min(after[j, n_classes], key)


@compiled
def csr_digits(values, sign, place, indptr, codes, weights, step, shift, lowest, counts, after):
    # place: of each stored value, its column in the block, or -1.
    n_classes, mask = counts.shape[1], np.uint64(counts.shape[3] - 1)
    for i in range(indptr.size - 1):
        c = codes[i]
        w = weights[i * step]
        for p in range(indptr[i], indptr[i + 1]):
            j = place[p]
            if j < 0:
                continue
            key = key_of(np.uint64(values[p]), sign) >> shift
            for part, t in ((0, c), (1, n_classes)):
                digit = key - lowest[j, t]
                if digit <= mask:
                    counts[j, c, part, digit] += w
                elif shift == 0 and key > lowest[j, t]:
                    after[j, t] = min(after[j, t], key)


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
    # As `add_deviation`, in rows of columns and without jumps, for vector instructions.
    n_classes, n_columns = lower.shape[1], common.size
    centers, low, high = np.empty((3, n_classes, n_columns))
    for c in range(n_classes):
        for j in range(n_columns):
            centers[c, j] = median[j, c]
            low[c, j] = min(lower[j, c], common[j])
            high[c, j] = max(lower[j, c], common[j])
    away, between = np.zeros((n_classes, n_columns)), np.zeros((n_classes, n_columns))
    for i in range(X.shape[0]):
        c = codes[i]
        w = weights[i * step]
        for j in range(n_columns):
            x = np.float64(X[i, first + j])
            away[c, j] += w * abs(x - centers[c, j])
            inside = (x > low[c, j]) & (x < high[c, j])
            between[c, j] += w * abs(x - common[j]) if inside else 0.0
    sums[:, :, 0] += away.T
    sums[:, :, 1] += between.T


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


@compiled
def collect_inside(X, codes, weights, step, is_kept, low, high, mass, values, masses, cells):
    # See `tamis.centers.brackets`: fills `mass` (2, C, 4, m), and the values inside, with their
    # weights and brackets; returns how many these are.
    n_classes, n_columns = low.shape[1], low.shape[2]
    where = np.empty(n_columns, dtype=np.uint8)
    n = 0
    for i in range(X.shape[0]):
        c = codes[i]
        w = weights[i * step]
        row = X[i]
        for part in range(2):
            lows, below = low[part, c], mass[part, c, 0]
            for j in range(n_columns):  # without jumps, for vector instructions
                below[j] += w if row[j] < lows[j] else 0.0
        own_low, own_high, all_low, all_high = low[0, c], high[0, c], low[1, c], high[1, c]
        for j in range(n_columns):
            x = np.float64(row[j])
            is_own = (x >= own_low[j]) & (x <= own_high[j])
            where[j] = is_own | (((x >= all_low[j]) & (x <= all_high[j])) << 1)
        for j in range(n_columns):
            if where[j] == 0:
                continue
            x = np.float64(row[j]) + 0.0  # -0 becomes 0
            for part in range(2):
                if (where[j] >> part) & 1 == 0:
                    continue
                if x == low[part, c, j]:
                    mass[part, c, 1, j] += w
                elif x == high[part, c, j]:
                    mass[part, c, 2, j] += w
                else:
                    mass[part, c, 3, j] += w
                    if is_kept[i]:
                        values[n] = x
                        masses[n] = w
                        cells[n] = (part * n_classes + c) * n_columns + j
                        n += 1
    return n


@compiled
def group_inside(values, masses, cells, place, grouped, grouped_masses):
    # Values and masses by cell; place: where those of each cell begin, changed.
    for i in range(values.size):
        at = place[cells[i]]
        place[cells[i]] = at + 1
        grouped[at] = values[i]
        grouped_masses[at] = masses[i]
