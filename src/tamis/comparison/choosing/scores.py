"""Scores of predictions, for one set of rows or for many weightings of them at once.

All scores but the area under the curve are functions of a confusion matrix, so a bootstrap of
every method and level is one matrix product: counts[b, t, p] = sum over rows of class t of the
weight of the row in sample b where p was predicted.

If all rows are predicted correctly, they are so in every bootstrap sample, which gives no idea of
the uncertainty. `cautious_interval` does: if r_cj rows of class c are predicted as j, the
probabilities of the predictions have the posterior Dirichlet(r_cj + 1 / n_classes), Jeffreys' for
two classes [1]_.

References
----------
.. [1] Brown, Cai and DasGupta, "Interval estimation for a binomial proportion", Statistical
   Science 16, 2001.
.. [2] Newcombe, "Confidence intervals for an effect size measure based on the Mann-Whitney
   statistic. Part 2", Statistics in Medicine 25, 2006.
"""

import numpy as np
from scipy import optimize, sparse
from sklearn.metrics import roc_auc_score

from tamis.paths.intervals import NORMAL_95
from tamis.paths.seeds import make_generator

__all__ = [
    "SCORINGS",
    "area_under_curve",
    "cautious_area",
    "cautious_interval",
    "class_table",
    "confusion",
    "effective_sizes",
    "score_confusion",
    "within_range",
]

SCORINGS = ("balanced_accuracy", "accuracy", "f1_macro", "mcc", "roc_auc")
_N_POSTERIOR = 1000


def confusion(codes, labels, n_classes, weights=None):
    """Counts of true and predicted classes, (..., n_classes, n_classes).

    `codes` (n_rows,): True classes. `labels` (n_rows,): predicted classes. `weights` (n_rows,) or
    (n_samples, n_rows), or None: one weight per row (and per bootstrap sample); None: weight 1.
    Returns `counts` (n_classes, n_classes) or (n_samples, n_classes, n_classes).
    """
    cell = codes * n_classes + labels
    if weights is None or weights.ndim == 1:
        return np.bincount(cell, weights, n_classes**2).reshape(n_classes, n_classes)
    # Sparse, because many classes have many cells.
    ones, shape = np.ones(codes.size, weights.dtype), (codes.size, n_classes**2)
    member = sparse.csr_array((ones, (np.arange(codes.size), cell)), shape=shape)
    return (weights @ member).reshape(-1, n_classes, n_classes)


def score_confusion(counts, scoring):
    """Score of confusion matrices.

    `counts` (..., n_classes, n_classes): True classes in rows. Returns `scores` (...): classes
    without rows are ignored.
    """
    counts = np.asarray(counts, dtype=np.float64)
    right = np.diagonal(counts, axis1=-2, axis2=-1)
    true, said = counts.sum(axis=-1), counts.sum(axis=-2)
    total = true.sum(axis=-1)
    seen = true > 0
    if scoring == "accuracy":
        return _ratio(right.sum(axis=-1), total)
    if scoring == "balanced_accuracy":
        return _ratio(_ratio(right, true).sum(axis=-1), seen.sum(axis=-1))
    if scoring == "f1_macro":
        either = seen | (said > 0)
        return _ratio((_ratio(2 * right, true + said) * either).sum(axis=-1), either.sum(axis=-1))
    covariance = right.sum(axis=-1) * total - (true * said).sum(axis=-1)
    spread = (total**2 - (true**2).sum(axis=-1)) * (total**2 - (said**2).sum(axis=-1))
    return _ratio(covariance, np.sqrt(spread))


def _ratio(part, whole):
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole > 0)


def area_under_curve(codes, probabilities, weights=None, nothing=0.5):
    """Mean over classes of the area under the ROC curve of one class against the others.

    Classes without rows, or without rows of other classes, are ignored.

    `codes` (n_rows,); `probabilities` (n_rows, n_classes); `weights` (n_rows,) or (n_samples,
    n_rows), or None; `nothing`: the area where there is nothing to compare. Returns `areas`
    (n_samples,).
    """
    n_classes = probabilities.shape[1]
    classes = [1] if n_classes == 2 else range(n_classes)
    if weights is None:
        weights = np.ones(codes.size)
    if weights.ndim == 1:
        return float(area_under_curve(codes, probabilities, weights[None], nothing)[0])
    areas = np.stack([_area(codes == c, probabilities[:, c], weights) for c in classes])
    is_there = ~np.isnan(areas)
    n_there = is_there.sum(axis=0)
    total = np.where(is_there, areas, 0.0).sum(axis=0)
    return np.divide(total, n_there, out=np.full(len(weights), nothing), where=n_there > 0)


def _area(positive, score, weights):
    """Areas of one class, for each weighting: share of pairs in the right order, ties half.

    NaN where there is no pair.
    """
    order = np.argsort(score, kind="stable")
    score, positive, weights = score[order], positive[order], weights[:, order]
    last = np.append(np.flatnonzero(np.diff(score) != 0), score.size - 1)
    ups = np.cumsum(np.where(positive, weights, 0.0), axis=1)[:, last]
    downs = np.cumsum(np.where(positive, 0.0, weights), axis=1)[:, last]
    zero = np.zeros((weights.shape[0], 1))
    at_ups = np.diff(ups, axis=1, prepend=zero)
    below = np.hstack([zero, downs[:, :-1]])
    at_downs = downs - below
    pairs = (at_ups * (below + 0.5 * at_downs)).sum(axis=1)
    possible = ups[:, -1] * downs[:, -1]
    return np.divide(pairs, possible, out=np.full(len(weights), np.nan), where=possible > 0)


def effective_sizes(codes, n_classes, groups=None, weights=None):
    r"""Effective numbers of independent rows of each class (Kish).

    :math:`(\sum_u W_u)^2 / \sum_u W_u^2` over the rows, or sample groups, of a class with the
    weights :math:`W_u`: a class of three patients counts as three rows, however many it has.

    `codes` (n_rows,); `groups`, `weights` (n_rows,) or None. Returns `sizes` (n_classes,): 0 for
    classes without rows.
    """
    units = np.arange(codes.size) if groups is None else groups
    units, unit_of = np.unique(units * n_classes + codes, return_inverse=True)
    total = np.bincount(unit_of, weights)
    squares = np.bincount(units % n_classes, total**2, n_classes)
    sums = np.bincount(units % n_classes, total, n_classes)
    return np.divide(sums**2, squares, out=np.zeros(n_classes), where=squares > 0)


def cautious_interval(counts, scoring, seed=0, sizes=None):
    """A 95 % interval of a score that does not shrink to a point if all rows are correct.

    `counts` (n_classes, n_classes): True classes in rows. `sizes` (n_classes,) or None: effective
    numbers of independent rows of each class; None: the counts. Returns `low`, `high`: percentiles
    over 1,000 confusion matrices from the posterior.
    """
    generator = make_generator(seed, "limits of a perfect score")
    counts = np.asarray(counts, dtype=np.float64)
    prior, totals = 1 / len(counts), counts.sum(axis=1)
    sizes = totals if sizes is None else sizes
    known = counts * (sizes / np.where(totals > 0, totals, 1.0))[:, None]
    draws = [generator.dirichlet(row + prior, _N_POSTERIOR) for row in known]
    drawn = [total * rows for total, rows in zip(totals, draws, strict=True)]
    low, high = np.percentile(score_confusion(np.stack(drawn, axis=1), scoring), [2.5, 97.5])
    return float(low), float(high)


def cautious_area(area, sizes):
    """A 95 % interval of an area under the curve that does not shrink to a point at 0 or 1.

    Newcombe's method 5 [2]_: the limits are the areas whose distance from the observed one is
    1.96 of their own standard errors, by the formula of Hanley and McNeil with both classes taken
    as large as their mean. With more than two classes, the intervals of each class against the
    others are averaged.

    `sizes` (n_classes,): rows per class; classes without rows are ignored.
    """
    sizes = np.asarray(sizes, dtype=np.float64)
    sizes = sizes[sizes > 0]
    if sizes.size == 2:
        return _newcombe(area, *sizes)
    limits = [_newcombe(area, size, sizes.sum() - size) for size in sizes]
    low, high = np.mean(limits, axis=0)
    return float(low), float(high)


def _newcombe(area, n_one, n_other):
    return _newcombe_low(area, n_one, n_other), 1 - _newcombe_low(1 - area, n_one, n_other)


def _newcombe_low(area, n_one, n_other):
    """Lower limit; the upper one is that of the complement, because the formula is symmetric."""
    if area <= 0:
        return 0.0
    n_mean = (n_one + n_other) / 2 - 1

    def away(a):
        spread = (1 - a) / (2 - a) + a / (1 + a)
        variance = a * (1 + n_mean * spread) / (n_one * n_other)
        if area >= 1:  # 1 is also a root, so it is divided out
            return (1 - a) - NORMAL_95**2 * variance
        return (area - a) ** 2 - NORMAL_95**2 * variance * (1 - a)

    return float(optimize.brentq(away, 0.0, area))


def within_range(score, scoring):
    """The score itself, or the nearest end of its range."""
    return float(min(max(score, -1.0 if scoring == "mcc" else 0.0), 1.0))


def class_table(codes, labels, probabilities, classes, weights=None):
    """Sensitivity, specificity, predictive values and area under the curve of each class.

    `codes`, `labels` (n_rows,): True and predicted classes; `probabilities` (n_rows, n_classes);
    `classes` (n_classes,); `weights` (n_rows,) or None: sample weights. Returns `table`: None
    where the denominator of a ratio is 0.
    """
    counts = confusion(codes, labels, classes.size, weights)
    total, table = counts.sum(), {}
    rows = np.bincount(codes, minlength=classes.size)
    for c, label in enumerate(classes.tolist()):
        hit, true, said = counts[c, c], counts[c].sum(), counts[:, c].sum()
        rest = total - true
        auc = None
        if 0 < true < total:
            auc = float(roc_auc_score(codes == c, probabilities[:, c], sample_weight=weights))
        table[str(label)] = {
            "rows": int(rows[c]),
            "sensitivity": _or_none(hit, true),
            "specificity": _or_none(rest - (said - hit), rest),
            "ppv": _or_none(hit, said),
            "npv": _or_none(rest - (said - hit), total - said),
            "auc": auc,
        }
    return table


def _or_none(part, whole):
    return float(part / whole) if whole > 0 else None
