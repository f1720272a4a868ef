"""Compiled loops of `tamis.centers.path`."""

import numpy as np

from tamis._compile import compiled, prange, twins

__all__ = ["TASK_ROWS", "add_confusion", "csr_above", "csr_path", "dense_above", "dense_path"]

_ROWS = 64
TASK_ROWS = 4096


@compiled
def record(i, k, sums, sharp, tolerance, log_prior, labels, decisions):
    # Write the decision, or its first largest class: ties go to the first class.
    largest = -np.inf
    for c in range(log_prior.size):
        value = sums[c] * sharp + log_prior[c]
        if decisions.size:
            decisions[i, k, c] = value
        largest = max(largest, value)
    if labels.size:
        c = 0
        while largest - (sums[c] * sharp + log_prior[c]) >= tolerance:
            c += 1
        labels[i, k] = c


@compiled
def mark_overflow(i, sums, labels):
    # What has overflowed on the way is not finite at the end either.
    finite = True
    for c in range(sums.size):
        finite &= np.isfinite(sums[c])
    if labels.size and not finite:
        labels[i] = -1


@twins
def dense_path(
    X,
    columns,
    origin,
    slope,
    shift,
    absolute,
    bounds,
    stops,
    sharpness,
    tolerance,
    place,
    log_prior,
    labels,
    decisions,
):
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
                record(i, place[k], sums, sharpness[k], tolerance[k], log_prior, labels, decisions)
            mark_overflow(i, sums, labels)


@twins
def csr_path(
    data,
    indices,
    indptr,
    level,
    rank,
    origin,
    slope,
    shift,
    absolute,
    bounds,
    zero,
    base,
    sharpness,
    tolerance,
    place,
    log_prior,
    labels,
    decisions,
):
    n_classes = log_prior.size
    n_levels = place.size
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
                record(
                    i, place[k], total, sharpness[k], tolerance[k], log_prior, labels, decisions
                )
            mark_overflow(i, sums, labels)


@twins
def dense_above(
    X,
    columns,
    origin,
    slope,
    shift,
    slopes,
    centers,
    absolute,
    bounds,
    stops,
    threshold,
    rows,
    tasks,
    weights,
    counts,
):
    # Four rows of one class at a time: their sums do not wait for each other, and a level's
    # counter is touched once for four rows.
    for t in prange(tasks.shape[0]):
        last = tasks[t, 2]
        count = counts[t]
        for r in range(tasks[t, 1], last, 4):
            i0, i1 = rows[r], rows[min(r + 1, last - 1)]
            i2, i3 = rows[min(r + 2, last - 1)], rows[min(r + 3, last - 1)]
            w0, w1 = weights[i0], weights[i1] if r + 1 < last else 0.0
            w2, w3 = (
                weights[i2] if r + 2 < last else 0.0,
                weights[i3] if r + 3 < last else 0.0,
            )
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            q = 0
            for k in range(stops.size):
                while q < stops[k]:
                    j = columns[q]
                    if absolute:
                        a, b, f = centers[q, 0], centers[q, 1], slopes[q, 0]
                        low, high = bounds[q, 0], bounds[q, 1]
                        v0, v1 = min(max(X[i0, j], low), high), min(max(X[i1, j], low), high)
                        v2, v3 = min(max(X[i2, j], low), high), min(max(X[i3, j], low), high)
                        s0 += (abs(v0 - a) - abs(v0 - b)) * f
                        s1 += (abs(v1 - a) - abs(v1 - b)) * f
                        s2 += (abs(v2 - a) - abs(v2 - b)) * f
                        s3 += (abs(v3 - a) - abs(v3 - b)) * f
                    else:
                        f, o, h = slope[q], origin[q], shift[q]
                        s0 += f * (X[i0, j] - o) - h
                        s1 += f * (X[i1, j] - o) - h
                        s2 += f * (X[i2, j] - o) - h
                        s3 += f * (X[i3, j] - o) - h
                    q += 1
                h = threshold[k]
                count[k] += w0 * (s0 > h) + w1 * (s1 > h) + (w2 * (s2 > h) + w3 * (s3 > h))
            if not np.isfinite(s0 + s1 + s2 + s3):
                count[0] = np.nan


@twins
def csr_above(data, indices, indptr, record, absolute, threshold, codes, weights, counts):
    # Four rows of one class at a time, as for dense rows.
    n_levels = threshold.size
    for t in prange(counts.shape[0]):
        first_row = t * TASK_ROWS
        rows = first_row + np.argsort(codes[first_row : first_row + TASK_ROWS], kind="mergesort")
        change = np.zeros((n_levels + 1, 4))
        four = np.zeros(4)
        r = 0
        while r < rows.size:
            c = codes[rows[r]]
            lanes = 1
            while lanes < 4 and r + lanes < rows.size and codes[rows[r + lanes]] == c:
                lanes += 1
            for lane in range(lanes):
                i = rows[r + lane]
                four[lane] = weights[i]
                for p in range(indptr[i], indptr[i + 1]):
                    column = record[indices[np.uint64(p)]]
                    v = np.float64(data[np.uint64(p)])
                    term = column[1] * v
                    if absolute:
                        a, b = column[2], column[3]
                        v = min(max(v, column[4]), column[5])
                        term = column[1] * (abs(v - a) - abs(v - b)) - column[6]
                    change[np.int64(column[0]), lane] += term
            for lane in range(lanes, 4):
                four[lane] = 0.0
            w0, w1, w2, w3 = four[0], four[1], four[2], four[3]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            count = counts[t, c]
            for k in range(n_levels):
                s0 += change[k, 0]
                s1 += change[k, 1]
                s2 += change[k, 2]
                s3 += change[k, 3]
                h = threshold[k]
                count[k] += w0 * (s0 > h) + w1 * (s1 > h) + (w2 * (s2 > h) + w3 * (s3 > h))
            if not np.isfinite(s0 + s1 + s2 + s3):
                count[0] = np.nan
            change[:] = 0.0
            r += lanes


@compiled
def add_confusion(labels, codes, weights, confusion):
    for i in range(labels.shape[0]):
        for k in range(labels.shape[1]):
            confusion[k, codes[i], labels[i, k]] += weights[i]
