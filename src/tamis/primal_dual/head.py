"""Linear heads on the selected features, in place of the projection and its centers.

A head is fitted on the standardized columns that the certificate's W uses and has one coefficient
per column and class, so its decisions are one product, as the projection is, and sparse data stay
sparse where it is applied. Only training needs the selected columns as a dense array.
Shapes: coef (n_classes, n_selected), intercept (n_classes,).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._array import to_host
from tamis.heads import fit_lda, fit_logistic
from tamis.primal_dual.training import TrainingData

HEADS = ("auto", "lda", "logistic", "projection")
# Ridge of the logistic head.
_ALPHA = 3.0
# "auto" is the projection for more features or more values, which would have to be dense.
_MOST_FEATURES, _MOST_VALUES = 1_000, 50_000_000


def resolve_head(head: str, n_classes: int, n_selected: int, n_rows: int) -> str:
    """The head that "auto" stands for; any other stays."""
    if head != "auto":
        return head
    if n_selected > _MOST_FEATURES or n_selected * n_rows > _MOST_VALUES:
        return "projection"
    return "lda" if n_classes == 2 else "logistic"


def fit_head(
    head: str, data: TrainingData, class_weight: NDArray, selected: NDArray
) -> dict[str, Any]:
    """Fit the head of one model.

    `head`: "auto" is "lda" for two classes and "logistic" for more, unless there are very many
    features; `class_weight` (n_classes,): weights of the classes, which those of the rows include;
    `selected`: features of the model, ascending. Returns `fitted`: "head_" names the head that is
    used; "head_coef" and "head_intercept" are for standardized features, None for the projection.
    """
    head = resolve_head(head, data.n_classes, selected.size, data.codes.size)
    fitted: dict[str, Any] = {"head_": head, "head_coef": None, "head_intercept": None}
    if head == "projection":
        return fitted
    part = data.matrix.columns(selected)
    Z = part.take_rows(np.ones(data.codes.size, dtype=bool)) if part.is_sparse else part.X
    Z = to_host(Z)
    # A weight of 2 is two rows; the weights of classes only change their shares.
    weights = data.weights / class_weight[data.codes]
    if head == "lda":
        shares = np.bincount(data.codes, data.weights, data.n_classes) / data.weights.sum()
        linear = fit_lda(Z, data.codes, weights, shares)
    else:
        weighed = data.weights * (weights.sum() / data.weights.sum())
        linear = fit_logistic(Z, data.codes, weighed, data.n_classes, [_ALPHA])[0]
    fitted["head_coef"] = np.array(linear.coef, order="C")
    fitted["head_intercept"] = np.array(linear.intercept)
    return fitted
