"""Slow, obvious versions of what tamis.guarantees computes."""

from itertools import combinations

import numpy as np


def all_subsets(m):
    return [s for k in range(1, m + 1) for s in combinations(range(m), k)]


def closed_testing_count(m, rejects, chosen):
    """True features among `chosen`: a set is rejected if `rejects` rejects all sets around it."""
    subsets = [set(s) for s in all_subsets(m)]
    local = [rejects(sorted(s)) for s in subsets]
    kept = [s for s in subsets if not all(local[j] for j, t in enumerate(subsets) if s <= t)]
    false = max((len(s) for s in kept if s <= set(chosen)), default=0)
    return len(chosen) - false


def share(x, codes, metric):
    """Share of the spread of one column that the classes explain, by its definition."""
    middle, power = (np.mean, 2) if metric == "l2" else (np.median, 1)
    spread = (np.abs(x - middle(x)) ** power).sum()
    sizes = np.bincount(codes)
    largest = (sizes.max() / (sizes.max() + 5)) ** 2
    explained = 0.0
    for c, size in enumerate(sizes):
        own = x[codes == c]
        closer = np.abs(own - middle(x)) ** power - np.abs(own - middle(own)) ** power
        explained += (size / (size + 5)) ** 2 / largest * closer.sum()
    return explained / spread if spread > 0 else 0.0


def max_t_step_down(statistics):
    """Westfall and Young's p-values from all statistics, the first row with the true labels."""
    order = np.argsort(-statistics[0], kind="stable")
    p_values, last = np.empty(order.size), 0.0
    for r, i in enumerate(order):
        maxima = statistics[:, order[r:]].max(axis=1)
        last = max(last, (maxima >= statistics[0, i]).mean())
        p_values[i] = last
    return p_values
