r"""Standard error of the gain of a panel of sparse centers.

With :math:`W_r` and :math:`T_r` the distances of row r to its class center and to the common
center minus their means over its class, and W and T the sums of these means over classes, the
share :math:`R = 1 - W / T` of a feature changes with row r by :math:`(T_r W / T - W_r) / (n_c T)`
to first order, because centers minimise their distances. The gain of a panel is the sum of its
shares, so the changes add up. The standard error is the root of the sum over sample groups of
their squared sums, times U / (U - 1) for U groups. Shapes: X (n, m), features (k,).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamis._array import is_sparse
from tamis._base import encode_labels, validate
from tamis.centers import SparseCenterClassifier, SparseCenterClassifierCV


def gain_standard_error(
    model: SparseCenterClassifier | SparseCenterClassifierCV,
    X: ArrayLike,
    y: ArrayLike,
    features: NDArray,
    groups: ArrayLike | None,
) -> float:
    """Standard error of the sum of the gains of some features.

    `X` (n_samples, n_features). `y` (n_samples,). `groups` (n_samples,) or None: sample groups,
    each counted once.
    """
    X = validate(model, X, reset=False, accept_sparse=("csr", "csc"), dtype=[np.float64])
    part = X[:, features]
    part = part.toarray() if is_sparse(part) else part
    _, codes = encode_labels(y, model.classes_)
    power = 2 if model._metric == "l2" else 1
    centers, common = model.class_centers_[:, features], model.common_center_[features]
    to_class = np.abs(part - centers[codes]) ** power
    to_common = np.abs(part - common) ** power
    members = np.eye(len(model.classes_))[codes]
    counts = members.sum(axis=0)
    means_of_class, means_of_common = (
        members.T @ distance / counts[:, None] for distance in (to_class, to_common)
    )
    within, spread = means_of_class.sum(axis=0), means_of_common.sum(axis=0)
    change = (to_common - means_of_common[codes]) * (within / spread)
    change -= to_class - means_of_class[codes]
    by_row = (change / spread).sum(axis=1) / counts[codes]
    unit = np.arange(by_row.size) if groups is None else np.unique(groups, return_inverse=True)[1]
    by_unit = np.bincount(unit, weights=by_row)
    return float(np.sqrt(by_unit.size / max(by_unit.size - 1, 1) * (by_unit**2).sum()))
