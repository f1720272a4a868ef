"""Guarantees: what can be promised about panels, predictions and questions, and how surely.

Predictions: `conformal` makes prediction sets and `coverage` says what they promise; `sensitivity`
finds a threshold that misses few rows of one class. Questions: `questions` finds the cheapest of
several models whose errors are shown to be rare.
"""

from tamis.guarantees.conformal import ConformalClassifier
from tamis.guarantees.coverage import Coverage, calibration_rows_needed
from tamis.guarantees.questions import CheapestModel, find_cheapest_model
from tamis.guarantees.sensitivity import (
    SensitivityThreshold,
    find_sensitivity_threshold,
    positives_needed,
)

__all__ = [
    "CheapestModel",
    "ConformalClassifier",
    "Coverage",
    "SensitivityThreshold",
    "calibration_rows_needed",
    "find_cheapest_model",
    "find_sensitivity_threshold",
    "positives_needed",
]
