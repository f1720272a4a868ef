"""Compiled counts of the values that are not zero, per class and feature."""

import numpy as np

from tamis._compile import compiled


@compiled
def csr_nonzeros(data, indices, indptr, rows, starts, count):
    # One class after the other: the counters of one class stay in the cache.
    for c in range(starts.size - 1):
        counters = count[c]
        for r in range(starts[c], starts[c + 1]):
            i = rows[r]
            for p in range(indptr[i], indptr[i + 1]):
                counters[indices[np.uint64(p)]] += data[np.uint64(p)] != 0


@compiled
def csc_nonzeros(data, indices, indptr, codes, count):
    n_classes, n_features = count.shape
    counters = np.empty(n_classes, np.int64)
    for j in range(n_features):
        counters[:] = 0
        for p in range(indptr[j], indptr[j + 1]):
            counters[codes[indices[np.uint64(p)]]] += data[np.uint64(p)] != 0
        for c in range(n_classes):
            count[c, j] = counters[c]
