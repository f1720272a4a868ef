"""The compiled loop of `tamis.guarantees.shares`: medians of many labellings of sorted columns."""

import numpy as np

from tamis._compile import compiled

__all__ = ["median_shares"]


@compiled
def median_shares(values, order, labels, sizes, weights, shares):
    """Fill `shares[j, b]` with the l1 share of column j under labelling b.

    values : (m, n) sorted values; order : (m, n) their rows; labels : (w, n), with n_classes for
    rows that are left out; sizes, weights : (w, n_classes + 1) rows of each class and
    1 / size, 0 for the class of rows that are left out. Index arrays are unsigned, so that
    indexing needs no check for negative numbers, and the loop has no branches: labels are random,
    so that branches would be mispredicted.
    """
    n_columns, n_rows = order.shape
    n_classes = sizes.shape[1] - 1
    doubled = np.empty(n_classes + 1, np.int64)  # twice the rank in the class, less its size
    for j in range(n_columns):
        for b in range(labels.shape[0]):
            for c in range(n_classes + 1):
                doubled[c] = 1 - sizes[b, c]
            total = 0.0
            spread = 0.0
            within = 0.0
            for i in range(n_rows - 1):
                c = labels[b, order[j, i]]
                rank = doubled[c]
                doubled[c] = rank + 2
                weight = weights[b, c]
                total += weight
                # Below its median a value counts as minus its distance, above as plus.
                within += ((rank > 0) - np.int64(rank < 0)) * weight * values[j, i]
                spread += min(total, n_classes - total) * (values[j, i + 1] - values[j, i])
            c = labels[b, order[j, n_rows - 1]]
            rank = doubled[c]
            within += ((rank > 0) - np.int64(rank < 0)) * weights[b, c] * values[j, n_rows - 1]
            shares[j, b] = 1.0 - within / spread if spread > 1e-14 else 0.0
