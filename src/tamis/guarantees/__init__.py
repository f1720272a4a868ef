"""Guarantees: what is guaranteed about panels, predictions and questions, and how surely.

Panels: `permutation_bounds` says how many of the chosen features are true, whatever was chosen;
`stable_selector` selects what half of the rows select again and again; `near_optimal` lists the
panels of sparse centers that are as good, `swaps` those that differ from a forward panel in one
feature. Predictions: `conformal` makes prediction sets and `coverage` says what they guarantee;
`sensitivity` finds a threshold that misses few rows of one class. Questions: `questions` finds the
cheapest of several models whose errors are shown to be rare.
"""

from tamis.guarantees.conformal import ConformalClassifier
from tamis.guarantees.coverage import Coverage, calibration_rows_needed
from tamis.guarantees.frequencies import center_frequencies
from tamis.guarantees.near_optimal import NearOptimalPanels, Panel, best_panel, near_optimal_panels
from tamis.guarantees.permutation_bounds import TrueFeatures, true_features
from tamis.guarantees.questions import CheapestModel, find_cheapest_model
from tamis.guarantees.sensitivity import (
    SensitivityThreshold,
    find_sensitivity_threshold,
    positives_needed,
)
from tamis.guarantees.stable_selector import StableSelector
from tamis.guarantees.swaps import Swap, SwapPanels, swap_panels

__all__ = [
    "CheapestModel",
    "ConformalClassifier",
    "Coverage",
    "NearOptimalPanels",
    "Panel",
    "SensitivityThreshold",
    "StableSelector",
    "Swap",
    "SwapPanels",
    "TrueFeatures",
    "best_panel",
    "calibration_rows_needed",
    "center_frequencies",
    "find_cheapest_model",
    "find_sensitivity_threshold",
    "near_optimal_panels",
    "positives_needed",
    "swap_panels",
    "true_features",
]
