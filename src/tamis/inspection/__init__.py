"""Pictures of models and comparisons, in the form of scikit-learn's Displays.

They need matplotlib (``pip install 'tamis[plot]'``), which is imported when a picture is drawn.
"""

from tamis.inspection._binary import rebase
from tamis.inspection.calibration import CalibrationDisplay
from tamis.inspection.decision_curve import DecisionCurveDisplay
from tamis.inspection.probability import ProbabilityDisplay
from tamis.inspection.sparsity_path import Curve, SparsityPathDisplay

__all__ = [
    "CalibrationDisplay",
    "Curve",
    "DecisionCurveDisplay",
    "ProbabilityDisplay",
    "SparsityPathDisplay",
    "rebase",
]
