"""Pictures of models and comparisons, in the form of scikit-learn's Displays.

They need matplotlib (``pip install 'tamis[plot]'``), which is imported when a picture is drawn.
"""

from tamis.inspection._binary import rebase
from tamis.inspection.acquisition import AcquisitionDisplay
from tamis.inspection.calibration import CalibrationDisplay
from tamis.inspection.centers import CentersDisplay
from tamis.inspection.convergence import ConvergenceDisplay
from tamis.inspection.decision_curve import DecisionCurveDisplay
from tamis.inspection.landmarks import LandmarkDisplay
from tamis.inspection.panels import BestPanelsDisplay
from tamis.inspection.probability import ProbabilityDisplay
from tamis.inspection.sparsity_path import Curve, SparsityPathDisplay
from tamis.inspection.stability import StabilityDisplay

__all__ = [
    "AcquisitionDisplay",
    "BestPanelsDisplay",
    "CalibrationDisplay",
    "CentersDisplay",
    "ConvergenceDisplay",
    "Curve",
    "DecisionCurveDisplay",
    "LandmarkDisplay",
    "ProbabilityDisplay",
    "SparsityPathDisplay",
    "StabilityDisplay",
    "rebase",
]
