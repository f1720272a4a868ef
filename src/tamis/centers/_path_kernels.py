"""Compiled loops of `tamis.centers.terms`.

The loops get the summands of the decisions and the levels as named tuples. These are unpacked
before the threaded loops, because numba passes single arrays to its threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis._compile import compiled, prange, twins

_ROWS = 64


class DifferenceTerms(NamedTuple):
    """Summands of the difference between the decisions of two classes, in rank order."""

    # columns, origin: (n_ranked,): as in `tamis.centers.terms.PathTerms`.
    columns: NDArray
    origin: NDArray
    factor: NDArray  # (n_ranked,): l2: difference of the slopes; l1: the slope
    # (n_ranked, 2): l2: difference of the constant parts, and 0; l1: the two class centers.
    shift: NDArray
    bounds: NDArray  # (n_ranked, 2): l1: limits to which values are clipped
    absolute: bool  # True for l1


class PathLevels(NamedTuple):
    """Levels by ascending number of features."""

    stops: NDArray  # (n_levels,): number of ranked features that enter
    place: NDArray  # (n_levels,): index of the level in the output
    # sharpness, tolerance: (n_levels,): as in `PathTerms`.
    sharpness: NDArray
    tolerance: NDArray
    # (n_levels,): two classes: the second one is predicted where the difference of the sums is
    # larger.
    threshold: NDArray


class StoredRows(NamedTuple):
    """The three arrays of a CSR matrix."""

    data: NDArray
    indices: NDArray
    indptr: NDArray


class ZeroTerms(NamedTuple):
    """For sparse rows: where columns enter, and the terms of zeros."""

    # level, rank: (n_features,): first level of each column (the number of levels if it never
    # enters), and its rank.
    level: NDArray
    rank: NDArray
    zero: NDArray  # (n_ranked, n_classes): terms of a value 0
    base: NDArray  # (n_levels, n_classes): their sums


@compiled
def first_largest(sums, sharp, log_prior, tolerance):
    # The first of the classes whose decisions are within rounding of the largest.
    largest = -np.inf
    for c in range(log_prior.size):
        largest = max(largest, sums[c] * sharp + log_prior[c])
    c = 0
    while largest - (sums[c] * sharp + log_prior[c]) >= tolerance:
        c += 1
    return c


@compiled
def write_decisions(sums, sharp, log_prior, tolerance, decisions):
    # Decisions within rounding of the largest are made equal to it, so that labels agree.
    largest = -np.inf
    for c in range(log_prior.size):
        decisions[c] = sums[c] * sharp + log_prior[c]
        largest = max(largest, decisions[c])
    for c in range(log_prior.size):
        if largest - decisions[c] < tolerance:
            decisions[c] = largest


@compiled
def mark_overflow(i, sums, labels):
    # A sum that has overflowed once is not finite at the end either.
    finite = True
    for c in range(sums.size):
        finite &= np.isfinite(sums[c])
    if labels.size and not finite:
        labels[i] = -1


@twins
def dense_path(X, terms, levels, labels, decisions):
    columns, origin, slope, shift = terms.columns, terms.origin, terms.slope, terms.shift
    bounds, log_prior, absolute = terms.bounds, terms.log_prior, terms.absolute
    stops, place = levels.stops, levels.place
    sharpness, tolerance = levels.sharpness, levels.tolerance
    n_classes = log_prior.size
    for block in prange((X.shape[0] + _ROWS - 1) // _ROWS):
        sums = np.empty(n_classes)
        for i in range(block * _ROWS, min((block + 1) * _ROWS, X.shape[0])):
            sums[:] = 0.0
            r = 0
            for k in range(stops.size):
                while r < stops[k]:
                    v = np.float64(X[i, columns[r]])
                    if absolute:
                        v = min(max(v, bounds[r, 0]), bounds[r, 1])
                        for c in range(n_classes):
                            sums[c] -= abs(v - shift[r, c]) * slope[r, c]
                    else:
                        v -= origin[r]
                        for c in range(n_classes):
                            sums[c] += slope[r, c] * v - shift[r, c]
                    r += 1
                sharp, near, p = sharpness[k], tolerance[k], place[k]
                if labels.size:
                    labels[i, p] = first_largest(sums, sharp, log_prior, near)
                else:
                    write_decisions(sums, sharp, log_prior, near, decisions[i, p])
            mark_overflow(i, sums, labels)


@twins
def csr_path(rows, terms, zeros, levels, labels, decisions):
    data, indices, indptr = rows.data, rows.indices, rows.indptr
    origin, slope, shift, bounds = terms.origin, terms.slope, terms.shift, terms.bounds
    log_prior, absolute = terms.log_prior, terms.absolute
    level, rank, zero, base = zeros.level, zeros.rank, zeros.zero, zeros.base
    stops, place = levels.stops, levels.place
    sharpness, tolerance = levels.sharpness, levels.tolerance
    n_classes = log_prior.size
    n_levels = stops.size
    n_samples = indptr.size - 1
    for block in prange((n_samples + _ROWS - 1) // _ROWS):
        sums = np.empty(n_classes)
        total = np.empty(n_classes)
        change = np.zeros((n_levels, n_classes))
        for i in range(block * _ROWS, min((block + 1) * _ROWS, n_samples)):
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[np.uint64(p)]
                k = level[j]
                if k < n_levels:
                    r = rank[j]
                    v = np.float64(data[np.uint64(p)])
                    if absolute:
                        v = min(max(v, bounds[r, 0]), bounds[r, 1])
                    for c in range(n_classes):
                        if absolute:
                            term = -abs(v - shift[r, c]) * slope[r, c]
                        else:
                            term = slope[r, c] * (v - origin[r]) - shift[r, c]
                        change[k, c] += term - zero[r, c]
            sums[:] = 0.0
            for k in range(n_levels):
                for c in range(n_classes):
                    sums[c] += change[k, c]
                    change[k, c] = 0.0
                    total[c] = base[k, c] + sums[c]
                sharp, near, p = sharpness[k], tolerance[k], place[k]
                if labels.size:
                    labels[i, p] = first_largest(total, sharp, log_prior, near)
                else:
                    write_decisions(total, sharp, log_prior, near, decisions[i, p])
            mark_overflow(i, sums, labels)


@twins
def dense_two_labels(X, terms, levels, labels):
    # Four rows at a time: their sums do not wait for each other.
    columns, origin, factor = terms.columns, terms.origin, terms.factor
    shift, bounds, absolute = terms.shift, terms.bounds, terms.absolute
    stops, place, threshold = levels.stops, levels.place, levels.threshold
    for block in prange((X.shape[0] + _ROWS - 1) // _ROWS):
        last = min((block + 1) * _ROWS, X.shape[0]) - 1
        for i in range(block * _ROWS, last + 1, 4):
            i1, i2, i3 = min(i + 1, last), min(i + 2, last), min(i + 3, last)
            x0, x1, x2, x3 = X[i], X[i1], X[i2], X[i3]
            y0, y1, y2, y3 = labels[i], labels[i1], labels[i2], labels[i3]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            q = 0
            for k in range(stops.size):
                while q < stops[k]:
                    j, f = columns[q], factor[q]
                    v0, v1 = np.float64(x0[j]), np.float64(x1[j])
                    v2, v3 = np.float64(x2[j]), np.float64(x3[j])
                    if absolute:
                        a, b = shift[q, 0], shift[q, 1]
                        low, high = bounds[q, 0], bounds[q, 1]
                        v0, v1 = min(max(v0, low), high), min(max(v1, low), high)
                        v2, v3 = min(max(v2, low), high), min(max(v3, low), high)
                        s0 += (abs(v0 - a) - abs(v0 - b)) * f
                        s1 += (abs(v1 - a) - abs(v1 - b)) * f
                        s2 += (abs(v2 - a) - abs(v2 - b)) * f
                        s3 += (abs(v3 - a) - abs(v3 - b)) * f
                    else:
                        o, h = origin[q], shift[q, 0]
                        s0 += f * (v0 - o) - h
                        s1 += f * (v1 - o) - h
                        s2 += f * (v2 - o) - h
                        s3 += f * (v3 - o) - h
                    q += 1
                h, p = threshold[k], place[k]
                y0[p], y1[p] = s0 > h, s1 > h
                y2[p], y3[p] = s2 > h, s3 > h
            if not (np.isfinite(s0) & np.isfinite(s1) & np.isfinite(s2) & np.isfinite(s3)):
                y0[:] = -1


@twins
def csr_two_labels(rows, columns, levels, absolute, labels):
    # Four rows at a time, as for dense rows. `columns` has everything about a column on one cache
    # line: its first level, its factor, and for l1 its centers, bounds and term of 0.
    data, indices, indptr = rows.data, rows.indices, rows.indptr
    place, threshold = levels.place, levels.threshold
    n_levels = threshold.size
    n_samples = indptr.size - 1
    for block in prange((n_samples + _ROWS - 1) // _ROWS):
        change = np.zeros((n_levels + 1, 4))
        last = min((block + 1) * _ROWS, n_samples) - 1
        for first in range(block * _ROWS, last + 1, 4):
            for lane in range(min(4, last + 1 - first)):
                i = first + lane
                for p in range(indptr[i], indptr[i + 1]):
                    column = columns[indices[np.uint64(p)]]
                    v = np.float64(data[np.uint64(p)])
                    term = column[1] * v
                    if absolute:
                        a, b = column[2], column[3]
                        v = min(max(v, column[4]), column[5])
                        term = column[1] * (abs(v - a) - abs(v - b)) - column[6]
                    change[np.int64(column[0]), lane] += term
            y0, y1 = labels[first], labels[min(first + 1, last)]
            y2, y3 = labels[min(first + 2, last)], labels[min(first + 3, last)]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            for k in range(n_levels):
                s0 += change[k, 0]
                s1 += change[k, 1]
                s2 += change[k, 2]
                s3 += change[k, 3]
                h, p = threshold[k], place[k]
                # Lanes beyond the last row are written first, so that the row itself is written
                # last.
                y3[p] = s3 > h
                y2[p] = s2 > h
                y1[p] = s1 > h
                y0[p] = s0 > h
            if not (np.isfinite(s0) & np.isfinite(s1) & np.isfinite(s2) & np.isfinite(s3)):
                y0[:] = -1
            change[:] = 0.0
