"""Compiled sums of `tamis.centers.statistics`; each adds the rows of a class in their order."""

import numpy as np

from tamis._compile import compiled, prange, twins

_COLUMNS = 2048


@twins
def dense_sums(X, rows, starts, weights, step, sums, squares):
    # Four rows of one class at a time, so that the accumulators are read and written once for
    # four values; each sum still adds its rows in order. Unsigned indices need no wrap-around,
    # and little to compile.
    squared = np.uint64(_COLUMNS)
    for b in prange((X.shape[1] + _COLUMNS - 1) // _COLUMNS):
        first = np.uint64(b * _COLUMNS)
        width = min(_COLUMNS, X.shape[1] - b * _COLUMNS)
        # One array for both, so that the compiler needs few overlap checks to vectorise.
        both = np.empty(2 * _COLUMNS)
        for c in range(starts.size - 1):
            both[:] = 0.0
            r = starts[c]
            while r < starts[c + 1]:
                i0 = np.uint64(rows[r])
                w0 = weights[rows[r] * step]
                if r + 4 <= starts[c + 1]:
                    i1, w1 = np.uint64(rows[r + 1]), weights[rows[r + 1] * step]
                    i2, w2 = np.uint64(rows[r + 2]), weights[rows[r + 2] * step]
                    i3, w3 = np.uint64(rows[r + 3]), weights[rows[r + 3] * step]
                    for t in range(width):
                        j = np.uint64(t)
                        s, q = both[j], both[j + squared]
                        v = np.float64(X[i0, first + j])
                        s += w0 * v
                        q += w0 * v * v
                        v = np.float64(X[i1, first + j])
                        s += w1 * v
                        q += w1 * v * v
                        v = np.float64(X[i2, first + j])
                        s += w2 * v
                        q += w2 * v * v
                        v = np.float64(X[i3, first + j])
                        s += w3 * v
                        q += w3 * v * v
                        both[j], both[j + squared] = s, q
                    r += 4
                else:
                    for t in range(width):
                        j = np.uint64(t)
                        v = np.float64(X[i0, first + j])
                        both[j] += w0 * v
                        both[j + squared] += w0 * v * v
                    r += 1
            for t in range(width):
                j = np.uint64(t)
                sums[c, first + j] = both[j]
                squares[c, first + j] = both[j + squared]


@twins
def dense_sums_by_column(X, rows, starts, weights, step, sums, squares):
    # For columns that are contiguous: four of them at a time, so that sums need not wait.
    n_features = X.shape[1]
    for b in prange((n_features + 3) // 4):
        j0 = 4 * b
        j1, j2 = min(j0 + 1, n_features - 1), min(j0 + 2, n_features - 1)
        j3 = min(j0 + 3, n_features - 1)
        for c in range(starts.size - 1):
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            q0, q1, q2, q3 = 0.0, 0.0, 0.0, 0.0
            for r in range(starts[c], starts[c + 1]):
                i = rows[r]
                w = weights[i * step]
                v0, v1 = np.float64(X[i, j0]), np.float64(X[i, j1])
                v2, v3 = np.float64(X[i, j2]), np.float64(X[i, j3])
                s0 += w * v0
                s1 += w * v1
                s2 += w * v2
                s3 += w * v3
                q0 += w * v0 * v0
                q1 += w * v1 * v1
                q2 += w * v2 * v2
                q3 += w * v3 * v3
            # The last group repeats its last column, with the same sums.
            sums[c, j0], sums[c, j1], sums[c, j2], sums[c, j3] = s0, s1, s2, s3
            squares[c, j0], squares[c, j1], squares[c, j2], squares[c, j3] = q0, q1, q2, q3


@compiled
def csr_sums(data, indices, indptr, codes, weights, step, both):
    # both: (m, C, 2), so that the two sums of a value are on one cache line.
    n_classes = np.uint64(both.shape[1])
    flat = both.reshape(-1)
    canonical = True
    for i in range(indptr.size - 1):
        c = np.uint64(codes[i])
        w = weights[i * step]
        previous = np.int64(-1)
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[np.uint64(p)]
            canonical &= np.int64(j) > previous
            previous = np.int64(j)
            a = np.uint64(2) * (np.uint64(j) * n_classes + c)
            v = np.float64(data[np.uint64(p)])
            flat[a] += w * v
            flat[a + np.uint64(1)] += w * v * v
    return canonical


@compiled
def csr_sums_by_class(data, indices, indptr, rows, starts, weights, step, both, sums, squares):
    # both: (m, 2), zeros; the sums of one class, which stay in the cache until it is complete.
    flat = both.reshape(-1)
    canonical = True
    for c in range(starts.size - 1):
        for r in range(starts[c], starts[c + 1]):
            i = rows[r]
            w = weights[i * step]
            previous = np.int64(-1)
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[np.uint64(p)]
                canonical &= np.int64(j) > previous
                previous = np.int64(j)
                a = np.uint64(2) * np.uint64(j)
                v = np.float64(data[np.uint64(p)])
                flat[a] += w * v
                flat[a + np.uint64(1)] += w * v * v
        for j in range(both.shape[0]):
            sums[c, j], squares[c, j] = both[j, 0], both[j, 1]
            both[j, 0], both[j, 1] = 0.0, 0.0
    return canonical


@compiled
def csc_sums(data, indices, indptr, codes, weights, step, sums, squares):
    canonical = True
    for j in range(indptr.size - 1):
        previous = np.int64(-1)
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[np.uint64(p)]
            canonical &= np.int64(i) > previous
            previous = np.int64(i)
            c = codes[np.uint64(i)]
            w = weights[np.int64(i) * step]
            v = np.float64(data[np.uint64(p)])
            sums[c, j] += w * v
            squares[c, j] += w * v * v
    return canonical


@compiled
def finish_moments(sums, squares, weight, tolerance, largest, totals, lost, unsafe):
    # Sums become means, squares variances. totals: (3, columns), for a block of columns; the loops
    # over its columns are simple enough for vector instructions.
    n_classes, n_features = sums.shape
    total = 0.0
    for c in range(n_classes):
        total += weight[c]
    for first in range(0, n_features, totals.shape[1]):
        width = min(totals.shape[1], n_features - first)
        totals[:] = 0.0
        all_sums, all_squares, sizes = totals[0], totals[1], totals[2]
        for c in range(n_classes):
            w = weight[c] if weight[c] > 0 else 1.0
            inverse = 1.0 / w
            mean, variance = sums[c, first : first + width], squares[c, first : first + width]
            for j in range(width):
                s, q = mean[j], variance[j]
                all_sums[j] += s
                all_squares[j] += q
                sizes[j] += abs(s)
                # A true division: equal shares of the same value must give equal means.
                average = s / w
                deviation = (q - s * average) * inverse
                mean[j] = average
                # Rounding can leave a tiny negative number; NaN stays NaN.
                variance[j] = 0.0 if deviation < 0 else deviation
        for j in range(width):
            s, q = all_sums[j], all_squares[j]
            # NaN is neither safe nor zero.
            safe = total / largest <= q <= total * largest
            unsafe[first + j] = not (safe or (q == 0 and sizes[j] == 0))
            lost[first + j] = q * total - s * s < tolerance * (q * total)
