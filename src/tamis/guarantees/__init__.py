"""How sure can I be: bounds on false features, stable features, near-optimal panels."""

from tamis.guarantees.near_optimal import (
    NearOptimalPanels,
    Panel,
    best_panel,
    near_optimal_panels,
)
from tamis.guarantees.stable_selector import StableSelector
from tamis.guarantees.true_features import TrueFeatures, true_features

__all__ = [
    "NearOptimalPanels",
    "Panel",
    "StableSelector",
    "TrueFeatures",
    "best_panel",
    "near_optimal_panels",
    "true_features",
]
