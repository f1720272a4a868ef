r"""From projected samples to decisions, confidences and explanations.

A sample x is projected to p = ((x - mean) / scale) W and belongs to the class whose center is
nearest: in the l1 norm for the l1 and Huber losses, in the l2 norm for Frobenius. Decisions are
log likelihoods of noise with one scale around the centers: :math:`-\|p - \mu_c\|_1 / b` (Laplace)
and :math:`-\|p - \mu_c\|^2 / (2 b^2)` (Gauss).

Contributions are integrated along the straight path from a reference to the sample. Along it the
l1 distance to a center changes, for each coordinate of p, in proportion to p - p0, with the slope
:math:`(|p - \mu| - |p_0 - \mu|) / (p - p_0)`; so a feature's contribution is its share of p - p0
times that slope, and contributions sum to the decision exactly, although it is not linear.

The decisions of a linear head are a projection too, :math:`((x - mean) / scale) B^T + b`.
"""

import numpy as np
from scipy import sparse

from tamis._array import center_columns, is_sparse

# Larger than any data, but with a finite square.
_FARTHEST = 1e100
_TIE = 1e-12


def project(X, rows, mean, scale, support):
    """Projected samples, (n_samples, n_classes); only the columns of the support are read.

    `rows` (n_selected, n_classes) are the weights of these columns.
    """
    inner = rows / scale[support, None]
    return center_columns(X, support, mean[support], inner)


def distances(P, centers, euclidean):
    """Distance of each projected sample to each center: l2, or l1; at most 1e100."""
    result = np.empty((P.shape[0], centers.shape[0]))
    for c, center in enumerate(centers):
        away = np.clip(P - center, -_FARTHEST, _FARTHEST)
        if euclidean:
            result[:, c] = np.sqrt(np.einsum("ij,ij->i", away, away))
        else:
            result[:, c] = np.abs(away).sum(axis=1)
    return np.minimum(result, _FARTHEST)


def decide(distance, euclidean, dispersion):
    """Log likelihood of each class, from distances."""
    return _settle(-0.5 * (distance / dispersion) ** 2 if euclidean else -distance / dispersion)


def decide_linear(P, intercept):
    """Decisions of a linear head, from samples that were projected with its coefficients."""
    return _settle(np.clip(P, -_FARTHEST, _FARTHEST) + intercept)


def _settle(decisions):
    """Decisions that differ from the best by rounding only count as ties."""
    best = decisions.max(axis=1, keepdims=True)
    return np.where(best - decisions <= _TIE * (1.0 + np.abs(best)), best, decisions)


def confidence_of(distance):
    """``(second - first) / (second + first)`` of the two smallest distances: 0 at a border."""
    first, second = np.partition(distance, 1, axis=1)[:, :2].T
    total = first + second
    return np.where(total > 0, (second - first) / np.where(total > 0, total, 1.0), 0.0)


def contributions(X, rows, mean, scale, support, centers, euclidean, dispersion):
    """Contributions of the features to the decisions.

    `X` (n_samples, n_features). Returns `values` (n_samples, n_features): one per class; `base`
    (n_classes,): decisions at the reference: the mean for dense samples, 0 for sparse ones, so
    that contributions are as sparse as the sample.
    """
    inner = rows / scale[support, None]
    thin = is_sparse(X)
    start = -mean[support] @ inner if thin else np.zeros(centers.shape[0])
    P = project(X, rows, mean, scale, support)
    base = decide(distances(start[None], centers, euclidean), euclidean, dispersion)[0]
    values = []
    for center in centers:
        slope = _slopes(P, start, center, euclidean, dispersion) @ inner.T
        if thin:
            values.append(_multiply_sparse(X, slope, support))
            continue
        value = np.zeros(X.shape)
        value[:, support] = (X[:, support] - mean[support]) * slope
        values.append(value)
    return values, base


def linear_contributions(X, coef, intercept, mean, scale, support):
    """Contributions to the decisions of a linear head, as `contributions`.

    coef (n_classes, n_selected) and intercept (n_classes,) are for standardized features.
    """
    inner = coef / scale[support]
    if is_sparse(X):
        shape = X.shape[0], support.size
        values = [_multiply_sparse(X, np.broadcast_to(row, shape), support) for row in inner]
        return values, intercept - inner @ mean[support]
    values = [np.zeros(X.shape) for _ in inner]
    away = X[:, support] - mean[support]
    for value, row in zip(values, inner, strict=True):
        value[:, support] = away * row
    return values, intercept


def _slopes(P, start, center, euclidean, dispersion):
    """Mean derivative of the decision for a class along the path to each sample."""
    if euclidean:
        return -0.5 * (P + start - 2 * center) / dispersion**2
    gone = P - start
    change = np.abs(P - center) - np.abs(start - center)
    still = gone == 0
    # A coordinate that has not moved contributes nothing, whatever its slope.
    return np.where(still, 0.0, -change / np.where(still, 1.0, gone) / dispersion)


def _multiply_sparse(X, slope, support):
    """X times the slopes of its features, with the sparsity of X in the support."""
    place = np.full(X.shape[1], -1)
    place[support] = np.arange(support.size)
    entries = sparse.coo_array(X)
    kept = place[entries.col] >= 0
    row, column = entries.row[kept], entries.col[kept]
    values = entries.data[kept] * slope[row, place[column]]
    return sparse.csr_array((values, (row, column)), shape=X.shape)
