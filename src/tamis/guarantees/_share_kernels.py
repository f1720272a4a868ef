"""The compiled loop of `tamis.guarantees.shares`: medians of many labellings of sorted columns."""

import numpy as np

from tamis._compile import compiled


@compiled
def median_shares(values, order, labels, sizes, weights, n_classes, shares):
    """Fill `shares[j, b, s]` with the l1 share of column j in set s of labelling b.

    values : (m, n) sorted values; order : (m, n) their rows; labels : (w, n) class c of set s as
    s n_classes + c, and the number after the last for rows in no set; sizes, weights : (w, labels)
    numbers of rows and 1 / size, 0 for rows in no set. Index arrays are unsigned, so that
    indexing needs no check for negative numbers, and the loop has no branches: labels are random,
    so that branches would be mispredicted.
    """
    n_columns, n_rows = order.shape
    n_labels, n_sets = sizes.shape[1], shares.shape[2]
    set_of = (np.arange(n_labels) // n_classes).astype(np.uint32)
    doubled = np.empty(n_labels, np.int64)  # twice the rank in the class, less its size
    total, spread, within = np.empty(n_sets + 1), np.empty(n_sets + 1), np.empty(n_sets + 1)
    for j in range(n_columns):
        for b in range(labels.shape[0]):
            for c in range(n_labels):
                doubled[c] = 1 - sizes[b, c]
            total[:] = 0.0
            spread[:] = 0.0
            within[:] = 0.0
            for i in range(n_rows):
                c = labels[b, order[j, i]]
                s = set_of[c]
                rank = doubled[c]
                doubled[c] = rank + 2
                weight = weights[b, c]
                value = values[j, i]
                below = total[s]
                upto = below + weight
                total[s] = upto
                # Below its median a value counts as minus its distance, above as plus.
                within[s] += ((rank > 0) - np.int64(rank < 0)) * weight * value
                spread[s] += (min(below, n_classes - below) - min(upto, n_classes - upto)) * value
            for s in range(n_sets):
                share = 1.0 - within[s] / spread[s] if spread[s] > 1e-14 else 0.0
                shares[j, b, s] = share


@compiled
def median_gains(values, distances, order, labels, sizes, says, gains):
    """Fill `gains[j, b]` with how much closer rows are to the median of their class than of all.

    values, distances : (m, n) sorted values, and their distances from the median of all; order :
    (m, n) their rows; labels : (w, n); sizes, says : (n_classes,) number of rows of each class,
    and what its gain is multiplied by. As in `median_shares`, the loop has no branches.
    """
    n_columns, n_rows = order.shape
    doubled = np.empty(sizes.size, np.int64)  # twice the rank in the class, less its size
    for j in range(n_columns):
        for b in range(labels.shape[0]):
            for c in range(sizes.size):
                doubled[c] = 1 - sizes[c]
            gain = 0.0
            for i in range(n_rows):
                c = labels[b, order[j, i]]
                rank = doubled[c]
                doubled[c] = rank + 2
                # Below its median a value counts as minus its distance, above as plus.
                side = (rank > 0) - np.int64(rank < 0)
                gain += says[c] * (distances[j, i] - side * values[j, i])
            gains[j, b] = gain
