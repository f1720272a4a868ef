r"""From projected samples to decisions, confidences and explanations.

A sample x is projected to p = ((x - mean) / scale) W and belongs to the class whose center is
nearest: in the l1 norm for the l1 and Huber losses, in the l2 norm for Frobenius. Decisions are
log likelihoods of noise with one scale around the centers: :math:`-\|p - \mu_c\|_1 / b` (Laplace)
and :math:`-\|p - \mu_c\|^2 / (2 b^2)` (Gauss).

Contributions are integrated along the straight path from a reference to the sample. Along it the
l1 distance to a center changes, for each coordinate of p, in proportion to p - p0, with the slope
:math:`(|p - \mu| - |p_0 - \mu|) / (p - p_0)`; so a feature's contribution is its share of p - p0
times that slope, and contributions sum to the decision exactly, although it is not linear.
"""

import numpy as np
from scipy import sparse

from tamis._array import center_columns, is_sparse

__all__ = ["confidence_of", "contributions", "decide", "distances", "project"]

# Beyond any data, and squares are still finite.
_FARTHEST = 1e100
_TIE = 1e-12


def project(X, weights, mean, scale, support):
    """Projected samples, (n_samples, n_classes); only the columns of the support are touched."""
    inner = weights[support] / scale[support, None]
    return center_columns(X, support, mean[support], inner)


def distances(P, centers, euclidean):
    """Distance of every projected sample to every center: l2, or l1; at most 1e100."""
    found = np.empty((P.shape[0], centers.shape[0]))
    for c, center in enumerate(centers):
        away = np.clip(P - center, -_FARTHEST, _FARTHEST)
        if euclidean:
            found[:, c] = np.sqrt(np.einsum("ij,ij->i", away, away))
        else:
            found[:, c] = np.abs(away).sum(axis=1)
    return np.minimum(found, _FARTHEST)


def decide(found, euclidean, dispersion):
    """Log likelihood of every class, from distances; what is within rounding of the best ties."""
    decisions = -0.5 * (found / dispersion) ** 2 if euclidean else -found / dispersion
    best = decisions.max(axis=1, keepdims=True)
    return np.where(best - decisions <= _TIE * (1.0 + np.abs(best)), best, decisions)


def confidence_of(found):
    """``(second - first) / (second + first)`` of the two smallest distances: 0 at a border."""
    first, second = np.partition(found, 1, axis=1)[:, :2].T
    total = first + second
    return np.where(total > 0, (second - first) / np.where(total > 0, total, 1.0), 0.0)


def contributions(X, weights, mean, scale, support, centers, euclidean, dispersion):
    """Contributions of the features to the decisions.

    Parameters
    ----------
    X : ndarray or sparse container of shape (n_samples, n_features)
    weights, mean, scale, support, centers, euclidean, dispersion
        The fitted model.

    Returns
    -------
    values : list of ndarray or sparse array of shape (n_samples, n_features)
        One for every class.
    base : ndarray of shape (n_classes,)
        Decisions at the reference: the mean for dense samples, 0 for sparse ones, so that
        contributions are as sparse as the sample.
    """
    inner = weights[support] / scale[support, None]
    thin = is_sparse(X)
    start = -mean[support] @ inner if thin else np.zeros(centers.shape[0])
    P = project(X, weights, mean, scale, support)
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


def _slopes(P, start, center, euclidean, dispersion):
    """Mean derivative of the decision for a class along the path to every sample."""
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
