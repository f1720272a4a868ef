"""Why a sample got its decision."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tamis._array import is_sparse

__all__ = ["Explanation"]


@dataclass
class Explanation:
    """Why each sample got its decision, as arrays."""

    # Contribution of each feature. Two classes: (n_samples, n_features), towards the second class.
    # More: (n_samples, n_features, n_classes); for sparse data a list with one sparse array of
    # shape (n_samples, n_features) per class.
    values: Any
    # (n_classes,): decision with no contribution: `base` plus the sum over features is the
    # decision.
    base: Any
    names: np.ndarray  # (n_features,): feature names
    data: Any = field(repr=False, default=None)  # the samples that were explained

    @cached_property
    def decision(self):
        """`base` plus all contributions: the decision function of the samples."""
        if isinstance(self.values, list):
            return np.stack([_row_sums(v) for v in self.values], axis=1) + self.base
        return _row_sums(self.values) + self.base

    def to_shap(self):
        """The same numbers as a `shap.Explanation` (needs ``pip install shap``)."""
        try:
            import shap
        except ImportError as error:
            raise ImportError("Explanation.to_shap needs shap: pip install shap.") from error
        values = self.values
        if isinstance(values, list):
            values = np.stack([v.toarray() for v in values], axis=2)
        elif is_sparse(values):
            values = values.toarray()
        data = self.data.toarray() if is_sparse(self.data) else self.data
        base = np.broadcast_to(self.base, (values.shape[0], *np.shape(self.base)))
        return shap.Explanation(values, base, data, feature_names=list(self.names))


def _row_sums(values):
    return np.asarray(values.sum(axis=1)).reshape(values.shape[0], *values.shape[2:])
