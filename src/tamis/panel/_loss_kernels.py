"""Compiled log loss of out-of-fold decisions at its best temperature."""

import numpy as np

from tamis._compile import compiled

__all__ = ["tempered_losses"]


@compiled
def _fill_losses(decisions, codes, s, losses):
    # Log losses of decisions times s.
    n, n_classes = decisions.shape
    for i in range(n):
        top = -np.inf
        for c in range(n_classes):
            top = max(top, s * decisions[i, c])
        total = 0.0
        for c in range(n_classes):
            total += np.exp(s * decisions[i, c] - top)
        losses[i] = top + np.log(total) - s * decisions[i, codes[i]]


@compiled
def tempered_losses(decisions, codes, weights, least, losses):
    """Fill `losses` (n,) with the log losses at the best temperature; returns that temperature.

    Newton's method in the inverse temperature s, in which the loss
    ``sum_i w_i (logsumexp(s d_i) - s d_iy)`` is convex; decisions (n, C) are finite. Where the
    mean loss would fall below `least`, s is the smaller one at which it does not.
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
    s = max(s, 1e-3 / size)
    _fill_losses(decisions, codes, s, losses)
    least *= weights.sum()
    if weights @ losses < least:
        low, high = 0.0, s
        while high - low > 1e-9 * high:
            s = 0.5 * (low + high)
            _fill_losses(decisions, codes, s, losses)
            if weights @ losses < least:
                high = s
            else:
                low = s
    return 1.0 / s
