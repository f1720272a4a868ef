"""The compiled loop of `tamis.guarantees.shares`: medians of many labellings of sorted columns."""

import numpy as np

from tamis._compile import compiled

__all__ = ["median_shares"]


@compiled
def median_shares(gaps, order, labels, n_classes, shares):
    """Fill `shares[j, b]` with the l1 share of column j under labelling b.

    gaps : (m, n - 1) differences of neighbouring sorted values; order : (m, n) rows from the
    smallest value to the largest; labels : (w, n), negative for rows that are left out.
    """
    n_columns, n_rows = order.shape
    step = np.empty(n_classes)
    share = np.empty(n_classes)
    for b in range(labels.shape[0]):
        step[:] = 0.0
        for i in range(n_rows):
            if labels[b, i] >= 0:
                step[labels[b, i]] += 1.0
        for c in range(n_classes):
            step[c] = 1.0 / step[c] if step[c] > 0 else 0.0
        for j in range(n_columns):
            share[:] = 0.0
            total = 0.0
            spread = 0.0
            within = 0.0
            apart = 0.0
            for i in range(n_rows - 1):
                c = labels[b, order[j, i]]
                if c >= 0:
                    apart -= min(share[c], 1.0 - share[c])
                    share[c] += step[c]
                    total += step[c]
                    apart += min(share[c], 1.0 - share[c])
                spread += gaps[j, i] * min(total, n_classes - total)
                within += gaps[j, i] * apart
            shares[j, b] = 1.0 - within / spread if spread > 0.0 else 0.0
