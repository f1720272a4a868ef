r"""Importance of each feature: the drop in out-of-fold score when it is permuted.

A configuration is trained on the training rows of each fold, and each feature in turn is permuted
among the test rows. Distances are updated, not recomputed: with :math:`x_j` replaced by
:math:`x_j'`,

.. math:: \|x' - c\|^2 = \|x - c\|^2 - (x_j - c_j)^2 + (x_j' - c_j)^2,

and likewise for the products and norms that an angle is made of. Each feature then takes as long
as one column of distances and one prediction, whatever the number of features. Scalings act on
each column separately, so permuting scaled values is equivalent to permuting values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamis._array import Matrix, is_sparse
from tamis.landmarks.distances import take_rows
from tamis.landmarks.evaluation import balanced_errors
from tamis.landmarks.heads import decide
from tamis.landmarks.kernels import apply_kernel
from tamis.landmarks.model import train_model
from tamis.landmarks.scaling import apply_scaling
from tamis.paths.seeds import derive_seed

# Elementary operations to spend on all features and folds, and the fewest and most test rows per
# fold.
_BUDGET = 2e9
_FEWEST_ROWS, _MOST_ROWS = 20, 1000
# For a classifier without folds: largest number of rows to use, and number of folds.
_MOST_SAMPLES = 3000
_N_FOLDS = 3


def deal_folds(codes: NDArray) -> list[tuple[NDArray, NDArray]]:
    """Three folds for a classifier that has none; the rows of a class are dealt out in turn."""
    order = np.argsort(codes, kind="stable")
    rank = np.arange(codes.size) - np.searchsorted(codes[order], codes[order], side="left")
    if codes.size > _MOST_SAMPLES:  # the same share of each class, at least its first row
        few = rank * codes.size < np.bincount(codes)[codes[order]] * _MOST_SAMPLES
        order, rank = order[few], rank[few]
    fold = rank % _N_FOLDS
    splits = [(np.sort(order[fold != f]), np.sort(order[fold == f])) for f in range(_N_FOLDS)]
    return [(train, test) for train, test in splits if train.size and test.size]


def measure_importances(
    configuration, X: Matrix, codes, splits, class_weight, n_classes: int, seed: int, given=None
) -> NDArray[np.float64]:
    """Drop in out-of-fold balanced accuracy when a feature is permuted, at least 0.

    `X` (n_samples, n_features); `codes` (n_samples,); `class_weight` (n_classes,); `given`: given
    landmarks, as for `train_model`. Returns `importances` (n_features,).
    """
    if given is not None and given.ndim == 1:
        given = take_rows(X, given)
    labels, truth = [], []
    for f, (train, test) in enumerate(splits):
        fold_seed = derive_seed(seed, f)
        y = codes[train]
        model = train_model(configuration, X[train], y, n_classes, fold_seed, class_weight, given)
        random_state = np.random.RandomState(fold_seed)
        n_rows = _count_rows(model, X.shape[1], len(splits))
        rows = random_state.permutation(test)[:n_rows]  # each row gets the values of the next
        labels.append(_permuted_labels(model, X[rows]))
        truth.append(codes[rows])
    if not labels:
        return np.zeros(X.shape[1])
    truth = np.concatenate(truth)
    errors = balanced_errors(np.concatenate(labels, axis=1), truth, np.ones(n_classes))
    return np.maximum(errors[1:] - errors[0], 0.0)


def _count_rows(model, n_features, n_folds):
    head = model["head"]
    per_row = model["map"]["sigma"].size
    per_row *= head["codes"].size if head["classifier"] == "knn" else 10
    affordable = _BUDGET / (n_features * n_folds * per_row)
    return int(np.clip(affordable, _FEWEST_ROWS, _MOST_ROWS))


def _permuted_labels(model, X):
    """Labels with nothing permuted and with each feature permuted, (1 + n_features, n_rows)."""
    record, head = model["map"], model["head"]
    X = apply_scaling(record["scaling"], X)
    changed = _Angles(X, record) if record["distance"] == "angle" else _Lengths(X, record)
    columns = X.tocsc() if is_sparse(X) else X
    labels = np.empty((1 + X.shape[1], X.shape[0]), dtype=np.int16)
    for j in range(-1, X.shape[1]):
        if j < 0:
            D = changed.distances()
        else:
            x = columns[:, [j]].toarray()[:, 0] if is_sparse(X) else columns[:, j]
            D = changed.permuted(j, x, np.roll(x, 1))
            if D is None:  # a constant column
                labels[1 + j] = labels[0]
                continue
        Z = apply_kernel(record["kernel"], D, record["sigma"])
        labels[1 + j] = decide(head, Z).argmax(axis=1)
    return labels


class _Lengths:
    """Euclidean distances to the landmarks, with any one feature permuted."""

    def __init__(self, X, record):
        self.points = record["points"]
        products = X @ self.points.T
        self.shift = np.einsum("kj,kj->k", self.points, self.points)
        self.squares = _square_norms(X)[:, None] - 2.0 * products + self.shift

    def distances(self):
        return np.sqrt(np.maximum(self.squares, 0.0))

    def permuted(self, j, x, new):
        if np.array_equal(x, new):
            return None
        c = self.points[:, j]
        change = (new * new - x * x)[:, None] - 2.0 * np.outer(new - x, c)
        return np.sqrt(np.maximum(self.squares + change, 0.0))


class _Angles:
    """Angles to the landmarks, with any one feature permuted."""

    def __init__(self, X, record):
        norms = np.sqrt(np.einsum("kj,kj->k", record["points"], record["points"]))
        self.points = record["points"] / np.where(norms > 0, norms, 1.0)[:, None]
        self.products = X @ self.points.T
        self.squares = _square_norms(X)

    def distances(self):
        return self._angles(self.products, self.squares)

    def permuted(self, j, x, new):
        if np.array_equal(x, new):
            return None
        products = self.products + np.outer(new - x, self.points[:, j])
        return self._angles(products, self.squares + new * new - x * x)

    @staticmethod
    def _angles(products, squares):
        norms = np.sqrt(np.maximum(squares, 0.0))[:, None]
        cosines = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
        return np.arccos(np.clip(cosines, -1.0, 1.0))


def _square_norms(X):
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).reshape(-1)
    return np.einsum("ij,ij->i", X, X)
