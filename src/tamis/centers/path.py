r"""Decisions for many sparsity levels in one pass over the data.

A feature outside the support adds the same to the distance of every class, so the decision for
class c with the k best features is a cumulative sum in rank order,

.. math:: D_c(x, k) = \frac1{\sigma_k} \sum_{r < k} t_{rc}(x_r) + \log \pi_c, \qquad
   t_{rc}(x) = a_{rc} (x - o_r) - h_{rc} \ (l_2), \quad -|x - \theta_{rc}| / s_r \ (l_1),

and all k together cost about as much as the largest. In sparse rows only stored values differ from
:math:`t_{rc}(0)`, whose cumulative sums are made once: a row costs its stored values plus the
number of levels. Shapes: `slope`, `shift` (R, C) for R ranked features; `stops`, `sharpness` (K,).
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tamis._compile import compiled, prange, twins
from tamis.centers.statistics import unsigned

__all__ = ["PathTerms", "path_confusion", "path_decisions", "path_grid", "path_labels"]

_ROWS = 64
# Labels of this many (row, k) pairs are held at a time.
_CONFUSION_VALUES = 16_000_000


@dataclass
class PathTerms:
    """The summands of the decisions, in rank order.

    Attributes
    ----------
    columns : ndarray of shape (n_ranked,)
        Column of the r-th best feature.
    origin : ndarray of shape (n_ranked,)
        l2: what is subtracted from a value; l1: zero.
    slope : ndarray of shape (n_ranked, n_classes)
        l2: factor of the value; l1: reciprocal of the scale, the same for every class.
    shift : ndarray of shape (n_ranked, n_classes)
        l2: constant part; l1: the class center.
    absolute : bool
        True for l1.
    sharpness : ndarray of shape (n_ranked + 1,)
        One over the dispersion with the k best features.
    log_prior : ndarray of shape (n_classes,)
        Logarithms of the class priors, -inf for a class that was not seen.
    """

    columns: np.ndarray
    origin: np.ndarray
    slope: np.ndarray
    shift: np.ndarray
    absolute: bool
    sharpness: np.ndarray
    log_prior: np.ndarray

    def at_zero(self):
        """Terms of a value 0, of shape (n_ranked, n_classes)."""
        if self.absolute:
            return -np.abs(self.shift) * self.slope
        return -self.origin[:, None] * self.slope - self.shift


def path_grid(n_features, every=128, per_doubling=16):
    """Every k up to `every`, then `per_doubling` values for each doubling: a few hundred."""
    if n_features <= every:
        return np.arange(1, n_features + 1)
    n_more = int(np.ceil(per_doubling * np.log2(n_features / every)))
    more = np.geomspace(every, n_features, n_more + 1)
    return np.unique(np.concatenate([np.arange(1, every + 1), np.rint(more).astype(np.int64)]))


def path_decisions(X, terms, ks):
    """Decisions of every row for every k: an array of shape (n_samples, len(ks), n_classes)."""
    out = np.empty((X.shape[0], len(ks), terms.log_prior.size))
    nothing = np.empty((0, 0), dtype=np.int32)
    _run(X, terms, ks, nothing, out)
    return out


def path_labels(X, terms, ks):
    """Class index of every row for every k: an array of shape (n_samples, len(ks))."""
    labels = np.empty((X.shape[0], len(ks)), dtype=np.int32)
    _run(X, terms, ks, labels, np.empty((0, 0, 0)))
    return labels


def path_confusion(X, terms, ks, codes, n_classes, sample_weight=None):
    """Weighted confusion matrix for every k: shape (len(ks), n_classes true, predicted).

    Rows are taken in chunks, so memory stays small however many k there are.
    """
    confusion = np.zeros((len(ks), n_classes, terms.log_prior.size))
    weights = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    chunk = max(_ROWS, _CONFUSION_VALUES // max(1, len(ks)))
    for start in range(0, X.shape[0], chunk):
        rows = slice(start, start + chunk)
        labels = path_labels(X[rows], terms, ks)
        _add_confusion(labels, codes[rows], weights[rows], confusion)
    return confusion


def _run(X, terms, ks, labels, decisions):
    stops = np.minimum(np.asarray(ks, dtype=np.int64), terms.columns.size)
    sharpness = terms.sharpness[stops]
    order = np.argsort(stops, kind="stable")
    place = order.astype(np.int64)  # where the o-th smallest k stands in the output
    sorted_stops = stops[order]
    shared = (sharpness[order], place, terms.log_prior, labels, decisions)
    if sparse.issparse(X):
        X = X.tocsr()
        level = np.full(X.shape[1], len(stops), dtype=np.int64)
        ranks = np.arange(terms.columns.size)
        level[terms.columns] = np.searchsorted(sorted_stops, ranks, side="right")
        rank = np.zeros(X.shape[1], dtype=np.int64)
        rank[terms.columns] = ranks
        zero = terms.at_zero()
        base = np.zeros((terms.columns.size + 1, terms.log_prior.size))
        np.cumsum(zero, axis=0, out=base[1:])
        _csr_path.choose(X.nnz + X.shape[0] * len(stops))(
            X.data,
            unsigned(X.indices),
            X.indptr,
            level,
            rank,
            terms.origin,
            terms.slope,
            terms.shift,
            terms.absolute,
            zero,
            base[sorted_stops],
            *shared,
        )
    else:
        _dense_path.choose(X.shape[0] * terms.columns.size)(
            X,
            terms.columns,
            terms.origin,
            terms.slope,
            terms.shift,
            terms.absolute,
            sorted_stops,
            *shared,
        )


@compiled
def _record(i, k, sums, sharp, log_prior, labels, decisions):
    # Write the decision, or its first largest class: ties go to the first class.
    best = 0
    best_value = -np.inf
    for c in range(log_prior.size):
        value = sums[c] * sharp + log_prior[c]
        if decisions.size:
            decisions[i, k, c] = value
        if value > best_value:
            best_value = value
            best = c
    if labels.size:
        labels[i, k] = best


@twins
def _dense_path(
    X,
    columns,
    origin,
    slope,
    shift,
    absolute,
    stops,
    sharpness,
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
                        for c in range(n_classes):
                            sums[c] -= abs(v - shift[r, c]) * slope[r, c]
                    else:
                        v -= origin[r]
                        for c in range(n_classes):
                            sums[c] += slope[r, c] * v - shift[r, c]
                    r += 1
                _record(i, place[k], sums, sharpness[k], log_prior, labels, decisions)


@twins
def _csr_path(
    data,
    indices,
    indptr,
    level,
    rank,
    origin,
    slope,
    shift,
    absolute,
    zero,
    base,
    sharpness,
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
                _record(i, place[k], total, sharpness[k], log_prior, labels, decisions)


@compiled
def _add_confusion(labels, codes, weights, confusion):
    for i in range(labels.shape[0]):
        for k in range(labels.shape[1]):
            confusion[k, codes[i], labels[i, k]] += weights[i]
