"""How sure can I be: bounds on false features, stable features, near-optimal panels."""

from tamis.guarantees.frequencies import center_frequencies
from tamis.guarantees.near_optimal import (
    NearOptimalPanels,
    Panel,
    best_panel,
    near_optimal_panels,
)
from tamis.guarantees.permutation_bounds import TrueFeatures, true_features
from tamis.guarantees.stable_selector import StableSelector

__all__ = [
    "NearOptimalPanels",
    "Panel",
    "StableSelector",
    "TrueFeatures",
    "best_panel",
    "center_frequencies",
    "near_optimal_panels",
    "true_features",
]
