"""How much a feature matters to a model: one name per definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["IMPORTANCES", "importance_of"]

#: What each kind of importance means; a method names its own (`Method.importance_name`).
IMPORTANCES = {
    "explained_spread": "the proportion of the feature's spread that the classes explain",
    "coefficient_size": "the size of the feature's coefficients in the decision",
    "decision_change": "how much the decisions change when the feature is set to its mean",
    "proportion_asked": "the proportion of training rows that are asked for the feature",
}


def importance_of(record: Mapping[str, Any]) -> tuple[str, float]:
    """The name and value of a feature's importance.

    `record`: a feature, as of `Comparison.fitted`.
    """
    name = next(name for name in IMPORTANCES if name in record)
    return name, record[name]
