r"""Decisions for many sparsity levels in one pass over the data.

A feature outside the support adds the same to the distance of every class, so the decision for
class c with the k best features is a cumulative sum in rank order,

.. math:: D_c(x, k) = \frac1{\sigma_k} \sum_{r < k} t_{rc}(x_r) + \log \pi_c, \qquad
   t_{rc}(x) = a_{rc} (x - o_r) - h_{rc} \ (l_2), \quad -|x - \theta_{rc}| / s_r \ (l_1),

and all k together cost about as much as the largest. In sparse rows only stored values differ from
:math:`t_{rc}(0)`, whose cumulative sums are made once: a row costs its stored values plus the
number of levels. Shapes: `slope`, `shift` (R, C) for R ranked features; `stops`, `sharpness` (K,).
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from tamis.centers._path_kernels import (
    TASK_ROWS,
    add_confusion,
    csr_above,
    csr_path,
    dense_above,
    dense_path,
)
from tamis.centers.usual_counts import unsigned

__all__ = [
    "PathTerms",
    "bounds_of",
    "path_confusion",
    "path_decisions",
    "path_grid",
    "path_labels",
    "require_finite_decisions",
]

# Decisions that differ by less, relative to the terms they are sums of, are equal: sums in another
# order differ by as much.
_TIE = 1e-12
# Far outside the centers, in multiples of their range.
_REACH = 2.0**20
_ROWS = 64
# Labels of this many (row, k) pairs are held at a time.
_CONFUSION_VALUES = 16_000_000
_TASKS = 64


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
    tolerance : ndarray of shape (n_ranked + 1,)
        Decisions with the k best features that differ by less are tied.
    """

    columns: np.ndarray
    origin: np.ndarray
    slope: np.ndarray
    shift: np.ndarray
    absolute: bool
    sharpness: np.ndarray
    log_prior: np.ndarray
    tolerance: np.ndarray = field(init=False)

    def set_tolerance(self, temperature):
        """Set `tolerance` for decisions that will be divided by `temperature`."""
        if self.absolute:
            size = (np.abs(self.shift) * self.slope).max(axis=1, initial=0.0)
        else:
            size = np.abs(self.origin[:, None] * self.slope) + np.abs(self.shift)
            size = size.max(axis=1, initial=0.0)
        total = np.concatenate([[0.0], np.cumsum(size)]) * self.sharpness
        self.tolerance = _TIE * np.maximum(1.0 + total, temperature)

    @property
    def bounds(self):
        """l1: what values are clipped to, of shape (n_ranked, 2); see `bounds_of`."""
        return np.stack(bounds_of(self.shift.T), axis=1)

    def at_zero(self):
        """Terms of a value 0, of shape (n_ranked, n_classes)."""
        if self.absolute:
            zero = np.clip(np.zeros(self.columns.size), *self.bounds.T)
            return -np.abs(zero[:, None] - self.shift) * self.slope
        return -self.origin[:, None] * self.slope - self.shift


def bounds_of(centers):
    """Where values may be clipped without changing differences of l1 distances.

    Beyond the outermost centers the distances to all centers grow alike. Clipping far outside
    keeps the digits of their differences next to values of any size.

    Parameters
    ----------
    centers : ndarray of shape (n_classes, n_features)

    Returns
    -------
    low, high : ndarray of shape (n_features,)
    """
    low, high = centers.min(axis=0), centers.max(axis=0)
    reach = _REACH * (high - low)
    return low - reach, high + reach


def path_grid(n_features, every=128, per_doubling=16):
    """Every k up to `every`, then `per_doubling` values for each doubling: a few hundred."""
    if n_features <= every:
        return np.arange(1, n_features + 1)
    n_more = int(np.ceil(per_doubling * np.log2(n_features / every)))
    more = np.geomspace(every, n_features, n_more + 1)
    return np.unique(np.concatenate([np.arange(1, every + 1), np.rint(more).astype(np.int64)]))


def require_finite_decisions(decisions, X):
    """Raise if decisions overflowed."""
    if not np.isfinite(decisions).all():
        _refuse(X)


def _refuse(X):
    values = X.data if sparse.issparse(X) else X
    raise ValueError(
        f"X has values up to {np.abs(values).max():.3g}, so far from the training data that their "
        "distances to the class centers overflow. Correct or remove these rows."
    )


def path_decisions(X, terms, ks):
    """Decisions of every row for every k: an array of shape (n_samples, len(ks), n_classes)."""
    out = np.empty((X.shape[0], len(ks), terms.log_prior.size))
    nothing = np.empty((0, 0), dtype=np.int32)
    _run(X, terms, ks, nothing, out)
    require_finite_decisions(out[..., np.isfinite(terms.log_prior)], X)
    return out


def path_labels(X, terms, ks):
    """Class index of every row for every k: an array of shape (n_samples, len(ks))."""
    labels = np.empty((X.shape[0], len(ks)), dtype=np.int32)
    _run(X, terms, ks, labels, np.empty((0, 0, 0)))
    if labels.min(initial=0) < 0:
        _refuse(X)
    return labels


def path_confusion(X, terms, ks, codes, n_classes, sample_weight=None):
    """Weighted confusion matrix for every k: shape (len(ks), n_classes true, predicted).

    Two classes need no labels: the decision is one running sum, compared with one threshold a
    level, and what is counted is how often it lies above. More classes are labelled in chunks of
    rows. Either way memory stays small however many k there are.
    """
    weights = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    if terms.log_prior.size == 2 and np.all(np.isfinite(terms.log_prior)):
        above = _count_above(X, terms, ks, codes, n_classes, weights)
        total = np.bincount(codes, weights=weights, minlength=n_classes)
        return np.stack([total - above, above], axis=2)
    confusion = np.zeros((len(ks), n_classes, terms.log_prior.size))
    chunk = max(_ROWS, _CONFUSION_VALUES // max(1, len(ks)))
    for start in range(0, X.shape[0], chunk):
        rows = slice(start, start + chunk)
        labels = path_labels(X[rows], terms, ks)
        add_confusion(labels, codes[rows], weights[rows], confusion)
    return confusion


def _count_above(X, terms, ks, codes, n_classes, weights):
    """Weight of the rows of every true class that go to the second class: (len(ks), n_true)."""
    stops = np.minimum(np.asarray(ks, dtype=np.int64), terms.columns.size)
    order = np.argsort(stops, kind="stable")
    # (sum * sharpness + log prior difference >= tolerance) is (sum > threshold).
    threshold = terms.log_prior[0] - terms.log_prior[1] + terms.tolerance[stops[order]]
    threshold /= terms.sharpness[stops[order]]
    count = _above_in_sparse_rows if sparse.issparse(X) else _above_in_dense_rows
    above = np.empty((len(stops), n_classes))
    above[order] = count(X, terms, stops[order], threshold, codes, n_classes, weights).T
    require_finite_decisions(above, X)
    return above


def _above_in_dense_rows(X, terms, stops, threshold, codes, n_classes, weights):
    rows = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[rows], np.arange(n_classes + 1))
    # Tasks of a fixed size, whatever the number of threads: sums come out the same.
    tasks = [
        (c, start, min(start + TASK_ROWS, bounds[c + 1]))
        for c in range(n_classes)
        for start in range(bounds[c], bounds[c + 1], TASK_ROWS)
    ]
    above = np.zeros((n_classes, len(stops)))
    for first in range(0, len(tasks), _TASKS):
        some = np.array(tasks[first : first + _TASKS])
        counts = np.zeros((len(some), len(stops)))
        dense_above.choose(X.shape[0] * terms.columns.size)(
            X,
            terms.columns,
            terms.origin,
            np.ascontiguousarray(terms.slope[:, 1] - terms.slope[:, 0]),
            np.ascontiguousarray(terms.shift[:, 1] - terms.shift[:, 0]),
            terms.slope,
            terms.shift,
            terms.absolute,
            terms.bounds,
            stops,
            threshold,
            rows,
            some,
            weights,
            counts,
        )
        np.add.at(above, some[:, 0], counts)
    return above


def _above_in_sparse_rows(X, terms, stops, threshold, codes, n_classes, weights):
    X = X.tocsr()
    level, _, zero, base = _levels(terms, stops, X.shape[1])
    # What a stored value adds to the decision's difference, and from which level on: all that
    # is needed of a column on one cache line.
    record = np.zeros((X.shape[1], 8 if terms.absolute else 2))
    record[:, 0] = level
    if terms.absolute:
        record[terms.columns, 1] = terms.slope[:, 0]
        record[terms.columns, 2:4] = terms.shift
        record[terms.columns, 4:6] = terms.bounds
        record[terms.columns, 6] = zero[:, 1] - zero[:, 0]
    else:
        record[terms.columns, 1] = terms.slope[:, 1] - terms.slope[:, 0]
    threshold = threshold - (base[:, 1] - base[:, 0])
    above = np.zeros((n_classes, len(stops)))
    size = _TASKS * TASK_ROWS
    for first in range(0, X.shape[0], size):
        part = slice(first, first + size)
        indptr = X.indptr[first : first + size + 1]
        counts = np.zeros((-(-(indptr.size - 1) // TASK_ROWS), n_classes, len(stops)))
        csr_above.choose(int(indptr[-1] - indptr[0]))(
            X.data,
            unsigned(X.indices),
            indptr,
            record,
            terms.absolute,
            threshold,
            codes[part],
            weights[part],
            counts,
        )
        for count in counts:
            above += count
    return above


def _levels(terms, sorted_stops, n_features):
    """For sparse rows: first level and rank of every column, terms of 0 and their sums."""
    ranks = np.arange(terms.columns.size)
    level = np.full(n_features, len(sorted_stops), dtype=np.int64)
    level[terms.columns] = np.searchsorted(sorted_stops, ranks, side="right")
    rank = np.zeros(n_features, dtype=np.int64)
    rank[terms.columns] = ranks
    zero = terms.at_zero()
    base = np.zeros((terms.columns.size + 1, terms.log_prior.size))
    np.cumsum(zero, axis=0, out=base[1:])
    return level, rank, zero, base[sorted_stops]


def _run(X, terms, ks, labels, decisions):
    stops = np.minimum(np.asarray(ks, dtype=np.int64), terms.columns.size)
    sharpness = terms.sharpness[stops]
    order = np.argsort(stops, kind="stable")
    place = order.astype(np.int64)  # where the o-th smallest k stands in the output
    sorted_stops = stops[order]
    tolerance = terms.tolerance[sorted_stops]
    shared = (sharpness[order], tolerance, place, terms.log_prior, labels, decisions)
    if sparse.issparse(X):
        X = X.tocsr()
        level, rank, zero, base = _levels(terms, sorted_stops, X.shape[1])
        csr_path.choose(X.nnz + X.shape[0] * len(stops))(
            X.data,
            unsigned(X.indices),
            X.indptr,
            level,
            rank,
            terms.origin,
            terms.slope,
            terms.shift,
            terms.absolute,
            terms.bounds,
            zero,
            base,
            *shared,
        )
    else:
        dense_path.choose(X.shape[0] * terms.columns.size)(
            X,
            terms.columns,
            terms.origin,
            terms.slope,
            terms.shift,
            terms.absolute,
            terms.bounds,
            sorted_stops,
            *shared,
        )
