"""The second stage: few features, each chosen by what it adds, and a head fitted on them alone."""

from tamis.panel.classifier import PanelClassifier
from tamis.panel.classifier_cv import PanelClassifierCV
from tamis.panel.path import PanelPath
from tamis.panel.proof.best import BestPanels, Certificate, best_panels, certify

__all__ = [
    "BestPanels",
    "Certificate",
    "PanelClassifier",
    "PanelClassifierCV",
    "PanelPath",
    "best_panels",
    "certify",
]
