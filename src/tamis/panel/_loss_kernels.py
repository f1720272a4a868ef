"""Compiled log loss of out-of-fold decisions at its best temperature."""

import numpy as np

from tamis._compile import compiled

__all__ = ["tempered_losses"]


@compiled
def tempered_losses(decisions, codes, weights, losses):
    """Fill `losses` (n,) with the log losses at the best temperature; returns that temperature.

    Newton's method in the inverse temperature s, in which the loss
    ``sum_i w_i (logsumexp(s d_i) - s d_iy)`` is convex; decisions (n, C) are finite.
    """
    n, n_classes = decisions.shape
    size = 0.0
    for i in range(n):
        for c in range(n_classes):
            size = max(size, abs(decisions[i, c] - decisions[i, codes[i]]))
    if size == 0.0:
        losses[:] = np.log(n_classes)
        return 1.0
    low, high = 0.0, 1e4 / size
    s = min(1.0, high / 2)
    for _ in range(60):
        slope = 0.0
        bend = 0.0
        for i in range(n):
            if weights[i] == 0.0:
                continue
            top = -np.inf
            for c in range(n_classes):
                top = max(top, s * decisions[i, c])
            total = 0.0
            first = 0.0
            second = 0.0
            for c in range(n_classes):
                d = decisions[i, c] - decisions[i, codes[i]]
                e = np.exp(s * decisions[i, c] - top)
                total += e
                first += e * d
                second += e * d * d
            mean = first / total
            slope += weights[i] * mean
            bend += weights[i] * (second / total - mean * mean)
        if slope > 0:
            high = s
        else:
            low = s
        new = s - slope / bend if bend > 0 else 0.5 * (low + high)
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - s) <= 1e-6 * s:
            s = new
            break
        s = new
    s = max(s, 1e-6 / size)
    for i in range(n):
        top = -np.inf
        for c in range(n_classes):
            top = max(top, s * decisions[i, c])
        total = 0.0
        for c in range(n_classes):
            total += np.exp(s * decisions[i, c] - top)
        losses[i] = top + np.log(total) - s * decisions[i, codes[i]]
    return 1.0 / s
